"""Values out: ranks, users and results as tables; one or several of everything; wrong types refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW
from unskew.errors import InputError, UnskewError
from unskew.evaluation import Results, Score

WORLD = us.simulate(users=80, items=25, seed=6)
LOG = WORLD.log
NOW, BEFORE = LOG.at(450), LOG.at(300)
WEIGHTS = us.fit_weights(NOW, BEFORE)
SPECS = ["popular", "constant:1,3,5"]


def reciprocal(rank: float | None) -> float:
    return 0.0 if rank is None else 1 / rank


@pytest.mark.parametrize("weights", [None, WEIGHTS, {1: 3.0, 2: 0.0}])
@pytest.mark.parametrize("how", [{}, {"after": 400}, {"sample": 300}])
def test_the_score_is_the_sum_of_probability_times_metric(weights: Any, how: dict[str, Any]) -> None:
    if weights is WEIGHTS and "after" in how:
        weights = us.fit_weights(NOW, BEFORE, after=400)
    ranks = us.rank_held_out("popular", NOW, metric="mrr@7", weights=[weights], **how)
    rows = ranks.to_arrow(weights).to_pylist()
    assert sum(row["probability"] for row in rows) == pytest.approx(1.0)
    value = sum(row["probability"] * reciprocal(row["rank"]) for row in rows)
    assert value == pytest.approx(ranks.score("mrr@7", weights).value)
    assert {row["rank"] for row in rows} <= {None, *range(1, 8)}
    assert len(rows) == len({(row["user"], row["item"]) for row in rows}) == len(ranks)


def test_rows_name_the_user_and_the_held_out_item_with_its_rank() -> None:
    log = us.read_log({"user": ["ann", "ann", "bob"], "item": ["y", "x", "x"], "time": [1, 1, 1]})
    rows = us.rank_held_out("constant:x,y", log.at(1)).to_arrow()
    assert rows.column_names == ["user", "item", "rank", "probability", "grade"]
    found = {(row["user"], row["item"]): (row["rank"], row["probability"]) for row in rows.to_pylist()}
    assert found == {("ann", "x"): (1, 0.25), ("ann", "y"): (2, 0.25), ("bob", "x"): (1, 0.5)}
    missed = us.rank_held_out("constant:x", log.at(1)).to_arrow().to_pylist()
    assert {row["item"]: row["rank"] for row in missed} == {"x": 1, "y": None}
    assert rows.column("grade").null_count == 3


class Rated:
    """Gives every item the grade 2, and recommends nothing."""

    def fit(self, snapshot: us.Snapshot) -> Rated:
        return self

    def recommend(self, profiles: us.recommend.Batch, k: int) -> Any:
        return np.full((len(profiles), k), -1)

    def grades(self, profiles: us.recommend.Batch, items: Any) -> Any:
        return np.full(len(items), 2.0)


def test_grades_are_there_where_a_metric_asked_for_them() -> None:
    metric = us.Metric("grade", lambda rank, grade: grade, needs_grades=True)
    assert set(us.rank_held_out(Rated(), NOW, metric=metric).to_arrow()["grade"].to_pylist()) == {2.0}


@given(st.integers(0, 2**20), st.booleans())
@LAW
def test_users_add_up_to_the_score(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((6, 5)) < 0.5)
    if len(user) == 0:
        return
    log = us.read_log({"user": user, "item": item, "time": np.ones(len(user), dtype=int)})
    weights = {int(i): float(rng.integers(0, 4)) for i in np.unique(item)} if weighted else None
    if weights is not None and not any(weights.values()):
        return
    ranks = us.rank_held_out("popular", log.at(1), metric="mrr@3")
    rows = ranks.by_user("mrr@3", weights).to_pylist()
    pairs = ranks.to_arrow(weights).to_pylist()
    users = sorted({row["user"] for row in pairs if row["probability"] > 0})
    assert [row["user"] for row in rows] == users
    for row in rows:
        own = [pair for pair in pairs if pair["user"] == row["user"] and pair["probability"] > 0]
        mass = sum(pair["probability"] for pair in own)
        mean = sum(pair["probability"] * reciprocal(pair["rank"]) for pair in own) / mass
        assert (row["probability"], row["value"]) == pytest.approx((mass, mean))
        assert row["pairs"] == len(own)
    total = sum(row["probability"] * row["value"] for row in rows)
    assert total == pytest.approx(ranks.score("mrr@3", weights).value)


@pytest.mark.parametrize("library", [pd, pl, pa])
def test_frames_come_in_the_library_of_the_log(library: Any) -> None:
    table = WORLD.tables["log"]
    source = table if library is pa else table.to_pandas() if library is pd else pl.from_arrow(table)
    log = us.read_log(source)
    kind = pa.Table if library is pa else library.DataFrame
    ranks = us.rank_held_out("popular", log.at(450))
    found = us.report(log, SPECS, at=450, reference=300, refit=0)
    several = us.evaluate(SPECS, log.at(450))
    frames = [ranks.to_frame(), ranks.by_user(), ranks.scores("rank<=1,5").to_frame(), several.to_frame()]
    frames += [found.to_frame(), found.changes.to_frame(), found.comparisons.to_frame()]
    assert [type(frame) for frame in frames] == [kind] * len(frames)


# lists of results


def test_a_list_of_results_is_a_list() -> None:
    found = us.report(LOG, SPECS, at=450, reference=300, refit=0)
    for results in (found.scores, found.changes, found.comparisons):
        assert isinstance(results, Results)
        assert results == list(results)
        assert len(results.to_arrow()) == len(results)
    assert Results([]).to_arrow().num_rows == 0


def test_parts_of_a_change_are_columns_whether_they_are_there_or_not() -> None:
    plain = us.report(LOG, SPECS, at=450, reference=300, refit=0).changes
    other = us.report(LOG, "constant:1,3", baseline="popular", at=450, reference=300, refit=0).changes
    for changes in (plain, other):
        rows = changes.to_arrow().to_pylist()
        for change, row in zip(changes, rows, strict=True):
            for name in ("change", "users_excluded", "item_mix", "algorithm", "unexplained", "item_mix_baseline"):
                part = getattr(change, name)
                wanted = (None,) * 3 if part is None else (part.value, part.low, part.high)
                assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == wanted
    assert plain.to_arrow().column_names == other.to_arrow().column_names


def test_scores_and_comparisons_have_their_figures_as_columns() -> None:
    scores = us.rank_held_out("popular", NOW).scores("rank<=1,5")
    for score, row in zip(scores, scores.to_arrow().to_pylist(), strict=True):
        assert (row["value"], row["metric"], row["segment"]) == (score.value, score.metric, None)
        assert row["users_excluded_mass"] == score.users_excluded.mass
    a, b = (us.rank_held_out(spec, NOW, metric="rank<=1,5") for spec in SPECS)
    several = us.compare(a, b, metric=["hit@1", "hit@5"])
    assert several == [*us.compare(a, b, metric="hit@1"), *us.compare(a, b, metric="hit@5")]
    assert several.to_arrow()["difference"].to_pylist() == [one.difference for one in several]


def test_segments_take_several_metrics() -> None:
    ranks = us.rank_held_out("popular", NOW, metric="rank<=1,5")
    labels = np.arange(len(NOW.profiles.item)) % 2
    both = ranks.by_segment(labels, ["hit@1", "hit@5"])
    assert both == [*ranks.by_segment(labels, "hit@1"), *ranks.by_segment(labels, "hit@5")]
    assert both.to_arrow()["segment"].to_pylist() == ["0", "1"] * 2


# one or several


def test_several_recommenders_and_metrics_are_those_one_by_one() -> None:
    metrics = ["hit@1", "mrr@10"]
    one_by_one = [us.evaluate(spec, NOW, metric=q, weights=WEIGHTS) for spec in SPECS for q in metrics]
    assert us.evaluate(SPECS, NOW, metric=metrics, weights=WEIGHTS) == one_by_one
    assert us.evaluate(tuple(SPECS), NOW, metric=["mrr@10"], weights=WEIGHTS) == one_by_one[1::2]
    assert [s.recommender for s in us.evaluate({"a": "popular", "b": "knn"}, NOW)] == ["a", "b"]
    assert [s.metric for s in us.evaluate("popular", NOW, metric=["rank<=1,5"])] == ["hit@1", "hit@5"]


def test_one_gives_a_score_and_several_a_list() -> None:
    assert_type(us.evaluate("popular", NOW), Score)
    assert_type(us.evaluate(us.Popular(), NOW, metric="hit@3", sample=10), Score)
    assert_type(us.evaluate("popular", NOW, metric=["hit@3"]), Results[Score])
    assert_type(us.evaluate(["popular"], NOW), Results[Score])
    assert_type(us.evaluate({"p": "popular"}, NOW, metric=["hit@3"]), Results[Score])
    assert isinstance(us.evaluate(["popular"], NOW), Results)


def test_what_is_given_twice_or_stands_for_several_is_refused() -> None:
    with pytest.raises(InputError, match="'popular' is given twice"):
        us.evaluate(["popular", "popular"], NOW)
    with pytest.raises(InputError, match="'hit@1' is given twice"):
        us.evaluate("popular", NOW, metric=["hit@1", "hit@1"])
    with pytest.raises(InputError, match=r"stands for hit@1, hit@5, .*: put it into a list"):
        us.evaluate("popular", NOW, metric="rank<=1,5")


# wrong types

ANY: Any = us
RANKS = us.rank_held_out("popular", NOW)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ANY.evaluate("popular", LOG), r"is not a snapshot: give the profiles at a date, such as log\.at"),
        (lambda: ANY.evaluate("popular", 450), r"450 \(of type int\) is not a snapshot: .*log\.at"),
        (lambda: ANY.evaluate("popular", pd.DataFrame({"user": [1, 2]})), "of type DataFrame. is not a snapshot"),
        (lambda: ANY.evaluate(NOW, "popular"), "is not a recommender|is not a snapshot"),
        (lambda: ANY.evaluate(None, NOW), "is not a recommender"),
        (lambda: ANY.rank_held_out("popular", LOG), "is not a snapshot"),
        (lambda: ANY.rank_held_out(["popular", "knn"], NOW), "is a list of recommenders, where one is asked for"),
        (lambda: ANY.fit_weights(LOG, BEFORE), "is not a snapshot"),
        (lambda: WEIGHTS.apply(ANY.evaluate), "is not a snapshot"),
        (lambda: ANY.compare("popular", "knn"), "'popular' .of type str. is not the ranks .*rank_held_out"),
        (lambda: ANY.compare(RANKS, RANKS.score()), "is not the ranks of a recommender"),
        (lambda: ANY.evaluation.explain_change(NOW, BEFORE, WEIGHTS), "is not the ranks of a recommender"),
        (lambda: ANY.report(NOW, "popular", at=450), "is not a log: read one with read_log"),
        (lambda: ANY.timeline(NOW, "popular", reference=300), "is not a log: read one with read_log"),
        (lambda: ANY.timeline(LOG, "popular", reference=LOG), "the reference is a whole log: give a date"),
        (lambda: ANY.views.organic(NOW), "is not a log: read one with read_log"),
    ],
)
def test_wrong_types_are_refused_with_what_to_do(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UnskewError, match=message) as said:
        call()
    assert "\n" not in str(said.value)
