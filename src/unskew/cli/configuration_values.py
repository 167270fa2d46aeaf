"""A value of a configuration file as its option takes it: of the right type, and paths from the file's folder."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import click

from unskew.errors import InputError
from unskew.text import one_line

SPECS = ("recommenders", "baseline", "production", "margins")
"""Options that name recommenders, and so could run code."""

OUTPUTS = ("output", "probabilities")
"""Options that name files to write."""


class WrongValue(Exception):
    """A value is not what the option takes; the message says what that would be."""


def convert_value(param: click.Parameter, value: Any, folder: Path, *, confined: bool = False) -> Any:
    """The value as the option takes it; several for one that may be given several times.

    If `confined`, its paths must lead below the folder.
    """
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise WrongValue("true or false")
        return value
    if getattr(param, "multiple", False) or param.nargs == -1:
        several = value if isinstance(value, list) else [value]
        if not several:
            raise WrongValue("at least one value; leave the key out for none")
        try:
            return [_convert_one(param, each, folder, confined) for each in several]
        except WrongValue as error:
            raise WrongValue(f"{error}, or a list of such") from None
    return _convert_one(param, value, folder, confined)


def _convert_one(param: click.Parameter, value: Any, folder: Path, confined: bool) -> Any:
    kind = param.type
    if isinstance(kind, click.Choice):
        if value not in kind.choices:
            raise WrongValue(f"one of {', '.join(map(repr, kind.choices))}")
        return value
    if kind.name == "integer":
        if isinstance(value, bool) or not isinstance(value, int) or value.bit_length() > 63:
            raise WrongValue("a whole number")
    elif kind.name == "float":
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            raise WrongValue("a number")
    elif param.name == "query" and confined:
        raise WrongValue("left out, unless --config names the file")
    elif param.name in SPECS:
        return _place_spec(_require_text(value, "a text such as 'popular'"), folder, confined)
    elif isinstance(kind, click.Path):
        if param.name == "reference":
            return _place_reference(_write(value), folder, confined)
        path = _require_text(value, "the path of a file, as a text")
        return place(path, folder, confined, is_output=param.name in OUTPUTS)
    else:
        return _write(value)
    try:
        return kind.convert(value, param, None)
    except InputError as error:
        raise WrongValue(error.message.partition("but must be ")[2]) from None


def _require_text(value: Any, wanted: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise WrongValue(wanted)
    return value


def _write(value: Any) -> str:
    """A text; of a date or a number, which TOML has without quotes, how it is written on a command line."""
    if isinstance(value, str) and value and "\0" not in value:
        return value
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise WrongValue("a text, a date or a number")


def is_below(path: str, folder: Path, *, deep: bool = False) -> bool:
    """Whether a path is relative and leads below a folder, through links too.

    If `deep`, so does every link in what it stands for: in folders, and in those that match a pattern.
    """
    if path.startswith("~") or "://" in path or Path(path).is_absolute():
        return False
    root = folder.resolve()
    try:
        return all(Path(one).resolve().is_relative_to(root) for one in _list_places(folder / path, deep))
    except (OSError, RuntimeError):  # a link that leads to itself
        return False


def _list_places(path: Path, deep: bool) -> Iterator[str | Path]:
    """What a path may stand for: itself, without its parameters too, what matches it, and the links in these."""
    for text in {str(path), str(path).rpartition("?")[0] or str(path)}:
        for place in {text, *glob.glob(text, recursive=True)}:
            yield place
            yield from _list_links(place, set(), deep)


def _list_links(folder: str, seen: set[str], deep: bool) -> Iterator[str]:
    """The links in a folder; if `deep`, in the folders in it too, each once."""
    if not Path(folder).is_dir():
        return
    for entry in os.scandir(folder):
        if entry.is_symlink():
            yield entry.path
        if deep and entry.is_dir() and (real := os.path.realpath(entry.path)) not in seen:
            seen.add(real)
            yield from _list_links(entry.path, seen, deep)


def place(path: str, folder: Path, confined: bool = False, *, is_output: bool = False) -> str:
    """A path that is given relative to a folder, as seen from here."""
    if path == "-":  # standard input
        return path
    if confined and not is_below(path, folder, deep=not is_output):
        raise WrongValue("a relative path below the folder of the file, unless --config names the file")
    if "://" in path:  # an address
        return path
    own = str(Path(path).expanduser()) if path.startswith("~") else path
    placed = own if folder == Path() else os.path.join(folder, own)  # noqa: PTH118 (which keeps a slash at the end)
    return f"./{placed}" if placed.startswith(("-", "~")) else placed  # and no option, and no home


def _place_reference(given: str, folder: Path, confined: bool) -> str:
    """A date stays as it is, a file is where the configuration is."""
    from unskew.reading.formats import PARQUET, find_ending
    from unskew.storage.files import is_file

    if find_ending(Path(given)) in PARQUET.endings or is_file(place(given, folder)):
        return place(given, folder, confined)
    return given


def _place_spec(spec: str, folder: Path, confined: bool) -> str:
    """A spec whose file, if it has one, is where the configuration is."""
    from unskew.recommend.parameters import split_name

    try:
        name, text = split_name(spec)
    except InputError:
        raise WrongValue("a recommender such as 'popular', or with a name 'v2=knn?neighbours=20'") from None
    if name is not None:
        return f"{name}={_place_spec(text, folder, confined)}"
    if text.startswith("agreement:"):  # a margin
        return "agreement:" + _place_spec(text.removeprefix("agreement:"), folder, confined)
    if text.startswith("column:"):  # another
        return text
    if text.startswith("table:"):
        return "table:" + place(text.removeprefix("table:"), folder, confined)
    own = re.match(r"([^?:]*\.py)(:.*)?$", text, re.DOTALL)
    return f"{place(own[1], folder, confined)}{own[2] or ''}" if own else text


def describe(value: Any) -> str:
    """A value inside a message, as TOML has it."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else one_line(value)
