"""Driving recommenders: ranks from lists, and one clear error for each thing that can be wrong with them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event, columns
from tests.scoring import Spy, events_of, log_of, place, stepping, taken
from tests.tables import LAW, late
from unskew.arrays.profiles import all_entries
from unskew.arrays.types import Codes
from unskew.errors import InputError, UnskewError
from unskew.evaluation import HeldOutRanks, ranking
from unskew.evaluation.pairs import HoldOut, pairs_of
from unskew.recommend import Batch, calls
from unskew.recommend.contract import HeldOutPairs, Traits, top_k, traits_of


class Fixed:
    """Gives whatever it was made with, if that is not a function of the batch and k."""

    def __init__(self, answer: Any, **more: Any) -> None:
        self.answer = answer
        self.__dict__ |= more

    def __str__(self) -> str:
        return "fixed"

    def fit(self, snapshot: us.Snapshot, /) -> Self:
        return self

    def recommend(self, profiles: Batch, k: int, /) -> Codes:
        found: Codes = self.answer(profiles, k) if callable(self.answer) else self.answer
        return found


class Ranking(Fixed):
    """The same for ranks."""

    def held_out_ranks(self, pairs: HeldOutPairs, k: int, /) -> Codes:
        found: Codes = self.answer(pairs, k) if callable(self.answer) else self.answer
        return found


LOG = log_of([("ann", "x", 0), ("ann", "y", 1), ("bob", "x", 2), ("bob", "z", 3)])


def code(item: str) -> int:
    return int(LOG.items.codes([item])[0])


def ranks(model: Any, k: int = 3, **more: Any) -> HeldOutRanks:
    return us.rank_held_out(model, LOG.at(3), metric=[f"hit@{k}"], **more)


def rows(*lists: list[int]) -> Any:
    """The lists of the four pairs: ann without x, ann without y, bob without x, bob without z."""
    return lambda batch, k: np.array([(row + [-1] * k)[:k] for row in lists])


@LAW
@given(events=events_of(), k=st.integers(1, 9))
def test_ranks_are_the_places_in_the_lists(events: list[Event], k: int) -> None:
    log = log_of(events)
    if len(log.items) < 3:
        return
    recommend = stepping(log.items.to_list())
    found = us.rank_held_out(recommend, late(log, 9), metric=[f"hit@{k}"])
    held = taken(events)
    assert len(found) == sum(map(len, held.values()))
    for entry, user, rank in zip(found.entries, found.users, found.ranks, strict=True):
        u, i = log.users[int(user)], log.items[int(found.snapshot.profiles.item[entry])]
        assert rank == place(recommend([j for j in held[u] if j != i], k), i)


def test_ranks_do_not_depend_on_how_the_work_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    log = log_of([(u, int(i), 0) for u in range(40) for i in rng.choice(20, 5, replace=False)])
    spy = Spy(stepping(range(20)))
    whole = us.rank_held_out(spy, log.at(0), metric="hit@10")
    assert len(spy.asked) == 1
    monkeypatch.setattr(ranking, "ENTRIES", 30)
    spy = Spy(stepping(range(20)))
    np.testing.assert_array_equal(us.rank_held_out(spy, log.at(0), metric="hit@10").ranks, whole.ranks)
    assert len(spy.asked) > 20


def test_a_recommender_that_ranks_by_itself_is_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PAIRS", 3)
    sizes = []

    def answer(pairs: HeldOutPairs, k: int) -> Codes:
        sizes.append(len(pairs))
        return np.arange(len(pairs)) % 2 + 1

    assert ranks(Ranking(answer)).ranks.tolist() == [1, 2, 1, 1]
    assert sizes == [3, 1]


def test_a_recommender_that_ranks_by_itself_is_not_asked_when_several_are_left_out() -> None:
    class Both(Ranking):
        def recommend(self, profiles: Batch, k: int, /) -> Codes:
            return np.full((len(profiles), k), -1)

    assert ranks(Both(lambda pairs, k: np.ones(len(pairs), dtype=int))).ranks.tolist() == [1, 1, 1, 1]
    assert ranks(Both(lambda pairs, k: 1 / 0), leave_out=2).ranks.tolist() == [0, 0, 0, 0]
    assert ranks(Both(lambda pairs, k: 1 / 0), after=2).ranks.tolist() == [0]


def test_lists_may_end_early() -> None:
    found = ranks(Fixed(rows([code("z"), code("x")], [], [code("x")], [code("y"), code("z")])))
    assert found.ranks.tolist() == [2, 0, 1, 2]


def test_lists_of_any_whole_numbers_and_memory_order_are_taken() -> None:
    lists = rows([code("z"), code("x")], [code("z")], [code("x")], [code("y"), code("z")])
    for kind in (np.int8, np.int32, np.int64):
        fortran = Fixed(lambda b, k, kind=kind: np.asfortranarray(lists(b, k).astype(kind)))
        assert ranks(fortran).ranks.tolist() == [2, 0, 1, 2]
    assert ranks(Fixed(lambda b, k: lists(b, k).tolist())).ranks.tolist() == [2, 0, 1, 2]


@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ([[99], [], [], []], "fixed, for user 'ann': recommends the item code 99, which does not exist"),
        ([[], [], [-2], []], "fixed, for user 'bob': recommends the item code -2, which does not exist"),
        ([[], [], [], [code("y"), code("y")]], "fixed, for user 'bob': recommends item 'y' twice"),
        ([[], [code("x")], [], []], "fixed, for user 'ann': recommends item 'x', which is in the profile"),
        (
            [[], [], [code("x"), code("z")], []],
            "fixed, for user 'bob': recommends item 'z', which is in the profile",
        ),
    ],
)
def test_a_wrong_list_is_an_error_that_names_the_user_and_the_item(lists: list[list[int]], told: str) -> None:
    with pytest.raises(InputError) as error:
        ranks(Fixed(rows(*lists)))
    assert str(error.value) == f"{told}: correct what recommend returns"


def test_what_is_held_out_is_no_item_of_the_profile() -> None:
    everything = Fixed(rows([code("x"), code("z")], [code("y")], [code("x")], [code("z")]))
    assert ranks(everything).ranks.tolist() == [1, 1, 1, 1]


def test_after_a_time_an_item_of_the_profile_of_then_is_refused() -> None:
    assert ranks(Fixed(lambda b, k: np.full((len(b), k), -1)), after=2).ranks.tolist() == [0]
    with pytest.raises(InputError, match="fixed, for user 'bob': recommends item 'x', which is in the profile"):
        ranks(Fixed(lambda b, k: np.array([[code("x"), -1, -1]])), after=2)


def test_who_may_recommend_the_profile_may() -> None:
    constant = lambda b, k: np.tile([code("x"), code("y"), code("z")], (len(b), 1))  # noqa: E731
    with pytest.raises(InputError, match="which is in the profile"):
        ranks(Fixed(constant))
    assert ranks(Fixed(constant, traits=Traits(may_recommend_profile=True))).ranks.tolist() == [1, 2, 1, 3]
    with pytest.raises(InputError, match="recommends item 'x' twice"):
        ranks(Fixed(lambda b, k: np.full((len(b), k), code("x")), traits=Traits(may_recommend_profile=True)))


def test_a_recommender_without_traits_has_the_usual_ones() -> None:
    assert traits_of(Fixed(None)) == Traits(exact=False, external=False, may_recommend_profile=False, files=())
    fixed = Traits(learns="nothing", constant=True, personal=False, may_recommend_profile=True)
    assert traits_of(us.Constant(["x"])) == fixed
    assert traits_of(us.Popular()) == Traits(exact=True, personal=False)
    assert traits_of(us.ItemKNN()) == traits_of(us.EASE()) == Traits(exact=True)
    assert traits_of(us.ItemKNN(similarity="bm25")) == traits_of(us.EASE(exact=False)) == Traits()


def test_traits_of_another_kind_are_refused() -> None:
    with pytest.raises(InputError, match=r"fixed: its attribute 'traits' is \{'exact': True\}: make it a Traits"):
        ranks(Fixed(rows([], [], [], []), traits={"exact": True}))


@pytest.mark.parametrize("leave_out", [1, 2])
def test_a_constant_list_has_the_same_ranks_however_items_are_left_out(leave_out: int) -> None:
    found = ranks(us.Constant(["z", "x"]), leave_out=leave_out)
    items = [LOG.items[int(found.snapshot.profiles.item[e])] for e in found.entries]
    assert dict(zip(items, found.ranks.tolist(), strict=True)) == {"x": 2, "y": 0, "z": 1}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            np.zeros((4, 2), dtype=int),
            r"fixed: recommend must return whole numbers of shape \(4, 3\), not int64 of",
        ),
        (np.zeros((3, 3), dtype=int), r"of shape \(4, 3\), not int64 of shape \(3, 3\)"),
        (np.zeros(12, dtype=int), r"of shape \(4, 3\), not int64 of shape \(12,\)"),
        (np.zeros((4, 3)), r"whole numbers of shape \(4, 3\), not float64"),
        (np.full((4, 3), "x"), r"whole numbers of shape \(4, 3\), not <U1"),
        (None, r"whole numbers of shape \(4, 3\), not object"),
        ([[1], [1, 2], [], []], "fixed: recommend must return an array of numbers"),
    ],
)
def test_an_answer_of_another_shape_or_kind_is_refused(answer: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        ranks(Fixed(answer))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            np.array([1, 4, 0, 0]),
            r"fixed, for user 'ann' with item 'y' held out: held_out_ranks returned 4, .* 0 and 3",
        ),
        (np.array([1, 1, 0, -1]), "for user 'bob' with item 'z' held out: held_out_ranks returned -1"),
        (
            np.array([1, 1, 0]),
            r"held_out_ranks must return whole numbers of shape \(4,\), not int64 of shape \(3,\)",
        ),
        (np.array([1.0, 1, 0, 0]), "held_out_ranks must return whole numbers"),
    ],
)
def test_ranks_that_cannot_be_are_refused_with_the_pair(answer: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        ranks(Ranking(answer))


@pytest.mark.parametrize("what", ["fit", "recommend", "held_out_ranks", "grades"])
def test_a_recommender_that_fails_is_named_with_its_method_and_its_reason(what: str) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("of all things")

    model = (
        Ranking(lambda pairs, k: np.ones(len(pairs), dtype=int))
        if what == "held_out_ranks"
        else Fixed(lambda batch, k: np.full((len(batch), k), -1), grades=lambda batch, items: np.zeros(len(batch)))
    )
    setattr(model, what, fail)
    graded = us.Metric("graded", lambda rank, grade: grade, needs_grades=True)
    with pytest.raises(UnskewError) as error:
        us.rank_held_out(model, LOG.at(3), metric=[graded])
    assert error.value.message == f"the recommender fixed failed in {what}(): ZeroDivisionError: of all things"
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_an_interrupt_is_no_failure_of_the_recommender() -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranks(Fixed(stop))


def test_lists_are_no_longer_than_there_are_items() -> None:
    spy = Spy(lambda profile, k: [i for i in "xyz" if i not in profile])
    found = us.rank_held_out(spy, LOG.at(3), metric=["hit@1000"])
    assert spy.asked == [3]
    assert found.score("hit@1000").value == 1


def test_a_recommender_is_fitted_once_and_before_it_is_asked() -> None:
    class Fits(Fixed):
        fitted = 0

        def fit(self, snapshot: us.Snapshot, /) -> Self:
            self.fitted += 1
            return self

        def recommend(self, profiles: Batch, k: int, /) -> Codes:
            return np.full((len(profiles), k), -1 if self.fitted == 1 else 99)

    assert ranks(Fits(None)).ranks.tolist() == [0, 0, 0, 0]


def test_grades_are_those_of_the_held_out_items() -> None:
    def grades(batch: Batch, items: Codes) -> list[float]:
        return [10 * len(batch.profile(k)) + int(items[k]) for k in range(len(batch))]

    model = Fixed(lambda batch, k: np.full((len(batch), k), -1), grades=grades)
    own = us.Metric("own", lambda rank, grade: grade, needs_grades=True)
    found = us.rank_held_out(model, LOG.at(3), metric=[own])
    assert found.grades is not None
    assert found.grades.tolist() == [10 + code(i) for i in "xyxz"]
    assert ranks(model).grades is None  # nobody asked


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.zeros(3), r"one number for each of the 4 profiles, not float64 of shape \(3,\)"),
        (np.zeros((4, 1)), "one number for each of the 4 profiles"),
        (["high", "low", "low", "low"], "one number for each of the 4 profiles, not <U4"),
    ],
)
def test_grades_that_are_no_numbers_are_refused(given: Any, told: str) -> None:
    model = Fixed(lambda batch, k: np.full((len(batch), k), -1), grades=lambda batch, items: given)
    with pytest.raises(InputError, match=f"fixed: grades must return {told}"):
        us.rank_held_out(model, LOG.at(3), metric=[lambda rank, grade: grade])


def test_ties_of_scores_are_ranked_the_same_way_every_time_and_for_any_order_of_rows() -> None:
    events = [(u, i, 0) for u in range(6) for i in range(6) if (u + i) % 3]
    found = []
    for seed in range(4):
        mixed = [events[k] for k in np.random.default_rng(seed).permutation(len(events))]
        log = us.read_log(columns(mixed))
        r = us.rank_held_out("popular", log.at(0), metric="hit@6")
        names = [
            (log.users[int(u)], log.items[int(r.snapshot.profiles.item[e])])
            for u, e in zip(r.users, r.entries, strict=True)
        ]
        found.append(dict(zip(names, r.ranks.tolist(), strict=True)))
    assert all(f == found[0] for f in found)


@LAW
@given(
    rows=st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.5, -np.inf, np.nan]), min_size=5, max_size=5), min_size=1),
    k=st.integers(1, 8),
)
def test_the_best_k_are_those_of_a_sort_with_ties_in_the_order_of_codes(rows: list[list[float]], k: int) -> None:
    for scores, found in zip(rows, top_k(np.array(rows), k).tolist(), strict=True):
        able = [i for i in range(5) if scores[i] > -np.inf]
        best = sorted(able, key=lambda i: (-scores[i], i))[:k]
        assert found == best + [-1] * (k - len(best))


def test_equals_are_told_apart_by_their_ids_and_not_by_how_often_they_come() -> None:
    log = log_of([("a", "z", 0), ("b", "z", 0), ("a", "x", 0), ("a", "y", 0)])
    assert log.items.to_list() == ["z", "x", "y"]
    spy = Spy(lambda profile, k: [])
    us.rank_held_out(spy, log.at(0), metric="hit@1")
    assert spy.snapshot is not None
    assert spy.snapshot.log.items.to_list() == ["x", "y", "z"]
    assert spy.snapshot.profile("a") == log.at(0).profile("a")


def test_a_batch_is_a_matrix_of_ones_for_libraries_that_want_one() -> None:
    batch = Batch(np.array([3, 1]), np.array([0, 2, 2]), np.array([2, 0]), 4)
    assert batch.matrix().toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0]]


def test_pairs_can_be_ranked_without_an_evaluation() -> None:
    snapshot = LOG.at(3)
    model = Fixed(rows([code("x")], [], [], [code("z")]))
    found = ranking.rank_pairs(model, HoldOut(snapshot), pairs_of(snapshot, all_entries(snapshot.profiles)), 2)
    assert (found.ranks.tolist(), found.grades) == ([1, 0, 0, 1], None)
    assert found.empty is not None
    assert found.empty.tolist() == [False, True, True, False]
