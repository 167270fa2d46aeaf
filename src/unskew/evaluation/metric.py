"""Metrics: how good it is to have found the held-out item at some rank.

With one held-out item every usual measure is a function of its rank: recall is hit, and (mean) average
precision is the reciprocal rank; both names are accepted. Metrics of users (``user-recall@10``) are about one
list and all that is held out of a user, as trec_eval defines them. Values agree with trec_eval. Where several
items of a user are sought in one list, the mean of a metric of single items is called ``item-mrr@10``: nobody else
means that by MRR.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Codes, Floats
from unskew.checks import public_class
from unskew.errors import InputError
from unskew.evaluation.interval_formulas import UNIT, Bounds
from unskew.text import did_you_mean, first_line


@dataclass(frozen=True)
class RankedLists:
    """Lists, and where the held-out items are in each; `held` and `hits` have one number for each list."""

    depth: int  # how far lists are looked at
    # How many items are held out, and how many of them are in the list.
    held: Codes
    hits: Codes
    # Of each item that was found: the list, and the rank.
    of: Codes
    rank: Codes

    def sum(self, gains: Floats) -> Floats:
        """The sum over the items of each list that were found."""
        return np.asarray(np.bincount(self.of, weights=gains, minlength=len(self.held)), dtype=np.float64)


def _hit(lists: RankedLists) -> Floats:
    return (lists.hits > 0).astype(np.float64)


def _recall(lists: RankedLists) -> Floats:
    return lists.hits / lists.held


def _precision(lists: RankedLists) -> Floats:
    return lists.hits / lists.depth


def _ndcg(lists: RankedLists) -> Floats:
    most = min(lists.depth, int(lists.held.max(initial=1)))
    ideal = np.cumsum(1.0 / np.log2(np.arange(most) + 2.0))
    best: Floats = ideal[np.minimum(lists.held, most) - 1]
    return lists.sum(1.0 / np.log2(lists.rank + 1.0)) / best


def _reciprocal_rank(lists: RankedLists) -> Floats:
    best = np.zeros(len(lists.held))
    np.maximum.at(best, lists.of, 1.0 / lists.rank)
    return best


def _average_precision(lists: RankedLists) -> Floats:
    order = np.lexsort((lists.rank, lists.of))
    of = lists.of[order]
    place = np.empty(len(of))
    place[order] = np.arange(len(of)) - np.searchsorted(of, of, side="left") + 1.0
    return lists.sum(place / lists.rank) / lists.held


MEASURES: dict[str, Callable[[RankedLists], Floats]] = {
    "hit": _hit,
    "recall": _recall,
    "precision": _precision,
    "mrr": _reciprocal_rank,
    "ndcg": _ndcg,
    "map": _average_precision,
}
"""Each by its name: trec_eval calls them success_k, recall_k, P_k, recip_rank, ndcg_cut_k and map_cut_k."""


def measure_lists(measure: str, rank: Codes, sought_in: Codes, depth: int) -> Floats:
    """For each held-out item the measure of the list in which it was sought; ranks beyond `depth` do not count."""
    _, of = np.unique(sought_in, return_inverse=True)
    held = np.bincount(of)
    places = np.flatnonzero((rank > 0) & (rank <= depth))
    lists = RankedLists(depth, held, np.bincount(of[places], minlength=len(held)), of[places], rank[places])
    values: Floats = MEASURES[measure](lists)[of]
    return values


Ranks = npt.NDArray[np.int64]
_DEPTH = 100  # how far a list is looked at where nothing else is said
_PERSISTENCE = 0.8
_ALSO = {"recall": "hit", "hr": "hit", "success": "hit", "rr": "mrr", "map": "mrr", "ap": "mrr"}
_OF_USER, _OF_ITEM = "user-", "item-"


@public_class
@dataclass(frozen=True)
class Metric:
    """A metric l as a function of the rank of the held-out item, and of the grade it got.

    Attributes
    ----------
    name
        What it is called.
    function
        Takes the ranks (from 1; 0: not recommended) and the grades (NaN where the recommender gives no
        numbers), and gives one number for each.
    depth
        Ranks beyond this count as not recommended.
    is_hit
        Whether it is 1 or 0, so that a sampled score is a proportion.
    needs_grades
        Whether `function` looks at the grades.
    lowest, highest
        Values lie between these; an interval never reaches beyond. Where both are given, a score has an interval
        even if nothing was found.
    among_several
        What it is called where several items of a user are sought in one list, if not `name`: there the mean of
        ``hit@5`` over the items of a user is recall, and that of ``mrr@5`` is no reciprocal rank of the first hit.

    Examples
    --------
    >>> import numpy as np, unskew as us
    >>> half = us.Metric("half", lambda rank, grade: (rank > 0) * 0.5, depth=10)
    >>> half(np.array([1, 0, 11]))
    array([0.5, 0. , 0. ])
    """

    name: str
    function: Callable[[Ranks, Floats], npt.ArrayLike]
    depth: int = _DEPTH
    is_hit: bool = False
    needs_grades: bool = False
    lowest: float = -np.inf
    highest: float = np.inf
    among_several: str | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.depth, int | np.integer) and not isinstance(self.depth, bool)
        if not whole or self.depth < 1:
            raise InputError(
                f"metric {self.name!r}: depth is {self.depth!r}, but must be a whole number of at least 1"
            )

    @property
    def bounds(self) -> Bounds:
        """Between which values its mean lies; a hit is 0 or 1."""
        return UNIT if self.is_hit else Bounds(self.lowest, self.highest)

    def __call__(self, rank: Ranks, grade: Floats | None = None) -> Floats:
        """The metric of each held-out item."""
        rank = np.asarray(rank)
        within = np.where(rank <= self.depth, rank, 0)
        grades = np.full(len(rank), np.nan) if grade is None else grade
        try:
            values = np.asarray(self.function(within, grades), dtype=np.float64)
        except Exception as error:
            raise InputError(
                f"metric {self.name!r} failed: {type(error).__name__}: {first_line(error)}",
                remedy="it gets all ranks and all grades at once, as arrays, and must return an array of numbers",
            ) from error
        if values.shape != within.shape:
            raise InputError(
                f"metric {self.name!r} returned an array of shape {values.shape} for {len(rank)} ranks: it must "
                "return one number for each"
            )
        good = (values == 0) | (values == 1) if self.is_hit else np.isfinite(values)
        if not good.all():
            k = int(np.argmin(good))
            why = "; with is_hit it must return 0 or 1" if self.is_hit else ""
            why += " (NaN: the recommender gives no grade)" if np.isnan(grades[k]) else ""
            raise InputError(
                f"metric {self.name!r} returned {values[k]} for rank {within[k]} and grade {grades[k]}{why}",
                remedy="correct the function",
            )
        return values

    def rename(self, *, several: bool) -> Metric:
        """The same under the name that it has where `several` items of a user are sought in one list."""
        return replace(self, name=self.among_several) if several and self.among_several else self


@dataclass(frozen=True)
class UserMetric(Metric):
    """A metric of one list against all items that are sought in it, as trec_eval has it: ``user-ndcg@10``.

    Users count by P(u), and item weights have nothing to choose from. Of a single rank it is what it is where one
    item is held out.
    """

    measure: str = (
        "hit"  # which one: ``hit`` (if any was found), ``recall``, ``precision``, ``mrr``, ``ndcg``, ``map``
    )

    @classmethod
    def of(cls, name: str, measure: str, depth: int) -> UserMetric:
        """The measure of lists down to `depth`."""
        of_one = functools.partial(_measure_one, measure, depth)
        return cls(name, of_one, depth, is_hit=measure == "hit", lowest=0.0, highest=1.0, measure=measure)

    def of_lists(self, rank: Ranks, sought_in: Ranks) -> Floats:
        """For each held-out item the metric of the list in which it was sought; lists have numbers."""
        return measure_lists(self.measure, rank, sought_in, self.depth)


def metric(spec: str | Metric | Callable[[Ranks, Floats], npt.ArrayLike]) -> Metric:
    """A metric by name, such as ``hit@5``, ``mrr@10``, ``ndcg@10``, ``rbp@100``, ``rbp(0.9)@50``, or one's own.

    With ``user-`` before it a metric is about all that is held out of a user: ``user-hit@5`` (any was found),
    ``user-recall@5``, ``user-precision@5``, ``user-mrr@5``, ``user-ndcg@5``, ``user-map@5``. With ``item-`` it is
    about single items, which is so without it.

    Without ``@k`` lists are looked at down to rank 100.

    >>> import numpy as np
    >>> metric("ndcg@3")(np.array([1, 2, 3, 4, 0])).round(3).tolist()
    [1.0, 0.631, 0.5, 0.0, 0.0]
    """
    if isinstance(spec, Metric):
        return spec
    if callable(spec):
        return Metric(getattr(spec, "__name__", "metric"), spec, needs_grades=True)
    if not isinstance(spec, str):
        raise InputError(
            f"a metric is a name such as 'hit@5', a Metric or a function, not {spec!r}", remedy="give one of these"
        )
    names = _curve(spec)
    if len(names) > 1:
        raise InputError(
            f"{spec!r} stands for {', '.join(names)}, where one metric is asked for", remedy="choose one of these"
        )
    return _named(names[0])


def metrics(specs: str | Metric | Callable[..., Any] | Iterable[Any]) -> list[Metric]:
    """Several metrics; ``rank<=1,5,10`` stands for hit@1, hit@5 and hit@10.

    >>> [q.name for q in metrics(["rank<=1,5", "mrr@10"])]
    ['hit@1', 'hit@5', 'mrr@10']
    """
    if is_one_metric(specs):
        specs = [specs]
    if not isinstance(specs, Iterable):
        raise InputError(
            f"a metric is a name such as 'hit@5', a Metric or a function, not {specs!r}",
            remedy="give one of these",
        )
    parsed = [metric(part) for spec in specs for part in (_curve(spec) if isinstance(spec, str) else [spec])]
    if not parsed:
        raise InputError("no metric was given", remedy="name at least one, such as hit@5")
    return parsed


def is_one_metric(spec: Any) -> bool:
    """Whether this is a metric, or its name, and not several in a list."""
    return isinstance(spec, str) or callable(spec) or not isinstance(spec, Iterable)


def distinct_metrics(
    specs: str | Metric | Callable[..., Any] | Iterable[Any], *, several: bool = False
) -> list[Metric]:
    """Several metrics, each of which must come once, since rows are told apart by their names.

    `several` says that several items of a user are sought in one list.
    """
    wanted = [metric.rename(several=several) for metric in metrics(specs)]
    names = [metric.name for metric in wanted]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"metric {name!r} is given twice", remedy="give each once")
    return wanted


def _curve(text: str) -> list[str]:
    """The names that ``rank<=1,5,10`` stands for; any other text stands for itself."""
    depths = re.fullmatch(r"rank\s*<=\s*(\d+(?:\s*,\s*\d+)*)", text.strip().lower())
    return [f"hit@{int(k)}" for k in depths[1].split(",")] if depths else [text.strip()]


def _named(name: str) -> Metric:
    if name.lower().startswith(_OF_ITEM):
        name = name[len(_OF_ITEM) :]
    of_user = name.lower().startswith(_OF_USER)
    parts = re.fullmatch(r"([a-z]+)(?:\((\d*\.?\d+)\))?(?:@(\d+))?", name.lower().removeprefix(_OF_USER))
    kind = _find_kind(parts[1], of_user) if parts else None
    if parts is None or kind is None or (parts[2] and kind != "rbp"):
        of_users = [_OF_USER + measure for measure in MEASURES]
        known = [*_KNOWN, *_ALSO, *of_users]
        hint = did_you_mean(re.split(r"[@(]", name.lower())[0], known, "{}@5")
        raise InputError(
            f"there is no metric {name!r}",
            remedy=f"give one of {', '.join(known)} with @k, such as hit@5{hint}",
        )
    depth = int(parts[3]) if parts[3] else _DEPTH
    if depth < 1:
        raise InputError(f"metric {name!r}: the number after @ must be at least 1")
    if of_user:
        return UserMetric.of(name, kind, depth)
    several = "recall" if kind == "hit" else f"{_OF_ITEM}{kind}{f'({parts[2]})' if parts[2] else ''}"
    among_several = f"{several}@{depth}" if parts[3] else several
    limits: Any = {"lowest": 0.0, "highest": 1.0, "among_several": among_several}
    if kind == "rbp":
        persistence = float(parts[2]) if parts[2] else _PERSISTENCE
        if not 0 < persistence < 1:
            raise InputError(f"metric {name!r}: the persistence must lie between 0 and 1")
        return Metric(name, functools.partial(_rbp, persistence=persistence), depth, **limits)
    return Metric(name, _KNOWN[kind], depth, is_hit=kind == "hit", **limits)


def _find_kind(name: str, of_user: bool) -> str | None:
    if of_user:
        return name if name in MEASURES else None
    kind = _ALSO.get(name, name)
    return kind if kind in _KNOWN else None


def _found(rank: Ranks, value: npt.NDArray[Any]) -> Floats:
    return np.where(rank > 0, value, 0.0)


def _hit_one(rank: Ranks, _: Floats) -> npt.NDArray[np.bool_]:
    return rank > 0


def _mrr(rank: Ranks, _: Floats) -> Floats:
    return _found(rank, 1.0 / np.maximum(rank, 1))


def _ndcg_one(rank: Ranks, _: Floats) -> Floats:
    return _found(rank, 1.0 / np.log2(np.maximum(rank, 1) + 1.0))


def _rbp(rank: Ranks, _: Floats, persistence: float = _PERSISTENCE) -> Floats:
    return _found(rank, (1 - persistence) * persistence ** (rank - 1.0))


def _measure_one(measure: str, depth: int, rank: Ranks, _: Floats) -> Floats:
    return measure_lists(measure, rank, np.arange(len(rank)), depth)


_KNOWN: dict[str, Callable[[Ranks, Floats], npt.ArrayLike]] = {
    "hit": _hit_one,
    "mrr": _mrr,
    "ndcg": _ndcg_one,
    "rbp": _rbp,
}
"""Each metric: how good a rank is."""
