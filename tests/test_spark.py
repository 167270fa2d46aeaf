"""The Spark engine on a real cluster: the same as one machine to the last bit, also when a worker is lost."""

from __future__ import annotations

import gc
import json
import os
import shlex
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import DataFrameReader, SparkSession

import unskew as us
from tests.spark_cluster import CONF, Cluster, kill
from unskew.cli import main
from unskew.data import Recency
from unskew.engines.spark import jobs
from unskew.engines.spark.blocks import BlockTable, release_unused
from unskew.engines.spark.jobs import create_table, start_session
from unskew.engines.spark.layout import Layout
from unskew.engines.spark.log import SparkLog
from unskew.engines.spark.tables import open_parquet
from unskew.reading import mark_exposed
from unskew.weights import find_bursts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

REFERENCE, NOW = 500, 900


def table_of(seed: int = 1, n: int = 6000) -> pa.Table:
    """Rows with text ids, repeats among them, some of them shown; and an amount, for P(i|u)."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "user": [f"u{k}" for k in rng.zipf(1.3, n) % 400],
            "item": [f"i{k}" for k in rng.zipf(1.2, n) % 150],
            "time": rng.integers(0, 1000, n),
            "shown": rng.random(n) < 0.2,
            "amount": 0.1 + rng.random(n),
        }
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Iterator[SparkSession]:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = start_session(cluster.url, CONF)
    assert not [str(one.message) for one in told if "pandas" in str(one.message)]
    yield made
    made.stop()


@pytest.fixture(scope="module")
def local() -> us.Log:
    return us.read_log(table_of(), exposed="shown", columns=["amount"])


@pytest.fixture(scope="module")
def there(session: SparkSession) -> Any:
    """The same log on the cluster; it answers what a `Log` answers."""
    return us.read_log(create_table(session, table_of()), exposed="shown", columns=["amount"])


@pytest.fixture(scope="module")
def now(there: Any) -> Any:
    return there.at(NOW)


@pytest.fixture(scope="module")
def before(there: Any) -> Any:
    return there.at(REFERENCE)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, and with exposures whose columns have other names."""
    folder = tmp_path_factory.mktemp("inputs")
    pq.write_table(table_of(11, 900), folder / "log.parquet")
    shown = table_of(12, 600).select(["user", "item", "time"]).rename_columns(["who", "what", "when"])
    pq.write_table(shown, folder / "shown.parquet")
    return folder


def blocks_of(log: SparkLog) -> list[us.Log]:
    return log.blocks.map(log.rule.log, "fetching all blocks")


def assert_same_log(there: Any, local: us.Log) -> list[us.Log]:
    """The same codes and entries; gives the blocks."""
    assert isinstance(there, SparkLog)
    assert there.axis == local.axis
    assert there.items.values.equals(local.items.values)
    assert there.reading == local.reading
    assert (there.first, there.last, len(there)) == (local.first, local.last, len(local))
    blocks = blocks_of(there)
    assert [user for block in blocks for user in block.users] == local.users.to_list()
    sizes = np.concatenate([np.diff(block.start.astype(int)) for block in blocks])
    assert np.array_equal(sizes, np.diff(local.start.astype(int)))
    for name in ("item", "time"):
        found = np.concatenate([getattr(block, name) for block in blocks])
        assert np.array_equal(found, getattr(local, name)), name
        assert found.dtype == getattr(local, name).dtype
    return blocks


def test_a_log_on_the_cluster_has_the_same_codes_entries_marks_and_repeats(there: Any, local: us.Log) -> None:
    blocks = assert_same_log(there, local)
    ends = np.cumsum([len(block.users) for block in blocks])
    assert [0, *ends.tolist()] == local.edges.tolist()
    assert local.exposed is not None
    assert np.array_equal(np.concatenate([block.exposed for block in blocks]), local.exposed)
    assert local.repeats is not None
    begins = np.concatenate([[0], np.cumsum([len(block) for block in blocks])])
    entries = [block.repeats.entry + begin for block, begin in zip(blocks, begins, strict=False) if block.repeats]
    assert np.array_equal(np.concatenate(entries), local.repeats.entry)
    for name in ("time", "exposed"):
        found = np.concatenate([getattr(block.repeats, name) for block in blocks])
        assert np.array_equal(found, getattr(local.repeats, name)), name


def find_kept(session: SparkSession) -> set[int]:
    """The tables of which the cluster keeps some part."""
    told = session.sparkContext._jsc.sc().getRDDStorageInfo()
    return {int(one.id()) for one in told if one.numCachedPartitions() > 0}


def test_a_log_stays_on_the_cluster_when_another_of_the_same_file_is_released(
    session: SparkSession, inputs: Path
) -> None:
    def read() -> Any:
        return us.read_log(open_parquet([inputs / "log.parquet"], session))

    before = find_kept(session)
    logs = [read(), read()]
    snapshots = [logs[1].at(NOW), logs[1].at(NOW)]
    assert np.array_equal(*(one.probabilities() for one in snapshots))
    assert len(find_kept(session) - before) == 4
    del logs[0], snapshots[0]
    gc.collect()
    assert len(find_kept(session) - before) == 4  # Java is not asked for anything by the collector
    release_unused()
    assert len(find_kept(session) - before) == 2


def test_a_folder_is_read_as_on_this_machine(session: SparkSession, tmp_path: Path) -> None:
    """Folders within it, signs of globs in names, a column that its folders tell, another that they do not."""
    for k, item in enumerate(("02", "7", "Zo%C3%AB")):
        folder = tmp_path / "log [1]" / str(k) / "time=1" / f"item={item}" / "more"
        folder.mkdir(parents=True)
        pq.write_table(table_of(k, 200).drop_columns(["item"]), folder / "{a}.parquet")
    paths = [tmp_path / "log [1]", folder / "{a}.parquet"]
    found: Any = us.read_log(open_parquet(paths, session), item="item")
    local = us.read_log(paths, item="item")
    assert set(local.items.to_list()) == {"02", "7", "Zoë"}
    assert_same_log(found, local)


def test_a_column_that_only_some_files_have_is_refused(session: SparkSession, tmp_path: Path) -> None:
    large = pa.schema([("user", pa.large_string()), *list(table_of(1, 20).schema)[1:]])  # the same in Parquet
    pq.write_table(table_of(1, 20).cast(large), tmp_path / "a.parquet")
    pq.write_table(table_of(2, 20).drop_columns(["shown"]), tmp_path / "b.parquet")
    said = []
    for source in (open_parquet([tmp_path], session), tmp_path):
        with pytest.raises(us.ColumnError) as refused:
            us.read_log(source, exposed="shown")
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "b.parquet has no column 'shown'" in said[0]
    table = table_of(3, 20)
    pq.write_table(table.set_column(2, "time", table["time"].cast(pa.int32())), tmp_path / "b.parquet")
    with pytest.raises(us.ColumnError, match=r"'time' holds int64 in .*a.parquet and int32 in .*b.parquet"):
        us.read_log(open_parquet([tmp_path], session))
    pq.write_table(table.rename_columns(["1", "2", "3", "4", "5"]), tmp_path / "a.parquet")
    with pytest.raises(us.ColumnError, match=r"a.parquet has no column 'user'; it has '1', '2'"):
        us.read_log(open_parquet([tmp_path / "a.parquet"], session))


DAY = 86_400_000_000  # microseconds
TICKS = np.random.default_rng(9).integers(-300, 700, 500)
WITHOUT_SOME = pa.array(np.arange(500) % 50 == 7)
KINDS: dict[str, tuple[pa.Array, pa.DataType, pa.DataType, dict[str, Any], Any]] = {
    "dates": (pa.array(TICKS.astype("datetime64[D]")), pa.int64(), pa.string(), {}, "1971-03-01"),
    "timestamps": (
        pa.array(TICKS * DAY // 7 + 123_457, pa.timestamp("us", "UTC")),
        pa.int32(),
        pa.string(),
        {},
        "1970-02-01T12:00Z",
    ),
    "timestamps without a zone": (
        pa.array(TICKS * DAY // 7 + 123_457, pa.timestamp("us")),
        pa.string(),
        pa.int16(),
        {},
        "1970-02-01",
    ),
    "milliseconds": (pa.array(TICKS * DAY // 1000), pa.int64(), pa.int64(), {"time_unit": "ms"}, "1971-03-01"),
    "decimals": (pa.array(TICKS / 7), pa.date32(), pa.float64(), {}, 50.5),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_any_kind_are_read_as_on_this_machine(kind: str, session: SparkSession, tmp_path: Path) -> None:
    times, users, items, how, date = KINDS[kind]
    rng = np.random.default_rng(10)
    ids = [pa.array(rng.zipf(1.4, 500) % n).cast(pa.int32()).cast(of) for n, of in ((60, users), (40, items))]
    table = pa.table({"user": ids[0], "item": ids[1], "time": times})
    k = list(KINDS).index(kind) % 3  # so that each column has nulls in some kind
    name, file = table.column_names[k], tmp_path / "log.parquet"
    some = pc.if_else(WITHOUT_SOME, pa.scalar(None, table.column(k).type), table.column(k))
    pq.write_table(table.set_column(k, name, some), file)
    with pytest.raises(us.ColumnError) as here:
        us.read_log(file, **how)
    with pytest.raises(us.ColumnError) as there:
        us.read_log(open_parquet([file], session), **how)
    told = f"column {name!r} has 10 null values"
    assert there.value.message == f"{told} in {file}"
    assert here.value.message.startswith(f"{told}, the first in ")
    assert there.value.remedy == here.value.remedy
    found, local = (us.read_log(one, **how, drop_nulls=True) for one in (open_parquet([file], session), file))
    assert local.reading.dropped == 10
    assert_same_log(found, local)
    assert np.array_equal(found.at(date).probabilities(), local.at(date).probabilities())


@pytest.mark.parametrize(
    ("prior", "fit"),
    [
        ({}, {"users": "both", "min_items": 2}),
        ({"p_item": Recency(100)}, {"new_items": "keep"}),
        ({"p_item": "amount"}, {}),
    ],
    ids=str,
)
def test_other_users_and_priors_give_the_same_weights(
    prior: dict[str, Any], fit: dict[str, Any], there: Any, local: us.Log
) -> None:
    found, expected = (
        us.fit_weights(one.at(NOW, **prior), one.at(REFERENCE, **prior), tol=0.05, **fit) for one in (there, local)
    )
    assert_same_weights(found, expected)
    assert found.policy == expected.policy


def test_marginals_drift_and_weights_are_the_same_to_the_last_bit(now: Any, before: Any, local: us.Log) -> None:
    here, cluster = local.at(NOW), now
    assert np.array_equal(cluster.probabilities(), here.probabilities())
    assert np.array_equal(cluster.counts(), here.counts())
    assert (cluster.n_users, len(cluster)) == (here.n_users, len(here))
    moved, expected = us.drift(cluster, before), us.drift(here, local.at(REFERENCE))
    assert moved.to_arrow().equals(expected.to_arrow())
    unlike = {"chance", "drifted"}
    assert drop_keys(moved.to_dict(), unlike) == drop_keys(expected.to_dict(), unlike)
    assert (moved.chance, moved.drifted) == (None, None)
    assert moved.conclusion.endswith("not computed on Spark.")
    assert_same_weights(
        us.fit_weights(cluster, before, tol=3e-3), us.fit_weights(here, local.at(REFERENCE), tol=3e-3)
    )


def assert_same_weights(found: us.ItemWeights, expected: us.ItemWeights) -> None:
    """Nothing differs but the time that it took."""
    assert found.to_arrow().equals(expected.to_arrow())
    mine, theirs = found.to_dict(), expected.to_dict()
    assert mine.pop("seconds") >= 0
    assert theirs.pop("seconds") >= 0
    assert mine == theirs


def test_views_leave_out_the_same(there: Any, local: us.Log) -> None:
    pairs = [
        (us.views.organic(there), us.views.organic(local)),
        (us.views.outside(there, ["300:400", "700:720"]), us.views.outside(local, ["300:400", "700:720"])),
    ]
    for found, expected in pairs:
        assert found.view_report == expected.view_report
        assert (found.view, found.view_details, len(found)) == (
            expected.view,
            expected.view_details,
            len(expected),
        )
        assert np.array_equal(found.at(NOW).probabilities(), expected.at(NOW).probabilities())


def test_exposures_from_a_table_mark_the_same_rows(session: SparkSession) -> None:
    rng = np.random.default_rng(5)
    rows, shown = (
        table_of(2, 1500).select(["user", "item", "time"]),
        table_of(3, 3000).select(["user", "item", "time"]),
    )
    shown = shown.set_column(2, "time", pa.array(rng.integers(0, 1000, len(shown))))
    found = mark_exposed(us.read_log(create_table(session, rows)), create_table(session, shown), within=200)
    expected = mark_exposed(us.read_log(rows, repeats=True), shown, within=200)
    assert expected.exposed is not None
    marks = np.concatenate([block.exposed for block in blocks_of(cast(SparkLog, found))])
    assert 0 < np.count_nonzero(marks) < len(marks)
    assert np.array_equal(marks, expected.exposed)


def test_exposures_of_others_are_refused_or_warned_of_as_on_this_machine(
    there: Any, local: us.Log, session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unskew.engines.spark.layout.lay_out_log", lambda *_, **__: there)  # it takes a second
    rows = replace(there.rows, frame=there.rows.frame.drop("x"), marked=False)
    shown = table_of(3, 300).select(["user", "item", "time"])
    others = shown.set_column(0, "user", pa.array([f"v{k}" for k in range(300)]))
    few = pa.concat_tables([shown.slice(0, 100), others.slice(100), *[shown.slice(0, 100)] * 3])
    said = []
    unmarked = replace(there, exposed=None, rows=rows), replace(local, exposed=None)
    for log, give in zip(unmarked, (partial(create_table, session), pa.table), strict=True):
        with pytest.warns(us.UnskewWarning, match="users or items that the log does not have") as warned:
            mark_exposed(log, give(few))
        with pytest.raises(us.EmptyError, match="is of a user and an item of the log") as refused:
            mark_exposed(log, give(others))
        said.append([str(warned[0].message), refused.value.message])
    assert [text.replace("the table of exposures", "the table") for text in said[0]] == said[1]
    days = shown.set_column(0, "user", pa.array(range(300)).cast(pa.int32()).cast(pa.date32()))
    with pytest.raises(us.InputError, match=r"are date32\[day\], those of the log text: make them the same type"):
        mark_exposed(unmarked[0], create_table(session, days))


def list_of_one(log: us.Log) -> us.Table:
    """A list external for a single user, in the last block."""
    return us.Table({"user": log.users.to_list()[-1:], "items": [log.items.to_list()[:5]]})


def lists_of(log: us.Log) -> us.Table:
    """Lists external, of half of the users."""
    users, (first, *others, last) = log.users.to_list()[::2], log.items.to_list()
    lists = [[others[k % len(others)], first, last] for k in range(len(users))]
    return us.Table({"user": users, "items": lists})


@pytest.mark.filterwarnings("ignore:.*has no recommendation for:unskew.UnskewWarning")
def test_scores_of_all_pairs_are_the_same_to_the_last_bit(now: Any, local: us.Log) -> None:
    here, cluster = local.at(NOW), now
    weights = us.fit_weights(here, local.at(REFERENCE), tol=0.2)
    models: dict[str, Any] = {"constant": "constant:i1,i3,i5", "popular": "popular", "lists": lists_of(local)}
    models["of one"] = list_of_one(local)
    metrics = ["hit@5", "mrr@10"]
    found = us.evaluate(models, cluster, weights=weights, metric=metrics)
    assert list(found) == list(us.evaluate(models, here, weights=weights, metric=metrics))
    assert {score.exact for score in found} == {True, None}
    assert us.evaluate("popular", cluster) == us.evaluate("popular", here)


def test_lists_that_cannot_be_right_are_warned_of_as_on_this_machine(now: Any, local: us.Log) -> None:
    """They have an item and a user that nobody knows, and leave out what users hold."""
    users, items = local.users.to_list(), local.items.to_list()
    held = [set(local.item[a:b].tolist()) for a, b in zip(local.start, local.start[1:], strict=False)]
    others = [[items[k] for k in range(len(items)) if k not in mine][:2] for mine in held]
    rows = {"user": [*users, "nobody"], "items": [["nothing", *others[0]], *others[1:], items[:1]]}
    for sample in (None, 50):
        said = []
        for snapshot in (now, local.at(NOW)):
            with pytest.warns(us.UnskewWarning) as warned:
                assert us.evaluate(us.Table(rows), snapshot, sample=sample).value == 0.0
            said.append([str(one.message) for one in warned])
        assert said[0] == said[1]
        assert [len(said[0]), *("not have 1 user and 1 item" in one for one in said[0])] == [2, True, False]
        assert "recommends none of the held-out items to anyone" in said[0][1]
    unknown = us.Table({"user": ["nobody"], "items": [items[:1]]})
    for snapshot in (now, now, local.at(NOW)):
        with pytest.raises(us.InputError, match="whose user and item the log has; it has no user 'nobody'"):
            us.evaluate(unknown, snapshot)


@pytest.mark.filterwarnings("ignore:.*has no recommendation for:unskew.UnskewWarning")
@pytest.mark.filterwarnings("ignore:.*recommends none of the held-out items:unskew.UnskewWarning")
def test_a_sample_has_the_same_pairs_and_profiles_and_scores_any_recommender(now: Any, local: us.Log) -> None:
    here, cluster = local.at(NOW), now
    weights = us.fit_weights(here, local.at(REFERENCE), tol=0.2)
    found, expected = (us.sample_pairs(one, weights, sample=300, seed=4) for one in (cluster, here))
    assert found.to_arrow().equals(expected.to_arrow())
    assert found.about == expected.about
    found, expected = (us.sample_pairs(one, sample=100, min_items=3) for one in (cluster, here))
    assert found.to_arrow().equals(expected.to_arrow())
    assert found.about["users_below_min_items"] == expected.about["users_below_min_items"]
    for one in (cluster, here):
        with pytest.raises(us.PolicyError, match="were fitted with min_items=1, and scores are asked for with"):
            us.evaluate("popular", one, weights=weights, min_items=3)
    models: dict[str, Any] = {"knn": "knn?neighbours=5", "popular": "popular", "constant": "constant:i1,i3,i5"}
    lists: dict[str, Any] = {"lists": lists_of(local), "of one": list_of_one(local)}
    for some, n in ((models | lists, 300), (lists, 5)):
        scores = [us.evaluate(some, one, weights=weights, sample=n, seed=4) for one in (cluster, here)]
        assert list(scores[0]) == list(scores[1])


def test_a_model_is_fitted_to_a_sample_of_the_users_and_says_so(now: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unskew.engines.spark.evaluation.FIT_USERS", 20)
    with pytest.warns(us.UnskewWarning, match=r"knn.* was fitted to a sample of \d+ of \d+ users"):
        us.evaluate("knn", now, sample=10)
    with pytest.raises(us.EngineError, match=r"learns from profiles.*with sample"):
        us.evaluate("knn", now)


def test_what_needs_all_profiles_here_says_so(there: Any, now: Any) -> None:
    with pytest.raises(us.EngineError, match=r"^rank_held_out\(\) needs all profiles on one machine"):
        us.rank_held_out("popular", now)
    with pytest.raises(us.EngineError, match=r"^find_bursts\(\) does not work on Spark"):
        find_bursts(there)


@pytest.mark.parametrize(
    ("models", "how"),
    [
        (["popular"], {}),
        (["popular"], {"min_items": 3}),
        (
            ["knn?neighbours=5", "constant:i1,i3"],
            {"sample": 200, "seed": 2, "top": [3], "p_item": Recency(100)},
        ),
    ],
    ids=["all pairs", "enough items", "sample"],
)
def test_a_timeline_has_the_same_rows(models: list[str], how: dict[str, Any], there: Any, local: us.Log) -> None:
    made = [us.timeline(log, models, reference=REFERENCE, dates=[700], tol=0.05, **how) for log in (there, local)]
    assert made[0].rows.equals(made[1].rows)


@pytest.mark.filterwarnings("ignore:.*has no recommendation for:unskew.UnskewWarning")
@pytest.mark.parametrize(("sample", "least"), [(None, 1), (200, 1), (None, 3), (200, 3)])
def test_a_report_has_the_same_scores_of_both_dates(
    sample: int | None, least: int, there: Any, local: us.Log
) -> None:
    """Of lists that do not say from when they are, or are later, at the later date alone."""
    rows = {"user": ["u1", "u2"], "items": [["i1", "i2"]] * 2}
    lists = {"lists": us.Table(rows), "later": us.Table(rows, valid_from=700)}
    models: dict[str, Any] = {"popular": "popular"} | lists
    models = models if sample is None else {"knn": "knn?neighbours=5", "constant": "constant:i1,i3"}
    found, expected = (
        us.report(log, models, reference=REFERENCE, at=NOW, tol=0.2, sample=sample, refit=0, min_items=least)
        for log in (there, local)
    )
    both = [(REFERENCE, "raw"), (NOW, "raw"), (NOW, "weighted")]
    dates = [*both, *both[1:], *both[1:]] if sample is None else 2 * both
    assert [(score.at, score.weighting) for score in found.scores] == dates
    assert list(found.scores) == list(expected.scores)
    assert all((score.users_below_min_items.count > 0) == (least > 1) for score in found.scores)
    assert any("not split into parts" in note for note in found.notes)
    first = next(iter(models))
    expected_pairs = [one for one in expected.comparisons if one.a == first]
    assert [(one.b, one.weighting, one.comparable, one.biased) for one in found.comparisons] == [
        (one.b, one.weighting, one.comparable, one.biased) for one in expected_pairs
    ]
    for name in ("difference", "low", "high", "p"):
        figures = [getattr(one, name) for one in expected_pairs]
        assert [getattr(one, name) for one in found.comparisons] == pytest.approx(figures, rel=1e-9, nan_ok=True)
    verdicts = {verdict.recommender: verdict for verdict in found.verdicts}
    assert list(verdicts) == list(models)[1:]
    assert {verdict.decision for verdict in verdicts.values()} == {"undecided"}
    about_lists = [note for note in expected.notes if "lists" in note]
    assert [note for note in found.notes if "lists" in note] == about_lists
    assert len(about_lists) == (2 if sample is None else 0)


def test_a_verdict_has_the_scenarios_of_the_log_and_of_its_view_and_is_undecided(
    there: Any, local: us.Log
) -> None:
    asked: dict[str, Any] = {"view": "organic", "reference": REFERENCE, "at": NOW, "tol": 0.2, "quick": True}
    found, expected = (us.report(log, ["popular", "constant:i1,i3"], **asked) for log in (there, local))
    [verdict], [other] = found.verdicts, expected.verdicts
    assert verdict.decision == "undecided"
    assert "Spark does not thin the log by stand-ins for production" in verdict.reason
    assert [scenario.name for scenario in verdict.scenarios] == ["as logged", "the view organic"]
    pairs = zip(verdict.scenarios, (other.as_logged, other.scenarios[-1]), strict=True)
    for scenario, on_one_machine in pairs:
        assert (scenario.name, scenario.view) == (on_one_machine.name, on_one_machine.view)
        assert not scenario.trusted
        for name in ("difference", "relative", "induced_share"):
            part, figures = getattr(scenario, name), getattr(on_one_machine, name)
            assert (part is None) == (figures is None)
            assert part is None or astuple(part) == pytest.approx(astuple(figures), rel=1e-9, nan_ok=True)
    lows, highs = zip(*((one.difference.low, one.difference.high) for one in verdict.scenarios), strict=True)
    assert (verdict.low, verdict.high) == (min(lows), max(highs))
    ours, theirs = (
        sorted((score.view, score.at, score.weighting, score.recommender, score.value) for score in report.scores)
        for report in (found, expected)
    )
    assert ours == theirs
    assert verdict.score == pytest.approx(other.score, rel=1e-9)
    assert verdict.users == other.users


DATES = ("--reference", str(REFERENCE), "--at", str(NOW))
COMMANDS: dict[str, tuple[str, ...]] = {
    "drift": (*DATES, "--exposures", "SHOWN?user=who&item=what&time=when", "--within", "200", "--view", "organic"),
    "marginal": ("--at", str(REFERENCE), "--min-items", "2"),
    "weights": (*DATES, "--tol", "0.05"),
    "evaluate": (*DATES, "-r", "constant:i1,i3", "-r", "constant:i2,i4", "-m", "mrr@10"),
    "timeline": ("--reference", str(REFERENCE), "--from", "800", "--to", "800", "-r", "popular"),
    "sample": ("--at", str(NOW), "-n", "50", "--seed", "3"),
}
UNLIKE = {
    "drift": {"chance", "drifted", "exposures_from"},  # which are null on Spark
    "evaluate": {"changes", "comparisons", "cost", "notes", "verdicts"},  # the first of which Spark does not split
    "timeline": {"hash"},  # of the log: of each block by itself
}


def run_command(name: str, inputs: Path, output: Path, *more: str) -> tuple[dict[str, Any], pa.Table | None]:
    """What a command prints as JSON, and the table that it writes."""
    command = [name, str(inputs / "log.parquet"), *COMMANDS[name], "--json", *more]
    command += [] if name in ("drift", "evaluate") else ["-o", str(output)]
    given = [word.replace("SHOWN", str(inputs / "shown.parquet")) for word in command]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.stderr
    assert "error" not in done.stderr
    return json.loads(done.stdout), pq.read_table(output) if output.exists() else None


def drop_keys(found: Any, names: set[str]) -> Any:
    """The same JSON without some keys, wherever they are."""
    if isinstance(found, list):
        return [drop_keys(one, names) for one in found]
    if isinstance(found, dict):
        return {key: drop_keys(value, names) for key, value in found.items() if key not in names}
    return found


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "weights"])
def test_a_command_gives_the_same_with_a_master_as_on_this_machine(
    name: str, cluster: Cluster, session: SparkSession, inputs: Path, tmp_path: Path
) -> None:
    spark = ("--engine", "spark", "--master", cluster.url)
    found, written = run_command(name, inputs, tmp_path / "there.parquet", *spark)
    expected, table = run_command(name, inputs, tmp_path / "here.parquet", "--engine", "local")
    assert found.keys() == expected.keys()
    unlike = {"seconds", "output", *UNLIKE.get(name, ())}
    assert drop_keys(found, unlike) == drop_keys(expected, unlike)
    if name == "evaluate":  # fixed lists, which are decided as on one machine
        [ours], [theirs] = found["verdicts"], expected["verdicts"]
        assert ours["decision"] == theirs["decision"] == "worse"
        assert ours["scenarios"][0]["trusted"]
        assert ours["range"] == pytest.approx(theirs["range"], rel=1e-9)
        assert ours["headline"] == theirs["headline"]
        assert (ours["reason"], ours["next_steps"]) == (theirs["reason"], [])
    assert (written is None) == (table is None) == (name in ("drift", "evaluate"))
    if written is not None:
        assert written.equals(table)


def test_people_read_the_same(cluster: Cluster, session: SparkSession, inputs: Path) -> None:
    drift = ["drift", str(inputs / "log.parquet"), *DATES]
    there = CliRunner().invoke(main, [*drift, "--engine", "spark", "--master", cluster.url])
    here = CliRunner().invoke(main, drift)
    assert "interactions" in there.stdout
    assert "is not computed on Spark" in there.stdout.replace("\n", " ")
    figures, expected = (done.stdout[done.stdout.index("Item mix at") :].splitlines() for done in (there, here))
    assert [line.rstrip() for line in figures] == [
        line.rstrip() for line in expected if "by chance alone" not in line
    ]
    assert there.stderr == here.stderr


def test_people_read_an_answer_first_and_a_next_step_that_works(
    cluster: Cluster, session: SparkSession, inputs: Path
) -> None:
    command = [
        "evaluate",
        str(inputs / "log.parquet"),
        *DATES,
        "-r",
        "constant:i1",
        "-r",
        "popular",
    ]
    done = CliRunner().invoke(main, [*command, "--engine", "spark", "--master", cluster.url])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Undecided: popular against constant:i1 is +")
    assert f"To settle it:\n  {shlex.join(['unskew', *command])}\n" in done.stdout
    settled = CliRunner().invoke(main, command)
    assert settled.exit_code == 0, settled.stderr
    assert "Spark" not in settled.stdout


def test_a_command_sets_what_it_is_told_to_and_the_number_of_partitions_changes_nothing(
    cluster: Cluster, session: SparkSession, inputs: Path, tmp_path: Path
) -> None:
    before = session.conf.get("spark.sql.shuffle.partitions")
    more = ("--engine", "spark", "--master", cluster.url, "--spark-conf", "spark.sql.shuffle.partitions=5")
    try:
        found, written = run_command("weights", inputs, tmp_path / "there.parquet", *more)
        assert session.conf.get("spark.sql.shuffle.partitions") == "5" != before
    finally:
        session.conf.set("spark.sql.shuffle.partitions", str(before))
    expected, table = run_command("weights", inputs, tmp_path / "here.parquet")
    assert drop_keys(found, {"seconds", "output"}) == drop_keys(expected, {"seconds", "output"})
    assert written is not None
    assert written.equals(table)
    command = ["drift", str(inputs / "log.parquet"), *DATES, "--engine", "spark"]
    done = CliRunner().invoke(main, [*command, "--spark-conf", "spark.executor.memory=2g"])
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "spark.executor.memory cannot be set any more" in done.stderr


@pytest.mark.filterwarnings("ignore:.*has no recommendation for:unskew.UnskewWarning")
def test_a_finer_cut_changes_no_more_than_the_last_digits_and_more_partitions_nothing(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out, partitions = Layout.lay_out, list[int]()

    def count_and_lay_out(layout: Layout, folded: DataFrame, *others: Any) -> BlockTable:
        partitions.append(folded.rdd.getNumPartitions())
        return lay_out(layout, folded, *others)

    monkeypatch.setattr(Layout, "lay_out", count_and_lay_out)
    monkeypatch.setattr("unskew.engines.spark.layout.EVENTS_A_PARTITION", 1000)
    table = table_of(7, 3000)
    session.conf.set("spark.unskew.blocks", "4")
    try:
        found: Any = us.read_log(create_table(session, table))
    finally:
        session.conf.unset("spark.unskew.blocks")
    expected = us.read_log(table)
    assert partitions == [3]
    assert found.blocks.blocks == 4 > len(expected.edges) - 1
    assert_same_log(found, expected)
    assert found.at(NOW).probabilities() == pytest.approx(expected.at(NOW).probabilities(), rel=1e-12)
    models: dict[str, Any] = {"constant": "constant:i1,i3,i5", "popular": "popular", "lists": lists_of(expected)}
    ours, theirs = (us.evaluate(models, one.at(NOW), weights={"i1": 0.5}) for one in (found, expected))
    for name in ("value", "low", "high"):
        assert [getattr(s, name) for s in ours] == pytest.approx([getattr(s, name) for s in theirs], rel=1e-12)


class KillWhile:
    """Ends a worker once so many jobs have been asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, victims: Callable[[], None], after: int) -> None:
        self.jobs = 0
        run = BlockTable.map

        def count_and_run(table: BlockTable, work: Any, what: str) -> list[Any]:
            self.jobs += 1
            if self.jobs == after:
                threading.Timer(0.05, victims).start()
            found: list[Any] = run(table, work, what)
            return found

        monkeypatch.setattr(BlockTable, "map", count_and_run)


def test_a_worker_that_is_lost_in_the_middle_of_a_fit_changes_nothing(
    cluster: Cluster, now: Any, before: Any, local: us.Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = us.fit_weights(local.at(NOW), local.at(REFERENCE), min_items=2, tol=1e-3)
    killing = KillWhile(monkeypatch, lambda: kill(cluster.workers[0]), after=6)
    found = us.fit_weights(now, before, min_items=2, tol=1e-3)
    assert killing.jobs > 8
    assert cluster.workers[0].poll() is not None
    assert_same_weights(found, expected)
    cluster.add_worker()


def test_a_worker_that_is_lost_in_the_middle_of_a_read_changes_nothing(
    cluster: Cluster, session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed once rows and users are kept on the cluster, and before any block is made of them."""
    before, victim, events = find_kept(session), cluster.workers[1], list[str]()
    lay_out, run = Layout.lay_out, BlockTable.map

    def lay_out_and_kill(layout: Layout, *arguments: Any) -> BlockTable:
        made = lay_out(layout, *arguments)
        assert len(find_kept(session) - before) == 3, "folded rows, users, and users in order"
        kill(victim)
        assert victim.poll() is not None
        events.append("killed")
        return made

    def note_and_run(table: BlockTable, work: Any, what: str) -> list[Any]:
        events.append(what)
        return list(run(table, work, what))

    table = table_of(7, 6000)
    monkeypatch.setattr(Layout, "lay_out", lay_out_and_kill)
    with monkeypatch.context() as noting:
        noting.setattr(BlockTable, "map", note_and_run)
        found: Any = us.read_log(create_table(session, table))
    assert events == ["killed", "measuring the log"]  # which is what makes the blocks
    expected = us.read_log(table)
    assert found.blocks.blocks == len(expected.edges) - 1 > 1
    assert_same_log(found, expected)
    ours, theirs = ([one.at(when) for when in (NOW, REFERENCE)] for one in (found, expected))
    for there, here in zip(ours, theirs, strict=True):
        assert np.array_equal(there.probabilities(), here.probabilities())
    assert_same_weights(us.fit_weights(*ours, tol=0.05), us.fit_weights(*theirs, tol=0.05))


def test_a_lost_cluster_ends_in_one_line_and_leaves_nothing_half_written(
    cluster: Cluster,
    session: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last test with this cluster: nothing is left of it afterwards."""
    pq.write_table(table_of(8, 500), tmp_path / "log.parquet")
    session.conf.set("spark.unskew.patience", "1")
    KillWhile(monkeypatch, cluster.stop, after=4)
    command = ["weights", str(tmp_path / "log.parquet"), "--engine", "spark", "--master", cluster.url]
    command += ["--reference", str(REFERENCE), "--at", str(NOW), "-o", str(tmp_path / "weights.parquet")]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    last = [line for line in told.err.splitlines() if line.startswith("error")]
    assert len(last) == 1, told.err
    assert "Spark cluster" in last[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet"]


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master without workers, and no session at another."""
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    cluster = Cluster(tmp_path_factory.mktemp("idle"))
    cluster.start(workers=0)
    yield cluster
    cluster.stop()


MARGIN = 4.0  # seconds on a busy machine; one to notice, and Spark takes a while to stop


@pytest.mark.parametrize(
    ("command", "job"),
    [
        (("drift", "--reference", str(REFERENCE)), None),
        (("drift", "--reference", str(REFERENCE)), "reading"),
        (("weights", "--reference", str(REFERENCE)), "a pass over the profiles"),
        (("evaluate", "-r", "popular"), "summing up scores"),
    ],
    ids=["workers never come", "reading", "fitting", "scoring"],
)
def test_a_command_without_workers_ends_in_one_line_within_its_patience(
    command: tuple[str, ...],
    job: str | None,
    idle: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There are none, or all are killed as a job begins; the first of all is that of Spark's own reader."""
    pq.write_table(table_of(8, 500), tmp_path / "log.parquet")
    if job is not None:
        idle.add_worker()
    session = start_session(idle.url, CONF)
    if job is not None:
        jobs.run_job(session, "waiting for a worker", session.range(1).count)
    monkeypatch.setattr(jobs, "PATIENCE", 1.0)
    watchdog, begin = threading.Timer(20, session.stop), list[float]()  # it ends what would wait for ever
    read, run = DataFrameReader.parquet, BlockTable.map

    def lose_workers() -> None:
        if not begin:
            for worker in idle.workers:
                kill(worker)
            begin.append(time.monotonic())
            watchdog.start()

    def lose_and_read(*arguments: Any) -> Any:
        if job in (None, "reading"):
            lose_workers()
        return read(*arguments)

    def lose_and_run(table: BlockTable, work: Any, what: str) -> list[Any]:
        if what == job:
            lose_workers()
        return run(table, work, what)

    monkeypatch.setattr(DataFrameReader, "parquet", lose_and_read)
    monkeypatch.setattr(BlockTable, "map", lose_and_run)
    log = (str(tmp_path / "log.parquet"), "--engine", "spark", "--master", idle.url)
    with pytest.raises(SystemExit) as ended:
        main([command[0], *log, "--at", str(NOW), *command[1:]])
    watchdog.cancel()
    assert time.monotonic() - begin[0] < jobs.PATIENCE + MARGIN
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    [error] = [line for line in output.err.splitlines() if not line.startswith("merged ")]
    assert error.startswith(f"error: {job or 'reading'}")
    assert ("has given no worker in 1 seconds" if job is None else "has no worker any more") in error
