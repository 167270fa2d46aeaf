"""Other methods: each by hand on one tiny log, the laws that they share, and how they are made and refused."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.scoring import Pair, events_of, items_by_user, log_of, pair_shares, taken
from unskew.arrays.profiles import all_entries, all_users
from unskew.data.slice import Slice, Weighting
from unskew.errors import EmptyError, InputError, PolicyError, TimeError, UnskewError
from unskew.evaluation import explain_change
from unskew.methods import (
    IPS,
    METHODS,
    SKEW,
    SNIPS,
    WTD,
    WTDH,
    DownSampling,
    FixedSnapshot,
    HoldOutUsers,
    ItemFirst,
    ItemWeighting,
    Method,
    NoMethod,
    OneStepRatio,
    PopularityStrata,
    TimeWindow,
    UniformWTDH,
    keep_users,
    require_method,
)
from unskew.storage.tables import read_parquet

# At t0 = 1 Ann and Bob hold x and y; until t1 = 2 Bob takes z, and Cid comes and takes x and z.
EVENTS = [("ann", "x", 1), ("ann", "y", 1), ("bob", "x", 1), ("bob", "y", 1)]
EVENTS += [("bob", "z", 2), ("cid", "x", 2), ("cid", "z", 2)]
LOG = log_of(EVENTS)
NOW, BEFORE = LOG.at(2), LOG.at(1)
PAIRS = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("bob", "z"), ("cid", "x"), ("cid", "z")]
# n_x = 3, n_y = n_z = 2 of N = 7 pairs. P_t0: x 1/4 + 1/4 = 1/2, y 1/2.
# P_t1: x (1/2 + 1/3 + 1/2) / 3 = 4/9, y (1/2 + 1/3) / 3 = 5/18, z (1/3 + 1/2) / 3 = 5/18.
FIFTH = sqrt(1 / 8) / (sqrt(1 / 8) + sqrt(1 / 5))


@dataclass(frozen=True)
class Worked:
    """What a method gives for each of the pairs, up to a common factor."""

    method: Method
    numbers: list[float]


BY_HAND = {
    # P(u) P(i|u): a third each, divided among 2, 3 and 2 items; in 1/18.
    "none": Worked(NoMethod(), [3, 3, 2, 2, 2, 3, 3]),
    # What was there at t0: half for each of two users, half for each of two items.
    "fixed-snapshot": Worked(FixedSnapshot(BEFORE), [1, 1, 1, 1, 0, 0, 0]),
    # Taken after 1: Bob z; Cid x and z. Half for each of the two users.
    "time-window": Worked(TimeWindow(after=1), [0, 0, 0, 0, 2, 1, 1]),
    "time-window, relative": Worked(TimeWindow(after="-1"), [0, 0, 0, 0, 2, 1, 1]),
    # w_x = (1/2) / (4/9) = 9/8, w_y = (1/2) / (5/18) = 9/5, w_z = 0. Of x and y: x has (1/8) / (1/8 + 1/5) = 5/13.
    # Ann and Bob: 1/3 * 5/13 and 1/3 * 8/13. Cid has x alone: 1/3. In 1/39.
    "one-step-ratio": Worked(OneStepRatio(BEFORE), [5, 8, 5, 8, 0, 13, 0]),
    # The square roots of these weights: x has sqrt(1/8) / (sqrt(1/8) + sqrt(1/5)).
    "shrunken-ratio": Worked(OneStepRatio(BEFORE, power=0.5), [FIFTH, 1 - FIFTH, FIFTH, 1 - FIFTH, 0, 1, 0]),
    # gamma = 1: p_i = n_i. P(u) P(i|u) / n_i: Ann 1/6/3 = 1/18, 1/6/2 = 1/12; Bob 1/9/3 = 1/27, 1/18 twice;
    # Cid as Ann. In 1/108.
    "ips": Worked(IPS(gamma=1), [6, 9, 4, 6, 6, 6, 9]),
    # gamma = 1: Ann 1/3 : 1/2 = 2 : 3, so 2/5 and 3/5; Bob 2/8, 3/8, 3/8; Cid as Ann. A third each; in 1/120.
    "snips": Worked(SNIPS(gamma=1), [16, 24, 10, 15, 15, 16, 24]),
    # gamma = 3: p_i = n_i^2. Ann 1/9 : 1/4 = 4 : 9; Bob 4/22, 9/22, 9/22; Cid as Ann.
    "snips, gamma 3": Worked(SNIPS(gamma=3), [4 / 13, 9 / 13, 4 / 22, 9 / 22, 9 / 22, 4 / 13, 9 / 13]),
    # 1/n_i: 1/3 for x, 1/2 for y and z.
    "skew": Worked(SKEW(), [2, 3, 2, 3, 3, 2, 3]),
    # w_u: Ann and Bob (1/2) / (1/3) = 3/2, Cid 0. w_i: x 9/8, y 9/5, z 0, as above. P(u) P(i|u): Ann 1/6, Bob 1/9.
    # Ann 1/6 * 3/2 * 9/8 = 9/32, 1/6 * 3/2 * 9/5 = 9/20; Bob 3/16, 3/10. In 3/160.
    "wtd": Worked(WTD(BEFORE), [15, 24, 10, 16, 0, 0, 0]),
    # w_u = 1: Ann 1/6 * 9/8 = 3/16, 1/6 * 9/5 = 3/10; Bob 1/8, 1/5; Cid x 3/16. In 1/80.
    "wtd-h": Worked(WTDH(BEFORE), [15, 24, 10, 16, 0, 15, 0]),
    # w_i: x (1/3) / (4/9) = 3/4, y and z (1/3) / (5/18) = 6/5. Ann 1/6 * 3/4 = 1/8, 1/6 * 6/5 = 1/5;
    # Bob 1/12, 2/15, 2/15; Cid as Ann. In 1/120.
    "wtd-h-uniform": Worked(UniformWTDH(), [15, 24, 10, 16, 16, 15, 24]),
    # gamma = 1: from 2 to 3 in two strata: y and z below 2.5, x above. 4 and 3 of the 7 pairs.
    # Below: a third each for Ann (y), Bob (y and z), Cid (z), times 4/7: 4/21, 2/21, 2/21, 4/21.
    # Above: a third each, times 3/7: 3/21.
    "popularity-strata": Worked(PopularityStrata(gamma=1), [3, 4, 3, 2, 2, 3, 4]),
    # Quartiles of 2, 2, 3: Q1 = 2, Q3 = 2.5. With iqr_coef = 0 the border is 2 (2.5 rounded down): w_x = 2/3.
    # Ann 2/3 : 1, so 2/5 and 3/5; Bob 2/8, 3/8, 3/8; Cid as Ann. A third each; in 1/120.
    "down-sampling": Worked(DownSampling(iqr_coef=0), [16, 24, 10, 15, 15, 16, 24]),
    # With 1.5 the border is 2.5 + 0.75, rounded down: 3. Nothing is left out.
    "down-sampling, nothing popular": Worked(DownSampling(), [3, 3, 2, 2, 2, 3, 3]),
    # x 1/2, a third of it for each of three holders; y 1/2, a half of it for each of two. In 1/12.
    "item-first": Worked(ItemFirst(BEFORE), [2, 3, 2, 3, 0, 2, 0]),
    # Half each: Bob's among three items, Cid's among two. In 1/12.
    "hold-out-users": Worked(HoldOutUsers(["bob", "cid", "zoe"]), [0, 0, 2, 2, 2, 3, 3]),
    # z is new, so that Cid has x alone: 1/3. P(x) = 1/2 leaves Ann and Bob 1/12 each for x, and 1/4 for y.
    "item-weights": Worked(ItemWeighting(BEFORE), [1, 3, 1, 3, 0, 4, 0]),
}


def probabilities(part: Slice, weighting: Weighting) -> dict[Pair, float]:
    """The probability of each pair, by the ids of its user and item."""
    p, log = part.profiles, part.log
    shares = weighting.pair_shares
    found = zip(all_users(p), all_entries(p), strict=True)
    return {(log.users[int(u)], log.items[int(p.item[e])]): float(shares[e]) for u, e in found}


@pytest.mark.parametrize("name", BY_HAND)
def test_each_method_gives_the_probabilities_worked_out_by_hand(name: str) -> None:
    worked = BY_HAND[name]
    expected = np.array(worked.numbers) / sum(worked.numbers)
    found = probabilities(NOW, NOW.weigh(worked.method))
    close = 1e-4 if name == "item-weights" else 1e-12  # a fit ends within its tolerance
    assert [found[pair] for pair in PAIRS] == pytest.approx(expected.tolist(), abs=close)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_score_is_the_sum_of_these_probabilities_times_metric(name: str) -> None:
    worked = BY_HAND[name]
    by_pair = dict(zip(PAIRS, np.array(worked.numbers) / sum(worked.numbers), strict=True))
    expected = sum(share for (_, item), share in by_pair.items() if item == "x")
    score = us.evaluate("constant:x", NOW, weights=worked.method, metric="hit@1")
    assert score.value == pytest.approx(expected, abs=1e-4)
    assert score.weighting == ("raw" if name == "none" else "weighted")
    assert score.pairs == sum(share > 0 for share in by_pair.values())
    left = {user for user in ("ann", "bob", "cid") if not any(by_pair[p] for p in PAIRS if p[0] == user)}
    assert score.users_excluded.count == len(left)
    assert score.users_excluded.mass == pytest.approx(len(left) / 3)


def test_every_method_has_been_worked_out_by_hand() -> None:
    assert {type(worked.method) for worked in BY_HAND.values()} == {one.method for one in METHODS.values()}


def test_the_weights_of_p_items_are_those_of_the_fit() -> None:
    fitted = us.fit_weights(NOW, BEFORE, top=1, method="descent")
    found = NOW.weigh(ItemWeighting(BEFORE, top=1))
    assert found.top == 1
    np.testing.assert_array_equal(found.pair_shares, NOW.weigh(fitted).pair_shares)


@pytest.mark.parametrize("seed", range(5))
def test_down_sampling_by_a_draw_keeps_as_many_pairs_of_a_popular_item_as_the_border_says(seed: int) -> None:
    found = probabilities(NOW, NOW.weigh(DownSampling(iqr_coef=0, seed=seed)))
    kept = {pair for pair, share in found.items() if share > 0}
    assert sum(item == "x" for _, item in kept) == 2
    assert kept >= {pair for pair in PAIRS if pair[1] != "x"}
    expected = pair_shares({u: [i for v, i in kept if v == u] for u in ("ann", "bob", "cid")})
    assert {pair: found[pair] for pair in kept} == pytest.approx(expected)


def test_all_draws_of_down_sampling_come() -> None:
    lost = set()
    for seed in range(20):
        found = probabilities(NOW, NOW.weigh(DownSampling(iqr_coef=0, seed=seed)))
        lost |= {user for (user, _), share in found.items() if share == 0}
    assert lost == {"ann", "bob", "cid"}


# --- the laws that they share


def make_all(now: us.Snapshot, before: us.Snapshot) -> dict[str, Method]:
    """Every method that these dates leave anything to."""
    found = {}
    for name, one in METHODS.items():
        top = {"top": 1} if "top" in one.options else {}
        changed = type(one)(one.name, one.method, {**one.options, **top})
        found[name] = changed.make(now, before, holdout=["a", "b"])
    return found


@settings(max_examples=20, deadline=None)
@given(events_of(40, least=12), st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=5, max_size=5))
def test_pair_probabilities_sum_to_one_and_are_zero_where_nobody_is_evaluated(
    events: list[tuple[str, int, int]], p_user: list[float]
) -> None:
    log = log_of([*events, ("a", 0, 0), ("b", 1, 0), ("a", 9, 9)])
    given = dict(zip("abcde", [1.0, *p_user[1:]], strict=True))
    now, before = (log.at(t, p_user=given) for t in (9, 0))
    for name, method in make_all(now, before).items():
        try:
            weighting = now.weigh(method)
        except UnskewError:  # nothing is left of so few events
            continue
        shares = weighting.pair_shares
        assert (shares >= 0).all(), name
        assert shares.sum() == pytest.approx(1, abs=1e-12), name
        assert not shares[~weighting.part.mark_entries()].any(), name
        evaluated = probabilities(now, weighting)
        assert all(given[user] > 0 for (user, _), share in evaluated.items() if share > 0), name
        assert weighting.user_mass.sum() == pytest.approx(1, abs=1e-12), name
        by_item = np.bincount(now.profiles.item, weights=shares, minlength=len(log.items))
        np.testing.assert_allclose(weighting.marginal(), by_item, atol=1e-12, err_msg=name)


@settings(max_examples=40, deadline=None)
@given(events_of(40, least=5))
def test_laws_of_single_methods(events: list[tuple[str, int, int]]) -> None:
    log = log_of([*events, ("a", 0, 0), ("a", 9, 9)])
    now, before = log.at(9), log.at(4)
    raw = now.weigh().pair_shares
    for name in ("ips", "snips"):  # no exposure: nothing to correct
        np.testing.assert_allclose(now.weigh(METHODS[name].make(now, gamma=-1)).pair_shares, raw, atol=1e-12)
    for keeps_users in (SNIPS(), DownSampling(), ItemWeighting(now)):
        np.testing.assert_allclose(now.weigh(keeps_users).user_mass, now.shares(), atol=1e-12)
    for uniform in (SKEW(), UniformWTDH()):
        np.testing.assert_allclose(now.weigh(uniform).marginal(), (now.counts() > 0) / now.n_items, atol=1e-12)
    for exact in (ItemFirst(before), WTDH(before)):
        np.testing.assert_allclose(now.weigh(exact).marginal(), before.probabilities(), atol=1e-12)
    np.testing.assert_allclose(now.weigh(PopularityStrata(strata=1)).pair_shares, raw, atol=1e-12)
    for nothing_to_do in (OneStepRatio(now), ItemWeighting(now), FixedSnapshot(now)):
        np.testing.assert_allclose(now.weigh(nothing_to_do).pair_shares, raw, atol=1e-12)


def test_pairs_are_drawn_by_their_probability_and_none_without_any() -> None:
    for name, worked in BY_HAND.items():
        expected = np.array(worked.numbers) / sum(worked.numbers)
        drawn = us.sample_pairs(NOW, worked.method, sample=5000, seed=1).to_arrow()
        counts = Counter(zip(drawn["user"].to_pylist(), drawn["item"].to_pylist(), strict=True))
        for pair, share in zip(PAIRS, expected, strict=True):
            assert abs(counts[pair] / 5000 - share) <= 5 * sqrt(share * (1 - share) / 5000) + 1e-4, (name, pair)
            assert share > 0 or counts[pair] == 0


def test_a_sample_is_scored_under_the_method_that_drew_it() -> None:
    method = SKEW()
    found = us.evaluate("constant:x", NOW, weights=method, metric="hit@1", sample=20_000, seed=2)
    assert found.value == pytest.approx(1 / 3, abs=0.02)


# --- given pair probabilities


@settings(max_examples=40, deadline=None)
@given(events_of(20), st.data())
def test_given_pair_probabilities_are_what_scoring_sees(
    events: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    now = log_of([*events, ("a", 9, 9)]).at(9)
    numbers = st.lists(st.sampled_from([0.0, 1e-300, 0.2, 1.0, 7.0]), min_size=len(now), max_size=len(now))
    wanted = np.array(data.draw(numbers.filter(lambda some: max(some) > 1e-300)))
    weighting = Weighting.of_pairs(now, wanted)
    np.testing.assert_allclose(weighting.pair_shares, wanted / wanted.sum(), rtol=1e-9, atol=1e-290)
    assert now.weigh(weighting) is weighting


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([1.0], r"shape \(1,\): give one for each of 7 places"),
        ([1, 1, 1, -1, 1, 1, 1], "place 3 is -1.0, but must be a number of at least 0"),
        ([1, 1, 1, 1, 1, 1, float("nan")], "place 6 is nan"),
    ],
)
def test_pair_probabilities_that_are_none_are_refused(numbers: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Weighting.of_pairs(NOW, np.array(numbers))


def test_pair_probabilities_of_nobody_are_refused() -> None:
    with pytest.raises(EmptyError, match="no pair at 2 has any probability"):
        Weighting.of_pairs(NOW, np.zeros(7))


# --- what methods are used with


def test_a_fixed_snapshot_scores_the_profiles_of_then() -> None:
    method = FixedSnapshot(BEFORE)
    assert method.profiles(NOW) is BEFORE
    then = us.evaluate("popular", BEFORE, metric="hit@1")
    assert us.evaluate("popular", method.profiles(NOW), weights=method, metric="hit@1").value == then.value
    with pytest.raises(InputError, match="an item mix does not say who held what"):
        FixedSnapshot(BEFORE.marginal())  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="of another log"):
        NOW.weigh(FixedSnapshot(log_of(EVENTS).at(1)))


def test_recommenders_are_fitted_to_the_hold_out_alone_if_asked() -> None:
    method = HoldOutUsers(["bob", "cid"], alone=True)
    alone = keep_users(LOG, ["bob", "cid"]).at(2)
    assert items_by_user(method.profiles(NOW)) == items_by_user(alone) == taken(EVENTS[2:])
    found = us.evaluate("popular", method.profiles(NOW), weights=method, metric="hit@1")
    assert found.value == us.evaluate("popular", alone, metric="hit@1").value
    assert HoldOutUsers(["bob"]).profiles(NOW) is NOW


def test_methods_hold_out_what_a_time_split_does() -> None:
    """After 1 users with a profile took one thing: Bob z."""
    for method in (SKEW(), SNIPS(), NoMethod(), HoldOutUsers(["bob"]), DownSampling()):
        assert us.evaluate("constant:z", NOW, weights=method, metric="hit@1", after=1).value == 1.0


@pytest.mark.parametrize("of", [OneStepRatio, ItemFirst, WTD, WTDH, ItemWeighting, FixedSnapshot])
def test_a_reference_of_another_protocol_is_refused(of: type[Any]) -> None:
    with pytest.raises(PolicyError, match="was made with whole profiles"):
        us.evaluate("constant:x", NOW, weights=of(BEFORE), after=1)


@pytest.mark.parametrize("of", [OneStepRatio, ItemFirst, WTDH, ItemWeighting])
def test_an_item_mix_is_reference_enough(of: type[Any]) -> None:
    expected = NOW.weigh(of(BEFORE)).pair_shares
    for reference in (BEFORE.marginal(), {"x": 0.5, "y": 0.5}):
        np.testing.assert_allclose(NOW.weigh(of(reference)).pair_shares, expected, atol=1e-12)


def test_what_a_method_gives_is_kept() -> None:
    method = ItemWeighting(BEFORE)
    assert NOW.weigh(method) is NOW.weigh(method)
    assert NOW.weigh(method) is not LOG.at(2).weigh(method)


FREE = {"fixed-snapshot", "item-first", "wtd-h", "hold-out-users", "item-weights"}


@pytest.mark.parametrize("name", BY_HAND)
def test_scores_are_marked_as_biased_unless_a_method_frees_constant_lists(name: str) -> None:
    method = BY_HAND[name].method
    constant, popular = (us.rank_held_out(one, NOW, metric=["hit@1"]) for one in ("constant:x", "popular"))
    assert constant.score("hit@1", method).biased is (name not in FREE)
    assert popular.score("hit@1", method).biased
    other = us.rank_held_out("constant:y", NOW, metric=["hit@1"])
    [found] = us.compare(constant, other, metric="hit@1", weights=method)
    assert (found.biased, found.weighting) == (name not in FREE, "raw" if name == "none" else "weighted")


def test_a_change_is_split_by_fitted_weights_alone() -> None:
    now, then = (us.rank_held_out("constant:x", date, metric=["hit@1"]) for date in (NOW, BEFORE))
    with pytest.raises(PolicyError, match="needs fitted weights"):
        explain_change(now, then, SKEW(), metric="hit@1")  # type: ignore[arg-type]


def test_a_test_set_says_by_which_method_it_was_drawn_and_which_date_it_aims_at(tmp_path: Path) -> None:
    for method, date in ((ItemFirst(BEFORE), 1), (ItemFirst({"x": 1.0}), None), (SKEW(), None)):
        found = us.sample_pairs(NOW, method, sample=10)
        found.save(tmp_path / "test.parquet")
        for about in (json.loads(json.dumps(found.about)), read_parquet(tmp_path / "test.parquet")[1]):
            assert (about["method"], about["reference"]) == (method.name, date)


# --- methods by name


def test_each_method_says_what_it_needs_and_what_it_is_for() -> None:
    assert {name: one.needs for name, one in METHODS.items() if one.needs} == {
        "fixed-snapshot": ("reference",),
        "time-window": ("after",),
        "one-step-ratio": ("reference",),
        "shrunken-ratio": ("reference",),
        "wtd": ("reference",),
        "wtd-h": ("reference",),
        "item-first": ("reference",),
        "hold-out-users": ("holdout",),
        "hold-out-alone": ("holdout",),
        "top-20": ("reference",),
        "item-weights": ("reference",),
    }
    for one in METHODS.values():
        assert one.knows in ("nothing", "reference", "hold-out")
        assert one.targets_reference is (one.knows == "reference")
        assert one.paper


def test_a_method_is_made_from_what_is_known() -> None:
    made = METHODS["time-window"].make(NOW, BEFORE, holdout=["ann"])
    assert isinstance(made, TimeWindow)
    assert made.after == 1
    assert METHODS["shrunken-ratio"].make(NOW, BEFORE).power == 0.5  # type: ignore[attr-defined]
    alone = METHODS["hold-out-alone"].make(NOW, BEFORE, holdout=["ann"])
    assert isinstance(alone, HoldOutUsers)
    assert alone.alone
    with pytest.raises(InputError, match="the method 'hold-out-users' at 2 needs holdout"):
        METHODS["hold-out-users"].make(NOW, BEFORE)
    with pytest.raises(InputError, match="the method 'wtd' at 2 needs reference"):
        METHODS["wtd"].make(NOW)
    with pytest.raises(InputError, match="there is no method 'skw'; did you mean 'skew'"):
        require_method("skw")


def test_wrong_options_are_refused_before_the_work() -> None:
    for wrong, message in (
        (lambda: IPS(gamma=-2), "gamma is -2"),
        (lambda: OneStepRatio(BEFORE, power=2), "power is 2"),
        (lambda: PopularityStrata(strata=0), "strata is 0"),
        (lambda: DownSampling(iqr_coef=-1), "iqr_coef is -1"),
    ):
        with pytest.raises(PolicyError, match=message):
            wrong()
    with pytest.raises(InputError, match="holdout is 'ann': give a list of user ids"):
        HoldOutUsers("ann")
    with pytest.raises(InputError, match=r"the log has none of these users \(it has 'bob', 'ann', 'cid'\)"):
        NOW.weigh(HoldOutUsers(["zoe"]))
    with pytest.raises(InputError, match="the group of users is empty: name at least one user"):
        NOW.weigh(HoldOutUsers([]))
    with pytest.raises(EmptyError, match="no user of the holdout group has an item at 1"):
        BEFORE.weigh(HoldOutUsers(["cid"]))
    with pytest.raises(TimeError, match="after=2 is not before 2"):
        NOW.weigh(TimeWindow(after=2))
    with pytest.raises(EmptyError, match="no interaction that is held out at 8 is after 7"):
        log_of([*EVENTS, ("ann", "w", 9)]).at(8).weigh(TimeWindow(after="-1"))
    with pytest.raises(InputError, match=r"weights is the class SKEW: make one of it: SKEW\(\)"):
        NOW.weigh(SKEW)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is not a snapshot"):
        SKEW().apply("now")  # type: ignore[arg-type]
