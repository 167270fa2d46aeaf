"""Verdicts as sections of a page, for people who do not run commands: the answer with its range, every scenario.

Commands are left to `Verdict.next_steps`; here each of them is what somebody has to bring.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unskew.drawing.charts import draw_ranges
from unskew.drawing.page import SIGNS, Fact, Section, Status
from unskew.drawing.theme import adapt_chart
from unskew.evaluation.verdict import AS_LOGGED, Decision, Scenario, Verdict
from unskew.show.report_words import percent_or_dash, points
from unskew.text import enumerate_words, percent, show_name, show_range, thousands

if TYPE_CHECKING:
    from unskew.evaluation.report import Report


TONES: dict[Decision, str] = {"better": "good", "worse": "bad", "no clear difference": "even", "undecided": "open"}
"""How each decision looks."""

EXPOSURES = (
    "An exposure log: who was shown what, and when (also called impressions). Most recommender services write "
    "one; ask the team that runs yours."
)
HOLDOUT = "A holdout group: the ids of users who are never shown recommendations. An experiment platform has them."
CAMPAIGNS = "The dates on which recommendations or campaigns ran, each with its start and its end."
LATER = (
    "A test on later interactions: make the lists from interactions before a date, and score them on what users "
    "did after it."
)
FOLDS = "A model that has not seen the test: it is fitted several times, each time without what it is tested on."
REFERENCE = (
    "A reference date: a day before which nothing was recommended, so that there is something to compare with."
)
FULL_CHECK = "The full check instead of a quick look. It needs no more data, only some minutes."
FEWER = "More users, or fewer models at a time: the more comparisons, the more likely one of them wins by chance."
MORE_USERS = "More users, or a longer time: what is known about the recommendations is used already."


def ask_question(verdicts: Sequence[Verdict]) -> str:
    """What verdicts answer.

    >>> from unskew.evaluation.verdict import Verdict
    >>> ask_question([Verdict("knn", "popular", "hit@5", "better", 0.01, 0.02, ())])
    'Did knn beat popular?'
    """
    candidates = list(dict.fromkeys(show_name(verdict.recommender, 28) for verdict in verdicts))
    baselines = list(dict.fromkeys(show_name(verdict.baseline, 28) for verdict in verdicts))
    if len(candidates) == 1:
        return f"Did {candidates[0]} beat {baselines[0]}?"
    if len(candidates) > 3:
        return f"Which of {len(candidates)} recommenders beat {enumerate_words(baselines)}?"
    return f"Did {enumerate_words(candidates)} beat {enumerate_words(baselines)}?"


def answer_in_a_word(verdict: Verdict) -> Status:
    """The decision as an answer to the question, with its condition."""
    answers: dict[Decision, str] = {
        "better": "Yes",
        "worse": f"No, {show_name(verdict.baseline, 28)} is ahead",
        "no clear difference": "No clear difference",
        "undecided": "Undecided",
    }
    condition = "" if verdict.decision == "undecided" or not verdict.condition else f", if {verdict.condition}"
    return Status(answers[verdict.decision] + condition, TONES[verdict.decision])


def describe_answer(verdict: Verdict) -> str:
    """The range in words; nothing about commands."""
    candidate, baseline = show_name(verdict.recommender, 28), show_name(verdict.baseline, 28)
    if math.isnan(verdict.low):
        return f"How far {candidate} is from {baseline} has no range."
    low, high = show_range(verdict.low, verdict.high)
    span = f"between {low} and {high} points {verdict.metric}"
    if verdict.decision in ("better", "worse"):
        side = "ahead of" if verdict.decision == "better" else "behind"
        return f"{candidate} is {side} {baseline} offline: {span}."
    if verdict.decision == "no clear difference":
        missed = 100 * max(abs(verdict.low), abs(verdict.high))
        return f"The difference is {span}. One of up to {missed:.1f} points may be missed; more users show less."
    if verdict.low > 0 or verdict.high < 0:
        return f"The difference is {span}, which is not enough to decide."
    condition = f", if {verdict.condition}" if verdict.condition else ""
    return (
        f"{candidate} may be up to {abs(100 * verdict.low):.1f} points behind {baseline} or up to "
        f"{100 * verdict.high:.1f} points ahead ({verdict.metric}){condition}."
    )


def describe_basis(verdict: Verdict) -> str:
    """Why it was decided so, and what would make it wrong."""
    reason = f"{verdict.reason}." if verdict.reason else ""
    if verdict.decision == "undecided":
        logged = verdict.as_logged.difference
        if math.isnan(logged.value) or logged.low <= 0 <= logged.high:
            return reason
        winner = "gain" if logged.value > 0 else "loss"
        return (
            f"{reason} Until this is settled, the {points(logged.value, 1)} points that the log shows are no "
            f"proof of a {winner}."
        )
    if verdict.conditional and verdict.since is not None:
        return (
            f"{reason} If something was recommended before {verdict.since}, this does not follow; an exposure log "
            "from the start or a holdout group would show it."
        )
    return reason


def list_requests(verdicts: Sequence[Verdict]) -> list[str]:
    """What somebody has to bring so that undecided verdicts can be decided, the most useful first."""
    requests: dict[str, None] = {}
    for verdict in verdicts:
        if verdict.decision != "undecided":
            continue
        requests |= dict.fromkeys(_explain_step(command, verdict) for command in verdict.next_steps)
        if not verdict.next_steps:
            requests[FEWER if verdict.low > 0 or verdict.high < 0 else MORE_USERS] = None
    return list(requests)


def list_facts(verdict: Verdict, about: str = "", logged: Mapping[str, float] | None = None) -> list[Fact]:
    """Both scores, the relative lift and the users; `logged` are the scores without item weights, by name."""

    def describe(name: str, text: str) -> str:
        value = (logged or {}).get(name)
        return text if value is None else f"{text}; {_score(value)} without weights"

    counted = list_counted(verdict)
    lifts = [scenario.relative for scenario in counted if scenario.relative is not None]
    main = next((scenario for scenario in counted if scenario.trusted), verdict.as_logged)
    v1, v2 = verdict.baseline, verdict.recommender
    facts = [
        Fact(f"v1: {show_name(v1, 28)}", _score(verdict.score_baseline), describe(v1, about)),
        Fact(f"v2: {show_name(v2, 28)}", _score(verdict.score), describe(v2, "on the same test set")),
    ]
    if main.relative is not None and not math.isnan(main.relative.value):
        span = ""
        if lifts and not any(math.isnan(lift.low) for lift in lifts):
            low, high = min(lift.low for lift in lifts), max(lift.high for lift in lifts)
            name = "of these two scores" if main.name == AS_LOGGED else main.name
            span = f"{name}; {_signed_percent(low)} to {_signed_percent(high)} over the range"
        facts.append(Fact("relative lift", _signed_percent(main.relative.value), span))
    facts.append(Fact("users", thousands(verdict.users), "whom both were scored on"))
    return facts


def list_counted(verdict: Verdict) -> list[Scenario]:
    """The scenarios that the range is made of."""
    trusted = [scenario for scenario in verdict.scenarios if scenario.trusted]
    return trusted or list(verdict.scenarios)


def describe_scenario(scenario: Scenario) -> str:
    """What a scenario assumes, in words: how much recommendations caused, if it says so."""
    if scenario.induced_share is None:
        return f"{scenario.name}: recommendations caused nothing" if scenario.name == AS_LOGGED else scenario.name
    return f"{percent(scenario.induced_share.value, 0)} caused by recommendations ({scenario.name})"


def _explain_step(command: str, verdict: Verdict) -> str:
    """What the person who runs a command needs for it."""
    if verdict.since is None and re.search(r" --reference \S+$", command):
        return REFERENCE
    if "quick look" in verdict.reason:
        return FULL_CHECK
    endings = {
        r" --exposures shown\.parquet$": EXPOSURES,
        r" --holdout never_shown\.csv( --production auto)?$": HOLDOUT,
        r" --campaign \S+$": CAMPAIGNS,
        r" --folds \d+$": FOLDS,
        r" --after \S+$|[?&]from=": LATER,
    }
    return next((text for ending, text in endings.items() if re.search(ending, command)), FULL_CHECK)


def _score(value: float) -> str:
    return percent(value) if 0 <= value <= 1 else f"{value:.4g}"


def _signed_percent(value: float) -> str:
    return f"{100 * value:+z.1f} %".replace("-", "−")


RUNNER = "For the person who runs it"
"""The title of what holds commands: all other text is for people who do not use a command line."""

_COMMANDS = 3


def verdict_sections(report: Report) -> list[Section]:
    """The first screen: one verdict with its range, or several beside each other; then what is asked for."""
    verdicts = report.verdicts
    if not verdicts:
        return []
    about = describe_test_set(report)
    if _is_one_pair(verdicts):
        first, *others = verdicts
        card = make_card(first, about, _find_logged(report, first))
        sections = [replace(card, title="The verdict", anchor="answer", tone="verdict")]
        for verdict in others:
            card = make_card(verdict, about, _find_logged(report, verdict))
            sections.append(replace(card, title=f"By {verdict.metric}", level=3))
    else:
        reasons: dict[str, dict[str, None]] = {}
        for verdict in verdicts:
            reasons.setdefault(describe_basis(verdict), {})[show_name(verdict.recommender, 28)] = None
        notes = [f"{enumerate_words(list(names))}: {reason}" for reason, names in reasons.items() if reason]
        sections = [_summarize(verdicts, about), Section("", "", notes=notes)]
    return [*sections, *_make_requests(verdicts)]


def _find_logged(report: Report, verdict: Verdict) -> dict[str, float]:
    if report.weights is None:
        return {}
    return {
        score.recommender: score.value
        for score in report.scores
        if (score.view, score.weighting, score.metric) == ("all", "raw", verdict.metric)
        and score.segment is None
        and str(score.at) == str(report.at)
    }


def make_card(verdict: Verdict, about: str = "", logged: Mapping[str, float] | None = None) -> Section:
    """One verdict: the answer, the range with its scenarios, both scores, and the reason."""
    answer = describe_answer(verdict)
    chart = None if math.isnan(verdict.low) else adapt_chart(_draw_ranges([verdict]))
    text = "\n\n".join(filter(None, (answer, describe_basis(verdict))))
    caption = describe_chart(verdict) if chart is not None else ""
    look: Any = {"caption": caption, "label": f"{answer} {caption}", "adapts": True}
    facts = list_facts(verdict, f"{verdict.metric}{about}", logged)
    return Section("", text, chart, status=answer_in_a_word(verdict), facts=facts, **look)


def describe_chart(verdict: Verdict) -> str:
    """How to read the chart of a range."""
    scenarios = verdict.scenarios
    parts = ["The bar is the range; the diamond is the difference if recommendations caused nothing."]
    if len(scenarios) > 1:
        ticks = f"Each mark is one of {len(scenarios)} assumptions about how much recommendations caused"
        share = f", from none to {percent(verdict.most_induced, 0)} of the interactions"
        parts.append(f"{ticks}{share if verdict.most_induced else ''}.")
    if len(list_counted(verdict)) < len(scenarios):
        parts.append("Rings do not count, since the verdict rests on what is known about the recommendations.")
    return " ".join(parts)


def describe_test_set(report: Report) -> str:
    """At which date both were scored, and how the items were weighted."""
    weighted = "" if report.weights is None else f", re-weighted to the item mix of {report.weights.reference}"
    return f" at {report.at}, log as it is{weighted}"


def detail_sections(report: Report) -> list[Section]:
    """Every comparison, if there are several, and every scenario of each as a table."""
    verdicts, sections = report.verdicts, []
    about = describe_test_set(report)
    for verdict in verdicts:
        title = _name(verdict, several=True)
        if not _is_one_pair(verdicts):
            sections.append(replace(make_card(verdict, about), title=title, level=3))
        if len(verdict.scenarios) > 1:
            rows = [["assumption", "caused", "points", "low", "high", "counts"]]
            for k, scenario in enumerate(verdict.scenarios):
                caused, difference = scenario.induced_share, scenario.difference
                share = "none" if k == 0 else "–" if caused is None else percent(caused.value, 0)
                figures = [points(v, 1) for v in (difference.value, difference.low, difference.high)]
                counts = any(scenario is counted for counted in list_counted(verdict))
                rows.append([scenario.name, share, *figures, "yes" if counts else "no"])
            text = (
                "How far the two are apart under each assumption. The stand-ins are models that may resemble what "
                "made the recommendations; the excess is what interactions since the reference date agree more "
                "with them than before."
            )
            sections.append(Section(f"Assumptions: {title}", text, None, rows, level=3))
    return sections


def _is_one_pair(verdicts: Sequence[Verdict]) -> bool:
    return len({(verdict.recommender, verdict.baseline) for verdict in verdicts}) == 1


def _summarize(verdicts: Sequence[Verdict], about: str) -> Section:
    """Several verdicts: a range for each in one chart, and a line for each in a table."""
    metric = verdicts[0].metric
    drawn = [verdict for verdict in verdicts if verdict.metric == metric and not math.isnan(verdict.low)]
    several = len({verdict.metric for verdict in verdicts}) > 1
    rows = [["verdict", "comparison", "range, points", "v2", "v1", "users"]]
    names: dict[str, list[str]] = {decision: [] for decision in TONES}
    for verdict in verdicts:
        decision = f"{SIGNS[TONES[verdict.decision]]} {verdict.decision}"
        span = _write_range(verdict).replace(" ", "\N{NO-BREAK SPACE}")
        scores = map(percent_or_dash, (verdict.score, verdict.score_baseline))
        rows.append([decision, _name(verdict, several=several), span, *scores, thousands(verdict.users)])
        name = show_name(verdict.recommender, 28)
        names[verdict.decision].append(f"{name} ({verdict.metric})" if several else name)
    condition = max((verdict.condition for verdict in verdicts), key=len)
    text = " ".join(f"{key.capitalize()}: {enumerate_words(group)}." for key, group in names.items() if group)
    text += f" This holds if {condition}." if condition else ""
    chart = adapt_chart(_draw_ranges(drawn)) if drawn else None
    caption = (
        f"The difference in {metric}{about}. Bars are ranges, diamonds the difference if recommendations caused "
        "nothing, and other marks assumptions about how much they caused. A bar that crosses 0 shows no winner."
    )
    look: Any = {"caption": caption, "label": f"{text} {caption}", "adapts": True, "tone": "verdict"}
    return Section("The verdicts", text, chart, rows, text_columns=2, anchor="answer", **look)


def _make_requests(verdicts: Sequence[Verdict]) -> list[Section]:
    """What would settle what is undecided, in words and, in a box of their own, as commands."""
    requests = list_requests(verdicts)
    if not requests:
        return []
    text = "To decide this, bring one of these; the first helps most:" if len(requests) > 1 else "It needs:"
    sections = [Section("What would settle it", text, level=3, tone="answer", notes=requests)]
    commands = list(dict.fromkeys(command for verdict in verdicts for command in verdict.next_steps))
    if commands:
        sections.append(Section(RUNNER, "", level=3, tone="runner", code=commands[:_COMMANDS]))
    return sections


def _draw_ranges(verdicts: Sequence[Verdict]) -> Any:
    several, baselines = len(verdicts) > 1, {verdict.baseline for verdict in verdicts}
    ranges, cases = [], []
    for verdict in verdicts:
        name = ""
        if several:  # the sides name the baseline if all have one
            name = show_name(verdict.recommender, 24) if len(baselines) == 1 else _name(verdict)
        limits = {"low": 100 * verdict.low, "high": 100 * verdict.high}
        words = f"{_write_range(verdict)} points, {verdict.decision}"
        ranges.append({"name": name, **limits, "tone": TONES[verdict.decision], "shown": words})
        for scenario in verdict.scenarios:
            difference = scenario.difference
            if math.isnan(difference.low):
                continue
            cases.append(
                {
                    "name": name,
                    "case": describe_scenario(scenario),
                    **{key: 100 * getattr(difference, key) for key in ("value", "low", "high")},
                    "counts": any(scenario is counted for counted in list_counted(verdict)),
                    "first": scenario is verdict.as_logged,
                    "shown": f"{difference} points",
                }
            )
    baseline, candidate = show_name(verdicts[0].baseline, 20), show_name(verdicts[0].recommender, 20)
    left, right = f"← {baseline} ahead", f"{candidate} ahead →"
    if several:
        left, right = f"← behind {baseline}", f"ahead of {baseline} →"
    if len(baselines) > 1:
        left, right = "← v1 ahead", "v2 ahead →"
    title = f"difference in {verdicts[0].metric}, points"
    return draw_ranges(ranges, cases, title=title, sides=(left, right))


def _name(verdict: Verdict, *, several: bool = False) -> str:
    name = f"{show_name(verdict.recommender, 24)} vs {show_name(verdict.baseline, 24)}"
    return f"{name}, {verdict.metric}" if several else name


def _write_range(verdict: Verdict) -> str:
    return "–" if math.isnan(verdict.low) else " to ".join(show_range(verdict.low, verdict.high))
