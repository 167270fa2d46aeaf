"""A file to be read: where its bytes are, how to speak of it, and how it is to be read if it does not say so.

Options of one file follow its name after a question mark, as in ``events.csv?sep=;&header=false``.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote

from unskew.errors import ColumnError, EmptyError, InputError, option
from unskew.text import count, did_you_mean, enumerate_words

if TYPE_CHECKING:
    from unskew.reading.remote import RemoteFile

FORMAT_NAMES = ("csv", "tsv", "text", "json", "parquet", "arrow", "excel", "sqlite", "duckdb")
"""What formats are called in options."""

_SEPARATORS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_NO_QUOTES = ("none", "no", "off", "")
_MOST_BYTES = 4  # that DuckDB takes as a separator
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


_ON_OTHER_MACHINE = re.compile(r"(?i)(s3|gs|gcs|abfss?|https?)://")
_DATABASE = re.compile(
    r"(?i)(postgres(?:ql)?|snowflake|bigquery|flightsql|grpc(?:\+tls)?|redshift|mysql|mssql)://"
)


def is_remote(source: Any) -> bool:
    """Whether a source is the address of files on another machine."""
    return isinstance(source, str) and _ON_OTHER_MACHINE.match(source) is not None


def is_database(source: Any) -> bool:
    """Whether a source is the address of a database."""
    return isinstance(source, str) and _DATABASE.match(source) is not None


@dataclass(frozen=True)
class FileOptions:
    """How to read a file; None where the file itself decides."""

    format: str | None = None  # one of `FORMAT_NAMES`
    sep: str | None = None  # what stands between the values of a line, such as ``";"``, ``"::"`` or ``"tab"``
    header: bool | None = None  # whether the first line names the columns
    # What the columns are called, in place of a header or where there is none.
    column_names: tuple[str, ...] | None = None
    encoding: str | None = None  # of text, by a name that Python knows, such as ``"latin-1"``
    # What stands around values that contain the separator; ``"none"`` if a quote is a character like any other.
    quote: str | None = None
    # Of a database the table, of a workbook the sheet, of an archive the file in it (a pattern such as ``"*.csv"``
    # for several).
    table: str | None = None
    # Columns that are asked for: a first line that has one of them is a header.
    expected: frozenset[str] = frozenset()

    @classmethod
    def of(cls, **options: Any) -> FileOptions:
        """From what somebody gave, by the names of the attributes, checked and in one form."""
        if options.get("format") == "tsv" and options.get("sep") is None:
            options["sep"] = "tab"
        return cls(**{name: _READERS[name](value) for name, value in options.items() if value is not None})

    def explicit(self) -> dict[str, Any]:
        """What was said, by the names of the options."""
        return {name: getattr(self, name) for name in _READERS if getattr(self, name) is not None}

    def update(self, other: FileOptions) -> Self:
        """These options, but what the other says where it says something."""
        return replace(self, **other.explicit())

    def expect(self, *names: object) -> Self:
        """The same where these columns are asked for; a number is no name."""
        texts = {name for name in names if isinstance(name, str) and not name.isdecimal()}
        return replace(self, expected=self.expected | texts)


def _read_format(value: Any) -> str:
    name = str(value).lower()
    if name not in FORMAT_NAMES:
        raise InputError(f"{option('format')} is {value!r}", remedy=f"give one of {', '.join(FORMAT_NAMES)}")
    return "csv" if name in ("tsv", "text") else name


def _read_separator(value: Any) -> str:
    text = _SEPARATORS.get(value.lower(), value) if isinstance(value, str) else ""
    size = len(text.encode(errors="surrogatepass"))
    is_text = text == text.encode(errors="replace").decode()  # and no byte of a command line that is none
    if not is_text or not 0 < size <= _MOST_BYTES or set(text) & set('\r\n"'):
        raise InputError(
            f"{option('sep')} is {value!r}",
            remedy=f"give one to {_MOST_BYTES} characters such as ; or ::, or the word tab, comma, pipe or space",
        )
    return text


def _read_header(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{option('header')} is {value!r}", remedy="give True or False")
    return value


def _read_names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else list(value)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{option('column_names')} must be texts, not {value!r}")
    names = [name.strip() for name in names]
    if not names or not all(names):
        raise InputError(f"{option('column_names')} has an empty name", remedy="give a name for every column")
    twice = next((name for name in names if [n.lower() for n in names].count(name.lower()) > 1), None)
    if twice is not None:
        raise InputError(f"{option('column_names')} has {twice!r} twice", remedy="give each column another name")
    return tuple(names)


def _read_encoding(value: Any) -> str:
    try:
        codec = codecs.lookup(value)
    except (LookupError, TypeError, ValueError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True):
        raise InputError(
            f"{option('encoding')} is {value!r}, which Python does not know",
            remedy="give a name such as utf-8, latin-1, cp1252 or utf-16",
        )
    return codec.name


def _read_quote(value: Any) -> str:
    if isinstance(value, str) and value.lower() in _NO_QUOTES:
        return ""
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value.isspace():
        raise InputError(
            f"{option('quote')} is {value!r}", remedy="give one character, or 'none' if there are no quotes"
        )
    return value


def _read_table(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{option('table')} is {value!r}", remedy="give a name")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "format": _read_format,
    "sep": _read_separator,
    "header": _read_header,
    "column_names": _read_names,
    "encoding": _read_encoding,
    "quote": _read_quote,
    "table": _read_table,
}
"""What checks each option; the others of a path mean something else."""


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
    parameters = {}
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        if not key or not equals:
            raise InputError(f"{text!r}: cannot read {part!r}", remedy=f"write {path}?name=value&other=value")
        parameters[unquote(key.strip())] = unquote(value)
    return path, parameters


def split_roles(text: str, roles: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A path with the parameters that say how to read it, and those that say which columns are what.

    >>> split_roles("shown.csv?sep=;&user=member", ["user", "item"])
    ('shown.csv?sep=;', {'user': 'member'})
    """
    path, parameters = split_parameters(text)
    if not parameters:
        return text, {}
    take_file_options(parameters, text, roles)  # refuses what is neither
    parts = text[len(path) + 1 :].split("&")
    kept = "&".join(part for part in parts if unquote(part.partition("=")[0].strip()) not in roles)
    return f"{path}?{kept}" if kept else path, {key: parameters[key] for key in parameters if key in roles}


def take_file_options(parameters: Mapping[str, str], where: str, others: Sequence[str] = ()) -> FileOptions:
    """The options among parameters of a path; those called as in `others` mean something else."""
    known = {"columns" if name == "column_names" else name: name for name in _READERS}
    options: dict[str, Any] = {}
    for key, value in parameters.items():
        if key in others:
            continue
        if key not in known:
            hint = did_you_mean(key, [*others, *known])
            raise InputError(
                f"{where!r} has a parameter {key!r}{hint}",
                remedy=f"it can be {', '.join([*others, *known])}",
            )
        options[known[key]] = _read_flag(value, where) if key == "header" else value
    return FileOptions.of(**options)


def _read_flag(text: str, where: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise InputError(f"{where!r}: header is {text!r}", remedy="write header=yes or header=no")
    return text.lower() in _TRUE


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a file system, or with a NUL
        return False


_MOST_NAMES = 12  # that a message lists


EXAMPLE, EXAMPLE_EXPOSURES = "example", "example-exposures"
"""The files that ship with unskew, so that every example of the documentation runs as printed.

They are simulated: 4 000 users, 2 867 items, and a recommender that is switched on on 1 March 2024.
``python -m tools.make_example`` makes them.
"""


def locate_example(name: str) -> Path:
    """Where the built-in file of that name is."""
    return Path(str(files("unskew.reading").joinpath(f"{name}.parquet")))


def find_example(source: str | Path) -> Path | None:
    """The built-in file of that name; None if there is none, or a file in the working directory has it."""
    name = str(source)
    return locate_example(name) if name in (EXAMPLE, EXAMPLE_EXPOSURES) and not Path(name).exists() else None


@dataclass(frozen=True)
class InputFile:
    """One file of a source."""

    path: Path  # what is opened: the file itself, or what was unpacked from it
    name: str  # how to speak of it
    options: FileOptions = field(default_factory=FileOptions)  # how to read it
    notes: tuple[str, ...] = ()  # what was found out about it that it does not say itself, in words: "in latin-1"
    origin: Path | None = None  # the file that the user named; its folders may say something
    remote: RemoteFile | None = None  # where it is to be copied from, if it is on another machine

    @property
    def place(self) -> Path:
        """The file that the user named."""
        return self.origin or self.path


def choose_inside(file: InputFile, names: Sequence[str], what: str) -> str:
    """Which of the tables or sheets of a file is read: the one that was asked for, or the only one."""
    wanted = file.options.table
    if not names:
        raise EmptyError(f"{file.name} has no {what}s", remedy="check the file")
    if wanted is None and len(names) == 1:
        return names[0]
    matches = [name for name in names if wanted is not None and name.lower() == wanted.lower()]
    if matches:
        return matches[0]
    content = f"{file.name} has the {what}{'s' * (len(names) > 1)} {list_names(names)}"
    if wanted is None:
        raise ColumnError(content, remedy=f"choose one with {option('table', names[0])}")
    raise ColumnError(
        f"{content}, and none is called {wanted!r}", remedy=f"choose one of these{did_you_mean(wanted, names)}"
    )


def list_names(names: Sequence[str]) -> str:
    """Some names for a message, in quotes."""
    shown = [repr(name) for name in names[:_MOST_NAMES]]
    return enumerate_words([*shown, *([f"{len(names) - len(shown)} more"] * (len(names) > len(shown)))])


def name_columns(file: InputFile, first: Sequence[str], *, header: bool) -> tuple[str, ...]:
    """What columns are called: as asked for, as the first row says, or by number from 1."""
    chosen = file.options.column_names
    if chosen is not None:
        if len(chosen) != len(first):
            raise ColumnError(
                f"{file.name} has {count(len(first), 'column')}, and {option('column_names')} names {len(chosen)}",
                remedy=f"name each, or say with {option('sep')} what stands between them",
            )
        return chosen
    if not header:
        return tuple(str(k + 1) for k in range(len(first)))
    names = [name.strip() for name in first]
    twice = next((n for n in names if n and names.count(n) > 1), None)
    if twice is not None:
        raise ColumnError(
            f"{file.name} has two columns {twice!r} in its first line, which must name the columns",
            remedy=f"rename one of them, or say {option('header', False)} if that line is a row",
        )
    return _tell_apart(names)


def _tell_apart(names: list[str]) -> tuple[str, ...]:
    """Names that differ even without regard to case, which SQL does not tell; a column without a name gets one."""
    columns: dict[str, str] = {}  # by their small letters
    for k, name in enumerate(names):
        label = name or f"column {k + 1}"
        while label.lower() in columns:
            label += "_"
        columns[label.lower()] = label
    return tuple(columns.values())
