"""Scores on a Spark cluster: every pair of every block is ranked and weighed where it is, and sums come back.

For recommenders that learn nothing from the log (constant lists, lists external) and for popularity, which
needs no more than how many hold each item. Any other is scored on pairs that are drawn: see
`unskew.engines.spark.sample`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays.profiles import all_entries, sum_entries
from unskew.arrays.types import Floats
from unskew.data.held_out import HeldOutSplit
from unskew.data.slice import Snapshot, find_pair_shares
from unskew.data.view_report import NO_VIEW
from unskew.engines.spark.blocks import BlockTable, Record, SnapshotRule, to_numpy
from unskew.engines.spark.log import SparkSnapshot
from unskew.engines.spark.population import SparkWeighting, UserRule
from unskew.errors import EngineError, UnskewWarning, option, warn
from unskew.evaluation.comparison import Comparison
from unskew.evaluation.held_out_ranks import PairSums, make_score
from unskew.evaluation.intervals import (
    Difference,
    Estimate,
    Measuring,
    Result,
    Terms,
    add_block,
    add_blocks,
    measure_difference,
    measure_score,
    sum_by_user,
    sum_for_all,
)
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.pairs import HeldOut, PairSelection
from unskew.evaluation.ranking import rank_selection
from unskew.evaluation.score import Score
from unskew.evaluation.selection_options import SelectionOptions
from unskew.recommend.calls import Prefitted
from unskew.recommend.contract import PreparedLists, Recommender, traits_of
from unskew.recommend.popular import Popular


@dataclass(frozen=True, eq=False, repr=False)
class SparkRanks:
    """Held-out pairs that were ranked on a cluster under some weightings, summed by user for some metrics."""

    recommender: str  # its name
    snapshot: SparkSnapshot  # what items are held out from
    # Under which it can be scored.
    metrics: Sequence[Metric]
    weightings: Sequence[SparkWeighting]
    sums: BlockTable  # the mass and the totals of users and what their pairs have in common, kept on the cluster
    # As of `unskew.evaluation.HeldOutRanks`.
    held_out: HeldOut
    constant: bool
    _estimates: dict[float, dict[tuple[int, int], Estimate]] = field(default_factory=dict)

    def estimate(self, metric: Metric, weighting: SparkWeighting, level: float) -> Estimate:
        """The value and the interval of the score."""
        if level not in self._estimates:
            self._estimates[level] = self._measure("total", lambda q: measure_score(level, q.bounds, "users"))
        return self._estimates[level][self.weightings.index(weighting), list(self.metrics).index(metric)]

    def difference(self, metric: Metric, weighting: SparkWeighting) -> Difference:
        """The score minus that of the baseline with which it was ranked."""
        return self._differences[self.weightings.index(weighting), list(self.metrics).index(metric)]

    @cached_property
    def _differences(self) -> dict[tuple[int, int], Difference]:
        return self._measure("gain", lambda q: measure_difference(q.bounds))

    def _measure(self, name: str, measure: Callable[[Metric], Measuring[Result]]) -> dict[tuple[int, int], Result]:
        """A measure of each weighting and metric, by their numbers; the cluster is asked three times for all."""
        numbers = product(range(len(self.weightings)), range(len(self.metrics)))
        places = [(k, q) for k, q in numbers if k == 0 or not isinstance(self.metrics[q], UserMetric)]

        def add(asked: list[tuple[int, Terms]]) -> list[Floats]:
            work = partial(_add_units, name, tuple((*places[number], terms) for number, terms in asked))
            blocks = self.sums.map(work, "summing up scores")
            return [add_blocks([block[n] for block in blocks]) for n in range(len(asked))]

        return dict(zip(places, sum_for_all([measure(self.metrics[q]) for _, q in places], add), strict=True))

    def score(self, metric: Metric, weighting: SparkWeighting, *, level: float) -> Score:
        """The score."""
        return make_score(
            self.recommender,
            metric,
            self.snapshot,
            weighting,
            self.estimate(metric, weighting, level),
            self._pair_sums[self.weightings.index(weighting)],
            self.held_out,
            users=weighting.users.n_users,
            biased=not (weighting.frees_constant_lists and self.constant),  # no view is tested on Spark
            users_excluded=weighting.users.excluded(),
            users_below_min_items=self.snapshot.below_min_items,
        )

    def compare(self, baseline: SparkRanks, metric: Metric, weighting: SparkWeighting, level: float) -> Comparison:
        """The baseline, with which this was ranked, minus this; nothing is said of users without a profile."""
        both = [ranks.score(metric, weighting, level=level) for ranks in (baseline, self)]
        comparable, view = baseline.held_out == self.held_out, self.snapshot.log.view_report
        difference = self.difference(metric, weighting)
        low, high = difference.estimate(level).interval
        return Comparison(
            a=baseline.recommender,
            b=self.recommender,
            metric=metric.name,
            weighting=weighting.name,
            difference=-difference.value if comparable else math.nan,
            low=-high if comparable else math.nan,
            high=-low if comparable else math.nan,
            p=difference.p_value() if comparable else math.nan,
            p_holm=math.nan,
            level=level,
            comparable=comparable,
            held_out=(baseline.held_out.kind, self.held_out.kind),
            biased=any(score.biased for score in both),
            caveat=NO_VIEW if view is None else view.caveat,
            empty_profiles=both[0].empty_profiles,
            empty_lists=(both[0].empty_lists, both[1].empty_lists),
        )

    @cached_property
    def _pair_sums(self) -> list[PairSums]:
        n = len(self.weightings)
        blocks = self.sums.map(partial(_read_pair_sums, n, len(self.snapshot.log.items)), "summing up pairs")
        return [PairSums.add([block[k] for block in blocks]) for k in range(n)]

    def describe_lists(self) -> tuple[str | None, list[str]]:
        """For how many of those who are scored a recommender has no list, None if it has them all; and of what the
        workers warn, each of which knows a part of the users: only what all of them say is true of the whole.
        """
        blocks = [about for about in self.sums.map(_read_about_lists, "looking for missing lists") if about]
        if not blocks:
            return None, []
        missing, total = np.sum([counts for counts, _, _ in blocks], axis=0).tolist()
        _, unit, first_warnings = blocks[0]
        shared_warnings = [text for text in first_warnings if all(text in texts for _, _, texts in blocks)]
        return (
            f"{missing} of the {total} {unit} scored at {self.snapshot.at}" if missing else None,
            shared_warnings,
        )


def can_rank_all(model: Recommender) -> bool:
    """Whether a recommender can rank every pair of a log on a cluster."""
    return traits_of(model).learns != "here" or isinstance(_unwrap(model), Popular)


def fit_on_spark(model: Recommender, snapshot: SparkSnapshot) -> Recommender:
    """The recommender, fitted to what it needs to know of all profiles; it is not fitted again to some of them."""
    inner: Any = _unwrap(model)
    if not isinstance(inner, Popular):
        return model
    fitted: Any = Popular(exact=inner.exact).fit(snapshot.number_by_id())  # type: ignore[arg-type]
    return Prefitted(fitted, str(model))


def rank_on_spark(
    model: Recommender,
    snapshot: SparkSnapshot,
    metrics: Sequence[Metric],
    weightings: Sequence[SparkWeighting],
    *,
    everyone: SparkSnapshot,
    name: str | None = None,
    baseline: Recommender | None = None,
    tell_missing: Any = None,
) -> SparkRanks:
    """Rank every pair of a snapshot on the cluster, to be scored under these metrics and weightings.

    `everyone` is the same with all users, to whom the recommender is fitted. A `baseline` is ranked beside it, for
    the difference.
    """
    if not can_rank_all(model):
        raise EngineError(
            f"{model} learns from profiles, and those of all users are on no machine",
            remedy=f"score it on pairs that are drawn, with {option('sample')}: it is fitted to some of the users",
        )
    rule = snapshot.rule.with_ids(snapshot.log.items)
    _ = snapshot.log.items.order()  # looked for once and sent along
    weights = tuple(_BlockWeights(w.users.users, w.log_weights, w.users.n_users) for w in weightings)
    least = snapshot.policy.min_items
    other = None if baseline is None else fit_on_spark(baseline, everyone)
    work = _ScoreBlock(rule, fit_on_spark(model, everyone), tuple(metrics), weights, least, other)
    held_out = HeldOut.of(model)
    table, constant = snapshot.log.blocks.convert(work), traits_of(model).constant
    ranks = SparkRanks(name or str(model), snapshot, metrics, weightings, table, held_out, constant)
    if isinstance(model, PreparedLists):
        missing, list_warnings = ranks.describe_lists()
        for text in list_warnings:
            warn(text)
        if missing is not None:
            (tell_missing or warn)(f"{model} has no recommendation for {missing}: they count as misses")
    return ranks


def _unwrap(model: Any) -> Any:
    return getattr(model, "recommender", model)


@dataclass(frozen=True)
class _BlockWeights:
    """A weighting, as a worker needs it."""

    users: UserRule
    log_weights: Floats
    n_users: int


@dataclass(frozen=True)
class _ScoreBlock:
    """Rank the pairs of a block, and sum them up by user under each weighting and metric.

    With a baseline, the gains over it too: differences of totals.
    """

    rule: SnapshotRule
    model: Recommender
    metrics: tuple[Metric, ...]
    weightings: tuple[_BlockWeights, ...]
    min_items: int = 1
    baseline: Recommender | None = None

    def __call__(self, record: Record) -> dict[str, pa.Array | npt.NDArray[Any]]:
        sums = self._sum_up(record)
        if self.baseline is not None:
            others = replace(self, model=self.baseline, baseline=None)(record)
            totals = [name for name in sums if name.startswith("total:")]
            sums |= {name.replace("total", "gain"): sums[name] - others[name] for name in totals}
        return sums

    def _sum_up(self, record: Record) -> dict[str, pa.Array | npt.NDArray[Any]]:
        log = self.rule.log(record)
        part = self.rule.cut_off(log)
        if not (part.sizes() >= self.min_items).any():
            return self._nothing(part)
        split = HeldOutSplit.of_profiles(part).with_min_items(self.min_items)
        selection = PairSelection.of_split(split, (), SelectionOptions())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ranks = rank_selection(self.model, selection, self.metrics, tell_missing=lambda _: None)
        items = part.profiles.item[ranks.entries].view(np.int32)
        values = [ranks.values(metric) for metric in self.metrics]
        arrays: dict[str, pa.Array | npt.NDArray[Any]] = {}
        for k, weights in enumerate(self.weightings):
            p = part.restrict(weights.users(log)).profiles
            shares = np.where(p.stop != p.start, 1.0 / weights.n_users, 0.0)
            pair_shares = find_pair_shares(p, shares, weights.log_weights)
            arrays[f"mass:{k}"] = sum_entries(p, pair_shares[all_entries(p)])
            ranked_shares, bare = pair_shares[ranks.entries], selection.empty_profiles
            arrays |= _write_pair_sums(k, PairSums.of(items, ranked_shares, p.n_items, bare, ranks.empty))
            for q, (metric, pair_values) in enumerate(zip(self.metrics, values, strict=True)):
                if k and isinstance(metric, UserMetric):
                    continue
                hits = np.flatnonzero(pair_values)
                parts = pair_shares[ranks.entries[hits]] * pair_values[hits]
                arrays[f"total:{k}:{q}"] = sum_by_user(ranks.users[hits], parts, p.n_users)
        if isinstance(self.model, PreparedLists):
            missing, total, unit = self.model.count_missing(selection.pairs)
            messages = [
                warning.message.args[0] for warning in caught if isinstance(warning.message, UnskewWarning)
            ]
            arrays |= {"missing": np.array([missing, total]), "unit": pa.array([unit])}
            arrays["warnings"] = pa.array(messages, pa.string())
        return arrays

    def _nothing(self, part: Snapshot) -> dict[str, pa.Array | npt.NDArray[Any]]:
        zero = np.zeros(part.profiles.n_users)
        arrays: dict[str, pa.Array | npt.NDArray[Any]] = {}
        for k in range(len(self.weightings)):
            arrays[f"mass:{k}"] = zero
            arrays |= {f"total:{k}:{q}": zero for q in range(len(self.metrics))}
            arrays |= _write_pair_sums(k, PairSums(0, 0.0, 0.0, np.zeros(0)))
        return arrays


def _write_pair_sums(k: int, sums: PairSums) -> dict[str, npt.NDArray[Any]]:
    held_items = np.flatnonzero(sums.by_item)
    return {
        f"pairs:{k}": np.array([sums.pairs]),
        f"shares:{k}": np.array([sums.total, sums.squares, sums.on_empty_profiles, sums.on_empty_lists]),
        f"items:{k}": held_items,
        f"by_item:{k}": sums.by_item[held_items],
    }


def _read_pair_sums(weightings: int, n_items: int, record: Record) -> list[PairSums]:
    sums = []
    for k in range(weightings):
        by_item = np.zeros(n_items)
        by_item[to_numpy(record[f"items:{k}"])] = to_numpy(record[f"by_item:{k}"])
        total, squares, *empty = to_numpy(record[f"shares:{k}"]).tolist()
        sums.append(PairSums(int(record[f"pairs:{k}"][0].as_py()), total, squares, by_item, *empty))
    return sums


def _read_about_lists(record: Record) -> tuple[list[int], str, list[str]] | None:
    """How many users of a block have no list and how many are scored, what they are, and the worker's warnings."""
    if "missing" not in record:
        return None
    return record["missing"].to_pylist(), record["unit"][0].as_py(), record["warnings"].to_pylist()


def _add_units(name: str, asked: tuple[tuple[int, int, Terms], ...], record: Record) -> list[Floats]:
    """Sums over the users of a block, several at once: under which weighting, of which metric, and of what.

    `name` is ``total``, or ``gain`` for differences from a baseline.
    """
    return [
        add_block(terms, to_numpy(record[f"mass:{k}"]), to_numpy(record[f"{name}:{k}:{q}"]))
        for k, q, terms in asked
    ]
