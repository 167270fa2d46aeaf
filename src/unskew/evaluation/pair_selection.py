"""Which pairs are held out, and from what: chosen once, and ranked by any number of recommenders.

Recommenders see items numbered by id (`Slice.number_by_id`), weights those of the log; entries are the same in
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack
from weakref import WeakKeyDictionary

import numpy as np

from unskew.arrays.lookup import find_sorted
from unskew.arrays.types import Codes, Mask
from unskew.data.held_out import HeldOutSplit, require_snapshot
from unskew.data.policy import Policy, Share
from unskew.data.slice import Slice, Snapshot
from unskew.data.weighting import Weighting, Weights
from unskew.errors import EmptyError, PolicyError, option
from unskew.evaluation.folds import Folds
from unskew.evaluation.held_out import HeldOut
from unskew.evaluation.hold_out import HoldOut
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.pairs import all_pairs, draw, pairs_of
from unskew.evaluation.selection_options import SelectionKeywords, SelectionOptions
from unskew.recommend.contract import HeldOutPairs, PreparedLists, Recommender


@dataclass(frozen=True, repr=False, eq=False)
class PairSelection:
    """The pairs of one evaluation.

    Attributes
    ----------
    split
        What items are held out from, the same with the users who cannot be evaluated, and what is known of them.
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

    split: HeldOutSplit
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
        **selection: Unpack[SelectionKeywords],
    ) -> PairSelection:
        """Choose the pairs; with `sample` those that are drawn under each of the `weights`."""
        options = SelectionOptions(**selection)
        return cls.of_split(options.rule.split(require_snapshot(snapshot)), weights, options)

    @classmethod
    def of_split(cls, split: HeldOutSplit, weights: Sequence[Weights], options: SelectionOptions) -> PairSelection:
        """The same from profiles that were split already."""
        part = split.pairs
        seen = split.known.number_by_id()
        numbered: Slice = seen if part is split.known else part.number_by_id()
        within = seen if split.is_from_profiles else None
        sample, seed = options.sample, options.seed
        held = HoldOut(seen, options.leave_out, seed)
        weightings = tuple(_weigh(part, w) for w in weights)  # refuses weights of another policy before the work
        dealt = None if options.folds is None else Folds.deal(seen, options.folds, seed)
        if sample is None:
            return cls(split, held, take_out_of(all_pairs(numbered), within), weightings, None, seed, dealt)
        drawn = [draw(weighting, sample, seed) for weighting in weightings]
        pairs = pairs_of(numbered, np.unique(np.concatenate(drawn)))
        selection = cls(split, held, take_out_of(pairs, within), weightings, sample, seed, dealt)
        selection._drawn.update(zip(weightings, drawn, strict=True))
        return selection

    @property
    def part(self) -> Slice:
        """What items are held out from."""
        return self.split.pairs

    @property
    def several(self) -> bool:
        """Whether all that is held out of a user is sought in one list, several items perhaps."""
        return self.part.policy.held == "later"

    @cached_property
    def lists(self) -> Codes:
        """The list in which each pair is sought, as a number."""
        return self.held.number_lists(self.pairs)

    def held_out(self, model: Recommender) -> HeldOut:
        """What of a pair is left out of a recommender that ranks these pairs."""
        seen, kind = self.held.profiles, self.part.policy.held
        dated = isinstance(model, PreparedLists) and model.is_valid_at(seen.log.axis, seen.tick) is True
        return HeldOut.of(
            model,
            alone=self.held.together == 1,
            by_time=kind == "later",
            last=kind == "last",
            folds=None if self.folds is None else self.folds.number,
            dated=dated,
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def weigh(self, weights: Weights) -> Weighting:
        """The weights on what is held out; somebody is evaluated under them."""
        return _weigh(self.part, weights)

    def require_all(self) -> None:
        """Refuse what needs every pair, if only a sample was taken."""
        if self.sample is not None:
            raise PolicyError(
                "this needs every pair, but only a sample was ranked", remedy=f"leave out {option('sample')}"
            )

    def places_of_draws(self, weighting: Weighting) -> Codes:
        """The place of each draw under a weighting among the pairs."""
        assert self.sample is not None
        drawn = self._drawn.get(weighting)
        if drawn is None:
            drawn = self._drawn[weighting] = draw(weighting, self.sample, self.seed)
        place = find_sorted(self.pairs.entry, drawn)
        if (place < 0).any():
            raise PolicyError(
                "these weights were not named when the sample was drawn",
                remedy=f"give them in {option('weights')}",
            )
        return place

    def users_excluded(self, weighting: Weighting) -> Share:
        """Whom the weights leave out, of those who can be evaluated."""
        out = (self.part.sizes() > 0) & (weighting.part.sizes() == 0)
        return self.part.share_of(out)

    @property
    def users_without_profile(self) -> Share:
        """Who has something to hold out, but nothing else to recommend from."""
        return self.split.without_profile

    @property
    def users_below_min_items(self) -> Share:
        """Who has a profile, but fewer items than `min_items`."""
        return self.split.below_min_items

    @cached_property
    def empty_profiles(self) -> Mask:
        """For which pairs nothing is left of the profile once the item is held out."""
        return self.held.leaves_nothing(self.pairs)


def take_out_of(pairs: HeldOutPairs, profiles: Snapshot | None) -> HeldOutPairs:
    """Pairs of some users, which are taken out of the profiles of all; None if nothing is taken out."""
    return pairs if profiles is None else replace(pairs, snapshot=profiles)


def require_same_min_items(weights: Any, min_items: int) -> None:
    """Refuse weights that were fitted to other users than those who are scored."""
    policy = getattr(weights, "policy", None)
    if isinstance(policy, Policy) and policy.min_items != min_items:
        fitted, scored = option("min_items", policy.min_items), option("min_items", min_items)
        raise PolicyError(
            f"the weights were fitted with {fitted}, and scores are asked for with {scored}",
            remedy=f"use {fitted} here too, or fit the weights again with {scored}",
        )


def _weigh(part: Slice, weights: Weights) -> Weighting:
    require_same_min_items(weights, part.policy.min_items)
    weighting = part.weigh(weights)
    if not weighting.part.shares().any():
        raise EmptyError(
            f"nobody is evaluated at {part.at} under these weights: no user holds enough of their items",
            remedy="fit weights to this date",
        )
    return weighting


def check_user_metrics(metrics: Iterable[Metric], sample: int | None) -> None:
    """Refuse metrics that need all held-out items of a user, if only some pairs are drawn."""
    for metric in metrics:
        if sample is not None and isinstance(metric, UserMetric):
            raise PolicyError(
                f"{metric.name} needs all held-out items of a user", remedy=f"leave out {option('sample')}"
            )
