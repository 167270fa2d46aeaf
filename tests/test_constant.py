"""The constant recommender: one list, whatever the profile."""

from __future__ import annotations

from typing import Any

import pytest

import unskew as us
from tests.recommending import all_pairs, places, remaining, snapshot_of
from unskew.errors import InputError, PolicyError, UnskewError
from unskew.recommend.constant import Constant
from unskew.recommend.contract import RanksHeldOut, Recommender


def test_everyone_gets_the_list_even_those_who_hold_its_items() -> None:
    snapshot = snapshot_of([[10, 20], [20, 30, 10], [30]])
    pairs = all_pairs(snapshot)
    model = Constant([30, 10]).fit(snapshot)
    lists = model.recommend(remaining(pairs), 5)
    items = snapshot.log.items
    assert all([items[c] for c in row[:2]] == [30, 10] and (row[2:] == -1).all() for row in lists)
    assert model.held_out_ranks(pairs, 5).tolist() == places(lists, pairs.item)
    assert {items[i]: r for i, r in zip(pairs.item, model.held_out_ranks(pairs, 5), strict=True)} == {
        30: 1,
        10: 2,
        20: 0,
    }


def test_no_more_than_k_of_the_list_count() -> None:
    snapshot = snapshot_of([[1, 2, 3]])
    pairs = all_pairs(snapshot)
    model = Constant([3, 2, 1]).fit(snapshot)
    assert sorted(model.held_out_ranks(pairs, 2).tolist()) == [0, 1, 2]
    assert model.recommend(remaining(pairs), 2).shape == (3, 2)


def test_an_item_that_comes_later_may_be_recommended_and_an_unknown_one_not() -> None:
    log = us.read_log({"user": ["a", "b"], "item": ["x", "later"], "time": [1, 2]}).numbered_by_id
    model = Constant(["later", "x"]).fit(log.at(1))
    assert model.held_out_ranks(all_pairs(log.at(1)), 5).tolist() == [2]
    with pytest.raises(InputError, match=r"constant: the log has no item 'never'"):
        Constant(["x", "never"]).fit(log.at(1))


@pytest.mark.parametrize(
    ("items", "message"),
    [([], "empty"), (["x", "y", "x"], "'x' is in the list twice"), ("xy", "not a list"), (7, "not a list")],
)
def test_what_is_not_a_list_of_distinct_items_is_refused(items: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Constant(items)


def test_it_is_a_recommender_that_has_to_be_fitted() -> None:
    model = Constant(["x", "y"])
    assert isinstance(model, Recommender)
    assert isinstance(model, RanksHeldOut)
    assert repr(model) == "constant:x,y"
    assert model == Constant(iter(["x", "y"]))
    pairs = all_pairs(snapshot_of([[1]]))
    with pytest.raises(UnskewError, match="constant:x,y has not been fitted"):
        model.recommend(remaining(pairs), 1)
    with pytest.raises(UnskewError, match="has not been fitted"):
        model.held_out_ranks(pairs, 1)
    with pytest.raises(PolicyError, match="k is 0"):
        Constant([1]).fit(pairs.snapshot).held_out_ranks(pairs, 0)
