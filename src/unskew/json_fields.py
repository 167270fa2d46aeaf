"""Dataclasses from JSON that somebody else may have written: every field has the type that it is declared with."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from unskew.text import one_line

Kind = TypeVar("Kind")


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
        for one in inside:
            try:
                return _convert(name, value, one)
            except ValueError:
                continue
        raise ValueError(f"{name} is {one_line(value)}")
    if origin is tuple and len(inside) == 2 and inside[1] is ...:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} is {one_line(value)}")
        return tuple(_convert(name, one, inside[0]) for one in value)
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
