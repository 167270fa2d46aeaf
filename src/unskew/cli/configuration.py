"""The configuration file, ``unskew.toml`` or ``[tool.unskew]`` of ``pyproject.toml``: its keys, read and checked.

Every key and value is checked whichever command runs, so that a slip is found at once and not by next month's job.
Nothing in the file is run: a spec of a recommender that would import code is refused when a command takes it,
unless the person at the command line allows that.
"""

from __future__ import annotations

import glob
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import click

from unskew.errors import FileError, InputError
from unskew.options import OPTIONS
from unskew.text import did_you_mean, first_line, one_line

SHARED_KEYS = {"log": "log"} | {
    f"{declared.table}.{declared.key or name.replace('_', '-')}".lstrip("."): name
    for name, declared in OPTIONS.items()
    if declared.table is not None
}
"""What options are called in Python, by their path in the file."""

COMMAND_LINE_ONLY = (
    *("as_json", "debug", "config", "no_config", "allow_code", "help", "help_all"),
    *("engine", "master", "spark_conf", "write"),
)
"""Options that no file may set: how this run shows what it finds, what it trusts, where it runs, and whether it
writes such a file.

Settings of Spark can name code, and a cluster runs it.
"""

_PROTOCOLS = ("after", "leave_last_out", "leave_out", "folds")
_DISPLACED = {
    "weights": ("reference", "baseline", "refit", "new_items", "users"),
    "reference": ("weights",),
    "exposures": ("exposed",),
    "exposed": ("exposures", "within"),
    **dict.fromkeys(_PROTOCOLS, _PROTOCOLS),
}
"""Options that cannot stand beside another: whoever gives the first has chosen against the others."""


def displace(values: Mapping[str, Any], given_names: Iterable[str]) -> dict[str, Any]:
    """The values without those that are given anew, and without what cannot stand beside these.

    >>> displace({"reference": "2024-03-01", "users": "both", "at": "last"}, ["weights"])
    {'at': 'last'}
    """
    gone = {name for new in given_names for name in (new, *_DISPLACED.get(new, ()))}
    return {name: value for name, value in values.items() if name not in gone}


def shared_option(path: str, command: str, options: Mapping[str, click.Parameter]) -> click.Parameter | None:
    """The option of a command that a shared key is; None if it has none."""
    name = SHARED_KEYS[path]
    return options.get(name) if _is_meant(name, command) else None


def _is_meant(name: str, command: str | None) -> bool:
    """Whether a command has this shared option; others refuse it, or have another thing of that name."""
    return name not in OPTIONS or command not in OPTIONS[name].not_for


def own_keys(command: click.Command) -> dict[str, click.Parameter]:
    """The options of a command by the keys that they have in its own table: their flags or, of shared ones, the
    last part of the shared key.
    """
    shared = {name: path.rpartition(".")[2] for path, name in SHARED_KEYS.items() if _is_meant(name, command.name)}
    params: dict[str, click.Parameter] = {}
    for param in command.params:
        if param.name is None or param.name in COMMAND_LINE_ONLY or not isinstance(param, click.Option):
            continue
        flag = next((flag for flag in param.opts if flag.startswith("--")), param.opts[0])
        params[shared.get(param.name, flag.lstrip("-"))] = param
    return params


NAME = "unskew.toml"
_PROJECT = "pyproject.toml"


@dataclass(frozen=True)
class Configuration:
    """What a file says."""

    file: Path  # where it is
    values: dict[str, dict[str, Any]]  # the value of each option that it sets, by command
    keys: dict[str, dict[str, str]]  # where in the file each of these stands
    # Whether somebody named the file. One that was there by itself reaches nothing outside its folder, and its
    # outputs replace nothing but what unskew wrote.
    named: bool = True

    def options_of(
        self, command: str, given_names: Iterable[str] = (), *, allow_code: bool = False
    ) -> dict[str, Any]:
        """What the file says about a command, but for what is given on the command line or cannot stand beside it.

        Refuses specs that would import code unless that is allowed; nothing is imported here.
        """
        values = displace(self.values[command], given_names)
        for name in () if self.named else OUTPUTS:
            if name in values:
                _refuse_foreign(Path(values[name]), f"{self.file} ({self.keys[command][name]})")
        for name in SPECS:
            specs = values.get(name, [])
            for spec in specs if isinstance(specs, list) else [specs]:
                _check_spec(spec, name, allow_code, f"{self.file} ({self.keys[command][name]})")
        return values


def _check_spec(spec: str, name: str, allow_code: bool, where: str) -> None:
    if name == "margins":
        kind, _, spec = spec.partition(":")
        if kind != "agreement":
            return
    if re.search(r":|\.py", spec):  # a name alone imports nothing
        from unskew.recommend.specs import require_allowed

        require_allowed(spec, allow_code=allow_code, where=where)


def _refuse_foreign(output: Path, where: str) -> None:
    """Refuse to replace a file unless it says that unskew wrote it."""
    from unskew.drawing.page import is_page
    from unskew.storage.tables import is_table

    if os.path.lexists(output) and not (is_page(output) or is_table(output)):
        raise InputError(
            f"{where} would replace {output}, which does not say that unskew wrote it",
            remedy="remove it, or name the output or the configuration file (--config) on the command line",
        )


def find_configuration(folder: Path) -> Path | None:
    """The file in a folder: ``unskew.toml``, else a ``pyproject.toml`` that has a table for unskew."""
    file, project = folder / NAME, folder / _PROJECT
    if file.is_file() or file.is_dir() or file.is_symlink():  # what cannot be read is not passed over in silence
        return file
    if not project.is_file():
        return None
    try:
        text = project.read_text(encoding="utf-8")
        return project if "unskew" in tomllib.loads(text).get("tool", {}) else None
    except (OSError, ValueError, RecursionError):
        # a project that is broken for others is none of ours, unless it speaks of us
        return project if b"tool.unskew" in _read_bytes(project) else None


def read_configuration(file: Path, commands: Mapping[str, click.Command], *, named: bool = True) -> Configuration:
    """Read a file and check all of it against the options of the commands.

    - `file`: what is called ``pyproject.toml`` has a table ``[tool.unskew]``; of any other name, all of it is
      meant.
    - `commands`: those that take their options from a file, by name.
    - `named`: see `Configuration`.
    """
    table: Any = _parse(file)
    if file.name == _PROJECT:
        tool = table.get("tool", {})
        table = tool.get("unskew") if isinstance(tool, dict) else None
        if table is None:
            raise InputError(f"{file} has no table [tool.unskew]", remedy=f"add it, or write {NAME}")
    reader = _Reader(file, commands, named)
    reader.read(table)
    values = {name: {**displace(reader.shared[name], special), **special} for name, special in reader.own.items()}
    return Configuration(file, values, reader.keys, named)


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}") from None


def _parse(file: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(_read_bytes(file).decode())
        repr(table)  # as messages show it, which a whole number of thousands of digits cannot be
        return table
    except ValueError as error:
        raise InputError(f"{file} is not TOML: {first_line(error)}") from None
    except RecursionError:
        raise InputError(
            f"{file} is not TOML that can be read: it is nested too deeply",
            remedy="write fewer levels of brackets",
        ) from None


class _Reader:
    """Goes through the tables of a file."""

    def __init__(self, file: Path, commands: Mapping[str, click.Command], named: bool) -> None:
        self.file, self.commands, self.named = file, commands, named
        self.shared: dict[str, dict[str, Any]] = {name: {} for name in commands}
        self.own: dict[str, dict[str, Any]] = {name: {} for name in commands}
        self.keys: dict[str, dict[str, str]] = {name: {} for name in commands}
        self.prefix = "tool.unskew." if file.name == _PROJECT else ""

    def read(self, table: Any) -> None:
        """Everything that the file says."""
        self._require_table(self.prefix.rstrip("."), table)
        groups = {path.partition(".")[0] for path in SHARED_KEYS if "." in path}
        alone = [path for path in SHARED_KEYS if "." not in path]
        for name, value in table.items():
            if name in alone:
                self._take_shared(name, value)
            elif name in groups:
                self._take_group(name, value)
            elif name in self.commands:
                self._take_command(name, value)
            else:
                self._refuse_unknown(name, [*alone, *sorted(groups), *self.commands])

    def _take_group(self, group: str, table: Any) -> None:
        self._require_table(group, table)
        known = [path.partition(".")[2] for path in SHARED_KEYS if path.startswith(f"{group}.")]
        for name, value in table.items():
            if name not in known:
                self._refuse_unknown(name, known, inside=group)
            self._take_shared(f"{group}.{name}", value)

    def _take_shared(self, path: str, value: Any) -> None:
        for name, command in self.commands.items():
            by_name = {param.name: param for param in command.params if param.name}
            param = shared_option(path, name, by_name)
            if param is not None and param.name is not None:
                self.shared[name][param.name] = self._convert(path, param, value)
                self.keys[name].setdefault(param.name, self.prefix + path)

    def _take_command(self, command: str, table: Any) -> None:
        self._require_table(command, table)
        known = own_keys(self.commands[command])
        for name, value in table.items():
            if name not in known:
                self._refuse_unknown(name, list(known), inside=command)
            param = known[name]
            assert param.name is not None
            self.own[command][param.name] = self._convert(f"{command}.{name}", param, value)
            self.keys[command][param.name] = f"{self.prefix}{command}.{name}"

    def _convert(self, path: str, param: click.Parameter, value: Any) -> Any:
        try:
            return convert_value(param, value, self.file.parent, confined=not self.named)
        except WrongValue as error:
            problem = f"{self.file}: {self.prefix}{path} is {describe(value)}, but must be {error}"
            raise InputError(problem) from None

    def _require_table(self, name: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise InputError(f"{self.file}: {name} is {describe(value)}, but must be a table: [{name}]")

    def _refuse_unknown(self, name: str, known: list[str], inside: str = "") -> None:
        """Say where the key belongs, if it is one of another table."""
        where = f" in [{self.prefix}{inside}]" if inside else ""
        meant = did_you_mean(name, known)
        elsewhere = [path for path in SHARED_KEYS if path.rpartition(".")[2] == name]
        if elsewhere:
            table = elsewhere[0].rpartition(".")[0]
            meant = f"; it belongs in [{self.prefix}{table}]." if table else "; it belongs at the top of the file."
        raise InputError(
            f"{self.file}: there is no key {name!r}{where}{meant or '.'} The keys there are {', '.join(known)}"
        )


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
        return all(Path(target).resolve().is_relative_to(root) for target in _list_places(folder / path, deep))
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
    expanded = str(Path(path).expanduser()) if path.startswith("~") else path
    placed = expanded if folder == Path() else os.path.join(folder, expanded)  # noqa: PTH118 (which keeps a slash at the end)
    return f"./{placed}" if placed.startswith(("-", "~")) else placed  # and no option, and no home


def _place_reference(reference: str, folder: Path, confined: bool) -> str:
    """A date stays as it is, a file is where the configuration is."""
    from unskew.reading.formats import PARQUET, find_ending
    from unskew.storage.files import is_file

    if find_ending(Path(reference)) in PARQUET.endings or is_file(place(reference, folder)):
        return place(reference, folder, confined)
    return reference


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
    match = re.match(r"([^?:]*\.py)(:.*)?$", text, re.DOTALL)
    return f"{place(match[1], folder, confined)}{match[2] or ''}" if match else text


def describe(value: Any) -> str:
    """A value inside a message, as TOML has it."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else one_line(value)
