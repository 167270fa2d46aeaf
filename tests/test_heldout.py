"""Held-out pairs: which there are, how probable each is, how they are drawn, what is left of the profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import unskew as us
from tests.dense import Event, random_events, random_profiles, table_of
from tests.scoring import events_of, items_by_user, log_of, pair_shares, taken
from tests.tables import LAW, late
from unskew.arrays.profiles import all_entries
from unskew.data import Weighting
from unskew.data.held_out import SplitRule
from unskew.data.slice import Slice
from unskew.errors import EmptyError
from unskew.evaluation.pairs import HoldOut, draw, pairs_of
from unskew.recommend.contract import Batch

ENOUGH = 1e-4
"""A draw that is right fails a test at this level once in ten thousand seeds; the seeds are fixed."""


def named(part: Slice, values: Mapping[int, Any] | np.ndarray[Any, Any]) -> dict[Any, Any]:
    """Values by entry as values by (user, item); only what belongs to a profile."""
    pairs = pairs_of(part, all_entries(part.profiles))
    users, items = part.log.users, part.log.items
    return {
        (users[int(u)], items[int(i)]): values[int(e)]
        for u, i, e in zip(pairs.user, pairs.item, pairs.entry, strict=True)
    }


def rows(snapshot: us.Snapshot, batch: Batch) -> list[tuple[Any, list[Any]]]:
    """A batch as (user, profile)."""
    log = snapshot.log
    return [
        (log.users[int(batch.user[k])], log.items.take(batch.profile(k)).to_pylist()) for k in range(len(batch))
    ]


@LAW
@given(events=events_of(), at=st.integers(0, 9), without=st.sets(st.sampled_from("abcde")))
def test_every_pair_of_the_profiles_comes_once(events: list[Event], at: int, without: set[str]) -> None:
    held = {u: items for u, items in taken(events, at).items() if u not in without}
    log = log_of(events)
    if not held:
        return
    snapshot = late(log, at).restrict(np.array([u not in without for u in log.users]))
    pairs = pairs_of(snapshot, all_entries(snapshot.profiles))
    found = [(log.users[int(u)], log.items[int(i)]) for u, i in zip(pairs.user, pairs.item, strict=True)]
    assert sorted(found) == sorted((u, i) for u, items in held.items() for i in items)
    assert (np.diff(pairs.user) >= 0).all()


@pytest.mark.parametrize("spread", [1.0, 700.0, 5000.0])
def test_the_share_of_each_pair_is_that_of_a_dense_table(spread: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        profiles = random_profiles(rng, 12, 8)
        snapshot = replace(log_of([("a", 0, 0)]).at(0), profiles=profiles)
        theta = spread * rng.normal(size=8)
        table = table_of(profiles)
        dense = (table.a[:, None] * table.conditionals(theta)).ravel()
        found = Weighting(snapshot, theta).pair_shares
        item = profiles.item.astype(np.int64)
        full = np.zeros((len(table.a), 8))
        sizes = profiles.sizes()
        full[np.repeat(np.arange(len(table.a)), sizes[sizes > 0]), item] = found
        np.testing.assert_allclose(full.ravel(), dense, rtol=1e-10, atol=1e-300)
        assert found.sum() == pytest.approx(1, abs=1e-12)


@LAW
@given(events=events_of(), weight=st.fixed_dictionaries({i: st.sampled_from([0.0, 1.0, 7.5]) for i in range(6)}))
def test_shares_follow_the_definition_and_dropped_items_have_none(
    events: list[Event], weight: dict[int, float]
) -> None:
    expected = pair_shares(taken(events), lambda i: weight[i])
    if not expected:
        return
    log = log_of(events)
    weighting = late(log, 9).weigh({i: weight[i] for i in log.items})
    shares = named(weighting.part, weighting.pair_shares)
    found = {pair: share for pair, share in shares.items() if share > 0}
    assert found == pytest.approx(expected, rel=1e-12)


def drawn(weighting: Weighting, n: int, seed: int) -> Counter[Any]:
    part = weighting.part
    pairs = pairs_of(part, draw(weighting, n, seed))
    users, items = part.log.users.to_list(), part.log.items.to_list()
    return Counter((users[u], items[i]) for u, i in zip(pairs.user.tolist(), pairs.item.tolist(), strict=True))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pairs_are_drawn_with_their_probabilities(seed: int) -> None:
    events = random_events(np.random.default_rng(seed), users=8, items=6)
    log = log_of(events)
    importance = {u: 1.0 + (k % 4) for k, u in enumerate(sorted(log.users))}
    weight = {i: [0.0, 0.5, 1.0, 4.0][k % 4] for k, i in enumerate(sorted(log.items))}
    weighting = log.at(9, p_user=importance).weigh(weight)
    expected = pair_shares(taken(events), weight.__getitem__, importance.__getitem__)
    n = 40_000
    found = drawn(weighting, n, seed)
    assert set(found) <= set(expected)
    counts = [found[pair] for pair in expected]
    assert stats.chisquare(counts, [n * share for share in expected.values()]).pvalue > ENOUGH


def test_users_are_drawn_by_their_share_whatever_they_hold() -> None:
    events = [("a", 0, 0), *(("b", i, 0) for i in range(9)), ("c", 0, 0), ("c", 1, 0)]
    log = log_of(events)
    found = drawn(log.at(0, p_user={"a": 3, "b": 1, "c": 2}).weigh(), 30_000, 4)
    users = Counter({u: sum(n for (v, _), n in found.items() if v == u) for u in "abc"})
    assert stats.chisquare([users[u] for u in "abc"], [15_000, 5_000, 10_000]).pvalue > ENOUGH


def test_draws_of_different_users_and_places_are_independent() -> None:
    log = log_of([(u, i, 0) for u in "ab" for i in range(2)])
    entries = draw(log.at(0).weigh(), 20_000, 5)
    lag = np.zeros((4, 4))
    np.add.at(lag, (entries[:-1], entries[1:]), 1)
    assert stats.chi2_contingency(lag).pvalue > ENOUGH


def test_the_same_seed_draws_the_same_and_another_draws_others() -> None:
    weighting = log_of(random_events(np.random.default_rng(1))).at(9).weigh()
    first = draw(weighting, 500, 8)
    np.testing.assert_array_equal(first, draw(weighting, 500, 8))
    assert (first != draw(weighting, 500, 9)).any()


def test_the_same_seed_draws_the_same_users_under_other_weights() -> None:
    snapshot = log_of(random_events(np.random.default_rng(2))).at(9)
    n = snapshot.profiles.n_items
    plain = pairs_of(snapshot, draw(snapshot.weigh(), 500, 8))
    tilted = pairs_of(snapshot, draw(Weighting(snapshot, np.linspace(0.0, 3.0, n)), 500, 8))
    np.testing.assert_array_equal(plain.user, tilted.user)
    assert (plain.item != tilted.item).any()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_shares_and_draws_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    rng = np.random.default_rng(0)
    profiles = random_profiles(rng, 9000, 300, size=6)
    snapshot = replace(log_of([("a", 0, 0)]).at(0), profiles=profiles)
    theta = rng.normal(size=300)
    monkeypatch.setenv("UNSKEW_THREADS", "3")
    one = Weighting(snapshot, theta)
    expected = one.pair_shares, draw(one, 1000, 1)
    monkeypatch.setenv("UNSKEW_THREADS", str(threads))
    other = Weighting(snapshot, theta)
    np.testing.assert_array_equal(other.pair_shares, expected[0])
    np.testing.assert_array_equal(draw(other, 1000, 1), expected[1])


@pytest.mark.parametrize("at_item", [0.0, float(np.nextafter(1, 0))])
@pytest.mark.parametrize("dropped", [[0, 1, 2], [1, 2, 3], [0, 3]])
def test_an_item_of_no_weight_is_never_drawn_even_at_the_edge_of_a_row(
    monkeypatch: pytest.MonkeyPatch, at_item: float, dropped: list[int]
) -> None:
    log = log_of([(u, i, 0) for u in range(50) for i in range(4)])
    theta = np.where(np.isin(np.array(log.items.to_list()), dropped), -np.inf, 0.0)

    class Edge:
        """Draws every user, and of each the very edge of its row."""

        draws = iter([(np.arange(50) + 0.5) / 50, np.full(50, at_item)])

        def random(self, n: int) -> Any:
            return next(self.draws)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Edge())
    found = drawn(Weighting(log.at(0), theta), 50, 3)
    assert {u for u, _ in found} == set(range(50))
    assert not {i for _, i in found} & set(dropped)


@LAW
@given(events=events_of(), size=st.integers(1, 30))
def test_what_is_left_is_the_profile_without_the_item_in_its_order(events: list[Event], size: int) -> None:
    log = log_of(events)
    snapshot = late(log, 9)
    pairs = pairs_of(snapshot, all_entries(snapshot.profiles))
    done = 0
    for part, batch in HoldOut(snapshot).batches(pairs, size):
        assert part.start == done
        done = part.stop
        for row, (user, profile) in enumerate(rows(snapshot, batch)):
            item = log.items[int(pairs.item[part][row])]
            assert profile == [i for i in snapshot.profile(user) if i != item]
            assert user == log.users[int(pairs.user[part][row])]
    assert done == len(pairs)


@LAW
@given(
    events=events_of(40, users="ab", items=9, least=8),
    together=st.integers(2, 5),
    seed=st.integers(0, 3),
    size=st.integers(1, 30),
)
def test_items_left_out_together_form_groups_of_that_size(
    events: list[Event], together: int, seed: int, size: int
) -> None:
    log = log_of(events)
    snapshot = late(log, 9)
    pairs = pairs_of(snapshot, all_entries(snapshot.profiles))
    groups: dict[Any, Counter[Any]] = {}
    for part, batch in HoldOut(snapshot, together, seed).batches(pairs, size):
        for row, (user, left) in enumerate(rows(snapshot, batch)):
            item = log.items[int(pairs.item[part][row])]
            whole = snapshot.profile(user)
            out = frozenset(whole) - frozenset(left)
            assert item in out
            assert left == [i for i in whole if i not in out]
            groups.setdefault(user, Counter())[out] += 1
    for user, found in groups.items():
        whole = snapshot.profile(user)
        assert all(n == len(out) for out, n in found.items())  # each item of a group has this group
        assert sorted(i for out in found for i in out) == sorted(whole)  # and is in no other
        sizes = sorted((len(out) for out in found), reverse=True)
        full, rest = divmod(len(whole), together)
        assert sizes == [together] * full + [rest] * (rest > 0)


def test_which_items_go_together_depends_on_the_seed_alone() -> None:
    log = log_of([("a", i, i) for i in range(8)])
    snapshot = log.at(7)
    pairs = pairs_of(snapshot, all_entries(snapshot.profiles))

    def left(seed: int, size: int) -> list[Any]:
        return [
            row for _, batch in HoldOut(snapshot, 2, seed).batches(pairs, size) for row in rows(snapshot, batch)
        ]

    assert left(1, 10) == left(1, 1000)
    assert len({str(left(seed, 100)) for seed in range(5)}) > 1


def test_a_profile_of_one_item_leaves_nothing() -> None:
    snapshot = log_of([("a", 0, 0)]).at(0)
    pairs = pairs_of(snapshot, all_entries(snapshot.profiles))
    [(part, batch)] = HoldOut(snapshot).batches(pairs, 100)
    assert (part, rows(snapshot, batch)) == (slice(0, 1), [("a", [])])


@LAW
@given(events=events_of(), after=st.integers(0, 8), at=st.integers(1, 9))
def test_a_time_split_knows_the_past_and_holds_out_the_rest(events: list[Event], after: int, at: int) -> None:
    past, whole = taken(events, after), taken(events, at, after)
    pairs = {u: items for u, items in whole.items() if u in past}
    log = log_of(events)
    if not past or at <= after:
        return
    snapshot = late(log, at) if taken(events, at) else None
    assert snapshot is not None
    if not pairs:
        with pytest.raises(EmptyError):
            SplitRule(after).split(snapshot)
        return
    split = SplitRule(after).split(snapshot)
    for found, expected in ((split.known, past), (split.whole, whole), (split.pairs, pairs)):
        got = {u: sorted(items) for u, items in items_by_user(found).items()}
        assert got == {u: sorted(items) for u, items in expected.items()}


def test_in_a_time_split_the_profile_of_then_is_what_is_seen() -> None:
    log = log_of([("a", 0, 0), ("a", 1, 2), ("a", 2, 5), ("a", 3, 6), ("b", 3, 1), ("b", 0, 7), ("c", 1, 8)])
    split = SplitRule(3).split(log.at(8))
    pairs = pairs_of(split.pairs, all_entries(split.pairs.profiles))
    seen = [row for _, batch in HoldOut(split.known).batches(pairs, 3) for row in rows(split.known, batch)]
    assert seen == [("a", [0, 1]), ("a", [0, 1]), ("b", [3])]


def test_a_time_split_in_which_only_newcomers_took_something_is_refused() -> None:
    log = log_of([("a", 0, 0), ("b", 1, 5)])
    with pytest.raises(EmptyError, match="no user with a profile at 2 has an interaction between then and 5"):
        SplitRule(2).split(log.at(5))
