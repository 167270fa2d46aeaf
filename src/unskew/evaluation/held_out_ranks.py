"""Held-out ranks: computed once, and scored under any weights and metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.policy import Share
from unskew.data.slice import Slice
from unskew.data.weighting import Weighting, Weights
from unskew.engines.population import AppliedWeights
from unskew.errors import InputError, PolicyError, option
from unskew.evaluation.estimates import Estimate, estimate_from_draws, estimate_from_users, sum_by_user
from unskew.evaluation.held_out import HeldOut
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.metric import metric as named_metric
from unskew.evaluation.metric import metrics as named_metrics
from unskew.evaluation.pair_selection import PairSelection, check_user_metrics
from unskew.evaluation.pair_sums import PairSums
from unskew.evaluation.results import Results
from unskew.evaluation.score import Score
from unskew.frames import show_as_table, to_native

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot

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

    def metric(self, given: AnyMetric) -> Metric:
        """A metric under the name that it has for these ranks: after a time split ``hit@5`` is ``recall@5``."""
        return named_metric(given).rename(several=self.selection.several)

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

    def user_sums(self, metric: AnyMetric, weights: Weights) -> tuple[Floats, Floats]:
        """For each user of the log: its mass, and its mass times metric. Both sum over all pairs."""
        self.selection.require_all()
        weighting = self.weigh(metric, weights)
        return weighting.user_mass, self._user_totals(weighting, self.values(metric))

    def estimate(
        self, metric: AnyMetric, weightings: Sequence[Weighting], *, level: float = 0.95
    ) -> list[Estimate]:
        """The value and the interval of the score under each weighting; no more than a sum over the pairs each."""
        wanted, values = self.metric(metric), self.values(metric)
        if self.sample is not None:
            drawn = (values[self.selection.places_of_draws(weighting)] for weighting in weightings)
            return [estimate_from_draws(wanted, some, level) for some in drawn]
        return [
            estimate_from_users(
                wanted,
                weighting.user_mass,
                self._user_totals(weighting, values),
                level,
                self.snapshot.log.edges,
            )
            for weighting in weightings
        ]

    def score(self, metric: AnyMetric = "hit@5", weights: Weights = None, *, level: float = 0.95) -> Score:
        """The score under a metric and weights. Cheap: nothing is ranked again."""
        weighting = self.weigh(metric, weights)
        estimate = self.estimate(metric, [weighting], level=level)[0]
        shares = self.probabilities(weighting)
        if self.sample is None:
            users = int(np.count_nonzero(weighting.user_mass))
            return self._score(self.metric(metric), weighting, estimate, self._sum_pairs(shares), users)
        place = self.selection.places_of_draws(weighting)
        users = len(np.unique(self.users[place]))
        sums = replace(self._sum_pairs(shares), pairs=len(place))
        return self._score(self.metric(metric), weighting, estimate, sums, users)

    def scores(
        self,
        metrics: AnyMetric | Iterable[AnyMetric],
        weights: Weights = None,
        *,
        level: float = 0.95,
    ) -> Results[Score]:
        """The scores under several metrics, such as ``"rank<=1,5,10"`` or ``["hit@5", "mrr@10"]``."""
        found = [self.score(q, weights, level=level) for q in named_metrics(metrics)]
        return Results(found, self.snapshot.log.frames)

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
        own = order[mass[order] > 0]
        columns = {"value": total[own] / mass[own], "probability": mass[own], "pairs": pairs[own]}
        return to_native(pa.table({"user": log.users.take(own), **columns}), log.frames)

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
        found = [
            s for q in named_metrics(metric) for s in self._score_segments(labels, self.metric(q), weights, level)
        ]
        return Results(found, self.snapshot.log.frames)

    def _score_segments(
        self, labels: str | npt.NDArray[Any], wanted: Metric, weights: Weights, level: float
    ) -> list[Score]:
        """The scores of each segment under one metric."""
        weighting = self.weigh(wanted, weights)
        shares, values = self._shares(weighting), self.values(wanted)
        names, order, ends = self._segments(labels)
        if isinstance(wanted, UserMetric):
            self._require_whole_lists(wanted, order, ends)
        found = []
        for name, own in zip(names, np.split(order, ends[:-1]), strict=True):
            found_users, user = np.unique(self.users[own], return_inverse=True)
            mass = sum_by_user(user, shares[own], 0)
            if mass.sum() <= 0:
                continue
            total = sum_by_user(user, shares[own] * values[own], 0)
            edges = np.searchsorted(found_users, self.snapshot.log.edges)
            estimate = estimate_from_users(wanted, mass, total, level, edges)
            users = int(np.count_nonzero(mass))
            score = self._score(wanted, weighting, estimate, self._sum_pairs(shares, own), users)
            found.append(replace(score, segment=str(name)))
        return found

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
        found, codes = np.unique(labels[self.entries], return_inverse=True)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(found)))
        return (found if names is None else names[found]).tolist(), order, ends

    def _require_whole_lists(self, metric: Metric, order: Codes, ends: Codes) -> None:
        """Refuse segments that part what was sought in one list."""
        segment = np.empty(len(order), dtype=np.int64)
        segment[order] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        by_list = np.lexsort((segment, self.selection.lists))
        one, next_one = by_list[:-1], by_list[1:]
        lists = self.selection.lists
        parted = (lists[one] == lists[next_one]) & (segment[one] != segment[next_one])
        if parted.any():
            user = self.snapshot.log.users[int(self.users[one[int(np.argmax(parted))]])]
            raise PolicyError(
                f"{metric.name} is about all held-out items of a user, but those of user {user!r} are in several "
                "segments",
                remedy="split by a column that is the same in all rows of a user",
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
        """The probability of each pair that was ranked."""
        shares = weighting.pair_shares
        return shares if len(shares) == len(self) else shares[self.entries]

    def probabilities(self, weighting: Weighting) -> Floats:
        """The probability of each pair that was ranked, or its share of the draws if pairs were sampled."""
        if self.sample is None:
            return self._shares(weighting)
        place = self.selection.places_of_draws(weighting)
        return np.bincount(place, minlength=len(self)) / len(place)

    def _user_totals(self, weighting: Weighting, values: Floats) -> Floats:
        """The mass of each user times metric, summed over its pairs."""
        some = np.flatnonzero(values)  # few pairs, of a constant list
        shares = weighting.pair_shares[self.entries[some]]
        return sum_by_user(self.users[some], shares * values[some], len(self.snapshot.log.users))

    def _sum_pairs(self, shares: Floats, places: Codes | slice = slice(None)) -> PairSums:
        """What some of the pairs have in common, summed by the blocks of their users."""
        items = self.snapshot.profiles.item[self.entries[places]].view(np.int32)
        cuts = np.searchsorted(self.users[places], self.snapshot.log.edges).tolist()
        own, n = shares[places], self.snapshot.profiles.n_items
        bare = self.selection.empty_profiles[places]
        empty = None if self.empty is None else self.empty[places]
        return PairSums.add(
            [
                PairSums.of(items[lo:hi], own[lo:hi], n, bare[lo:hi], None if empty is None else empty[lo:hi])
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
    **more: Unpack[ScoredUsers],
) -> Score:
    """A score from all that is known about it."""
    interval = estimate.interval
    return Score(
        recommender=recommender,
        metric=metric.name,
        view=part.policy.view,
        weighting=weighting.name,
        top=weighting.top,
        at=part.at,
        value=estimate.value,
        low=interval.low,
        high=interval.high,
        pairs=sums.pairs,
        level=interval.level,
        method=interval.method,
        too_few_hits=interval.too_few_hits,
        effective_pairs=sums.effective_pairs,
        largest_item=sums.largest_item,
        empty_profiles=sums.empty_profiles,
        empty_lists=sums.empty_lists,
        exact=held_out.exact,
        held_out=held_out.kind,
        folds=held_out.folds,
        **more,
    )


class ScoredUsers(TypedDict):
    """Who is scored and who is not, of a `Score`."""

    users: int
    biased: bool
    users_excluded: Share
    users_without_profile: Share
    users_below_min_items: Share
