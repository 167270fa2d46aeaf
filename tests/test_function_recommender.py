"""A function as a recommender."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import unskew as us
from unskew.errors import InputError, UnskewError
from unskew.recommend import FunctionRecommender
from unskew.testing import batch_of


def a_log() -> us.Log:
    return us.read_log({"user": ["ann", "ann", "bob"], "item": [30, 10, 20], "time": [1, 2, 3]}).numbered_by_id


def recommended(function: Any, k: int = 2) -> list[list[Any]]:
    log = a_log()
    batch = batch_of(
        log.at(3), log.users.codes(["ann", "bob"]).tolist(), [log.items.codes([30, 10]), log.items.codes([])]
    )
    found = FunctionRecommender(function).fit(log.at(3)).recommend(batch, k)
    assert found.shape == (2, k)
    return [[log.items[c] if c >= 0 else None for c in row] for row in found]


def test_it_is_called_with_ids_in_the_order_of_time_and_gives_ids() -> None:
    seen = []

    def function(profile: list[int], k: int) -> list[int]:
        seen.append((profile, k))
        return [20]

    assert recommended(function) == [[20, None], [20, None]]
    assert seen == [([30, 10], 2), ([], 2)]


@pytest.mark.parametrize(
    "given",
    [[20, 10], (20, 10), np.array([20, 10]), iter([20, 10]), [20, 10, 30], [20.0, 10.0]],
    ids=lambda given: type(given).__name__,
)
def test_any_sequence_will_do_and_the_first_k_count(given: Any) -> None:
    kept = list(given)
    assert recommended(lambda profile, k: kept if profile else []) == [[20, 10], [None, None]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([20, 99], r"pick, for user 'ann', recommends 99: the log has no such item \(it has"),
        (["20"], "for user 'ann', recommends '20'"),
        ([20, "x"], "for user 'ann'.*several types"),
        (None, "for user 'ann', returned None: it must return a list"),
        ("20", "returned '20': it must return a list"),
    ],
)
def test_what_is_wrong_is_named(given: Any, message: str) -> None:
    def pick(profile: list[int], k: int) -> Any:
        return given

    with pytest.raises(InputError, match=message):
        recommended(pick)


def test_it_must_be_a_function_and_fitted() -> None:
    with pytest.raises(InputError, match="3 is not a function"):
        FunctionRecommender(3)  # type: ignore[arg-type]
    with pytest.raises(UnskewError, match="has not been fitted: call fit"):
        FunctionRecommender(lambda profile, k: []).recommend(batch_of(a_log().at(3), [], []), 1)


def test_its_name_is_that_of_the_function() -> None:
    assert str(FunctionRecommender(sorted)) == "sorted"  # type: ignore[arg-type]
    assert str(FunctionRecommender(lambda profile, k: [], name="mine")) == "mine"
    assert repr(FunctionRecommender(lambda profile, k: [], name="mine")) == "FunctionRecommender(mine)"
