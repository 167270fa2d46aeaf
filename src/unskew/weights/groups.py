"""Weights for groups of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from unskew.arrays.rows import all_entries
from unskew.arrays.types import Floats
from unskew.data.slice import Slice
from unskew.data.weighting import Weighting
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


@dataclass(frozen=True, eq=False)
class GroupWeights:
    """What a margin adds to item weights: a factor for each of its groups, on the weight of every pair in it.

    Attributes
    ----------
    name
        That of the margin.
    groups
        The names of the groups, of both dates.
    log_factors
        Log of the factors, scaled so that ``sum T log`` is 0; 0 for a group that nobody holds now.
    p_reference, p_before, p_after
        The probability of each group at the reference date, now without weights, and now with all of them.
    """

    name: str
    groups: tuple[str, ...]
    log_factors: Floats
    p_reference: Floats
    p_before: Floats
    p_after: Floats

    @property
    def factors(self) -> dict[str, float]:
        """The factor of each group."""
        return dict(zip(self.groups, np.exp(self.log_factors).tolist(), strict=True))

    def log_factors_of(self, groups: Groups) -> Floats:
        """The log-factor of each entry; 0 in a group that was not known when the weights were fitted."""
        return self.log_factors_by_name(groups.names)[groups.codes]

    def log_factors_by_name(self, names: Sequence[str]) -> Floats:
        """The log-factor of each of these groups, 0 for one that it does not know."""
        known = dict(zip(self.groups, self.log_factors.tolist(), strict=True))
        return np.array([known.get(name, 0.0) for name in names])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        arrays = ("log_factors", "p_reference", "p_before", "p_after")
        return {
            "name": self.name,
            "groups": list(self.groups),
            **{name: getattr(self, name).tolist() for name in arrays},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GroupWeights:
        """What `to_dict` gave."""
        arrays = ("log_factors", "p_reference", "p_before", "p_after")
        given = {name: np.asarray(values[name], dtype=np.float64) for name in arrays}
        groups = tuple(map(str, values["groups"]))
        for name, array in given.items():
            if array.shape != (len(groups),) or not np.isfinite(array).all():
                raise ValueError(f"{name} of the margin {values['name']!r} is not a number for each group")
        return cls(str(values["name"]), groups, **given)


def weigh_pairs(weighting: Weighting, margins: Sequence[Margin], weights: Sequence[GroupWeights]) -> Weighting:
    """Item weights and those of groups on the pairs of a slice.

    All of them enter as P(i|u) of each entry, so that whoever scores need not know of margins. Each row is
    shifted by its maximum: weights of items and groups may be far out and all but cancel.
    """
    factors = [(margin, own) for margin, own in zip(margins, weights, strict=True) if own.log_factors.any()]
    if not factors:
        return weighting
    part, theta = weighting.part, weighting.log_weights
    p = part.profiles
    entries = all_entries(p)
    x = theta[p.item[entries]] + (0.0 if p.b is None else np.log(p.b[entries]))
    for margin, own in factors:
        x += own.log_factors_of(margin.groups(part))[entries]
    sizes = p.sizes()
    rows = np.flatnonzero(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[rows])[:-1]])
    x -= np.repeat(np.maximum.reduceat(x, starts), sizes[rows]) if len(rows) else 0.0
    b = np.ones(len(p.item))
    b[entries] = np.exp(x)
    flat = np.where(theta > -np.inf, 0.0, -np.inf)
    return replace(weighting, part=replace(part, profiles=replace(p, b=b)), log_weights=flat)
