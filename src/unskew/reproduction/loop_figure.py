"""Figures 9 and 10, the closed loop: what wins an evaluation shapes the log of the next."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import altair as alt
import pyarrow as pa

from unskew.drawing import theme
from unskew.drawing.theme import Label, Span, Stroke
from unskew.reproduction.figure import RAW_COLOUR, WEIGHTED_COLOUR, Figure, describe_change, format_percent
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.recipe import Loop, Recipe
from unskew.worlds.simulation import simulate

LISTS = Loop(tuple(f"list:{letter}" for letter in "abcde"), incumbent="list:e")
"""A race of fixed lists, the weakest in production at first."""

_RACERS = {
    "popular": "popular",
    "knn, co-occurrence": "knn?neighbours=200&similarity=cooccurrence",
    "knn, Jaccard": "knn?similarity=jaccard",
    "fixed list": "list:a",
}
RACE = Loop(
    tuple(_RACERS.values()), incumbent=_RACERS["knn, Jaccard"], campaign=replace(LISTS.campaign, acceptance=0.12)
)
"""A race of algorithms, the weakest in production at first."""

STROKES = [
    Stroke(theme.BLUE),
    Stroke(theme.OCHRE, (8, 3)),
    Stroke(theme.GREEN, (3, 2)),
    Stroke(theme.PURPLE, (8, 2, 2, 2)),
    Stroke(theme.INK, (1, 2)),
    Stroke(theme.SKY, (12, 4)),
    Stroke(theme.GREY, (5, 5)),
]
HEADS = {"raw": RAW_COLOUR, "weighted": WEIGHTED_COLOUR, "organic": theme.GREEN}
ROOM = 860  # for all columns
AXIS = 50  # for its numbers and title


def loop_table(race: Loop, users: int, items: int, seed: int, choices: tuple[str, ...]) -> pa.Table:
    """Figures 9 and 10: the same race, run once for each score that may decide."""
    names = {spec: name for name, spec in _RACERS.items()} if race is RACE else {}
    rows = []
    for chosen_by in choices:
        recipe: Recipe = replace(
            WORLDS["closed-loop"], users=users, items=items, loop=replace(race, chosen_by=chosen_by)
        )
        rounds = simulate(recipe, seed=seed).rounds
        assert rounds is not None  # a closed loop has them
        rows += [
            {
                "chosen_by": f"{chosen_by} score",
                "round": row["round"],
                "at": row["at"],
                "candidate": names.get(row["candidate"], row["candidate"].replace("list:", "list ")),
                "weighting": row["score_of"],
                "score": row["score"],
                "rank": row["rank"],
                "in_production": row["chosen"],
                "truth": row["truth"],
            }
            for row in rounds.to_pylist()
        ]
    return pa.Table.from_pylist(rows)


def draw_loop(
    table: pa.Table, *, number: int = 9, name: str = "figure-9-loop", title: str | None = None
) -> Figure:
    """Scores and ranks of the candidates round by round, a column for each way to choose.

    - `table`: columns chosen_by ("raw score", "weighted score" or "organic score"), round, at, candidate,
      weighting ("raw", "weighted" or "organic"), score, rank, in_production, truth. Shown are the scores by which
      the candidates were chosen.
    - `number`, `name`, `title`: of the figure.
    """
    rows = [row for row in table.to_pylist() if row["chosen_by"].startswith(row["weighting"])]
    names = list(dict.fromkeys(row["candidate"] for row in rows))
    strokes = {name: STROKES[k % len(STROKES)] for k, name in enumerate(names)}
    rows = _add_truth(rows)
    score = theme.fit_span([row["score"] for row in rows], 210, zero=True)
    rank = Span(len(names) + 0.5, 0.5, 24 * len(names))
    columns = []
    ways = list(dict.fromkeys(row["chosen_by"] for row in rows))
    words = 7 * max(map(len, names))
    each = len(ways) * (words + AXIS + 30) <= ROOM // 2  # room for the names beside each column, or only the last
    width = min(290, (ROOM - words * (len(ways) if each else 1)) // len(ways) - AXIS - 30)
    for k, chosen_by in enumerate(ways):
        column_rows = [row for row in rows if row["chosen_by"] == chosen_by]
        columns.append(
            _draw_column(chosen_by, column_rows, strokes, score, rank, width, named=each or k == len(ways) - 1)
        )
    title = title or "The closed loop: the winner of each evaluation shapes the log of the next"
    subtitle = (
        "Filled dots: in production. At the right: the truth, the score had nothing ever been recommended. Above: "
        "the score by which the candidates are chosen; below: their ranks by it"
    )
    sentence = loop_sentence([row for row in rows if not row["true"]])
    return Figure.of(number, name, table, alt.hconcat(*columns, spacing=30), title, subtitle, sentence)


def _add_truth(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, and one more for each candidate: the truth, drawn after the last round."""
    last = max(row["round"] for row in rows)
    result = [row | {"x": float(row["round"]), "true": False} for row in rows]
    for chosen_by in dict.fromkeys(row["chosen_by"] for row in rows):
        last_rows = [row for row in rows if row["chosen_by"] == chosen_by and row["round"] == last]
        order = sorted(last_rows, key=lambda row: -row["truth"])
        result += [
            row | {"x": last + 1.5, "true": True, "score": row["truth"], "rank": k + 1, "in_production": False}
            for k, row in enumerate(order)
        ]
    return result


def _draw_column(
    chosen_by: str,
    rows: list[dict[str, Any]],
    strokes: dict[str, Stroke],
    score: Span,
    rank: Span,
    width: int,
    *,
    named: bool,
) -> Any:
    percents = theme.percent_axis(theme.percent_digits(score.low, score.high))
    ranks = alt.Axis(values=list(range(1, len(strokes) + 1)), format="d", grid=False)
    colour = HEADS.get(chosen_by.split(maxsplit=1)[0], theme.INK)
    head = alt.TitleParams(f"chosen by the {chosen_by}", color=colour, fontSize=13, anchor="start", offset=10)
    above = _draw_panel(rows, "score", chosen_by, percents, strokes, score, width, named=named).properties(
        title=head
    )
    below = _draw_panel(rows, "rank", "rank, 1 is best", ranks, strokes, rank, width, named=named)
    return alt.vconcat(above, below, spacing=16)


def _draw_panel(
    rows: list[dict[str, Any]],
    field: str,
    title: str,
    axis: Any,
    strokes: dict[str, Stroke],
    span: Span,
    width: int,
    *,
    named: bool,
) -> Any:
    last = max(row["round"] for row in rows)
    ticks = alt.Axis(
        values=[*range(last + 1), last + 1.5],
        labelExpr=f"datum.value > {last} ? 'truth' : format(datum.value, 'd')",
        title="round" if field == "rank" else None,
        labelFlush=False,
    )
    x = alt.X("x:Q").scale(domain=[-0.3, last + 1.5], nice=False, zero=False).axis(ticks)
    y = alt.Y(f"{field}:Q", title=title).scale(span.scale()).axis(axis)
    colour = theme.colour_by("candidate", strokes)
    rounds, truths = [row for row in rows if not row["true"]], [row for row in rows if row["true"]]
    base = theme.plot(rounds).encode(x=x, y=y, color=colour)
    lines = base.mark_line(strokeWidth=1.8).encode(strokeDash=theme.dash_by("candidate", strokes))
    rings = base.mark_point(size=26, fill="white", strokeWidth=1.3, opacity=1)
    dots = base.properties(data=theme.inline_data(row for row in rounds if row["in_production"]))
    dots = dots.mark_point(filled=True, size=110, opacity=1)
    links = [row for row in rows if row["true"] or row["round"] == last]
    to_truth = theme.plot(links).mark_line(strokeWidth=0.9, opacity=0.6).encode(x=x, y=y, color=colour)
    ends = theme.plot(truths).mark_tick(thickness=3, size=14, orient="horizontal")
    labels = [Label(row[field], row["candidate"], strokes[row["candidate"]].colour) for row in truths]
    layers = [to_truth, lines, rings, dots, ends.encode(x=x, y=y, color=colour)]
    layers += [theme.end_labels(labels, span, width + 7)] if named else []
    return alt.layer(*layers).properties(width=width, height=span.height)


def loop_sentence(rows: list[dict[str, Any]]) -> str:
    """Who is in production in the end, and what the truth says about that."""
    return " ".join(
        _describe_loop(chosen_by, [row for row in rows if row["chosen_by"] == chosen_by])
        for chosen_by in dict.fromkeys(row["chosen_by"] for row in rows)
    )


def _describe_loop(chosen_by: str, rows: list[dict[str, Any]]) -> str:
    last = max(row["round"] for row in rows)
    shown = {row["round"]: row["candidate"] for row in rows if row["in_production"]}
    winner = shown[max(shown)]
    since = next(r for r in sorted(shown) if all(shown[k] == winner for k in shown if k >= r))
    winner_rows = {row["round"]: row for row in rows if row["candidate"] == winner}
    now = {row["candidate"]: row for row in rows if row["round"] == last}
    better = sum(row["truth"] > now[winner]["truth"] for row in now.values())
    place = "the best" if better == 0 else f"number {better + 1}"
    swaps = sum(shown[a] != shown[b] for a, b in pairwise(sorted(shown)))
    changes = "one change" if swaps == 1 else f"{swaps} changes"
    start = "throughout" if since == min(shown) else f"from round {since} on, after {changes}"
    first = min(winner_rows)
    before = winner_rows[first]["score"]
    became = describe_change(winner_rows[last]["score"] / before - 1) if before > 0 else "went up from nothing"
    return (
        f"Chosen by the {chosen_by}, {winner} is in production {start}; since round {first} its score "
        f"{became}, to {format_percent(winner_rows[last]['score'])} where the truth is "
        f"{format_percent(now[winner]['truth'])}, and in truth it is {place} of {len(now)}."
    )
