"""Rows gathered into profiles in memory, against plain dictionaries and against SQL."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from unskew.arrays.folding import Rows, fold, order
from unskew.reading import encoder, memory_encoder

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40), st.integers(-3, 9)), min_size=1, max_size=200)


def _rows(rows: list[tuple[int, int, int]]) -> Rows:
    user, item, time = np.array(rows).T
    return Rows(user.astype(np.int32), item.astype(np.int32), time.astype(np.int64))


@settings(deadline=None)
@given(rows=ROWS, cut=st.integers(0, 200), seed=st.integers(0, 99))
def test_profiles_hold_each_item_once_at_its_earliest_time_in_the_order_of_time(
    rows: list[tuple[int, int, int]], cut: int, seed: int
) -> None:
    first: dict[tuple[int, int], int] = {}
    for u, i, t in rows:
        first[u, i] = min(t, first.get((u, i), t))
    parts = [_rows(part) for part in (rows[:cut], rows[cut:]) if part]
    folded = fold(parts, 7, 41)
    rng = np.random.default_rng(seed)
    users, items = rng.permutation(7), rng.permutation(41)
    found = order(folded, users, items)

    rank = {int(code): k for k, code in enumerate(items)}
    wanted = [sorted((t, rank[i]) for (v, i), t in first.items() if v == u) for u in users]
    starts = zip(found.start[:-1], found.start[1:], strict=True)
    assert [list(zip(found.time[a:b], found.item[a:b], strict=True)) for a, b in starts] == wanted
    assert folded.counts.tolist() == [Counter(i for _, i in first)[i] for i in range(41)]


def _same(one: us.Log, other: us.Log) -> None:
    assert one.users.values.equals(other.users.values)
    assert one.items.values.equals(other.items.values)
    for name in ("start", "item", "time"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    assert (one.axis, one.reading, one.columns) == (other.axis, other.reading, other.columns)


TEXTS = st.text(alphabet="aäb€ \U0001f600", min_size=1, max_size=3)


@settings(deadline=None, max_examples=40)
@given(
    data=st.data(),
    ids=st.sampled_from([st.integers(-(2**63), 2**63 - 1), st.integers(0, 5), TEXTS]),
    times=st.sampled_from([st.integers(-5, 5), st.floats(-2, 2).map(lambda t: t + 0.0)]),
    nulls=st.booleans(),
)
def test_rows_in_memory_and_in_sql_give_the_same_log(data: Any, ids: Any, times: Any, nulls: bool) -> None:
    row = st.tuples(*((st.none() | kind if nulls else kind) for kind in (ids, ids, times)))
    rows = data.draw(st.lists(row, min_size=1, max_size=60).filter(lambda r: any(None not in one for one in r)))
    user, item, time = (pa.array(list(column)) for column in zip(*rows, strict=True))
    table = pa.table({"user": user, "item": item, "time": time})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_encoder, "_BATCH", 7)
        patch.setattr(memory_encoder, "FEW", 1)
        patch.setattr("warnings.warn", lambda *_, **__: None)  # of white space, tested elsewhere
        fast = us.read_log(table, drop_nulls=True)
        patch.setattr(encoder, "fits_memory", lambda _: False)
        _same(fast, us.read_log(table, drop_nulls=True))


def test_many_rows_with_long_profiles_and_repeats_are_read_as_they_are_by_sql(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    rows = memory_encoder.FEW
    table = {
        "user": np.minimum(rng.pareto(0.5, rows).astype(np.int64), 3000),
        "item": [f"i{k}" for k in rng.integers(0, 4000, rows)],
        "time": rng.integers(0, 50, rows),
    }
    fast = us.read_log(table)
    monkeypatch.setattr(encoder, "fits_memory", lambda _: False)
    assert len(fast) < rows
    _same(fast, us.read_log(table))


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\u00a0", "\u1680", "\u2003", "\u2028", "\u202f", "\u3000"])
def test_white_space_of_every_kind_is_looked_for(space: str) -> None:
    with pytest.warns(us.UnskewWarning, match="white space"):
        us.read_log({"user": ["ann", f"ann{space}"], "item": [1, 2], "time": [1, 2]})
