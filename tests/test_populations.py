"""One population for all rows: `min_items` at both dates, raw and weighted; empty profiles and empty lists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event, columns
from tests.scoring import events_of, hit, pair_shares, score_by_hand, stepping, taken
from tests.scoring import log_of as log_by_hand
from unskew.cli import main
from unskew.errors import PolicyError
from unskew.evaluation import explain_change
from unskew.evaluation.pairs import all_pairs
from unskew.recommend import HeldOutPairs
from unskew.weights import FitOptions

BEFORE, NOW = 4, 9
pytestmark = pytest.mark.filterwarnings("ignore:.*after the log ends")


def world(singles: int = 300, several: int = 100) -> list[Event]:
    """Two groups of items that are always taken together; most users have one item, the same for most of them."""
    rng = np.random.default_rng(7)
    events: list[Event] = [(f"one{k}", "hit" if k % 4 else f"odd{k % 8}", k % 10) for k in range(singles)]
    for k in range(several):
        group = "ab"[k % 2]
        own = rng.choice(6, size=4, replace=False)
        events += [(f"many{k}", f"{group}{i}", int(rng.integers(0, 10))) for i in own]
    return events


@pytest.fixture(scope="module")
def log() -> us.Log:
    return us.read_log(columns(world()))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(pa.table(columns(world())), file)
    return str(file)


def call(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 2, result.output
    return result.stderr


# the finding: users without a profile decide


def test_users_with_one_item_turn_the_order_of_two_recommenders(log: us.Log) -> None:
    difference = {}
    for least in (1, 2):
        found = us.report(log, ["knn", "popular"], at=NOW, min_items=least)
        [comparison] = found.comparisons
        difference[least] = (comparison.difference, comparison.low, comparison.high)
        assert (comparison.high < 0) if least == 1 else (comparison.low > 0)
    [told] = us.report(log, ["knn", "popular"], at=NOW).comparisons
    assert told.with_profile is not None
    assert (told.with_profile.users, told.with_profile.min_items) == (100, 2)
    of_some = (told.with_profile.difference, told.with_profile.low, told.with_profile.high)
    assert of_some == pytest.approx(difference[2], abs=1e-12)


def test_the_sentence_of_a_comparison_shows_both_populations(log: us.Log) -> None:
    found = us.report(log, ["knn", "popular"], at=NOW)
    [comparison] = found.comparisons
    assert (
        "; 75 % of this score is on users whose profile is empty once the item is held out, for whom "
        "knn returns nothing: on the other users the difference is +"
    ) in str(comparison)
    assert str(comparison).endswith("(with at least 2 items)")
    [note] = found.notes
    assert note.startswith("75 % of this score is on users whose profile is empty")
    assert "Without these users knn minus popular is +" in note
    assert " instead of -" in note
    told = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert set(told["with_profile"]) == {"difference", "low", "high", "users", "min_items"}
    assert told["empty_lists"] == [pytest.approx(0.75), 0.0]
    assert found.comparisons.to_arrow().column("with_profile_users").to_pylist() == [100]
    alike = us.report(log, ["knn", "popular"], at=NOW, min_items=2)
    assert alike.comparisons[0].with_profile is None
    assert alike.notes == ()
    assert alike.comparisons.to_arrow().column("with_profile_users").to_pylist() == [None]


def test_a_change_against_a_baseline_has_the_note_too(log: us.Log) -> None:
    found = us.report(log, ["knn"], baseline="popular", at=NOW, reference=BEFORE, refit=0)
    assert found.changes[0].algorithm is not None
    assert [note for note in found.notes if "Without these users knn minus popular is" in note]


def test_recommenders_that_answer_alike_are_compared_without_a_word(log: us.Log) -> None:
    found = us.report(log, ["knn", "knn?similarity=jaccard"], at=NOW)
    assert found.scores[0].empty_lists == found.scores[1].empty_lists == pytest.approx(0.75)
    assert found.comparisons[0].with_profile is None
    assert us.report(log, ["popular", "constant:hit"], at=NOW).comparisons[0].with_profile is None


def test_ease_answers_an_empty_profile_with_any_list_and_that_is_told(log: us.Log) -> None:
    found = us.report(log, ["ease?l2=10", "popular"], at=NOW)
    assert found.scores[0].empty_lists == 0.0
    assert found.scores[0].empty_profiles == pytest.approx(0.75)
    assert found.comparisons[0].with_profile is not None
    assert "returns nothing" not in str(found.comparisons[0])


def test_lists_that_lack_users_are_compared_where_both_have_some(log: us.Log) -> None:
    def shy(profile: list[Any], k: int) -> list[Any]:
        return [f"{profile[0][0]}{i}" for i in range(6) if f"a{i}" not in profile and "a" in profile[0]][:k]

    def bold(profile: list[Any], k: int) -> list[Any]:
        return ["hit"]

    found = us.report(log, [shy, bold], at=NOW, min_items=2)
    [comparison] = found.comparisons
    assert comparison.with_profile is not None
    assert (comparison.with_profile.min_items, comparison.with_profile.users) == (None, 50)
    assert list(comparison.empty_lists) == pytest.approx([0.5, 0.0])
    assert comparison.with_profile.difference == pytest.approx(2 * comparison.difference)
    assert "shy returns nothing for 50 % of this score: where both return something" in str(comparison)


def test_with_a_sample_the_other_users_are_the_draws_of_theirs(log: us.Log) -> None:
    ranks = [us.rank_held_out(r, log.at(NOW), sample=2000, seed=1) for r in ("knn", "popular")]
    [comparison] = us.compare(*ranks)
    assert comparison.with_profile is not None
    assert comparison.empty_profiles == pytest.approx(0.75, abs=0.05)
    assert comparison.high < 0 < comparison.with_profile.low


# one population


def score_of_some(events: Sequence[Event], at: int, least: int, weight: Any = None) -> float:
    """The definition, on the users who have enough items."""
    held = {u: items for u, items in taken(events, at).items() if len(items) >= least}
    recommend = stepping(sorted({i for _, i, _ in events}))
    shares = pair_shares(held) if weight is None else pair_shares(held, weight)
    return score_by_hand(held, recommend, hit(3), 3, shares)


@settings(max_examples=60, deadline=None)
@given(events=events_of(40, users="abcdefgh"), least=st.integers(1, 3))
def test_raw_and_weighted_scores_at_both_dates_are_of_users_with_enough_items(
    events: list[Event], least: int
) -> None:
    log = log_by_hand(events)
    if len(log.items) < 3:
        return
    recommend = stepping(log.items.to_list())
    profiles = {at: taken(events, at) for at in (BEFORE, NOW)}
    enough = {at: {u for u, items in p.items() if len(items) >= least} for at, p in profiles.items()}
    known = {i for u in enough[BEFORE] for i in profiles[BEFORE][u]}
    if not known or not any(i in known for u in enough[NOW] for i in profiles[NOW][u]):
        return
    found = us.report(
        log, recommend, at=NOW, reference=BEFORE, metric="hit@3", min_items=least, refit=0, max_passes=5000
    )
    then, raw, weighted = found.scores
    assert then.value == pytest.approx(score_of_some(events, BEFORE, least), abs=1e-12)
    assert raw.value == pytest.approx(score_of_some(events, NOW, least), abs=1e-12)
    assert found.weights is not None
    weight = dict(zip(found.weights.items.to_pylist(), found.weights.weights.tolist(), strict=True))
    expected = score_of_some(events, NOW, least, lambda i: weight.get(i, 0.0))
    assert weighted.value == pytest.approx(expected, abs=1e-9)
    assert (then.users, raw.users) == (len(enough[BEFORE]), len(enough[NOW]))
    lost = sum(not known & set(profiles[NOW][u]) for u in enough[NOW])
    assert (weighted.users, weighted.users_excluded.count) == (raw.users - lost, lost)
    for score, at in ((then, BEFORE), (raw, NOW), (weighted, NOW)):
        few = len(profiles[at]) - len(enough[at])
        assert score.users_below_min_items.count == few
        assert score.users_below_min_items.mass == pytest.approx(few / len(profiles[at]))
    assert found.min_items == least


@pytest.mark.parametrize("spec", ["popular", "knn", "ease?l2=10"])
def test_models_are_fitted_to_all_users_and_scored_on_some(log: us.Log, spec: str) -> None:
    ranks = us.rank_held_out(spec, log.at(NOW))
    rows = [row for row in ranks.to_arrow().to_pylist() if str(row["user"]).startswith("many")]
    some = us.rank_held_out(spec, log.at(NOW), min_items=2).to_arrow().to_pylist()
    assert [(row["user"], row["item"], row["rank"]) for row in some] == [
        (row["user"], row["item"], row["rank"]) for row in rows
    ]
    assert sum(row["probability"] for row in some) == pytest.approx(1.0)


@pytest.mark.parametrize("options", [{"folds": 3}, {"leave_out": 2}, {"after": 4}, {"sample": 500}])
@pytest.mark.filterwarnings("ignore:.*leave_out")
def test_every_protocol_has_the_same_users_raw_and_weighted(log: us.Log, options: dict[str, Any]) -> None:
    own: Any = {name: value for name, value in options.items() if name == "after"}
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE + 3), min_items=2, new_items="keep", **own)
    raw, weighted = (
        us.evaluate("popular", log.at(NOW), weights=w, min_items=2, **options) for w in (None, weights)
    )
    assert raw.users_below_min_items == weighted.users_below_min_items
    assert raw.users_below_min_items.count > 0
    if "sample" not in options:
        assert raw.users == weighted.users


def test_user_metrics_and_segments_are_of_the_same_users() -> None:
    table = columns(world())
    table["kind"] = [str(user)[:3] for user in table["user"]]
    log = us.read_log(table, labels=["kind"])
    found = us.report(log, "popular", at=NOW, metric=["hit@5", "user-recall@5"], by="kind", min_items=2)
    assert {score.users for score in found.scores} == {100}
    assert {score.segment for score in found.scores} == {None, "kind=man"}


def test_a_timeline_and_a_sample_are_of_the_same_users(log: us.Log) -> None:
    made = us.timeline(log, "popular", reference=BEFORE, dates=[NOW], min_items=2)
    values = {row["weighting"]: row["value"] for row in made.rows.to_pylist()}
    found = us.report(log, "popular", at=NOW, reference=BEFORE, min_items=2, refit=0)
    assert values == {score.weighting: score.value for score in found.scores if score.at == NOW}
    drawn = us.sample_pairs(log.at(NOW), sample=500, min_items=2)
    assert all(str(user).startswith("many") for user in drawn.table.column("user").to_pylist())
    assert all(len(row["profile"]) > 0 and row["item"] not in row["profile"] for row in drawn.table.to_pylist())
    assert drawn.about["users_below_min_items"] == {"count": 300, "mass": 0.75}


def test_a_check_is_about_the_same_users(log: us.Log) -> None:
    limits = {"max_unexplained": 1.0, "min_effective_pairs": 1}
    found = us.check(log, "popular", at=NOW, reference=BEFORE, thresholds=limits, min_items=2, refit=0)
    assert found.report is not None
    assert found.report.min_items == 2
    alone = us.check(log, at=NOW, reference=BEFORE, thresholds={"min_effective_pairs": 1}, min_items=2)
    assert alone.thresholds[0].value == pytest.approx(found.thresholds[1].value)


def test_the_options_of_a_fit_choose_the_users_of_all_rows(log: us.Log) -> None:
    whole = us.report(log, "popular", at=NOW, reference=BEFORE, options=FitOptions(min_items=2), refit=0)
    assert whole.min_items == 2
    by_name = us.report(log, "popular", at=NOW, reference=BEFORE, min_items=2, refit=0)
    assert whole.scores == by_name.scores


# what is refused


def test_weights_of_other_users_are_refused(log: us.Log) -> None:
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE), min_items=2)
    told = (
        "the weights were fitted with min_items=2, and scores are asked for with min_items=1: use min_items=2 here"
    )
    with pytest.raises(PolicyError, match=told):
        us.evaluate("popular", log.at(NOW), weights=weights)
    with pytest.raises(PolicyError, match=told):
        us.report(log, "popular", at=NOW, weights=weights)
    with pytest.raises(PolicyError, match=told):
        us.sample_pairs(log.at(NOW), weights)
    now, then = us.rank_held_out("popular", log.at(NOW), min_items=2), us.rank_held_out("popular", log.at(BEFORE))
    with pytest.raises(PolicyError, match=told):
        explain_change(now, then, weights)
    assert us.report(log, "popular", at=NOW, weights=weights, min_items=2).scores[1].weighting == "weighted"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"min_items": 0}, "min_items is 0, but must be a whole number of at least 1"),
        ({"min_items": 99}, "no user has at least 99 items at 9: lower min_items"),
        ({"min_items": 2, "leave_last_out": True}, "holds out one item of each user, and nobody has min_items=2"),
    ],
)
def test_what_leaves_nobody_is_refused(log: us.Log, options: dict[str, Any], told: str) -> None:
    with pytest.raises(us.UnskewError, match=told):
        us.evaluate("popular", log.at(NOW), **options)


# empty profiles and empty lists


def without(pairs: HeldOutPairs, k: int) -> us.Log:
    """The log of a snapshot as it is without a pair, with the same items."""
    log = pairs.snapshot.log
    rows = all_pairs(pairs.snapshot)
    left = [i for i in range(len(rows)) if i != k]
    users, items = log.users.take(rows.user).to_pylist(), log.items.take(rows.item).to_pylist()
    return us.read_log(
        {"user": [users[i] for i in left], "item": [items[i] for i in left], "time": [1] * len(left)}
    )


MODELS: list[Any] = [
    us.ItemKNN(2),
    us.ItemKNN(1, similarity="jaccard"),
    us.ItemKNN(3, exact=False),
    us.Popular(),
    us.Popular(exact=False),
    us.EASE(1.0),
    us.EASE(1.0, exact=False),
    us.EASE(1.0, max_items=2, exact=False),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(max_examples=10, deadline=None)
@given(events=events_of(14, users="abcde", items=5, least=4))
def test_a_list_is_empty_if_a_model_without_the_pair_recommends_nothing(model: Any, events: list[Event]) -> None:
    snapshot = us.read_log(columns(events)).at(NOW).number_by_id()
    pairs = all_pairs(snapshot)
    model.fit(snapshot)
    assert hasattr(model, "empty_lists")
    empty = model.empty_lists(pairs)
    assert empty.dtype == np.bool_
    lists = model.recommend(pairs.remaining(0, len(pairs)), len(snapshot.log.items))
    if not model.exact:
        assert empty.tolist() == (lists < 0).all(axis=1).tolist()
        return
    for k in range(len(pairs)):
        if len(pairs) == 1:
            continue
        part = without(pairs, k)
        own = part.at(1).number_by_id()
        known = set(part.items.to_list())
        fresh = replace(model).fit(own)
        profile = [i for i in snapshot.log.items.take(pairs.remaining(k, k + 1).item).to_pylist() if i in known]
        batch = us.recommend.Batch(
            np.zeros(1, dtype=np.int64),
            np.array([0, len(profile)]),
            own.log.items.codes(profile),
            len(own.log.items),
        )
        assert empty[k] == bool((fresh.recommend(batch, len(own.log.items)) < 0).all())


def test_a_table_has_an_empty_list_for_users_without_one_or_with_nothing_new() -> None:
    log = us.read_log({"user": list("aabbc"), "item": list("xyxzx"), "time": [1] * 5})
    lists = {"user": ["a", "b"], "items": [["x"], ["y", "z"]]}
    with pytest.warns(us.UnskewWarning, match="no recommendation for"):
        ranks = us.rank_held_out(us.Table(lists), log.at(1))
    assert ranks.empty is not None
    rows = ranks.to_arrow().to_pylist()
    told = {(row["user"], row["item"]): bool(empty) for row, empty in zip(rows, ranks.empty, strict=True)}
    assert told == {("a", "x"): False, ("a", "y"): True, ("b", "x"): False, ("b", "z"): False, ("c", "x"): True}


def test_a_function_that_returns_nothing_is_counted(log: us.Log) -> None:
    def shy(profile: list[Any], k: int) -> list[Any]:
        return ["hit"] if len(profile) == 3 and "a0" in profile else []

    score = us.evaluate(shy, log.at(NOW))
    held = taken(world())
    shares = pair_shares(held)
    expected = sum(p for (u, i), p in shares.items() if not shy([j for j in held[u] if j != i], 5))
    assert score.empty_lists == pytest.approx(expected, abs=1e-12)
    assert score.empty_profiles == pytest.approx(0.75, abs=1e-12)


class Silent:
    """Ranks by itself and does not say where it recommends nothing."""

    def fit(self, snapshot: us.Snapshot) -> Silent:
        return self

    def recommend(self, profiles: Any, k: int) -> Any:
        return np.full((len(profiles), k), -1)

    def held_out_ranks(self, pairs: HeldOutPairs, k: int) -> Any:
        return np.zeros(len(pairs), dtype=np.int64)


def test_a_recommender_that_does_not_say_has_no_share_of_empty_lists(log: us.Log) -> None:
    score = us.evaluate(Silent(), log.at(NOW))
    assert score.empty_lists is None
    assert score.to_dict()["empty_lists"] is None
    assert us.evaluate(Silent(), log.at(NOW), folds=2).empty_lists == pytest.approx(1.0)


def test_with_a_time_split_no_profile_is_empty(log: us.Log) -> None:
    score = us.evaluate("knn", log.at(NOW), after=4)
    assert score.empty_profiles == 0.0
    assert us.evaluate("constant:hit", log.at(NOW), leave_out=4).empty_profiles == pytest.approx(1.0)


# commands


def test_evaluate_takes_min_items_with_and_without_a_reference_date(path: str, tmp_path: Path) -> None:
    plain = json.loads(
        call("evaluate", path, "--at", "9", "-r", "knn", "-r", "popular", "--min-items", "2", "--json")
    )
    assert plain["min_items"] == 2
    assert [score["users"] for score in plain["scores"]] == [100, 100]
    assert plain["scores"][0]["users_below_min_items"] == {"count": 300, "mass": 0.75}
    assert {"empty_profiles", "empty_lists"} <= set(plain["scores"][0])
    dated = json.loads(
        call("evaluate", path, "--reference", "4", "--at", "9", "-r", "knn", "--min-items", "2", "--json")
    )
    assert len({(score["at"], score["users"]) for score in dated["scores"]}) == 2
    told = call("evaluate", path, "--at", "9", "-r", "knn", "--min-items", "2", "--details")
    assert "At 9 300 users have fewer than 2 items (75.00 %): excluded." in told
    weights = str(tmp_path / "w.parquet")
    call("weights", path, "--reference", "4", "--at", "9", "--min-items", "2", "-o", weights)
    assert "the weights were fitted with --min-items 2, and scores are asked for with --min-items 1" in refused(
        "evaluate", path, "--at", "9", "-r", "knn", "--weights", weights
    )
    call("evaluate", path, "--at", "9", "-r", "knn", "--weights", weights, "--min-items", "2")
    drawn = str(tmp_path / "s.parquet")
    told = call("sample", path, "--at", "9", "--weights", weights, "--min-items", "2", "-n", "50", "-o", drawn)
    assert "300 users have fewer than 2 items (75.00 %): excluded." in told


def test_evaluate_says_that_users_without_a_profile_decide(path: str) -> None:
    told = " ".join(call("evaluate", path, "--at", "9", "-r", "knn", "-r", "popular", "--details").split())
    assert "whose profile is empty once the item is held out" in told
    assert "(with at least 2 items)" in told
    assert "Note: 75 % of this score is on users" in told


def test_timeline_and_check_take_min_items(path: str) -> None:
    made = json.loads(
        call("timeline", path, "--reference", "4", "--every", "5", "-r", "popular", "--min-items", "2", "--json")
    )
    found = json.loads(
        call("evaluate", path, "--reference", "4", "--at", "9", "-r", "popular", "--min-items", "2", "--json")
    )
    raw = {row["at"]: row["value"] for row in made["rows"] if row["weighting"] == "raw"}
    for score in found["scores"]:
        if score["weighting"] == "raw":
            assert raw[score["at"]] == score["value"]
    limits = ["--max-unexplained", "1", "--json"]
    checked = json.loads(
        call("check", path, "--reference", "4", "--at", "9", "-r", "popular", "--min-items", "2", *limits)
    )
    assert checked["passed"]
