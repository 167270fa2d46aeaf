"""`unskew.check`: each figure by hand, and each threshold just crossed and just not."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import unskew as us
from tests.dense import item_mix, profiles_at, total_variation
from tests.two_dates import BEFORE, NOW, history, log_of
from unskew.evaluation.changes import Part
from unskew.evaluation.find_verdicts import VerdictPlan
from unskew.evaluation.verdict import Scenario, Verdict
from unskew.monitoring import CheckedThreshold, Thresholds

SMALL = {
    "user": ["a", "a", "b", "b", "c"],
    "item": ["x", "y", "x", "y", "z"],
    "time": [0, 0, 0, 9, 9],
}
"""Then a holds x and y, b holds x: P is 3/4 and 1/4. Now a and b hold both and c holds z alone: P is 1/3 each."""

TRAPPED = {"user": ["a", "b", "c"], "item": ["x", "y", "x"], "time": [0, 0, 9]}
"""Everyone holds one item: nothing can be weighted, and P(x) went from 1/2 to 2/3."""

FIGURES = [
    (SMALL, "max_drift", 5 / 12),
    (SMALL, "max_bound", 0.0),
    (SMALL, "max_excluded", 1 / 3),  # c holds nothing that anybody had then
    (SMALL, "min_effective_pairs", 1 / (2 * (3 / 8) ** 2 + 2 * (1 / 8) ** 2)),  # a and b: x 3/4, y 1/4 of 1/2 each
    (TRAPPED, "max_drift", 1 / 6),
    (TRAPPED, "max_bound", 1 / 6),
    (TRAPPED, "max_excluded", 0.0),
    (TRAPPED, "min_effective_pairs", 3.0),
]


def check_one(table: Any, name: str, limit: float, **options: Any) -> CheckedThreshold:
    log = table if isinstance(table, us.Log) else us.read_log(table)
    found = us.check(log, **({"at": 9, "reference": 0, "tol": 1e-9} | options), thresholds={name: limit})
    assert found.passed is not any(one.crossed for one in found.thresholds)
    return found.thresholds[0]


@pytest.mark.parametrize(
    ("table", "name", "figure"), FIGURES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_figure_is_what_it_is_by_hand_and_crosses_a_threshold_just_beyond(
    table: Any, name: str, figure: float
) -> None:
    inside, outside = (figure - 1e-6, figure + 1e-6) if name.startswith("min") else (figure + 1e-6, figure - 1e-6)
    assert check_one(table, name, inside).value == pytest.approx(figure, abs=1e-7)
    assert not check_one(table, name, inside).crossed
    if outside >= 0:
        assert check_one(table, name, outside).crossed


def test_a_figure_that_equals_its_threshold_is_well() -> None:
    found = check_one(TRAPPED, "max_drift", 1.0)
    assert not check_one(TRAPPED, "max_drift", found.value).crossed
    assert not check_one(
        TRAPPED, "min_effective_pairs", check_one(TRAPPED, "min_effective_pairs", 0).value
    ).crossed


def test_users_excluded_at_the_reference_date_count_too() -> None:
    table = {"user": ["a", "b", "b", "c"], "item": ["x", "x", "y", "x"], "time": [0, 0, 0, 9]}
    found = check_one(table, "max_excluded", 0.1, users="both", min_items=2)  # b alone has two items at both dates
    assert found.value == pytest.approx(2 / 3)  # of three users now; of two then it is one
    removed = {"user": ["a", "b", "b"], "item": ["x", "x", "y"], "time": [0, 0, 9], "gone": [5, 99, 99]}
    log = us.read_log(removed, removed="gone")
    assert check_one(log, "max_excluded", 0.1, users="both").value == pytest.approx(1 / 2)  # a, who left


@pytest.mark.parametrize("seed", range(3))
def test_drift_and_effective_pairs_of_a_random_history_are_those_of_a_dense_computation(seed: int) -> None:
    events = history(seed)
    log = log_of(events)
    limits = {"max_drift": 0.0, "min_effective_pairs": 1e9}
    drift, pairs = us.check(log, at=NOW, reference=BEFORE, thresholds=limits).thresholds
    then, now = (item_mix(profiles_at(events, at)) for at in (BEFORE, NOW))
    items = sorted({*then, *now})
    p, q = (np.array([mix.get(item, 0.0) for item in items]) for mix in (then, now))
    assert drift.value == pytest.approx(total_variation(p, q))
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE)).to_arrow().to_pylist()
    w = {row["item"]: row["weight"] for row in weights}
    rows = [[w[item] for item in held] for held in profiles_at(events, NOW).values()]
    rows = [row for row in rows if sum(row) > 0]
    shares = np.array([x / sum(row) / len(rows) for row in rows for x in row])
    assert pairs.value == pytest.approx(1 / (shares**2).sum())
    assert pairs.value == pytest.approx(
        us.report(log, "popular", at=NOW, reference=BEFORE).scores[2].effective_pairs
    )


@pytest.fixture(scope="module")
def world() -> us.worlds.World:
    return us.simulate(users=600, items=100, seed=5)


def test_an_unexplained_change_is_as_far_as_its_interval_is_from_nothing(world: us.worlds.World) -> None:
    dates: Any = {"at": 480, "reference": 300}
    change = us.report(world.log, "knn", **dates).changes[0]
    sure = change.beyond_mix.low
    assert sure > 0  # what campaigns did to a personalised algorithm
    for name, value in (("max_unexplained", sure), ("max_unexplained_relative", sure / change.score_reference)):
        assert check_one(world.log, name, value - 1e-9, recommenders="knn", tol=1e-4, **dates).crossed
        found = check_one(world.log, name, value + 1e-9, recommenders="knn", tol=1e-4, **dates)
        assert not found.crossed
        assert found.value == pytest.approx(value)
        assert (found.recommender, found.metric) == ("knn", "hit@5")


@pytest.mark.filterwarnings("ignore:the reference 480 is after 300")
def test_a_fall_is_as_unexplained_as_a_rise(world: us.worlds.World) -> None:
    dates: Any = {"at": 300, "reference": 480}
    change = us.report(world.log, "knn", **dates, new_items="keep").changes[0]
    assert change.beyond_mix.high < 0
    options: Any = {"recommenders": "knn", "new_items": "keep", "tol": 1e-4}
    found = check_one(world.log, "max_unexplained", 0.0, **options, **dates)
    assert found.crossed
    assert found.value == -change.beyond_mix.high
    assert "fell by" in found.message


def test_the_change_of_a_constant_list_is_explained_up_to_the_bound(world: us.worlds.World) -> None:
    found = us.check(
        world.log,
        ["constant:1,3,5"],
        at=480,
        reference=300,
        thresholds={"max_unexplained": 2e-4, "max_bound": 2e-4},
    )
    assert found.passed
    assert found.report is not None
    assert found.report.changes[0].change.value != 0


def test_an_interval_that_contains_nothing_is_well_at_a_threshold_of_0() -> None:
    log = us.simulate(users=300, items=60, seed=2, world="quiet").log
    change = us.report(log, "popular", at=480, reference=300).changes[0]
    assert change.unexplained.low < 0 < change.unexplained.high
    assert not check_one(
        log, "max_unexplained", 0.0, recommenders="popular", at=480, reference=300, tol=1e-4
    ).crossed


class Waking:
    """Recommends nothing at the reference date, and popular items later."""

    def fit(self, snapshot: us.Snapshot) -> None:
        self.awake = snapshot.at != 300
        self.model = us.Popular()
        self.model.fit(snapshot)

    def recommend(self, profiles: Any, k: int) -> Any:
        lists = self.model.recommend(profiles, k)
        return lists if self.awake else np.full_like(lists, -1)


def test_a_score_of_0_then_has_changed_without_limit(world: us.worlds.World) -> None:
    limits = {"max_unexplained": 0.01, "max_unexplained_relative": 1e6}
    found = us.check(world.log, {"waking": Waking()}, at=480, reference=300, thresholds=limits)
    assert [one.crossed for one in found.thresholds] == [True, True]
    assert found.thresholds[1].value == math.inf
    assert found.to_dict()["thresholds"][1]["value"] is None  # JSON has no infinity


def test_each_recommender_and_metric_is_held_against_the_threshold(world: us.worlds.World) -> None:
    found = us.check(
        world.log,
        ["popular", "constant:1,3"],
        at=480,
        reference=300,
        metric=["hit@5", "mrr@10"],
        thresholds={"max_unexplained": 0.5},
    )
    assert [(one.recommender, one.metric) for one in found.thresholds] == [
        (name, metric) for name in ("popular", "constant:1,3") for metric in ("hit@5", "mrr@10")
    ]


def test_recommenders_are_scored_only_where_a_threshold_is_about_scores() -> None:
    class Never:
        def fit(self, snapshot: Any) -> None:
            raise AssertionError("fitted")

        def recommend(self, profiles: Any, k: int) -> Any:
            raise AssertionError("asked")

    log = us.read_log(SMALL)
    found = us.check(log, {"never": Never()}, at=9, reference=0, thresholds={"max_drift": 1.0})
    assert found.report is None
    assert found.passed


def test_a_time_split_is_checked_on_what_it_holds_out() -> None:
    log = log_of(history(3))
    found = us.check(log, at=NOW, reference=BEFORE, after="-3", thresholds={"max_drift": 1.0, "max_bound": 1.0})
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE), after="-3")
    assert [one.value for one in found.thresholds] == [weights.report.bound_before, weights.bound]


def test_a_saved_item_mix_can_be_the_reference(tmp_path: Any) -> None:
    log = us.read_log(SMALL)
    log.at(0).marginal().save(tmp_path / "mix.parquet")
    mix = us.Marginal.load(tmp_path / "mix.parquet")
    assert check_one(SMALL, "max_drift", 1.0, reference=mix).value == pytest.approx(5 / 12)
    with pytest.raises(us.PolicyError, match="no change of popular"):
        check_one(SMALL, "max_unexplained", 1.0, reference=mix, recommenders="popular")


def test_what_cannot_be_checked_does_not_pass_for_well(world: us.worlds.World) -> None:
    mix = world.log.at(480).marginal().to_dict()
    users = world.log.users.values.to_pylist()
    table = {"user": users, "item": [max(mix, key=lambda item: mix[item])] * len(users), "rank": [1] * len(users)}
    lists = us.Table(table, valid_from=400)
    with pytest.raises(us.PolicyError, match="no change of late since the reference date"):
        us.check(
            world.log,
            {"late": lists, "popular": "popular"},
            at=480,
            reference=300,
            thresholds={"max_unexplained": 1},
        )
    with pytest.raises(us.PolicyError, match="no weighted score"):
        us.check(
            world.log,
            "popular",
            at=480,
            reference=300,
            metric="user-recall@5",
            thresholds={"max_unexplained": 1},
        )


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ({}, "no threshold is given"),
        ({"max_drfit": 0.1}, "did you mean 'max_drift'"),
        ({"max_drift": 15}, "max_drift is 15, but must be a finite number of at least 0 and at most 1"),
        ({"max_bound": -0.1}, "max_bound is -0.1"),
        ({"max_excluded": "a"}, "max_excluded is 'a'"),
        ({"min_effective_pairs": math.nan}, "min_effective_pairs is nan"),
        ({"max_unexplained": 0.1}, "max_unexplained is about the scores of recommenders: give recommenders"),
        ({"max_unexplained_relative": 0.1}, "max_unexplained_relative is about the scores"),
        (0.1, "is no set of thresholds"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(thresholds: Any, message: str) -> None:
    with pytest.raises(us.InputError, match=message):
        us.check(us.read_log(SMALL), at=9, reference=0, thresholds=thresholds)


def test_a_check_shows_itself_in_lines_tables_and_json() -> None:
    limits = Thresholds(max_drift=0.1, max_bound=0.1, max_excluded=0.5)
    found = us.check(us.read_log(SMALL), at=9, reference=0, thresholds=limits)
    assert [one.threshold for one in found.crossed] == ["max_drift"]
    (line,) = found.lines
    assert line.startswith("Drift of the item mix 0.4167 (limit 0.1): ")
    assert str(found.crossed[0]) == line
    assert line in repr(found)
    assert found.to_frame().column("crossed").to_pylist() == [True, False, False]
    told = found.to_dict()
    assert (told["at"], told["reference"], told["passed"]) == (9, 0, False)
    assert [(one["threshold"], one["limit"]) for one in told["thresholds"]] == list(limits.given.items())
    well = us.check(us.read_log(SMALL), at=9, reference=0, thresholds={"max_drift": 0.5})
    assert well.lines == ["No threshold is crossed at 9 against 0: drift of the item mix 0.4167 (limit 0.5)."]


# Verdicts


def decide_on(decision: Any) -> Any:
    """What stands for the search for verdicts: one that found this decision."""
    scenario = Scenario("as logged", "all", Part(-0.02, -0.03, -0.01))
    verdict = Verdict("knn", "popular", "hit@5", decision, -0.03, -0.01, (scenario,), reason="The reason")
    return patch.object(VerdictPlan, "find", lambda plan: [verdict])


VERDICTS: Any = {"at": 480, "reference": 300, "baseline": "popular", "refit": 0}


@pytest.mark.parametrize("decision", ["better", "worse", "no clear difference", "undecided"])
def test_a_check_fails_for_a_verdict_of_worse_and_for_no_other(world: us.worlds.World, decision: Any) -> None:
    with decide_on(decision):
        result = us.check(world.log, "knn", thresholds={"fail_if": "worse", "max_drift": 1.0}, **VERDICTS)
    assert result.passed is (decision != "worse")
    row = result.to_dict()["thresholds"][1]
    assert (row["threshold"], row["crossed"], row["decision"]) == ("fail_if", decision == "worse", decision)
    assert (row["recommender"], row["metric"]) == ("knn", "hit@5")
    assert f"on knn against popular, hit@5: {decision} (fails if worse)" in result.lines[-1]
    assert result.to_arrow().column("decision").to_pylist() == [None, decision]
    assert result.metrics["unskew/fail_if/knn/hit_5"] == (decision == "worse")


def test_an_undecided_verdict_is_shown_beside_a_threshold_that_is_crossed(world: us.worlds.World) -> None:
    with decide_on("undecided"):
        result = us.check(world.log, "knn", thresholds={"fail_if": "worse", "max_drift": 0.0}, **VERDICTS)
    assert [line.partition(" (")[0] for line in result.lines][1] == (
        "Verdict on knn against popular, hit@5: undecided"
    )


def test_the_verdicts_of_a_check_are_those_of_the_report(world: us.worlds.World) -> None:
    lists = {"worst": us.Constant([1]), "best": us.Constant(most_popular(world.log))}
    options: Any = {"at": 480, "reference": 300, "refit": 0}
    result = us.check(world.log, lists, thresholds={"fail_if": "worse"}, **options)
    verdicts = us.report(world.log, lists, **options).verdicts
    assert [one.decision for one in result.thresholds] == [verdict.decision for verdict in verdicts] == ["better"]
    other = us.check(world.log, dict(reversed(lists.items())), thresholds={"fail_if": "worse"}, **options)
    assert [(one.recommender, one.crossed) for one in other.thresholds] == [("worst", True)]


def most_popular(log: us.Log) -> list[Any]:
    mix = log.at(480).marginal().to_dict()
    return sorted(mix, key=lambda item: -mix[item])[:5]


def test_knowledge_counts_in_the_verdicts_of_a_check(world: us.worlds.World) -> None:
    with decide_on("better"):
        result = us.check(
            world.log,
            "knn",
            thresholds={"fail_if": "worse"},
            knowledge=us.Knowledge(campaigns=["330:350", "430:450"]),
            view="outside",
            **VERDICTS,
        )
    assert result.report is not None
    plan: Any = result.report.verdict_plan
    assert plan.log is world.log  # as logged is a scenario, whatever is known
    assert plan.report.view_report.view == "outside"


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ({"fail_if": "undecided"}, "fail_if is 'undecided', but must be one of worse"),
        ({"fail_if": 0.1}, "fail_if is 0.1, but must be one of worse"),
        ({"fail_if": "worse"}, "fail_if compares two recommenders: give baseline, or recommenders twice"),
    ],
)
def test_a_decision_that_cannot_be_checked_is_refused(
    world: us.worlds.World, thresholds: Any, message: str
) -> None:
    with pytest.raises(us.PolicyError, match=message):
        us.check(world.log, "knn", at=480, reference=300, thresholds=thresholds)
