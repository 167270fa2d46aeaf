"""Held-out ranks: computed once, and scored under any weights and metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.slice import Slice, Weighting, Weights
from unskew.engines.population import AppliedWeights
from unskew.errors import InputError, PolicyError, option
from unskew.evaluation.intervals import Estimate, Units, sum_by_user
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.metric import metric as named_metric
from unskew.evaluation.metric import metrics as named_metrics
from unskew.evaluation.pairs import HeldOut, PairSelection, check_user_metrics
from unskew.evaluation.score import Results, Score
from unskew.frames import show_as_table, to_native

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over pairs, each of which has a share of the probability."""

    pairs: int  # how many have any
    # The sum of the shares, and of their squares.
    total: float
    squares: float
    by_item: Floats  # the sum of the shares of each item
    # The sum of the shares of pairs that leave an empty profile, and of those for which nothing is recommended;
    # NaN if that is not known.
    on_empty_profiles: float = 0.0
    on_empty_lists: float = 0.0

    @classmethod
    def of(
        cls,
        items: npt.NDArray[Any],
        shares: Floats,
        n_items: int,
        empty_profiles: Mask,
        empty_lists: Mask | None,
    ) -> PairSums:
        """Of some pairs: the item and the share of each, and which profiles and lists are empty."""
        by_item = np.bincount(items, weights=shares, minlength=n_items).astype(np.float64)
        return cls(
            int(np.count_nonzero(shares)),
            float(shares.sum()),
            float((shares * shares).sum()),
            by_item,
            float(shares[empty_profiles].sum()),
            math.nan if empty_lists is None else float(shares[empty_lists].sum()),
        )

    @classmethod
    def add(cls, parts: Sequence[PairSums]) -> PairSums:
        """Those of blocks, added in their order."""
        by_item = parts[0].by_item.copy()
        for part in parts[1:]:
            by_item += part.by_item
        names = ("pairs", "total", "squares", "on_empty_profiles", "on_empty_lists")
        pairs, *sums = (sum(getattr(part, name) for part in parts) for name in names)
        return cls(pairs, sums[0], sums[1], by_item, *sums[2:])

    @property
    def effective_pairs(self) -> float:
        """How many pairs of equal share would tell as much: ``(sum p)^2 / sum p^2``."""
        return self.total**2 / self.squares if self.squares > 0 else math.nan

    @property
    def largest_item(self) -> float:
        """The largest share of one item."""
        return float(self.by_item.max() / self.total)

    @property
    def empty_profiles(self) -> float:
        """The share of pairs that leave an empty profile."""
        return self.on_empty_profiles / self.total

    @property
    def empty_lists(self) -> float | None:
        """The share of pairs for which nothing is recommended; None if that is not known."""
        return None if math.isnan(self.on_empty_lists) else self.on_empty_lists / self.total


AnyMetric = str | Metric | Callable[..., npt.ArrayLike]


@dataclass(frozen=True, repr=False, eq=False)
class HeldOutRanks:
    """The rank of each held-out item under one recommender, from 1; 0 if it was not among the best `depth`.

    Attributes
    ----------
    recommender
        Its name.
    selection
        The pairs, and what they were held out from.
    ranks
        Of each pair.
    grades
        The number that the recommender gives to the held-out item, or None.
    depth
        Down to which place of the lists ranks are known.
    held_out
        What of a pair was left out of the model that ranked it.
    constant
        Whether everybody is recommended the same list.
    empty
        Whether the recommender returned nothing for the profile of each pair; None if it does not say.
    personal
        Whether what is recommended depends on the profile.
    model
        What the model calls itself, whatever its name in results is.
    """

    recommender: str
    selection: PairSelection
    ranks: Codes
    grades: Floats | None
    depth: int
    held_out: HeldOut = HeldOut()
    constant: bool = False
    empty: Mask | None = None
    personal: bool = True
    model: str = ""

    @property
    def snapshot(self) -> Slice:
        """What items are held out from."""
        return self.selection.part

    @property
    def entries(self) -> Codes:
        """Where each pair is in ``snapshot.profiles.item``."""
        return self.selection.pairs.entry

    @property
    def users(self) -> Codes:
        """Whose each pair is."""
        return self.selection.pairs.user

    @property
    def sample(self) -> int | None:
        """How many pairs were drawn; None for every pair."""
        return self.selection.sample

    def __len__(self) -> int:
        return len(self.ranks)

    def __repr__(self) -> str:
        return (
            f"HeldOutRanks({self.recommender} at {self.snapshot.at}: {len(self)} pairs, down to rank {self.depth})"
        )

    def metric(self, metric: AnyMetric) -> Metric:
        """A metric under the name that it has for these ranks: after a time split ``hit@5`` is ``recall@5``."""
        return named_metric(metric).rename(several=self.selection.several)

    def may_be_biased(self, weighting: Weighting) -> bool:
        """Whether the bias of the log can be in scores.

        Item weights remove it from constant lists alone; a view removes it if it dropped something and passed its
        tests on this log, one of which is about this recommender.
        """
        freed = weighting.frees_constant_lists and self.constant
        return not freed and not self.is_debiased

    @property
    def is_debiased(self) -> bool:
        """Whether these are ranks on a view that earned the trust for this recommender."""
        return self.snapshot.log.is_debiased_for(self.recommender, self.model, constant=self.constant)

    def values(self, metric: AnyMetric) -> Floats:
        """The metric of each pair; one of users is the same for all pairs that were sought in one list."""
        wanted = self.metric(metric)
        if wanted.depth > self.depth:
            raise PolicyError(
                f"ranks were computed down to {self.depth}, but {wanted.name} looks down to {wanted.depth}",
                remedy=f"name it in {option('metric')} of rank_held_out",
            )
        if isinstance(wanted, UserMetric):
            check_user_metrics([wanted], self.sample)
            return wanted.of_lists(self.ranks, self.selection.lists)
        return wanted(self.ranks, self.grades)

    def units(self, metric: AnyMetric, weights: Weights, kept: Mask | None = None) -> Units:
        """The independent units of a score, users or draws; of the `kept` pairs alone if those are marked."""
        return self._units(self.metric(metric), self.weigh(metric, weights), self.values(metric), kept)

    def _units(self, metric: Metric, weighting: Weighting, values: Floats, kept: Mask | None = None) -> Units:
        log = self.snapshot.log
        if self.sample is not None:
            place = self.selection.places_of_draws(weighting)
            mass = np.ones(len(place)) if kept is None else kept[place].astype(np.float64)
            return Units(mass, mass * values[place], self.users[place], "draws", metric.bounds)
        if kept is None:
            nonzero = np.flatnonzero(values)  # few pairs, of a constant list
            parts = weighting.pair_shares[self.entries[nonzero]] * values[nonzero]
            mass, total = weighting.user_mass, sum_by_user(self.users[nonzero], parts, len(log.users))
        else:
            user, shares = self.users[kept], self.probabilities(weighting)[kept]
            mass = sum_by_user(user, shares, len(log.users))
            total = sum_by_user(user, shares * values[kept], len(log.users))
        return Units(mass, total, np.arange(len(mass)), "users", metric.bounds, log.edges)

    def estimates(self, metric: Metric, level: float) -> list[Estimate]:
        """The score under each weighting that was named for the selection; of a metric of users only the first."""
        wanted, values, weightings = self.metric(metric), self.values(metric), self.selection.weightings
        several = weightings[:1] if isinstance(metric, UserMetric) else weightings
        return [self._units(wanted, weighting, values).estimate(level) for weighting in several]

    def score(self, metric: AnyMetric = "hit@5", weights: Weights = None, *, level: float = 0.95) -> Score:
        """The score under a metric and weights. Cheap: nothing is ranked again."""
        weighting = self.weigh(metric, weights)
        units, sums = self.units(metric, weighting), self._sum_pairs(self.probabilities(weighting))
        users = int(np.count_nonzero(units.mass))
        if self.sample is not None:
            users, sums = len(np.unique(units.user)), replace(sums, pairs=len(units.mass))
        return self._score(self.metric(metric), weighting, units.estimate(level), sums, users)

    def scores(
        self,
        metrics: AnyMetric | Iterable[AnyMetric],
        weights: Weights = None,
        *,
        level: float = 0.95,
    ) -> Results[Score]:
        """The scores under several metrics, such as ``"rank<=1,5,10"`` or ``["hit@5", "mrr@10"]``."""
        scores = [self.score(q, weights, level=level) for q in named_metrics(metrics)]
        return Results(scores, self.snapshot.log.frames)

    def to_arrow(self, weights: Weights = None) -> pa.Table:
        """One row for each pair that was ranked.

        Columns are user, item (ids), rank (from 1; null if the item is not among the best `depth`), probability
        and grade (null if the recommender gives none). The probability is that of the pair under `weights`, P(u)
        P(i|u,w), or its share of the draws where pairs were sampled; it sums to 1, and the score is the sum of
        probability times metric.
        """
        pairs = self.selection.pairs
        grades = np.full(len(self), np.nan) if self.grades is None else self.grades
        return pa.table(
            {
                "user": pairs.snapshot.log.users.take(pairs.user),
                "item": pairs.snapshot.log.items.take(pairs.item),
                "rank": pa.array(self.ranks, mask=self.ranks == 0),
                "probability": self.probabilities(self.selection.weigh(weights)),
                "grade": pa.array(grades, mask=np.isnan(grades)),
            }
        )

    _repr_html_ = show_as_table

    def to_frame(self, weights: Weights = None) -> Any:
        """The same in the dataframe library that the log came in."""
        return to_native(self.to_arrow(weights), self.snapshot.log.frames)

    def by_user(self, metric: AnyMetric = "hit@5", weights: Weights = None) -> Any:
        """What each user adds to the score, one row each, in the dataframe library that the log came in.

        Columns are user (id), value (the mean metric of its pairs, weighted), probability (of all its pairs
        together) and pairs (how many have any weight). Users in the order of their ids; who has no weight is not
        there. The score is the sum of value times probability.
        """
        wanted = self.metric(metric)
        shares, values = self.probabilities(self.weigh(wanted, weights)), self.values(wanted)
        n, log = len(self.snapshot.log.users), self.snapshot.log
        mass, total = sum_by_user(self.users, shares, n), sum_by_user(self.users, shares * values, n)
        pairs = np.bincount(self.users[shares > 0], minlength=n)
        order = log.users.order()
        users = order[mass[order] > 0]
        columns = {"value": total[users] / mass[users], "probability": mass[users], "pairs": pairs[users]}
        return to_native(pa.table({"user": log.users.take(users), **columns}), log.frames)

    def by_segment(
        self,
        labels: str | npt.NDArray[Any],
        metric: AnyMetric | Iterable[AnyMetric] = "hit@5",
        weights: Weights = None,
        *,
        level: float = 0.95,
    ) -> Results[Score]:
        """Scores of each segment, in the order of their names; one without any mass has none.

        Within a segment the pairs keep their weights relative to each other.

        Parameters
        ----------
        labels
            The name of a column read with ``read_log(labels=...)``, or an array with a label for each place of
            ``snapshot.profiles.item``.
        metric, weights, level
            As for `evaluate`, one metric or several.
        """
        self.selection.require_all()
        scores = [
            s for q in named_metrics(metric) for s in self._score_segments(labels, self.metric(q), weights, level)
        ]
        return Results(scores, self.snapshot.log.frames)

    def _score_segments(
        self, labels: str | npt.NDArray[Any], wanted: Metric, weights: Weights, level: float
    ) -> list[Score]:
        weighting = self.weigh(wanted, weights)
        shares, values = self._shares(weighting), self.values(wanted)
        names, order, ends = self._segments(labels)
        if isinstance(wanted, UserMetric):
            self._require_whole_lists(wanted, order, ends)
        scores = []
        for name, places in zip(names, np.split(order, ends[:-1]), strict=True):
            found_users, user = np.unique(self.users[places], return_inverse=True)
            mass = sum_by_user(user, shares[places], 0)
            if mass.sum() <= 0:
                continue
            total = sum_by_user(user, shares[places] * values[places], 0)
            edges = np.searchsorted(found_users, self.snapshot.log.edges)
            units = Units(mass, total, found_users, "users", wanted.bounds, edges)
            users = int(np.count_nonzero(mass))
            score = self._score(wanted, weighting, units.estimate(level), self._sum_pairs(shares, places), users)
            scores.append(replace(score, segment=str(name)))
        return scores

    def _segments(self, labels: str | npt.NDArray[Any]) -> tuple[list[Any], Codes, Codes]:
        """The names of the segments; the pairs in their order, and where each segment ends."""
        names: npt.NDArray[Any] | None = None
        if isinstance(labels, str):
            column = self.snapshot.log.label(labels)
            names = column.values.to_numpy(zero_copy_only=False)
            labels = self.snapshot.per_entry(column.codes)
        labels = np.asarray(labels)
        if labels.shape != self.snapshot.profiles.item.shape:
            raise InputError(
                f"labels have shape {labels.shape}",
                remedy=f"give one for each of the {len(self.snapshot.profiles.item)} places of "
                "snapshot.profiles.item",
            )
        distinct, codes = np.unique(labels[self.entries], return_inverse=True)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(distinct)))
        return (distinct if names is None else names[distinct]).tolist(), order, ends

    def _require_whole_lists(self, metric: Metric, order: Codes, ends: Codes) -> None:
        """Refuse segments that part what was sought in one list."""
        segment = np.empty(len(order), dtype=np.int64)
        segment[order] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        by_list = np.lexsort((segment, self.selection.lists))
        pair, next_pair = by_list[:-1], by_list[1:]
        lists = self.selection.lists
        parted = (lists[pair] == lists[next_pair]) & (segment[pair] != segment[next_pair])
        if parted.any():
            user = self.snapshot.log.users[int(self.users[pair[int(np.argmax(parted))]])]
            raise PolicyError(
                f"{metric.name} is about all held-out items of a user, but those of user {user!r} are in several "
                "segments",
                remedy="split by a column that is the same in all rows of a user",
            )

    def require_same_pairs(self, other: HeldOutRanks) -> None:
        """Refuse ranks that cannot be paired: of other users, items or draws, or under other probabilities."""
        a, b = self.selection, other.selection
        if a is b:
            return
        same = a.part.log is b.part.log and a.sample == b.sample and (a.sample is None or a.seed == b.seed)
        same = same and a.held.together == b.held.together and np.array_equal(self.users, other.users)
        if not same or not np.array_equal(a.pairs.item, b.pairs.item):
            raise PolicyError(
                f"{other.recommender} was ranked on other pairs than {self.recommender}",
                remedy="rank both on one choice of pairs",
            )
        if not np.array_equal(a.part.weigh().pair_shares, b.part.weigh().pair_shares):
            raise PolicyError(
                f"{other.recommender} was ranked under another P(u) or P(i|u) than {self.recommender}",
                remedy="rank both on one snapshot",
            )

    def weigh(self, metric: AnyMetric, weights: Weights) -> Weighting:
        """The weights on what is held out, which a metric of users does not take."""
        weighting, wanted = self.selection.weigh(weights), self.metric(metric)
        if isinstance(wanted, UserMetric) and weighting.name != "raw":
            raise PolicyError(
                f"{wanted.name} is about all held-out items of a user at once, and leaves item weights nothing to "
                "choose from",
                remedy=f"leave out {option('weights')}, or use a metric of single items such as "
                f"{self.metric(f'hit@{wanted.depth}').name}",
            )
        return weighting

    def _shares(self, weighting: Weighting) -> Floats:
        shares = weighting.pair_shares
        return shares if len(shares) == len(self) else shares[self.entries]

    def probabilities(self, weighting: Weighting) -> Floats:
        """The probability of each pair that was ranked, or its share of the draws if pairs were sampled."""
        if self.sample is None:
            return self._shares(weighting)
        place = self.selection.places_of_draws(weighting)
        return np.bincount(place, minlength=len(self)) / len(place)

    def _sum_pairs(self, shares: Floats, places: Codes | slice = slice(None)) -> PairSums:
        """What some of the pairs have in common, summed by the blocks of their users."""
        items = self.snapshot.profiles.item[self.entries[places]].view(np.int32)
        cuts = np.searchsorted(self.users[places], self.snapshot.log.edges).tolist()
        chosen, n = shares[places], self.snapshot.profiles.n_items
        bare = self.selection.empty_profiles[places]
        empty = None if self.empty is None else self.empty[places]
        return PairSums.add(
            [
                PairSums.of(items[lo:hi], chosen[lo:hi], n, bare[lo:hi], None if empty is None else empty[lo:hi])
                for lo, hi in pairwise(cuts)
            ]
        )

    def _score(
        self, metric: Metric, weighting: Weighting, estimate: Estimate, sums: PairSums, users: int
    ) -> Score:
        return make_score(
            self.recommender,
            metric,
            self.snapshot,
            weighting,
            estimate,
            sums,
            self.held_out,
            users=users,
            biased=self.may_be_biased(weighting),
            users_excluded=self.selection.users_excluded(weighting),
            users_without_profile=self.selection.users_without_profile,
            users_below_min_items=self.selection.users_below_min_items,
        )


def make_score(
    recommender: str,
    metric: Metric,
    part: Slice | SparkSnapshot,
    weighting: AppliedWeights,
    estimate: Estimate,
    sums: PairSums,
    held_out: HeldOut,
    **known: Any,
) -> Score:
    """A score from all that is known about it; fields of `Score` that nothing else tells are `known`."""
    return Score(
        recommender=recommender,
        metric=metric.name,
        view=part.policy.view,
        weighting=weighting.name,
        top=weighting.top,
        at=part.at,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        pairs=sums.pairs,
        level=estimate.level,
        method=estimate.method,
        too_few_hits=estimate.too_few_hits,
        effective_pairs=sums.effective_pairs,
        largest_item=sums.largest_item,
        empty_profiles=sums.empty_profiles,
        empty_lists=sums.empty_lists,
        exact=held_out.exact,
        held_out=held_out.kind,
        folds=held_out.folds,
        **known,
    )
