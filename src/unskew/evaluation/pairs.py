"""Which pairs are held out, and from what: chosen once, and ranked by any number of recommenders.

Exhaustive: every pair of a user and an item of its profile, weighted by P(u) P(i|u,w). Sampled: users drawn by
P(u) with repetition, then one item each by P(i|u,w). Everything here is in terms of entries (positions in
``profiles.item``), so that weights and ranks line up without any look-up.

Recommenders see items numbered by id (`Slice.number_by_id`), weights those of the log; entries are the same in
both. Pairs may be dealt into folds, each ranked by a model that was fitted without its fold: this makes the scores
of any model comparable with exact leave-one-out. It has learned from a little less, though: with K folds, from
``1 - 1/K`` of the pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Unpack, cast

import numpy as np

from unskew.arrays import kernels
from unskew.arrays.profiles import Profiles, all_entries, all_users, entries_of, find_sorted, users_of
from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import require_whole_number
from unskew.data.held_out import HeldOutSplit, require_snapshot
from unskew.data.policy import Policy, Share
from unskew.data.slice import Slice, Snapshot, Weighting, Weights
from unskew.errors import EmptyError, PolicyError, option
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.selection_options import SelectionKeywords, SelectionOptions
from unskew.recommend.contract import Batch, HeldOutPairs, PreparedLists, RanksHeldOut, Recommender, traits_of


def all_pairs(part: Slice) -> HeldOutPairs:
    """Every entry of the slice as a pair of user and item."""
    return pairs_of(part, all_entries(part.profiles), all_users(part.profiles))


def pairs_of(part: Slice, entries: Codes, user: Codes | None = None) -> HeldOutPairs:
    """Entries as pairs of user and item; `user` spares looking for whose they are."""
    snapshot = cast(Snapshot, part)  # a window stays inside the evaluation: no recommender is asked to rank it
    user = users_of(part.profiles, entries) if user is None else user
    return HeldOutPairs(snapshot, user, part.profiles.item[entries].astype(np.int64), entries)


def draw(weighting: Weighting, n: int, seed: int) -> Codes:
    """Draw n entries: users by P(u) with repetition, then one item each by P(i|u,w).

    The same seed draws the same users under any weights that leave none out, and the same place in their profiles'
    cumulated probabilities: what differs between two weightings is due to the weights.
    """
    rng = np.random.default_rng(seed)
    at_user, at_item = rng.random(n), rng.random(n)
    p = weighting.part.profiles
    if p.a is None:
        with_items = np.flatnonzero(p.stop != p.start)
        users = with_items[place_draws(at_user, len(with_items))]
    else:
        users = _pick(np.cumsum(p.shares()), at_user)
    return pick_entries(p, weighting.pair_shares, users, at_item)


def place_draws(at: Floats, n: int) -> Codes:
    """Which of n users of equal probability each draw meets; a draw is a number from 0 to 1."""
    places: Codes = np.minimum((at * n).astype(np.int64), n - 1)
    return places


def pick_entries(profiles: Profiles, shares: Floats, users: Codes, at: Floats) -> Codes:
    """One entry of the profile of each of the users, by the probabilities of all entries."""
    entries = np.empty(len(users), dtype=np.int64)
    kernels.pick_entries(profiles.rows, shares, users, at, entries)
    return entries


def _pick(cumulated: Floats, at: Floats) -> Codes:
    places = np.searchsorted(cumulated, at * cumulated[-1], side="right")
    last = int(np.flatnonzero(np.diff(cumulated, prepend=0.0) > 0)[-1])
    picked: Codes = np.minimum(places, last).astype(np.int64)
    return picked


@dataclass(frozen=True)
class HoldOut:
    """How items are held out."""

    # What recommenders may see of each user: the evaluated snapshot itself (one or more items are taken out of
    # it), or one that is without them (nothing has to be taken out).
    profiles: Snapshot
    together: int = 1  # how many items of a profile are held out at a time
    seed: int = 0  # of the choice of which ones go together

    def batches(self, pairs: HeldOutPairs, size: int) -> Iterator[tuple[slice, Batch]]:
        """The profiles that are left when the pairs are held out, in batches of about `size` entries."""
        p = self.profiles.profiles
        same = self.profiles is pairs.snapshot
        lengths = (p.stop[pairs.user].astype(np.int64) - p.start[pairs.user].astype(np.int64)) + 1
        bounds = np.cumsum(lengths)
        group = self._groups(pairs) if same else None
        at = 0
        while at < len(pairs):
            done = bounds[at - 1] if at else 0
            end = max(int(np.searchsorted(bounds, done + size, side="right")), at + 1)
            user = pairs.user[at:end]
            offsets, entries = entries_of(p, user)
            if group is not None:
                keep = group[entries] != np.repeat(group[pairs.entry[at:end]], np.diff(offsets))
                entries = entries[keep]
                offsets = np.concatenate([[0], np.cumsum(keep)])[offsets]
            yield slice(at, end), Batch(user, offsets, p.item[entries].astype(np.int64), p.n_items)
            at = end

    def number_lists(self, pairs: HeldOutPairs) -> Codes:
        """The list in which each pair is sought, as a number: that of the profile which is left for it."""
        if self.profiles is not pairs.snapshot:
            return pairs.user
        if self.together == 1:
            return np.arange(len(pairs))
        return self._groups(pairs)[pairs.entry] * self.profiles.profiles.n_users + pairs.user

    def leaves_nothing(self, pairs: HeldOutPairs) -> Mask:
        """For which pairs nothing is left of the profile."""
        sizes = self.profiles.profiles.sizes_of(pairs.user)
        nothing: Mask = sizes <= (self.together if self.profiles is pairs.snapshot else 0)
        return nothing

    def _groups(self, pairs: HeldOutPairs) -> Codes:
        """A number for each entry; entries of a profile with the same number are held out together."""
        n = len(pairs.snapshot.profiles.item)
        if self.together == 1:
            return np.arange(n)
        rng = np.random.default_rng(self.seed)
        entries = all_entries(pairs.snapshot.profiles)
        user = users_of(pairs.snapshot.profiles, entries)
        shuffled = np.lexsort((rng.random(len(entries)), user))
        place = np.arange(len(entries)) - np.searchsorted(user[shuffled], user[shuffled], side="left")
        group = np.zeros(n, dtype=np.int64)
        group[entries[shuffled]] = place // self.together
        return group


@dataclass(frozen=True, eq=False)
class Folds:
    """Which fold each entry of a snapshot is in."""

    snapshot: Snapshot  # the profiles
    number: int  # how many folds there are
    fold: Codes  # of each place of ``profiles.item``; -1 where no profile is

    @classmethod
    def deal(cls, snapshot: Snapshot, number: int, seed: int) -> Folds:
        """Deal the entries like cards: users in random order, the entries of each in random order, one fold after
        the other. So folds are of equal size, and a user's pairs go to different ones as evenly as possible.
        """
        require_whole_number(option("folds"), number, "how many parts the pairs are dealt into", 2)
        entries = all_entries(snapshot.profiles)
        if number > len(entries):
            raise PolicyError(
                f"{option('folds')} is {number}, but there are only {len(entries)} pairs to deal",
                remedy="give no more folds than pairs; 10 are usual",
            )
        rng = np.random.default_rng(seed)
        turn = rng.permutation(snapshot.profiles.n_users)[users_of(snapshot.profiles, entries)]
        order = np.lexsort((rng.random(len(entries)), turn))
        fold = np.full(len(snapshot.profiles.item), -1, dtype=np.int64)
        fold[entries[order]] = np.arange(len(entries)) % number
        return cls(snapshot, number, fold)

    def training(self, k: int) -> Snapshot:
        """The profiles without the pairs of fold k."""
        return self.snapshot.without(np.flatnonzero(self.fold == k))

    def places(self, pairs: HeldOutPairs, k: int) -> Codes:
        """Which of the pairs are in fold k."""
        return np.flatnonzero(self.fold[pairs.entry] == k)


def take_pairs(pairs: HeldOutPairs, places: Codes) -> HeldOutPairs:
    """Some of the pairs."""
    return replace(pairs, user=pairs.user[places], item=pairs.item[places], entry=pairs.entry[places])


Kind = Literal["exact", "folds", "profile", "time", "external"]

MEANINGS: dict[str, str] = {
    "exact": "the model does not contain the pair",
    "folds": "the model was fitted without the fold of the pair",
    "profile": "the profile does not contain the pair, but the model does",
    "time": "the model was fitted before the pair existed",
    "external": "nobody here knows what the model has seen",
}
"""What each kind means, in words."""


@dataclass(frozen=True)
class HeldOut:
    """What was left out."""

    # ``exact``: the pair left the model too, or there is no model; ``folds``: the model was fitted without the
    # pairs of its fold; ``profile``: it left the profile alone; ``time``: the model is older than the pair;
    # ``external``: lists, or what made them, came from elsewhere.
    kind: Kind = "profile"
    folds: int | None = None  # the number of folds

    @classmethod
    def of(
        cls,
        model: Recommender,
        *,
        held: str = "profiles",
        alone: bool = True,
        folds: int | None = None,
        dated: bool = False,
    ) -> HeldOut:
        """What is left out of a recommender, by what is held out (see `Policy.held`).

        `alone` says that pairs are held out one at a time, and `dated` that its lists, though external, are known
        to be older than what is held out by time.
        """
        traits = traits_of(model)
        if traits.learns == "external" and not (held == "later" and dated):
            return cls("external")
        if held == "later":
            return cls("time")
        if folds is not None:
            return cls("folds", folds)
        exact = held == "last" or (traits.exact and alone and isinstance(model, RanksHeldOut))
        return cls("exact" if exact or traits.learns == "nothing" else "profile")

    @property
    def exact(self) -> bool | None:
        """Whether what was learned is free of the pair; None if nobody knows."""
        return None if self.kind == "external" else self.kind != "profile"

    def __str__(self) -> str:
        return f"{self.folds} folds" if self.kind == "folds" else self.kind


@dataclass(frozen=True, repr=False, eq=False)
class PairSelection:
    """The pairs of one evaluation."""

    # What items are held out from, the same with the users who cannot be evaluated, and what is known of them.
    split: HeldOutSplit
    held: HoldOut  # the profiles that recommenders see
    pairs: HeldOutPairs  # the pairs to rank, items numbered as recommenders see them
    weightings: tuple[Weighting, ...]  # the weights that were named when the pairs were chosen, on `part`
    # Number and seed of the draws; None for every pair.
    sample: int | None = None
    seed: int = 0
    folds: Folds | None = None  # how pairs were dealt for cross-fitting, or None
    _drawn: dict[Weighting, Codes] = field(default_factory=dict)

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
        seen = self.held.profiles
        dated = isinstance(model, PreparedLists) and model.is_valid_at(seen.log.axis, seen.tick) is True
        return HeldOut.of(
            model,
            held=self.part.policy.held,
            alone=self.held.together == 1,
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
            drawn = draw(weighting, self.sample, self.seed)
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
