"""The figures of the reproduction: their words, their sentences, their files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests import reproducing as made
from unskew.reproduction.beyond_figures import draw_algorithms, draw_cost
from unskew.reproduction.figure import (
    Figure,
    describe_change,
    describe_changes,
    format_change,
    format_number,
    format_percent,
    save_figure,
    weighting_strokes,
)
from unskew.reproduction.loop_figure import draw_loop
from unskew.reproduction.paper_figures import (
    draw_items,
    draw_score,
    draw_sizes,
    draw_weighted_score,
    score_sentence,
)
from unskew.storage.tables import read_parquet
from unskew.text import enumerate_words

DAYS = made.CAMPAIGNS
MAKERS: dict[str, Callable[[], Figure]] = {
    "1": lambda: draw_items(made.items_table(), DAYS),
    "2": lambda: draw_sizes(made.sizes_table()),
    "3": lambda: draw_score(made.score_table(), DAYS),
    "4": lambda: draw_score(made.score_table(0.0538, -0.33), DAYS, number=4, algorithm="g2"),
    "5": lambda: draw_weighted_score(made.weighted_table(), DAYS),
    "6": lambda: draw_weighted_score(made.weighted_table(0.0538, -0.33, 100), DAYS, number=6, algorithm="g2"),
    "7": lambda: draw_cost(made.cost_table()),
    "8": lambda: draw_algorithms(made.algorithms_table()),
    "9": lambda: draw_loop(made.loop_table()),
}
SAID = {
    "1": ["item 17", "item 88", "item 40", made.BOTH, made.SECOND, made.NEVER, "campaign, day 330", "day"],
    "2": ["slope −2.", "items in the profile (log scale)", "users (log scale)", "10 000"],
    "3": ["raw +27.4 %", "day 300: 7.32 %", "campaign, day 430", "does not start at zero", "20 000 users"],
    "4": ["raw −32.6 %", "day 300: 5.38 %"],
    "5": ["raw", "p = 5", "p = 100", "all items", "+27.4 %", "+0.4 %", "+12.5 %"],
    "6": ["−32.6 %", "p = 20", "−18.2 %"],
    "7": ["descent", "L-BFGS", "scaling 21 passes", "least possible 0.063", "D (nats), log scale", "all"],
    "8": ["popular", "knn", "als", "truth", "organic view + item weights", "comparable with day 300", "hit@5"],
    "9": ["ease", "knn cosine", "chosen by the raw score", "chosen by the weighted score", "rank, 1 is best"],
}


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    return {name: make() for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def drawings(figures: dict[str, Figure]) -> dict[str, str]:
    return {name: drawn(figure.chart) for name, figure in figures.items()}


def drawn(chart: Any) -> str:
    file = io.StringIO()
    chart.save(file, format="svg")
    return file.getvalue()


def every(table: pa.Table, days: int) -> pa.Table:
    return table.filter(pa.array([at % days == 0 for at in table["at"].to_pylist()]))


def plain(text: str) -> str:
    return text.replace("\xa0", " ")


@pytest.mark.parametrize("name", MAKERS)
def test_a_figure_shows_its_words(name: str, drawings: dict[str, str]) -> None:
    words, _ = made.words(drawings[name])
    text = plain("\n".join(word.text for word in words))
    assert [label for label in SAID[name] if label not in text] == []


@pytest.mark.parametrize("name", MAKERS)
def test_no_word_of_a_figure_covers_another_or_is_cut_off(name: str, drawings: dict[str, str]) -> None:
    words, (width, height) = made.words(drawings[name])
    assert len(words) > 12
    covered = [(a.text, b.text) for k, a in enumerate(words) for b in words[:k] if a.covers(b)]
    assert covered == []
    assert [
        w.text for w in words if w.left < -2 or w.top < -2 or w.right > width + 2 or w.bottom > height + 2
    ] == []


@pytest.mark.parametrize("name", MAKERS)
def test_a_figure_fits_the_page_and_has_no_legend(name: str, drawings: dict[str, str]) -> None:
    _, (width, _) = made.words(drawings[name])
    assert width <= 930
    assert "role-legend" not in drawings[name]


@pytest.mark.parametrize("name", MAKERS)
def test_a_sentence_is_one_paragraph_that_ends(name: str, figures: dict[str, Figure]) -> None:
    sentence = figures[name].sentence
    assert sentence.endswith(".")
    assert sentence[0] == sentence[0].upper() or sentence.startswith("g")
    assert not re.search(r"nan|inf\b|None|  |\n", sentence)
    assert figures[name].chart.to_dict()["description"] == sentence


def test_the_sentence_of_the_item_mix_follows_the_data() -> None:
    table = made.items_table()
    said = draw_items(table, DAYS).sentence
    assert "4 items recommended in both campaigns rose by 40 to 110 %" in said
    assert (
        "item 88, recommended in the second only, fell by 6 % until that campaign and rose by 48 % after it"
        in said
    )
    assert "4 items never recommended fell by 30 %" in said
    mirrored = table.set_column(3, "probability", pc.divide(0.0001, table["probability"]))
    assert "4 items recommended in both campaigns fell by 29 to 52 %" in draw_items(mirrored, DAYS).sentence


def test_the_sentence_of_the_sizes_follows_the_data() -> None:
    table = pa.table({"items": [1, 2, 3, 4], "users": [600, 200, 150, 50]})
    said = draw_sizes(table).sentence
    assert (
        "1 000 users hold 1.65 items on average; half of them hold at most 1, the fullest profile holds 4" in said
    )


def test_the_sentence_of_a_score_follows_the_data() -> None:
    rise, fall = (draw_score(made.score_table(0.08, change), DAYS).sentence for change in (0.25, -0.25))
    assert "its score rose by 25.4 %, from 8.00 % on day 300 to 10.03 % on day 500" in rise
    assert "its score fell by 24.6 %, from 8.00 % on day 300 to 6.03 % on day 500" in fall
    rows = made.score_rows(0.08, 0.25)
    held = sum(row["low"] <= row["exact"] <= row["high"] for row in rows)
    assert f"the intervals of {held} of the 201 samples hold the exact score" in rise


def test_a_score_that_rests_is_said_to_rest() -> None:
    table = made.score_table()
    still = table.set_column(4, "exact", pa.array([0.08] * table.num_rows))
    said = draw_score(still, DAYS).sentence
    assert "its score changed by less than 0.05 %, from 8.00 % on day 300 to 8.00 % on day 500;" in said


def test_the_sentence_says_from_which_p_on_a_weighted_score_is_stable() -> None:
    for stable in (20, 50, 100):
        said = draw_weighted_score(every(made.weighted_table(stable_from=stable), 20), DAYS, within=0.02).sentence
        assert f"weights from p = {stable} on keep every day within 2 % of day 300" in said
    all_only = draw_weighted_score(every(made.weighted_table(stable_from=1000), 20), DAYS, within=0.02).sentence
    assert "only weights on all items keep every day within 2 % of day 300" in all_only
    assert (
        "no weighting keeps every day within 0 %"
        in draw_weighted_score(every(made.weighted_table(), 20), DAYS, within=0.0).sentence
    )


def test_p_that_is_stable_below_one_that_is_not_is_not_called_enough() -> None:
    rows = every(made.weighted_table(stable_from=20), 20).to_pylist()
    rows = [r | {"exact": 0.09} if r["weighting"] == "p = 50" and r["at"] == 480 else r for r in rows]
    assert "weights from p = 100 on keep" in draw_weighted_score(pa.Table.from_pylist(rows), DAYS).sentence


def test_the_sentence_of_the_cost_follows_the_data() -> None:
    said = draw_cost(made.cost_table()).sentence
    assert "From p = 5 to 500, descent goes from 89 to 894 passes" in said
    assert "scaling with weights on all items takes 21 passes (0.061 s) to D = 0.00021 nats" in said
    assert "no weighting can go below 0.063" in said
    unknown = (
        made.cost_table().drop_columns("least_bound").append_column("least_bound", pa.nulls(15, pa.float64()))
    )
    assert "go below" not in draw_cost(unknown).sentence


def test_the_sentence_of_the_algorithms_gives_the_error_that_remains() -> None:
    said = draw_algorithms(made.algorithms_table()).sentence
    assert "Comparable with day 300: raw by 29 to 195 %, item weights by 2 to 166 %" in said
    rows = [r | {"value": 0.1} for r in made.algorithms_table().to_pylist()]
    assert "raw by 0 %, item weights by 0 %" in draw_algorithms(pa.Table.from_pylist(rows)).sentence


def test_the_sentence_of_the_loop_names_who_stays_in_production() -> None:
    said = draw_loop(made.loop_table()).sentence
    assert "Chosen by the raw score, knn cosine is in production from round 2 on, after 2 changes" in said
    assert "in truth it is number 2 of 5" in said
    assert "Chosen by the weighted score, ease is in production from round 1 on, after one change" in said
    assert "in truth it is the best of 5" in said


def test_a_grid_of_few_days_and_no_campaign_can_be_drawn() -> None:
    words, _ = made.words(drawn(draw_score(every(made.score_table(), 50), ()).chart))
    assert not any("campaign," in word.text for word in words)


def test_methods_that_end_near_the_last_size_are_named_without_covering_anything() -> None:
    rows = made.cost_table().to_pylist()
    more = [row | {"p": 5000, "items": "5000"} for row in rows if row["p"] == 500]
    words, _ = made.words(drawn(draw_cost(pa.Table.from_pylist(rows + more)).chart))
    assert sum(word.text == "L-BFGS" for word in words) == 4
    assert not [(a.text, b.text) for k, a in enumerate(words) for b in words[:k] if a.covers(b)]


def test_questions_may_have_different_estimates() -> None:
    rows = made.algorithms_table().to_pylist()
    rows = [r for r in rows if (r["question"], r["estimate"]) != ("free of the campaigns", "item weights")]
    figure = draw_algorithms(pa.Table.from_pylist(rows))
    assert "item weights" in drawn(figure.chart)
    assert "free of the campaigns: raw by 29 to 195 %, organic view by" in figure.sentence


def test_files_are_written_whole_with_what_they_show(tmp_path: Path, figures: dict[str, Figure]) -> None:
    figure = figures["2"]
    paths = save_figure(figure, tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in paths}
    assert [p.suffix for p in paths] == [".png", ".svg", ".parquet"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_text().rstrip().endswith("</svg>")
    table, told = read_parquet(paths[2])
    assert table.equals(figure.table)
    assert (told["kind"], told["number"], told["sentence"]) == ("figure", 2, figure.sentence)


def test_a_picture_that_cannot_be_made_leaves_the_old_one(tmp_path: Path, figures: dict[str, Figure]) -> None:
    class Broken:
        def save(self, path: str, **_: object) -> None:
            Path(path).write_text("half")
            raise RuntimeError("no")

    old = tmp_path / "figure-2-items-per-user.png"
    old.write_text("old")
    broken = Figure(2, old.stem, "", Broken(), "", figures["2"].table)
    with pytest.raises(RuntimeError, match="no"):
        save_figure(broken, tmp_path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_a_weighting_looks_the_same_in_every_figure() -> None:
    strokes = weighting_strokes(["raw", "p = 5", "p = 20", "all items"])
    assert strokes["raw"].dash != strokes["p = 5"].dash
    lightness = [sum(int(s.colour[k : k + 2], 16) for k in (1, 3, 5)) for n, s in strokes.items() if n != "raw"]
    assert lightness == sorted(lightness, reverse=True)
    assert strokes["raw"] == weighting_strokes(["raw"])["raw"]


def test_numbers_in_words() -> None:
    assert [
        format_percent(0.1234),
        format_percent(-0.0001),
        format_change(0.05),
        format_change(-0.333),
        format_change(0.0002),
    ] == [
        "12.3 %",
        "0.0 %",
        "+5.0 %",
        "−33.3 %",
        "0.0 %",
    ]
    assert [describe_change(0.1), describe_change(-0.02), describe_change(0.0)] == [
        "rose by 10.0 %",
        "fell by 2.0 %",
        "changed by less than 0.05 %",
    ]
    assert describe_changes([0.03, 0.07]) == "rose by 3 to 7 %"
    assert describe_changes([-0.03, -0.07]) == "fell by 3 to 7 %"
    assert describe_changes([-0.02, 0.03]) == "changed by −2 % to +3 %"
    assert describe_changes([0.051, 0.049]) == "rose by 5 %"
    assert [
        format_number(0.00123),
        format_number(12.34),
        format_number(20538),
        format_number(0),
        format_number(1e-7),
    ] == [
        "0.00123",
        "12.3",
        "20 538",
        "0",
        "1.0e-07",
    ]
    assert [enumerate_words([]), enumerate_words(["a"]), enumerate_words(["a", "b", "c"])] == [
        "",
        "a",
        "a, b and c",
    ]


@pytest.mark.parametrize(("every", "said"), [(1, "100 % of it"), (10, "100 % of it"), (100, "")])
def test_the_share_of_a_change_that_falls_to_the_campaigns_is_that_of_its_steps(every: int, said: str) -> None:
    days = range(300, 501, every)
    score = [1.0 + 0.2 * (day >= 330) + 0.3 * (day >= 430) for day in days]
    rows = [{"at": day, "value": s, "low": s, "high": s, "exact": s} for day, s in zip(days, score, strict=True)]
    sentence = score_sentence("g1", rows, (330, 430))
    assert ("of it" in sentence) == bool(said)
    assert said in sentence


def test_a_change_between_campaigns_is_not_ascribed_to_them() -> None:
    rows = [
        {"at": day, "value": s, "low": s, "high": s, "exact": s}
        for day in range(300, 501)
        for s in [1.0 + 0.5 * (day >= 330) + 0.5 * (day >= 400)]
    ]
    assert "50 % of it" in score_sentence("g1", rows, (330, 430))


def test_scores_of_nothing_are_told_without_dividing_by_them() -> None:
    loops = [row | {"score": 0.0 if row["round"] == 0 else row["score"]} for row in made.loop_table().to_pylist()]
    assert "went up from nothing" in draw_loop(pa.Table.from_pylist(loops)).sentence
    scored = [
        row | ({"value": 0.0, "low": 0.0, "high": 0.0} if row["estimate"] == "truth" else {})
        for row in made.algorithms_table().to_pylist()
    ]
    assert "How far the estimates are" in draw_algorithms(pa.Table.from_pylist(scored)).sentence
