"""Timelines under a time split and under leave-last-out: each row is that of `evaluate` at its date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import unskew as us
from tests.test_timeline import LISTS, LOGGED, rows, same
from unskew.errors import InputError, PolicyError
from unskew.over_time import Timeline

DATES = [380, 400, 430]
ABSOLUTE: dict[str, Any] = {"after": 350}
ROLLING: dict[str, Any] = {"after": "-40"}
LAST: dict[str, Any] = {"leave_last_out": True}


@pytest.fixture(scope="module")
def log() -> us.Log:
    return us.read_log(LOGGED)


@pytest.mark.parametrize("how", [ABSOLUTE, ROLLING, LAST])
@pytest.mark.filterwarnings("ignore:with one held-out item")
def test_each_row_is_that_of_evaluate_with_weights_fitted_to_what_is_held_out(
    log: us.Log, how: dict[str, Any]
) -> None:
    models = {**LISTS, "popular": "popular"}
    made = us.timeline(log, models, reference=300, dates=DATES, metric=["hit@5", "user-ndcg@5"], top=3, **how)
    last: dict[int | None, us.ItemWeights | None] = {None: None, 3: None}
    for at in DATES:
        for top, start in list(last.items()):
            chosen: dict[str, Any] = {} if top is None else {"top": top, "method": "descent"}
            last[top] = us.fit_weights(log.at(at), log.at(300), warm_start=start, **how, **chosen)
        found = rows(made, at=at)
        assert len(found) == 3 * (3 + 1)
        for row in found:
            fitted = last[row["top"]]
            assert fitted is not None
            used = fitted if row["weighting"] == "weighted" else None
            wanted = row["metric"].replace("recall", "hit")
            score = us.evaluate(models[row["recommender"]], log.at(at), weights=used, metric=wanted, **how)
            assert row["metric"] == score.metric
            assert (row["value"], row["low"], row["high"]) == (score.value, score.low, score.high)
            bound = fitted.report.bound_before if used is None else fitted.bound
            assert row["bound"] == pytest.approx(bound, abs=1e-12)
    names = {row["metric"] for row in rows(made)}
    assert names == {"hit@5" if how is LAST else "recall@5", "user-ndcg@5"}


def test_the_first_date_has_the_scores_of_the_report(log: us.Log) -> None:
    made = us.timeline(log, "popular", reference=300, dates=DATES, **ABSOLUTE)
    for k, at in enumerate(DATES):
        found = us.report(log, "popular", at=at, reference=300, refit=0, **ABSOLUTE)
        raw, weighted = rows(made, at=at)
        assert (raw["value"], raw["low"]) == (found.scores[1].value, found.scores[1].low)
        near = 0.0 if k == 0 else 0.01  # later dates start from the weights of the one before
        assert weighted["value"] == pytest.approx(found.scores[2].value, abs=near)
        assert found.reference_after == 300 - (at - 350)


@pytest.mark.filterwarnings("ignore:with one held-out item")
def test_how_items_are_held_out_is_in_the_file_and_another_way_is_not_resumed(log: us.Log, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    run: dict[str, Any] = {"reference": 300, "output": path}
    us.timeline(log, LISTS, dates=DATES[:2], **ROLLING, **run)
    assert Timeline.load(path).options["after"] == "-40"
    others: list[tuple[dict[str, Any], str]] = [({}, "no after"), (ABSOLUTE, "after=350"), (LAST, "no after")]
    for how, told in others:
        with pytest.raises(PolicyError, match=f"was made with after='-40', not {told}"):
            us.timeline(log, LISTS, dates=DATES, **how, **run, resume=True)
    resumed = us.timeline(log, LISTS, dates=DATES, **ROLLING, **run, resume=True)
    assert resumed.computed == 1
    assert same(resumed, us.timeline(log, LISTS, dates=DATES, reference=300, **ROLLING))
    assert us.timeline(log, LISTS, reference=300, dates=DATES[:1]).options["after"] is None


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"after": 380}, "after=380 is not before 380, a date of the timeline: begin later with start"),
        ({"after": "-381"}, "at 380 the time split would begin at -1, before the log does"),
        ({"after": 20}, "20 is so long before .* the same length of time before 300 would begin before the log"),
        ({"after": "-30d"}, "after='-30d': '30d' is a step of the calendar"),
        ({"after": 350, "leave_last_out": True}, "give one of the two"),
        ({"after": 350, "sample": 50, "metric": "user-hit@5"}, "leave out sample"),
    ],
)
def test_dates_at_which_nothing_can_be_held_out_are_refused_before_the_work(
    log: us.Log, how: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        us.timeline(log, lambda profile, k: 1 / 0, reference=300, dates=DATES, **how)


def test_one_warning_says_that_weights_have_nothing_to_choose_from(log: us.Log) -> None:
    with pytest.warns(us.UnskewWarning, match="nothing for item weights to choose from") as caught:
        us.timeline(log, LISTS, reference=300, dates=DATES, **LAST)
    assert len(caught) == 1
