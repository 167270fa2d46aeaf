"""How a file is to be read where it does not say so itself, or says it wrongly.

`FileOptions` travels with each file, from the caller to whatever opens it. What is None is found out from the
file. In a path they can be written behind a question mark: ``events.db?table=clicks``, ``ratings.dat?sep=::``.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

from unskew.errors import InputError, option
from unskew.text import did_you_mean

FORMAT_NAMES = {
    "csv": "CSV",
    "tsv": "CSV",
    "text": "CSV",
    "json": "JSON lines",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "excel": "Excel",
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
}
"""What a format is called in options, and what people call it."""

_SEPARATORS = {
    "tab": "\t",
    r"\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "space": " ",
}
_NO_QUOTES = ("none", "no", "off", "")
_MOST_BYTES = 4  # that DuckDB takes as a separator
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True)
class FileOptions:
    """How to read a file; None where the file itself decides.

    Attributes
    ----------
    format
        A key of `FORMAT_NAMES`.
    sep
        What stands between the values of a line, such as ``";"``, ``"::"`` or ``"tab"``.
    header
        Whether the first line names the columns.
    column_names
        What the columns are called, in place of a header or where there is none.
    encoding
        Of text, by a name that Python knows, such as ``"latin-1"``.
    quote
        What stands around values that contain the separator; ``"none"`` if a quote is a character like any other.
    table
        Of a database the table, of a workbook the sheet, of an archive the file in it (a pattern such as
        ``"*.csv"`` for several).
    expected
        Columns that are asked for: a first line that has one of them is a header.
    """

    format: str | None = None
    sep: str | None = None
    header: bool | None = None
    column_names: tuple[str, ...] | None = None
    encoding: str | None = None
    quote: str | None = None
    table: str | None = None
    expected: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        *,
        format: str | None = None,
        sep: str | None = None,
        header: bool | None = None,
        column_names: Sequence[str] | None = None,
        encoding: str | None = None,
        quote: str | None = None,
        table: str | None = None,
    ) -> FileOptions:
        """From what somebody gave, checked and in one form."""
        format_ = _read_format(format)
        return cls(
            format=format_,
            sep=_read_separator("tab" if sep is None and format == "tsv" else sep),
            header=_read_header(header),
            column_names=_read_names(column_names),
            encoding=_read_encoding(encoding),
            quote=_read_quote(quote),
            table=_read_text("table", table),
        )

    def given(self) -> dict[str, Any]:
        """What was said, by the names of the options."""
        return {name: getattr(self, name) for name in _NAMES if getattr(self, name) is not None}

    def update(self, other: FileOptions) -> Self:
        """These options, but what the other says where it says something."""
        return replace(self, **other.given())

    def expect(self, *names: object) -> Self:
        """The same where these columns are asked for; a number is no name."""
        texts = {name for name in names if isinstance(name, str) and not name.isdecimal()}
        return replace(self, expected=self.expected | texts)


_NAMES = [f.name for f in fields(FileOptions) if f.name != "expected"]


def _read_format(given: str | None) -> str | None:
    if given is None:
        return None
    name = str(given).lower()
    if name not in FORMAT_NAMES:
        known = ", ".join(FORMAT_NAMES)
        raise InputError(f"{option('format')} is {given!r}", remedy=f"give one of {known}")
    return next(key for key, shown in FORMAT_NAMES.items() if shown == FORMAT_NAMES[name])


def _read_separator(given: str | None) -> str | None:
    if given is None:
        return None
    text = _SEPARATORS.get(given.lower(), given) if isinstance(given, str) else ""
    size = len(text.encode(errors="surrogatepass"))
    is_text = text == text.encode(errors="replace").decode()  # and no byte of a command line that is none
    if not is_text or not 0 < size <= _MOST_BYTES or set(text) & set('\r\n"'):
        raise InputError(
            f"{option('sep')} is {given!r}",
            remedy=f"give one to {_MOST_BYTES} characters such as ; or ::, or the word tab, comma, pipe or space",
        )
    return text


def _read_header(given: bool | None) -> bool | None:
    if given is not None and not isinstance(given, bool):
        raise InputError(f"{option('header')} is {given!r}", remedy="give True or False")
    return given


def _read_names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = given.split(",") if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{option('column_names')} must be texts, not {given!r}")
    names = [name.strip() for name in names]
    if not names or not all(names):
        raise InputError(f"{option('column_names')} has an empty name", remedy="give a name for every column")
    twice = next((name for name in names if [n.lower() for n in names].count(name.lower()) > 1), None)
    if twice is not None:
        raise InputError(f"{option('column_names')} has {twice!r} twice", remedy="give each column another name")
    return tuple(names)


def _read_encoding(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        found = codecs.lookup(given)
    except (LookupError, TypeError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise InputError(
            f"{option('encoding')} is {given!r}, which Python does not know",
            remedy="give a name such as utf-8, latin-1, cp1252 or utf-16",
        )
    return found.name


def _read_quote(given: str | None) -> str | None:
    if given is None:
        return None
    if isinstance(given, str) and given.lower() in _NO_QUOTES:
        return ""
    if not isinstance(given, str) or len(given) != 1 or not given.isascii() or given.isspace():
        raise InputError(
            f"{option('quote')} is {given!r}", remedy="give one character, or 'none' if there are no quotes"
        )
    return given


def _read_text(name: str, given: str | None) -> str | None:
    if given is not None and (not isinstance(given, str) or not given):
        raise InputError(f"{option(name)} is {given!r}", remedy="give a name")
    return given


def split_parameters(text: str) -> tuple[str, dict[str, str]]:
    """A path, and what is written behind its question mark as ``name=value``; nothing if there is such a file.

    >>> split_parameters("events.db?table=clicks")
    ('events.db', {'table': 'clicks'})
    >>> split_parameters("2013-0?.csv")
    ('2013-0?.csv', {})
    """
    path, _, query = text.rpartition("?") if "?" in text else (text, "", "")
    if "=" not in query or not path or _exists(text):
        return text, {}
    given = {}
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        if not key or not equals:
            raise InputError(f"{text!r}: cannot read {part!r}", remedy=f"write {path}?name=value&other=value")
        given[unquote(key.strip())] = unquote(value)
    return path, given


def split_roles(text: str, roles: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A path with the parameters that say how to read it, and those that say which columns are what.

    >>> split_roles("shown.csv?sep=;&user=member", ["user", "item"])
    ('shown.csv?sep=;', {'user': 'member'})
    """
    path, given = split_parameters(text)
    if not given:
        return text, {}
    take_file_options(given, text, roles)  # refuses what is neither
    kept = [
        part for part in text[len(path) + 1 :].split("&") if unquote(part.partition("=")[0].strip()) not in roles
    ]
    return f"{path}?{'&'.join(kept)}" if kept else path, {key: given[key] for key in given if key in roles}


def take_file_options(given: Mapping[str, str], where: str, others: Sequence[str] = ()) -> FileOptions:
    """The options among parameters of a path; those called as in `others` mean something else."""
    known = {"columns" if name == "column_names" else name: name for name in _NAMES}
    mine: dict[str, Any] = {}
    for key, value in given.items():
        if key in others:
            continue
        if key not in known:
            hint = did_you_mean(key, [*others, *known])
            raise InputError(
                f"{where!r} has a parameter {key!r}{hint}",
                remedy=f"it can be {', '.join([*others, *known])}",
            )
        mine[known[key]] = _read_flag(value, where) if key == "header" else value
    return FileOptions.of(**mine)


def _read_flag(text: str, where: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise InputError(f"{where!r}: header is {text!r}", remedy="write header=yes or header=no")
    return text.lower() in _TRUE


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a file system, or with a NUL
        return False
