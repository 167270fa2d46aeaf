"""The options of a fit: checked when they are made, changed or read, and the same again after JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import columns, random_events
from unskew.errors import PolicyError
from unskew.weights import FitOptions
from unskew.weights.fit_options import FitKeywords

LAW = settings(max_examples=100, deadline=None)
WRONG: dict[str, list[Any]] = {
    "top": [0, -3, 2.5, True, "5", math.nan],
    "items": ["i0", b"i0", 7],
    "method": ["magic", "", None, 1, ["scaling"]],
    "tol": [-1e-9, math.nan, math.inf, -math.inf, "0.1", None, 1j, True],
    "max_passes": [1, 0, -5, 2.5, True, "9"],
    "new_items": ["maybe", "", 1, True],
    "min_items": [0, -1, 1.5, True, "2", None, math.nan],
    "users": ["some", "", None, 2],
}


def of_all_items() -> st.SearchStrategy[dict[str, Any]]:
    """What any fit may be given."""
    return st.fixed_dictionaries(
        {},
        optional={
            "tol": st.floats(0, 1e6),
            "max_passes": st.none() | st.integers(2, 10**9),
            "new_items": st.sampled_from([None, "drop", "keep"]),
            "min_items": st.integers(1, 10**6),
            "users": st.sampled_from(["all", "both"]),
        },
    )


def of_some_items() -> st.SearchStrategy[dict[str, Any]]:
    """What chooses items, or none."""
    ids = st.lists(st.text()) | st.lists(st.integers(-(2**63), 2**63 - 1))
    chosen = st.fixed_dictionaries({"top": st.integers(1, 10**9)}) | st.fixed_dictionaries({"items": ids})
    subset = st.builds(lambda a, b: {**a, "method": b}, chosen, st.sampled_from(["descent", "lbfgs"]))
    return subset | st.sampled_from([{}, *({"method": m} for m in ("scaling", "descent", "lbfgs"))])


def valid() -> st.SearchStrategy[FitOptions]:
    return st.builds(lambda a, b: FitOptions(**a, **b), of_all_items(), of_some_items())


@LAW
@given(valid())
def test_they_are_the_same_again_after_json(options: FitOptions) -> None:
    told = options.to_dict()
    assert list(told) == [f.name for f in fields(FitOptions)]
    again = FitOptions.from_dict(json.loads(json.dumps(told, allow_nan=False)))
    assert again == options
    assert hash(again) == hash(options)
    assert {name: type(value) for name, value in again.to_dict().items()} == {
        name: type(value) for name, value in told.items()
    }


@LAW
@given(valid(), st.sampled_from(sorted(WRONG)), st.data())
def test_every_wrong_value_is_refused_by_the_name_of_its_option(
    options: FitOptions, name: str, data: st.DataObject
) -> None:
    """Whether it is given, changed, read from a file or passed to a function, whatever the others are."""
    wrong = data.draw(st.sampled_from(WRONG[name]))
    if name in ("top", "items"):
        options = replace(options, top=None, items=None, method="descent")
    with pytest.raises(PolicyError, match=rf"^{name} is ") as made:
        FitOptions(**{**{f.name: getattr(options, f.name) for f in fields(options)}, name: wrong})
    assert repr(wrong) in str(made.value)
    changes: Any = {name: wrong}
    attempts: list[Callable[[], FitOptions]] = [
        lambda: replace(options, **changes),
        lambda: FitOptions.from_dict({**options.to_dict(), **changes}),
        lambda: FitOptions.of(options, changes),
    ]
    for attempt in attempts:
        with pytest.raises(PolicyError, match=rf"^{name} is ") as found:
            attempt()
        assert str(found.value) == str(made.value)


def test_what_contradicts_is_refused_when_it_is_made_and_when_it_is_changed() -> None:
    one = FitOptions(top=3, method="descent")
    with pytest.raises(PolicyError, match="give top or items, not both"):
        replace(one, items=("a",))
    for changes in ({"method": "scaling"}, {"method": "scaling", "top": None, "items": ["a"]}):
        with pytest.raises(PolicyError, match=r"scaling fits all items at once.*method='lbfgs'.*leave out top"):
            replace(one, **changes)
    assert replace(one, method="scaling", top=None) == FitOptions()


def test_numbers_and_lists_of_other_libraries_become_those_of_python() -> None:
    lists: list[Any] = [np.array([3, 4]), pa.array([3, 4]), pa.chunked_array([[3], [4]]), [np.int64(3), 4], (3, 4)]
    for items in (*lists, iter([3, 4]), {3: "a", 4: "b"}):
        options = FitOptions(items=items, method="lbfgs")
        assert options.items == (3, 4)
        assert [type(item) for item in options.items] == [int, int]
    numbers: dict[str, Any] = {"top": np.int64(2), "max_passes": np.int32(7), "min_items": np.uint8(3), "tol": 1}
    options = FitOptions(**numbers, method="descent")
    assert [type(getattr(options, name)) for name in numbers] == [int, int, int, float]
    assert FitOptions(tol=np.float32(0.5)).tol == 0.5  # type: ignore[arg-type]


def test_what_is_not_an_option_is_refused() -> None:
    with pytest.raises(PolicyError, match="there is no option 'speed' for fitting weights"):
        FitOptions.from_dict({"tol": 1e-3, "speed": 9})
    with pytest.raises(PolicyError, match=r"options is a dict; give FitOptions\(...\)"):
        FitOptions.of({"tol": 1e-3}, {})  # type: ignore[arg-type]


def test_given_options_are_changed_by_name_and_stay_as_they_were() -> None:
    options = FitOptions(tol=1e-3, min_items=2)
    changes: FitKeywords = {"min_items": 3, "users": "both"}
    assert FitOptions.of(options, changes) == FitOptions(tol=1e-3, min_items=3, users="both")
    assert options == FitOptions(tol=1e-3, min_items=2)
    assert FitOptions.of(None, {}) == FitOptions()


@pytest.mark.parametrize(
    ("options", "drops", "keeps", "limit"),
    [
        (FitOptions(), True, False, 500),
        (FitOptions(new_items="keep"), False, True, 500),
        (FitOptions(method="lbfgs"), True, False, 2000),
        (FitOptions(top=2, method="descent"), False, False, 2000),
        (FitOptions(top=2, method="descent", new_items="keep"), False, False, 2000),
        (FitOptions(items=("a",), method="lbfgs", new_items="drop", max_passes=9), True, False, 9),
    ],
)
def test_what_is_not_said_follows_from_what_is(options: FitOptions, drops: bool, keeps: bool, limit: int) -> None:
    assert (options.drops_new, options.keeps_new_mass, options.pass_limit) == (drops, keeps, limit)


def test_a_fit_takes_them_whole_or_one_by_one_and_keeps_them() -> None:
    log = us.read_log(columns(random_events(np.random.default_rng(0), users=40)))
    options = FitOptions(tol=1e-5, min_items=2, users="both", new_items="keep")
    whole = us.fit_weights(log.at(9), log.at(4), options=options)
    single = us.fit_weights(log.at(9), log.at(4), tol=1e-5, min_items=2, users="both", new_items="keep")
    mixed = us.fit_weights(log.at(9), log.at(4), options=replace(options, tol=0.5), tol=1e-5)
    for other in (single, mixed):
        assert np.array_equal(whole.log_weights, other.log_weights)
        assert whole.options == other.options == options
    again = us.fit_weights(log.at(9), log.at(4), options=whole.options)
    assert np.array_equal(again.log_weights, whole.log_weights)


@pytest.mark.parametrize(
    "ids",
    [
        ["x", "y", "z"],
        [1, 2**40, 3],
        [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)],
        [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")],
        [b"x", b"y", b"z"],
    ],
)
def test_chosen_items_are_saved_with_the_weights_whatever_their_type(ids: list[Any], tmp_path: Path) -> None:
    table = {"user": [1, 1, 2, 2, 3], "item": [ids[0], ids[1], ids[0], ids[2], ids[0]], "time": [1, 2, 1, 1, 3]}
    log = us.read_log(table)
    weights = us.fit_weights(log.at(3), log.at(1), items=ids[::2], method="descent")
    weights.save(tmp_path / "weights.parquet")
    loaded = us.ItemWeights.load(tmp_path / "weights.parquet")
    assert loaded.options == weights.options
    assert loaded.options.items == tuple(ids[::2])
    again = us.fit_weights(log.at(3), log.at(1), options=loaded.options)
    assert np.array_equal(again.log_weights, weights.log_weights)
