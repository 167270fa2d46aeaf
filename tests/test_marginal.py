"""A marginal kept for later: made from anything, saved and read again, refused where it does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import unskew as us
from tests.tables import LAW, Row, columns_of, late, profiles_at, rows_of
from unskew.data import Recency
from unskew.errors import FileError, InputError, PolicyError, UnskewError

TABLE = {"user": ["a", "a", "b", "b", "c"], "item": ["x", "y", "x", "z", "y"], "time": [1, 1, 1, 2, 2]}


@LAW
@given(rows_of())
def test_a_marginal_is_the_mean_over_users_of_one_over_the_size(rows: list[Row]) -> None:
    log = us.read_log(columns_of(rows))
    time = max(row.time for row in rows)
    sets = profiles_at(rows, time)
    expected: dict[int, float] = {}
    for items in sets.values():
        for item in items:
            expected[item] = expected.get(item, 0.0) + 1 / len(items) / len(sets)
    marginal = late(log, time).marginal()
    assert marginal.to_dict() == pytest.approx(expected)
    assert sum(marginal.to_dict().values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "source",
    [
        {"x": 0.75, "y": 0.25},
        pd.DataFrame({"item": ["x", "y"], "probability": [0.75, 0.25]}),
        pl.DataFrame({"probability": [0.75, 0.25], "item": ["x", "y"], "more": [1, 2]}),
        pa.table({"item": pa.array(["x", "y"]).dictionary_encode(), "probability": [0.75, 0.25]}),
    ],
    ids=["mapping", "pandas", "polars", "categorical"],
)
def test_a_marginal_can_be_made_from_what_one_has(source: Any) -> None:
    assert us.Marginal.of(source).to_dict() == {"x": 0.75, "y": 0.25}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({}, "at least one item"),
        ({"x": 0.5}, "sum to 0.5"),
        ({"x": -1, "y": 2}, "'x' is -1.0"),
        ({"x": float("nan"), "y": 1}, "'x' is nan"),
        ({"x": None}, "1 null"),
        ({None: 1.0}, "1 null"),
        ({"x": "much"}, "must be numbers"),
        ({"x": [1.0]}, "must be numbers"),
        ({"x": 0.5, 1: 0.5}, "several types"),
        ({(1, 2): 1.0}, "one number or one text"),
        ({2**70: 1.0}, "64 bits"),
        (pd.DataFrame({"item": ["x", "x"], "probability": [0.5, 0.5]}), "'x' more than once"),
        (pd.DataFrame({"thing": ["x"], "probability": [1.0]}), "no column 'item'; it has 'thing', 'probability'"),
        ("reference.parquet", "is a str"),
        (3, "is a int"),
    ],
)
def test_numbers_that_are_no_marginal_are_refused(source: Any, said: str) -> None:
    with pytest.raises(UnskewError, match=said) as error:
        us.Marginal.of(source)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "items", [["x", "y", "x", "z", "y"], [1, 2, 1, 3, 2], pa.array(["x", "y", "x", "z", "y"]).dictionary_encode()]
)
def test_a_saved_marginal_comes_back_to_the_last_bit(items: Any, tmp_path: Path) -> None:
    log = us.read_log({**TABLE, "item": items})
    marginal = log.at(2, p_item=Recency(3)).marginal()
    marginal.save(tmp_path / "reference.parquet")
    back = us.Marginal.load(tmp_path / "reference.parquet")
    assert back.to_dict() == marginal.to_dict()
    assert back.items.type == marginal.items.type
    assert (back.at, back.policy) == (2, marginal.policy)
    assert pq.read_table(tmp_path / "reference.parquet").column_names == ["item", "probability"]


def test_a_date_is_saved_as_it_was_asked_for(tmp_path: Path) -> None:
    log = us.read_log(
        {"user": [1], "item": [1], "time": pd.to_datetime(["2013-06-01T10:00:00"]).tz_localize("UTC")}
    )
    log.at("2013-06-01").marginal().save(tmp_path / "a.parquet")
    assert us.Marginal.load(tmp_path / "a.parquet").at == "2013-06-01"


def test_a_plain_parquet_file_is_a_marginal_of_unknown_policy(tmp_path: Path) -> None:
    pq.write_table(pa.table({"item": ["x"], "probability": [1.0]}), tmp_path / "a.parquet")
    marginal = us.Marginal.load(tmp_path / "a.parquet")
    assert (marginal.at, marginal.policy) == (None, None)


def test_a_file_of_weights_is_not_taken_for_a_marginal(tmp_path: Path) -> None:
    log = us.read_log(TABLE)
    us.fit_weights(log.at(2), reference=log.at(1), new_items="keep").save(tmp_path / "weights.parquet")
    with pytest.raises(InputError, match="holds item weights, not a marginal"):
        us.Marginal.load(tmp_path / "weights.parquet")


def test_weights_from_a_saved_marginal_are_those_from_its_snapshot(tmp_path: Path) -> None:
    log = us.read_log(TABLE)
    log.at(1).marginal().save(tmp_path / "a.parquet")
    one = us.fit_weights(log.at(2), reference=log.at(1))
    two = us.fit_weights(log.at(2), reference=us.Marginal.load(tmp_path / "a.parquet"))
    pd.testing.assert_frame_equal(one.to_frame().to_pandas(), two.to_frame().to_pandas())


@pytest.mark.parametrize("priors", [{"p_user": {"a": 1, "b": 2, "c": 3}}, {"p_item": Recency(3)}])
def test_a_marginal_made_under_another_policy_is_refused(priors: dict[str, Any], tmp_path: Path) -> None:
    log = us.read_log(TABLE)
    log.at(1).marginal().save(tmp_path / "a.parquet")
    with pytest.raises(PolicyError, match="reference"):
        us.fit_weights(log.at(2, **priors), reference=us.Marginal.load(tmp_path / "a.parquet"))


def test_a_marginal_of_the_organic_view_is_refused_for_the_whole_log() -> None:
    log = us.read_log({**TABLE, "seen": [False, False, False, True, False]}, exposed="seen")
    marginal = us.views.organic(log).at(1).marginal()
    assert marginal.policy is not None
    assert marginal.policy.view == "organic"
    with pytest.raises(PolicyError, match="organic"):
        us.fit_weights(log.at(2), reference=marginal)


def test_saving_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    us.Marginal.of({"x": 1.0}).save(path)
    old = path.read_bytes()

    def half(table: pa.Table, where: Path) -> None:
        Path(where).write_bytes(b"PAR1 half of")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", half)
    with pytest.raises(FileError, match="No space left on device"):
        us.Marginal.of({"y": 1.0}).save(path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]


def test_an_output_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "a.parquet"):
        with pytest.raises(FileError, match="cannot write") as said:
            us.Marginal.of({"x": 1.0}).save(path)
        assert "\n" not in str(said.value)
    assert list(tmp_path.iterdir()) == []
