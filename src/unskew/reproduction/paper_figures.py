"""The figures of the paper: for each its table, its chart and what it says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.optimize import minimize_scalar
from scipy.special import zeta

from unskew.drawing import theme
from unskew.drawing.theme import Label, Span, Stroke
from unskew.drawing.time_charts import level_rule, line_layer, mark_events, time_axis
from unskew.over_time.timeline_table import Timeline
from unskew.reproduction.figure import (
    ALL,
    RAW,
    RAW_COLOUR,
    Figure,
    describe_change,
    describe_changes,
    format_change,
    format_percent,
    weighting_name,
    weighting_strokes,
)
from unskew.reproduction.study import BOTH, DRAWS, LAST, NEVER, SECOND, Study
from unskew.text import enumerate_words, thousands

WIDTH, HEIGHT = 640, 330
SCORE = "score (hit@5): held-out items that are recommended"
GROUPS = {
    BOTH: Stroke(theme.GREEN, width=2.2),
    SECOND: Stroke(theme.PURPLE, (7, 3), 2.4),
    NEVER: Stroke(theme.GREY, (2, 2), 1.8),
}
DESCRIPTIONS = {
    "g1": "g1 gives everyone the five items that the campaigns recommended most",
    "g2": "g2 gives everyone the five most frequent of the items that were never recommended",
}


JUMP = 0.05
"""A curve jumps if it goes up and down by more than this part of its start from one day to the next."""


def items_table(timeline: Timeline, groups: Mapping[int, str]) -> pa.Table:
    """Figure 1: the raw probabilities of the items, with their group."""
    shares = {
        (row["item"], row["at"]): row["probability"]
        for row in timeline.probabilities.to_pylist()
        if row["weighting"] == RAW
    }
    return pa.Table.from_pylist(
        [
            {"at": at, "item": item, "group": group, "probability": shares[item, at]}
            for item, group in groups.items()
            for at in timeline.dates
        ]
    )


def draw_items(table: pa.Table, campaigns: Sequence[int]) -> Figure:
    """P_t(i) over time, one line for each item.

    - `table`: columns at, item, group (a key of GROUPS), probability.
    - `campaigns`: the days on which they began.
    """
    rows = sorted(table.to_pylist(), key=lambda row: (row["item"], row["at"]))
    span = theme.fit_span([row["probability"] for row in rows], HEIGHT, log=True)
    shares = theme.percent_axis(2, values=theme.log_ticks(span.low, span.high))
    y = alt.Y("probability:Q", title="P(i), share of the item mix (log scale)").scale(span.scale()).axis(shares)
    lines = line_layer(rows, GROUPS, "group", x=_make_day_axis(rows), y=y).encode(detail="item:N")
    days = [row["at"] for row in rows]
    first, last = min(days), max(days)
    ends = [row for row in rows if row["at"] == last]
    labels = [Label(row["probability"], f"item {row['item']}", GROUPS[row["group"]].colour) for row in ends]
    title = "Item probabilities before and after the campaigns"
    chart: Any = alt.layer(_mark_campaigns(campaigns), lines, theme.end_labels(labels, span, WIDTH))
    present = {group: stroke for group, stroke in GROUPS.items() if any(row["group"] == group for row in rows)}
    chart = alt.vconcat(_draw_key(present), chart.properties(width=WIDTH, height=HEIGHT), spacing=22)
    subtitle = "P(i): the chance that item i is the one held out"
    sentence = items_sentence(rows, first, last, campaigns)
    return Figure.of(1, "figure-1-item-mix", table, chart, title, subtitle, sentence)


def items_sentence(rows: list[dict[str, Any]], first: int, last: int, campaigns: Sequence[int]) -> str:
    """How far the probabilities of each group moved."""
    p = {(row["item"], row["at"]): row["probability"] for row in rows}
    parts = []

    def describe(items: list[int], start: int, end: int) -> str:
        return describe_changes([p[i, end] / p[i, start] - 1 for i in items])

    for group in GROUPS:
        items = list(dict.fromkeys(row["item"] for row in rows if row["group"] == group))
        if not items:
            continue
        which = f"item {items[0]}, {group}," if len(items) == 1 else f"the {len(items)} items {group}"
        words = describe(items, first, last)
        if group == SECOND and len(campaigns) > 1:
            middle = max((row["at"] for row in rows if row["at"] <= campaigns[1]), default=first)
            before, after = describe(items, first, middle), describe(items, middle, last)
            words = f"{before} until that campaign and {after} after it"
        parts.append(f"P(i) of {which} {words}")
    return f"From day {first} to day {last} {'; '.join(parts)}."


def _draw_key(strokes: dict[str, Stroke]) -> Any:
    rows, x = [], 0.0
    for name, stroke in strokes.items():
        rows.append({"x": x, "end": x + 30, "name": name, "colour": stroke.colour})
        x += 30 + 8 + 6.3 * len(name) + 26
    x_axis = alt.X("x:Q", axis=None).scale(domain=[0, WIDTH], nice=False)
    base = theme.plot(rows).encode(x=x_axis, y=alt.value(6), color=theme.colour_by("name", strokes))
    dash, stroke_width = theme.dash_by("name", strokes), theme.width_by("name", strokes)
    lines = base.mark_rule().encode(x2="end:Q", strokeDash=dash, strokeWidth=stroke_width)
    words = base.mark_text(align="left", dx=38, fontSize=12, baseline="middle").encode(text="name:N")
    return alt.layer(lines, words).properties(width=WIDTH, height=12)


def sizes_table(study: Study) -> pa.Table:
    """Figure 2: how many users hold so many items on the last day."""
    sizes, users = np.unique(study.log.at(LAST).sizes(), return_counts=True)
    keep = sizes > 0
    return pa.table({"items": sizes[keep], "users": users[keep]})


def draw_sizes(table: pa.Table) -> Figure:
    """How many items the profiles hold, and the power law that their tail follows.

    - `table`: columns items (the size of a profile), users (how many have it).
    """
    sizes, users = (table.column(name).to_numpy() for name in ("items", "users"))
    law = fit_power_law(sizes, users)
    middle, mean_users = bin_users(sizes, users)
    ends = np.array([law.start, sizes.max()])
    expected = law.expected_users(ends, int(users[sizes >= law.start].sum()))
    low, high = 0.5 * min([1.0, *mean_users, *expected]), 2.0 * max(users.max(), expected.max())
    numbers = theme.number_axis([10.0**k for k in range(-6, 9)], grid=True)
    x = alt.X("items:Q", title="items in the profile (log scale)").axis(numbers)
    x = x.scale(type="log", domain=[0.85, 1.3 * sizes.max()], nice=False)
    y = alt.Y("users:Q", title="users (log scale)").axis(numbers).scale(type="log", domain=[low, high], nice=False)
    points = theme.plot(table.to_pylist()).mark_point(filled=True, size=22, color=theme.INK, opacity=0.6)
    line = _plot_sizes(ends, expected).mark_line(color=RAW_COLOUR, strokeWidth=1.6, strokeDash=[6, 3])
    rings = _plot_sizes(middle, mean_users).mark_point(size=75, color=theme.BLUE, strokeWidth=1.8, fill="white")
    word_place = [ends[:1] ** 0.1 * ends[1:] ** 0.9, expected[:1] ** 0.1 * expected[1:] ** 0.9]
    look: dict[str, Any] = {"align": "right", "dx": -14, "dy": 10, "fontSize": 12.5, "fontWeight": "bold"}
    word = _plot_sizes(*word_place).mark_text(color=RAW_COLOUR, text=f"slope −{law.exponent:.2f}", **look)
    chart = alt.layer(points.encode(x=x, y=y, tooltip=["items:Q", "users:Q"]), line, rings, word)
    subtitle = (
        "Dots: sizes of profiles; rings: means over ranges of sizes; dashed: the likeliest power law of the tail"
    )
    chart = chart.properties(width=460, height=380)
    sentence = sizes_sentence(sizes, users, law)
    return Figure.of(2, "figure-2-items-per-user", table, chart, "Items per user", subtitle, sentence)


def _plot_sizes(sizes: npt.NDArray[Any], users: npt.NDArray[Any]) -> Any:
    rows = [{"items": float(size), "users": float(number)} for size, number in zip(sizes, users, strict=True)]
    return theme.plot(rows).encode(x="items:Q", y="users:Q")


def sizes_sentence(sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64], law: PowerLaw) -> str:
    """How many items users hold, and the law of the tail."""
    n = int(users.sum())
    order = np.argsort(sizes)
    half = int(sizes[order][np.searchsorted(users[order].cumsum(), n / 2)])
    share = format_percent(law.share, 0)
    tail = f"From {law.start} items on ({share} of the users)" if law.share < 1 else "Over all sizes"
    return (
        f"The {thousands(n)} users hold {(sizes * users).sum() / n:.2f} items on average; half of them hold at "
        f"most {half}, the fullest profile holds {thousands(int(sizes.max()))}. {tail} the number of users "
        f"falls about as the power −{law.exponent:.2f} of the number of items (seen and expected shares differ by "
        f"at most {format_percent(law.distance)})."
    )


LEAST_IN_TAIL = 50
MOST_STARTS = 60


@dataclass(frozen=True)
class PowerLaw:
    """P(size) proportional to size ** -exponent for sizes from `start` on."""

    exponent: float  # the most likely one
    start: int  # the size at which the tail starts
    # The largest difference between the shares of the tail up to a size, seen and expected (Kolmogorov-Smirnov).
    distance: float
    share: float  # the part of all users that is in the tail

    def expected_users(self, sizes: npt.NDArray[np.int64], users: int) -> npt.NDArray[np.float64]:
        """How many of `users` in the tail have each of the sizes."""
        return users / float(zeta(self.exponent, self.start)) * np.asarray(sizes, np.float64) ** -self.exponent


def fit_power_law(sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64]) -> PowerLaw:
    """The law of the tail that the data follow most closely (Clauset, Shalizi and Newman, 2009).

    For each start the exponent maximises the likelihood of whole numbers,
    ``-n log zeta(a, start) - a sum log size``; the start is the one with the smallest Kolmogorov-Smirnov distance
    among those that leave at least 50 users in the tail.

    Examples
    --------
    >>> import numpy as np
    >>> size = np.arange(1, 100_000)
    >>> law = fit_power_law(size, np.round(1e9 * size**-2.5).astype(int))
    >>> round(law.exponent, 2), law.start
    (2.5, 1)
    """
    order = np.argsort(sizes)
    sizes, users = np.asarray(sizes)[order], np.asarray(users)[order]
    in_tail = users[::-1].cumsum()[::-1]
    enough = sizes[(in_tail >= min(LEAST_IN_TAIL, in_tail[0])) & (sizes >= 1)]
    laws = [_fit_from(int(start), sizes, users) for start in enough[:MOST_STARTS]]
    return min(laws, key=lambda law: law.distance)


def _fit_from(start: int, sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64]) -> PowerLaw:
    tail = sizes >= start
    size, count = sizes[tail], users[tail]
    n, logs = count.sum(), float((count * np.log(size)).sum())

    def cost(a: float) -> float:
        return float(n * np.log(zeta(a, start)) + a * logs)

    exponent = float(minimize_scalar(cost, bounds=(1.01, 12.0), method="bounded").x)
    seen = count.cumsum() / n
    expected = 1 - zeta(exponent, size + 1.0) / zeta(exponent, start)
    return PowerLaw(exponent, start, float(np.abs(seen - expected).max()), float(n / users.sum()))


def bin_users(
    sizes: npt.NDArray[np.int64], users: npt.NDArray[np.int64], start: int = 10, factor: float = 1.5
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Users per size in bins that grow by `factor`: sizes in the middle of their bins, and means over each bin.

    Single counts say little where most sizes have no user at all; the mean over a bin counts these too.
    """
    edges, end = [start], max(int(sizes.max()), start) + 1
    while edges[-1] < end:
        edges.append(min(end, max(edges[-1] + 1, round(edges[-1] * factor))))
    bounds = np.array(edges)
    held, _ = np.histogram(sizes, bounds - 0.5, weights=users)
    filled = held > 0
    middle = np.sqrt(bounds[:-1] * (bounds[1:] - 1.0))
    return middle[filled], (held / np.diff(bounds))[filled]


def raw_table(weighted: pa.Table) -> pa.Table:
    """Figures 3 and 4: the rows of a weighted table without weights."""
    return weighted.filter(pc.equal(weighted["weighting"], RAW)).drop_columns("weighting")


def draw_score(table: pa.Table, campaigns: Sequence[int], *, number: int = 3, algorithm: str = "g1") -> Figure:
    """The raw score of a constant algorithm over time.

    - `table`: columns at; value, low, high (of the users drawn on that day); exact (of all pairs).
    - `campaigns`: the days on which they began.
    - `number`, `algorithm`: of the figure; a key of DESCRIPTIONS.
    """
    rows = sorted(table.to_pylist(), key=lambda row: row["at"])
    span = theme.fit_span([row[name] for row in rows for name in ("low", "high", "exact")], HEIGHT)
    base = theme.plot(rows).encode(x=_make_day_axis(rows))
    score = alt.Y("value:Q", title=SCORE).scale(span.scale()).axis(_make_score_axis(span))
    band = base.mark_area(color=RAW_COLOUR, opacity=0.13).encode(y="low:Q", y2="high:Q")
    dots = base.mark_point(filled=True, size=13, color=RAW_COLOUR, opacity=0.55).encode(y=score)
    line = base.mark_line(color=RAW_COLOUR, strokeWidth=2.4, strokeDash=[6, 3]).encode(y="exact:Q")
    start, end = rows[0], rows[-1]
    labels = [
        Label(end["exact"], f"raw {format_change(_find_change(rows))}", RAW_COLOUR, bold=True),
        Label(start["exact"], f"day {start['at']}: {format_percent(start['exact'], 2)}", theme.GREY),
    ]
    layers = (band, level_rule(start["exact"]), dots, line, theme.end_labels(labels, span, WIDTH))
    title = f"The raw score of {algorithm}, an algorithm that never changes"
    subtitle = (
        f"{DESCRIPTIONS.get(algorithm, algorithm)}. Line: all pairs; dots: {thousands(DRAWS)} users drawn each "
        f"day, with their 95 % intervals. {_mention_zero(span)}"
    )
    sentence = score_sentence(algorithm, rows, campaigns)
    chart = alt.layer(_mark_campaigns(campaigns), *layers).properties(width=WIDTH, height=HEIGHT)
    return Figure.of(number, f"figure-{number}-{algorithm}-raw", table, chart, title, subtitle, sentence)


def score_sentence(algorithm: str, rows: list[dict[str, Any]], campaigns: Sequence[int]) -> str:
    """How far the raw score moved, when, and whether the samples agree."""
    start, end = rows[0], rows[-1]
    held = sum(row["low"] <= row["exact"] <= row["high"] for row in rows)
    change = describe_change(_find_change(rows))
    before, after = (f"{format_percent(row['exact'], 2)} on day {row['at']}" for row in (start, end))
    return (
        f"{algorithm} recommends the same five items every day, yet its score {change}, from {before} to "
        f"{after}{_describe_timing(rows, campaigns)}; the intervals of {held} of the {len(rows)} samples hold the "
        "exact score."
    )


def _describe_timing(rows: list[dict[str, Any]], campaigns: Sequence[int], days: int = 30) -> str:
    """How much of the whole change falls into the days after the campaigns began; empty if that is not known."""
    whole = rows[-1]["exact"] - rows[0]["exact"]
    if abs(whole) < 0.01 * rows[0]["exact"]:
        return ""
    within_campaigns = 0.0
    for campaign in campaigns:
        before = [row for row in rows if row["at"] < campaign]
        within = [row for row in rows if campaign <= row["at"] <= campaign + days]
        if not before or not within or campaign - before[-1]["at"] > days:
            return ""  # the days are too far apart to tell
        within_campaigns += within[-1]["exact"] - before[-1]["exact"]
    share = format_percent(within_campaigns / whole, 0)
    return f", {share} of it from the day before a campaign to {days} days after its start"


def weighted_table(timeline: Timeline, study: Study, algorithm: str) -> pa.Table:
    """Figures 5 and 6: columns at, weighting, value, low, high (drawn) and exact (all pairs), of one algorithm."""
    listed = study.lists[algorithm]
    exact: dict[tuple[Any, str], float] = defaultdict(float)
    for row in timeline.probabilities.to_pylist():
        if row["item"] in listed:
            exact[row["at"], _name_weighting(row)] += row["probability"]
    scores = [
        {
            "at": row["at"],
            "weighting": _name_weighting(row),
            **{key: row[key] for key in ("value", "low", "high")},
            "exact": exact[row["at"], _name_weighting(row)],
        }
        for row in timeline.rows.to_pylist()
        if row["recommender"] == algorithm
    ]
    order = [RAW, *(weighting_name("weighted", p) for p in study.tops), ALL]
    return pa.Table.from_pylist(sorted(scores, key=lambda row: (order.index(row["weighting"]), row["at"])))


def _name_weighting(row: dict[str, Any]) -> str:
    return weighting_name(row["weighting"], row["top"])


def draw_weighted_score(
    table: pa.Table, campaigns: Sequence[int], *, number: int = 5, algorithm: str = "g1", within: float = 0.05
) -> Figure:
    """The score of a constant algorithm over time under several weightings.

    - `table`: columns at; weighting ("raw", "p = 5", ..., "all items", in this order); value, low, high; exact.
    - `campaigns`: the days on which they began.
    - `number`, `algorithm`: of the figure; a key of DESCRIPTIONS.
    - `within`: what counts as stable: no day further from the first than this part of its score.
    """
    rows = table.to_pylist()
    names = list(dict.fromkeys(row["weighting"] for row in rows))
    strokes = weighting_strokes(names)
    span = theme.fit_span([row[name] for row in rows for name in ("value", "exact")], HEIGHT + 40)
    across = _make_day_axis(rows)
    score = alt.Y("exact:Q", title=SCORE).scale(span.scale()).axis(_make_score_axis(span))
    lines = line_layer(rows, strokes, "weighting", x=across, y=score)
    base = theme.plot(rows).encode(x=across, color=theme.colour_by("weighting", strokes))
    dots = base.mark_point(filled=True, size=8, opacity=0.22).encode(y="value:Q")
    by_name = {name: sorted((r for r in rows if r["weighting"] == name), key=lambda r: r["at"]) for name in names}
    first = by_name[RAW][0]
    labels = []
    for name, curve in by_name.items():
        amount = format_change(_find_change(curve))
        labels.append(Label(curve[-1]["exact"], name, strokes[name].colour, name in (RAW, ALL), amount))
    layers = (dots, level_rule(first["exact"]), lines, theme.end_labels(labels, span, WIDTH))
    title = f"The score of {algorithm}, weighted"
    subtitle = (
        f"{DESCRIPTIONS.get(algorithm, algorithm)}. Lines: all pairs; dots: {thousands(DRAWS)} users drawn each "
        f"day. p: the number of items that have a weight. Right: change since day {first['at']}. "
        f"{_mention_zero(span)}"
    )
    sentence = weighted_sentence(algorithm, by_name, within)
    chart = alt.layer(_mark_campaigns(campaigns), *layers).properties(width=WIDTH, height=span.height)
    return Figure.of(number, f"figure-{number}-{algorithm}-weighted", table, chart, title, subtitle, sentence)


def weighted_sentence(algorithm: str, by_name: dict[str, list[dict[str, Any]]], within: float) -> str:
    """What remains of the change under each weighting, and how many weights are enough."""
    change = {name: _find_change(curve) for name, curve in by_name.items()}
    first, *_, last = by_name[RAW]
    partial = [f"{format_change(c)} with {name}" for name, c in change.items() if name not in (RAW, ALL)]
    every = [f"{format_change(change[ALL], 2)} with weights on all items"] if ALL in change else []
    stability, jumps = _describe_stability(by_name, within), _describe_jumps(by_name)
    return (
        f"Raw, the score of {algorithm} {describe_change(change[RAW])} from day {first['at']} to day "
        f"{last['at']}. Weighted, what remains of that is {enumerate_words(partial + every)}; {stability}.{jumps}"
    )


def _describe_jumps(by_name: dict[str, list[dict[str, Any]]]) -> str:
    restless = []
    for name, curve in by_name.items():
        steps = np.diff([row["exact"] for row in curve]) / curve[0]["exact"]
        if name not in (RAW, ALL) and steps.max() > JUMP and steps.min() < -JUMP:
            restless.append(name)
    if not restless:
        return ""
    word = "jumps" if len(restless) == 1 else "jump"
    return f" {enumerate_words(restless)} {word} because items enter and leave the p that moved most."


def _describe_stability(by_name: dict[str, list[dict[str, Any]]], within: float) -> str:
    """From which weighting on the score of every day is within `within` of that of the first."""
    weighted = {name: curve for name, curve in by_name.items() if name != RAW}
    far = {name: max(abs(_find_change([curve[0], row])) for row in curve) for name, curve in weighted.items()}
    stable = [name for k, name in enumerate(far) if max(list(far.values())[k:]) <= within]
    near = f"every day within {format_percent(within, 0)} of day {by_name[RAW][0]['at']}"
    if not stable:
        return f"no weighting keeps {near}"
    if stable == [ALL]:
        return f"only weights on all items keep {near} (at most {format_percent(far[ALL], 2)} off)"
    most = max(far[name] for name in stable)
    return f"weights from {stable[0]} on keep {near} (at most {format_percent(most)} off)"


def _find_change(curve: Sequence[Mapping[str, Any]]) -> float:
    """Of the exact score from the first day to the last."""
    return float(curve[-1]["exact"] / curve[0]["exact"] - 1)


def _make_score_axis(span: Span) -> Any:
    return theme.percent_axis(theme.percent_digits(span.low, span.high))


def _make_day_axis(rows: list[dict[str, Any]]) -> Any:
    return time_axis([row["at"] for row in rows], title="day")


def _mark_campaigns(campaigns: Sequence[int]) -> Any:
    return mark_events({day: f"campaign, day {day}" for day in campaigns})


def _mention_zero(span: Span) -> str:
    return "" if span.low <= 0 else "The axis does not start at zero."
