"""The parameters of a world between Python and JSON, and the checks that both need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from unskew.errors import InputError
from unskew.text import one_line


def read_fields(kind: type[Any], values: Any, what: str) -> dict[str, Any]:
    """Values for the fields of a class; an error if it has no such field, or needs one that is missing."""
    if not isinstance(values, Mapping):
        raise InputError(f"{what} is described by {one_line(values, 200)}", remedy="give its parameters by name")
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for name in values:
        if name not in known:
            raise InputError(f"{what} has no parameter {name!r}", remedy="use the version of unskew that wrote it")
    for name, needed in known.items():
        if needed and name not in values:
            raise InputError(f"{what} has no {name!r}, which it needs", remedy="add it")
    return dict(values)


def as_tuple(name: str, given: Any, kind: type[Any] | None = None) -> tuple[Any, ...]:
    """Several values, all of one kind."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {one_line(given, 200)}", remedy="give a list")
    values = tuple(given)
    for value in values:
        if kind is not None and not isinstance(value, kind):
            raise InputError(f"{name} has {one_line(value, 200)}, but each must be a {kind.__name__}")
    return values


def to_json_types(values: dict[str, Any]) -> dict[str, Any]:
    """The values as JSON would give them back: lists for tuples, plain numbers for those of numpy."""
    result: dict[str, Any] = json.loads(json.dumps(values, default=_convert))
    return result


def _convert(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
