"""Verdicts: whether a recommender is better than another, whatever recommendations did to the log.

The question: both models trained and tested on the log as it would be without recommendations since the reference
date. How much of the log these caused is not known, so the difference is computed in several *scenarios*: as
logged, if they caused nothing; and for each stand-in for production, without part of what interactions since then
agree more with it than before. The *range* goes from the lowest lower limit to the highest upper limit. Knowledge
about the recommendations narrows it to its own interval if it passed its test on this log; a known induced share
narrows it to scenarios in which stand-ins caused that share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module  # results know how they look by the name of a module alone
from typing import Any, Literal

from unskew.evaluation.changes import Part
from unskew.evaluation.intervals import holm
from unskew.text import percent, short_percent, show_range, to_json_value

Decision = Literal["better", "worse", "no clear difference", "undecided"]

AS_LOGGED = "as logged"
"""The scenario in which recommendations caused nothing."""


@dataclass(frozen=True)
class Scenario:
    """The difference of two recommenders if one assumption about the recommendations holds."""

    name: str  # what is assumed, in a few words
    view: str  # the view of the log on which both were scored
    difference: Part  # recommender minus baseline, in units of the metric
    relative: Part | None = None  # the same as a share of the score of the baseline; None if that is 0
    # How much of the interactions since the reference date recommendations caused in this scenario; None if the
    # view does not say.
    induced_share: Part | None = None
    # What the same estimate finds before anything was recommended, as in `ViewReport`; None without one.
    placebo: dict[str, Any] | None = None
    # Whether the assumption passed its test on this log, or the user knows the induced share.
    trusted: bool = False
    p: float = math.nan  # of no difference
    stand_in: str | None = None  # what stands for production; None if nothing does

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: value for name, value in asdict(self).items() if name not in ("p", "stand_in")}


@dataclass(frozen=True)
class Verdict:
    """Whether a recommender beats another one offline.

    Attributes
    ----------
    recommender, baseline, metric
        Who is compared with whom, and by what.
    decision
        ``better`` or ``worse``: the range lies on one side of 0. ``no clear difference``: every scenario includes
        0. ``undecided``: anything else.
    low, high
        The range, in units of the metric: the hull of the intervals of the trusted scenarios if there is one, else
        of all.
    scenarios
        The difference under each assumption; the first one is ``as logged``.
    conditional
        Whether the verdict holds only if nothing was recommended before the reference date.
    assumption
        What has to be true, in a clause.
    reason
        Why it was decided in this way, in a sentence.
    next_steps
        Commands that would settle what is undecided.
    tipping_share
        The smallest induced share at which the interval of a scenario no longer lies on the side of 0 that the log
        shows; None if that shows none, or if no scenario changes it.
    score, score_baseline
        Both scores as logged, under the same weights as the differences.
    users
        How many users both were scored on.
    level
        Of the intervals.
    since
        From when on recommendations may have shaped the log; None without a reference date.
    needs_complete_exposures
        Whether the range rests on an exposure log of which no test shows that it has everything.
    """

    recommender: str
    baseline: str
    metric: str
    decision: Decision
    low: float
    high: float
    scenarios: tuple[Scenario, ...]
    conditional: bool = True
    assumption: str = ""
    reason: str = ""
    next_steps: tuple[str, ...] = ()
    tipping_share: float | None = None
    score: float = math.nan
    score_baseline: float = math.nan
    users: int = 0
    level: float = 0.95
    since: Any = None
    needs_complete_exposures: bool = False

    @property
    def as_logged(self) -> Scenario:
        """The scenario in which recommendations caused nothing."""
        return self.scenarios[0]

    @property
    def most_induced(self) -> float:
        """The largest induced share of all scenarios."""
        shares = [scenario.induced_share.value for scenario in self.scenarios if scenario.induced_share]
        return max([0.0, *shares])

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        who, points = f"{self.recommender} and {self.baseline}", self._describe_range()
        if self.decision in ("better", "worse"):
            verb = "beats" if self.decision == "better" else "trails"
            return self._put_condition(f"{self.recommender} {verb} {self.baseline} offline: {points}")
        if self.decision == "no clear difference":
            missed = 100 * max(abs(self.low), abs(self.high))
            sentence = (
                f"no clear difference between {who}: {points}; one of up to {missed:.1f} points may be missed"
            )
            return self._put_condition(sentence)
        if math.isnan(self.low):
            return f"Undecided: {self.recommender} against {self.baseline}, {self.metric}"
        sentence = f"Undecided: {self.recommender} against {self.baseline} is {points}"
        return f"{sentence} if {self.condition}" if self.condition else sentence

    def __str__(self) -> str:
        return f"{self.headline}. {self.reason}."

    def _repr_html_(self) -> str:
        """The verdict in a notebook: the question, the answer, the range and the reason."""
        html: str = import_module("unskew.show.report_page").render_verdict(self)
        return html

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        verdict = {
            "recommender": self.recommender,
            "baseline": self.baseline,
            "metric": self.metric,
            "decision": self.decision,
            "range": {"low": self.low, "high": self.high},
            "scenarios": [scenario.to_dict() for scenario in self.scenarios],
            "conditional": self.conditional,
            "assumption": self.assumption,
            "reason": self.reason,
            "next_steps": list(self.next_steps),
            "tipping_share": self.tipping_share,
            "headline": self.headline,
            "score": self.score,
            "score_baseline": self.score_baseline,
            "users": self.users,
            "level": self.level,
            "since": self.since,
        }
        json_ready: dict[str, Any] = to_json_value(verdict)
        return json_ready

    def to_row(self) -> dict[str, Any]:
        """As a row of a table, without the scenarios."""
        row = self.to_dict()
        limits = row.pop("range")
        row.pop("scenarios")
        return {**row, "low": limits["low"], "high": limits["high"], "next_steps": "\n".join(self.next_steps)}

    def _describe_range(self) -> str:
        low, high = show_range(self.low, self.high)
        return f"{low} to {high} points {self.metric}".replace("−", "-")

    @property
    def condition(self) -> str:
        """What the verdict assumes and nothing tested, in a clause."""
        clauses = []
        if self.conditional and self.since is not None:
            clauses.append(f"nothing was recommended before {self.since}")
        if self.needs_complete_exposures:
            clauses.append("the exposure log is complete")
        return " and ".join(clauses)

    def _put_condition(self, sentence: str) -> str:
        if self.condition:
            return f"If {self.condition}, {sentence}"
        return sentence[0].upper() + sentence[1:] if sentence.startswith("no ") else sentence


def decide(scenarios: Sequence[Scenario], level: float) -> tuple[Decision, float, float]:
    """The decision that scenarios allow, and the range: the hull of the trusted ones if any, else of all."""
    trusted = [scenario for scenario in scenarios if scenario.trusted]
    counted = trusted or list(scenarios)
    lows = [scenario.difference.low for scenario in counted]
    highs = [scenario.difference.high for scenario in counted]
    if any(map(math.isnan, [*lows, *highs])):  # of which min and max may lose sight
        return "undecided", math.nan, math.nan
    low, high = min(lows), max(highs)
    if low > 0:
        return "better", low, high
    if high < 0:
        return "worse", low, high
    if all(scenario.difference.low <= 0 <= scenario.difference.high for scenario in counted):
        return "no clear difference", low, high
    return "undecided", low, high


def correct_for_several(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts with Holm's correction: of several, one may be decided by chance alone.

    The p-value of a verdict is the largest of the scenarios that its range is made of, since all must agree.
    """
    decided = [verdict for verdict in verdicts if verdict.decision in ("better", "worse")]
    if len(verdicts) < 2 or not decided:
        return list(verdicts)
    p_values = [_find_p_value(verdict) for verdict in verdicts]
    corrected = holm(p_values)
    return [
        verdict
        if verdict not in decided or p < 1 - verdict.level
        else replace(
            verdict,
            decision="undecided",
            reason=f"{len(verdicts)} comparisons were made, and of so many one like this may appear by "
            "chance: compare fewer at a time, or more users",
        )
        for verdict, p in zip(verdicts, corrected, strict=True)
    ]


def _find_p_value(verdict: Verdict) -> float:
    trusted = [scenario for scenario in verdict.scenarios if scenario.trusted]
    p_values = [scenario.p for scenario in trusted or verdict.scenarios]
    is_sure = verdict.decision in ("better", "worse")
    return max((p for p in p_values if not math.isnan(p)), default=1.0) if is_sure else 1.0


def find_tipping_share(scenarios: Sequence[Scenario]) -> float | None:
    """The smallest induced share at which the log's difference is no longer clear, if any; see `Verdict`.

    Between scenarios of the same stand-in, limits are interpolated in a straight line.
    """
    logged = scenarios[0].difference
    if not (logged.low > 0 or logged.high < 0):
        return None

    def distance(difference: Part) -> float:
        return difference.low if logged.low > 0 else -difference.high

    paths: dict[str, list[tuple[float, float]]] = {}
    for scenario in scenarios:
        if scenario.stand_in is not None and scenario.induced_share is not None:
            point = scenario.induced_share.value, distance(scenario.difference)
            paths.setdefault(scenario.stand_in, [(0.0, distance(logged))]).append(point)
    shares = []
    for path in paths.values():
        points = sorted(point for point in path if not math.isnan(point[1]))
        for (share, above), (next_share, below) in itertools.pairwise(points):
            if below <= 0:
                shares.append(share + (next_share - share) * above / (above - below))
                break
    return min(shares, default=None)


def show_share(share: tuple[float, float]) -> str:
    """A known induced share in words.

    >>> show_share((0.3, 0.3)), show_share((0.2, 0.4))
    ('30 %', '20 to 40 %')
    """
    low, high = share
    return short_percent(high) if low == high else f"{100 * low:.3g} to {short_percent(high)}"


def describe_reason(
    scenarios: Sequence[Scenario],
    decision: Decision,
    since: Any,
    most: float | None,
    *,
    share: tuple[float, float] | None = None,
    tip: str = "",
) -> str:
    """Why scenarios lead to a decision, in a sentence without its full stop.

    `most` is the share of the interactions since a date that the best stand-in for production explains; None if
    exposures tell what recommendations may have caused. `share` is what the user knows of it, `tip` what would
    change a difference that is clear as logged.
    """
    trusted = [scenario for scenario in scenarios if scenario.trusted]
    if share is not None:
        caused = f"recommendations caused {show_share(share)} of the interactions since {since}"
        sentence = f"This rests on your statement that {caused}"
        for view in trusted:
            if view.stand_in is None and view.name != AS_LOGGED:
                sentence += f", and on {view.name}, which passed its test on this log"
        return f"{sentence}. {tip} of these" if tip and decision == "undecided" else sentence
    if trusted and trusted[0].name == AS_LOGGED:
        return "Fixed lists are compared, which item weights make comparable"
    if trusted:
        return f"This rests on {trusted[0].name}, which passed its test on this log"
    if most is None:
        if decision == "undecided":
            return (
                "It depends on how much of what users were shown they would have found anyway: none of it to all"
            )
        return "This holds whether users would have found none or all of what they were shown by themselves"
    if most == 0:
        return f"No stand-in for production explains any of the interactions since {since}"
    largest = max((s.induced_share.value for s in scenarios if s.induced_share), default=most)
    caused = "all of it" if largest >= 1 else f"{percent(largest, 0)}, more than any of our stand-ins explains"
    if decision == "undecided" and tip:
        return f"{tip} of the log since {since}; scenarios go from none of it to {caused}"
    if decision == "undecided":
        return (
            f"It depends on how much of the log since {since} recommendations caused: from none of it to {caused}"
        )
    return f"This holds if recommendations caused none of the log since {since}, and if they caused {caused}"
