"""The margin of agreement with production: its groups are the ranks of a model, and files name only ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.test_cli import answer, refused
from unskew.data.held_out import SplitRule
from unskew.errors import FileError, PolicyError
from unskew.recommend import Batch
from unskew.recommend.contract import top_k
from unskew.storage.tables import seal
from unskew.weights import Agreement
from unskew.weights.margins import LAST_RANKS, name_groups

PROTOCOLS: list[dict[str, Any]] = [{}, {"after": "-60"}, {"leave_last_out": True}]


@pytest.fixture(scope="module")
def log() -> us.Log:
    return us.simulate(users=400, items=80, seed=2).log


class Rarest:
    """Recommends what the fewest hold, and counts how often it was fitted."""

    fits = 0

    def fit(self, snapshot: us.Snapshot, /) -> Self:
        self.fits += 1
        self.scores = -snapshot.counts().astype(float)
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Any:
        scores = np.tile(self.scores, (len(profiles), 1))
        for row in range(len(profiles)):
            scores[row, profiles.profile(row)] = -np.inf
        return top_k(scores, k)

    def __str__(self) -> str:
        return "rarest"


def expected_group(rank: int) -> str:
    last = [1, 2, 3, 5, 9, 14, 24, 48, 96, 200]
    for first, end in zip([1, *(k + 1 for k in last)], last, strict=False):
        if first <= rank <= end:
            return f"rank {end}" if first == end else f"ranks {first} to {end}"
    return "beyond rank 200"


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
@pytest.mark.parametrize("model", ["knn", "popular", Rarest()], ids=str)
def test_the_group_of_a_pair_is_that_of_its_rank_among_held_out_items(
    log: us.Log, model: Any, protocol: dict[str, Any]
) -> None:
    now = log.at(480)
    part = SplitRule(protocol.get("after"), protocol.get("leave_last_out", False)).split(now).pairs
    groups = Agreement(model).groups(part)
    ranks = us.rank_held_out(model, now, metric=["rank<=1,200"], **protocol)
    found = [groups.names[code] for code in groups.codes[ranks.entries]]
    assert found == [expected_group(int(rank)) for rank in ranks.ranks]
    assert len(set(found)) > 3


def test_groups_are_named_in_the_order_of_their_ranks() -> None:
    assert name_groups()[:4] == ("rank 1", "rank 2", "rank 3", "ranks 4 to 5")
    assert len(name_groups()) == len(LAST_RANKS) + 1


def test_scores_of_the_model_itself_come_back_to_those_of_the_reference_date(log: us.Log) -> None:
    """Its hit rates are sums of groups: at the agreement of then, they are those of then."""
    before, now = log.at(300), log.at(480)
    weights = us.fit_weights(now, before, margins=[Agreement("popular")])
    then = us.evaluate("popular", before, metric="hit@5").value
    margin = weights.report.margins[0]
    assert us.evaluate("popular", now, metric="hit@5", weights=weights).value == pytest.approx(
        then, abs=margin.bound + 1e-9
    )
    assert margin.bound < 0.2 * margin.bound_before
    assert abs(us.evaluate("popular", now, metric="hit@5").value - then) > 5 * margin.bound


def test_the_pair_is_left_out_of_the_model_whatever_the_spec_says(log: us.Log) -> None:
    """How held-out pairs are ranked is no part of what production recommends."""
    exact, told = Agreement("knn?neighbours=20"), Agreement("knn?neighbours=20&exact=false")
    assert told.name == exact.name
    assert np.array_equal(told.groups(log.at(480)).codes, exact.groups(log.at(480)).codes)


def test_the_model_is_fitted_once_for_each_date(log: us.Log) -> None:
    model = Rarest()
    margins = [Agreement(model)]
    now = log.at(480)
    weights = us.fit_weights(now, log.at(300), margins=margins)
    assert model.fits == 2
    now.weigh(weights)
    us.fit_weights(log.at(480), log.at(300), margins=margins, users="both")
    assert model.fits == 2
    with pytest.warns(us.UnskewWarning, match="are used at 400"):
        log.at(400).weigh(weights)
    assert model.fits == 3


def test_a_file_names_the_model_and_may_name_only_what_unskew_ships(log: us.Log, tmp_path: Path) -> None:
    now, before = log.at(480), log.at(300)
    path = tmp_path / "weights.parquet"
    weights = us.fit_weights(now, before, margins=[Agreement("knn?neighbours=20")])
    weights.save(path)
    loaded = us.ItemWeights.load(path)
    assert np.array_equal(now.weigh(loaded).pair_shares, now.weigh(weights).pair_shares)
    found = pq.read_table(path)
    metadata = {k: v.replace(b"knn?neighbours=20", b"antigravity:x?a=1") for k, v in found.schema.metadata.items()}
    pq.write_table(seal(found.replace_schema_metadata(metadata)), path)
    with pytest.raises(FileError, match="not one that unskew ships"):
        us.ItemWeights.load(path)
    with pytest.raises(PolicyError, match=r"rarest cannot be written to a file.*name it by a spec"):
        us.fit_weights(now, before, margins=[Agreement(Rarest())]).save(tmp_path / "other.parquet")
    assert not (tmp_path / "other.parquet").exists()


def test_the_command_line_takes_a_model_of_production(log: us.Log, tmp_path: Path) -> None:
    path, out = str(tmp_path / "log.arrow"), str(tmp_path / "weights.parquet")
    log.save(path)
    asked = ("--reference", "300", "--at", "480", "--view", "all", "--margin")
    found = answer("weights", path, *asked, "agreement:popular", "-o", out)
    assert found["margins"][0]["name"] == "agreement:popular"
    scores = answer("evaluate", path, "--at", "480", "--view", "all", "--weights", out, "-r", "popular")["scores"]
    direct = us.fit_weights(log.at(480), log.at(300), margins=[Agreement("popular")])
    assert scores[-1]["value"] == pytest.approx(us.evaluate("popular", log.at(480), weights=direct).value)
    assert "agreement:knn" in refused("weights", path, *asked, "agreement:")
    own = tmp_path / "own.py"
    own.write_text("def first(profile, k):\n    return [1]\n")
    message = refused("weights", path, *asked, f"agreement:{own}:first", "-o", str(tmp_path / "x.parquet"))
    assert "not one that unskew ships" in message
    assert not (tmp_path / "x.parquet").exists()
