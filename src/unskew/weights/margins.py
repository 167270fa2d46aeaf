"""Margins beyond items: groups of held-out pairs, their weights, and how they are written and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from unskew.arrays.profiles import all_entries, all_users
from unskew.arrays.types import Codes, Floats
from unskew.data.held_out import find_last_entries
from unskew.data.log import Log
from unskew.data.slice import Slice, Snapshot, Weighting
from unskew.data.times import Moment
from unskew.errors import InputError, PolicyError, option
from unskew.memo import Memo
from unskew.progress import progress
from unskew.recommend.calls import ask_for_ranks, fit, lists_for
from unskew.recommend.contract import Batch, HeldOutPairs, RanksHeldOut, Recommender
from unskew.recommend.specs import AnyRecommender, recommender, require_shipped
from unskew.text import one_line

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
    """What a margin adds to item weights: a factor for each of its groups, on the weight of every pair in it."""

    name: str
    groups: tuple[str, ...]  # the names of the groups, of both dates
    # Log of the factors, scaled so that ``sum T log`` is 0; 0 for a group that nobody holds now.
    log_factors: Floats
    # The probability of each group at the reference date, now without weights, and now with all of them.
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
        values_by_name = {name: np.asarray(values[name], dtype=np.float64) for name in arrays}
        groups = tuple(map(str, values["groups"]))
        for name, array in values_by_name.items():
            if array.shape != (len(groups),) or not np.isfinite(array).all():
                raise ValueError(f"{name} of the margin {values['name']!r} is not a number for each group")
        return cls(str(values["name"]), groups, **values_by_name)


def weigh_pairs(weighting: Weighting, margins: Sequence[Margin], weights: Sequence[GroupWeights]) -> Weighting:
    """Item weights and those of groups on the pairs of a slice.

    All of them enter as P(i|u) of each entry, so that whoever scores need not know of margins. Each row is
    shifted by its maximum: weights of items and groups may be far out and all but cancel.
    """
    factors = [
        (margin, group_weights)
        for margin, group_weights in zip(margins, weights, strict=True)
        if group_weights.log_factors.any()
    ]
    if not factors:
        return weighting
    part, theta = weighting.part, weighting.log_weights
    p = part.profiles
    entries = all_entries(p)
    x = theta[p.item[entries]] + (0.0 if p.b is None else np.log(p.b[entries]))
    for margin, group_weights in factors:
        x += group_weights.log_factors_of(margin.groups(part))[entries]
    sizes = p.sizes()
    rows = np.flatnonzero(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[rows])[:-1]])
    x -= np.repeat(np.maximum.reduceat(x, starts), sizes[rows]) if len(rows) else 0.0
    b = np.ones(len(p.item))
    b[entries] = np.exp(x)
    flat = np.where(theta > -np.inf, 0.0, -np.inf)
    return replace(weighting, part=replace(part, profiles=replace(p, b=b)), log_weights=flat)


LAST_RANKS = np.array([1, 2, 3, 5, 9, 14, 24, 48, 96, 200])
"""The last rank of each group; one more is beyond them all."""

_BATCH_ENTRIES = 400_000  # of profiles in one batch


class Agreement:
    """The rank that a model of production gives to a held-out item, in groups: 1, 2, 3, 4 to 5, ..., beyond 200.

    A margin for `fit_weights` and `report`. The model is production's own recommender or a stand-in for it, as
    `evaluate` takes one, fitted anew to the profiles of each date. Weights that match this margin say what a score
    would be *at the agreement with production of the reference date*. That takes what recommendations did away
    from personalised scores, in part; it takes true gains of recommenders that are close to production away as
    well.

    Attributes
    ----------
    production
        The model. A spec with ``exact=false`` is taken without it: that says how held-out pairs are ranked, not
        what production recommends, and a model that has learned from a pair agrees with it in any case.

    Examples
    --------
    >>> import unskew as us
    >>> from unskew.weights import Agreement
    >>> log = us.simulate(users=300, items=60, seed=2).log
    >>> weights = us.fit_weights(log.at(480), log.at(300), margins=[Agreement("popular")])
    >>> [(margin.name, round(margin.bound_before, 2), round(margin.bound, 2)) for margin in weights.report.margins]
    [('agreement:popular', 0.19, 0.02)]
    """

    columns: tuple[str, ...] = ()

    def __init__(self, production: AnyRecommender) -> None:
        self.production = _leave_pairs_out(production) if isinstance(production, str) else production
        self._model = recommender(self.production)
        self._found: Memo[Log, dict[tuple[Any, ...], Groups]] = Memo()

    def __repr__(self) -> str:
        return f"Agreement({str(self._model)!r})"

    @cached_property
    def name(self) -> str:
        """``agreement:`` and the name of the model."""
        return f"agreement:{self._model}"

    def groups(self, part: Slice) -> Groups:
        """The group of each entry, by a model that is fitted at the date of the slice; kept for the next time."""
        known = self._found.setdefault(part.log, {})
        key = (part.tick, part.policy.held, part.after)
        if key not in known:
            known[key] = self._find_groups(part)
        if known[key].codes.shape != part.profiles.item.shape:
            raise InputError(f"{part} is not what its log has at {part.at}", remedy="give the profiles at a date")
        return known[key]

    def to_dict(self) -> dict[str, Any]:
        """The spec of the model; refuses one that unskew does not ship, since a file may name no other."""
        spec = self.production
        if not isinstance(spec, str):
            raise PolicyError(
                f"weights with a margin of agreement with {self._model} cannot be written to a file, which has no "
                "room for a model",
                remedy="name it by a spec, such as Agreement('knn')",
            )
        require_shipped(spec)
        return {"kind": "agreement", "production": spec}

    @classmethod
    def load(cls, values: Any) -> Agreement:
        """What `to_dict` gave, if it names what unskew ships."""
        require_shipped(values["production"])
        return cls(values["production"])

    def _find_groups(self, part: Slice) -> Groups:
        whole = part.log.at(Moment(part.tick, part.at))
        if part.policy.held == "profiles":
            pairs = all_entries(whole.profiles)
            ranks = _rank_pairs(self._model, whole, whole, pairs)
        else:
            pairs = all_entries(part.profiles)
            ranks = _rank_pairs(self._model, _profiles_before(part, whole), part, pairs)
        codes = np.full(len(part.profiles.item), len(LAST_RANKS), dtype=np.int32)
        codes[pairs] = np.where(ranks > 0, np.searchsorted(LAST_RANKS, ranks), len(LAST_RANKS))
        return Groups(name_groups(), codes)


def _leave_pairs_out(spec: str) -> str:
    """The spec of the same model, without what would leave held-out pairs in it.

    >>> _leave_pairs_out("knn?neighbours=20&exact=false"), _leave_pairs_out("als?factors=8")
    ('knn?neighbours=20', 'als?factors=8')
    """
    name, mark, query = spec.strip().partition("?")
    parts = [part for part in query.split("&") if part.replace(" ", "").lower() != "exact=false"]
    return name + mark * bool(parts) + "&".join(parts)


def name_groups() -> tuple[str, ...]:
    """What each group of ranks is called."""
    firsts = np.concatenate([[1], LAST_RANKS[:-1] + 1])
    ranks = [f"rank {a}" if a == b else f"ranks {a} to {b}" for a, b in zip(firsts, LAST_RANKS, strict=True)]
    return (*ranks, f"beyond rank {LAST_RANKS[-1]}")


def _rank_pairs(model: Recommender, known: Snapshot, held: Slice, entries: Codes) -> Codes:
    """The rank of held-out entries in the list for the known profile, without the entry if that has it.

    Ranks begin with 1; 0 is beyond the last rank.
    """
    seen = known.number_by_id()
    user, item = all_users(held.profiles), held.number_by_id().profiles.item[entries].astype(np.int64)
    pairs = HeldOutPairs(seen, user, item, entries)
    depth = min(int(LAST_RANKS[-1]), seen.profiles.n_items)
    fit(model, seen)
    progress().begin(f"agreement with {model}", len(pairs), "pairs")
    in_turn = held is known
    if in_turn and isinstance(model, RanksHeldOut):
        return ask_for_ranks(model, pairs, depth)[0]
    ranks = np.zeros(len(pairs), dtype=np.int64)
    for lo, hi in _cut(seen.profiles.sizes()[user]):
        batch = pairs.remaining(lo, hi) if in_turn else Batch.of(seen, user[lo:hi])
        _, ranks[lo:hi] = lists_for(model, seen, batch, depth, item[lo:hi])
        progress().advance(hi - lo)
    return ranks


def _profiles_before(part: Slice, whole: Snapshot) -> Snapshot:
    """What a recommender sees of users whose later, or last, items are held out."""
    if part.policy.held == "last":
        return whole.without(find_last_entries(whole)[1])
    return part.log.at(part.after)


def _cut(sizes: Codes) -> list[tuple[int, int]]:
    """Pairs in runs whose profiles have about so many entries together."""
    ends = np.cumsum(sizes + 1)
    cuts = [0]
    while cuts[-1] < len(ends):
        done = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, done + _BATCH_ENTRIES, side="right")), cuts[-1] + 1))
    return list(pairwise(cuts))


def read_margins(margins: Any) -> tuple[Margin, ...]:
    """Margins from a list of column names, mappings {item: group} and margins."""
    several = [margins] if isinstance(margins, str | Mapping | Margin) else margins
    if not isinstance(several, Iterable):
        raise PolicyError(
            f"{option('margins')} is {one_line(margins)}", remedy="give a list, such as ['category']"
        )
    checked: list[Margin] = []
    for entry in several:
        margin = _read_margin(entry, sum(isinstance(other, ItemGroups) for other in checked))
        if any(other.name == margin.name for other in checked):
            raise PolicyError(f"the margin {margin.name!r} is given twice", remedy="give each once")
        checked.append(margin)
    return tuple(checked)


def _read_margin(source: Any, mappings: int) -> Margin:
    if isinstance(source, str) and source:
        return ColumnMargin(source)
    if isinstance(source, Mapping):
        return ItemGroups(source, "groups" if mappings == 0 else f"groups {mappings + 1}")
    if isinstance(source, Margin) and not isinstance(source, type):
        return source
    raise PolicyError(
        f"{option('margins')} has {one_line(source)}",
        remedy="give the name of a column of labels, a mapping {item: group}, or Agreement(...)",
    )


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
    raise PolicyError(f"there is no margin of the kind {kind!r}", remedy="make the file again")
