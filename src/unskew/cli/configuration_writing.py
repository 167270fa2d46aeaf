"""Writing ``unskew.toml``: how a log is read, so that commands need no options for it.

The first line has a checksum of the others. A file without it, or whose lines have changed since, is the work
of a person and is never replaced.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unskew.cli.configuration import NAME, SHARED_KEYS, find_configuration
from unskew.cli.configuration_values import is_below
from unskew.errors import FileError, InputError
from unskew.storage.files import check_writable, replace_file

_HEAD = "# Written by unskew doctor --write ({:08x}); the next --write replaces this file unless it was edited."
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")


def check_configuration(folder: Path) -> None:
    """Refuse to write where a configuration is that `write_configuration` did not write."""
    file = folder / NAME
    check_writable(file)
    if file.exists():
        if not _is_unedited(file):
            raise InputError(
                f"{file} exists, and unskew did not write it or it was edited since",
                remedy="rename it, or leave out --write",
            )
        return
    other = find_configuration(folder)
    if other is not None:
        raise InputError(
            f"{other} has options for unskew already, which {NAME} would hide",
            remedy="remove its table [tool.unskew], or leave out --write",
        )


def write_configuration(folder: Path, logs: Sequence[str], options: Mapping[str, Any]) -> Path:
    """Write where a log is, and the options with which it is read, by Python name.

    Standard input, a query and a log outside the folder are not named: such a file may not lead there.
    """
    file = folder / NAME
    check_configuration(folder)
    below = [_seek_below(log, folder) for log in logs]
    options = {name: value for name, value in options.items() if name != "query"}
    text = format_configuration(["-"] if None in below else [log for log in below if log is not None], options)
    try:
        content = f"{_HEAD.format(zlib.crc32(text.encode()))}\n{text}".encode()
    except UnicodeEncodeError:
        raise FileError(
            f"{file} cannot hold the name of a file that is not UTF-8", remedy="rename the log"
        ) from None
    with replace_file(file) as temporary:
        temporary.write_bytes(content)
    return file


def _seek_below(log: str, folder: Path) -> str | None:
    """A log relative to the folder; None if it is outside."""
    if Path(log).is_absolute() and Path(log).is_relative_to(folder.absolute()):
        log = str(Path(log).relative_to(folder.absolute()))
    return log if is_below(f"./{log}" if log.startswith("~") else log, folder) else None


def format_configuration(logs: Sequence[str], options: Mapping[str, Any]) -> str:
    r"""The lines of the file.

    >>> print(format_configuration(["a.csv"], {"user": "Customer ID", "drop_nulls": True, "sep": "\t"}), end="")
    log = "a.csv"
    <BLANKLINE>
    [columns]
    user = "Customer ID"
    drop-nulls = true
    <BLANKLINE>
    [file]
    sep = "\t"
    """
    paths = {key.option: path for path, key in SHARED_KEYS.items()}
    tables: dict[str, dict[str, Any]] = {}
    for name, value in options.items():
        table, _, key = paths[name].partition(".")
        tables.setdefault(table, {})[key] = value
    lines = [] if "-" in logs else [f"log = {_format_value(_protect(logs))}", ""]
    for table, values in tables.items():
        lines += [f"[{table}]", *(f"{key} = {_format_value(value)}" for key, value in values.items()), ""]
    return "\n".join(lines)


def _is_unedited(file: Path) -> bool:
    try:
        head, _, text = file.read_bytes().partition(b"\n")
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}") from None
    return head.decode(errors="replace") == _HEAD.format(zlib.crc32(text))


def _protect(logs: Sequence[str]) -> str | list[str]:
    """Paths whose tilde is a tilde; one alone needs no list."""
    paths = [f"./{path}" if path.startswith("~") else path for path in logs]
    return paths[0] if len(paths) == 1 else paths


def _format_value(value: Any) -> str:
    """A value as TOML has it: its texts are those of JSON, but for some controls that must be escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
    return f"[{', '.join(map(_format_value, value))}]"
