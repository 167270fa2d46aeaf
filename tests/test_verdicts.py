"""Verdicts: the rule by itself, the contract, when nothing may be decided, and ranges that contain the truth."""

from __future__ import annotations

import functools
import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from unskew.cli import main
from unskew.data.view_report import ViewReport
from unskew.evaluation import Report
from unskew.evaluation.changes import Part
from unskew.evaluation.find_verdicts import VerdictPlan
from unskew.evaluation.verdict import Decision, Scenario, Verdict, correct_for_several, decide, find_tipping_share
from unskew.examining import examine
from unskew.views import scenarios as scenario_views
from unskew.views.rates import Tally, find_growth
from unskew.views.strata import BEYOND, CELLS, KIND_OF, KINDS, RANK_OF
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.recipe import resize

REFERENCE, AT = 300, 480
COLUMNS = 120
"""Of a usual terminal."""

FEW = ("popular", "knn?similarity=cooccurrence")
"""Stand-ins that are enough unless the question is whether the range contains the truth."""

VERDICT = {
    "recommender", "baseline", "metric", "decision", "range", "scenarios", "conditional", "assumption", "reason",
    "next_steps",
}  # fmt: skip
SCENARIO = {"name", "view", "difference", "relative", "induced_share", "placebo", "trusted"}
DECISIONS = ("better", "worse", "no clear difference", "undecided")


@functools.cache
def simulate(world: str = "paper", users: int = 300, items: int = 80, seed: int = 2) -> us.worlds.World:
    return us.simulate(world, users=users, items=items, seed=seed)


def make_report(recommenders: Any, log: us.Log | None = None, *, few: bool = True, **options: Any) -> Report:
    """A report whose verdicts are computed, with few stand-ins or with all."""
    chosen = {"at": AT, "reference": REFERENCE, "refit": 0, **options}
    if chosen["reference"] is None:
        del chosen["refit"]
    report = us.report(simulate().log if log is None else log, recommenders, **chosen)
    with patch.object(scenario_views, "_FAMILY", FEW if few else scenario_views._FAMILY):
        assert report.verdicts is report.verdicts
    return report


@functools.cache
def knn_against_popular() -> Report:
    return make_report(["knn"], baseline="popular")


def check_contract(verdict: Verdict) -> None:
    """Section 5 of the design, and that the range is the hull of what counts."""
    told = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert set(told) >= VERDICT
    assert told["decision"] in DECISIONS
    assert set(told["range"]) == {"low", "high"}
    assert all(isinstance(step, str) and step.startswith("unskew evaluate ") for step in told["next_steps"])
    assert isinstance(told["conditional"], bool)
    assert told["assumption"]
    assert told["reason"]
    names = [scenario["name"] for scenario in told["scenarios"]]
    assert names[0] == "as logged"
    assert len(set(names)) == len(names)
    for scenario in told["scenarios"]:
        assert set(scenario) == SCENARIO
        assert set(scenario["difference"]) == {"value", "low", "high"}
        for part in ("relative", "induced_share"):
            assert scenario[part] is None or set(scenario[part]) == {"value", "low", "high"}
        if scenario["induced_share"] is not None:
            assert all(0 <= share <= 1 for share in scenario["induced_share"].values() if share is not None)
    counted = [s for s in told["scenarios"] if s["trusted"]] or told["scenarios"]
    if all(s["difference"]["low"] is not None for s in counted):
        assert told["range"]["low"] == min(s["difference"]["low"] for s in counted)
        assert told["range"]["high"] == max(s["difference"]["high"] for s in counted)


# The rule


def make_scenario(low: float, high: float, *, trusted: bool = False, p: float = math.nan) -> Scenario:
    return Scenario("any", "all", Part((low + high) / 2, low, high), trusted=trusted, p=p)


limits = st.one_of(st.sampled_from([-0.1, 0.0, 0.1]), st.floats(-1, 1), st.just(math.nan))
any_scenario = st.builds(
    lambda ends, trusted: make_scenario(min(ends), max(ends), trusted=trusted),
    st.tuples(limits, limits),
    st.booleans(),
)


def decide_by_hand(scenarios: Sequence[Scenario]) -> tuple[str, float, float]:
    counted = [s.difference for s in scenarios if s.trusted] or [s.difference for s in scenarios]
    ends = [end for part in counted for end in (part.low, part.high)]
    if not all(-2 < end < 2 for end in ends):
        return "undecided", math.nan, math.nan
    low, high = sorted(ends)[0], sorted(ends)[-1]
    if low > 0 or high < 0:
        return ("better" if low > 0 else "worse"), low, high
    outside = [part for part in counted if part.low > 0 or part.high < 0]
    return ("undecided" if outside else "no clear difference"), low, high


@given(st.lists(any_scenario, min_size=1, max_size=6))
def test_the_rule_is_the_hull_of_what_counts(scenarios: list[Scenario]) -> None:
    decision, low, high = decide(scenarios, 0.95)
    expected, least, most = decide_by_hand(scenarios)
    assert decision == expected
    assert (low, high) == pytest.approx((least, most), abs=0, nan_ok=True)


@given(st.lists(any_scenario, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_scenarios_makes_no_difference(scenarios: list[Scenario], random: Any) -> None:
    shuffled = random.sample(scenarios, len(scenarios))
    assert repr(decide(scenarios, 0.95)) == repr(decide(shuffled, 0.95))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_scenario_without_an_interval_leaves_it_undecided_wherever_it_stands(place: int) -> None:
    scenarios = [make_scenario(0.1, 0.2), make_scenario(0.2, 0.3)]
    scenarios.insert(place, make_scenario(math.nan, math.nan))
    assert decide(scenarios, 0.95)[0] == "undecided"


def test_what_is_not_trusted_does_not_widen_what_is() -> None:
    scenarios = [make_scenario(-0.5, 0.5), make_scenario(0.1, 0.2, trusted=True)]
    assert decide(scenarios, 0.95) == ("better", 0.1, 0.2)


# Several comparisons


def make_verdict(decision: Decision, *p: float) -> Verdict:
    scenarios = tuple(make_scenario(0.1, 0.2, p=value) for value in p)
    return Verdict("a", "b", "hit@5", decision, 0.1, 0.2, scenarios)


def test_holm_by_hand() -> None:
    """Of 0.01, 0.04 and 0.03, Holm makes 0.03, 0.06 and 0.06."""
    corrected = correct_for_several([make_verdict("better", p) for p in (0.01, 0.04, 0.03)])
    assert [verdict.decision for verdict in corrected] == ["better", "undecided", "undecided"]
    assert "3 comparisons" in corrected[1].reason
    assert "chance" in corrected[1].reason


def test_all_scenarios_must_agree_so_that_the_largest_p_counts() -> None:
    first, second = correct_for_several([make_verdict("better", 1e-6, 0.04), make_verdict("worse", 1e-6, 1e-6)])
    assert (first.decision, second.decision) == ("better", "worse")
    first, second = correct_for_several([make_verdict("better", 1e-6, 0.04), make_verdict("undecided", 1e-6)])
    assert first.decision == "undecided"  # 0.04 times 2: what is not decided was looked at too


@given(st.lists(st.tuples(st.sampled_from(DECISIONS), st.floats(0, 1)), max_size=6))
def test_holm_against_its_steps(rows: list[tuple[Decision, float]]) -> None:
    verdicts = [make_verdict(decision, p) for decision, p in rows]
    sure = [decision in ("better", "worse") for decision, _ in rows]
    order = sorted((p, n) for n, (_, p) in enumerate(rows) if sure[n])
    stays: set[int] = set()
    for step, (p, n) in enumerate(order):  # down from the smallest, until one fails
        if len(rows) > 1 and p * (len(rows) - step) >= 1 - 0.95:
            break
        stays.add(n)
    for n, verdict in enumerate(correct_for_several(verdicts)):
        kept = n in stays or not sure[n]
        assert verdict.decision == (rows[n][0] if kept else "undecided")
        assert (verdict.low, verdict.high) == (0.1, 0.2)


# The contract


def test_a_verdict_has_what_the_contract_names() -> None:
    report = knn_against_popular()
    [verdict] = report.verdicts
    check_contract(verdict)
    assert (verdict.recommender, verdict.baseline, verdict.metric) == ("knn", "popular", "hit@5")
    assert report.to_dict()["verdicts"] == [verdict.to_dict()]
    assert not any(scenario.trusted for scenario in verdict.scenarios)
    assert verdict.conditional
    assert str(REFERENCE) in verdict.assumption
    stand_ins = {scenario.stand_in for scenario in verdict.scenarios[1:]}
    assert stand_ins == {*FEW, "knn"}
    weighted = next(c for c in report.comparisons if c.weighting == "weighted")
    difference = verdict.as_logged.difference
    assert (difference.value, difference.low, difference.high) == (
        weighted.difference,
        weighted.low,
        weighted.high,
    )


def test_parts_of_the_excess_are_removed_step_by_step() -> None:
    [verdict] = knn_against_popular().verdicts
    shares = {s.name: s.induced_share.value for s in verdict.scenarios if s.induced_share}
    full = shares["100% of the excess over popular"]
    assert full > 0
    for part in (25, 50, 75, 125):
        assert shares[f"{part}% of the excess over popular"] == pytest.approx(full * part / 100)
    assert verdict.most_induced == max(shares.values())


@pytest.mark.parametrize("baseline", [None, "constant:9,8,7"])
def test_one_verdict_for_each_recommender_and_metric(baseline: str | None) -> None:
    lists = ["constant:1,2,3", "constant:4,5,6", "constant:1,5"]
    report = make_report(lists, baseline=baseline, metric=["hit@5", "mrr@3"])
    first = baseline or lists[0]
    others = lists if baseline else lists[1:]
    pairs = [(v.recommender, v.baseline, v.metric) for v in report.verdicts]
    assert pairs == [(name, first, metric) for name in others for metric in ("hit@5", "mrr@3")]
    for verdict in report.verdicts:
        check_contract(verdict)


def test_a_single_recommender_has_no_verdict() -> None:
    assert make_report(["knn"]).verdicts == []


def test_two_fixed_lists_are_decided_by_item_weights() -> None:
    report = make_report(["constant:1,2,3,4,5"], baseline="constant:60,61,62,63,64")
    [verdict] = report.verdicts
    assert [scenario.name for scenario in verdict.scenarios] == ["as logged"]
    assert verdict.as_logged.trusted
    weighted = next(c for c in report.comparisons if c.weighting == "weighted")
    assert (verdict.low, verdict.high) == (weighted.low, weighted.high)
    assert verdict.decision == decide_by_hand(verdict.scenarios)[0] != "undecided"
    assert "item weights" in verdict.reason


def test_fixed_lists_against_a_model_are_not_trusted() -> None:
    [verdict] = make_report(["constant:1,2,3"], baseline="popular").verdicts
    check_contract(verdict)
    assert not verdict.as_logged.trusted
    assert len(verdict.scenarios) > 1


def test_knowledge_counts_alone_only_if_it_is_trusted() -> None:
    world = simulate()
    log = us.read_log(world.tables["log"].drop_columns(["exposed"]))
    report = make_report(["knn"], log, baseline="popular", knowledge=us.Knowledge(exposures=world.exposures))
    [verdict] = report.verdicts
    check_contract(verdict)
    assert verdict.scenarios[-1].view == "organic"
    assert not verdict.as_logged.trusted
    raw = {(s.recommender, s.at) for s in report.scores if s.view == "all" and s.weighting == "raw"}
    assert {("knn", AT), ("popular", AT)} <= raw


def test_an_exposure_log_that_begins_late_does_not_bound_what_recommendations_caused() -> None:
    log = simulate("steady", users=200).log
    report = make_report(["knn"], log, baseline="popular", view="organic", quick=True)
    plan, view = report.verdict_plan, report.view_report
    assert isinstance(plan, VerdictPlan)
    assert view is not None

    def find_verdict(first: int, clean_before: int | None = None) -> Verdict:
        begun = replace(report, view_report=replace(view, exposures_from=first, test=""))
        with patch.object(scenario_views, "_FAMILY", FEW):
            [verdict] = replace(plan, report=begun, clean_before=clean_before, quick=False).find()
        check_contract(verdict)
        return verdict

    for verdict in (find_verdict(first=320), find_verdict(first=400, clean_before=399)):
        assert not any(scenario.stand_in for scenario in verdict.scenarios)
        assert "begins at" not in verdict.reason
    late = find_verdict(first=400)
    assert any(scenario.stand_in for scenario in late.scenarios)
    assert not late.needs_complete_exposures
    assert f"The exposure log begins at 400, long after {REFERENCE}" in late.reason
    assert late.decision != "undecided" or any(step.endswith("--clean-before 400") for step in late.next_steps)


def test_a_table_of_exposures_begins_with_its_first_row() -> None:
    world = simulate("steady")
    log = us.read_log(world.tables["log"].drop_columns(["exposed"]))
    late = world.exposures.filter(pc.greater_equal(world.exposures["time"], 400))
    report = us.views.take_view(log, exposures=late, view="organic", test=False).view_report
    assert report is not None
    assert report.exposures_from == min(late["time"].to_pylist())


# When nothing may be decided


def test_without_a_reference_date_a_date_of_the_log_is_proposed() -> None:
    [verdict] = make_report(["knn"], baseline="popular", reference=None).verdicts
    check_contract(verdict)
    assert verdict.decision == "undecided"
    assert "reference date" in verdict.reason
    [step] = verdict.next_steps
    date = int(shlex.split(step)[-1])
    log = simulate().log
    assert shlex.split(step)[-2] == "--reference"
    assert log.span[0] <= date < AT


def test_the_proposed_reference_date_is_that_of_the_examination(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(simulate().tables["log"], path)
    examination = examine(path)
    assert examination.campaigns
    [step] = us.report(us.read_log(path), ["popular", "knn"], at=AT).verdicts[0].next_steps
    assert examination.item_mix is not None
    assert int(shlex.split(step)[-1]) == examination.item_mix["reference"]


def test_external_lists_need_a_time_split(tmp_path: Path) -> None:
    users = simulate().tables["log"].column("user").unique()
    rows = pa.table({"user": users, "items": pa.array([[1, 2, 3, 4, 5]] * len(users))})
    pq.write_table(rows, tmp_path / "lists.parquet")
    spec = f"table:{tmp_path / 'lists.parquet'}"
    report = make_report([spec], baseline="popular", quick=True)
    [verdict] = report.verdicts
    check_contract(verdict)
    assert verdict.decision == "undecided"
    assert "held-out items" in verdict.reason
    [logged] = verdict.scenarios
    assert math.isnan(logged.difference.value)
    assert math.isnan(logged.difference.low)
    assert "from the algorithm or from held-out items that its lists may have seen" in str(report.changes[0])
    assert all(" --after" in step for step in verdict.next_steps)
    assert verdict.next_steps
    [later] = make_report([spec], baseline="popular", quick=True, after=400).verdicts
    assert "trained on the held-out" not in later.reason
    [late] = make_report(["popular", f"late={spec}?from={AT}"], quick=True, after=400).verdicts
    check_contract(late)
    assert late.decision == "undecided"
    assert late.reason == "late cannot be scored, since none of its lists is valid when it is asked for"


def test_a_quick_look_never_decides() -> None:
    [quick] = make_report(["knn"], baseline="popular", quick=True, command="unskew evaluate LOG --quick").verdicts
    check_contract(quick)
    assert quick.decision == "undecided"
    assert quick.next_steps == ("unskew evaluate LOG",)
    assert 1 < len(quick.scenarios) < len(knn_against_popular().verdicts[0].scenarios)
    lists = ["constant:1,2,3,4,5", "constant:60,61,62,63,64"]
    assert [verdict.decision for verdict in make_report(lists, quick=True).verdicts] == ["undecided"]


def test_who_vouches_for_the_time_before_has_no_condition() -> None:
    [verdict] = make_report(["knn"], baseline="popular", clean_before=REFERENCE).verdicts
    assert not verdict.conditional
    assert not verdict.headline.startswith("If ")
    [conditional] = knn_against_popular().verdicts
    assert conditional.conditional
    assert (verdict.low, verdict.high) == (conditional.low, conditional.high)


# A known share


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 0.999))
def test_a_scaled_thinning_drops_the_share_or_all_that_it_can(keep: list[float], share: float) -> None:
    def drop(factor: float) -> float:
        return sum(min(factor * (1 - each), 1.0) for each in keep) / len(keep)

    low, high = 0.0, 1e18
    for _ in range(300):  # by bisection
        middle = (low + high) / 2
        low, high = (middle, high) if drop(middle) < share else (low, middle)
    scaled = scenario_views.scale_to_share(np.array(keep), share)
    most = sum(each < 1 for each in keep) / len(keep)
    assert np.mean(1 - scaled) == pytest.approx(min(share, most), abs=1e-6)
    if share < drop(1e12):
        assert 1 - scaled == pytest.approx([min(high * (1 - each), 1.0) for each in keep], abs=1e-6)


def test_scenarios_of_a_known_share_remove_it_from_the_interactions_since_the_date() -> None:
    log = simulate().log
    times = np.array(simulate().tables["log"].column("time"))
    since = int(((times > REFERENCE) & (times <= AT)).sum())
    with patch.object(scenario_views, "_FAMILY", FEW):
        excesses = scenario_views.find_excesses(log, REFERENCE, AT, compared={})
    views = list(excesses.list_views(shares=(0.2, 0.35)))
    assert [view.stand_in for view in views] == [name for name in FEW for _ in range(2)]
    for view, share in zip(views, (0.2, 0.35) * 2, strict=True):
        assert view.share == pytest.approx(share)
        assert len(log) - len(view.log) == pytest.approx(share * since, abs=1)


def make_share_report(
    share: Any,
    recommenders: Sequence[str] = ("popular", "knn"),
    world: us.worlds.World | None = None,
    **options: Any,
) -> Report:
    log = us.read_log((world or simulate()).tables["log"].drop_columns(["exposed"]))
    return make_report(list(recommenders), log, knowledge=us.Knowledge(induced_share=share), **options)


def test_a_known_share_is_all_that_the_range_is_made_of() -> None:
    [verdict] = make_share_report("20%:0.4").verdicts
    check_contract(verdict)
    assert not verdict.as_logged.trusted
    known = [scenario for scenario in verdict.scenarios if scenario.trusted]
    assert known == list(verdict.scenarios[1:])
    shares = [scenario.induced_share.value for scenario in known if scenario.induced_share]
    usual = [s for s in knn_against_popular().verdicts[0].scenarios if s.name.startswith("100%")]
    able = [s.stand_in for s in usual if s.induced_share and s.induced_share.value >= 0.2 / 2]
    assert [s.stand_in for s in known] == [name for name in able for _ in range(6)]
    assert shares == pytest.approx([0.1, 0.15, 0.2, 0.3, 0.4, 0.5] * len(able))
    statement = "recommendations caused 20 to 40 % of the interactions since"
    assert verdict.reason.startswith(f"This rests on your statement that {statement} {REFERENCE}")
    assert verdict.assumption.endswith(f"{statement} then")
    [other] = make_share_report((0.2, 0.4), clean_before=REFERENCE).verdicts
    assert (other.low, other.high, other.conditional) == (verdict.low, verdict.high, False)


def test_the_log_counts_if_the_known_share_may_be_none() -> None:
    [some] = make_share_report((0, 0.2)).verdicts
    assert all(scenario.trusted for scenario in some.scenarios)
    usual = [s for s in knn_against_popular().verdicts[0].scenarios if s.name.startswith("100%")]
    explained = [s.induced_share.value for s in usual if s.induced_share]
    distinct = [{min(share, 1.25 * most) for share in (0.1, 0.2, 0.25)} for most in explained]
    assert len(some.scenarios) == 1 + sum(map(len, distinct))
    [none] = make_share_report(0).verdicts
    assert (none.low, none.high) == (none.as_logged.difference.low, none.as_logged.difference.high)
    assert "caused 0 % of" in none.reason


def test_a_share_that_no_stand_in_explains_leaves_it_undecided_over_the_usual_range() -> None:
    world = simulate("quiet", users=300, items=80)
    lists = ["constant:70,71,72", "popular"]
    [usual] = make_report(lists, world.log).verdicts
    [verdict] = make_share_report(0.9, lists, world).verdicts
    check_contract(verdict)
    assert usual.decision != "undecided" == verdict.decision
    assert verdict.reason.startswith("No stand-in for production explains so much")
    assert (verdict.low, verdict.high) == (usual.low, usual.high)


def test_a_stand_in_that_explains_less_than_half_of_the_share_contributes_nothing() -> None:
    with patch.object(scenario_views, "_FAMILY", FEW):
        excesses = scenario_views.find_excesses(simulate().log, REFERENCE, AT, compared={})
    excesses = replace(excesses, explained=dict(zip(FEW, (0.1, 0.2), strict=True)))
    for low, able in ((0.2, set(FEW)), (0.21, {FEW[1]})):
        views = excesses.list_views(shares=scenario_views.list_shares(low, 0.3))
        assert {view.stand_in for view in views} == able


def test_no_stand_in_causes_much_more_than_it_explains() -> None:
    with patch.object(scenario_views, "_FAMILY", FEW):
        excesses = scenario_views.find_excesses(simulate().log, REFERENCE, AT, compared={})
    excesses = replace(excesses, explained=dict(zip(FEW, (0.16, 0.24), strict=True)))
    shares = [view.share for view in excesses.list_views(shares=(0.1, 0.25, 0.4))]
    assert shares == pytest.approx([0.1, 0.2, 0.1, 0.25, 0.3])  # at most 1.25 of 0.16, and of 0.24


def test_a_known_share_tells_nothing_about_fixed_lists() -> None:
    lists = ["constant:1,2,3,4,5", "constant:60,61,62,63,64"]
    [verdict], [usual] = make_share_report(0.3, lists).verdicts, make_report(lists).verdicts
    assert verdict == usual


def test_a_known_share_is_a_share_since_a_date() -> None:
    with pytest.raises(us.PolicyError, match="induced_share is a share of the interactions since a date"):
        make_share_report(0.3, reference=None)


@pytest.mark.parametrize(
    "share", [1, -0.1, math.nan, "much", "", "30", "0.2:", "0.1:0.2:0.3", "0.4:0.2", (), (0.1, 1.0), ["a", 1], {}]
)
def test_what_is_no_share_is_refused(share: Any) -> None:
    with pytest.raises(us.InputError, match=r"^induced_share is ") as caught:
        us.Knowledge(induced_share=share)
    assert repr(share) in str(caught.value)


# The tipping point


@given(
    st.tuples(st.integers(1, 50), st.integers(0, 20), st.sampled_from([1, -1])),
    st.lists(st.lists(st.integers(-50, 50), min_size=1, max_size=4), max_size=3),
)
def test_the_tipping_share_is_where_the_first_straight_line_meets_0(
    logged: tuple[int, int, int], paths: list[list[int]]
) -> None:
    start, width, sign = logged

    def make(limit: float, share: float | None, stand_in: str | None) -> Scenario:
        ends = sorted((sign * limit, sign * (limit + width)))
        part = None if share is None else Part(share, math.nan, math.nan)
        return Scenario("any", "all", Part(sum(ends) / 2, *ends), induced_share=part, stand_in=stand_in)

    scenarios, tips = [make(start, None, None)], []
    for number, path in enumerate(paths):
        shares = [(step + 1) / 10 for step in range(len(path))]
        scenarios += [make(*point, str(number)) for point in zip(path, shares, strict=True)]
        grid = np.linspace(0, shares[-1], 10_000 * len(path) + 1)
        tips += grid[np.interp(grid, [0, *shares], [start, *path]) <= 1e-9].tolist()[:1]
    share = find_tipping_share(scenarios)
    assert (share is None) == (not tips)
    assert share is None or share == pytest.approx(min(tips), abs=2e-5)
    assert find_tipping_share([make_scenario(-0.1, 0.1), *scenarios[1:]]) is None


def test_an_undecided_verdict_says_what_would_change_the_log_s_answer() -> None:
    [verdict] = knn_against_popular().verdicts
    assert verdict.decision == "undecided"
    assert verdict.as_logged.difference.low > 0
    share = verdict.tipping_share
    assert share is not None
    assert verdict.to_dict()["tipping_share"] == share
    caused = f"more than {100 * share:.0f} % of the log since {REFERENCE}"
    assert verdict.reason.startswith(f"knn stays ahead unless recommendations caused {caused}; ")
    least = min(s.induced_share.value for s in verdict.scenarios if s.induced_share and s.difference.low <= 0)
    assert 0 < share <= least


# What must not matter


@functools.cache
def compare_two() -> Report:
    return make_report(["ease", "knn?neighbours=20"])


@pytest.mark.parametrize("third", ["popular", "knn?neighbours=20&exact=false"])
def test_a_third_model_does_not_change_the_verdict_on_two(third: str) -> None:
    """Neither one that has the name of a stand-in nor one that is nearly one of the two."""
    [two] = compare_two().verdicts
    [_, other] = make_report(["ease", third, "knn?neighbours=20"]).verdicts
    assert (other.recommender, other.baseline) == (two.recommender, two.baseline)
    assert sorted(other.scenarios, key=str) == sorted(two.scenarios, key=str)
    assert (other.low, other.high) == (two.low, two.high)


def test_the_same_bits_come_again_with_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    first = knn_against_popular().to_dict()["verdicts"]
    for threads in ("1", "3"):
        monkeypatch.setenv("UNSKEW_THREADS", threads)
        assert make_report(["knn"], baseline="popular").to_dict()["verdicts"] == first


def test_weights_or_a_marginal_in_place_of_the_date_give_the_same_range() -> None:
    log = simulate().log
    saved = us.fit_weights(log.at(AT), reference=log.at(REFERENCE))
    by_date = knn_against_popular().verdicts[0]
    models = ["popular", "knn"]
    for given_as in ({"reference": log.at(REFERENCE).marginal()}, {"weights": saved, "reference": None}):
        [verdict] = make_report(models, **given_as).verdicts
        assert (verdict.low, verdict.high) == pytest.approx((by_date.low, by_date.high), abs=1e-9)


# The truth


def find_truth(world: us.worlds.World, recommender: str) -> float:
    """The difference to popular had nothing been recommended, weighted to the reference date."""
    report = us.report(world.truth, ["popular", recommender], at=AT, reference=REFERENCE, refit=0)
    weighted = next(c for c in report.comparisons if c.weighting == "weighted")
    assert (weighted.a, weighted.b) == ("popular", recommender)
    return -weighted.difference


def test_the_range_contains_the_truth() -> None:
    world = simulate(users=600, items=200, seed=1)
    for verdict in make_report(["knn", "ease"], world.log, baseline="popular", few=False).verdicts:
        check_contract(verdict)
        truth = find_truth(world, verdict.recommender)
        assert verdict.low <= truth <= verdict.high
        assert verdict.decision != ("worse" if truth > 0 else "better")


def test_growth_that_no_stand_in_explains_leaves_it_undecided() -> None:
    """What is shown at random is like no stand-in, and yet users do much more than before."""
    recipe = WORLDS["exploring"]
    campaigns = tuple(replace(each, reach=0.5, acceptance=0.1, explore=1.0) for each in recipe.campaigns)
    world = us.simulate(resize(replace(recipe, campaigns=campaigns), 300, 80), seed=4)
    [verdict] = make_report(["constant:70,71,72"], world.log, baseline="popular").verdicts
    assert verdict.high < 0  # which would decide it
    assert verdict.decision == "undecided"
    assert "like none of our stand-ins" in verdict.reason
    assert any("--exposures" in step for step in verdict.next_steps)


def test_growth_is_the_share_beyond_what_each_kind_of_user_did_before() -> None:
    cells = [np.zeros((2, CELLS)) for _ in range(3)]
    kinds = [np.zeros((2, KINDS)) for _ in range(2)]
    counted = Tally(cells[0], cells[1], kinds[0], cells[2], kinds[1], scaled=True)
    second, third = (int(np.flatnonzero((kind == KIND_OF) & (RANK_OF == BEYOND))[0]) for kind in (1, 2))
    counted.suspect[:, second], counted.others[:, third] = [30, 10], [5, 15]
    counted.people[:, 1], counted.people[:, 2] = [10, 10], [4, 6]
    counted.quiet_pairs[:, second], counted.quiet_pairs[:, third] = [6, 4], [8, 2]
    counted.quiet_people[:, 1], counted.quiet_people[:, 2] = [5, 5], [10, 10]
    expected = 10 * 20 / 10 + 10 * 10 / 20
    assert find_growth(counted) == pytest.approx(1 - expected / 60)


def test_a_quiet_world_is_not_decided_wrongly() -> None:
    world = simulate("quiet", users=500, items=150)
    for verdict in make_report(["knn"], world.log, baseline="popular").verdicts:
        truth = find_truth(world, verdict.recommender)
        assert verdict.as_logged.difference.value == truth
        assert verdict.low <= truth <= verdict.high
        assert verdict.decision != ("worse" if truth > 0 else "better")


# The command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("world")
    options = ["--users", "300", "--items", "80", "--seed", "2"]
    assert CliRunner().invoke(main, ["simulate", str(place / "world"), *options]).exit_code == 0
    return place / "world"


def run(*arguments: str) -> str:
    with patch.object(scenario_views, "_FAMILY", FEW):
        done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


def parse_command(step: str) -> list[str]:
    """The arguments of a next step; fails if the command has no such options."""
    program, name, *arguments = shlex.split(step)
    assert program == "unskew"
    command = main.commands[name]
    command.make_parser(click.Context(command)).parse_args(list(arguments))
    return [name, *arguments]


def test_the_answer_comes_first_then_one_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    command = ["evaluate", "world/log.parquet", "--reference", "300", "--at", "480"]
    shown = run(*command, "--baseline", "popular", "-r", "knn")
    lines = shown.splitlines()
    head = next(n for n, line in enumerate(lines) if line.split()[:2] == ["recommender", "at"])
    answer = [line for line in lines[:head] if line.strip()]
    assert 2 <= sum(math.ceil(len(line) / COLUMNS) for line in answer) <= 8
    table = [line for line in lines[head:] if "%" in line and not line.startswith("Note")][:3]
    assert max(len(line.rstrip()) for line in table) <= COLUMNS
    assert answer[0].startswith(("If nothing was recommended before 300", "Undecided: "))
    rows = [line.split()[:2] for line in lines[head:] if line.split()[:1] in (["knn"], ["popular"])]
    assert rows == [["popular", "300"], ["popular", "480"], ["knn", "480"]]
    assert "as logged" in lines[head]
    assert "re-weighted" in lines[head]
    assert "unexplained" not in shown
    detailed = run(*command, "--baseline", "popular", "-r", "knn", "--details")
    assert detailed.splitlines()[: len(answer)] == lines[: len(answer)]
    assert "unexplained" in detailed
    [verdict] = json.loads(run(*command, "--baseline", "popular", "-r", "knn", "--json"))["verdicts"]
    assert " ".join(shown.split()).startswith(f"{verdict['headline']}. {verdict['reason']}.")


def test_a_command_is_never_broken_into_lines(folder: Path) -> None:
    command = ["evaluate", str(folder / "log.parquet"), "--at", "480", "--baseline", "popular", "-r"]
    options = ["knn?neighbours=50&similarity=cosine", "-m", "hit@5", "--seed", "0", "--min-items", "1"]
    lines = run(*command, *options).splitlines()
    [shown] = [line for line in lines if line.startswith("  unskew")]
    assert len(shown) > 140  # from where on sentences are broken
    assert parse_command(shown)[-2] == "--reference"


def test_next_steps_are_commands_that_parse(folder: Path, tmp_path: Path) -> None:
    log = str(folder / "log.parquet")
    command = ["evaluate", log, "--at", "480", "--baseline", "popular", "-r", "knn"]
    [proposed] = json.loads(run(*command, "--json"))["verdicts"][0]["next_steps"]
    [verdict] = json.loads(run(*parse_command(proposed), "--quick", "--json"))["verdicts"]
    assert verdict["next_steps"] == [proposed]
    steps = json.loads(run(*command, "--reference", "300", "--json"))["verdicts"][0]["next_steps"]
    parsed = [parse_command(step) for step in steps]
    assert all(arguments[: len(command)] == command for arguments in parsed)
    assert parsed[0][-2:] == ["--exposures", "shown.parquet"]
    settled = [*parsed[0][:-1], str(folder / "exposures.parquet")]
    [verdict] = json.loads(run(*settled, "--quick", "--json"))["verdicts"]
    assert verdict["scenarios"][-1]["view"] == "organic"
    quick = json.loads(run(*command, "--reference", "300", "--quick", "--json"))["verdicts"][0]
    assert [parse_command(step) for step in quick["next_steps"]] == [[*command, "--reference", "300"]]
    users = pq.read_table(log).column("user").unique()
    lists = pa.table({"user": users, "items": pa.array([[1, 2, 3]] * len(users))})
    pq.write_table(lists, tmp_path / "lists.parquet")
    spec = f"table:{tmp_path / 'lists.parquet'}"
    external = ["evaluate", log, "--at", "480", "--reference", "300", "-r", "constant:4,5,6", "-r", spec]
    [later] = json.loads(run(*external, "--quick", "--json"))["verdicts"][0]["next_steps"]
    date = parse_command(later)[-1]
    pq.write_table(lists, tmp_path / f"lists_until_{date}.parquet")  # those that it asks for
    run(*parse_command(later))


@pytest.mark.parametrize(
    ("share", "message"),
    [
        ("1.2", "--induced-share is '1.2', which is no share from 0 to below 1"),
        ("0.4:0.2", "--induced-share is '0.4:0.2', whose first end is above the second: write 0.2:0.4"),
        ("lots", "give one such as 0.3 or 30%, or a range such as 0.2:0.4"),
    ],
)
def test_the_command_line_refuses_what_is_no_share(folder: Path, share: str, message: str) -> None:
    command = ["evaluate", str(folder / "log.parquet"), "--reference", "300", "-r", "popular", "-r", "knn"]
    done = CliRunner().invoke(main, [*command, "--induced-share", share])
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_the_command_line_takes_a_known_share(folder: Path) -> None:
    log = str(folder / "log.parquet")
    command = ["evaluate", log, "--at", "480", "-r", "popular", "-r", "knn", "--induced-share", "20%:40%"]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "give --reference a date" in " ".join(done.stderr.split())) == (2, True)
    answer = json.loads(run(*command, "--reference", "300", "--json"))
    [verdict] = make_share_report((0.2, 0.4)).verdicts
    assert answer["verdicts"][0]["range"] == {"low": verdict.low, "high": verdict.high}
    dates = ["--reference", "300", "--at", "480", "--induced-share", "0.3"]
    shown = " ".join(run("drift", log, *dates).split())
    assert "View: all of the log, since an induced share alone allows no other." in shown
    assert "Note: verdicts alone use the induced share; no score does." in shown


@pytest.mark.parametrize(
    ("tested", "test", "reason"),
    [
        (True, "what is left since 301 differs by -1 % [-9, 9] from the time before", "did not both pass"),
        (False, "placebo test too noisy, with 2 % [-8, 11]", "its test is too noisy"),
        (False, "failed, because recommendations caused about 20 %", "it failed its test"),
        (False, "placebo test failed, with 20 % [15, 25]", "it failed its test"),
        (False, "placebo test impossible, because the models rank only 3 interactions", "could not be tested"),
    ],
)
def test_a_view_that_does_not_narrow_the_range_says_why_in_a_few_words(
    tested: bool, test: str, reason: str
) -> None:
    view = ViewReport("organic", "", 10, 5, 1, 0, tested=tested, test=test)
    known: Any = SimpleNamespace(view_report=view)
    nothing: Any = None
    words = VerdictPlan(nothing, {}, [], [], nothing, None, AT, report=known)._describe_distrust([])
    assert reason in words
    assert len(words) < 120
