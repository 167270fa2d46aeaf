"""A log scored by every method: recommenders ranked at a date, on the view of each method."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from unskew.data.log import Log
from unskew.data.slice import Snapshot, Weights
from unskew.data.times import Moment
from unskew.data.view_report import ViewReport
from unskew.errors import InputError, UnskewError, UnskewWarning
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.evaluation.intervals import Difference, Units, number_users
from unskew.evaluation.metric import Metric
from unskew.evaluation.pairs import PairSelection
from unskew.evaluation.ranking import rank_selection
from unskew.known_truths.case import VERSIONS, Case
from unskew.known_truths.estimators import ALL, RAW, Estimator, PairWeights, View
from unskew.progress import progress
from unskew.recommend.constant import Constant
from unskew.recommend.contract import Recommender, traits_of
from unskew.recommend.parameters import split_name
from unskew.recommend.specs import AnyRecommenders, is_one_recommender, name_recommenders
from unskew.storage.files import hash_files

LEVEL = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class Finding:
    """A score and its change since the reference date, with intervals; the mean over several draws of a view."""

    # The score.
    value: float
    low: float
    high: float
    effective_pairs: float  # how many equally weighted pairs would tell as much
    # The score minus that of the reference date; the interval pairs the users of both.
    change: float
    change_low: float
    change_high: float
    # How many draws there were, and the standard deviation of the score over them; None of one draw.
    draws: int = 1
    spread: float | None = None

    @property
    def is_gain(self) -> bool:
        """Whether the score rose by more than chance would explain."""
        return self.change_low > 0


def average(draws: Sequence[Finding]) -> Finding:
    """The mean of the findings of several draws.

    Limits are averaged too: draws differ in what they leave out, but their users are the same, so that more of
    them do not make a score surer of these.
    """
    if len(draws) == 1:
        return draws[0]
    names = [name for name in Finding.__dataclass_fields__ if name not in ("draws", "spread")]
    means = {name: float(np.mean([getattr(draw, name) for draw in draws])) for name in names}
    return Finding(**means, draws=len(draws), spread=float(np.std([draw.value for draw in draws], ddof=1)))


class ScoredLog:
    """A log, or a view of one, at the date of the evaluation.

    `before` is the reference date in the world without recommendations. Since there were none by then, it is the
    same under every view, and ranked once.
    """

    def __init__(self, log: Log, case: Case, now: RankedDate, before: RankedDate, seconds: float = 0.0) -> None:
        self._case = case
        self._now, self._before = now, before
        self._reference = Snapshot.of(log, case.before)
        self._weights: dict[PairWeights, tuple[Weights, Weights]] = {}
        self._findings: dict[tuple[str, Metric, PairWeights], Finding] = {}
        self._seconds: dict[Any, float] = {"view": seconds}

    def find(self, name: str, metric: Metric, weights: PairWeights) -> Finding:
        """The score of a recommender; computed once."""
        key = (name, metric, weights)
        if key not in self._findings:
            now_weights, before_weights = self._weigh(weights)
            score = self._now.ranks(name).score(metric, now_weights)
            places = number_users(self._now.snapshot, self._before.snapshot)
            before = self._before.ranks(name).units(metric, before_weights)
            change = Difference.of(self._now.ranks(name).units(metric, now_weights), before, places)
            limits = change.estimate(LEVEL).interval
            figures = (score.value, score.low, score.high, score.effective_pairs)
            self._findings[key] = Finding(*figures, change.value, *limits)
        return self._findings[key]

    def units(self, name: str, metric: Metric, weights: PairWeights) -> Units:
        """The users behind a score."""
        return self._now.ranks(name).units(metric, self._weigh(weights)[0])

    def seconds(self, name: str, weights: PairWeights) -> float:
        """How long it took to make the view and the weights, and to rank."""
        return self._seconds["view"] + self._seconds.get(weights, 0.0) + self._now.seconds.get(name, 0.0)

    def _weigh(self, weights: PairWeights) -> tuple[Weights, Weights]:
        """The weights of now and those of the reference date; made once."""
        if weights not in self._weights:
            began = time.perf_counter()
            now_weights = weights.make(self._now.snapshot, self._reference, self._case)
            self._seconds[weights] = time.perf_counter() - began
            self._weights[weights] = (now_weights, weights.make_before(self._before.snapshot, self._case))
        return self._weights[weights]


PUSHED, UNPUSHED = "g1", "g2"
"""The five items that were recommended most, and the five most frequent of those recommended least."""

CONTESTANTS = {
    PUSHED: PUSHED,
    UNPUSHED: UNPUSHED,
    "popular": "popular",
    "cosine": "knn?neighbours=50",
    "co-occurrence": "knn?neighbours=200&similarity=cooccurrence",
    "ease": "ease?l2=500",
    "als": "als?factors=32",
    **{name: name for name in VERSIONS},
}
"""Those that are scored if none are named, by the names that they have in results."""

_LENGTH = 5  # of the constant lists

Contestant = Recommender | str
"""A recommender, or the name of one that a case makes: a list or a content model."""

Lists = Mapping[str, Sequence[Any]]
"""The items of the constant lists of a case, by name."""


def find_contestants(recommenders: AnyRecommenders | None) -> dict[str, Contestant]:
    """Recommenders by the names that they have in results."""
    choice: Any = CONTESTANTS if recommenders is None else recommenders
    named: dict[Any, Any] = dict(choice) if isinstance(choice, Mapping) else {}
    if not isinstance(choice, Mapping):
        for contestant in [choice] if is_one_recommender(choice) else choice:
            if isinstance(contestant, str):
                label, spec = split_name(contestant)
                name, model = label or spec, CONTESTANTS.get(spec, spec)
            else:
                name, model = next(iter(name_recommenders([contestant]))), contestant
            if name in named:
                remedy = "give each once, or other names with NAME=SPEC"
                raise InputError(f"recommender {name!r} is given twice", remedy=remedy)
            named[name] = model
    special = (PUSHED, UNPUSHED, *VERSIONS)
    labels = {name: entry for name, entry in named.items() if isinstance(entry, str) and entry in special}
    models = {name: entry for name, entry in named.items() if name not in labels}
    models_by_name = name_recommenders(models) if models or not labels else {}
    return {name: labels.get(name) or models_by_name[name] for name in named}


def describe_contestant(name: str, contestant: Contestant) -> str:
    """What it is, in words that tell it apart; one that was read from files with a check sum of them."""
    files = () if isinstance(contestant, str) else traits_of(contestant).files
    return f"{name}: {contestant}" + (f" ({hash_files(files)})" if files else "")


def find_lists(contestants: Mapping[str, Contestant], case: Case) -> dict[str, list[Any]]:
    """The items of the constant lists of a case, of those lists that are scored."""
    wanted = {entry for entry in contestants.values() if isinstance(entry, str)} - {*VERSIONS}
    if not wanted:
        return {}
    most, least = case.rank_by_showing()
    pushed = most[:_LENGTH]
    unpushed = [item for item in least if item not in pushed][:_LENGTH]
    if not unpushed:
        raise InputError(
            f"people had {len(most)} items at {case.before.label}, too few for the lists {PUSHED} and {UNPUSHED}",
            remedy="give more users or items, or name other recommenders",
        )
    return {name: items for name, items in {PUSHED: pushed, UNPUSHED: unpushed}.items() if name in wanted}


def make_contestants(contestants: Mapping[str, Contestant], case: Case, lists: Lists) -> dict[str, Recommender]:
    """The recommenders, with constant lists and, if one of them is in production, the content models of a case."""
    special: dict[str, Recommender] = dict(case.models)
    for name, items in lists.items():
        known = case.truth.items.codes(items) >= 0  # nobody among other people may have an item of the list
        special[name] = Constant([item for item, has in zip(items, known, strict=True) if has] or items)
    models = {
        name: special[contestant] if isinstance(contestant, str) else contestant
        for name, contestant in contestants.items()
        if not isinstance(contestant, str) or contestant in special
    }
    if contestants and not models:
        raise InputError(
            f"no content model is in production in the world {case.label!r}, so that there is no "
            f"{' and no '.join(contestants)}",
            remedy="name other recommenders, or take the world 'twins'",
        )
    return models


class RankedDate:
    """One date of one log.

    A recommender that takes held-out pairs out of what it has learned does so; others are cross-fitted, so that no
    score is flattered by what the model has seen.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        models: Mapping[str, Recommender],
        metrics: Sequence[Metric],
        folds: int,
        seed: int,
    ) -> None:
        self.snapshot = snapshot
        self.seconds: dict[str, float] = {}
        self._models, self._metrics = models, metrics
        self._folds, self._seed = folds, seed
        self._ranks: dict[str, HeldOutRanks] = {}

    @cached_property
    def _exact(self) -> PairSelection:
        return PairSelection.of(self.snapshot)

    @cached_property
    def _folded(self) -> PairSelection:
        return PairSelection.of(self.snapshot, folds=self._folds, seed=self._seed)

    def ranks(self, name: str) -> HeldOutRanks:
        """Those of a recommender."""
        if name not in self._ranks:
            began = time.perf_counter()
            model = self._models[name]
            leaks = self._exact.held_out(model).kind == "profile"
            self._ranks[name] = rank_selection(model, self._folded if leaks else self._exact, self._metrics)
            self.seconds[name] = time.perf_counter() - began
        return self._ranks[name]


Pair = tuple[str, str]
"""Two recommenders, the truly better one first."""


@dataclass(frozen=True)
class Choice:
    """What is chosen by some estimates, and what that costs."""

    # The recommender with the best estimate, and the truly best.
    chosen: str
    best: str
    regret: float  # what is lost by the choice: the true score of the best minus that of the chosen one
    regret_share: float | None  # the same as a share of the true score of the best; None if that is 0


def kendall_tau(estimates: Mapping[str, float], ordered: Sequence[Pair]) -> float | None:
    """Kendall's tau over some pairs: the share in the true order minus the share in the reverse; None without any.

    A pair of equal estimates counts for neither.

    >>> kendall_tau({"a": 3.0, "b": 2.0, "c": 2.5}, [("a", "b"), ("b", "c"), ("a", "c")])
    0.3333333333333333
    """
    if not ordered:
        return None
    return float(np.mean([np.sign(estimates[better] - estimates[worse]) for better, worse in ordered]))


def choose_by(estimates: Mapping[str, float], truths: Mapping[str, float]) -> Choice:
    """The choice that estimates lead to; of equal ones the first.

    >>> choose_by({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 0.25})
    Choice(chosen='b', best='a', regret=0.25, regret_share=0.5)
    """
    chosen, best = (max(scores, key=lambda name: scores[name]) for scores in (estimates, truths))
    regret = truths[best] - truths[chosen]
    return Choice(chosen, best, regret, regret / truths[best] if truths[best] > 0 else None)


Row = dict[str, Any]


class ScoredCase:
    """A case with the ranks of its views and of its truth, each made when it is first asked for.

    Recommenders whose model cannot be freed of a held-out pair are cross-fitted in `folds`.
    """

    def __init__(
        self, case: Case, models: Mapping[str, Recommender], metrics: Sequence[Metric], *, folds: int
    ) -> None:
        self.case, self.models, self.metrics = case, models, metrics
        self._folds = folds
        self._before = self._rank(case.truth, case.before)
        self._truth = ScoredLog(case.truth, case, self._rank(case.truth, case.now), self._before)
        self._views: dict[View, list[ScoredLog]] = {}
        self._reports: dict[View, ViewReport | None] = {}
        self._orders: dict[tuple[Metric, PairWeights], list[Pair]] = {}

    def find_truth(self, name: str, metric: Metric, weights: PairWeights) -> Finding:
        """The truth of the question that these weights ask."""
        return self._truth.find(name, metric, weights.truth)

    def find_estimate(self, name: str, metric: Metric, method: Estimator) -> Finding:
        """What a method makes of the log."""
        draws = self._make_view(method.view)
        return average([draw.find(name, metric, method.weights) for draw in draws])

    def order(self, metric: Metric, weights: PairWeights) -> list[Pair]:
        """The pairs of recommenders whose true difference exceeds its paired interval, the better one first."""
        key = (metric, weights.truth)
        if key not in self._orders:
            units = {name: self._truth.units(name, metric, weights.truth) for name in self.models}
            self._orders[key] = []
            for a, b in combinations(self.models, 2):
                low, high = Difference.of(units[a], units[b]).estimate(LEVEL).interval
                if low > 0 or high < 0:
                    self._orders[key].append((a, b) if low > 0 else (b, a))
        return self._orders[key]

    def seconds(self, name: str, method: Estimator) -> float:
        """How long an estimate took, all of its draws, with what it shares with others."""
        return sum(draw.seconds(name, method.weights) for draw in self._make_view(method.view))

    def find_report(self, view: View) -> ViewReport | None:
        """What a view says about itself; None for the log as it is."""
        self._make_view(view)
        return self._reports[view]

    def _make_view(self, view: View) -> list[ScoredLog]:
        if view not in self._views:
            began = time.perf_counter()
            logs = view.make(self.case, self.models)
            self._reports[view] = logs[0].view_report
            took = (time.perf_counter() - began) / len(logs)
            moment = self.case.before if view.at_reference else self.case.now
            self._views[view] = [
                ScoredLog(log, self.case, self._rank(log, moment), self._before, took) for log in logs
            ]
        return self._views[view]

    def _rank(self, log: Log, moment: Moment) -> RankedDate:
        return RankedDate(Snapshot.of(log, moment), self.models, self.metrics, self._folds, self.case.seed)


def score_methods(scored: ScoredCase, methods: Iterable[Estimator]) -> tuple[list[Row], list[Row]]:
    """The rows of the methods whose needs are met, and one ranking for each method and metric."""
    rows: list[Row] = []
    ranking: list[Row] = []
    for method in methods:
        if not method.needs <= scored.case.facts:
            continue
        progress().stage(method.name)
        try:
            with warnings.catch_warnings():  # rows show what a method is worth, whatever it warns of
                warnings.simplefilter("ignore", UnskewWarning)
                scores = {
                    metric: [_score_recommender(scored, method, metric, name) for name in scored.models]
                    for metric in scored.metrics
                }
        except UnskewError as error:
            where = f"{scored.case.label}, seed {scored.case.seed}, {method.name}"
            raise error.with_context(where) from error
        for metric, method_rows in scores.items():
            rows += method_rows
            ranking.append(_rank_recommenders(scored, method, metric, method_rows))
    return rows, ranking


def score_truths(scored: ScoredCase, weights: Iterable[PairWeights]) -> list[Row]:
    """The true scores of a world under weights whose needs are met: weighting, recommender, metric, truth."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnskewWarning)
        return [
            {
                "weighting": question.name,
                "recommender": name,
                "metric": metric.name,
                "truth": scored.find_truth(name, metric, question).value,
            }
            for question in weights
            if scored.case.facts.issuperset(question.needs)
            for metric in scored.metrics
            for name in scored.models
        ]


def _score_recommender(scored: ScoredCase, method: Estimator, metric: Metric, name: str) -> Row:
    estimate = scored.find_estimate(name, metric, method)
    raw = scored.find_estimate(name, metric, Estimator("raw", ALL, RAW))
    truth = scored.find_truth(name, metric, method.weights)
    view = scored.find_report(method.view)
    return {
        **_identify(scored, method, metric),
        "recommender": name,
        "estimate": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "raw": raw.value,
        "raw_low": raw.low,
        "raw_high": raw.high,
        "truth": truth.value,
        "error": estimate.value / truth.value - 1 if truth.value != 0 else None,
        "bias_removed": find_bias_removed(estimate.value, raw, truth.value),
        "effective_pairs": estimate.effective_pairs,
        "trusted": None if view is None else view.is_trusted_for(name),
        "draws": estimate.draws,
        "spread": estimate.spread,
        "change": estimate.change,
        "change_low": estimate.change_low,
        "change_high": estimate.change_high,
        "true_change": truth.change,
        "gain": truth.is_gain,
        "gain_seen": estimate.is_gain,
        "seconds": scored.seconds(name, method),
    }


def find_bias_removed(estimate: float, raw: Finding, truth: float) -> float | None:
    """The share of the raw bias that an estimate is free of; None if the raw score may have none."""
    if raw.low <= truth <= raw.high or raw.value == truth:
        return None
    return 1 - abs(estimate - truth) / abs(raw.value - truth)


def _rank_recommenders(scored: ScoredCase, method: Estimator, metric: Metric, rows: Sequence[Row]) -> Row:
    estimates = {row["recommender"]: row["estimate"] for row in rows}
    truths = {row["recommender"]: row["truth"] for row in rows}
    ordered = scored.order(metric, method.weights)
    choice = choose_by(estimates, truths)
    gains = [row["gain"] for row in rows]
    view = scored.find_report(method.view)
    return {
        **_identify(scored, method, metric),
        "tau": kendall_tau(estimates, ordered),
        "pairs": len(ordered),
        "regret": choice.regret,
        "regret_share": choice.regret_share,
        "chosen": choice.chosen,
        "best": choice.best,
        "trusted": None if view is None else view.trusted,
        "placebo": None if view is None or view.placebo is None else view.placebo["value"],
        "gains": sum(gains),
        "gains_seen": sum(row["gain"] and row["gain_seen"] for row in rows),
        "gains_false": sum(row["gain_seen"] and not row["gain"] for row in rows),
    }


def _identify(scored: ScoredCase, method: Estimator, metric: Metric) -> Row:
    names = {"method": method.name, "view": method.view.name, "weighting": method.weights.name}
    world = {"world": scored.case.label, "seed": scored.case.seed}
    return {**world, **names, "knows": method.knows, "metric": metric.name}
