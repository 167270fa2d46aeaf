"""Long work is announced, and cut where nobody asked for all of it: by counts, never by a clock."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main
from unskew.errors import CostNotice, UnskewWarning
from unskew.evaluation import selection_options
from unskew.evaluation.selection_options import SelectionOptions, WorkEstimate
from unskew.pages import log_page
from unskew.pages.log_page import make_log_page
from unskew.recommend.calls import Cost, LogSize, Named, estimate_cost
from unskew.recommend.function import FunctionRecommender


@pytest.fixture(scope="module")
def log() -> us.Log:
    return us.simulate(users=300, items=60, seed=2).log


@pytest.fixture
def everything_takes_hours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(selection_options, "TOO_LONG", 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostNotice)
        yield


def test_the_size_of_a_log_is_what_a_dense_table_says(log: us.Log) -> None:
    snapshot = log.at(480)
    held = us.recommend.Batch.of(snapshot).matrix().toarray() > 0
    size = LogSize.of(snapshot)
    assert size == (held.any(axis=0).sum(), held.sum(), (held.sum(axis=1) ** 2).sum())


def test_an_inverse_costs_the_cube_of_its_items_and_a_limit_of_items_limits_it() -> None:
    small, large = LogSize(1000, 10**6, 1e8), LogSize(2000, 10**6, 1e8)
    assert us.EASE().estimate_cost(large).fit == pytest.approx(8 * us.EASE().estimate_cost(small).fit)
    assert us.EASE(max_items=1000).estimate_cost(large) == us.EASE().estimate_cost(small)


def test_a_name_changes_no_cost_and_a_stranger_is_guessed() -> None:
    size = LogSize(1000, 10**6, 1e8)
    assert estimate_cost([Named(us.ItemKNN(50), "mine")], size) == us.ItemKNN(50).estimate_cost(size)
    stranger = FunctionRecommender(lambda profile, k: [])
    assert estimate_cost([stranger], size).rank > estimate_cost([us.ItemKNN(50)], size).rank


def test_the_work_of_dates_adds_up_and_folds_fit_again(log: us.Log) -> None:
    dates, models = [log.at(300), log.at(480)], [us.EASE()]
    both = WorkEstimate.of(models, dates, SelectionOptions())
    one, other = (WorkEstimate.of(models, [date], SelectionOptions()) for date in dates)
    assert both.pairs == one.pairs + other.pairs
    assert both.cost.rank == pytest.approx(one.cost.rank + other.cost.rank, rel=0.2)  # items of the last date
    assert WorkEstimate.of(models, dates, SelectionOptions(folds=5)).cost.fit == pytest.approx(5 * both.cost.fit)
    half = replace(both, sample=both.pairs // 4)
    assert half.seconds == pytest.approx(both.cost.fit + both.cost.rank / 2, rel=0.02)


@pytest.mark.usefixtures("everything_takes_hours")
def test_where_all_would_take_hours_pairs_are_drawn_and_that_is_said(log: us.Log) -> None:
    drawn = us.report(log, "popular", at=480, reference=300, seed=3)
    asked = us.report(log, "popular", at=480, reference=300, seed=3, sample=selection_options.DRAWN)
    assert [s.value for s in drawn.scores] == [s.value for s in asked.scores]
    assert [s.pairs for s in drawn.scores] == [selection_options.DRAWN] * 3
    assert drawn.to_dict()["cost"]["sample"] == selection_options.DRAWN
    assert "are drawn at each date" in drawn.notes[0]
    assert not asked.notes


@pytest.mark.usefixtures("everything_takes_hours")
@pytest.mark.parametrize("options", [{"sample": "all"}, {"sample": None}, {"refit": 10}, {"metric": "user-hit@5"}])
def test_whoever_asks_for_all_pairs_or_needs_them_gets_them(log: us.Log, options: dict[str, Any]) -> None:
    found = us.report(log, "popular", at=480, reference=300, **options)
    assert found.to_dict()["cost"]["sample"] is None
    assert found.scores[0].pairs == log.at(300).sizes().sum()


@pytest.mark.usefixtures("everything_takes_hours")
def test_a_timeline_that_drew_pairs_goes_on_drawing_them(
    log: us.Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "timeline.parquet"
    first = us.timeline(log, "popular", reference=300, end=400, every=50, output=path)
    assert first.options["sample"] == selection_options.DRAWN
    monkeypatch.setattr(selection_options, "TOO_LONG", 1e9)
    longer = us.timeline(log, "popular", reference=300, end=450, every=50, output=path, resume=True)
    assert (longer.options["sample"], longer.computed) == (selection_options.DRAWN, 1)
    assert us.timeline(log, "popular", reference=300, end=400, every=50, sample="all").options["sample"] is None


def test_what_takes_long_is_announced_before_it_begins(log: us.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_options, "WORTH_SAYING", 0.0)
    with pytest.warns(
        CostNotice, match=r"takes about .* on two cores, .* to fit models at 2 dates \(from counts\)"
    ):
        us.report(log, "popular", at=480, reference=300, refit=0)


class Counting:
    """Recommends nothing, and counts how often it was fitted."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.fits: list[Any] = []
        self.seconds = seconds

    def __str__(self) -> str:
        return "counting"

    def estimate_cost(self, size: LogSize) -> Cost:
        return Cost(self.seconds, 0.0)

    def fit(self, snapshot: us.Snapshot) -> Counting:
        self.fits.append(snapshot.at)
        return self

    def recommend(self, profiles: Any, k: int) -> Any:
        import numpy as np

        return np.full((len(profiles), k), -1)


def test_a_page_fits_a_model_once_at_each_of_its_dates(log: us.Log) -> None:
    model = Counting()
    made = make_log_page(log, {"counting": model}, at=480, reference=300, every=60, refit=0, quick=True)
    assert sorted(model.fits) == made.timeline.dates == [300, 360, 420, 480]


def test_a_page_has_fewer_dates_where_each_takes_long_and_says_so(log: us.Log) -> None:
    model = Counting(seconds=log_page.WORTH_WAITING / 2)
    warnings.simplefilter("ignore", CostNotice)
    with pytest.warns(UnskewWarning, match="have 3 dates instead of .* since fitting counting takes about 5 min"):
        made = make_log_page(log, {"counting": model}, at=480, reference=300, refit=0)
    assert len(made.timeline.dates) == 3
    assert (made.timeline.dates[0], made.timeline.dates[-1]) == (300, 480)


def test_commands_say_what_they_draw_and_take_all(
    tmp_path: Path, log: us.Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection_options, "TOO_LONG", 0.0)
    log.save(tmp_path / "log.arrow")
    command = [
        "evaluate",
        str(tmp_path / "log.arrow"),
        "--reference",
        "300",
        "--at",
        "480",
        "-r",
        "popular",
        "--json",
    ]
    done = CliRunner().invoke(main, command)
    assert json.loads(done.stdout)["cost"]["sample"] == selection_options.DRAWN
    assert "--sample all ranks them all" in done.stderr
    assert "warning" not in done.stderr
    everything = CliRunner().invoke(main, [*command, "--sample", "all"])
    assert json.loads(everything.stdout)["cost"]["sample"] is None
    wrong = CliRunner().invoke(main, [*command, "--sample", "some"])
    assert (wrong.exit_code, "neither a number of pairs nor 'all'" in wrong.stderr) == (2, True)
