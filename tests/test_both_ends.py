"""Timelines of both ends of the range: against one of the thinned log by hand, in files, pages and charts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.browser import open_browser, visit
from tests.test_cli import answer, refused, run
from tests.test_growing_log import _rows
from unskew.over_time import Timeline
from unskew.over_time.timeline_page import make_timeline_page
from unskew.recommend.contract import Batch, Traits
from unskew.recommend.specs import name_recommenders
from unskew.views import scenarios
from unskew.views.scenarios import find_excesses

MODELS = ["knn", "popular"]
GRID: dict[str, Any] = {"reference": 300, "end": 450, "every": 50}
OTHER_NAME = "without what recommendations since 300 may have caused"


@pytest.fixture(scope="module", autouse=True)
def few_stand_ins() -> Iterator[None]:
    """Stand-ins without EASE, whose fits take most of the time."""
    with patch.object(scenarios, "_FAMILY", ("popular", "knn?similarity=cooccurrence")):
        yield


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return us.simulate(users=500, items=100, seed=3).tables["log"].select(["user", "item", "time"])


@pytest.fixture(scope="module")
def log(table: pa.Table) -> us.Log:
    return us.read_log(table)


@pytest.fixture(scope="module")
def both(log: us.Log) -> Timeline:
    return us.timeline(log, MODELS, **GRID, top=[5], items=[1], both_ends=True)


def rows_of(timeline: Timeline, view: str) -> pa.Table:
    return timeline.rows.filter(pa.compute.equal(timeline.rows["view"], view))


def thin_by_hand(log: us.Log, seed: int = 0) -> us.Log:
    """The log without the full excess over the stand-in that explains most."""
    excesses = find_excesses(log, 300, None, compared=name_recommenders(MODELS))
    views = list(excesses.list_views(fractions=(1.0,), seed=seed))
    return max(views, key=lambda view: excesses.explained[view.stand_in]).log


def test_rows_of_the_other_end_are_those_of_the_thinned_log(log: us.Log, both: Timeline) -> None:
    thinned = thin_by_hand(log)
    assert len(thinned) < 0.95 * len(log)
    by_hand = us.timeline(thinned, MODELS, **GRID, top=[5])
    assert rows_of(both, "thinned").equals(by_hand.rows)


def test_the_seed_draws_the_interactions_that_the_other_end_drops(log: us.Log, both: Timeline) -> None:
    other = us.timeline(log, MODELS, **GRID, top=[5], both_ends=True, seed=1)
    assert rows_of(other, "thinned").equals(us.timeline(thin_by_hand(log, 1), MODELS, **GRID, top=[5]).rows)
    assert rows_of(other, "all").equals(rows_of(both, "all"))
    assert not rows_of(other, "thinned").equals(rows_of(both, "thinned"))


def test_rows_as_logged_are_unchanged_to_the_last_bit(log: us.Log, both: Timeline) -> None:
    plain = us.timeline(log, MODELS, **GRID, top=[5], items=[1])
    assert rows_of(both, "all").equals(plain.rows)
    assert both.probabilities.equals(plain.probabilities)
    assert plain.other_end is None


def test_both_ends_stand_beside_each_other_at_each_date_and_are_equal_at_the_reference(both: Timeline) -> None:
    keys = [(row["at"], row["view"]) for row in both.rows.to_pylist()]
    assert list(dict.fromkeys(keys)) == [(at, view) for at in (300, 350, 400, 450) for view in ("all", "thinned")]
    at_reference = [row for row in both.rows.to_pylist() if row["at"] == 300]
    values = [[row["value"] for row in at_reference if row["view"] == view] for view in ("all", "thinned")]
    assert values[0] == values[1]


def test_a_log_in_which_nothing_is_explained_has_two_equal_ends() -> None:
    rng = np.random.default_rng(2)
    user, time = rng.integers(0, 400, 4000), rng.permutation(4000) % 400
    log = us.read_log({"user": user, "item": rng.integers(0, 300, 4000), "time": time})
    with pytest.warns(us.UnskewWarning, match="both ends of the range are the log as it is"):
        both = us.timeline(log, "popular", reference=380, every=10, both_ends=True)
    ends = [rows_of(both, view).drop_columns(["view"]) for view in ("all", "thinned")]
    assert ends[0].equals(ends[1])


# files


class Stopping:
    """A model that stops at a date of the thinned log, once."""

    traits = Traits(may_recommend_profile=True)

    def __init__(self) -> None:
        self.stops_at: float | None = None

    def __str__(self) -> str:
        return "stopping"

    def fit(self, snapshot: us.Snapshot) -> Stopping:
        if snapshot.at == self.stops_at and snapshot.policy.view == "thinned":
            raise KeyboardInterrupt
        return self

    def recommend(self, profiles: Batch, k: int) -> Any:
        return np.tile(np.arange(k), (len(profiles), 1))


def test_an_interrupted_run_of_both_ends_is_resumed_to_the_last_bit(log: us.Log, tmp_path: Path) -> None:
    model, output = Stopping(), tmp_path / "t.parquet"
    models = {"s": model, "popular": "popular"}
    whole = us.timeline(log, models, **GRID, both_ends=True)
    model.stops_at = 400
    with pytest.raises(KeyboardInterrupt):
        us.timeline(log, models, **GRID, both_ends=True, output=output)
    assert Timeline.load(output).dates == [300, 350]  # the date under way is not there by half
    model.stops_at = None
    resumed = us.timeline(log, models, **GRID, both_ends=True, output=output, resume=True)
    assert (resumed.computed, resumed.rows.equals(whole.rows)) == (2, True)
    assert Timeline.load(output).rows.equals(whole.rows)
    again = us.timeline(log, models, **GRID, both_ends=True, output=output, resume=True)
    assert again.computed == 0


def test_the_other_end_is_added_to_a_file_without_it_and_never_taken_away(
    log: us.Log, both: Timeline, tmp_path: Path
) -> None:
    files: dict[str, Any] = {"output": tmp_path / "t.parquet", "probabilities": tmp_path / "p.parquet"}
    us.timeline(log, MODELS, **GRID, top=[5], items=[1], **files)
    added = us.timeline(log, MODELS, **GRID, top=[5], items=[1], **files, both_ends=True, resume=True)
    assert added.rows.equals(both.rows)
    assert added.probabilities.equals(both.probabilities)
    with pytest.raises(us.PolicyError, match="was made with both_ends=True, not no both_ends"):
        us.timeline(log, MODELS, **GRID, top=[5], items=[1], **files, resume=True)


def test_when_the_log_has_grown_the_other_end_is_computed_anew_at_all_dates(log: us.Log, tmp_path: Path) -> None:
    output = tmp_path / "t.parquet"
    grid: dict[str, Any] = {"reference": 300, "start": 300, "every": 50}
    us.timeline(_rows(log, until=400), MODELS, **grid, end=380, output=output, both_ends=True)
    grown = us.timeline(log, MODELS, **grid, end=450, output=output, both_ends=True, resume=True)
    assert grown.dates == [300, 350, 380, 400, 450]
    dates = us.timeline(log, MODELS, reference=300, dates=grown.dates, both_ends=True)
    assert rows_of(grown, "thinned").equals(rows_of(dates, "thinned"))
    values = [rows_of(timeline, "all")["value"].to_numpy() for timeline in (grown, dates)]
    assert values[0] == pytest.approx(values[1], abs=2e-4)


def test_a_file_of_a_shorter_log_is_resumed_again_and_again(log: us.Log, tmp_path: Path) -> None:
    output = tmp_path / "t.parquet"
    grid: dict[str, Any] = {"reference": 300, "every": 50}
    short = us.timeline(_rows(log, until=400), MODELS, **grid, end=380, output=output, both_ends=True)
    same_dates = us.timeline(log, MODELS, **grid, end=380, output=output, both_ends=True, resume=True)
    assert same_dates.dates == short.dates
    whole = us.timeline(log, MODELS, reference=300, dates=same_dates.dates, both_ends=True)
    assert rows_of(same_dates, "thinned").equals(rows_of(whole, "thinned"))
    later = us.timeline(log, MODELS, **grid, start=450, end=450, output=output, both_ends=True, resume=True)
    assert (later.dates, later.computed) == ([*short.dates, 450], 1)


def test_a_file_with_a_damaged_other_end_is_refused(both: Timeline, tmp_path: Path) -> None:
    from unskew.storage.tables import write_table

    path = tmp_path / "t.parquet"
    about = {"options": {**both.options, "both_ends": {"since": 3}}, "unfinished": [], "complete": True}
    write_table(path, both.rows, "timeline", about, {})
    with pytest.raises(us.FileError, match="both_ends must be"):
        Timeline.load(path)


# refusals


def test_a_reference_that_is_no_date_of_the_log_is_refused(log: us.Log) -> None:
    for reference in ({1: 0.5, 2: 0.5}, log.at(300).marginal()):
        with pytest.raises(us.PolicyError, match="both_ends needs a reference that is a date"):
            us.timeline(log, MODELS, reference=reference, start=300, end=450, every=50, both_ends=True)


def test_a_view_of_the_log_is_refused(log: us.Log) -> None:
    known = us.Knowledge(campaigns="330:350")
    with pytest.raises(us.PolicyError, match="both_ends is for the log as it is, and this is the view 'outside'"):
        us.timeline(log, MODELS, **GRID, knowledge=known, both_ends=True)


def test_too_little_time_before_the_reference_is_refused() -> None:
    log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
    with pytest.raises(us.EmptyError, match="the other end of the range cannot be estimated"):
        us.timeline(log, "popular", reference=3, both_ends=True)


# the command


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("logs") / "log.parquet"
    pq.write_table(table, path)
    return str(path)


def test_the_command_gives_the_rows_of_the_library(path: str, log: us.Log, tmp_path: Path) -> None:
    output = str(tmp_path / "t.parquet")
    flags = ["timeline", path, "--reference", "300", "--to", "450", "--every", "50", "-r", "knn", "-r", "popular"]
    flags += ["--both-ends", "-o", output]
    printed = answer(*flags)
    library = us.timeline(log, MODELS, **GRID, both_ends=True)
    assert printed["rows"] == library.rows.to_pylist()
    assert printed["options"]["both_ends"] == json.loads(json.dumps(library.other_end))
    shown = run(*flags, "--resume").stdout
    text = " ".join(shown.split())
    assert OTHER_NAME in text
    assert "nothing was computed" in text
    for end, view in (("as logged", "all"), ("other end", "thinned")):
        (last,) = [
            row["value"]
            for row in printed["rows"]
            if (row["at"], row["recommender"], row["view"], row["weighting"]) == (450, "knn", view, "raw")
        ]
        lines = [line.split() for line in shown.splitlines() if "knn" in line]
        assert any(words[:3] == ["knn", *end.split()] and f"{last:.4f}" in words for words in lines)


def test_a_reference_file_is_refused_with_one_message_and_no_file(path: str, tmp_path: Path) -> None:
    mix, output = str(tmp_path / "mix.parquet"), tmp_path / "t.parquet"
    assert run("marginal", path, "--at", "300", "-o", mix).exit_code == 0
    message = refused("timeline", path, "--reference", mix, "-r", "popular", "--both-ends", "-o", str(output))
    assert "--both-ends needs a reference that is a date of the log" in message
    assert not output.exists()


# pictures


def test_the_chart_draws_a_band_from_one_re_weighted_end_to_the_other(both: Timeline) -> None:
    spec = both.plot("hit@5").to_dict()
    drawn = [row for rows in spec["datasets"].values() for row in rows if "shown" in row]
    scores = {
        (row["at"], row["recommender"], row["view"]): row["value"]
        for row in both.rows.to_pylist()
        if row["weighting"] == "weighted" and row["top"] is None
    }
    assert len(drawn) == len(scores)
    for row in drawn:
        logged, other = (scores[row["at"], row["name"], view] for view in ("all", "thinned"))
        if row["kind"] == "re-weighted":
            assert (row["value"], row["low"], row["high"]) == pytest.approx((logged, logged, other), rel=1e-6)
        else:
            assert (row["kind"], row["low"], row["high"]) == (OTHER_NAME, None, None)
            assert row["value"] == pytest.approx(other, rel=1e-6)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.mark.parametrize("width", [1000, 390])
def test_the_page_says_in_words_what_its_band_is_and_fits_the_screen(
    both: Timeline, browser: Any, tmp_path: Path, width: int
) -> None:
    path = tmp_path / "page.html"
    make_timeline_page(both).write(path)
    with visit(browser, path, width=width) as seen:
        page = seen.page
        boxes = page.locator(".toggles bdi").all_inner_texts()
        assert {"re-weighted", OTHER_NAME} <= set(boxes)
        label = page.locator(".toggles bdi", has_text=OTHER_NAME).first
        assert label.evaluate("e => e.scrollWidth <= Math.ceil(e.getBoundingClientRect().width)")  # not cut
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        text = " ".join(page.inner_text("body").split())
        assert f"dashed lines {OTHER_NAME}" in text
        assert "a stand-in for production, than interactions before it did" in text
        areas = page.locator(".chart svg .mark-area path").count()
        assert areas >= len(MODELS)
        seen.require_quiet()
