"""The page of a log: a report at one date, a timeline up to it, the sizes of profiles, and how all were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.data.log import Log
from unskew.data.saved_log import fingerprint_log
from unskew.data.slice import Slice, Snapshot
from unskew.data.times import PER_SECOND, Label, Moment, Windows
from unskew.drawing.charts import draw_share_groups
from unskew.drawing.page import Line, Section, Toggles
from unskew.drawing.theme import BLUE, GREY, Stroke, adapt_chart
from unskew.errors import EmptyError, InputError, option, warn
from unskew.evaluation.evaluate_report import report
from unskew.evaluation.ranking import RankMemory, remembering_ranks
from unskew.evaluation.report import Report
from unskew.evaluation.selection_options import write_duration
from unskew.over_time.timeline import timeline
from unskew.over_time.timeline_page import metrics_of, recommenders_of
from unskew.over_time.timeline_spec import grid_of
from unskew.over_time.timeline_table import Timeline
from unskew.progress import progress
from unskew.recommend.calls import LogSize, estimate_cost
from unskew.recommend.contract import Recommender, traits_of
from unskew.recommend.specs import AnyRecommenders, name_recommenders
from unskew.show.report_page import ReportPage
from unskew.show.report_sections import made_section, moved_section
from unskew.text import count, enumerate_words, percent, thousands
from unskew.weights.alignment import is_date
from unskew.weights.drift import Drift, drift


def profile_section(before: Slice | None, now: Slice) -> Section:
    """The sizes of profiles as shares of users; those of one item alone can only be held out whole."""
    dates = [*([] if before is None else [before]), now]
    names = [str(part.at) for part in dates]
    strokes = dict(zip(names, [Stroke(GREY), Stroke(BLUE)][-len(dates) :], strict=True))
    largest = max(int(part.sizes().max(initial=1)) for part in dates)
    rows: list[dict[str, Any]] = []
    sentences = []
    for part, name in zip(dates, names, strict=True):
        sizes = part.sizes()
        sizes = sizes[sizes > 0]
        median, single = count(round(float(np.median(sizes))), "item"), float((sizes == 1).mean())
        sentences.append(
            f"On {part.at}: {thousands(len(sizes))} users; median {median}, mean {sizes.mean():.1f}; "
            f"{percent(single, 1)} have only one."
        )
        for low, high in _list_classes(largest):
            users = int(((sizes >= low) & (sizes <= high)).sum())
            share = users / max(len(sizes), 1)
            label = str(low) if low == high else f"{thousands(low)}–{thousands(high)}"
            words = f"{percent(share)}, {thousands(users)} users"
            rows.append({"name": label, "group": name, "share": share, "shown": words})
    text = f"{' '.join(sentences)} The fewer items users have, the less any weighting can change."
    chart = adapt_chart(draw_share_groups(rows, strokes, title="share of users", across="items of a user"))
    key = Toggles("Dates", [Line(name, stroke.colour) for name, stroke in strokes.items()])
    return Section(
        "How many items users have", text, chart, anchor="profiles", label=text, adapts=True, toggles=[key]
    )


def _list_classes(largest: int) -> list[tuple[int, int]]:
    """1, 2, 3, 4 to 7, 8 to 15 and so on."""
    return [(1, 1), (2, 2), (3, 3), *((2**k, 2 ** (k + 1) - 1) for k in range(2, largest.bit_length()))]


ABOUT = 16
"""Dates of a chart: enough to see when something happened, few enough to wait for."""

WORTH_WAITING = 600.0
"""Seconds that fitting models for a chart may take, as far as can be told before; both ends are always there."""

_HOURS = (1, 2, 3, 6, 12)
_DAYS = (1, 2, 3, 5, 7, 10, 14, 21)


def thin_out(grid: Sequence[Moment], each: float) -> list[Moment]:
    """The dates that are worth waiting for if one takes `each` seconds, the first and the last among them.

    >>> from unskew.data.times import Moment
    >>> dates = [Moment(k, k) for k in range(300, 501, 10)]
    >>> [moment.label for moment in thin_out(dates, 150.0)], len(thin_out(dates, 1.0))
    ([300, 350, 400, 450, 500], 21)
    """
    steps = max(1, int(WORTH_WAITING // max(each, 1e-9)))
    if steps >= len(grid) - 1:
        return list(grid)
    return [grid[round(k * (len(grid) - 1) / steps)] for k in range(steps + 1)]


def choose_step(log: Log, start: Label, end: Label) -> int | float | str:
    """The step from one date to another that a person would take; as `timeline` takes it.

    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "b"], "item": [1, 2], "time": ["2024-01-31", "2026-05-20"]})
    >>> choose_step(log, "2024-01-31", "2024-02-10"), choose_step(log, "2024-02-01", "2026-05-20")
    ('1d', '2mo')
    >>> choose_step(us.simulate(users=50, items=20).log, 300, 500)
    12
    """
    first, last = (log.axis.moment(time).tick for time in (start, end))
    span = max(last - first, 0)
    if log.axis.kind == "float":
        return span / ABOUT or 1.0
    if not log.axis.is_calendar:
        return max(1, int(span) // ABOUT)
    days = span / (1 if log.axis.unit == "day" else 86_400 * PER_SECOND[log.axis.unit or "s"])
    wanted = days / ABOUT
    if wanted < 0.75 and log.axis.unit != "day":
        return f"{min(_HOURS, key=lambda hours: abs(hours - 24 * wanted))}h"
    if wanted < 26:
        return f"{min(_DAYS, key=lambda step: abs(step - wanted))}d"
    return f"{max(1, round(wanted / 30.4))}mo"


MOVED = 8
"""Items whose shares are followed over time."""

_SHARED = ("metric", "sample", "seed", "after", "leave_last_out", "level", "p_user", "p_item")
_FIT = ("tol", "max_passes", "new_items", "min_items", "users")


@dataclass(frozen=True, kw_only=True)
class LogPage:
    """What is known about some recommenders between two dates of a log."""

    # At the later date, and from the earlier one to it.
    report: Report
    timeline: Timeline
    log: Log  # what was scored: a view of a log, or all of it
    page: ReportPage  # both as a page


def make_log_page(
    log: Log,
    recommenders: AnyRecommenders,
    *,
    at: Any,
    reference: Any,
    every: Any = None,
    saved: Timeline | None = None,
    campaigns: Windows = (),
    names: Mapping[Any, str] | None = None,
    page_command: str = "",
    warnings: Sequence[str] = (),
    **options: Any,
) -> LogPage:
    """Score at a date and up to it, and put all of it on a page.

    - `log`: the log as it is; `knowledge` among the options says what of it is scored.
    - `recommenders`, `at`, `reference`: as for `report`; the reference is a date, or a marginal that has one.
    - `every`: the step of the timeline; by default one that gives about sixteen dates.
    - `saved`: a timeline that was computed before, instead of a new one.
    - `campaigns`: when something was recommended: marked in the charts.
    - `names`: what items are called.
    - `page_command`: the command that makes the page again.
    - `warnings`: a list to which others may still add: what was warned of on the way.
    - `**options`: as for `report`; those that `timeline` takes as well are given to both.
    """
    steps = 3 if saved is not None else 4
    progress().step(1, steps, "scores at both dates")
    memory = RankMemory()
    with remembering_ranks(memory):
        answer = report(log, recommenders, at=at, reference=reference, **options)
    view = log if answer.log is None else answer.log
    priors = {"p_user": options.get("p_user"), "p_item": options.get("p_item")}
    before = _find_reference(view, reference, options)
    then = _find_reference(log, reference, options)
    moved = drift(log.at(at, **priors), reference if then is None else then)
    if saved is not None:
        _compare_logs(saved, view)
        _compare_scores(saved, answer)
        series = saved
    else:
        progress().step(2, steps, "scores over time")
        memory.keeps = False  # the dates between are needed once
        with remembering_ranks(memory):
            series = _make_timeline(view, recommenders, at, reference, moved, every, options)
    progress().step(steps - 1, steps, "verdicts")
    with remembering_ranks(memory):
        _ = answer.verdicts
    progress().step(steps, steps, "drawing the page")
    page = ReportPage(
        report=answer,
        over_time=series.page_sections(campaigns=campaigns, names=names),
        moved=[moved_section(moved, names or {})],
        profiles=[profile_section(before, view.at(at, **priors))],
        made=[_describe_making(answer, view, int(options.get("seed", 0)), page_command)],
        warnings=warnings,
        names=names or {},
    )
    return LogPage(report=answer, timeline=series, log=view, page=page)


def _compare_logs(saved: Timeline, log: Log) -> None:
    """Warn of a timeline that was not computed from this log as it is now."""
    former = saved.options.get("log", {})
    if former.get("hash") != fingerprint_log(log)["hash"]:
        warn(
            f"the scores over time were computed from another log, or from this one when it ended at "
            f"{former.get('last')}: continue that timeline with {option('resume', True)}"
        )


def _compare_scores(saved: Timeline, answer: Report) -> None:
    """Warn of a timeline that shows other scores than the report beside it, or debiases them to another date."""
    parts = [
        ("recommenders", recommenders_of(saved), [score.recommender for score in answer.scores]),
        ("metrics", metrics_of(saved), [score.metric for score in answer.scores]),
        ("reference dates", [str(saved.options.get("reference"))], [str(answer.reference)]),
    ]
    if "(" in parts[-1][1][0]:  # a file, which is not told by its date
        parts.pop()
    other = [
        f"{noun} ({enumerate_words(in_series)} instead of {enumerate_words(list(dict.fromkeys(in_report)))})"
        for noun, in_series, in_report in parts
        if set(in_series) != set(in_report)
    ]
    if other:
        warn(
            f"the scores over time are those of other {enumerate_words(other)}: leave that timeline out to have "
            "them computed anew"
        )


def _find_reference(log: Log, reference: Any, options: Mapping[str, Any]) -> Snapshot | None:
    if isinstance(reference, Slice) or hasattr(reference, "probabilities"):
        return None
    return log.at(reference, p_user=options.get("p_user"), p_item=options.get("p_item"))


def _make_timeline(
    log: Log,
    recommenders: AnyRecommenders,
    at: Any,
    reference: Any,
    moved: Drift,
    every: Any,
    options: Mapping[str, Any],
) -> Timeline:
    now = log.at(at)
    models = {**_find_baseline(options.get("baseline")), **name_recommenders(recommenders)}
    held = log.items.codes(moved.items) >= 0
    items = [item for item, is_held in zip(moved.items.to_pylist(), held.tolist(), strict=True) if is_held][:MOVED]
    start = moved.reference
    if start is None:
        raise InputError("the reference has no date", remedy="give a date, from which scores are followed")
    grid = grid_of(log, start, now.at, choose_step(log, start, now.at) if every is None else every)
    if every is None:
        grid = _afford_dates(grid, models, now)
    shared = {name: options[name] for name in (*_SHARED, *_FIT) if options.get(name) is not None}
    dates = [moment.label for moment in grid]
    shared |= {"reference": reference, "dates": dates, "items": items}
    learns = not all(traits_of(model).constant for model in models.values())
    if learns and log.view == "all" and is_date(reference) and not options.get("quick"):
        try:
            return timeline(log, models, both_ends=True, **shared)
        except EmptyError:  # too little time before the reference date, which verdicts say
            pass
    return timeline(log, models, **shared)


def _find_baseline(baseline: Any) -> dict[str, Recommender]:
    """What ran at the reference date, if it can be scored at other dates as well: lists from a file cannot."""
    models = {} if baseline is None else name_recommenders(baseline)
    return {name: model for name, model in models.items() if not traits_of(model).external}


def _afford_dates(grid: list[Moment], by_name: Mapping[str, Recommender], now: Snapshot) -> list[Moment]:
    """The dates of the charts, fewer where fitting the recommenders at all of them would take too long."""
    models = list(by_name.values())
    each = estimate_cost(models, LogSize.of(now)).fit
    chosen = thin_out(grid, each)
    if len(chosen) < len(grid):
        warn(
            f"the charts over time have {count(len(chosen), 'date')} instead of {len(grid)}, since fitting "
            f"{enumerate_words([str(model) for model in models])} takes about {write_duration(each)} at each; "
            f"{option('every')} chooses more"
        )
    return chosen


def _describe_making(answer: Report, log: Log, seed: int, command: str) -> Section:
    fingerprint = fingerprint_log(log)
    data = ", ".join(f"{thousands(fingerprint[name])} {name}" for name in ("users", "items", "interactions"))
    rows = [
        ("data", f"{data}, from {fingerprint['first']} to {fingerprint['last']}"),
        ("fingerprint", str(fingerprint["hash"])),
        ("seed", str(seed)),
    ]
    return made_section(answer, rows, command)
