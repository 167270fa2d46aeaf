"""The charts of results in a notebook: the numbers that they show, and names as text. Dates in dataframes."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unskew as us
from unskew.data.columns import restore_dates
from unskew.drawing.theme import DARK, HIDDEN, SERIES
from unskew.over_time import Timeline

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def log() -> us.Log:
    return us.simulate(users=400, items=60, seed=2).log


@pytest.fixture(scope="module")
def timeline(log: us.Log) -> Timeline:
    return us.timeline(log, ["popular", "constant:1,3"], reference=300, end=490, every=50, items=[1, 3])


def _values(chart: Any, field: str) -> list[dict[str, Any]]:
    """The rows of all data sets of a chart that have a field."""
    sets = chart.to_dict()["datasets"].values()
    return [row for rows in sets for row in rows if field in row]


def _svg(chart: Any) -> str:
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return svg


def test_the_chart_of_a_timeline_shows_every_score_with_its_interval(timeline: Timeline) -> None:
    drawn = {
        (row["at"], row["name"], row["kind"]): (row["value"], row["low"], row["high"])
        for row in _values(timeline.plot(), "shown")
        if row["name"] in ("popular", "constant:1,3")
    }
    for row in timeline.rows.to_pylist():
        kind = {"raw": "as logged", "weighted": "re-weighted"}[row["weighting"]]
        expected = [row["value"], row["low"], row["high"]]
        assert drawn[float(row["at"]), row["recommender"], kind] == pytest.approx(expected, rel=1e-6)
    assert len(drawn) == len(timeline.rows)


def test_the_chart_of_a_timeline_shows_the_shares_of_items_under_their_names(timeline: Timeline) -> None:
    chart = timeline.plot(names={1: "one", 3: HOSTILE})
    rows = [row for row in _values(chart, "shown") if (row["at"], row["kind"]) == (490.0, "raw")]
    found = {row["name"]: row["value"] for row in rows}
    last = timeline.probabilities.to_pylist()[-4]
    assert (last["item"], last["weighting"]) == (1, "raw")
    assert found["one"] == pytest.approx(last["probability"], rel=1e-6)
    assert HOSTILE in found
    assert "<script" not in _svg(chart)


def test_campaigns_are_shaded_and_cut_to_the_time_that_is_shown(timeline: Timeline) -> None:
    chart = timeline.plot("hit@5", campaigns=["330:350", "480:", "100:200"])
    shades = [(row["at"], row["end"]) for row in _values(chart, "end")]
    assert set(shades) == {(330.0, 350.0), (480.0, 490.0)}


def test_a_metric_that_was_not_scored_is_refused_by_name(timeline: Timeline) -> None:
    with pytest.raises(us.InputError, match="hit@5"):
        timeline.plot("mrr@10")


def test_lines_that_are_switched_off_are_not_drawn(timeline: Timeline) -> None:
    spec = timeline.plot("hit@5").to_dict()
    [param] = [one for one in spec["params"] if one["name"] == HIDDEN]
    all_points = _count_points(spec)
    param["value"] = ["popular", "as logged"]
    assert _count_points(spec) == all_points / 4  # one of two recommenders, under one of two weightings


def _count_points(spec: dict[str, Any]) -> int:
    """The points of a chart, of one shape each in the drawing."""
    import vl_convert

    group = vl_convert.vegalite_to_svg(spec).split("mark-symbol role-mark")[1].split("</g>")[0]
    return int(group.count("<path"))


def test_the_chart_of_a_drift_shows_what_moved_most(log: us.Log) -> None:
    found = us.drift(log.at(490), log.at(300))
    rows = _values(found.plot(5, names={found.items[0].as_py(): HOSTILE}), "now")
    assert [row["now"] for row in rows] == pytest.approx(list(found.p_now[:5]), rel=1e-6)
    assert [row["before"] for row in rows] == pytest.approx(list(found.p_reference[:5]), rel=1e-6)
    assert rows[0]["name"] == HOSTILE
    with pytest.raises(us.InputError, match="at least one"):
        found.plot(0)


def test_the_bars_of_weights_add_up_to_the_item_mixes(log: us.Log) -> None:
    weights = us.fit_weights(log.at(490), log.at(300))
    rows = _values(weights.plot(), "share")
    assert sum(row["share"] for row in rows) == pytest.approx(2, abs=1e-5)  # of the mix now, and of the target
    assert "as" in _svg(weights.plot())


def test_times_of_a_calendar_are_dates_in_frames() -> None:
    table = {"user": ["a", "a", "b"], "item": [1, 2, 1], "time": ["2024-01-01", "2024-02-01", "2024-03-01"]}
    for frame, kind in ((pd.DataFrame, "datetime64"), (pl.DataFrame, "Date")):
        log = us.read_log(frame(table))
        made = us.timeline(log, "constant:1", reference="2024-02-01", every="1mo")
        rows = made.to_frame()
        assert str(rows["at"].dtype).startswith(kind)
        assert str(rows["at"][0])[:10] == "2024-02-01"
        found = us.report(log, "constant:1", at="2024-03-01", reference="2024-02-01", refit=0)
        assert str(found.to_frame()["at"].dtype).startswith(kind)
        assert str(found.changes.to_frame()["from"].dtype).startswith(kind)
        assert made.rows.column("at").type == pa.string()  # the table and its file stay as they are


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-03-01", None], [date(2024, 3, 1), None]),
        (
            ["2024-03-01T10:30:00", "2024-03-01"],
            [datetime(2024, 3, 1, 10, 30), datetime(2024, 3, 1, 23, 59, 59, 999999)],
        ),
        (["popular", "2024-03-01"], ["popular", "2024-03-01"]),
        (
            ["2024-03-01T10:00:00Z", "2024-03-01T10:00:00"],
            ["2024-03-01T10:00:00Z", "2024-03-01T10:00:00"],
        ),
    ],
)
def test_only_columns_of_nothing_but_times_become_dates(texts: list[Any], expected: list[Any]) -> None:
    assert restore_dates(pa.table({"at": texts}), ["at", "other"]).column("at").to_pylist() == expected


def test_datetimes_with_an_offset_become_moments() -> None:
    [found] = restore_dates(pa.table({"at": ["2024-03-01T10:00:00+02:00"]}), ["at"]).column("at").to_pylist()
    assert found.isoformat() == "2024-03-01T08:00:00+00:00"


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_lines_can_be_told_from_the_ground_in_light_and_in_dark() -> None:
    colours = {stroke.colour for stroke in SERIES}
    assert min(_contrast(colour, "#ffffff") for colour in colours) >= 3  # what WCAG asks of graphics
    assert min(_contrast(DARK[colour], DARK["#ffffff"]) for colour in colours) >= 4.5
    assert len({stroke.shape for stroke in SERIES}) == len(SERIES)  # not by colour alone
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in (*colours, *map(DARK.get, colours)) if colour)
