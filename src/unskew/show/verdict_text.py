"""Verdicts for the terminal: the answer, the reason and the next step, then one compact table of scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from unskew.evaluation.report import Report
from unskew.evaluation.score import Score
from unskew.evaluation.verdict import Verdict

_STEPS = 2  # commands that are shown


def list_verdict_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The answers in a few lines, what several have in common once; commands are indented."""
    for reason, several in itertools.groupby(verdicts, key=lambda verdict: verdict.reason):
        yield from (f"{verdict.headline}." for verdict in several)
        yield f"{reason}."
    dates = dict.fromkeys(verdict.since for verdict in verdicts if _is_conditional(verdict))
    for date in dates:
        yield (
            f"If recommendations shaped the log before {date}, this does not follow: give an exposure log from "
            f"the start, or a holdout group. If they did not, say so: --clean-before {date}."
        )
    commands = dict.fromkeys(command for verdict in verdicts for command in verdict.next_steps)
    if commands:
        yield "To settle it:"
        yield from (f"  {command}" for command in list(commands)[:_STEPS])


def _is_conditional(verdict: Verdict) -> bool:
    return verdict.decision != "undecided" and verdict.conditional and verdict.since is not None


def make_score_table(report: Report) -> tuple[list[str], list[list[str]]]:
    """The scores in the order baseline then, baseline now, recommenders now: a row for each, and the head."""
    views = [score.view for score in report.scores if score.view != "all"]
    columns = [("all", "raw", "as logged")]
    if any(score.weighting == "weighted" for score in report.scores):
        view = views[0] if views else "all"
        columns.append((view, "weighted", "re-weighted" if view == "all" else f"{view}, re-weighted"))
    elif views:
        columns.append((views[0], "raw", views[0]))
    cells = {
        (score.metric, score.recommender, str(score.at), score.view, score.weighting): score
        for score in report.scores
        if score.segment is None and score.top is None
    }
    keys = _order_rows(report)
    several = len({metric for metric, _, _ in keys}) > 1
    head = ["recommender", "at", *(["metric"] if several else [])]
    for _, _, title in columns:
        head += [title, "95 % interval" if report.level == 0.95 else f"{report.level:g} interval"]
    rows = []
    for metric, recommender, at in keys:
        row = [recommender, at, *([metric] if several else [])]
        for view, weighting, _ in columns:
            row += _show(cells.get((metric, recommender, at, view, weighting)))
        rows.append(row)
    return head, rows


def has_few_hits(report: Report) -> bool:
    """Whether a score of the table is marked with a star."""
    return any(score.too_few_hits for score in report.scores)


def _order_rows(report: Report) -> list[tuple[str, str, str]]:
    """Metric, recommender and date of each row: v1 then, v1 now, v2 now."""
    baselines = [verdict.baseline for verdict in report.verdicts]
    rows = dict.fromkeys((score.metric, score.recommender, str(score.at)) for score in report.scores)
    metrics = list(dict.fromkeys(metric for metric, _, _ in rows))

    def sort_key(row: tuple[str, str, str]) -> tuple[int, bool, bool]:
        metric, recommender, at = row
        return metrics.index(metric), recommender not in baselines, at == str(report.at)

    return sorted(rows, key=sort_key)


def _show(score: Score | None) -> list[str]:
    if score is None:
        return ["", ""]
    figures: Sequence[float] = (score.value, score.low, score.high)
    if any(math.isnan(figure) for figure in figures):
        return [_percent(score.value), ""]
    mark = "*" if score.too_few_hits else ""
    return [f"{_percent(score.value)}{mark}", f"{_percent(score.low)} to {_percent(score.high)}"]


def _percent(value: float) -> str:
    return f"{100 * value:z.2f} %"
