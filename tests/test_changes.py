"""The split of a change: its parts against plain loops, its intervals against paired tests, its words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

import unskew as us
from tests.dense import profiles_at
from tests.scoring import hit, pair_shares, score_by_hand
from tests.two_dates import BEFORE, LISTS, NOW, history, log_of, metric_of_users, ranked
from unskew.errors import PolicyError
from unskew.evaluation.changes import NOTHING, Change, Part, explain_change
from unskew.evaluation.intervals import number_users
from unskew.evaluation.pairs import HeldOut

POLICIES: list[dict[str, Any]] = [{}, {"users": "both"}, {"min_items": 2}, {"users": "both", "min_items": 2}]


def values(found: Change) -> dict[str, float]:
    return {name: part.value for name, part in found.parts().items()}


def parts_of(found: Change) -> list[float]:
    return [x for part in found.parts().values() for x in (part.value, part.low, part.high)]


def next_item(profile: list[Any], k: int) -> list[Any]:
    """The items that follow those of the profile by name."""
    wanted = [f"i{(int(str(i)[1:]) + 1) % 7}" for i in sorted(profile)]
    return list(dict.fromkeys(i for i in wanted if i not in profile))[:k]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_each_part_is_what_plain_loops_over_the_profiles_give(seed: int, policy: dict[str, Any]) -> None:
    """A personalised v2 against a constant v1: seven scores by hand, then their differences."""
    events = history(seed, 80)
    log = log_of(events)
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before, **policy)
    old = us.Constant(["i0", "i3"])
    least = policy.get("min_items", 1)
    found = explain_change(
        us.rank_held_out(next_item, now, metric=["hit@2"], min_items=least),
        us.rank_held_out(old, before, metric=["hit@2"], min_items=least),
        weights,
        baseline=us.rank_held_out(old, now, metric=["hit@2"], min_items=least),
        metric="hit@2",
        refit=0,
    )
    then_all, now_all = (
        {u: p for u, p in profiles_at(events, date).items() if len(p) >= least} for date in (BEFORE, NOW)
    )
    then_stay = then_all
    known = {i for p in then_stay.values() for i in p}
    now_stay = {u: p for u, p in now_all.items() if any(i in known for i in p)}
    if policy.get("users") == "both":
        now_stay = {u: p for u, p in now_stay.items() if u in then_stay}
        then_stay = {u: p for u, p in then_stay.items() if u in now_stay}
    weight = dict(zip(weights.items.to_pylist(), weights.weights.tolist(), strict=True))

    def score(profiles: Any, recommend: Any, *, weighted: bool = False) -> float:
        shares = pair_shares(profiles, (lambda i: weight.get(i, 0.0)) if weighted else lambda _: 1.0)
        return score_by_hand(profiles, recommend, hit(2), 2, shares)

    def fixed(profile: list[Any], k: int) -> list[Any]:
        return ["i0", "i3"][:k]

    now_new, stay_new, then_old, stay_old = (
        score(now_all, next_item),
        score(now_stay, next_item),
        score(then_all, fixed),
        score(then_stay, fixed),
    )
    weighted_new, weighted_old = (score(now_stay, r, weighted=True) for r in (next_item, fixed))
    assert values(found) == pytest.approx(
        {
            "change": now_new - then_old,
            "users excluded": (now_new - stay_new) - (then_old - stay_old),
            "item mix": stay_new - weighted_new,
            "algorithm": weighted_new - weighted_old,
            "unexplained": weighted_old - stay_old,
        },
        abs=1e-9,
    )
    assert found.item_mix_baseline is not None
    assert found.item_mix_baseline.value == pytest.approx(score(now_stay, fixed) - weighted_old, abs=1e-9)
    assert (found.score, found.score_reference) == pytest.approx((now_new, then_old), abs=1e-12)


def test_in_a_world_whose_parts_are_known_each_is_found() -> None:
    """Half of those who are there at first get what a campaign pushes, others join for what is new.

    At t0 the mix is a .5, b .5. By t1 a campaign has added c to 20 of 40 users, and 10 users have joined who hold
    nothing but d. Of lists of one item every score is the probability of that item.
    """
    first = [(f"u{k}", "ab"[k % 2], 0) for k in range(40)]
    second = [(f"u{k}", "ba"[k % 2], 5) for k in range(20)]
    joined = [(f"new{k}", "d", 5) for k in range(10)]
    log = log_of([*first, *second, *joined])
    now, before = log.at(5), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    found = explain_change(
        ranked(now, ["d"]), ranked(before, ["a"]), weights, baseline=ranked(now, ["a"]), metric="hit@1", refit=0
    )
    assert values(found) == pytest.approx(
        {"change": 0.2 - 0.5, "users excluded": 0.2, "item mix": 0.0, "algorithm": -0.5, "unexplained": 0.0},
        abs=1e-6,
    )
    same = explain_change(ranked(now, ["a"]), ranked(before, ["a"]), weights, metric="hit@1", refit=0)
    assert values(same) == pytest.approx(
        {"change": 0.4 - 0.5, "users excluded": 0.4 - 0.5, "item mix": 0.0, "unexplained": 0.0}, abs=1e-6
    )


def test_of_a_campaign_the_item_mix_explains_the_whole_change_of_a_constant_list() -> None:
    """The recipe says which items are pushed; without the campaign nothing of this size happens to their list."""
    world = us.simulate(users=1200, items=80, seed=11)
    start = 300
    shown = world.log.at(480).marginal()
    was = world.log.at(start).marginal()
    gained = sorted(was.to_dict(), key=lambda i: was.to_dict()[i] - shown.to_dict()[i])[:5]
    spec = "constant:" + ",".join(map(str, gained))
    [change] = us.report(world.log, spec, at=480, reference=start, users="both").changes
    [truth] = us.report(world.truth, spec, at=480, reference=start, users="both").changes
    assert change.change.value > 0.02
    assert abs(truth.change.value) < 0.5 * change.change.value
    assert change.item_mix.low > 0
    assert abs(change.unexplained.value) <= change.bound + 1e-9 if change.bound is not None else False


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sample", [None, 70])
@pytest.mark.parametrize("refit", [0, 6])
def test_the_parts_of_a_change_sum_to_it(seed: int, sample: int | None, refit: int) -> None:
    log = log_of(history(seed))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    here, there = ranked(now, weights=[None, weights], sample=sample), ranked(before, sample=sample)
    for baseline in (None, ranked(now, LISTS[1], weights=[None, weights], sample=sample)):
        then = there if baseline is None else ranked(before, LISTS[1], sample=sample)
        found = explain_change(here, then, weights, metric="mrr@3", baseline=baseline, refit=refit)
        whole, *parts = values(found).values()
        assert sum(parts) == pytest.approx(whole, abs=1e-12)
        assert whole == pytest.approx(here.score("mrr@3").value - then.score("mrr@3").value, abs=1e-12)
        assert (found.algorithm is None) == (baseline is None)
        assert found.baseline == (None if baseline is None else "constant:i1,i2")
        assert (found.recommender, found.metric) == ("constant:i0,i1", "mrr@3")
        assert found.method == ("draws" if sample else "bootstrap" if refit else "users")
        assert found.repeats == (0 if sample else refit)
        for part in found.parts().values():
            assert part.low <= part.value <= part.high


def test_a_baseline_that_is_the_recommender_itself_leaves_nothing_to_the_algorithm() -> None:
    log = log_of(history(4))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    found = explain_change(ranked(now), ranked(before), weights, baseline=ranked(now), metric="hit@3")
    assert found.baseline == found.recommender
    assert found.algorithm == Part(0.0, 0.0, 0.0)


def test_users_of_both_dates_are_paired() -> None:
    events = history(3, 1500, joining=False)
    log = log_of(events)
    now, before = log.at(NOW), log.at(BEFORE)
    here, there = (metric_of_users(events, t, LISTS[0]) for t in (NOW, BEFORE))
    assert set(here) == set(there)
    theirs = stats.ttest_rel([here[u] for u in here], [there[u] for u in here]).confidence_interval(0.95)
    weights = us.fit_weights(now, before)
    found = explain_change(ranked(now), ranked(before), weights, metric="hit@3", refit=0)
    width = theirs.high - theirs.low
    assert (found.change.low, found.change.high) == pytest.approx((theirs.low, theirs.high), abs=0.02 * width)
    again = explain_change(ranked(now), ranked(before), weights, metric="hit@3", refit=200)
    assert again.change.high - again.change.low == pytest.approx(width, rel=0.2)


def test_users_of_one_date_only_add_their_own_part_of_the_error() -> None:
    """Nobody is at both dates: the variances of two independent means add up."""
    mine, theirs = ([(f"{name}{u}", *rest) for u, *rest in history(k, 1500)] for k, name in ((1, "x"), (2, "y")))
    now, before = log_of(mine).at(NOW), log_of(theirs).at(NOW)
    found = explain_change(ranked(now), ranked(before), us.fit_weights(now, before), metric="hit@3", refit=0)
    x, y = (list(metric_of_users(e, NOW, LISTS[0]).values()) for e in (mine, theirs))
    error = math.hypot(stats.sem(x), stats.sem(y))
    half = stats.t.ppf(0.975, min(len(x), len(y)) - 1) * error
    assert found.change.high - found.change.low == pytest.approx(2 * half, rel=0.03)


def test_with_weights_fitted_again_a_constant_list_has_no_error_left() -> None:
    """Its weighted score is that at t0, whoever is drawn; weights taken as given do not follow the draw."""
    log = log_of(history(6, 200))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before, users="both")
    given, again = (explain_change(ranked(now), ranked(before), weights, metric="hit@3", refit=n) for n in (0, 40))
    width = [change.unexplained.high - change.unexplained.low for change in (given, again)]
    assert width[1] < 0.1 * width[0]


def test_a_reference_from_another_log_with_other_codes_gives_the_same() -> None:
    events = history(11)
    whole, early = log_of(events), log_of([e for e in reversed(events) if e[2] <= BEFORE])
    now = whole.at(NOW)
    assert whole.users.to_list()[: len(early.users)] != early.users.to_list()
    one, other = (
        explain_change(ranked(now), ranked(before), us.fit_weights(now, before), metric="hit@3", refit=0)
        for before in (whole.at(BEFORE), early.at(BEFORE))
    )
    assert parts_of(other) == pytest.approx(parts_of(one), abs=1e-9)


def test_users_of_two_logs_are_numbered_by_their_ids() -> None:
    one = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [1, 1, 1]}).at(1)
    other = us.read_log({"user": ["c", "c", "c", "b"], "item": [1, 2, 3, 1], "time": [1] * 4}).at(1)
    here, there = number_users(one, other)
    names = dict(zip(here.tolist(), one.log.users, strict=True))
    for number, name in zip(there.tolist(), other.log.users, strict=True):
        assert names.setdefault(number, name) == name
    assert sorted(names.values()) == ["a", "b", "c"]
    assert [len(x) for x in number_users(one, one)] == [2, 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_for_a_constant_list_no_more_than_the_bound_is_left_unexplained(policy: dict[str, Any]) -> None:
    """Whom the policy leaves out is left out at t0 too, or the two scores would be of other people."""
    log = log_of(history(12, 150))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before, **policy)
    for items in LISTS:
        here, there = (ranked(date, items, min_items=policy.get("min_items", 1)) for date in (now, before))
        found = explain_change(here, there, weights, metric="hit@3", refit=0)
        assert abs(found.unexplained.value) <= weights.bound + 1e-9
        assert found.bound == weights.bound
        assert found.bound_holds


def test_who_has_left_by_now_is_left_out_of_the_reference_date_of_a_cohort() -> None:
    """Everyone has i0 or i1 at first; those with i1 leave, so that of the others i0 is found always."""
    table = {
        "user": [f"u{k}" for k in range(20)] + ["u0", "u2"],
        "item": ["i0", "i1"] * 10 + ["i2", "i2"],
        "time": [0] * 20 + [9, 9],
        "gone": [None, 5] * 10 + [None, None],
    }
    log = us.read_log(table, removed="gone")
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before, users="both")
    found = explain_change(ranked(now, ["i0"]), ranked(before, ["i0"]), weights, metric="hit@1", refit=0)
    assert values(found) == pytest.approx(
        {"change": 0.4, "users excluded": 0.5, "item mix": -0.1, "unexplained": 0.0}, abs=1e-6
    )


def test_samples_of_the_same_seed_are_paired_by_their_draws() -> None:
    log = log_of(history(14, 400, joining=False))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    same, other = (
        explain_change(
            ranked(now, weights=[None, weights], sample=900),
            ranked(before, sample=900, seed=seed),
            weights,
            metric="mrr@3",
        ).change
        for seed in (0, 1)
    )
    assert same.high - same.low < 0.9 * (other.high - other.low)


def test_samples_of_different_sizes_can_be_compared() -> None:
    log = log_of(history(14))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    found = explain_change(ranked(now, weights=[None, weights], sample=50), ranked(before, sample=400), weights)
    assert found.change.low < found.change.value < found.change.high


def test_what_cannot_be_split_is_refused() -> None:
    log = log_of(history(14))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    with pytest.raises(PolicyError, match="one date was sampled"):
        explain_change(ranked(now), ranked(before, sample=50), weights)
    with pytest.raises(PolicyError, match="needs fitted weights, not None"):
        explain_change(ranked(now), ranked(before), None)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="refit is -2"):
        explain_change(ranked(now), ranked(before), weights, refit=-2)
    with pytest.raises(PolicyError, match="other pairs"):
        explain_change(ranked(now), ranked(before), weights, baseline=ranked(before))


def test_too_few_users_to_be_drawn_leave_the_weights_as_given_unless_it_was_asked_for() -> None:
    log = us.read_log({"user": ["a", "b"], "item": ["i0", "i0"], "time": [1, 5]})
    now, before = log.at(5), log.at(1)
    weights = us.fit_weights(now, before)
    assert explain_change(ranked(now, ["i0"]), ranked(before, ["i0"]), weights).method == "users"
    with pytest.raises(us.UnskewError, match="no user drawn in a repetition of the bootstrap has an item at 1"):
        explain_change(ranked(now, ["i0"]), ranked(before, ["i0"]), weights, refit=50)


def test_scores_of_different_kinds_are_not_subtracted() -> None:
    log = log_of(history(14))
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    leaking = replace(ranked(now), held_out=HeldOut("profile"))
    found = explain_change(leaking, ranked(before), weights)
    assert not found.comparable
    assert found.change is NOTHING
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["change"] == {"value": None, "low": None, "high": None}
    assert "not comparable" in str(found)
    assert "use the same folds for both" in str(found)
    elsewhere = explain_change(replace(ranked(now), held_out=HeldOut("external")), ranked(before), weights)
    assert elsewhere.comparable
    assert math.isfinite(elsewhere.change.value)


CHANGE = Change(
    recommender="popular",
    baseline=None,
    metric="hit@5",
    reference="2024-03-01",
    at="2024-09-01",
    score_reference=0.20,
    score=0.45,
    change=Part(0.25, 0.23, 0.27),
    users_excluded=Part(0.04, 0.03, 0.05),
    item_mix=Part(0.20, 0.19, 0.21),
    algorithm=None,
    unexplained=Part(0.01, -0.005, 0.025),
    bound=0.004,
)


def test_a_change_in_words_names_every_part() -> None:
    assert str(CHANGE).startswith(
        "popular, hit@5: the score rose by 25.00 points [+23.00, +27.00]: +4.00 from users excluded, +20.00 from "
        "the item mix, +1.00 [-0.50, +2.50] unexplained. What is unexplained can be bias of the log"
    )
    fallen = replace(CHANGE, change=Part(-0.05, -0.06, -0.04), unexplained=Part(-0.29, -0.3, -0.28))
    assert "the score fell by 5.00 points" in str(fallen)
    assert "-29.00 [-30.00, -28.00] unexplained" in str(fallen)
    assert "the score did not change [" in str(replace(CHANGE, change=Part(0.0, -0.01, 0.01)))
    against = replace(CHANGE, baseline="knn", algorithm=Part(0.02, 0.01, 0.03))
    assert str(against).startswith("popular at 2024-09-01 against knn at 2024-03-01, hit@5: ")
    assert "+2.00 [+1.00, +3.00] from the algorithm, +1.00" in str(against)
    grown = str(replace(CHANGE, more_data=Part(0.041, 0.03, 0.05)))
    added = "+4.10 from more data (which recommendations may have added)"
    assert f"+20.00 from the item mix, {added}, +1.00 [-0.50, +2.50] unexplained" in grown
    free = str(replace(CHANGE, more_data=Part(0.041, 0.03, 0.05), biased=False))
    assert "+4.10 from more data, +1.00" in free
    alone = str(replace(CHANGE, baseline="table"))
    assert "from the algorithm and all else (table has no lists that are valid now)" in alone


def test_what_is_smaller_than_the_bound_is_never_called_a_finding() -> None:
    doubtful = replace(CHANGE, bound=0.02)
    assert doubtful.is_within_bound
    assert "the data cannot tell" in str(doubtful)
    assert "a later reference date or exposures would" in str(doubtful)
    assert not CHANGE.is_within_bound
    assert "the data cannot tell" not in str(CHANGE)
    assert "can be bias of the log" in str(CHANGE)
    assert "off by" not in str(CHANGE)  # the bound is about fixed lists
    assert str(replace(CHANGE, bound_holds=True)).endswith("Item weights can still be off by 0.40 points")
    assert "off by" not in str(replace(CHANGE, bound=None))


def test_where_nothing_is_left_the_sentence_says_so() -> None:
    nothing = replace(CHANGE, unexplained=Part(0.0, -0.001, 0.001), bound=1e-6, bound_holds=True)
    assert str(nothing).endswith("unexplained. Nothing is left to explain, up to 0.01 points")
    coarse = str(replace(nothing, bound=4e-4))
    assert coarse.endswith("unexplained. Nothing is left to explain, up to 0.04 points")
    assert "the data cannot tell" in str(replace(nothing, bound=4e-4, bound_holds=False))
    mixed = replace(CHANGE, baseline="table", held_out=("exact", "external"))
    assert "may have seen the held-out items: that is not known" in str(mixed)


def test_a_change_claims_nothing_to_be_real_or_true_or_better() -> None:
    words = str(CHANGE).replace(",", " ").split()
    assert not {"real", "really", "true", "truly", "better", "worse", "caused", "because"} & set(words)


def test_the_json_of_a_change_has_the_parts_that_were_agreed() -> None:
    told = json.loads(json.dumps(CHANGE.to_dict(), allow_nan=False))
    assert list(told)[:5] == ["recommender", "baseline", "metric", "from", "to"]
    assert (told["from"], told["to"], told["baseline"], told["algorithm"]) == (
        "2024-03-01",
        "2024-09-01",
        None,
        None,
    )
    assert told["item_mix"] == {"value": 0.2, "low": 0.19, "high": 0.21}
    assert told["more_data"] is None
    grown = replace(CHANGE, more_data=Part(0.04, 0.03, 0.05)).to_dict()
    assert grown["more_data"] == {"value": 0.04, "low": 0.03, "high": 0.05}
    keys = list(grown)
    assert keys[keys.index("item_mix") :][:4] == ["item_mix", "more_data", "algorithm", "unexplained"]
