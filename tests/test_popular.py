"""Popularity: ranks by count, the held-out pair taken out of the counts as well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import unskew as us
from tests.recommending import (
    Floats,
    all_pairs,
    batch_of,
    matrix_of,
    places,
    profiles_of,
    random_snapshot,
    ranking,
    ranks,
    remaining,
    snapshot_of,
    within,
    without,
)
from tests.tables import LAW
from unskew.arrays.profiles import Profiles
from unskew.recommend.popular import Popular


def counts(x: Floats, profile: Floats) -> Floats:
    held: Floats = x.sum(axis=0)
    return np.where(held > 0, held, -np.inf)


@given(profiles_of())
@LAW
def test_ranks_are_those_of_counting_again_without_the_pair(profiles: list[list[int]]) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    expected = ranks(counts, pairs, exact=True)
    model = Popular().fit(pairs.snapshot)
    for k in (1, 3, 100):
        assert model.held_out_ranks(pairs, k).tolist() == within(expected, k)
    batch = remaining(pairs)
    for k, item in enumerate(pairs.item):
        profile = batch_of([batch.profile(k).tolist()], batch.n_items)
        again = Popular().fit(without(pairs, k)).recommend(profile, 100)
        assert places(again, np.array([item])) == [expected[k]]


@given(profiles_of())
@LAW
def test_out_of_the_profile_alone_the_ranks_are_the_places_in_the_lists(profiles: list[list[int]]) -> None:
    pairs = all_pairs(snapshot_of(profiles))
    expected = ranks(counts, pairs, exact=False)
    model = Popular(exact=False).fit(pairs.snapshot)
    for k in (1, 3, 100):
        assert model.held_out_ranks(pairs, k).tolist() == within(expected, k)
        assert places(model.recommend(remaining(pairs), k), pairs.item) == within(expected, k)


def test_lists_are_by_count_then_by_id_without_the_profile() -> None:
    snapshot = random_snapshot(1, 60, 12, 4)
    batch = remaining(all_pairs(snapshot))
    x = matrix_of(snapshot)
    lists = Popular().fit(snapshot).recommend(batch, 5)
    for k in range(len(batch)):
        profile = np.isin(np.arange(12), batch.profile(k)).astype(float)
        assert lists[k].tolist() == (ranking(counts(x, profile), profile) + [-1] * 5)[:5]


def test_ties_go_by_id_and_not_by_how_often_items_come_later() -> None:
    log = us.read_log(
        {"user": [0, 0, 1, 1, 2, 3, 4, 4], "item": [5, 3, 3, 5, 9, 1, 9, 5], "time": [0] * 6 + [1] * 2}
    )
    assert log.items.to_list() == [5, 3, 9, 1]
    snapshot = log.at(0).number_by_id()
    lists = Popular().fit(snapshot).recommend(batch_of([[]], 4), 6)
    assert [snapshot.log.items[c] for c in lists[0][:4]] == [3, 5, 1, 9]
    assert lists[0][4:].tolist() == [-1, -1]


def test_an_empty_rest_of_a_profile_gets_the_most_popular_and_a_last_holder_nothing() -> None:
    pairs = all_pairs(snapshot_of([[1], [1], [2], [1, 3], [3]]))
    found = dict(
        zip(
            zip(pairs.user.tolist(), pairs.item.tolist(), strict=True),
            Popular().fit(pairs.snapshot).held_out_ranks(pairs, 9).tolist(),
            strict=True,
        )
    )
    items = pairs.snapshot.log.items
    by_item = {items[i]: rank for (_, i), rank in found.items()}
    assert by_item[2] == 0  # nobody else holds it
    assert by_item[1] == 1
    one = all_pairs(snapshot_of([[1]]))
    assert Popular().fit(one.snapshot).held_out_ranks(one, 5).tolist() == [0]
    assert Popular(exact=False).fit(one.snapshot).held_out_ranks(one, 5).tolist() == [1]


def test_ranking_some_pairs_does_not_look_at_the_sizes_of_all_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    log = us.read_log({"user": rng.integers(0, 300, 900), "item": rng.integers(0, 40, 900), "time": range(900)})
    snapshot = log.at(899)
    pairs = all_pairs(snapshot)
    models: list[us.Popular | us.ItemKNN] = [us.Popular(), us.ItemKNN()]
    for model in models:
        model.fit(snapshot)
    expected = [model.held_out_ranks(pairs, 5) for model in models]

    def refuse(_: Profiles) -> None:
        raise AssertionError("all sizes were asked for")

    monkeypatch.setattr(Profiles, "sizes", refuse)
    for model, wanted in zip(models, expected, strict=True):
        assert np.array_equal(model.held_out_ranks(pairs, 5), wanted)
