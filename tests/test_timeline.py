"""Timelines: against `fit_weights` and `evaluate` date by date, against plain loops, and after interruptions."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.scoring import Spy, hit, log_of, mrr, pair_shares, score_by_hand, stepping, taken
from unskew.arrays.types import Codes
from unskew.data import Recency
from unskew.data.times import Moment
from unskew.over_time import Timeline
from unskew.over_time import timeline as over_time
from unskew.over_time.timeline import NEARBY
from unskew.over_time.timeline_spec import seed_at
from unskew.progress import Progress, reporting
from unskew.recommend.contract import Batch, Traits
from unskew.storage.tables import seal
from unskew.weights import FitOptions

COLUMNS = [
    "at", "recommender", "metric", "view", "weighting", "top", "value", "low", "high", "divergence", "bound",
    "too_few_hits",
    "held_out",
]  # fmt: skip
LOGGED = us.simulate(users=700, items=120, seed=3).tables["log"]
LISTS = {"g1": "constant:1,3,5,7,9", "g2": "constant:0,2,4,6,8"}
TOPS = [3, 10]


@pytest.fixture(scope="module")
def log() -> us.Log:
    return us.read_log(LOGGED)


@pytest.fixture(scope="module")
def made(log: us.Log) -> Timeline:
    return us.timeline(
        log, LISTS, reference=300, end=460, every=20, metric=["hit@5", "mrr@3"], top=TOPS, items=[1, 2]
    )


def rows(made: Timeline, **only: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = made.rows.to_pylist()
    return [row for row in found if all(row[name] == value for name, value in only.items())]


def same(one: Timeline, other: Timeline) -> bool:
    """Whether both have the same bits in every table."""
    return bool(one.rows.equals(other.rows) and one.probabilities.equals(other.probabilities))


# the numbers


def test_rows_are_sorted_by_date_then_in_the_order_given(made: Timeline) -> None:
    assert made.rows.column_names == COLUMNS
    assert made.rows.schema.types[:6] == [pa.int64(), *[pa.string()] * 4, pa.int64()]
    dates = [*range(300, 460, 20), 460]
    weightings = [("raw", None), ("weighted", None), ("weighted", 3), ("weighted", 10)]
    assert [tuple(row.values())[:6] for row in rows(made)] == [
        (at, name, metric, "all", *weighting)
        for at in dates
        for name in LISTS
        for metric in ("hit@5", "mrr@3")
        for weighting in weightings
    ]
    assert made.dates == dates
    assert repr(made) == "Timeline(9 dates from 300 to 460: 144 rows of g1, g2)"


def test_every_row_is_that_of_evaluate_with_weights_fitted_from_those_of_the_date_before(
    log: us.Log, made: Timeline
) -> None:
    before = log.at(300)
    last: dict[int | None, us.ItemWeights | None] = dict.fromkeys([None, *TOPS])
    for at in made.dates:
        now = log.at(at)
        for top, start in list(last.items()):
            how: dict[str, Any] = {} if top is None else {"top": top, "method": "descent"}
            last[top] = us.fit_weights(now, before, warm_start=start, **how)
        for row in rows(made, at=at):
            used = last[row["top"]] if row["weighting"] == "weighted" else None
            score = us.evaluate(LISTS[row["recommender"]], now, weights=used, metric=row["metric"])
            assert (row["value"], row["low"], row["high"]) == (score.value, score.low, score.high)
            fitted = last[row["top"]]
            assert fitted is not None
            after = used is not None
            assert row["divergence"] == (fitted.divergence if after else fitted.report.divergence_before)
            assert row["bound"] == (fitted.bound if after else fitted.report.bound_before)


@pytest.mark.parametrize(
    "options",
    [
        {"min_items": 3},
        {"users": "both"},
        {"new_items": "keep"},
        {"new_items": "drop"},
        {"max_passes": 3, "tol": 1e-9},
        {"min_items": 2, "users": "both", "new_items": "keep", "tol": 1e-6, "max_passes": 900, "method": "lbfgs"},
    ],
)
@pytest.mark.filterwarnings("ignore:.*passes")
def test_options_of_fits_are_those_of_fit_weights(log: us.Log, options: dict[str, Any]) -> None:
    shared = {name: value for name, value in options.items() if name != "method"}
    made = us.timeline(log, LISTS, reference=300, dates=[360, 440], top=3, **options)
    whole = us.timeline(log, LISTS, reference=300, dates=[360, 440], top=3, options=FitOptions(**shared),
                        method=options.get("method", "descent"))  # fmt: skip
    assert same(made, whole)
    last: dict[int | None, us.ItemWeights | None] = {None: None, 3: None}
    unfinished = []
    for at in (360, 440):
        now = log.at(at)
        for top, start in list(last.items()):
            chosen = {"top": top, "method": options.get("method", "descent")} if top else {}
            last[top] = us.fit_weights(now, log.at(300), warm_start=start, **shared, **chosen)
        fits = [fitted for fitted in last.values() if fitted is not None]
        assert all(fitted.options.min_items == options.get("min_items", 1) for fitted in fits)
        unfinished += [at] * (not all(fitted.report.converged for fitted in fits))
        for row in rows(made, at=at):
            fitted = last[row["top"]]
            assert fitted is not None
            used = fitted if row["weighting"] == "weighted" else None
            least = options.get("min_items", 1)
            score = us.evaluate(LISTS[row["recommender"]], now, weights=used, min_items=least)
            assert (row["value"], row["low"], row["high"]) == (score.value, score.low, score.high)
            report = fitted.report
            before, after = (report.divergence_before, report.bound_before), (fitted.divergence, fitted.bound)
            assert (row["divergence"], row["bound"]) == (before if used is None else after)
    assert made.unfinished == tuple(unfinished)
    assert bool(unfinished) == (options.get("max_passes") == 3)
    assert {name: made.options[name] for name in shared} == shared


def test_options_of_fits_change_the_rows_and_another_is_not_resumed(log: us.Log, tmp_path: Path) -> None:
    run: dict[str, Any] = {"reference": 300, "output": tmp_path / "t.parquet"}
    plain = us.timeline(log, LISTS, dates=[360], **run)
    for options in ({"min_items": 3}, {"users": "both"}, {"new_items": "keep"}, {"max_passes": 400}):
        told = f"cannot be continued: it was made with .*, not {next(iter(options))}="
        with pytest.raises(us.PolicyError, match=told):
            us.timeline(log, LISTS, dates=[360, 440], **run, **options, resume=True)
    other = us.timeline(log, LISTS, dates=[360], reference=300, min_items=3)
    assert rows(other, weighting="raw", at=360)[0]["value"] != rows(plain, weighting="raw", at=360)[0]["value"]
    assert rows(other, weighting="weighted") != rows(plain, weighting="weighted")


def test_a_warm_start_changes_scores_by_no_more_than_the_tolerance(log: us.Log, made: Timeline) -> None:
    for at in made.dates:
        cold = us.fit_weights(log.at(at), log.at(300))
        for name, spec in LISTS.items():
            (row,) = rows(made, at=at, recommender=name, metric="hit@5", weighting="weighted", top=None)
            assert row["value"] == pytest.approx(us.evaluate(spec, log.at(at), weights=cold).value, abs=2e-4)


def test_weights_that_run_off_start_from_nearby_at_the_next_date() -> None:
    events = [("ann", "x", 0), ("bob", "y", 0), ("ann", "y", 1), ("cid", "y", 1), ("dan", "y", 1), ("eve", "y", 2)]
    log = log_of(events)  # half of the mix was x, which only ann can give now
    far = us.fit_weights(log.at(2), log.at(0), tol=1e-9)
    assert far.status == "certified"
    assert np.abs(far.log_weights).max() > NEARBY
    made = us.timeline(log, "constant:x", reference=0, tol=1e-9)
    assert 0 < np.abs(made.starts[None]).max() <= NEARBY
    (last,) = rows(made, at=2, weighting="weighted")
    assert last["value"] == pytest.approx(0.2, abs=1e-6)


def test_the_weighted_score_of_a_constant_list_stays_within_the_bound_of_its_first(made: Timeline) -> None:
    for name in LISTS:
        for row in rows(made, recommender=name, weighting="weighted"):
            (first,) = rows(made, recommender=name, weighting="raw", metric=row["metric"], at=300)
            assert abs(row["value"] - first["value"]) <= row["bound"] + 1e-12
            assert row["top"] is not None or row["bound"] <= 2e-4
    assert max(row["bound"] for row in rows(made, weighting="raw")) > 0.05


def test_probabilities_are_those_of_the_marginals(log: us.Log, made: Timeline) -> None:
    assert made.probabilities.column_names == ["at", "item", "weighting", "top", "probability"]
    found = made.probabilities.to_pylist()
    assert len(found) == 9 * 2 * 4
    reference = log.at(300).marginal().to_dict()
    for row in found:
        if row["weighting"] == "raw":
            assert row["probability"] == log.at(row["at"]).marginal().to_dict()[row["item"]]
        elif row["top"] is None:
            assert row["probability"] == pytest.approx(reference[row["item"]], abs=2e-4)


def test_raw_scores_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(1)
    events = [(str(rng.integers(8)), int(rng.integers(6)), int(rng.integers(10))) for _ in range(60)]
    log, lists = log_of(events), stepping(range(6))
    made = us.timeline(log, lists, reference=5, start=4, metric=["hit@2", "mrr@3"])
    for row in rows(made, weighting="raw"):
        profiles = taken(events, row["at"])
        k, metric = (2, hit(2)) if row["metric"] == "hit@2" else (3, mrr(3))
        expected = score_by_hand(profiles, lists, metric, 3, pair_shares(profiles))
        assert row["value"] == pytest.approx(expected, abs=1e-12), k


@pytest.mark.parametrize("metric", ["hit@5", "mrr@3"])
def test_sampled_rows_are_those_of_evaluate_with_the_seed_of_their_date(log: us.Log, metric: str) -> None:
    options: dict[str, Any] = {"reference": 300, "metric": metric, "sample": 300}
    made = us.timeline(log, LISTS, dates=[320, 440], top=3, seed=7, **options)
    assert same(made, us.timeline(log, LISTS, dates=[320, 440], top=3, seed=7, **options))
    assert not same(made, us.timeline(log, LISTS, dates=[320, 440], top=3, seed=8, **options))
    seeds = {at: seed_at(7, Moment(at, at)) for at in (320, 440)}
    assert len(set(seeds.values())) == 2
    for row in rows(made, weighting="raw"):
        score = us.evaluate(
            LISTS[row["recommender"]], log.at(row["at"]), metric=metric, sample=300, seed=seeds[row["at"]]
        )
        assert (row["value"], row["low"], row["high"]) == (score.value, score.low, score.high)
    cold = us.fit_weights(log.at(320), log.at(300))
    (row,) = rows(made, at=320, recommender="g1", weighting="weighted", top=None)
    score = us.evaluate(LISTS["g1"], log.at(320), weights=cold, metric=metric, sample=300, seed=seeds[320])
    assert (row["value"], row["low"], row["high"]) == (score.value, score.low, score.high)


def test_a_date_alone_has_the_draws_that_it_has_among_others(log: us.Log) -> None:
    several = us.timeline(log, LISTS, reference=300, dates=[320, 380, 440], sample=200)
    alone = us.timeline(log, LISTS, reference=300, dates=[380], sample=200)
    assert rows(alone, weighting="raw") == rows(several, at=380, weighting="raw")


def test_models_are_fitted_again_at_every_date(log: us.Log) -> None:
    made = us.timeline(log, ["popular", us.ItemKNN(neighbours=5)], reference=300, dates=[300, 400])
    for row in rows(made, weighting="raw"):
        spec = "popular" if row["recommender"] == "popular" else us.ItemKNN(neighbours=5)
        score = us.evaluate(spec, log.at(row["at"]))
        assert (row["value"], row["low"], row["high"]) == (score.value, score.low, score.high)


def test_priors_and_other_references_go_where_they_go_in_fit_weights(log: us.Log) -> None:
    half = Recency(50)
    made = us.timeline(log, LISTS, reference=300, dates=[400], p_item=half)
    now, before = (log.at(at, p_item=half) for at in (400, 300))
    fitted = us.fit_weights(now, before)
    assert [row["bound"] for row in rows(made, recommender="g1")] == [fitted.report.bound_before, fitted.bound]
    plain = us.timeline(log, LISTS, reference=300, dates=[400])
    for reference in (log.at(300), log.at(300).marginal(), log.at(300).marginal().to_dict()):
        other = us.timeline(log, LISTS, reference=reference, dates=[400])
        assert [row["value"] for row in rows(other)] == pytest.approx(
            [row["value"] for row in rows(plain)], abs=1e-12
        )
    uneven = us.timeline(log, LISTS, reference=300, dates=[400], p_user={u: 1 + u % 3 for u in log.users})
    assert rows(uneven)[0]["value"] != rows(plain)[0]["value"]


def test_dates_are_told_as_the_log_tells_them(log: us.Log) -> None:
    days = [date(2024, 1, 1) + timedelta(days=int(t)) for t in LOGGED.column("time").to_numpy()]
    dated = us.read_log(LOGGED.set_column(2, "time", pa.array(days)))
    made = us.timeline(dated, LISTS, reference="2024-10-27", end="2024-12-01", every="1mo")
    assert made.dates == ["2024-10-27", "2024-11-27", "2024-12-01"]
    numbers = us.timeline(log, LISTS, reference=300, dates=[300, 331, 335])
    assert made.rows.drop(["at"]).equals(numbers.rows.drop(["at"]))


def test_a_world_that_does_not_change_has_a_flat_timeline() -> None:
    log = us.read_log({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"], "time": [0.0, 0.0, 0.0, 0.0]})
    with pytest.warns(us.UnskewWarning, match="after the log ends"):
        made = us.timeline(log, "constant:a", reference=0, end=1.0, every=0.5, metric="hit@1")
    assert [row["value"] for row in rows(made)] == [0.5] * 6
    assert [row["at"] for row in rows(made, weighting="raw")] == [0.0, 0.5, 1.0]
    assert {row["bound"] for row in rows(made)} == {0.0}


def test_frames_come_back_in_the_library_of_the_log() -> None:
    import polars

    log = us.read_log(polars.from_arrow(LOGGED))
    assert isinstance(us.timeline(log, LISTS, reference=300, dates=[301]).to_frame(), polars.DataFrame)


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    table = us.simulate(users=9000, items=900, seed=3).tables["log"]
    timelines = []
    for threads in ("1", "2"):
        monkeypatch.setenv("UNSKEW_THREADS", threads)
        log = us.read_log(table)  # without what another log has computed already
        timelines.append(
            us.timeline(log, ["constant:1,3,5", "popular"], reference=300, dates=[300, 340, 440], top=[5])
        )
    one, two = timelines
    assert same(one, two)
    assert all(np.array_equal(one.starts[top], two.starts[top]) for top in (None, 5))


def test_the_grid_begins_at_the_date_of_a_reference_that_is_no_snapshot(log: us.Log) -> None:
    mix = log.at(440).marginal()
    assert us.timeline(log, "popular", reference=mix, every=30).dates[0] == 440
    other = us.read_log(LOGGED.slice(0, len(LOGGED) - 1))
    assert us.timeline(log, "popular", reference=other.at(440), every=30).dates[0] == 440
    assert us.timeline(log, "popular", reference=mix.to_dict(), start=450, every=30).dates[0] == 450
    with pytest.raises(us.UnskewError, match=r"the reference has no date: say where the grid begins with start$"):
        us.timeline(log, "popular", reference=mix.to_dict())
    late = us.read_log(LOGGED.filter(pa.compute.greater(LOGGED.column("time"), 445)))
    with pytest.raises(
        us.UnskewError, match=r"the reference date 440 is before the log begins: .*: say where .* with start$"
    ):
        us.timeline(late, "popular", reference=mix)
    with pytest.raises(
        us.UnskewError, match=r"the reference date 2024-01-01 is not a time of this log.* with start$"
    ):
        us.timeline(log, "popular", reference=replace(mix, at="2024-01-01"))
    end = r"the reference 10000 is after the end of the log, \d+: .*a later end"
    with pytest.warns(us.UnskewWarning, match="after the log ends"), pytest.raises(us.UnskewError, match=end):
        us.timeline(log, "popular", reference=10_000)


def test_raw_rows_at_the_reference_have_no_negative_divergence(made: Timeline) -> None:
    assert [row["divergence"] for row in rows(made, at=300, weighting="raw")] == [0.0] * 4
    assert min(row["divergence"] for row in rows(made)) >= 0


def test_one_file_has_one_form_of_each_date(tmp_path: Path) -> None:
    times = pa.array(LOGGED.column("time").to_numpy() * 86_400_000_000, pa.timestamp("us", tz="UTC"))
    timed = us.read_log(LOGGED.set_column(2, "time", times))
    run: dict[str, Any] = {"every": "7d", "output": tmp_path / "t.parquet"}
    us.timeline(timed, "popular", reference="1971-04-01", end="1971-04-20", **run)
    made = us.timeline(timed, "popular", reference="1971-04-01T23:59:59.999999", **run, resume=True)
    assert made.dates[:5] == ["1971-04-01", "1971-04-08", "1971-04-15", "1971-04-20", "1971-04-22"]
    assert len({str(at)[:10] for at in made.dates}) == len(made.dates)
    assert made.dates[-1] == timed.last


# the file


class Stopping:
    """Always the same list; Ctrl-C is pressed when it is fitted for the time after `calls` more."""

    def __init__(self, calls: int = 10**9) -> None:
        self.calls = calls

    def __str__(self) -> str:
        return "stopping"

    def fit(self, snapshot: us.Snapshot, /) -> Self:
        if self.calls == 0:
            raise KeyboardInterrupt
        self.calls -= 1
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        return np.tile(np.arange(k), (len(profiles), 1))

    traits = Traits(may_recommend_profile=True)


Runner = Callable[..., Timeline]
Files = dict[str, Any]  # paths


@pytest.fixture
def files(tmp_path: Path, writing: None) -> Files:
    return {"output": tmp_path / "t.parquet", "probabilities": tmp_path / "p.parquet"}


@pytest.fixture(params=[None, 150], ids=["exhaustive", "sampled"])
def runner(request: pytest.FixtureRequest, log: us.Log) -> Runner:
    def run(recommender: Any = None, **more: Any) -> Timeline:
        options = {"reference": 300, "end": 440, "every": 20, "top": [5], "items": [1], "sample": request.param}
        return us.timeline(log, recommender or Stopping(), **{**options, **more})

    return run


@pytest.fixture(params=[0.0, 1e9], ids=["written often", "written at the end"])
def writing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_time, "EVERY", request.param)


def test_a_run_that_was_interrupted_again_and_again_is_the_same_to_the_last_bit(
    runner: Runner, files: Files
) -> None:
    whole = runner()
    for calls, done in ((3, 3), (0, 3), (1, 4), (2, 6)):
        with pytest.raises(
            KeyboardInterrupt, match=f"{done} of 8 dates are in .*t.parquet; use resume=True to do the rest"
        ):
            runner(Stopping(calls), **files, resume=True)
        part = Timeline.load(files["output"], probabilities=files["probabilities"])
        assert (len(part.dates), part.complete) == (done, False)
        assert part.rows.equals(whole.rows.slice(0, len(part)))
    resumed = runner(**files, resume=True)
    assert same(resumed, whole)
    assert (resumed.computed, resumed.complete) == (2, True)
    assert same(Timeline.load(files["output"], probabilities=files["probabilities"]), whole)
    assert sorted(path.name for path in files["output"].parent.iterdir()) == ["p.parquet", "t.parquet"]


def test_a_file_with_all_dates_is_left_alone(runner: Runner, files: Files) -> None:
    first = runner(**files)
    stamp = files["output"].stat().st_mtime_ns
    again = runner(Stopping(0), **files, resume=True)
    assert same(again, first)
    assert (again.computed, again.complete) == (0, True)
    assert files["output"].stat().st_mtime_ns == stamp


def test_a_later_end_goes_on_as_if_it_had_been_asked_for_at_once(runner: Runner, files: Files) -> None:
    runner(**files, end=380)
    longer = runner(**files, resume=True)
    assert longer.computed == 3
    assert same(longer, runner())


def test_a_finer_grid_computes_only_what_lies_between(runner: Runner, files: Files) -> None:
    coarse = runner(**files)
    finer = runner(**files, resume=True, every=10)
    assert finer.computed == 7
    assert finer.dates == list(range(300, 450, 10))
    for at in coarse.dates:
        assert rows(finer, at=at) == rows(coarse, at=at)
    whole = runner(every=10)
    for one, other in zip(rows(finer), rows(whole), strict=True):
        if one["weighting"] == "raw":
            assert one == other
    with pytest.raises(KeyboardInterrupt):
        runner(Stopping(2), **files, resume=True, every=5)
    assert len(runner(**files, resume=True, every=5).dates) == 29


def test_without_resume_a_file_is_replaced_once_all_dates_are_done_and_not_before(
    runner: Runner, files: Files
) -> None:
    runner(**files, end=400)
    kept = {path: path.read_bytes() for path in files.values()}
    with pytest.raises(
        KeyboardInterrupt,
        match=r"t\.parquet was left unchanged, since it is replaced only once .*; use resume=True to",
    ):
        runner(Stopping(3), **files)
    assert {path: path.read_bytes() for path in kept} == kept
    again = runner(**files, tol=0.01)
    assert (again.computed, len(again.dates)) == (8, 8)
    assert same(Timeline.load(files["output"], probabilities=files["probabilities"]), again)


def test_a_foreign_file_of_probabilities_is_refused(runner: Runner, files: Files, tmp_path: Path) -> None:
    other = {"output": tmp_path / "o.parquet", "probabilities": tmp_path / "q.parquet"}
    runner(**files, end=320)
    runner(**other, end=320, tol=0.01)
    mixed = {**files, "probabilities": other["probabilities"]}
    with pytest.raises(us.UnskewError, match=r"q.parquet was made with other options than .*t.parquet"):
        runner(**mixed, resume=True)
    with pytest.raises(us.UnskewError, match="was made with other options than"):
        Timeline.load(files["output"], probabilities=other["probabilities"])
    whole = pq.read_table(files["probabilities"])
    for part in (whole.slice(0, len(whole) - 1), pa.concat_tables([whole, whole.slice(0, 1)])):
        pq.write_table(seal(part), files["probabilities"])
        with pytest.raises(us.UnskewError, match=r"p.parquet has no probabilities at 3[02]0, but .*t.parquet"):
            runner(**files, resume=True)


def damage(path: Path, change: Callable[[pa.Table, dict[str, Any]], pa.Table]) -> None:
    """Change the rows of a timeline, or what is told about them."""
    table = pq.read_table(path)
    told = json.loads(table.schema.metadata[b"unskew"])
    changed = change(table, told).replace_schema_metadata({b"unskew": json.dumps(told).encode()})
    pq.write_table(seal(changed), path)


def told_as(name: str, value: Any) -> Callable[[pa.Table, dict[str, Any]], pa.Table]:
    def change(table: pa.Table, told: dict[str, Any]) -> pa.Table:
        told[name] = value
        return table

    return change


@pytest.mark.parametrize(
    "change",
    [
        told_as("starts", {}),
        told_as("starts", 3),
        told_as("starts", {"all": ["AAAA", "AAAA"], "5": ["", ""]}),
        told_as("starts", {"most": 1}),
        told_as("items", 7),
        told_as("items", "many"),
        told_as("items", -1),
        told_as("unfinished", 7),
        told_as("options", 7),
        lambda table, told: table.slice(1),
        lambda table, told: pa.concat_tables([table, table]),
        lambda table, told: table.drop(["bound"]),
        lambda table, told: table.drop(["at"]),
        lambda table, told: table.set_column(0, "at", pa.array(["soon"] * len(table))),
        lambda table, told: table.set_column(6, "value", pa.array([None] * len(table), pa.float64())),
    ],
)
def test_a_damaged_file_is_refused(
    log: us.Log, tmp_path: Path, change: Callable[[pa.Table, dict[str, Any]], pa.Table]
) -> None:
    path = tmp_path / "t.parquet"
    options: dict[str, Any] = {"reference": 300, "every": 20, "top": [5], "output": path}
    us.timeline(log, "popular", **options, end=320)
    damage(path, change)
    with pytest.raises(us.UnskewError, match=r"t.parquet is damaged \(.+\): remove it to begin again"):
        us.timeline(log, "popular", **options, end=340, resume=True)


def _rename(name: str) -> Callable[[pa.Table, dict[str, Any]], pa.Table]:
    def change(table: pa.Table, _: dict[str, Any]) -> pa.Table:
        return table.rename_columns([f"{one}_" if one == name else one for one in table.column_names])

    return change


def _cast(name: str, kind: pa.DataType) -> Callable[[pa.Table, dict[str, Any]], pa.Table]:
    def change(table: pa.Table, _: dict[str, Any]) -> pa.Table:
        place = table.column_names.index(name)
        return table.set_column(place, name, table.column(name).cast(kind))

    return change


@pytest.mark.parametrize(
    "change",
    [
        _rename("probability"),
        _rename("weighting"),
        _rename("at"),
        _cast("probability", pa.float32()),
        _cast("top", pa.int32()),
        _cast("weighting", pa.large_string()),
        lambda table, told: table.set_column(4, "probability", pa.array([float("nan")] * len(table))),
        lambda table, told: table.set_column(0, "at", pa.array([[1]] * len(table))),
    ],
)
def test_a_damaged_file_of_probabilities_is_refused(
    runner: Runner, files: Files, change: Callable[[pa.Table, dict[str, Any]], pa.Table]
) -> None:
    runner(**files, end=320)
    damage(files["probabilities"], change)
    with pytest.raises(us.UnskewError, match=r"p\.parquet is damaged \(.+\): remove it to begin again"):
        Timeline.load(files["output"], probabilities=files["probabilities"])
    with pytest.raises(us.UnskewError, match=r"p\.parquet is damaged"):
        runner(**files, end=340, resume=True)


def test_a_timeline_of_another_machine_goes_on_and_one_of_another_reference_does_not(
    log: us.Log, tmp_path: Path
) -> None:
    """The last digits of the probabilities of a reference depend on how a machine adds."""
    path = tmp_path / "t.parquet"
    p = log.at(300).marginal().to_dict()
    run: dict[str, Any] = {"dates": [300, 320], "output": path, "resume": True}
    whole = us.timeline(log, LISTS, reference=us.Marginal.of(p), dates=[300])
    whole.save(path)
    shaken = {item: share * (1 + 1e-15 * (-1) ** k) for k, (item, share) in enumerate(p.items())}
    assert us.timeline(log, LISTS, reference=us.Marginal.of(shaken), **run).computed == 1
    (one, other), *_ = [list(p)[k : k + 2] for k in (0,)]
    moved = {**p, one: p[one] + 1e-7, other: p[other] - 1e-7}
    swapped = {**p, one: p[other], other: p[one]}
    for wrong in (moved, swapped):
        with pytest.raises(us.PolicyError, match=r"it was made when .*reference.* had other content"):
            us.timeline(log, LISTS, reference=us.Marginal.of(wrong), **run)


def test_an_error_on_the_way_names_its_date_and_keeps_what_is_done(log: us.Log, files: Files) -> None:
    class Failing(Stopping):
        def fit(self, snapshot: us.Snapshot, /) -> Self:
            if snapshot.at == 360:
                raise ZeroDivisionError("no luck")
            return self

    with pytest.raises(
        us.UnskewError, match=r"at 360: the recommender stopping failed in fit\(\): ZeroDivisionError"
    ):
        us.timeline(log, Failing(), reference=300, end=400, every=20, output=files["output"])
    assert Timeline.load(files["output"]).dates == [300, 320, 340]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reference": 310}, "reference='300', not reference='310'"),
        ({"metric": "hit@3"}, r"metrics=\['hit@5'\], not metrics=\['hit@3'\]"),
        ({"top": [5, 6]}, r"top=\[5\], not top=\[5, 6\]"),
        ({"sample": 9}, "no sample, not sample=9"),
        ({"level": 0.9}, "level=0.95, not level=0.9"),
        ({"tol": 0.001}, "tol=0.0001, not tol=0.001"),
        ({"p_item": Recency(9)}, "p_item='uniform', not p_item='recency:9'"),
        ({"items": [1, 2]}, r"items=\['1'\], not items=\['1', '2'\]"),
    ],
)
def test_other_options_are_refused(log: us.Log, files: Files, change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"reference": 300, "end": 320, "every": 20, "top": [5], "items": [1]}
    us.timeline(log, "popular", **options, **files)
    with pytest.raises(
        us.UnskewError, match=rf"t.parquet cannot be continued: it was made with {message}: use the options"
    ):
        us.timeline(log, "popular", **{**options, "end": 340, **change}, **files, resume=True)
    with pytest.raises(us.UnskewError, match=r"recommenders=\['popular'\], not recommenders=\['mine: popular'\]"):
        us.timeline(log, {"mine": "popular"}, **options, **files, resume=True)


def test_another_log_is_refused(log: us.Log, files: Files) -> None:
    us.timeline(log, "popular", reference=300, dates=[300], output=files["output"])
    other = us.read_log(LOGGED.slice(0, len(LOGGED) - 1))
    with pytest.raises(us.UnskewError, match="it was computed from another log"):
        us.timeline(other, "popular", reference=300, dates=[300], output=files["output"], resume=True)
    given: Any
    given = {u: 1.0 + (u == 3) for u in log.users}
    run = {"reference": 300, "dates": [300], "output": files["output"].with_name("u.parquet"), "p_user": given}
    us.timeline(log, "popular", **run)
    with pytest.raises(us.UnskewError, match="made when p_user='given' had other content"):
        us.timeline(log, "popular", **{**run, "p_user": dict.fromkeys(log.users, 1.0)}, resume=True)


def test_a_table_of_recommendations_that_has_changed_is_refused(log: us.Log, tmp_path: Path) -> None:
    lists, output = tmp_path / "lists.parquet", tmp_path / "t.parquet"
    users = list(log.users)
    stamp = None
    for items, message in (([1, 2], None), ([2, 1], "made when .*table:.*lists.parquet.* had other content")):
        pq.write_table(pa.table({"user": users, "items": [items] * len(users)}), lists)
        stamp = stamp or lists.stat()
        os.utime(lists, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        run: dict[str, Any] = {"reference": 300, "dates": [300], "output": output, "resume": True}
        if message is None:
            us.timeline(log, f"table:{lists}", **run)
            assert us.timeline(log, f"table:{lists}", **run).computed == 0
        else:
            with pytest.raises(us.UnskewError, match=message):
                us.timeline(log, f"table:{lists}", **run)


def test_a_python_file_that_has_changed_is_refused(log: us.Log, tmp_path: Path) -> None:
    path, spec = tmp_path / "mine.py", f"{tmp_path / 'mine.py'}:Model"
    run: dict[str, Any] = {"reference": 300, "dates": [300], "output": tmp_path / "t.parquet", "resume": True}
    path.write_text("from unskew import Popular as Model\n")
    us.timeline(log, spec, **run)
    assert us.timeline(log, spec, **run).computed == 0
    path.write_text("from unskew import EASE as Model\n")
    with pytest.raises(us.UnskewError, match=r"made when .*mine.py:Model.* had other content"):
        us.timeline(log, spec, **run)


def test_a_log_with_other_users_is_refused(tmp_path: Path) -> None:
    run: dict[str, Any] = {"reference": 300, "dates": [300], "output": tmp_path / "t.parquet"}
    us.timeline(us.read_log(LOGGED), "popular", **run)
    other = pa.array(LOGGED.column("user").to_numpy() + 1)
    renamed = us.read_log(LOGGED.set_column(LOGGED.schema.get_field_index("user"), "user", other))
    with pytest.raises(us.UnskewError, match="it was computed from another log"):
        us.timeline(renamed, "popular", **run, resume=True)


def test_a_file_that_is_no_timeline_is_refused(log: us.Log, tmp_path: Path, files: Files) -> None:
    run: dict[str, Any] = {"reference": 300, "dates": [300], "resume": True, "output": tmp_path / "x.parquet"}
    log.at(300).marginal().save(run["output"])
    with pytest.raises(us.UnskewError, match="holds a marginal, not a timeline: make one in another file"):
        us.timeline(log, "popular", **run)
    us.timeline(log, "popular", reference=300, dates=[300], items=[1], output=tmp_path / "z.parquet",
                probabilities=tmp_path / "y.parquet")  # fmt: skip
    with pytest.raises(us.UnskewError, match="holds probabilities of a timeline, not a timeline"):
        us.timeline(log, "popular", **{**run, "output": tmp_path / "y.parquet"})
    pq.write_table(pa.table({"at": [1]}), run["output"])
    with pytest.raises(us.UnskewError, match="is not a timeline: make one"):
        us.timeline(log, "popular", **run)
    run["output"].write_text("no parquet")
    with pytest.raises(us.UnskewError, match="is not a Parquet file"):
        us.timeline(log, "popular", **run)
    us.timeline(log, "popular", reference=300, dates=[300, 301], items=[1], **files)
    files["probabilities"].unlink()
    us.timeline(log, "popular", reference=300, dates=[300], items=[1], output=tmp_path / "o.parquet",
                probabilities=files["probabilities"])  # fmt: skip
    with pytest.raises(us.UnskewError, match="has no probabilities at 301"):
        us.timeline(log, "popular", reference=300, dates=[300], items=[1], **files, resume=True)


# what is reported, and what is refused


def test_dates_without_convergence_are_kept_and_told_once(log: us.Log) -> None:
    with pytest.warns(us.UnskewWarning, match="at 3 of 4 dates, the first 340, a fit ran out of passes") as told:
        made = us.timeline(log, LISTS, reference=300, end=420, every=40, max_passes=2)
    assert len(told) == 1
    assert str(told[0].message).endswith("Python can allow more passes")
    assert made.unfinished == (340, 380, 420)
    assert len(rows(made)) == 16


def test_only_the_dates_are_counted_in_progress(log: us.Log) -> None:
    class Heard(Progress):
        def __init__(self) -> None:
            self.told: list[Any] = []

        def stage(self, text: str) -> None:
            self.told.append(text)

        def begin(self, text: str, total: int, unit: str) -> None:
            self.told.append((text, total, unit))

        def advance(self, steps: int) -> None:
            self.told.append(steps)

    heard = Heard()
    with reporting(heard):
        us.timeline(log, ["popular", "constant:1"], reference=300, end=303, top=3)
    assert heard.told == [("timeline", 4, "dates"), 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("recommenders", "options", "message"),
    [
        ("popular", {"resume": True}, "resume continues a file: give it with output"),
        ("popular", {"probabilities": "p.parquet"}, "needs items"),
        (
            "popular",
            {"probabilities": "p.parquet", "items": [1]},
            "goes with the file of the rows: give that with output",
        ),
        (
            "popular",
            {"resume": True, "output": "o.parquet", "items": [1]},
            "of their probabilities: give it with probabilities",
        ),
        ("popular", {"output": "o.parquet", "probabilities": "./o.parquet", "items": [1]}, "name two files"),
        ("popular", {"output": "no/such/folder/t.parquet"}, "the folder no/such/folder does not exist"),
        ("popular", {"items": [1, 999]}, "items: the log has no item 999"),
        ("popular", {"items": [1, 1]}, "items: 1 is given twice"),
        ("popular", {"items": "1"}, "items: '1' is not a list"),
        ("popular", {"top": [0]}, "top is 0"),
        ("popular", {"top": [5, 5]}, "top=5 is given twice"),
        ("popular", {"top": 10**6}, "at 300: top is 1000000, but only"),
        ("popular", {"metric": ["hit@5", "hit@5"]}, "metric 'hit@5' is given twice"),
        ("popular", {"metric": "hits"}, "there is no metric 'hits'"),
        ("popular", {"level": 1.0}, "level of an interval"),
        ("popular", {"level": "a"}, "level of an interval must lie between 0 and 1, not 'a'"),
        ("popular", {"sample": 10**11}, "sample is 100000000000, but must be at most 100000000"),
        ("popular", {"tol": -1}, "tol is -1"),
        ("popular", {"sample": 0}, "sample is 0"),
        ("popular", {"seed": -1}, "seed is -1"),
        ("popular", {"reference": -5}, "nothing had happened yet at -5"),
        ("popular", {"reference": None}, "the reference is a NoneType"),
        ("popular", {"start": -5}, "nothing had happened yet at -5"),
        ([], {}, "no recommender was given"),
        (["popular", "popular"], {}, "recommender 'popular' is given twice"),
        ({1: "popular"}, {}, "must be text, not 1"),
        ("populer", {}, "did you mean 'popular'"),
        (3, {}, "3 is not a recommender"),
        ("constant:999", {}, "the log has no item '999'"),
    ],
)
def test_what_cannot_be_is_refused(
    log: us.Log, recommenders: Any, options: dict[str, Any], message: str, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(us.UnskewError, match=message):
        us.timeline(log, recommenders, **{"reference": 300, "end": 301, **options})
    assert list(tmp_path.iterdir()) == []


def test_something_that_is_no_log_is_refused() -> None:
    table: Any = LOGGED
    with pytest.raises(us.UnskewError, match="is not a log: read one with read_log"):
        us.timeline(table, "popular", reference=300)


def test_a_recommender_may_be_a_function_or_an_object(log: us.Log) -> None:
    spy = Spy(lambda profile, k: [i for i in (1, 2, 3) if i not in profile][:k])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = us.timeline(log, [spy, stepping(range(5))], reference=300, dates=[300])
    assert [row["recommender"] for row in rows(made, weighting="raw")] == ["spy", "stepper"]


def test_options_of_some_items_alone_are_left_to_top() -> None:
    log = us.simulate(users=60, items=30, seed=1).log
    with pytest.raises(us.PolicyError, match="leave them to top of the timeline"):
        us.timeline(log, "popular", reference=300, options=FitOptions(top=3, method="descent"))


def test_a_timeline_with_a_score_of_a_single_user_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "timeline.parquet"
    log = us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [3, 4, 5]})
    made = us.timeline(log, "constant:1", reference=4, output=path)
    assert any(np.isnan(row["low"]) for row in pq.read_table(path).to_pylist())
    again = us.timeline(log, "constant:1", reference=4, output=path, resume=True)
    for name in ("at", "value", "low", "high"):
        np.testing.assert_array_equal(again.to_arrow().column(name), made.to_arrow().column(name))
