"""Around a recommender: calling it in blocks of users with checks, what it costs, and its name in results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from unskew.arrays import item_kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Rows
from unskew.arrays.types import Codes, Items, Mask
from unskew.checks import require_whole_number
from unskew.data.slice import Slice, Snapshot
from unskew.errors import InputError, PolicyError, UnskewError
from unskew.progress import progress
from unskew.recommend.contract import (
    Batch,
    HeldOutPairs,
    KnowsEmptyLists,
    RanksHeldOut,
    Recommender,
    Traits,
    traits_of,
)
from unskew.text import first_line

Learned = TypeVar("Learned")


def require_fitted(learned: Learned | None, recommender: Any) -> Learned:
    """What `fit` has left behind, or an error that asks for it."""
    if learned is None:
        raise UnskewError(f"{recommender} has not been fitted", remedy="call fit(snapshot) first")
    return learned


def require_length(k: int) -> int:
    """The length of a list as an integer of at least 1."""
    return require_whole_number("k", k, "the length of a list")


def require_same_date(recommender: Any, tick: int | float, snapshot: Slice) -> None:
    """Refuse pairs of another date than that of the fit: what was not counted cannot leave the counts."""
    if snapshot.tick != tick:
        raise PolicyError(
            f"{recommender} was fitted at another date than {snapshot.at}, where the pairs are held out",
            remedy="fit it there, or turn its parameter exact off to take them out of the profile alone",
        )


_MOST = 64  # blocks


def cut_into_blocks(work: npt.NDArray[Any], scratch: int) -> Codes:
    """Where to cut rows of this much work into blocks; each has to pay for `scratch` numbers of its own."""
    if len(work) == 0:
        return np.zeros(1, dtype=np.int64)
    ends = np.cumsum(work)
    blocks = int(np.clip(ends[-1] // max(4096, scratch // 8), 1, _MOST))
    cuts = np.searchsorted(ends, np.arange(1, blocks) * (ends[-1] / blocks))
    return np.unique(np.concatenate([[0], cuts, [len(work)]])).astype(np.int64)


def recommend_in_blocks(
    batch: Batch, k: int, work: Callable[[int, int, Rows, Codes], Any], each: int = 1
) -> Codes:
    """Call ``work(lo, hi, profiles, out)`` for blocks of profiles; `each` entry costs this many steps or so.

    Gives `out`: k items for each profile, -1 where `work` writes none.
    """
    start = batch.start.astype(np.uint64)
    rows = Rows(start[:-1], start[1:], batch.item.astype(np.uint32))
    out = np.full((len(batch), require_length(k)), -1, dtype=np.int64)
    sizes = np.diff(batch.start) + 1
    edges = cut_into_blocks(sizes, batch.n_items)
    over_blocks(edges, int(sizes.sum()) * each, lambda block, lo, hi: work(lo, hi, rows, out))
    return out


class PairCodes(NamedTuple):
    """Users and items of held-out pairs as the kernels take them, sorted by user."""

    user: Items
    item: Items


def rank_in_blocks(pairs: HeldOutPairs, work: Callable[[int, int, PairCodes, Codes], Any], each: int = 1) -> Codes:
    """Call ``work(lo, hi, pairs, out)`` for blocks of pairs; `each` pair costs this many steps or so.

    A block has all the pairs of its users.
    """
    profiles, user = pairs.snapshot.profiles, pairs.user.astype(np.uint32)
    codes, out = PairCodes(user, pairs.item.astype(np.uint32)), np.zeros(len(user), dtype=np.int64)
    first = np.flatnonzero(np.diff(user, prepend=user[:1] + 1))  # of each user
    ends = np.append(first[1:], len(user)) if len(user) else first
    steps = (ends - first) + profiles.sizes_of(user[first])
    edges = np.append(first, len(user))[cut_into_blocks(steps, profiles.n_items)]
    over_blocks(edges, int(steps.sum()) * each, lambda block, lo, hi: work(lo, hi, codes, out))
    return out


PAIRS = 100_000  # ranked between two reports of progress, where the recommender ranks by itself

_FAULTS = {
    1: "recommends the item code {item}, which does not exist",
    2: "recommends item {item!r} twice",
    3: "recommends item {item!r}, which is in the profile",
}


def fit(model: Recommender, snapshot: Snapshot) -> None:
    """Fit a recommender; say whose fault it is if it fails."""
    progress().stage(f"fitting {model}")
    call_model(model, "fit", model.fit, snapshot)


def lists_for(
    model: Recommender, snapshot: Snapshot, batch: Batch, depth: int, wanted: Codes
) -> tuple[Codes, Codes]:
    """The lists that a recommender gives for some profiles, checked, and the rank of a wanted item in each."""
    answer = call_model(model, "recommend", model.recommend, batch, depth)
    lists = require_whole_numbers(model, "recommend", answer, (len(batch), depth))
    ranks, fault = np.zeros(len(batch), dtype=np.int64), np.zeros(3, dtype=np.int64)
    free = traits_of(model).may_recommend_profile
    item_kernels.rank_in_lists(lists, wanted, batch.start, batch.item, batch.n_items, free, ranks, fault)
    if fault[0]:
        log, (kind, row, code) = snapshot.log, fault.tolist()
        item = log.items[code] if 0 <= code < len(log.items) else code
        user = log.users[int(batch.user[row])]
        raise InputError(
            f"{model}, for user {user!r}: {_FAULTS[kind].format(item=item)}",
            remedy="correct what recommend returns",
        )
    return lists, ranks


def ask_for_ranks(model: RanksHeldOut, pairs: HeldOutPairs, depth: int) -> tuple[Codes, Mask | None]:
    """The ranks that a recommender gives to held-out pairs by itself, checked; 0 beyond `depth`.

    And for which pairs it recommends nothing; None if it does not say.
    """
    ranks = np.empty(len(pairs), dtype=np.int64)
    empty = np.zeros(len(pairs), dtype=np.bool_) if isinstance(model, KnowsEmptyLists) else None
    for at in range(0, len(pairs), PAIRS):
        end = min(at + PAIRS, len(pairs))
        block = HeldOutPairs(pairs.snapshot, pairs.user[at:end], pairs.item[at:end], pairs.entry[at:end])
        answer = call_model(model, "held_out_ranks", model.held_out_ranks, block, depth)
        block_ranks = require_whole_numbers(model, "held_out_ranks", answer, (end - at,))
        wrong = (block_ranks < 0) | (block_ranks > depth)
        if wrong.any():
            k = int(np.argmax(wrong))
            log = pairs.snapshot.log
            user, item = log.users[int(block.user[k])], log.items[int(block.item[k])]
            raise InputError(
                f"{model}, for user {user!r} with item {item!r} held out: held_out_ranks returned "
                f"{block_ranks[k]}, which must lie between 0 and {depth}"
            )
        ranks[at:end] = block_ranks
        if empty is not None and isinstance(model, KnowsEmptyLists):
            marks = to_array(model, "empty_lists", call_model(model, "empty_lists", model.empty_lists, block))
            if marks.shape != (end - at,) or marks.dtype.kind != "b":
                raise InputError(
                    f"{model}: empty_lists must return true or false for each of the {end - at} pairs, not "
                    f"{describe_array(marks)}"
                )
            empty[at:end] = marks
        progress().advance(end - at)
    return ranks, empty


def require_whole_numbers(model: Any, method: str, answer: Any, shape: tuple[int, ...]) -> Codes:
    """What a method gave, which must be whole numbers of a shape."""
    numbers = to_array(model, method, answer)
    if numbers.shape != shape or numbers.dtype.kind not in "iu":
        raise InputError(
            f"{model}: {method} must return whole numbers of shape {shape}, not {describe_array(numbers)}"
        )
    return np.ascontiguousarray(numbers, dtype=np.int64)


def to_array(model: Any, method: str, answer: Any) -> npt.NDArray[Any]:
    """What a method gave, as an array."""
    try:
        return np.asarray(answer)
    except (TypeError, ValueError) as error:
        raise InputError(f"{model}: {method} must return an array of numbers: {first_line(error)}") from error


def describe_array(array: npt.NDArray[Any]) -> str:
    """An array in words: its type and shape."""
    return f"{array.dtype} of shape {array.shape}"


def call_model(model: Any, name: str, method: Any, *arguments: Any) -> Any:
    """Call a recommender's method; say whose fault it is if it fails."""
    try:
        return method(*arguments)
    except UnskewError:
        raise
    except Exception as error:
        raise UnskewError(
            f"the recommender {model} failed in {name}(): {type(error).__name__}: {first_line(error)}",
            remedy="mend it; the traceback shows the place",
        ) from error


# What a recommender costs follows from counts alone, so that long work can be announced, or cut, before it begins.
# Seconds are those of two cores of an ordinary server; they are never measured, so that the same log and options
# always give the same answer. A recommender may say what it costs, in a method ``estimate_cost(size)``.

_LISTED = 2e-7
"""Seconds to find a held-out item in a list that is there already."""

_ASKED = 2e-4
"""Seconds for a list of a recommender of which nothing is known: a call of Python for each."""


class LogSize(NamedTuple):
    """What costs follow from: how many items there are, how many pairs, and the sum of squared profile sizes."""

    items: int
    pairs: int
    squares: float

    @classmethod
    def of(cls, snapshot: Snapshot, items: int | None = None) -> LogSize:
        """The size of the profiles at a date; `items` spares counting them."""
        sizes = snapshot.sizes().astype(np.float64)
        n = int(np.count_nonzero(snapshot.counts())) if items is None else items
        return cls(n, int(sizes.sum()), float(sizes @ sizes))


@dataclass(frozen=True)
class Cost:
    """About how many seconds it takes to fit a recommender, and to rank every held-out pair."""

    fit: float
    rank: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.fit + other.fit, self.rank + other.rank)


@runtime_checkable
class EstimatesCost(Protocol):
    """A recommender that knows what it costs."""

    def estimate_cost(self, size: LogSize, /) -> Cost:
        """What it costs at one date."""


def estimate_cost(models: Sequence[Any], size: LogSize) -> Cost:
    """What some recommenders cost at one date; of one that does not tell, only the lists, at a guess.

    >>> from unskew.recommend import EASE, ItemKNN
    >>> twenty_million = LogSize(items=27_000, pairs=20_000_000, squares=1e10)
    >>> knn = estimate_cost([ItemKNN(50)], twenty_million)
    >>> f"{knn.fit:.0f} s, {knn.rank:.0f} s"
    '80 s, 15 s'
    >>> f"{estimate_cost([EASE()], twenty_million).fit:.0f} s"
    '394 s'
    """
    total = Cost(0.0, 0.0)
    for model in models:
        traits = traits_of(model)
        if isinstance(model, EstimatesCost):
            total += model.estimate_cost(size)
        elif traits.constant or traits.external:
            total += Cost(0.0, size.pairs * _LISTED)
        else:
            total += Cost(0.0, size.pairs * _ASKED)
    return total


_OPTIONAL = ("held_out_ranks", "empty_lists", "grades", "estimate_cost", "is_valid_at", "count_missing")
"""What a recommender may have besides ``fit`` and ``recommend``."""


class Named:
    """A recommender under another name; in everything else it is the recommender itself.

    It ranks and grades if the recommender does, and has its traits; `files` are what it was read from besides.
    """

    def __init__(self, recommender: Recommender, name: str, files: tuple[Path, ...] = ()) -> None:
        self.recommender = recommender
        self._name = name
        self._files = files
        for method in _OPTIONAL:  # a protocol does not look into __getattr__
            if hasattr(recommender, method):
                setattr(self, method, getattr(recommender, method))

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"Named({self.recommender!r}, {self._name!r})"

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "recommender":
            raise AttributeError(attribute)
        return getattr(self.recommender, attribute)

    @property
    def traits(self) -> Traits:
        """Those of the recommender, and the files that it was read from."""
        traits = traits_of(self.recommender)
        return replace(traits, files=(*traits.files, *self._files))

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Learn from the profiles at a date; returns itself."""
        self.recommender.fit(snapshot)
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        """The best k items of each profile: shape (len(profiles), k), -1 for none."""
        return self.recommender.recommend(profiles, k)


class Prefitted(Named):
    """A recommender that has learned what it needs to know already, elsewhere; it is not fitted again."""

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Learn nothing more."""
        return self


def with_name(model: Recommender, name: str, *, files: tuple[Path, ...] = ()) -> Recommender:
    """The recommender under this name, and read from these files; itself if there is nothing to add."""
    return model if str(model) == name and not files else Named(model, name, files)


def is_nameless(model: Any) -> bool:
    """Whether an object leaves it to Python to say what it is."""
    kind: Any = type(model)
    return kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
