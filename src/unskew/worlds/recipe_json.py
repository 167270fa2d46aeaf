"""What a person or a file says about a world, before it is believed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from unskew.errors import InputError


def parameters(kind: type[Any], told: Any, what: str) -> dict[str, Any]:
    """Values for the fields of a class; an error if it has no such field, or wants one that is not told."""
    if not isinstance(told, Mapping):
        raise InputError(f"{what} is described by {told!r}: give its parameters by name")
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for name in told:
        if name not in known:
            raise InputError(f"{what} has no parameter {name!r}: it was written by another version of unskew")
    for name, needed in known.items():
        if needed and name not in told:
            raise InputError(f"{what} has a parameter {name!r}, which is not given")
    return dict(told)


def several(name: str, given: Any, kind: type[Any] | None = None) -> tuple[Any, ...]:
    """Several values, each of a kind."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {given!r}: give a list")
    values = tuple(given)
    for value in values:
        if kind is not None and not isinstance(value, kind):
            raise InputError(f"{name} has {value!r}, which is no {kind.__name__}")
    return values


def sendable(values: dict[str, Any]) -> dict[str, Any]:
    """As JSON would give it back: lists in place of tuples, plain numbers in place of those of numpy."""
    told: dict[str, Any] = json.loads(json.dumps(values, default=_plain))
    return told


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
