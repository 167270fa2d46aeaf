"""The yardstick: each figure beside what a few plain calls give, on worlds of a few hundred users."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, sem

import unskew as us
from tests.described_worlds import describe_worlds
from tests.test_cli import table
from unskew.evaluation import Score
from unskew.known_truths import Yardstick, yardstick, yardstick_run
from unskew.known_truths.case import Case, cut_log
from unskew.known_truths.case_names import SUMMARIES, TUNING_WORLDS, UNTOUCHED_WORLDS
from unskew.known_truths.case_sources import SimulatedWorlds, find_sources
from unskew.known_truths.estimators import ALL, ESTIMATORS, RAW, WEIGHTED, Estimator, PairWeights, View
from unskew.known_truths.scored_case import choose_by, kendall_tau, score_methods
from unskew.known_truths.yardstick_result import find_share_removed, mean_and_error
from unskew.known_truths.yardstick_run import YardstickFolder
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.recipe import resize

Row = dict[str, Any]
SIZE: dict[str, Any] = {"users": 300, "items": 120}
COSINE, CROSS_FITTED = "knn?neighbours=50", "knn?neighbours=50&exact=false"
SOME = ["raw", "item weights", "outside", "organic + weights"]
ALWAYS_ON = (
    *(
        "new-items",
        "seasons",
        "moving-tastes",
        "content",
        "trending",
        "same-maker",
        "exploring",
        "sponsored",
        "position-bias",
        "active-users",
    ),
    *("substitution", "spill-over", "joiners", "biased-holdout", "twins"),
)
SEEDS = (1, 2)
TRUTHS = 2


@pytest.fixture(scope="module")
def world() -> us.worlds.World:
    return us.simulate("paper", **SIZE, seed=1)


@pytest.fixture(scope="module")
def found() -> Yardstick:
    return yardstick(
        ["paper", "quiet"],
        seeds=SEEDS,
        methods=SOME,
        recommenders=["g1", "g2", "popular", COSINE],
        truth_seeds=TRUTHS,
        **SIZE,
    )


def pick(table: pa.Table, **wanted: Any) -> list[Row]:
    """The rows that have some values."""
    rows: list[Row] = table.to_pylist()
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def pick_one(table: pa.Table, **wanted: Any) -> Row:
    [row] = pick(table, **wanted)
    return row


def score(log: us.Log, spec: str, *, weighted: bool, **options: Any) -> Score:
    """At day 500, weighted to day 300 of the same log or not."""
    now = log.at(log.last)
    weights = us.fit_weights(now, log.at(300)) if weighted else None
    found: Score = us.evaluate(spec, now, weights=weights, **options)
    return found


@pytest.mark.parametrize("method", SOME)
@pytest.mark.parametrize("spec", ["popular", COSINE])
def test_a_row_is_what_evaluate_gives_on_the_view_and_on_the_truth(
    found: Yardstick, world: us.worlds.World, method: str, spec: str
) -> None:
    views = {
        "outside": us.views.outside(world.log, ["330:350", "430:450"]),
        "organic + weights": us.views.organic(world.log),
    }
    weighted = "weights" in method
    estimate = score(views.get(method, world.log), spec, weighted=weighted)
    raw, truth = score(world.log, spec, weighted=False), score(world.truth, spec, weighted=weighted)
    row = pick_one(found.rows, world="paper", seed=1, method=method, recommender=spec)
    told = [
        row[name] for name in ("estimate", "low", "high", "effective_pairs", "raw", "raw_low", "raw_high", "truth")
    ]
    wanted = [*(estimate.value, estimate.low, estimate.high, estimate.effective_pairs)]
    assert told == [*wanted, raw.value, raw.low, raw.high, truth.value]
    assert row["error"] == estimate.value / truth.value - 1
    assert row["bias_removed"] == pytest.approx(
        1 - abs(estimate.value - truth.value) / abs(raw.value - truth.value)
    )
    before = us.evaluate(spec, world.truth.at(300)).value
    assert row["change"] == pytest.approx(estimate.value - before, abs=1e-12)
    assert row["true_change"] == pytest.approx(truth.value - before, abs=1e-12)


def test_weights_that_do_not_target_the_reference_date_are_made_for_it_too(world: us.worlds.World) -> None:
    half = PairWeights("half", lambda now, before, case: dict.fromkeys(range(60), 0.5), targets_reference=False)
    own = yardstick(
        "paper", seeds=1, methods=[Estimator("half", ALL, half)], recommenders=["popular"], truth_seeds=0, **SIZE
    )
    weights = dict.fromkeys(range(60), 0.5)
    then, now = (
        us.evaluate("popular", world.truth.at(day), weights=weights).value for day in (300, world.truth.last)
    )
    row = pick_one(own.rows)
    assert row["truth"] == now
    assert row["true_change"] == pytest.approx(now - then, abs=1e-12)


def test_weights_may_answer_the_question_of_others(world: us.worlds.World) -> None:
    twice = PairWeights("twice", lambda now, before, case: {0: 2.0}, question=WEIGHTED)
    own = yardstick(
        "paper", seeds=1, methods=[Estimator("twice", ALL, twice)], recommenders=["popular"], truth_seeds=1, **SIZE
    )
    row = pick_one(own.rows)
    assert row["truth"] == score(world.truth, "popular", weighted=True).value
    people = make_people(1, 1)[0]
    assert row["mean_truth"] == score(people, "popular", weighted=True).value


def test_weights_that_need_production_have_a_mean_truth_where_it_is_known() -> None:
    own = yardstick(
        ["paper", "candidate", "closed-loop"],
        seeds=1,
        methods=["raw", "agreement weights"],
        recommenders=["popular"],
        truth_seeds=1,
        users=150,
        items=60,
    )
    assert "agreement weights" not in {row["method"] for row in pick(own.rows, world="closed-loop")}
    means = {(row["world"], row["method"]): row["mean_truth"] for row in pick(own.rows)}
    assert None not in means.values()
    assert means["paper", "raw"] == means["candidate", "raw"]
    assert means["paper", "agreement weights"] != means["candidate", "agreement weights"]


def test_a_model_that_keeps_the_pair_is_cross_fitted(world: us.worlds.World) -> None:
    own = yardstick("paper", seeds=1, methods="raw", recommenders=[CROSS_FITTED], folds=3, truth_seeds=0, **SIZE)
    row = pick_one(own.rows)
    assert row["estimate"] == score(world.log, CROSS_FITTED, weighted=False, folds=3, seed=1).value
    assert row["truth"] == score(world.truth, CROSS_FITTED, weighted=False, folds=3, seed=1).value


def test_the_two_lists_are_the_most_and_the_least_recommended(found: Yardstick, world: us.worlds.World) -> None:
    times = Counter(world.exposures["item"].to_pylist())
    held = world.truth.at(300).marginal().to_dict()
    p = {item: held[item] for item in held if held[item] > 0}
    pushed = sorted(p, key=lambda item: (-times[item], -p[item], str(item)))[:5]
    unpushed = [i for i in sorted(p, key=lambda item: (times[item], -p[item], str(item))) if i not in pushed][:5]
    for name, items in (("g1", pushed), ("g2", unpushed)):
        row = pick_one(found.rows, world="paper", seed=1, method="raw", recommender=name)
        assert row["raw"] == us.evaluate(us.Constant(items), world.log.at(world.log.last)).value


def test_nothing_was_removed_where_there_may_be_no_bias(found: Yardstick) -> None:
    rows = pick(found.rows, world="quiet")
    assert rows
    for row in rows:
        assert row["bias_removed"] is None
        assert row["weighting"] == "weighted" or row["raw"] == row["truth"]
    assert all(row["error"] == 0 for row in pick(found.rows, world="quiet", method="organic + weights"))


def make_people(seed: int, count: int) -> list[us.Log]:
    """Other people for the items of the quiet world of a seed."""
    recipe = replace(resize(WORLDS["quiet"], **SIZE), item_seed=seed)
    return [us.simulate(recipe, seed=10_000 * (seed + 1) + k).truth for k in range(count)]


def test_intervals_are_compared_with_the_mean_truth_of_other_people_with_the_same_items(
    found: Yardstick,
) -> None:
    for seed in SEEDS:
        people = make_people(seed, TRUTHS)
        for weighted, method in ((False, "raw"), (True, "item weights")):
            mean = np.mean([score(log, COSINE, weighted=weighted).value for log in people])
            for row in pick(found.rows, method=method, recommender=COSINE, seed=seed):
                assert row["mean_truth"] == pytest.approx(mean, rel=1e-12)
                assert row["covered"] == (row["low"] <= mean <= row["high"])


def test_constant_lists_of_a_case_have_a_mean_truth_too(found: Yardstick, world: us.worlds.World) -> None:
    most = Counter(world.exposures["item"].to_pylist())
    p = world.truth.at(300).marginal().to_dict()
    pushed = sorted(p, key=lambda item: (-most[item], -p[item], str(item)))[:5]
    spec = "constant:" + ",".join(map(str, pushed))
    mean = np.mean([score(log, spec, weighted=False).value for log in make_people(1, TRUTHS)])
    row = pick_one(found.rows, world="paper", seed=1, method="raw", recommender="g1")
    assert row["truth"] == score(world.truth, spec, weighted=False).value
    assert row["mean_truth"] == pytest.approx(mean, rel=1e-12)


def test_raw_scores_cover_the_mean_truth_if_nothing_is_recommended() -> None:
    own = yardstick(
        "quiet", seeds=range(5), methods="raw", recommenders=["g2", "popular", COSINE], truth_seeds=4, **SIZE
    )
    covered = [row["covered"] for row in pick(own.rows)]
    assert sum(covered) >= 0.8 * len(covered) == 0.8 * 15  # 95 % of intervals, and the mean has an error too


def test_twins_are_scored_in_worlds_that_have_one_in_production() -> None:
    own = yardstick(
        ["twins", "steady"],
        seeds=[1],
        methods=["raw", "thinned by dates"],
        truth_seeds=1,
        recommenders=["popular", "v1", "v2"],
        **SIZE,
    )
    names = {world: {row["recommender"] for row in pick(own.rows, world=world)} for world in ("twins", "steady")}
    assert names == {"twins": {"popular", "v1", "v2"}, "steady": {"popular"}}
    made = us.simulate("twins", **SIZE, seed=1, holdout=0.15)
    row = pick_one(own.rows, world="twins", method="raw", recommender="v2")
    assert row["truth"] == us.evaluate(made.content_model(twin=1), made.truth.at(made.truth.last)).value
    assert row["mean_truth"] is not None
    with pytest.raises(us.InputError, match="no content model is in production in the world 'steady'"):
        yardstick("steady", seeds=1, methods="raw", recommenders=["v1"], truth_seeds=0, **SIZE)


def test_production_before_the_reference_date_has_the_truth_of_a_stop_at_that_date() -> None:
    own = yardstick("on-before", seeds=[1], methods="raw", recommenders=["popular"], truth_seeds=1, **SIZE)
    made = us.simulate("on-before", **SIZE, seed=1)
    assert made.stopped is not None
    row = pick_one(own.rows)
    assert row["truth"] == us.evaluate("popular", made.stopped.at(made.stopped.last)).value
    recipe = made.recipe
    early = tuple(campaign for campaign in recipe.campaigns if int(str(campaign.day)) <= 300)
    people = us.simulate(replace(recipe, campaigns=early, item_seed=1), seed=20_000).log
    assert row["mean_truth"] == us.evaluate("popular", people.at(people.last)).value


def test_the_table_of_worlds_counts_what_the_tables_of_a_world_have() -> None:
    made = us.simulate("steady", **SIZE, seed=1, holdout=0.15)
    log, truth = (made.tables[name].to_pandas() for name in ("log", "truth"))
    inside = log[log["time"] >= 320]
    pairs = set(zip(truth["user"], truth["item"], strict=True))
    induced = [pair not in pairs for pair in zip(inside["user"], inside["item"], strict=True)]
    table = describe_worlds("steady", seeds=[1, 2], **SIZE)
    one = describe_worlds("steady", seeds=[1], **SIZE)[0]
    assert one["organic_so_far"] == pytest.approx((truth["time"] <= 300).sum() / 300)
    assert one["organic_before"] == pytest.approx(truth["time"].between(241, 300).sum() / 60)
    assert one["organic_after"] == pytest.approx((truth["time"] > 300).sum() / (truth["time"].max() - 300))
    assert one["exposed_share"] == pytest.approx(inside["exposed"].mean())
    assert one["induced_share"] == pytest.approx(np.mean(induced))
    assert one["exposed_share_se"] is None
    other = describe_worlds("steady", seeds=[2], **SIZE)[0]
    both = [one["exposed_share"], other["exposed_share"]]
    assert table[0]["exposed_share"] == pytest.approx(np.mean(both))
    assert table[0]["exposed_share_se"] == pytest.approx(sem(both))


def test_parameters_may_be_chosen_on_some_worlds_only() -> None:
    assert set(TUNING_WORLDS) <= set(SUMMARIES)
    assert set(UNTOUCHED_WORLDS) <= set(SUMMARIES) - set(TUNING_WORLDS)
    assert len(UNTOUCHED_WORLDS) >= 3
    rows = describe_worlds(["paper", "twins"], seeds=[1], **SIZE)
    assert [row["used_for"] for row in rows] == ["tuning", "reporting"]


def test_the_order_of_recommenders_is_judged_on_pairs_that_truly_differ(world: us.worlds.World) -> None:
    names = ["popular", COSINE, "knn?neighbours=200&similarity=cooccurrence", "constant:1,2,3"]
    own = yardstick("paper", seeds=1, methods="raw", recommenders=names, truth_seeds=0, **SIZE)
    now = world.truth.at(world.truth.last)
    ranks = [us.rank_held_out(spec, now) for spec in names]
    differ = [(c.a, c.b) for c in us.compare(*ranks) if c.low > 0 or c.high < 0]
    rows = {row["recommender"]: row for row in pick(own.rows)}
    taus = [
        kendalltau([rows[a]["estimate"], rows[b]["estimate"]], [rows[a]["truth"], rows[b]["truth"]]).statistic
        for a, b in differ
    ]
    ranking = pick_one(own.ranking)
    assert 0 < len(differ) < 6
    assert (ranking["pairs"], ranking["tau"]) == (len(differ), pytest.approx(np.mean(taus)))
    best = max(row["truth"] for row in rows.values())
    chosen = max(rows.values(), key=lambda row: row["estimate"])
    assert ranking["regret"] == best - chosen["truth"]
    assert ranking["regret_share"] == pytest.approx((best - chosen["truth"]) / best)


@given(
    st.lists(
        st.tuples(st.integers(0, 9**9), st.integers(0, 9**9)),
        min_size=2,
        max_size=7,
        unique_by=(lambda x: x[0], lambda x: x[1]),
    )
)
def test_over_all_pairs_tau_is_that_of_scipy(scores: list[tuple[int, int]]) -> None:
    estimates = {str(k): float(x) for k, (x, _) in enumerate(scores)}
    truths = {str(k): float(x) for k, (_, x) in enumerate(scores)}
    ordered = [(a, b) if truths[a] > truths[b] else (b, a) for a, b in combinations(truths, 2)]
    wanted = kendalltau([x for x, _ in scores], [x for _, x in scores]).statistic
    assert kendall_tau(estimates, ordered) == pytest.approx(wanted)


def test_equal_estimates_are_in_no_order_and_no_pairs_have_no_tau() -> None:
    assert kendall_tau({"a": 1.0, "b": 1.0}, [("a", "b")]) == 0
    assert kendall_tau({"a": 1.0, "b": 1.0}, []) is None
    assert choose_by({"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}).regret_share is None


def test_gains_are_counted_where_the_paired_interval_of_the_true_change_lies_above_zero(
    found: Yardstick, world: us.worlds.World
) -> None:
    for row in pick(found.rows):
        assert row["gain_seen"] == (row["change_low"] > 0)
    for method in SOME:
        rows = pick(found.rows, world="paper", method=method)
        ranking = pick_one(found.ranking, world="paper", method=method)
        assert ranking["gains"] == sum(row["gain"] for row in rows)
        assert ranking["gains_seen"] == sum(row["gain"] and row["gain_seen"] for row in rows)
        assert ranking["gains_false"] == sum(row["gain_seen"] and not row["gain"] for row in rows)
    quiet = pick(found.rows, world="quiet", method="raw")
    assert any(row["gain"] for row in quiet)
    assert all(row["gain"] == row["gain_seen"] for row in quiet)


def test_the_interval_of_a_change_is_that_of_explain_change(world: us.worlds.World, found: Yardstick) -> None:
    now, before = (us.rank_held_out(COSINE, world.truth.at(day)) for day in (world.truth.last, 300))
    users, users0 = (ranks.units("hit@5", None) for ranks in (now, before))
    x, y = users.total / users.mass.sum(), users0.total / users0.mass.sum()
    influence = (x - users.mass / users.mass.sum() * x.sum()) - (y - users0.mass / users0.mass.sum() * y.sum())
    error = float(np.sqrt((influence**2).sum()))
    row = pick_one(found.rows, world="quiet", seed=1, method="raw", recommender=COSINE)
    half = (row["change_high"] - row["change_low"]) / 2
    assert half == pytest.approx(1.96 * error, rel=0.15)


def test_seeds_are_summed_up_with_standard_errors(found: Yardstick) -> None:
    rows = pick(found.rows, world="paper", method="item weights", recommender=COSINE)
    told = pick_one(found.summary, world="paper", method="item weights", recommender=COSINE)
    errors = [row["error"] for row in rows]
    left = np.array([abs(row["estimate"] - row["truth"]) for row in rows])
    bias = np.array([abs(row["raw"] - row["truth"]) for row in rows])
    share = left.sum() / bias.sum()
    assert (told["seeds"], told["error"]) == (2, pytest.approx(np.mean(errors)))
    assert told["error_se"] == pytest.approx(sem(errors))
    assert told["bias_removed"] == pytest.approx(1 - share)
    spread = np.sqrt(2 / (2 - 1) * (((left - share * bias) / bias.sum()) ** 2).sum())
    assert told["bias_removed_se"] == pytest.approx(spread)
    covered = [row["covered"] for row in rows]
    assert told["covered"] == np.mean(covered)


def test_a_share_of_bias_is_about_biases_beyond_their_intervals_together() -> None:
    row = {"estimate": 0.2, "raw": 0.3, "raw_low": 0.2, "raw_high": 0.4, "truth": 0.15}
    assert find_share_removed([row])[0] == pytest.approx(1 - 0.05 / 0.15)
    assert find_share_removed([row | {"truth": 0.25}]) == (None, None)
    assert find_share_removed([row, row | {"truth": 0.26}]) == (None, None)  # 0.15 + 0.04 is less than 0.2
    assert find_share_removed([row, row | {"truth": 0.19}])[0] is not None
    assert mean_and_error([None]) == (None, None)


def test_draws_of_a_view_are_averaged(world: us.worlds.World) -> None:
    def drop(log: us.Log, draw: int) -> us.Log:
        return log.keep_entries(np.random.default_rng(draw).random(len(log)) < 0.8)

    own = yardstick(
        "paper",
        seeds=1,
        methods=[
            Estimator("dropped", View("dropped", lambda case, _: [drop(case.log, k) for k in range(3)]), RAW)
        ],
        recommenders=["popular"],
        truth_seeds=0,
        **SIZE,
    )
    values = [score(drop(world.log, draw), "popular", weighted=False).value for draw in range(3)]
    row = pick_one(own.rows)
    assert row["estimate"] == pytest.approx(np.mean(values), rel=1e-12)
    assert (row["draws"], row["spread"]) == (3, pytest.approx(np.std(values, ddof=1)))


def test_every_world_has_dates_before_its_campaigns_and_knows_what_it_should() -> None:
    told = {
        "paper": (300, ["330:350", "430:450"], True, 0.0),
        "long-campaigns": (300, ["320:490"], True, 0.0),
        "always-on": (300, ["320:"], True, 0.15),
        "always-on-for-all": (300, ["320:"], True, 0.0),
        "pre-empting": (300, ["330:350", "430:450"], True, 0.15),
        "quiet": (300, ["330:350", "430:450"], True, 0.15),
        "closed-loop": (299, ["300:495"], False, 0.0),
        "steady": (300, ["320:"], True, 0.15),
        "steady-quiet": (300, ["320:"], True, 0.15),
        "steady-campaigns": (300, ["330:350", "430:450"], True, 0.0),
        "season-in-window": (300, ["330:350", "430:450"], True, 0.0),
        "on-before": (300, ["310:"], True, 0.0),
        "replaced": (300, ["310:"], True, 0.0),
        **dict.fromkeys(ALWAYS_ON, (300, ["320:"], True, 0.15)),
    }
    calm = us.simulate("quiet", users=120, items=60)
    assert calm.stopped is None
    for name, (before, windows, production, holdout) in told.items():
        [source] = find_sources(name, base=None, users=120, items=60)
        assert isinstance(source, SimulatedWorlds)
        case = Case.of(name, calm, source.remembered)
        assert (case.before.tick, case.now.tick) == (before, 500)
        assert [str(window) for window in case.windows] == windows
        assert case.facts == {"dates", "exposures", *(["production"] if production else [])}
        assert source.recipe.holdout == holdout
    assert WORLDS["candidate"].campaigns[0].recommender == COSINE
    assert {"few-items", "growth", "candidate"} | set(told) == set(SUMMARIES)


def test_methods_that_need_more_than_is_known_have_no_rows() -> None:
    own = yardstick(["paper", "quiet"], seeds=1, recommenders=["popular"], truth_seeds=0, users=200, items=80)
    names = {world: {row["method"] for row in pick(own.rows, world=world)} for world in ("paper", "quiet")}
    able = {name for name, method in ESTIMATORS.items() if "hold-out" not in method.needs}
    assert names == {"paper": able, "quiet": set(ESTIMATORS)}
    assert {row["knows"] for row in pick(own.rows, method="kept")} == {"production + hold-out + exposures"}
    assert {row["draws"] for row in pick(own.rows, method="kept")} == {3}


def test_a_world_from_a_folder_is_the_world_itself(
    tmp_path: Path, found: Yardstick, world: us.worlds.World
) -> None:
    world.save(tmp_path / "w")
    options: dict[str, Any] = {"methods": SOME, "recommenders": ["g1", "g2", "popular", COSINE]}
    own = yardstick(tmp_path / "w", truth_seeds=TRUTHS, **options)
    told, wanted = (
        own.rows.drop(["world", "seconds"]),
        found.rows.slice(0, len(own.rows)).drop(["world", "seconds"]),
    )
    assert told.equals(wanted)
    assert own.seeds == [1]
    again = yardstick(world, truth_seeds=0, **options)
    assert again.rows["estimate"] == own.rows["estimate"]
    assert set(again.rows["covered"].to_pylist()) == {None}


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 80), st.integers(2, 50), st.integers(0, 99))
def test_a_log_is_cut_to_some_users_and_their_most_frequent_items(users: int, items: int, seed: int) -> None:
    log = us.read_log(table())
    cut = cut_log(log, users, items, seed)
    assert len(cut.users) <= min(users, len(log.users))
    assert len(cut.items) <= min(items, len(log.items))
    times = {(row["user"], row["item"]): row["time"] for row in reversed(table().sort_by("time").to_pylist())}
    kept = set(cut.users)
    held = Counter(item for user, item in times if user in kept)
    least = min(held[item] for item in cut.items)
    assert all(held[item] <= least for item in set(held) - set(cut.items)) or len(held) <= items
    for code in range(len(cut.users)):
        for place in range(int(cut.start[code]), int(cut.start[code + 1])):
            assert times[cut.users[code], cut.items[int(cut.item[place])]] == cut.time[place]


def test_campaigns_are_injected_into_a_real_log_that_stays_the_truth() -> None:
    base = us.read_log(us.simulate("quiet", users=400, items=150, seed=9).tables["truth"])
    own = yardstick(
        "injected",
        base=base,
        seeds=1,
        users=300,
        items=100,
        methods=["raw", "organic"],
        recommenders=["popular", COSINE],
        truth_seeds=2,
    )
    cut = cut_log(base, 300, 100, 1)
    for spec in ("popular", COSINE):
        row = pick_one(own.rows, method="raw", recommender=spec)
        assert row["truth"] == us.evaluate(spec, cut.at(cut.last)).value
        assert row["raw"] > row["truth"]
        mean = np.mean(
            [us.evaluate(spec, c.at(c.last)).value for c in (cut_log(base, 300, 100, 20_000 + k) for k in (0, 1))]
        )
        assert row["mean_truth"] == pytest.approx(mean)


def without_seconds(own: Yardstick) -> pa.Table:
    return own.rows.drop(["seconds"])


def test_a_run_that_was_stopped_goes_on_to_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {
        "worlds": "paper",
        "seeds": [1, 2],
        "methods": ["raw", "item weights"],
        "recommenders": ["popular", CROSS_FITTED],
        "truth_seeds": 1,
        "users": 150,
        "items": 60,
    }
    whole = yardstick(**options)
    score, done = score_methods, list[int]()

    def stop(*given: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return score(*given)

    monkeypatch.setattr(yardstick_run, "score_methods", stop)
    with pytest.raises(KeyboardInterrupt, match=r"1 of 4 cases are in .*stopped; use resume=True to do the rest"):
        yardstick(**options, output=tmp_path / "stopped")
    monkeypatch.undo()
    assert not (tmp_path / "stopped" / "index.html").exists()
    resumed = yardstick(**options, output=tmp_path / "stopped", resume=True)
    assert (whole.computed, resumed.computed) == (4, 3)
    assert without_seconds(resumed).equals(without_seconds(whole))
    assert resumed.ranking.equals(whole.ranking)
    more = yardstick(**options | {"seeds": [1, 2, 3]}, output=tmp_path / "stopped", resume=True)
    assert more.computed == 2  # the case of the third seed, and other people for its items
    assert more.rows.slice(0, len(whole.rows)).equals(resumed.rows)  # from the folder, seconds included


def test_only_cases_of_the_same_key_are_taken_and_only_to_resume(tmp_path: Path) -> None:
    key = {"seed": 1, "users": 100}
    folder = YardstickFolder.of(tmp_path, resume=True)
    folder.write("a world", key, {"rows": [0.1 + 0.2]})
    assert folder.read("a world", key) == {"rows": [0.1 + 0.2]}
    assert folder.read("a world", key | {"users": 101}) is None
    assert folder.read("a world", key | {"seed": 2}) is None
    assert YardstickFolder.of(tmp_path, resume=False).read("a world", key) is None


KILLED = """
import sys
from unskew.known_truths import yardstick
yardstick("paper", seeds=range(50), methods="raw", recommenders=["popular"], users=150, items=60,
             truth_seeds=0, output=sys.argv[1])
"""


def test_a_run_that_is_killed_leaves_no_half_file(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "y")], stderr=subprocess.DEVNULL)
    cases = tmp_path / "y" / "cases"
    until = time.monotonic() + 60
    while len(list(cases.glob("*.json"))) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    files = list(cases.glob("*.json"))
    assert 3 <= len(files) < 50
    assert all(json.loads(path.read_text())["found"]["rows"] for path in files)
    rest: Any = {"methods": "raw", "recommenders": ["popular"], "users": 150, "items": 60, "truth_seeds": 0}
    found = yardstick("paper", seeds=range(len(files)), **rest, output=tmp_path / "y", resume=True)
    assert found.computed == 0


def test_a_damaged_case_is_named(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "methods": "raw",
        "recommenders": ["popular"],
        "users": 100,
        "items": 50,
        "seeds": 1,
    }
    yardstick("paper", **options, truth_seeds=0, output=tmp_path)
    [path] = (tmp_path / "cases").iterdir()
    told = json.loads(path.read_text())
    told["found"]["rows"][0]["estimate"] += 0.1
    other = json.dumps(told)
    texts = ("{", "{}", other, "[" * 100_000, json.dumps({"kind": "yardstick case", "key": 1, "found": {}}))
    for text in texts:
        path.write_text(text)
        with pytest.raises(us.FileError, match=rf"{path.name} is damaged .*: remove it"):
            yardstick("paper", **options, truth_seeds=0, output=tmp_path, resume=True)


def test_names_on_the_page_are_text(tmp_path: Path, world: us.worlds.World) -> None:
    hostile = "<script>alert(1)</script>"
    folder = tmp_path / "<b>w"
    world.save(folder)
    yardstick(folder, methods="raw", recommenders={hostile: "popular"}, truth_seeds=0, output=tmp_path / "y")
    page = (tmp_path / "y" / "index.html").read_text()
    assert hostile not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;b&gt;w" in page
    assert {path.name for path in (tmp_path / "y").iterdir()} == {
        "index.html", "cases", "worlds.parquet", "rows.parquet", "ranking.parquet", "summary.parquet",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"worlds": "papr"}, "there is no world and no folder 'papr'; did you mean 'paper'"),
        ({"worlds": ["paper", "paper"]}, "'paper' is given twice"),
        ({"worlds": 7}, "7 is not a world"),
        ({"worlds": "injected"}, "campaigns in a real log: give that with base"),
        ({"methods": "organc"}, "there is no method 'organc'; did you mean 'organic'"),
        ({"methods": ["raw", "raw"]}, "methods has 'raw' twice"),
        ({"methods": []}, "methods is empty"),
        ({"methods": [3]}, "3 .* is not a method"),
        ({"seeds": [1, 1]}, "seeds has 1 twice"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [-1]}, "whole number of at least 0"),
        ({"recommenders": ["popular", "popular"]}, "'popular' is given twice"),
        ({"recommenders": ["populr"]}, "did you mean 'popular'"),
        ({"metric": "user-ndcg@5"}, "cannot be weighted"),
        ({"users": 0}, "users is 0"),
        ({"resume": True}, "resume continues what is in a folder: give it with output"),
        ({"folds": 1}, "folds is 1"),
        ({"items": 6, "users": 5}, "too few for the lists"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(us.UnskewError, match=told):
        yardstick(**{"worlds": "paper", "seeds": 1, "truth_seeds": 0, **SIZE, **given})


def test_worlds_that_cannot_be_judged_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(us.FileError, match=r"there is no file .*world\.json"):
        yardstick(tmp_path / "empty")
    us.simulate("quiet", users=50, items=30).save(tmp_path / "quiet")
    with pytest.raises(us.InputError, match=r"nothing is recommended in the world .*take the world 'quiet'"):
        yardstick(tmp_path / "quiet")
    early = us.simulate(**SIZE, seed=1, campaigns=[us.worlds.Campaign(0, recommender="popular")])
    assert early.campaigns == [0]
    with pytest.raises(us.InputError, match="nothing had happened before the first campaign at 0"):
        yardstick(early, truth_seeds=0)
