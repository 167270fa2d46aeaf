"""Margins as they are written: in Python, on the command line, and in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unskew.errors import InputError, PolicyError, option
from unskew.text import one_line
from unskew.weights.groups import ColumnMargin, ItemGroups, Margin
from unskew.weights.production_agreement import Agreement


def read_margins(given: Any) -> tuple[Margin, ...]:
    """Margins from a list of column names, mappings {item: group} and margins."""
    several = [given] if isinstance(given, str | Mapping | Margin) else given
    if not isinstance(several, Iterable):
        raise PolicyError(f"{option('margins')} is {one_line(given)}", remedy="give a list, such as ['category']")
    margins: list[Margin] = []
    for one in several:
        margin = _read_margin(one, sum(isinstance(other, ItemGroups) for other in margins))
        if any(other.name == margin.name for other in margins):
            raise PolicyError(f"the margin {margin.name!r} is given twice", remedy="give each once")
        margins.append(margin)
    return tuple(margins)


def parse_margin(text: str) -> Margin:
    """A margin from the command line: ``column:NAME`` or ``agreement:SPEC``."""
    kind, _, rest = text.partition(":")
    if kind == "column" and rest:
        return ColumnMargin(rest)
    if kind == "agreement" and rest:
        return Agreement(rest)
    raise InputError(
        f"{option('margins')} is {text!r}", remedy="give column:NAME, or agreement:SPEC such as agreement:knn"
    )


def load_margin(values: Mapping[str, Any], groups: Mapping[Any, Any] | None = None) -> Margin:
    """What `Margin.to_dict` gave; `groups` is the mapping of a margin of items, which files keep beside it."""
    kind = values.get("kind")
    if kind == "column":
        return ColumnMargin(str(values["column"]))
    if kind == "items" and groups is not None:
        return ItemGroups(groups, str(values["name"]))
    if kind == "agreement":
        return Agreement.load(values)
    raise PolicyError(f"there is no margin of the kind {kind!r}")


def _read_margin(given: Any, mappings: int) -> Margin:
    if isinstance(given, str) and given:
        return ColumnMargin(given)
    if isinstance(given, Mapping):
        return ItemGroups(given, "groups" if mappings == 0 else f"groups {mappings + 1}")
    if isinstance(given, Margin) and not isinstance(given, type):
        return given
    raise PolicyError(
        f"{option('margins')} has {one_line(given)}",
        remedy="give the name of a column of labels, a mapping {item: group}, or Agreement(...)",
    )
