"""From a log and what is known about it to verdicts: scenarios are made, scored and put together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Protocol

from unskew.data.log import Log
from unskew.data.times import TimeWindow
from unskew.data.view_report import ViewReport
from unskew.evaluation.changes import Part
from unskew.evaluation.comparison import Comparison, compare
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.evaluation.metric import Metric, UserMetric
from unskew.evaluation.report import Report
from unskew.evaluation.verdict import (
    AS_LOGGED,
    Decision,
    Scenario,
    Verdict,
    correct_for_several,
    decide,
    describe_reason,
    find_tipping_share,
    show_share,
)
from unskew.progress import QuietSteps, progress, reporting
from unskew.recommend.contract import Recommender, traits_of
from unskew.text import enumerate_words, percent
from unskew.views.scenarios import FRACTIONS, Excesses, ScenarioView, find_excesses, list_shares
from unskew.weights.item_weights import ItemWeights

_FOLDS = 5  # that are proposed
_LATE = 0.15  # of the interactions since recommendations may have begun: more before the first exposure are many
_LEAST_GROWTH = 0.05  # of the interactions, beyond what scenarios remove: less may be chance
_AFTER = re.compile(r"--after[= ](\S+)")
_UNDATED = re.compile(r"'?((?:\w+=)?table:[^\s'?.]+)(\.[\w.]+)?'?(?=\s|$)")  # lists without a date, in a command
_DATES = re.compile(r" --(reference|at)[= ]\S+")
_QUICK = (1.0,)  # fractions of the excess that a quick look removes


class Scored(Protocol):
    """Two or more recommenders ranked on one view of a log."""

    @property
    def ranks(self) -> list[HeldOutRanks]:
        """Of each recommender."""

    @property
    def weights(self) -> ItemWeights | None:
        """To the item mix of the reference date."""


@dataclass(frozen=True)
class VerdictPlan:
    """What verdicts are made from."""

    log: Log  # the log as it is
    models: Mapping[str, Recommender]  # the recommenders by name, the baseline among them
    pairs: Sequence[tuple[str, str]]  # recommender and baseline of each verdict, by name
    metrics: Sequence[Metric]  # by which they are compared
    rank: Callable[[Log, Sequence[str]], Scored]  # ranks some of the recommenders, by name, on a view of the log
    since: Any  # the reference date; None without one
    until: Any  # the date of the evaluation
    clean_before: Any = None  # before this nothing was recommended, as the user says; None if nobody says so
    report: Report | None = None  # the report on the log, or on the view that the user's knowledge allows
    production: Recommender | None = None  # what the user takes for production, if that is a recommender
    protocol: str = "leave-one-out"  # how items are held out
    command: str = "unskew evaluate LOG"  # the command line up to now, to which next steps add options
    excesses: Excesses | None = None  # what recommendations may have caused, if that was estimated before
    organic: Callable[[], Log] | None = None  # gives the log without what was shown, if exposures are known
    # The ends of the share of the interactions since the date that recommendations caused, as the user says.
    induced_share: tuple[float, float] | None = None
    quick: bool = False  # whether to look at the log and at one stand-in only, which decides nothing
    level: float = 0.95  # of the intervals

    def find(self) -> list[Verdict]:
        """A verdict for each pair and metric, corrected for their number."""
        return correct_for_several(self.find_each())

    def find_each(self) -> list[Verdict]:
        """A verdict for each pair and metric, as if it were the only one."""
        if not self.pairs:
            return []
        logged = self.rank(self.log, _list_names(self.pairs))
        scored = {ranks.recommender: ranks for ranks in logged.ranks}
        pairs = [pair for pair in self.pairs if all(name in scored for name in pair)]
        leaks = {pair: _find_leak([scored[name] for name in pair]) for pair in pairs}
        scenarios: dict[tuple[str, str, str], list[Scenario]] = {}
        for pair, metric in product(pairs, self.metrics):
            first = self._make_scenario(logged, pair, metric, AS_LOGGED, "all")
            if self.report is not None and self._view is None:  # in which it has an interval already
                difference, p = _find_difference(self.report.comparisons, pair, metric)
                first = replace(first, difference=difference, p=p)
            trusted = all(scored[name].constant for name in pair)
            scenarios[*pair, metric.name] = [replace(first, trusted=trusted)]
        is_bounded = (self._knows_ends and self.induced_share is None) or all(leaks.values())
        excesses = self.excesses or (Excesses({}, {}) if is_bounded else self._find_excesses(scored))
        if self.organic is not None and self._view is not None and self._view.view != "organic":
            log = self.organic()
            ranked = self.rank(log, _list_names(pairs))
            share = _assume((len(self.log) - len(log)) / max(self._count_since(self.until), 1))
            for pair, metric in product(pairs, self.metrics):
                scenario = self._make_scenario(ranked, pair, metric, "without what was shown", log.view)
                scenarios[*pair, metric.name].append(replace(scenario, induced_share=share))
        for view in self._list_views(excesses):
            # not if a third one stands for production in the scenario
            concerned = [pair for pair in pairs if view.compared in (None, *pair) and not leaks[pair]]
            if not concerned:
                continue
            ranked, share = self.rank(view.log, _list_names(concerned)), _assume(view.share)
            for pair, metric in product(concerned, self.metrics):
                scenario = self._make_scenario(ranked, pair, metric, view.name, view.log.view)
                trusted = view.is_known and self._needs_share(pair)
                scenario = replace(scenario, induced_share=share, trusted=trusted, stand_in=view.stand_in)
                scenarios[*pair, metric.name].append(scenario)
        verdicts = []
        for pair, metric in product(pairs, self.metrics):
            several = self._trust_log(pair, scenarios[*pair, metric.name]) + self.list_known(pair, metric)
            verdicts.append(self._decide(pair, metric, several, scored, excesses, logged.weights))
        missing = [pair for pair in self.pairs if pair not in pairs]
        return verdicts + [self._refuse(*question, scored) for question in product(missing, self.metrics)]

    def _refuse(self, pair: tuple[str, str], metric: Metric, scored: Mapping[str, HeldOutRanks]) -> Verdict:
        """The verdict on two of which one has no score."""
        silent = enumerate_words([name for name in pair if name not in scored])
        nothing = Part(math.nan, math.nan, math.nan)
        return Verdict(
            recommender=pair[0],
            baseline=pair[1],
            metric=metric.name,
            decision="undecided",
            low=math.nan,
            high=math.nan,
            scenarios=(Scenario(AS_LOGGED, "all", nothing, None),),
            conditional=self.clean_before is None,
            assumption=self._describe_assumption(pair, ()),
            reason=f"{silent} cannot be scored, since none of its lists is valid when it is asked for",
            level=self.level,
            since=self.start,
        )

    @property
    def start(self) -> Any:
        """From when on recommendations may have shaped the log."""
        return self.since if self.clean_before is None else self.clean_before

    @property
    def _view(self) -> ViewReport | None:
        """What the user's knowledge allows; None without any, or if it is the log as it is."""
        view = None if self.report is None else self.report.view_report
        return None if view is None or view.view == "all" else view

    @property
    def _knows_ends(self) -> bool:
        """Whether the log as it is and the log without what was shown are the ends of the range.

        Not if more may have been recommended than the exposure log has: the test of the view shows it, or that log
        begins late.
        """
        if self.organic is None or self._view is None or self._view.test.startswith("failed"):
            return False
        return self._late_exposures is None

    @cached_property
    def _late_exposures(self) -> Any:
        """When the exposure log begins, if much happened before it since recommendations may have begun."""
        if self._view is None or self._view.exposures_from is None or self.start is None:
            return None
        begin = self._view.exposures_from
        return begin if self._count_since(begin) > _LATE * self._count_since(self.until) else None

    def _find_excesses(self, scored: Mapping[str, HeldOutRanks]) -> Excesses:
        if self.start is None or self._is_reversed:
            return Excesses({}, {}, "there is no earlier reference date")
        if all(ranks.constant for ranks in scored.values()):
            return Excesses({}, {})
        compared = {} if self.quick else {name: self.models[name] for name in scored}
        return find_excesses(
            self.log,
            self.start,
            self.until,
            compared=compared,
            production=self.production,
            only=1 if self.quick else None,
        )

    def _list_views(self, excesses: Excesses) -> Iterator[ScenarioView]:
        fractions = _QUICK if self.quick else FRACTIONS
        shares = () if self.induced_share is None else list_shares(*self.induced_share)
        total = len(excesses.thinnings) * len(shares or fractions)
        reporter = progress()
        reporter.begin("verdicts", total, "scenarios")
        with reporting(QuietSteps(reporter)):
            for view in excesses.list_views(fractions=fractions, shares=shares):
                yield view
                reporter.advance(1)

    def _make_scenario(
        self, ranked: Scored, pair: tuple[str, str], metric: Metric, name: str, view: str
    ) -> Scenario:
        by_name = {ranks.recommender: ranks for ranks in ranked.ranks}
        ranks, baseline = (by_name[recommender] for recommender in pair)
        weights = None if isinstance(metric, UserMetric) else ranked.weights
        difference, p = _find_difference(self._compare(ranks, baseline, metric, weights), pair, metric)
        score = _score(baseline, metric, ranked.weights)
        return Scenario(name, view, difference, _divide(difference, score), p=p)

    def _compare(
        self, ranks: HeldOutRanks, baseline: HeldOutRanks, metric: Metric, weights: ItemWeights | None
    ) -> list[Comparison]:
        return compare(ranks, baseline, metric=metric, weights=weights, level=self.level)

    def _needs_share(self, pair: tuple[str, str]) -> bool:
        """Whether a known share tells something: not about two fixed lists, nor about two external ones."""
        traits = [traits_of(self.models[name]) for name in pair]
        return not (all(each.constant for each in traits) or all(each.external for each in traits))

    def _trust_log(self, pair: tuple[str, str], scenarios: list[Scenario]) -> list[Scenario]:
        """The same scenarios; as logged is known as well if the known share may be 0."""
        if self.induced_share is None or not self._needs_share(pair):
            return scenarios
        low, high = self.induced_share
        is_known = low == 0 and (high == 0 or any(scenario.trusted for scenario in scenarios))
        return [replace(scenarios[0], trusted=is_known), *scenarios[1:]]

    def list_known(self, pair: tuple[str, str], metric: Metric) -> list[Scenario]:
        """The scenario of the user's knowledge, if there is any and it drops something."""
        report, view = self.report, self._view
        if report is None or view is None:
            return []
        difference, p = _find_difference(report.comparisons, pair, metric)
        scores = {
            score.recommender: score.value  # weighted ones come after raw ones
            for score in report.scores
            if (score.metric, score.view, str(score.at)) == (metric.name, view.view, str(report.at))
            and score.segment is None
        }
        trusted = all(
            traits_of(self.models[name]).constant or view.is_trusted_for(name, str(self.models[name]))
            for name in pair
        )
        share = view.dropped_pairs / max(self._count_since(self.until), 1)
        return [
            Scenario(
                f"the view {view.view}",
                view.view,
                difference,
                _divide(difference, scores.get(pair[1], math.nan)),
                _assume(share),
                view.placebo,
                trusted,
                p,
            )
        ]

    def _decide(
        self,
        pair: tuple[str, str],
        metric: Metric,
        scenarios: Sequence[Scenario],
        scored: Mapping[str, HeldOutRanks],
        excesses: Excesses,
        weights: ItemWeights | None,
    ) -> Verdict:
        decision, low, high = decide(scenarios, self.level)
        tipping_share = find_tipping_share(scenarios)
        problem = self._find_problem([scored[name] for name in pair], scenarios, excesses)
        if problem:
            decision, reason = "undecided", problem
        else:
            most = None if self._knows_ends else excesses.find_most(pair)
            share = self.induced_share if self._rests_on_share(pair, scenarios) else None
            tip = "" if tipping_share is None else self._describe_tip(pair, scenarios[0], tipping_share)
            reason = describe_reason(scenarios, decision, self.start, most, share=share, tip=tip)
            reason += self._describe_distrust(scenarios)
        assumption = self._describe_assumption(pair, scenarios)
        first, second = (_score(scored[name], metric, weights) for name in pair)
        return Verdict(
            recommender=pair[0],
            baseline=pair[1],
            metric=metric.name,
            decision=decision,
            low=low,
            high=high,
            scenarios=tuple(scenarios),
            conditional=self.clean_before is None,
            needs_complete_exposures=self._knows_ends and not any(each.trusted for each in scenarios),
            assumption=assumption,
            reason=reason,
            next_steps=tuple(self._list_steps(decision, [scored[name] for name in pair])),
            tipping_share=tipping_share,
            score=first,
            score_baseline=second,
            users=int(scored[pair[0]].score(metric).users),
            level=self.level,
            since=self.start,
        )

    def _find_problem(
        self, ranks: Sequence[HeldOutRanks], scenarios: Sequence[Scenario], excesses: Excesses
    ) -> str:
        """What forbids a decision, whatever the scenarios say; nothing if nothing does."""
        fixed = all(each.constant for each in ranks)
        known = any(scenario.trusted for scenario in scenarios)
        if self._is_reversed:
            return f"The reference date {self.since} is not before the date of the evaluation, {self.until}"
        leak = _find_leak(ranks, self.protocol)
        if leak:
            return leak
        if math.isnan(scenarios[0].difference.low):
            return "The difference as logged has no interval, since too few users can be compared"
        if self.quick:
            return "This was a quick look at the log and one stand-in for production, which never decides"
        if known or fixed:
            date = self.since if self.induced_share is None else self.start
            return "" if date is not None else "Without a reference date nothing says what was usual"
        if self.start is None:
            return "Without a reference date nothing tells what recommendations may have caused"
        if all(traits_of(self.models[each.recommender]).external for each in ranks):
            return (
                "Both lists are external, so that nothing tells what either would have been without the log's bias"
            )
        if excesses.problem:
            return f"What recommendations may have caused cannot be estimated: {excesses.problem}"
        if self.induced_share is not None:
            most = excesses.find_most((ranks[0].recommender, ranks[1].recommender))
            return (
                f"No stand-in for production explains so much: you state that recommendations caused "
                f"{show_share(self.induced_share)} of the interactions since {self.start}, and the best stand-in "
                f"explains {percent(most, 0)}, less than half of that. Name what was in production"
            )
        largest = max((each.induced_share.value for each in scenarios if each.induced_share), default=0.0)
        if excesses.growth > largest + _LEAST_GROWTH:
            return (
                f"Users do more since {self.start}: {percent(excesses.growth, 0)} of their interactions exceed "
                f"what was usual, and no scenario explains more than {percent(largest, 0)}. If recommendations "
                "caused the others, they were like none of our stand-ins"
            )
        return ""

    @property
    def _is_reversed(self) -> bool:
        """Whether the reference date is not before the date of the evaluation."""
        return self.since is not None and self.log.moment(self.since).tick >= self.log.moment(self.until).tick

    def _count_since(self, until: Any) -> int:
        """How many interactions of the log are after the reference date, up to another date."""
        first = -math.inf if self.start is None else self.log.moment(self.start).tick
        return int(((self.log.time > first) & (self.log.time <= self.log.moment(until).tick)).sum())

    def _describe_distrust(self, scenarios: Sequence[Scenario]) -> str:
        """Why what the user knows does not narrow the range; nothing if it does, or if nothing is known."""
        view = self._view
        if view is None or any(scenario.trusted for scenario in scenarios):
            return ""
        if view.tested:
            reason = "the two did not both pass a test of their own on it"
        elif "too noisy" in view.test:
            reason = "its test is too noisy"
        else:
            reason = "it failed its test" if "failed" in view.test else "it could not be tested"
        sentence = f". The view {view.view} does not narrow that: {reason}"
        if self._late_exposures is not None:
            sentence += (
                f". The exposure log begins at {self._late_exposures}, long after {self.start}: it lacks what was "
                "recommended in between"
            )
        return sentence

    def _rests_on_share(self, pair: tuple[str, str], scenarios: Sequence[Scenario]) -> bool:
        """Whether the known share is what the range rests on."""
        counts = any(each.trusted and (each.stand_in or each.name == AS_LOGGED) for each in scenarios)
        return self.induced_share is not None and self._needs_share(pair) and counts

    def _describe_tip(self, pair: tuple[str, str], logged: Scenario, share: float) -> str:
        ahead = pair[0] if logged.difference.value > 0 else pair[1]
        return f"{ahead} stays ahead unless recommendations caused more than {percent(share, int(share < 0.01))}"

    def _describe_assumption(self, pair: tuple[str, str], scenarios: Sequence[Scenario]) -> str:
        if self.start is None:
            return "recommendations did not shape the log"
        clauses = [f"nothing was recommended before {self.start}"]
        view = self._view
        if self.induced_share is not None and self._rests_on_share(pair, scenarios):
            share = show_share(self.induced_share)
            clauses.append(f"recommendations caused {share} of the interactions since then")
        known = [each for each in scenarios if each.trusted and not each.stand_in]
        if view is not None and view.assumption and any(each.view == view.view for each in known):
            clauses.append(view.assumption)
        elif self._knows_ends:
            clauses.append("the exposure log has everything that was recommended")
        return ", and ".join(clauses)

    def _list_steps(self, decision: Decision, ranks: Sequence[HeldOutRanks]) -> Iterator[str]:
        """Commands that would settle it, the most useful first."""
        from unskew.examining.next_commands import choose_dates  # with all that looks into a log: for advice alone

        if decision != "undecided":
            return
        if self._is_reversed:
            reference, at = choose_dates(self.log, self._likely_campaigns)
            yield f"{_DATES.sub('', self.command)} --reference {reference} --at {at}"
            return
        if any(each.held_out.kind in ("external", "profile") for each in ranks):
            if not any(each.held_out.kind == "external" for each in ranks):
                yield f"{self._full_command} --folds {_FOLDS}"
            yield self._hold_out_by_time()
            return
        if self.start is None:
            reference, _ = choose_dates(self.log, self._likely_campaigns)
            yield f"{self._full_command} --reference {reference}"
            return
        if self.quick:
            yield self._full_command
            return
        command = self.command
        if " --exposures " not in command and " --exposed " not in command:
            yield f"{command} --exposures shown.parquet"
        by_dates = self._view is not None and self._view.view in ("thinned", "outside")
        if by_dates and self.production is None and " --holdout " not in command:
            yield f"{command.replace(' --production auto', '')} --production SPEC"
        if " --campaign " not in command and self._likely_campaigns:
            yield command + "".join(f" --campaign {window}" for window in self._likely_campaigns)
        if self._late_exposures is not None and " --clean-before " not in command:
            yield f"{command} --clean-before {self._late_exposures}"
        if " --holdout " not in command:
            production = "" if " --production " in command else " --production auto"
            yield f"{command} --holdout never_shown.csv{production}"
        if " --campaign " not in command and not self._likely_campaigns and not by_dates:
            yield f"{command} --campaign START:END"

    @cached_property
    def _likely_campaigns(self) -> tuple[TimeWindow, ...]:
        """Since recommendations may have shaped the log; anything earlier is none, as the user says."""
        from unskew.examining.examination import find_campaigns

        first = -math.inf if self.start is None or self._is_reversed else self.log.moment(self.start).tick
        return tuple(window for window in find_campaigns(self.log)[0] if window.start > first)

    @property
    def _full_command(self) -> str:
        return self.command.replace(" --quick", "")

    def _hold_out_by_time(self) -> str:
        """The command for lists and models that may have seen what is held out: what came after a date."""
        from unskew.examining.next_commands import advise_protocol

        after = advise_protocol(self.log).after
        date = _AFTER.search(self.command)
        since = date[1] if date else "DATE" if after is None else str(after)
        if self.log.axis.is_calendar:
            since = since.split("T")[0]
        until = "" if date else f"_until_{since}"  # who holds out by time has lists from before that
        dated = _UNDATED.sub(rf"'\1{until}\2?from={since}'", self._full_command)
        return dated if date else f"{dated} --after {since}"


def _list_names(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Whom pairs are made of, baselines last: a third model then changes no sign, and so no bit of an interval."""
    recommenders, baselines = zip(*pairs, strict=True)
    return list(dict.fromkeys([*recommenders, *baselines]))


def _find_difference(
    comparisons: Sequence[Comparison], pair: tuple[str, str], metric: Metric
) -> tuple[Part, float]:
    """Recommender minus baseline, weighted if there are weights, and the p-value of no difference."""
    for comparison in reversed(comparisons):  # weighted ones come after raw ones
        if comparison.metric != metric.name or {comparison.a, comparison.b} != set(pair):
            continue
        value, low, high = comparison.difference, comparison.low, comparison.high
        if (comparison.a, comparison.b) != pair:
            value, low, high = -value, -high, -low
        return Part(value, low, high), comparison.p
    return Part(math.nan, math.nan, math.nan), math.nan


def _score(ranks: HeldOutRanks, metric: Metric, weights: ItemWeights | None) -> float:
    return float(ranks.score(metric, None if isinstance(metric, UserMetric) else weights).value)


def _assume(share: float) -> Part:
    """A share that a scenario assumes: it has no interval."""
    return Part(min(max(share, 0.0), 1.0), math.nan, math.nan)


def _divide(difference: Part, baseline: float) -> Part | None:
    if not baseline > 0:
        return None
    return Part(difference.value / baseline, difference.low / baseline, difference.high / baseline)


def _find_leak(ranks: Sequence[HeldOutRanks], protocol: str = "leave-one-out") -> str:
    """Why two scores cannot be compared: one of the models may know what was held out; nothing if neither does."""
    external = [each.recommender for each in ranks if each.held_out.kind == "external"]
    if external and protocol == "leave-one-out":
        return (
            f"The lists of {enumerate_words(external)} may come from a model that was trained on the held-out "
            "items: make them from interactions before a date, and hold out what came after it"
        )
    if external:
        return (
            f"The lists of {enumerate_words(external)} do not say from when they are, and may contain what "
            "has to be found: say it with ?from=DATE in the spec, or in a column of dates"
        )
    seen = [each.recommender for each in ranks if each.held_out.kind == "profile"]
    if seen:
        return (
            f"{enumerate_words(seen)} was fitted to the held-out items as well: fit it without them, in "
            "folds, or hold out what came after a date"
        )
    if len({each.held_out for each in ranks}) > 1:
        kinds = enumerate_words([f"{each.recommender}: {each.held_out}" for each in ranks])
        return f"The two were fitted without different things ({kinds}), so that scores cannot be compared"
    return ""
