"""``unskew doctor``: what unskew sees in a file, what to run next, and ``unskew.toml`` with these options.

The first line of that file has a checksum of the others. A file without it, or whose lines have changed since, is
the work of a person and is never replaced.
"""

from __future__ import annotations

import functools
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.command_group import write_flag
from unskew.cli.configuration import NAME, SHARED_KEYS, Configuration, find_configuration, is_below
from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.log_source import LogFiles
from unskew.cli.option_groups import everyday_option
from unskew.cli.shared_options import file_options, show_options
from unskew.cli.terminal import CAUSES, print_figures, print_json, print_line, print_sentence
from unskew.errors import FileError, InputError
from unskew.options import Group
from unskew.storage.files import check_writable, replace_file
from unskew.text import enumerate_words, percent, thousands

if TYPE_CHECKING:
    from unskew.examining.examination import Examination


class _DoctorCommand(ConfiguredCommand):
    """With ``--write`` nothing is taken from the file that is to be written: the log may be another one."""

    def _find(self, ctx: click.Context, opts: Mapping[str, Any]) -> Configuration | None:
        writes_anew = opts.get("write") and opts.get("config") is None
        return None if writes_anew else super()._find(ctx, opts)


@click.command(cls=_DoctorCommand)
@file_options
@everyday_option(
    "--write",
    f"Save the detected columns and options to {NAME} in the working directory, so that commands need none.",
    Group.OUTPUT,
)
@show_options
def doctor(source: LogFiles, write: bool, as_json: bool) -> None:
    """Show what is in a file and which commands to run next.

    Columns that are not named are detected by their names and by what they hold. The exit code is 0 unless the
    file cannot be opened at all, or --write cannot save its columns.

    \b
    Examples:
      unskew doctor u.data
      unskew doctor events.db --table clicks
      unskew doctor events.csv --write
    """
    from unskew.examining.examination import examine_source

    columns = {"user": source.user, "item": source.item, "time": source.time}
    reading = {**source.file, **({} if source.time_format is None else {"time_format": source.time_format})}
    name_option = functools.partial(write_flag, click.get_current_context().command)
    if write:
        check_configuration(Path())
    examination = examine_source(source.path, columns, source.time_unit, reading, name_option, configured=write)
    if write and examination.problems:
        if not as_json:
            _show(examination)
        raise InputError(f"{NAME} was not written", remedy=examination.problems[0])
    written = str(write_configuration(Path(), source.log, examination.options)) if write else None
    if as_json:
        print_json({**examination.to_dict(), "written": written})
    else:
        _show(examination, written)


def _show(examination: Examination, written: str | None = None) -> None:
    for line in examination.read_as:
        print_line(f"{line}.")
    print_figures(examination.source, [figure for figure in _list_figures(examination) if figure[1]])
    if examination.item_mix is not None:
        print_line(examination.item_mix["conclusion"])
        if examination.item_mix["drifted"]:
            print_line(CAUSES)
    if examination.campaigns:
        print_line(
            f"Likely campaigns: {enumerate_words(examination.campaigns)}. Known users then interacted more than "
            "usual, and with other items than usual; seasons, holidays and news look the same. Before you exclude "
            "them with --campaign, ask unskew excess how much recommendations caused."
        )
    elif examination.users is not None and not any("not looked for" in note for note in examination.notes):
        print_line("No likely campaigns were detected; recommendations that came all the time make no bursts.")
    for note in examination.notes:
        print_sentence(note)
    if examination.advice:
        print_line(f"{(examination.protocol or 'no protocol').capitalize()} suits: {examination.advice}.")
    for problem in examination.problems:
        print_line(f"Problem: {problem}.")
    if written is not None:
        print_line(f"Columns and options saved to {written}: commands in this folder need none.")
    if examination.commands:
        guess = (examination.item_mix or {}).get("reference")
        hint = (
            "" if guess is None else f" ({guess} is a guess: give the last date before anything was recommended)"
        )
        print_line(f"Next{hint}:")
    for command in examination.commands:
        click.echo(f"  {command}")


def _list_figures(examination: Examination) -> list[tuple[str, str, str]]:
    sizes = examination.sizes
    roles = ", ".join(f"{role} is {name!r}" for role, name in examination.roles.items())
    guessed = f"detected: {enumerate_words(examination.guessed)}" if examination.guessed else ""
    nulls = sum(examination.nulls.values())
    rows = ", ".join(f"{thousands(n)} without {role}" for role, n in examination.nulls.items() if n)
    columns = examination.columns
    span = f"{examination.times}, from {examination.first} to {examination.last}"
    about = ""
    if sizes:
        about = (
            f"items in the median, mean {sizes.mean:.1f}, {sizes.least} to {sizes.most}; "
            f"{percent(sizes.single, 0)} of the users have only one"
        )
    return [
        ("columns", str(len(columns)) if columns else "", ", ".join(columns[:12])),
        ("", " " if roles else "", roles + (f" ({guessed})" if guessed else "")),
        ("rows", _number(examination.rows), ""),
        ("missing values", thousands(nulls) if nulls else "", rows),
        ("users", _number(examination.users), ""),
        ("items", _number(examination.items), ""),
        (
            "interactions",
            _number(examination.interactions),
            f"{thousands(examination.repeats or 0)} rows were repeats",
        ),
        ("times", " " if examination.times else "", span),
        ("profile sizes", f"{sizes.median:g}" if sizes else "", about),
    ]


def _number(value: int | None) -> str:
    return "" if value is None else thousands(value)


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
    text = format_configuration([log or "-" for log in below], options)
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
    paths = {name: path for path, name in SHARED_KEYS.items()}
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
