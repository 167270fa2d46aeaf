"""A test set for other libraries: its rows, its probabilities, and that means over it are weighted scores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import unskew as us
from tests.dense import columns, random_events
from tests.scoring import Spy, log_of, mrr, pair_shares, place, stepping, taken
from unskew.errors import FileError, InputError, PolicyError
from unskew.storage.tables import read_parquet


def history(seed: int = 0, users: int = 30) -> list[tuple[str, int, int]]:
    return [(u, int(i[1:]), t) for u, i, t in random_events(np.random.default_rng(seed), users, 8)]


def rows(found: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = found.to_arrow().to_pylist()
    return listed


@pytest.mark.parametrize("weighted", [False, True])
def test_each_row_is_a_pair_with_its_probability_and_the_rest_of_the_profile(weighted: bool) -> None:
    events = history()
    log, held = log_of(events), taken(events)
    now = log.at(9)
    weights = us.fit_weights(now, log.at(4)) if weighted else None
    share = {i: float(w) for i, w in zip(log.items, np.exp(now.weigh(weights).log_weights), strict=True)}
    expected = pair_shares(held, share.__getitem__)
    found = rows(us.sample_pairs(now, weights, sample=500, seed=3))
    assert len(found) == 500
    for row in found:
        assert row["probability"] == pytest.approx(expected[row["user"], row["item"]], rel=1e-10)
        assert row["profile"] == [i for i in now.profile(row["user"]) if i != row["item"]]


def test_pairs_come_as_often_as_their_probability_says() -> None:
    log = log_of(history(1, 10))
    weights = us.fit_weights(log.at(9), log.at(4))
    found = rows(us.sample_pairs(log.at(9), weights, sample=30_000, seed=2))
    p = {(r["user"], r["item"]): r["probability"] for r in found}
    counts = Counter((r["user"], r["item"]) for r in found)
    assert sum(p.values()) == pytest.approx(1, abs=1e-3)  # all but the rarest have come
    often = [pair for pair in p if p[pair] * 30_000 >= 5]
    expected = [30_000 * p[pair] for pair in often]
    scaled = np.array(expected) * sum(counts[pair] for pair in often) / sum(expected)
    assert stats.chisquare([counts[pair] for pair in often], scaled).pvalue > 1e-4


@pytest.mark.parametrize("seed", [0, 7])
def test_the_mean_over_the_rows_is_the_score_of_the_same_sample(seed: int) -> None:
    log = log_of(history(2))
    recommend = stepping(log.items.to_list())
    weights = us.fit_weights(log.at(9), log.at(4))
    drawn = us.sample_pairs(log.at(9), weights, sample=400, seed=seed)
    values = [mrr(3)(place(recommend(r["profile"], 3), r["item"])) for r in rows(drawn)]
    score = us.evaluate(Spy(recommend), log.at(9), weights=weights, metric="mrr@3", sample=400, seed=seed)
    assert score.value == pytest.approx(float(np.mean(values)), abs=1e-12)


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    log = log_of(history())
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        us.sample_pairs(log.at(9), sample=50, seed=seed).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


def test_the_file_has_exactly_the_columns_of_the_contract_and_tells_how_it_was_made(tmp_path: Path) -> None:
    log = log_of([*history(), ("newcomer", 77, 9)])
    weights = us.fit_weights(log.at(9), log.at(4))
    us.sample_pairs(log.at(9), weights, sample=50, seed=4).save(tmp_path / "t.parquet")
    table, about = read_parquet(tmp_path / "t.parquet")
    assert table.column_names == ["user", "item", "probability", "profile"]
    assert table.schema.field("probability").type == pa.float64()
    assert pa.types.is_large_list(table.schema.field("profile").type)
    assert (about["kind"], about["n"], about["seed"], about["at"], about["reference"]) == ("sample", 50, 4, 9, 4)
    assert about["users_excluded"]["count"] == weights.report.users_excluded.count > 0
    assert about["users_excluded"]["mass"] == pytest.approx(weights.report.users_excluded.mass, abs=1e-12)
    assert about["policy"] == weights.policy.to_dict()
    assert "newcomer" not in table.column("user").to_pylist()


def test_a_raw_sample_needs_no_weights() -> None:
    log = log_of(history())
    drawn = us.sample_pairs(log.at(9), sample=10)
    assert (drawn.about["reference"], drawn.about["users_excluded"]["count"], len(drawn)) == (None, 0, 10)
    assert repr(drawn) == "TestSet(10 held-out pairs at 9)"


def test_profiles_of_one_item_leave_an_empty_list() -> None:
    drawn = us.sample_pairs(log_of([("a", "x", 0)]).at(0), sample=3)
    assert rows(drawn) == [{"user": "a", "item": "x", "probability": 1.0, "profile": []}] * 3


def test_the_table_comes_back_in_the_library_of_the_log_and_ids_keep_their_type(tmp_path: Path) -> None:
    frame = pd.DataFrame(columns(history())).astype({"user": "category", "item": "int16"})
    log = us.read_log(frame)
    drawn = us.sample_pairs(log.at(9), sample=20)
    assert isinstance(drawn.to_frame(), pd.DataFrame)
    assert drawn.to_arrow().schema.field("item").type == pa.int16()
    assert pa.types.is_dictionary(drawn.to_arrow().schema.field("user").type)
    drawn.save(tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pylist() == rows(drawn)


@pytest.mark.parametrize("n", [0, -1])
def test_fewer_than_one_pair_is_refused(n: int) -> None:
    with pytest.raises(InputError, match=f"sample is {n}"):
        us.sample_pairs(log_of(history()).at(9), sample=n)


def test_weights_of_another_policy_are_refused() -> None:
    log = log_of(history())
    weights = us.fit_weights(log.at(9), log.at(4))
    with pytest.raises(PolicyError, match=r"was made with .*, not "):
        us.sample_pairs(log.at(9, p_user=np.ones(len(log.users))), weights)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        us.sample_pairs(log_of(history()).at(9), sample=5).save(tmp_path / "no" / "t.parquet")
    assert list(tmp_path.iterdir()) == []
