"""Verdicts as sections of a page: the answer with its range, what would settle it, and every scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unskew.drawing.charts import draw_ranges
from unskew.drawing.page import SIGNS, Section
from unskew.drawing.theme import adapt_chart
from unskew.evaluation.verdict import Verdict
from unskew.show.verdict_words import (
    TONES,
    answer_in_a_word,
    describe_answer,
    describe_basis,
    describe_scenario,
    list_counted,
    list_facts,
    list_requests,
)
from unskew.text import enumerate_words, percent, show_name, show_range, thousands

if TYPE_CHECKING:
    from unskew.evaluation.report import Report

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
        sections += [
            replace(
                make_card(verdict, about, _find_logged(report, verdict)), title=f"By {verdict.metric}", level=3
            )
            for verdict in others
        ]
    else:
        sections = [_summarize(verdicts, about)]
        sections.append(Section("", "", notes=_group_reasons(verdicts)))
    return [*sections, *_make_requests(verdicts)]


def _find_logged(report: Report, verdict: Verdict) -> dict[str, float]:
    """The scores that the team knows, by recommender: of the log as it is, without weights if there are any."""
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
    return Section(
        "",
        text,
        chart,
        status=answer_in_a_word(verdict),
        caption=caption,
        label=f"{answer} {caption}",
        adapts=True,
        facts=list_facts(verdict, f"{verdict.metric}{about}", logged),
    )


def describe_chart(verdict: Verdict) -> str:
    """How to read the chart of a range."""
    counted, scenarios = list_counted(verdict), verdict.scenarios
    parts = ["The bar is the range; the diamond is the difference if recommendations caused nothing."]
    if len(scenarios) > 1:
        ticks = f"Each mark is one of {len(scenarios)} assumptions about how much recommendations caused"
        share = f", from none to {percent(verdict.most_induced, 0)} of the interactions"
        parts.append(f"{ticks}{share if verdict.most_induced else ''}.")
    if len(counted) < len(scenarios):
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
            rows = [_write_scenario(verdict, k) for k in range(len(verdict.scenarios))]
            head = ["assumption", "caused", "points", "low", "high", "counts"]
            text = (
                "How far the two are apart under each assumption. The stand-ins are models that may resemble what "
                "made the recommendations; the excess is what interactions since the reference date agree more "
                "with them than before."
            )
            sections.append(Section(f"Assumptions: {title}", text, None, [head, *rows], level=3))
    return sections


def _is_one_pair(verdicts: Sequence[Verdict]) -> bool:
    return len({(verdict.recommender, verdict.baseline) for verdict in verdicts}) == 1


def _summarize(verdicts: Sequence[Verdict], about: str) -> Section:
    """Several verdicts: a range for each in one chart, and a line for each in a table."""
    metric = verdicts[0].metric
    drawn = [verdict for verdict in verdicts if verdict.metric == metric and not math.isnan(verdict.low)]
    several = len({verdict.metric for verdict in verdicts}) > 1
    rows = [
        [
            f"{SIGNS[TONES[verdict.decision]]} {verdict.decision}",
            _name(verdict, several=several),
            _write_range(verdict).replace(" ", "\N{NO-BREAK SPACE}"),
            _percent(verdict.score),
            _percent(verdict.score_baseline),
            thousands(verdict.users),
        ]
        for verdict in verdicts
    ]
    head = ["verdict", "comparison", "range, points", "v2", "v1", "users"]
    names: dict[str, list[str]] = {decision: [] for decision in TONES}
    for verdict in verdicts:
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
    return Section(
        "The verdicts",
        text,
        chart,
        [head, *rows],
        caption=caption,
        label=f"{text} {caption}",
        adapts=True,
        text_columns=2,
        anchor="answer",
        tone="verdict",
    )


def _group_reasons(verdicts: Sequence[Verdict]) -> list[str]:
    """Each reason once, with the recommenders that it is about."""
    about: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        about.setdefault(describe_basis(verdict), {})[show_name(verdict.recommender, 28)] = None
    return [f"{enumerate_words(list(names))}: {reason}" for reason, names in about.items() if reason]


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
    ranges = [
        {
            "name": _name_in_chart(verdict, len(baselines)) if several else "",
            "low": 100 * verdict.low,
            "high": 100 * verdict.high,
            "tone": TONES[verdict.decision],
            "shown": f"{_write_range(verdict)} points, {verdict.decision}",
        }
        for verdict in verdicts
    ]
    cases = [
        {
            "name": row["name"],
            "case": describe_scenario(scenario),
            "value": 100 * scenario.difference.value,
            "low": 100 * scenario.difference.low,
            "high": 100 * scenario.difference.high,
            "counts": any(scenario is one for one in list_counted(verdict)),
            "first": scenario is verdict.as_logged,
            "shown": f"{scenario.difference} points",
        }
        for row, verdict in zip(ranges, verdicts, strict=True)
        for scenario in verdict.scenarios
        if not math.isnan(scenario.difference.low)
    ]
    baseline, candidate = show_name(verdicts[0].baseline, 20), show_name(verdicts[0].recommender, 20)
    left, right = f"← {baseline} ahead", f"{candidate} ahead →"
    if several:
        left, right = f"← behind {baseline}", f"ahead of {baseline} →"
    if len(baselines) > 1:
        left, right = "← v1 ahead", "v2 ahead →"
    title = f"difference in {verdicts[0].metric}, points"
    return draw_ranges(ranges, cases, title=title, sides=(left, right))


def _write_scenario(verdict: Verdict, k: int) -> list[str]:
    scenario = verdict.scenarios[k]
    caused = scenario.induced_share
    share = "none" if k == 0 else "–" if caused is None else percent(caused.value, 0)
    difference = scenario.difference
    figures = ["–" if math.isnan(v) else _points(v) for v in (difference.value, difference.low, difference.high)]
    return [scenario.name, share, *figures, "yes" if any(scenario is c for c in list_counted(verdict)) else "no"]


def _name_in_chart(verdict: Verdict, baselines: int) -> str:
    """With one baseline, the sides of the chart name it."""
    return show_name(verdict.recommender, 24) if baselines == 1 else _name(verdict)


def _name(verdict: Verdict, *, several: bool = False) -> str:
    name = f"{show_name(verdict.recommender, 24)} vs {show_name(verdict.baseline, 24)}"
    return f"{name}, {verdict.metric}" if several else name


def _write_range(verdict: Verdict) -> str:
    return "–" if math.isnan(verdict.low) else " to ".join(show_range(verdict.low, verdict.high))


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else percent(value)


def _points(value: float) -> str:
    return f"{100 * value:+z.1f}".replace("-", "−")
