"""Margins beyond items: what is matched, what it costs, what is said about it, and files and commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event, Table, columns, least_total_variation, random_events
from tests.margins import rows_of
from tests.tables import LAW
from tests.test_cli import answer, refused, run
from unskew.arrays.profiles import all_entries
from unskew.errors import ColumnError, FileError, PolicyError
from unskew.storage.tables import seal
from unskew.weights import FitOptions

BANDS = ("low", "mid", "high")


def group_of(item: str) -> str:
    return "ABC"[int(item[1:]) % 3]


def table(seed: int, users: int = 60, items: int = 12) -> dict[str, list[Any]]:
    """A history whose items have a category, and whose rows have a price band that rises over time."""
    rng = np.random.default_rng(seed)
    events: list[Event] = random_events(rng, users, items)
    found = columns(events)
    found["category"] = [group_of(item) for item in found["item"]]
    shares = [(0.5, 0.3, 0.2) if time < 5 else (0.2, 0.3, 0.5) for time in found["time"]]
    found["band"] = [str(rng.choice(BANDS, p=share)) for share in shares]
    found["everything"] = ["same"] * len(events)
    return found


def log_of(seed: int = 0, **options: Any) -> us.Log:
    return us.read_log(table(seed, **options), labels=["category", "band", "everything"])


def mix_of(part: us.Snapshot, column: str, shares: Any = None) -> dict[str, float]:
    """The probability of each group, pair by pair."""
    labels = part.log.label(column)
    codes, shares = part.per_entry(labels.codes), part.weigh().pair_shares if shares is None else shares
    mix: dict[str, float] = {}
    for e in all_entries(part.profiles):
        name = labels.values[int(codes[e])].as_py()
        mix[name] = mix.get(name, 0.0) + float(shares[e])
    return mix


@pytest.mark.parametrize("seed", range(4))
def test_the_mix_of_a_column_is_that_of_the_reference_date_and_so_is_that_of_the_items(seed: int) -> None:
    log = log_of(seed, users=150)
    now, before = log.at(9), log.at(4)
    weights = us.fit_weights(now, before, margins=["band"], users="both")
    assert weights.status in ("solved", "certified")
    there = before.restrict(before.sizes() > 0)
    after = mix_of(now, "band", now.weigh(weights).pair_shares)
    expected = mix_of(there, "band")
    margin = weights.report.margins[0]
    away = 0.5 * sum(abs(after.get(name, 0.0) - expected.get(name, 0.0)) for name in BANDS)
    assert away == pytest.approx(margin.bound, abs=1e-9)
    if weights.status == "solved":
        assert margin.residual <= 1e-4
        assert weights.report.residual <= 1e-4
    assert weights.p_after.sum() == pytest.approx(1.0)
    found = now.marginal(weights).to_dict()
    assert [found.get(item, 0.0) for item in weights.items.to_pylist()] == pytest.approx(weights.p_after, abs=1e-9)


def test_the_weight_of_a_pair_is_that_of_its_item_times_that_of_its_group() -> None:
    log = log_of(1)
    now = log.at(9)
    weights = us.fit_weights(now, log.at(4), margins=["band"])
    item = dict(zip(weights.items.to_pylist(), weights.log_weights, strict=True))
    group = dict(zip(weights.margins[0].groups, weights.margins[0].log_factors, strict=True))
    shares, labels = now.weigh(weights).pair_shares, log.label("band")
    p = now.profiles
    for u in np.flatnonzero(now.weigh(weights).part.sizes()):
        entries = range(int(p.start[u]), int(p.stop[u]))
        logs = np.array(
            [item[log.items[int(p.item[e])]] + group[labels.values[int(labels.codes[e])].as_py()] for e in entries]
        )
        pi = np.exp(logs - logs.max())
        assert shares[entries.start : entries.stop] / shares[entries.start : entries.stop].sum() == pytest.approx(
            pi / pi.sum(), abs=1e-12
        )


@pytest.mark.filterwarnings("ignore::unskew.errors.ConvergenceWarning")  # bounds hold wherever a fit stops
@given(st.integers(0, 2**32 - 1))
@settings(LAW, max_examples=12)
def test_no_weighting_of_the_profiles_is_nearer_to_a_margin_than_its_least_bound(seed: int) -> None:
    log = log_of(seed, users=10, items=6)
    now, before = log.at(9), log.at(4)
    weights = us.fit_weights(now, before, margins=["band"])
    margin, own = weights.report.margins[0], weights.margins[0]
    part = now.weigh(weights).part.profiles
    kept = dict(zip(weights.items.to_pylist(), weights.log_weights > -np.inf, strict=True))
    entries = [e for e in all_entries(part) if kept[log.items[int(part.item[e])]]]
    labels = log.label("band")
    names = [labels.values[int(labels.codes[e])].as_py() for e in entries]
    codes = np.array([own.groups.index(name) for name in names])
    held = np.bincount(codes, minlength=len(own.groups)) > 0
    known = np.where(held, own.p_reference, 0.0)
    users = rows_of(part)[np.isin(all_entries(part), entries)]
    dense = np.zeros((part.n_users, len(own.groups)))
    dense[users, codes] = 1.0
    if (held & (own.p_reference == 0)).any():
        return  # a group that is new keeps what it has: another target

    some = dense.any(axis=1)
    oracle = Table(part.shares()[some], dense[some] / dense[some].sum(axis=1, keepdims=True))
    least = least_total_variation(oracle, known / known.sum())
    assert margin.bound_least <= least + 1e-9
    assert margin.residual >= least - 1e-9


def test_without_margins_every_bit_is_as_before() -> None:
    log = log_of(2)
    plain, empty = us.fit_weights(log.at(9), log.at(4)), us.fit_weights(log.at(9), log.at(4), margins=[])
    assert np.array_equal(plain.log_weights, empty.log_weights)
    assert plain.report.margins == ()
    assert plain.to_dict() | {"seconds": 0} == empty.to_dict() | {"seconds": 0}


@pytest.mark.parametrize("options", [{}, {"new_items": "keep"}, {"users": "both"}], ids=str)
def test_a_margin_with_one_group_changes_nothing(options: dict[str, Any]) -> None:
    log = log_of(3, users=30)
    now, before = log.at(9), log.at(4)
    plain = us.fit_weights(now, before, **options)
    weights = us.fit_weights(now, before, margins=["everything"], **options)
    assert weights.margins[0].factors == {"same": 1.0}
    assert weights.status == plain.status
    assert weights.log_weights == pytest.approx(plain.log_weights, abs=1e-9)
    if not plain.report.vanished_items.count and options.get("new_items") != "keep":
        assert np.array_equal(now.weigh(weights).pair_shares, now.weigh(plain).pair_shares)


@pytest.mark.parametrize(
    "given", ["category", {f"i{k}": "ABC"[k % 3] for k in range(12)}], ids=["column", "mapping"]
)
def test_where_no_item_comes_or_goes_groups_of_items_are_matched_with_the_items(given: Any) -> None:
    log = log_of(4, users=200, items=6)
    now, before = log.at(9), log.at(4)
    plain, weights = us.fit_weights(now, before), us.fit_weights(now, before, margins=[given])
    assert plain.status == "solved"
    assert weights.report.margins[0].residual <= 1e-4
    assert np.array_equal(weights.log_weights, plain.log_weights)


def coming_and_going() -> us.Log:
    """Two groups of equal share at 0. By 9 an item of B is gone, and a new one of A is there."""
    rows = [(u, i, 0, 99) for u in range(4) for i in ("a1", "a2", "b1")] + [(u, "b2", 0, 5) for u in range(4)]
    rows += [(u, "a3", 9, 99) for u in range(4)]
    names = ("user", "item", "time", "left")
    found: dict[str, list[Any]] = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return us.read_log(found | {"kind": [item[0] for item in found["item"]]}, removed="left", labels=["kind"])


@pytest.mark.parametrize("new_items", ["drop", "keep"])
def test_what_vanished_or_is_new_is_made_up_for_within_its_group(new_items: str) -> None:
    log = coming_and_going()
    now, before = log.at(9), log.at(0)
    plain = us.fit_weights(now, before, new_items=new_items)
    weights = us.fit_weights(now, before, new_items=new_items, margins=["kind"])
    assert mix_of(before, "kind") == pytest.approx({"a": 0.5, "b": 0.5})
    assert mix_of(now, "kind", now.weigh(plain).pair_shares)["b"] == pytest.approx(
        1 / 3 if new_items == "drop" else 1 / 4, abs=1e-3
    )
    assert weights.status == "solved"
    assert mix_of(now, "kind", now.weigh(weights).pair_shares) == pytest.approx({"a": 0.5, "b": 0.5}, abs=1e-3)
    if new_items == "keep":
        assert now.marginal(weights).to_dict()["a3"] == pytest.approx(0.25, abs=1e-3)  # what it has now


def contradicting() -> us.Log:
    """Item x was cheap and y dear; now it is the other way round, in profiles that hold both."""
    rows = [("u1", "x", 0, "cheap"), ("u2", "x", 0, "cheap"), ("u3", "x", 0, "cheap"), ("u4", "y", 0, "dear")]
    rows += [("v", "x", 9, "dear"), ("v", "y", 9, "cheap"), ("w", "y", 9, "cheap"), ("w", "x", 9, "dear")]
    names = ("user", "item", "time", "band")
    return us.read_log({name: [row[k] for row in rows] for k, name in enumerate(names)}, labels=["band"])


def test_margins_that_contradict_each_other_are_said_to_do_so() -> None:
    log = contradicting()
    now, before = log.between(5, 9), log.between(-1, 0)
    weights = us.fit_weights(now, before, margins=["band"])
    assert weights.status == "certified"
    assert weights.explanation.startswith("the margins contradict each other")
    assert weights.report.residual == pytest.approx(0.25, abs=0.01)  # x has 1/2, wanted: 3/4
    assert weights.report.margins[0].residual == pytest.approx(0.25, abs=0.01)
    assert weights.report.bound_least == weights.report.margins[0].bound_least == 0.0
    assert weights.report.margin_gap == pytest.approx(0.0, abs=0.01)


def test_it_ends_unfinished_and_says_so_when_passes_run_out() -> None:
    log = log_of(5)
    with pytest.warns(us.UnskewWarning, match="stopped after"):
        weights = us.fit_weights(log.at(9), log.at(4), margins=["band"], max_passes=4, tol=1e-9)
    assert weights.status == "unfinished"


@pytest.mark.parametrize("given", ["band", {f"i{k}": k % 2 for k in range(9)}], ids=["column", "mapping"])
def test_a_file_keeps_what_is_needed_to_apply_and_to_fit_again(given: Any, tmp_path: Path) -> None:
    log = log_of(6)
    now, before = log.at(9), log.at(4)
    weights = us.fit_weights(now, before, margins=[given])
    path = tmp_path / "weights.parquet"
    weights.save(path)
    loaded = us.ItemWeights.load(path)
    assert np.array_equal(now.weigh(loaded).pair_shares, now.weigh(weights).pair_shares)
    assert loaded.report == weights.report
    again = us.fit_weights(now, before, options=loaded.options)
    assert np.array_equal(again.log_weights, weights.log_weights)


def test_a_file_whose_margins_do_not_fit_is_called_damaged(tmp_path: Path) -> None:
    log = log_of(6)
    path = tmp_path / "weights.parquet"
    us.fit_weights(log.at(9), log.at(4), margins=["band"]).save(path)
    found = pq.read_table(path)
    metadata = {
        k: v.replace(b'"groups": ["high"', b'"groups": ["odd", "high"') for k, v in found.schema.metadata.items()
    }
    assert metadata != found.schema.metadata
    pq.write_table(seal(found.replace_schema_metadata(metadata)), path)
    with pytest.raises(FileError, match="damaged"):
        us.ItemWeights.load(path)


def test_scores_changes_and_their_bootstrap_take_margins() -> None:
    log = log_of(7, users=150)
    found = us.report(log, ["popular"], at=9, reference=4, margins=["band"], refit=5)
    assert found.weights is not None
    assert found.weights.report.margins[0].name == "band"
    weighted = next(score for score in found.scores if score.weighting == "weighted")
    ranks = us.rank_held_out("popular", log.at(9), metric=["hit@5"])
    assert weighted.value == pytest.approx(ranks.score("hit@5", found.weights).value)
    assert weighted.low <= weighted.value <= weighted.high


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, "margins is 7: give a list"),
        ([7], "margins has 7"),
        (["band", "band"], "the margin 'band' is given twice"),
        ([""], "margins has ''"),
    ],
)
def test_what_is_no_margin_is_refused(given: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        FitOptions(margins=given)


def test_margins_that_cannot_be_fitted_are_refused_with_what_to_do() -> None:
    log = log_of(8)
    with pytest.raises(ColumnError, match=r"no labels 'colour' were read .*name it with labels"):
        us.fit_weights(log.at(9), log.at(4), margins=["colour"])
    with pytest.raises(
        PolicyError, match=r"margins needs the profiles of the reference date.*give reference a date"
    ):
        us.fit_weights(log.at(9), log.at(4).marginal(), margins=["band"])
    with pytest.raises(PolicyError, match="use method='scaling'"):
        FitOptions(margins=["band"], method="lbfgs")
    with pytest.raises(us.InputError, match="the log has none of the items of the mapping 'groups'"):
        us.fit_weights(log.at(9), log.at(4), margins=[{"nothing": "A"}])
    with pytest.raises(PolicyError, match="a timeline matches the mix of items alone"):
        us.timeline(log, ["popular"], reference=4, every=2, options=FitOptions(margins=["band"]))


@pytest.fixture
def path(tmp_path: Path) -> str:
    where = tmp_path / "log.parquet"
    pq.write_table(pa.table(table(9, users=100)), where)
    return str(where)


def test_the_command_line_matches_margins_and_keeps_them_in_its_file(path: str, tmp_path: Path) -> None:
    out = str(tmp_path / "weights.parquet")
    asked = ("--reference", "4", "--at", "9", "--margin", "column:band", "--margin", "column:category")
    found = answer("weights", path, *asked, "-o", out)
    assert [margin["name"] for margin in found["margins"]] == ["band", "category"]
    assert set(found["margins"][0]) == {"name", "residual", "bound_before", "bound_after", "bound_least", "groups"}
    assert found["margins"][0]["bound_after"] < found["margins"][0]["bound_before"]
    shown = run("weights", path, *asked)
    assert "margin band" in shown.stdout
    fitted = answer("evaluate", path, "--at", "9", "--weights", out, "-r", "popular")
    log = us.read_log(path, labels=["band", "category"])
    weights = us.fit_weights(log.at(9), log.at(4), margins=["band", "category"])
    direct = us.evaluate("popular", log.at(9), weights=weights).value
    [value] = [score["value"] for score in fitted["scores"] if score["weighting"] == "weighted"]
    assert value == pytest.approx(direct)
    assert (
        run("sample", path, "--at", "9", "--weights", out, "-o", str(tmp_path / "t.csv"), "-n", "9").exit_code == 0
    )
    assert pc.read_csv(tmp_path / "t.csv").num_rows == 9


def test_a_slip_in_a_margin_is_one_line(path: str) -> None:
    asked = ("weights", path, "--reference", "4", "--at", "9", "--margin")
    assert "--margin is 'band': give column:NAME" in refused(*asked, "band")
    assert "'colour'" in refused(*asked, "column:colour")
    assert "use --method scaling" in refused(*asked, "column:band", "--top", "2")
