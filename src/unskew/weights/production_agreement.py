"""The margin of agreement with production: where a model of it has each item in the list for the rest of the
profile.

The model is fitted at each date anew, to the profiles of that date. So weights that match this margin answer
what a score would be if held-out items agreed with production as they did at the reference date, and no more
than that: what a recommender has truly gained by coming nearer to production, or production to it, is taken away
as well.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from unskew.arrays.rows import all_entries, all_users, entries_of
from unskew.arrays.types import Codes
from unskew.data.held_out import find_last_entries
from unskew.data.log import Log
from unskew.data.slice import Slice, Snapshot
from unskew.data.times import Label, Moment
from unskew.errors import InputError, PolicyError
from unskew.progress import progress
from unskew.recommend.calls import ask_for_ranks, fit, lists_for
from unskew.recommend.contract import Batch, HeldOutPairs, RanksHeldOut, Recommender
from unskew.recommend.specs import AnyRecommender, recommender, require_shipped
from unskew.weights.groups import Groups

LAST_RANKS = np.array([1, 2, 3, 5, 9, 14, 24, 48, 96, 200])
"""The last rank of each group; one more is beyond them all."""

_ENTRIES = 400_000  # of profiles in one batch


class Agreement:
    """The rank that a model of production gives to a held-out item, in groups: 1, 2, 3, 4 to 5, ..., beyond 200.

    A margin for `fit_weights` and `report`. The model is production's own recommender or a stand-in for it, as
    `evaluate` takes one. Weights that match this margin say what a score would be *at the agreement with
    production of the reference date*. That takes what recommendations did away from personalised scores, in
    part; it takes true gains of recommenders that are close to production away as well.

    Attributes
    ----------
    production
        The model. A spec with ``exact=false`` is taken without it: that says how held-out pairs are ranked, not
        what production recommends, and a model that has learned from a pair agrees with it in any case.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.simulate(users=300, items=60, seed=2).log
    >>> weights = us.fit_weights(log.at(480), log.at(300), margins=[us.Agreement("popular")])
    >>> [(margin.name, round(margin.bound_before, 2), round(margin.bound, 2)) for margin in weights.report.margins]
    [('agreement:popular', 0.19, 0.02)]
    """

    columns: tuple[str, ...] = ()

    def __init__(self, production: AnyRecommender) -> None:
        self.production = _leave_pairs_out(production) if isinstance(production, str) else production
        self._model = recommender(self.production)
        self._found: WeakKeyDictionary[Log, dict[tuple[Any, ...], Groups]] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Agreement({str(self._model)!r})"

    @cached_property
    def name(self) -> str:
        """``agreement:`` and the name of the model."""
        return f"agreement:{self._model}"

    def groups(self, part: Slice) -> Groups:
        """The group of each entry, by a model that is fitted at the date of the slice; kept for the next time."""
        known = self._found.setdefault(part.log, {})
        key = (part.tick, part.policy.held, getattr(part, "after", None))
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
        log = part.log
        whole = log.at(Moment(part.tick, part.at))
        if part.policy.held == "profiles":
            ranks, pairs = _rank_in_turn(self._model, whole), all_entries(whole.profiles)
        else:
            known = _profiles_before(part, whole)
            pairs = all_entries(part.profiles)
            ranks = _rank_in_lists(self._model, known, part, pairs)
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


def _rank_in_turn(model: Recommender, whole: Snapshot) -> Codes:
    """The rank of every entry in the list for its profile without it, from 1; 0 beyond the last rank."""
    seen = whole.number_by_id()
    p = seen.profiles
    entries = all_entries(p)
    pairs = HeldOutPairs(seen, all_users(p), p.item[entries].astype(np.int64), entries)
    depth = min(int(LAST_RANKS[-1]), p.n_items)
    fit(model, seen)
    progress().begin(f"agreement with {model}", len(pairs), "pairs")
    if isinstance(model, RanksHeldOut):
        return ask_for_ranks(model, pairs, depth)[0]
    ranks = np.zeros(len(pairs), dtype=np.int64)
    for lo, hi in _cut(p.sizes()[pairs.user]):
        _, ranks[lo:hi] = lists_for(model, seen, pairs.remaining(lo, hi), depth, pairs.item[lo:hi])
        progress().advance(hi - lo)
    return ranks


def _rank_in_lists(model: Recommender, known: Snapshot, part: Slice, entries: Codes) -> Codes:
    """The same where what is held out is not in the profiles that a recommender sees."""
    seen = known.number_by_id()
    p = seen.profiles
    user, item = all_users(part.profiles), part.number_by_id().profiles.item[entries].astype(np.int64)
    depth = min(int(LAST_RANKS[-1]), p.n_items)
    fit(model, seen)
    progress().begin(f"agreement with {model}", len(user), "pairs")
    ranks = np.zeros(len(user), dtype=np.int64)
    for lo, hi in _cut(p.sizes()[user]):
        start, held = entries_of(p, user[lo:hi])
        batch = Batch(user[lo:hi], start, p.item[held].astype(np.int64), p.n_items)
        _, ranks[lo:hi] = lists_for(model, seen, batch, depth, item[lo:hi])
        progress().advance(hi - lo)
    return ranks


def _profiles_before(part: Slice, whole: Snapshot) -> Snapshot:
    """What a recommender sees of users whose later, or last, items are held out."""
    if part.policy.held == "last":
        return whole.without(find_last_entries(whole)[1])
    after: Label = part.after  # type: ignore[attr-defined]  # of a window
    return part.log.at(after)


def _cut(sizes: Codes) -> list[tuple[int, int]]:
    """Pairs in runs whose profiles have about so many entries together."""
    ends = np.cumsum(sizes + 1)
    cuts = [0]
    while cuts[-1] < len(ends):
        done = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, done + _ENTRIES, side="right")), cuts[-1] + 1))
    return list(pairwise(cuts))
