"""JSON that somebody else may have written: within limits, and as dataclasses whose fields fit their types."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from unskew.errors import FileError
from unskew.storage.files import check_readable
from unskew.text import first_line, one_line

Kind = TypeVar("Kind")

_MOST_DEEP = 20  # levels of what we write
_MOST_BYTES = 2**28  # of a JSON file of ours


def parse_json(text: str | bytes) -> Any:
    """What JSON says; a ValueError if it is none, if it has what JSON does not have, or is nested too deeply."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level, depth = [content], 0
    while level:
        if depth == _MOST_DEEP:
            raise ValueError("it is nested too deeply")
        inside = (
            node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list)
        )
        level, depth = [value for values in inside for value in values], depth + 1
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def read_json(path: Path) -> Any:
    """What a JSON file says."""
    check_readable(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES // 2**20} MB")
        return parse_json(path.read_bytes())
    except (ValueError, OSError) as error:
        raise FileError(f"{path} cannot be read as JSON: {first_line(error)}", remedy="make it again") from None


def read_dataclass(kind: type[Kind], values: Any) -> Kind:
    """An object of a dataclass from what `dataclasses.asdict` and JSON made of it; a ValueError if it cannot be.

    Checked are numbers (finite ones), texts, flags, None, and dataclasses and tuples of these; a field that is
    declared as anything else takes any value.

    >>> @dataclasses.dataclass
    ... class Pair:
    ...     one: int
    ...     other: float | None = None
    >>> read_dataclass(Pair, {"one": 1})
    Pair(one=1, other=None)
    >>> read_dataclass(Pair, {"one": True})
    Traceback (most recent call last):
    ...
    ValueError: one is True
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{kind.__name__} is {one_line(values)}")
    declared = _declared(kind)
    unknown = [name for name in values if name not in declared]
    if unknown:
        raise ValueError(f"{kind.__name__} has no {one_line(unknown[0])}")
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        default = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if default and field.name not in values:
            raise ValueError(f"{field.name} is missing")
    return kind(**{name: _convert(name, value, declared[name]) for name, value in values.items()})


def _declared(kind: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


def _convert(name: str, value: Any, declared: Any) -> Any:
    """The value, if it is one that a field of this type can have."""
    origin, inside = typing.get_origin(declared), typing.get_args(declared)
    if origin in (typing.Union, types.UnionType):
        for part in inside:
            try:
                return _convert(name, value, part)
            except ValueError:
                continue
        raise ValueError(f"{name} is {one_line(value)}")
    if origin is tuple and len(inside) == 2 and inside[1] is ...:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} is {one_line(value)}")
        return tuple(_convert(name, part, inside[0]) for part in value)
    if dataclasses.is_dataclass(declared) and isinstance(declared, type):
        return read_dataclass(declared, value)
    if not _fits(value, declared):
        raise ValueError(f"{name} is {one_line(value)}")
    return value


def _fits(value: Any, declared: Any) -> bool:
    if declared is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    if declared is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if declared in (str, bool):
        return isinstance(value, declared)
    return value is None if declared is types.NoneType else True


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
