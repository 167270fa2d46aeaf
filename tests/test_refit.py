"""Resampling users and fitting the weights again: who is drawn, what is carried over, what comes out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import unskew as us
from tests.dense import Event, columns, random_events
from unskew.errors import InputError, PolicyError
from unskew.evaluation import bootstrap as module
from unskew.evaluation import explain_change
from unskew.evaluation.bootstrap import Repetitions, bootstrap, replace_interval
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.weights.fit_weights import fit_weights

Floats = npt.NDArray[np.float64]
BEFORE, NOW = 4, 9
LISTS = ("constant:i0,i1", "constant:i2,i5,i0")
METRICS = ["hit@2", "mrr@5"]


def history(seed: int, users: int = 80) -> list[Event]:
    return random_events(np.random.default_rng(seed), users)


@dataclass(frozen=True)
class Case:
    """Two dates, the ranks at both, and the weights."""

    now: us.Snapshot
    before: us.Snapshot
    ranks: list[HeldOutRanks]
    earlier: list[HeldOutRanks]
    weights: us.ItemWeights

    def again(self, reference: Any = None, **options: Any) -> Repetitions:
        reference = self.before if reference is None else reference
        options = {"reference_ranks": self.earlier, **options}
        return bootstrap(self.ranks, reference, self.weights, METRICS, **options)


def case(now: us.Snapshot, before: us.Snapshot, **options: Any) -> Case:
    least = options.get("min_items", 1)
    ranks, earlier = (
        [us.rank_held_out(r, s, metric=METRICS, min_items=least) for r in LISTS] for s in (now, before)
    )
    scored: Any = earlier[0].snapshot
    return Case(now, scored, ranks, earlier, us.fit_weights(now, before, **options))


def of_one_log(seed: int = 0, *, uneven: bool = False, **options: Any) -> Case:
    log = us.read_log(columns(history(seed)))
    shares = np.random.default_rng(seed).uniform(0.2, 3.0, len(log.users)) if uneven else None
    return case(log.at(NOW, p_user=shares), log.at(BEFORE, p_user=shares), **options)


@dataclass
class Spy:
    """Remembers what was asked of `fit_weights`."""

    calls: list[tuple[us.Snapshot, Any, dict[str, Any], us.ItemWeights]]

    def __call__(self, snapshot: us.Snapshot, reference: Any, **options: Any) -> us.ItemWeights:
        found = fit_weights(snapshot, reference, **options)
        self.calls.append((snapshot, reference, options, found))
        return found


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    watching = Spy([])
    monkeypatch.setattr(module, "fit_weights", watching)
    return watching


def times(snapshot: us.Snapshot, drawn: us.Snapshot) -> dict[Any, float]:
    """How often each user was drawn, up to one factor, by its id: its share then over its share now."""
    share, then = snapshot.shares(), drawn.shares()
    return {user: float(then[u] / share[u]) for u, user in enumerate(snapshot.log.users.to_list()) if share[u] > 0}


def counts(ratios: dict[Any, float]) -> dict[Any, int]:
    """The same as whole numbers."""
    once = min(r for r in ratios.values() if r > 0)
    for most in range(1, 10):  # the least that anyone was drawn
        found = {user: r / once * most for user, r in ratios.items()}
        if all(abs(r - round(r)) < 1e-6 for r in found.values()):
            return {user: round(r) for user, r in found.items()}
    raise AssertionError("these are not multiples of anything")


def test_the_same_seed_gives_the_same_repetitions_and_another_others() -> None:
    here = of_one_log()
    one, same, other = (here.again(repeats=4, seed=s) for s in (1, 1, 2))
    assert len(one) == 4
    for ranks in (*here.ranks, *here.earlier):
        assert one.values[ranks].shape == (4, 3, 2)
        assert np.array_equal(one.values[ranks], same.values[ranks], equal_nan=True)
    weighted, others = (again.of(here.ranks[0], "hit@2")["weighted"] for again in (one, other))
    assert not np.array_equal(weighted, others)
    assert len(np.unique(weighted)) == 4


@pytest.mark.parametrize("uneven", [False, True])
def test_the_same_users_are_drawn_at_both_dates_as_often(spy: Spy, uneven: bool) -> None:
    here = of_one_log(1, uneven=uneven)
    here.again(repeats=5)
    assert len(spy.calls) == 5
    seen = set()
    for drawn, reference, _, _ in spy.calls:
        now, before = counts(times(here.now, drawn)), counts(times(here.before, reference))
        assert sum(now.values()) == len(now)  # as many as there are: all of t0 are at t1 as well
        assert set(before) < set(now)
        assert all(before[user] == now[user] for user in before)
        seen.add(tuple(now.values()))
    assert len(seen) == 5


def test_users_of_two_logs_are_drawn_once_each(spy: Spy) -> None:
    """Of another log with other codes, whose users are not all in this one."""
    events = history(2)
    gone = [(f"gone{k}", "i0", 0) for k in range(15)]
    early = us.read_log(columns([*gone, *(e for e in reversed(events) if e[2] <= BEFORE)]))
    here = case(us.read_log(columns(events)).at(NOW), early.at(BEFORE))
    here.again(repeats=8)
    drawn_gone = set()
    for drawn, reference, _, _ in spy.calls:
        now, before = counts(times(here.now, drawn)), counts(times(here.before, reference))
        assert all(before[user] == now[user] for user in set(before) & set(now))
        alone = {user: n for user, n in before.items() if user not in now}
        assert len(alone) == 15
        assert sum(now.values()) + sum(alone.values()) == len(now) + 15
        drawn_gone.add(sum(alone.values()))
    assert len(drawn_gone) > 1  # the parts are not fixed: one population is drawn from


def test_a_repetition_is_the_score_under_the_weights_fitted_to_it(spy: Spy) -> None:
    here = of_one_log(3, uneven=True)
    again = here.again(repeats=4)
    for k, (drawn, reference, _, fitted) in enumerate(spy.calls):
        for i, recommender in enumerate(LISTS):
            for metric in METRICS:
                now = us.rank_held_out(recommender, drawn, metric=[metric])
                then = us.rank_held_out(recommender, reference, metric=[metric])
                found, earlier = (again.of(r[i], metric) for r in (here.ranks, here.earlier))
                assert found["weighted"][k] == pytest.approx(now.score(metric, fitted).value, abs=1e-12)
                assert found["all"][k] == pytest.approx(now.score(metric).value, abs=1e-12)
                assert earlier["all"][k] == pytest.approx(then.score(metric).value, abs=1e-12)


@pytest.mark.parametrize(
    "policy",
    [
        {"users": "both"},
        {"min_items": 2},
        {"new_items": "keep"},
        {"users": "both", "min_items": 2, "tol": 1e-6},
        {"top": 3, "method": "descent"},
        {"top": 3, "method": "lbfgs", "new_items": "drop"},
        {"items": ["i0", "i2"], "method": "descent"},
        {"method": "lbfgs", "tol": 1e-3},
    ],
)
def test_the_weights_are_fitted_again_by_the_same_policy(spy: Spy, policy: dict[str, Any]) -> None:
    here = of_one_log(4, **policy)
    again = here.again(repeats=3)
    for *_, fitted in spy.calls:
        assert fitted.options == here.weights.options
        assert fitted.policy == here.weights.policy
    assert all(np.isfinite(again.values[ranks]).all() for ranks in here.ranks)


def test_everyone_drawn_once_repeats_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    for policy in ({}, {"users": "both"}, {"min_items": 2}, {"users": "both", "min_items": 2}):
        here = of_one_log(5, **policy)

        def once(draws: Any, rng: object, here: Case = here) -> tuple[Floats, Floats]:
            return np.ones(len(here.now.log.users)), np.ones(len(here.before.log.users))

        monkeypatch.setattr(module._Draws, "counts", once)
        again = here.again(repeats=2)
        for now, then in zip(here.ranks, here.earlier, strict=True):
            given = explain_change(now, then, here.weights, metric="hit@2", refit=0)
            t1, t0 = again.of(now, "hit@2"), again.of(then, "hit@2")
            assert t1["all"] - t0["all"] == pytest.approx(given.change.value, abs=1e-12)
            assert t1["stay"] - t1["weighted"] == pytest.approx(given.item_mix.value, abs=2e-4)
            assert t1["weighted"] - t0["stay"] == pytest.approx(given.unexplained.value, abs=2e-4)


def test_for_a_constant_list_the_repetitions_follow_the_score_at_the_reference_date() -> None:
    """Its weighted score is that at t0, whoever is drawn; so t1 drawn alone would show no spread at all."""
    here = of_one_log(6, users="both")
    again = here.again(repeats=20)
    for now, then in zip(here.ranks, here.earlier, strict=True):
        assert again.of(now, "hit@2")["weighted"] == pytest.approx(again.of(then, "hit@2")["stay"], abs=2e-4)
    spread = again.of(here.ranks[0], "hit@2")["weighted"].std()
    assert spread > 0.01
    target = here.before.marginal()
    alone = replace(here, weights=us.fit_weights(here.now, target)).again(target, repeats=20)
    assert alone.of(here.ranks[0], "hit@2")["weighted"].std() < 0.1 * spread


@pytest.mark.parametrize("known", ["marginal", "mapping"])
def test_a_saved_marginal_is_taken_as_known(spy: Spy, known: str) -> None:
    here = of_one_log(7)
    target = here.before.marginal() if known == "marginal" else here.before.marginal().to_dict()
    again = here.again(target, repeats=3)
    assert again.target_known
    assert set(again.values) == set(here.ranks)
    assert all(reference is target for _, reference, _, _ in spy.calls)
    assert len({drawn.shares().tobytes() for drawn, *_ in spy.calls}) == 3
    assert not here.again(repeats=2).target_known


def test_a_refitted_interval_is_that_of_the_repetitions_and_says_so() -> None:
    here = of_one_log(8)
    again = here.again(repeats=30).of(here.ranks[0], "hit@2")["weighted"]
    score = here.ranks[0].score("hit@2", here.weights)
    found = replace_interval(score, again)
    assert found.low < score.value < found.high
    assert found.high - found.low == pytest.approx(2 * 2.042 * again.std(), rel=0.1)
    assert replace(found, low=score.low, high=score.high, method=score.method) == score
    assert found.method == "bootstrap"
    known = replace_interval(score, again, target_known=True)
    assert known == replace(found, method="bootstrap, target known")


def test_ranks_of_the_reference_date_may_be_left_out() -> None:
    here = of_one_log(9)
    again = here.again(repeats=2, reference_ranks=())
    assert set(again.values) == set(here.ranks)
    assert not again.target_known


def test_what_cannot_be_repeated_is_refused() -> None:
    here = of_one_log(10)
    with pytest.raises(InputError, match="at least 2"):
        here.again(repeats=1)
    sampled = us.rank_held_out(LISTS[0], here.now, metric=METRICS, sample=20)
    with pytest.raises(PolicyError, match="every pair"):
        replace(here, ranks=[sampled]).again(repeats=2)
    with pytest.raises(PolicyError, match="other pairs"):
        replace(here, ranks=[here.ranks[0], here.earlier[0]]).again(repeats=2)
    with pytest.raises(PolicyError, match="was ranked at 9, the reference is 4"):
        replace(here, earlier=here.ranks).again(repeats=2)


def test_too_few_users_to_fit_again_is_an_error_that_says_so() -> None:
    table = {"user": ["a", "b", "a"], "item": ["i0", "i1", "i2"], "time": [1, 1, 5]}
    log = us.read_log(table)
    now, before = log.at(5), log.at(1)
    weights = us.fit_weights(now, before, top=2, method="descent")
    ranks = us.rank_held_out("constant:i0", now)
    with pytest.raises(InputError, match="could not be fitted again to users drawn at random: top is 2"):
        bootstrap([ranks], before, weights, ["hit@5"], repeats=50)


def test_nobody_drawn_who_holds_anything_is_an_error_that_says_so() -> None:
    log = us.read_log({"user": ["a", "b"], "item": ["i0", "i0"], "time": [1, 5]})
    now, before = log.at(5), log.at(1)
    ranks = us.rank_held_out("constant:i0", now)
    with pytest.raises(InputError, match="no user drawn in a repetition of the bootstrap has an item at 1"):
        bootstrap([ranks], before, us.fit_weights(now, before), ["hit@5"], repeats=50)
