"""Which pairs are held out, and from what: chosen once, and ranked by any number of recommenders.

Recommenders see items numbered by id (`Slice.number_by_id`), weights those of the log; entries are the same in
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from unskew.arrays.types import Codes
from unskew.checks import instance_of, require_sample_size, require_whole_number
from unskew.data.shares import Share
from unskew.data.slice import Slice
from unskew.data.snapshot import Snapshot
from unskew.data.weighting import Weighting, Weights
from unskew.errors import EmptyError, PolicyError, option
from unskew.evaluation.folds import Folds
from unskew.evaluation.hold_out import HoldOut
from unskew.evaluation.left_out import LeftOut
from unskew.evaluation.pairs import all_pairs, draw, pairs_of
from unskew.evaluation.time_split import TimeSplit
from unskew.recommend.contract import HeldOutPairs, PreparedLists, Recommender


@dataclass(frozen=True, repr=False, eq=False)
class PairSelection:
    """The pairs of one evaluation.

    Attributes
    ----------
    part, whole
        What items are held out from, and the same with the users who could not be evaluated.
    held
        The profiles that recommenders see.
    pairs
        The pairs to rank, items numbered as recommenders see them.
    weightings
        The weights that were named when the pairs were chosen, on `part`.
    sample, seed
        Number and seed of the draws; None for every pair.
    folds
        How pairs were dealt for cross-fitting, or None.
    """

    part: Slice
    whole: Slice
    held: HoldOut
    pairs: HeldOutPairs
    weightings: tuple[Weighting, ...]
    sample: int | None = None
    seed: int = 0
    folds: Folds | None = None
    _drawn: WeakKeyDictionary[Weighting, Codes] = field(default_factory=WeakKeyDictionary)

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        weights: Sequence[Weights] = (None,),
        *,
        sample: int | None = None,
        seed: int = 0,
        leave_out: int = 1,
        after: Any = None,
        folds: int | None = None,
    ) -> PairSelection:
        """Choose the pairs; with `sample` those that are drawn under each of the `weights`."""
        check_selection_options(sample, seed, leave_out, after, folds)
        instance_of(
            Snapshot,
            snapshot,
            "a snapshot",
            f"give the profiles at a date, such as log.at(date); to hold out what users took later, use "
            f"{option('after')}",
        )
        part: Slice = snapshot
        whole: Slice = snapshot
        if after is None:
            seen = snapshot.number_by_id()
            numbered: Slice = seen
        else:
            split = TimeSplit.of(snapshot, after)
            whole, part = split.whole, split.pairs
            seen, numbered = split.known.number_by_id(), part.number_by_id()
        held = HoldOut(seen, leave_out, seed)
        weightings = tuple(_weigh(part, w) for w in weights)  # refuses weights of another policy before the work
        dealt = None if folds is None else Folds.deal(seen, folds, seed)
        if sample is None:
            return cls(part, whole, held, all_pairs(numbered), weightings, None, seed, dealt)
        drawn = [draw(weighting, sample, seed) for weighting in weightings]
        pairs = pairs_of(numbered, np.unique(np.concatenate(drawn)))
        selection = cls(part, whole, held, pairs, weightings, sample, seed, dealt)
        selection._drawn.update(zip(weightings, drawn, strict=True))
        return selection

    def left_out(self, model: Recommender) -> LeftOut:
        """What of a pair is left out of a recommender that ranks these pairs."""
        seen = self.held.profiles
        by_time = seen is not self.pairs.snapshot
        dated = isinstance(model, PreparedLists) and model.is_valid_at(seen.log.axis, seen.tick) is True
        folds = None if self.folds is None else self.folds.number
        return LeftOut.of(model, alone=self.held.together == 1, by_time=by_time, folds=folds, dated=dated)

    def __len__(self) -> int:
        return len(self.pairs)

    def weigh(self, weights: Weights) -> Weighting:
        """The weights on what is held out; somebody is evaluated under them."""
        return _weigh(self.part, weights)

    def require_all(self) -> None:
        """Refuse what needs every pair, if only a sample was taken."""
        if self.sample is not None:
            raise PolicyError(f"this needs every pair, but only a sample was ranked: leave out {option('sample')}")

    def places_of_draws(self, weighting: Weighting) -> Codes:
        """The place of each draw under a weighting among the pairs."""
        assert self.sample is not None
        drawn = self._drawn.get(weighting)
        if drawn is None:
            drawn = self._drawn[weighting] = draw(weighting, self.sample, self.seed)
        entries = self.pairs.entry
        place = np.minimum(np.searchsorted(entries, drawn), len(entries) - 1)
        if (entries[place] != drawn).any():
            raise PolicyError(
                f"these weights were not named when the sample was drawn: give them in {option('weights')}"
            )
        return place

    def users_left_out(self, weighting: Weighting) -> Share:
        """Who has something to hold out and is not evaluated."""
        return users_left_out(self.whole, weighting.part)


def users_left_out(whole: Slice, part: Slice) -> Share:
    """Who is in the whole and not in the part."""
    out = (whole.sizes() > 0) & (part.sizes() == 0)
    return Share(int(out.sum()), float(whole.shares()[out].sum()))


def _weigh(part: Slice, weights: Weights) -> Weighting:
    weighting = part.weigh(weights)
    if not weighting.part.shares().any():
        raise EmptyError(
            f"nobody is evaluated at {part.at} under these weights: no user holds enough of the items that they "
            "know; fit them to this snapshot"
        )
    return weighting


def check_selection_options(
    sample: int | None, seed: int, leave_out: int, after: Any, folds: int | None = None
) -> None:
    """Refuse options that make no selection."""
    if sample is not None:
        require_sample_size(option("sample"), sample)
    require_whole_number(option("seed"), seed, "where the draws begin", 0)
    require_whole_number(option("leave_out"), leave_out, "how many items to take out of a profile")
    if folds is not None:
        require_whole_number("folds", folds, "into how many parts pairs are dealt", 2)
        for name, given in (("after", after is not None), ("leave_out", leave_out > 1)):
            if given:
                raise PolicyError(
                    f"{option('folds')} holds out pairs one at a time from the profiles of one date: leave out "
                    f"{option(name)}"
                )
    if after is not None and leave_out > 1:
        raise PolicyError(
            f"{option('leave_out')} takes items out of profiles, and with {option('after')} none is taken out: "
            "give one of the two"
        )
