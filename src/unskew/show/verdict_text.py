"""Verdicts for the terminal: the answer, the reason and the next step, then one compact table of scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unskew.evaluation.report import Report
from unskew.evaluation.score import Score, name_kind
from unskew.evaluation.verdict import Verdict

_STEPS = 2  # commands that are shown
_AS_LOGGED = ("all", "raw", None)


def list_verdict_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The answers in a few lines, what several have in common once; commands are indented."""
    for reason, several in itertools.groupby(verdicts, key=lambda verdict: verdict.reason):
        yield from (f"{verdict.headline}." for verdict in several)
        yield f"{reason}."
    conditional = (verdict for verdict in verdicts if verdict.decision != "undecided" and verdict.conditional)
    dates = dict.fromkeys(verdict.since for verdict in conditional if verdict.since is not None)
    for date in dates:
        yield (
            f"If recommendations shaped the log before {date}, this does not follow: give an exposure log from "
            f"the start, or a holdout group. If they did not, say so: --clean-before {date}."
        )
    commands = dict.fromkeys(command for verdict in verdicts for command in verdict.next_steps)
    if commands:
        yield "To settle it:"
        yield from (f"  {command}" for command in list(commands)[:_STEPS])


def make_score_table(report: Report) -> tuple[list[str], list[list[str]], int]:
    """The scores in the order baseline then, baseline now, recommenders now: head, rows, and columns of names.

    Beside the scores as logged stand the best others: of a view if there is one, re-weighted if they are. A view
    that is not trusted has no interval there, which would seem to hold the truth.
    """
    kinds = dict.fromkeys((score.view, score.weighting, score.top) for score in report.scores)
    best = max(kinds, key=lambda kind: (kind[0] != "all", kind[1] == "weighted"))
    columns = list(dict.fromkeys([_AS_LOGGED, best]))
    rows = _order_rows(report)
    cells = {(*_find_row(score), score.view, score.weighting, score.top): score for score in report.scores}
    named = {
        "recommender": True,
        "at": True,
        "metric": len({metric for _, _, metric, _ in rows}) > 1,
        "segment": any(segment is not None for *_, segment in rows),
    }
    head = [name for name, is_shown in named.items() if is_shown]
    left = len(head)
    for view, weighting, top in columns:
        interval = "95 % interval" if report.level == 0.95 else f"{report.level:g} interval"
        head += [name_kind(weighting, top, view), interval]
    table = []
    for row in rows:
        names = zip(row, named.values(), strict=True)
        texts = [name or "all" for name, is_shown in names if is_shown]
        scores = [cells.get((*row, *column)) or _find_then(report, cells, row, column[0]) for column in columns]
        table.append(texts + [text for score in scores for text in _show(score)])
    return head, table, left


def is_of_untrusted_view(score: Score) -> bool:
    """Whether a view was to remove bias from a score and did not earn trust: bias may exceed its interval."""
    return score.view != "all" and score.biased


def _order_rows(report: Report) -> list[tuple[str, str, str, str | None]]:
    """Recommender, date, metric and segment of each row: v1 then, v1 now, v2 now, and segments behind them."""
    baselines = [verdict.baseline for verdict in report.verdicts]
    rows = dict.fromkeys(map(_find_row, report.scores))
    metrics = list(dict.fromkeys(metric for _, _, metric, _ in rows))

    def sort_key(row: tuple[str, str, str, str | None]) -> tuple[int, bool, bool, bool]:
        recommender, at, metric, segment = row
        return metrics.index(metric), segment is not None, recommender not in baselines, at == str(report.at)

    return sorted(rows, key=sort_key)


def _find_then(report: Report, cells: Mapping[Any, Score], row: tuple[Any, ...], view: str) -> Score | None:
    """The score of a view at the reference date, whose own item mix needs no weights."""
    return None if view == "all" or row[1] == str(report.at) else cells.get((*row, view, "raw", None))


def _find_row(score: Score) -> tuple[str, str, str, str | None]:
    return score.recommender, str(score.at), score.metric, score.segment


def _show(score: Score | None) -> list[str]:
    if score is None:
        return ["", ""]
    figures: Sequence[float] = (score.value, score.low, score.high)
    if any(math.isnan(figure) for figure in figures):
        return [_percent(score.value), ""]
    mark = "*" if score.too_few_hits else ""
    limits = f"{_percent(score.low)} to {_percent(score.high)}"
    if is_of_untrusted_view(score):
        limits = f"±{50 * (score.high - score.low):.2f} by chance"
    return [f"{_percent(score.value)}{mark}", limits]


def _percent(value: float) -> str:
    return f"{100 * value:z.2f} %"
