"""The result of a fit: worst cases, words, tables, and the file that loses nothing."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event, columns, item_mix, profiles_at, random_events
from unskew.arrays.distances import worst
from unskew.errors import InputError
from unskew.weights.fit_report import explain_range

seeds = st.integers(0, 2**32 - 1)


def history(seed: int, users: int = 20) -> tuple[list[Event], us.Log]:
    events = random_events(np.random.default_rng(seed), users)
    return events, us.read_log(columns(events))


def certified() -> us.ItemWeights:
    """Half of the users hold a alone, which had a fifth of the mass at t0."""
    log = us.read_log({"user": [1, 1, 2], "item": ["b", "c", "a"], "time": [9, 9, 9]})
    return us.fit_weights(log.at(9), {"a": 0.2, "b": 0.5, "c": 0.3})


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=7),
    st.integers(1, 9),
)
@settings(max_examples=100, deadline=None)
def test_worst_is_the_largest_change_of_hit_rate_over_all_lists_of_k(
    pairs: list[tuple[float, float]], k: int
) -> None:
    p, q = (np.array(side) for side in zip(*pairs, strict=True))
    lists = [s for n in range(k + 1) for s in itertools.combinations(range(len(p)), n)]  # fewer than k hit no more
    largest = max(abs(float(p[list(s)].sum() - q[list(s)].sum())) for s in lists)
    assert worst(p, q, k) == pytest.approx(largest, abs=1e-12)


@given(seeds, st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_worst_of_a_result_counts_vanished_items_and_dropped_ones(seed: int, k: int) -> None:
    events, log = history(seed)
    before = {"gone": 0.15, "gone too": 0.1} | {i: 0.75 * p for i, p in item_mix(profiles_at(events, 3)).items()}
    result = us.fit_weights(log.at(9), before)
    after = dict(zip(result.items.to_pylist(), result.p_after.tolist(), strict=True))
    change = {i: after.get(i, 0.0) - before.get(i, 0.0) for i in {*before, *after}}
    lists = [s for n in range(k + 1) for s in itertools.combinations(change.values(), n)]
    assert result.worst(k) == pytest.approx(max(abs(sum(s)) for s in lists), abs=1e-12)
    assert result.worst(k) <= result.bound + 1e-12
    assert result.worst(len(change)) == pytest.approx(result.bound, abs=1e-9)


def test_a_list_of_no_items_is_refused() -> None:
    with pytest.raises(InputError, match="k is 0"):
        certified().worst(0)


def test_the_certificate_names_its_items_and_explains_itself_with_its_figures() -> None:
    result = certified()
    assert result.status == "certified"
    assert sorted(result.trapped_items) == ["b", "c"]
    assert result.report.certificate.items == 2
    assert result.report.certificate.target == pytest.approx(0.8)
    assert result.report.certificate.reach == pytest.approx(0.5)
    assert result.report.bound_least == pytest.approx(0.3)
    assert result.report.residual == pytest.approx(0.3, abs=1e-4)
    assert "these 2 items had 80.0 % of the mass" in result.explanation
    assert "only 50.0 % of the users" in result.explanation


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_the_figures_of_the_certificate_are_those_of_the_profiles(seed: int) -> None:
    events, log = history(seed)
    result = us.fit_weights(log.at(9), log.at(2), max_passes=3000)
    if result.report.bound_least == 0:
        assert result.report.certificate.items == 0
        return
    trapped = set(result.trapped_items)
    target = dict(zip(result.items.to_pylist(), result.target.tolist(), strict=True))
    known = {i for i, t in target.items() if t > 0}
    part = [held for held in profiles_at(events, 9).values() if known & set(held)]
    reach = sum(1 for held in part if trapped & set(held)) / len(part)
    mass = sum(target[i] for i in trapped)
    assert result.report.certificate.target == pytest.approx(mass, abs=1e-12)
    assert result.report.certificate.reach == pytest.approx(reach, abs=1e-12)
    assert result.report.bound_least == pytest.approx(mass - reach, abs=1e-12)
    if result.status == "certified":
        shown = [float(x) / 100 for x in re.findall(r"([\d.]+) %", result.explanation)]
        other_side = "hold nothing but" in result.explanation
        expected = [1 - reach, 1 - mass] if other_side else [mass, reach]
        assert shown == pytest.approx(expected, abs=0.1 * (mass - reach) + 1e-12)


def test_each_status_has_its_words() -> None:
    _, log = history(3, users=60)
    solved = us.fit_weights(log.at(9), log.at(4), users="both")
    assert solved.explanation == "the weighted mix matches the reference date to within 0.0001"
    some = us.fit_weights(log.at(9), log.at(4), top=2, method="lbfgs")
    assert "the gradient of D over these 2 weights is at most 0.0001" in some.explanation
    with pytest.warns(us.ConvergenceWarning):
        unfinished = us.fit_weights(log.at(9), log.at(4), users="both", tol=1e-15, max_passes=3)
    assert f"{unfinished.report.residual:.2g} away from the target" in unfinished.explanation


def test_the_repr_shows_status_passes_figures_and_what_was_left_out() -> None:
    result = certified()
    text = repr(result)
    assert "certified" in text
    assert f"{result.report.passes} passes" in text
    assert "(least possible residual 0.3)" in text
    assert "0 % of users" in text


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and np.array_equal(one, other))
    if isinstance(one, pa.Array):
        return bool(one.type == other.type and one.equals(other))
    return bool(one == other and type(one) is type(other))


@pytest.mark.parametrize("new_items", ["drop", "keep"])
@pytest.mark.parametrize("method", ["scaling", "lbfgs"])
def test_saving_and_loading_loses_nothing(tmp_path: Path, new_items: str, method: str) -> None:
    events, log = history(4, users=40)
    reference = {"gone": 0.1} | {i: 0.9 * p for i, p in item_mix(profiles_at(events, 3)).items()}
    top = 3 if method == "lbfgs" else None
    options: dict[str, Any] = {"method": method, "top": top, "new_items": new_items}
    for result in (
        us.fit_weights(log.at(9), reference, **options),
        us.fit_weights(log.at(9), log.at(3), **options),
    ):
        result.save(tmp_path / "weights.parquet")
        loaded = us.ItemWeights.load(tmp_path / "weights.parquet")
        for field in fields(result):
            if field.name != "frames":  # whoever loads it may not have that library
                one, other = getattr(result, field.name), getattr(loaded, field.name)
                assert same(one, other), (field.name, one, other)
        assert repr(loaded) == repr(result)
        assert loaded.to_dict() == result.to_dict()
        assert log.at(9).marginal(loaded).to_dict() == log.at(9).marginal(result).to_dict()


@pytest.mark.parametrize("ids", [[1, 2, 3], ["x", "y", "z"], pd.Categorical(["x", "y", "z"])])
def test_ids_keep_their_type_through_the_file(tmp_path: Path, ids: Any) -> None:
    table = pd.DataFrame({"user": [1, 1, 2], "item": ids, "time": [0, 0, 0]})
    log = us.read_log(table)
    result = us.fit_weights(log.at(0), log.at(0))
    result.save(tmp_path / "weights.parquet")
    loaded = us.ItemWeights.load(tmp_path / "weights.parquet")
    assert loaded.items.type == result.items.type
    assert loaded.items.to_pylist() == result.items.to_pylist()
    assert log.at(0).marginal(loaded).to_dict() == log.at(0).marginal().to_dict()


def test_the_file_has_exactly_the_promised_columns_one_row_per_item(tmp_path: Path) -> None:
    log = us.read_log({"user": [1, 1, 2, 2, 1], "item": ["a", "b", "a", "c", "new"], "time": [0, 0, 0, 0, 9]})
    result = us.fit_weights(log.at(9), log.at(0))
    result.save(tmp_path / "weights.parquet")
    table = pq.read_table(tmp_path / "weights.parquet")
    assert table.column_names == ["item", "weight", "log_weight", "p_reference", "p_before", "p_after"]
    rows = {row["item"]: row for row in table.to_pylist()}
    assert sorted(rows) == ["a", "b", "c", "new"]
    assert rows["new"]["weight"] == 0
    assert rows["new"]["log_weight"] == -np.inf
    assert rows["a"]["p_reference"] == 0.5
    assert all(rows[i]["weight"] == pytest.approx(np.exp(rows[i]["log_weight"])) for i in "abc")


def test_another_file_is_refused_by_what_it_is(tmp_path: Path) -> None:
    _, log = history(5)
    log.at(9).marginal().save(tmp_path / "marginal.parquet")
    with pytest.raises(InputError, match="holds a marginal, not item weights"):
        us.ItemWeights.load(tmp_path / "marginal.parquet")


def test_tables_come_back_in_the_library_of_the_log() -> None:
    events, _ = history(6)
    for make, library in ((pd.DataFrame, pd), (pl.DataFrame, pl)):
        log = us.read_log(make(columns(events)))
        frame = us.fit_weights(log.at(9), log.at(4)).to_frame()
        assert type(frame) is library.DataFrame
        assert list(frame.columns) == ["item", "weight", "log_weight", "p_reference", "p_before", "p_after"]


def test_the_figures_are_ready_for_json() -> None:
    result = certified()
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    for name in ("divergence_before", "bound_before", "bound_least", "residual", "gap"):
        assert told[name] == getattr(result.report, name)
    assert (told["divergence_after"], told["bound_after"]) == (result.divergence, result.bound)
    assert told["worst_at_5"] == result.worst(5)
    assert told["users_excluded"] == asdict(result.report.users_excluded)
    assert told["status"] == "certified"
    assert told["converged"] is True
    assert told["weight_range"] == list(result.weight_range)


def test_weights_beyond_the_range_of_numbers_are_neither_infinite_nor_zero() -> None:
    result = certified()
    wide = replace(result, log_weights=np.array([800.0, -800.0, -np.inf]))
    assert np.isfinite(wide.weights).all()
    assert (wide.weights[:2] > 0).all()
    assert wide.weights[2] == 0
    assert wide.weight_range[0] > 0
    json.dumps(wide.weight_range, allow_nan=False)


def test_the_history_begins_at_weights_of_one_and_ends_at_the_divergence() -> None:
    events, log = history(7, users=60)
    result = us.fit_weights(log.at(9), log.at(4))
    assert result.report.history[-1] == result.divergence
    assert (np.diff(result.report.history) <= 0).all()
    before = item_mix(profiles_at(events, 4))
    kept = {u: {i: t for i, t in held.items() if i in before} for u, held in profiles_at(events, 9).items()}
    now = item_mix({u: held for u, held in kept.items() if held})
    total = sum(before[i] for i in now)
    start = sum(before[i] / total * np.log(before[i] / total / now[i]) for i in now)
    assert result.report.history[0] == pytest.approx(start, abs=1e-12)


def test_weights_far_out_of_range_are_shown_as_what_they_mean() -> None:
    assert explain_range(np.array([0.5, 2.0])) == "0.5 to 2"
    extreme = np.array([1e-200, 1e-9, 0.5, 2.0, 1e19])
    assert explain_range(extreme) == (
        "0.5 to 2, 2 items held out only if a user has nothing else, 1 item held out whenever a user has it"
    )
    assert explain_range(np.array([1e-200])) == "1 item held out only if a user has nothing else"


def test_every_result_with_a_table_shows_its_first_rows_in_a_notebook() -> None:
    rows = [(user, f"<b>{item}</b>", item) for user in range(30) for item in range(user % 12 + 1)]
    log = us.read_log({name: [row[k] for row in rows] for k, name in enumerate(("user", "item", "time"))})
    before, now = log.at(6), log.at(11)
    weights = us.fit_weights(now, reference=before)
    ranks = us.rank_held_out("popular", now)
    series = us.timeline(log, ["popular"], reference=6, dates=[6, 9, 11])
    results: list[Any] = [
        *(weights, us.drift(now, before), now.marginal(), ranks, us.report(log, ["popular"], at=11).scores),
        *(us.sample_pairs(now, weights, sample=5), series),
    ]
    for result in results:
        table, markup = result.to_arrow(), result._repr_html_()
        assert markup.count("<tr>") == 1 + min(table.num_rows, 10)
        for name in table.column_names:
            assert f"<th>{name}</th>" in markup
        assert "<b>" not in markup
    assert "&lt;b&gt;0&lt;/b&gt;" in weights._repr_html_()
    assert "ItemWeights: 12 rows, the first 10" in weights._repr_html_()
