"""Margins beyond items: into which groups the held-out pairs of a date fall, by a column of the log or by item.

A margin says of every pair of a user and an item in which group it is. The groups of two dates are compared by
their names. The margin of agreement with a model of production is in `unskew.weights.production_agreement`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from unskew.data.slice import Slice
from unskew.errors import InputError, option

NO_GROUP = "(none)"
"""The group of items that a mapping does not name; a null label is called so as well."""


@dataclass(frozen=True)
class Groups:
    """The group of every place of ``profiles.item`` of a slice: ``names[codes[e]]``."""

    names: tuple[str, ...]
    codes: npt.NDArray[np.int32]


@runtime_checkable
class Margin(Protocol):
    """A partition of the held-out pairs of any date.

    Attributes
    ----------
    name
        What reports call it.
    columns
        The columns of texts that it needs, read with ``read_log(labels=...)``.
    """

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def groups(self, part: Slice, /) -> Groups:
        """The group of each entry of a slice."""

    def to_dict(self) -> dict[str, Any]:
        """What a file keeps of it, ready for JSON; refuses what a file may not name."""


@dataclass(frozen=True)
class ColumnMargin:
    """Groups from a column of texts of the log, such as a category or a price band.

    The group is that of the row, not of the item: the same item may be in one price band today and in another
    tomorrow.
    """

    column: str

    @property
    def name(self) -> str:
        return self.column

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def groups(self, part: Slice) -> Groups:
        labels = part.log.label(self.column)
        return Groups(tuple(labels.values.to_pylist()), part.per_entry(labels.codes))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "column", "column": self.column}


@dataclass(frozen=True)
class ItemGroups:
    """Groups of items from a mapping {item: group}; an item that it does not name is in the group ``(none)``."""

    mapping: Mapping[Any, Any]
    name: str = "groups"
    columns: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not self.mapping:
            raise InputError(f"{option('margins')} has an empty mapping", remedy="give {item: group}")

    def groups(self, part: Slice) -> Groups:
        ids = part.log.items
        codes = ids.codes(list(self.mapping))
        if not (codes >= 0).any():
            raise InputError(
                f"{option('margins')}: the log has none of the items of the mapping {self.name!r} (it has "
                f"{ids.examples()})",
                remedy="are they ids of the same catalogue?",
            )
        texts = [str(group) for group in self.mapping.values()]
        names = tuple(sorted({*texts, NO_GROUP}))
        place = {name: k for k, name in enumerate(names)}
        group = np.full(len(ids), place[NO_GROUP], dtype=np.int32)
        for code, text in zip(codes, texts, strict=True):
            if code >= 0:
                group[code] = place[text]
        return Groups(names, group[part.profiles.item])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "items", "name": self.name}  # the mapping itself goes into the arrays of the file
