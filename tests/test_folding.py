"""Rows gathered into profiles in memory, against plain dictionaries and against SQL."""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from unskew.arrays.folding import ProfileWriter, Rows, fold
from unskew.errors import FileError
from unskew.reading import encoder, loop_encoder, typed_rows
from unskew.reading.loop_encoder import CodedRows, FileStorage, IdColumn

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
    writer = ProfileWriter(users, items, folded.sizes, len(folded.counts), folded.time.dtype)
    writer.write(folded)
    found = writer.finish()

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
def test_rows_in_memory_in_files_in_arrays_and_in_sql_give_the_same_log(
    data: Any, ids: Any, times: Any, nulls: bool
) -> None:
    row = st.tuples(*((st.none() | kind if nulls else kind) for kind in (ids, ids, times)))
    rows = data.draw(st.lists(row, min_size=1, max_size=60).filter(lambda r: any(None not in one for one in r)))
    user, item, time = (pa.array(list(column)) for column in zip(*rows, strict=True))
    table = pa.table({"user": user, "item": item, "time": time})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typed_rows, "_BATCH", 7)
        patch.setattr("warnings.warn", lambda *_, **__: None)  # of white space, tested elsewhere
        logs = []
        for way in ("memory", "files", "arrays", "sql"):
            patch.setattr(encoder, "choose_way", lambda _, way=way: way)
            logs.append(us.read_log(table, drop_nulls=True))
    *others, in_sql = logs
    for log in others:
        _same(log, in_sql)


MANY = 120_000


def _many_rows() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "user": np.minimum(rng.pareto(0.5, MANY).astype(np.int64), 3000),
        "item": [f"i{k}" for k in rng.integers(0, 4000, MANY)],
        "time": rng.integers(0, 50, MANY),
    }


def _watch(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """How each log that is read from now on is encoded."""
    chosen: list[Any] = []
    choose = encoder.choose_way

    def watch(rows: Any) -> Any:
        chosen.append(choose(rows))
        return chosen[-1]

    monkeypatch.setattr(encoder, "choose_way", watch)
    return chosen


def test_many_rows_with_long_profiles_and_repeats_are_read_as_they_are_by_sql(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, chosen = _many_rows(), _watch(monkeypatch)
    fast = us.read_log(table)
    monkeypatch.setattr(encoder, "_BYTES_IN_MEMORY", 1e9)
    in_files = us.read_log(table)
    monkeypatch.setattr(encoder, "FEW", MANY + 1)
    in_arrays = us.read_log(table)
    monkeypatch.setattr(encoder, "_IDS", set())
    in_sql = us.read_log(table)
    assert chosen == ["memory", "files", "arrays", "sql"]
    assert len(fast) < MANY
    for log in (fast, in_files, in_arrays):
        _same(log, in_sql)


def test_rows_wait_in_files_where_the_memory_that_is_allowed_is_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = _watch(monkeypatch)
    monkeypatch.setattr(encoder, "_BYTES_IN_MEMORY", 100e6 / MANY)
    logs = [us.read_log(_many_rows(), memory_limit=f"{n}MB", temp_dir=tmp_path) for n in (240, 180)]
    assert chosen == ["memory", "files"]
    _same(*logs)
    assert not list(tmp_path.iterdir()), "nothing is left"


def test_rows_that_are_folded_while_others_are_read_give_the_same_log(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _many_rows()
    whole = us.read_log(table)
    monkeypatch.setattr(loop_encoder, "_MOST_ROWS", 100)
    _same(us.read_log(table), whole)


def test_rows_in_files_are_read_a_small_group_at_a_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    storage = FileStorage(tmp_path)
    waiting = CodedRows(storage)
    users, items = IdColumn(pa.int64()), IdColumn(pa.int64())
    rows = 400_000
    for _ in range(4):
        ids = [pa.array(rng.integers(0, high, rows)) for high in (20_000, 500)]
        codes = [column.add_ids(values) for column, values in zip((users, items), ids, strict=True)]
        waiting.add(Rows(codes[0], codes[1], rng.integers(0, 90, rows)))
    sizes = []

    def watch(k: int) -> list[Rows]:
        found = FileStorage.read(storage, k)
        sizes.append(sum(len(part.user) for part in found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "read", watch)
        waiting.sort(users, items)
    assert sum(sizes) == 2 * 4 * rows, "each file is read twice"
    assert max(sizes) < 4 * rows / 40
    assert not list(tmp_path.iterdir())


def test_a_disk_without_room_for_rows_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(encoder, "choose_way", lambda _: "files")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FileError, match=f"there is no room left in {tmp_path} for temporary files: name"):
        us.read_log(_many_rows(), temp_dir=tmp_path)
    assert not list(tmp_path.iterdir()), "nothing is left"


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\u00a0", "\u1680", "\u2003", "\u2028", "\u202f", "\u3000"])
def test_white_space_of_every_kind_is_looked_for(space: str) -> None:
    with pytest.warns(us.UnskewWarning, match="white space"):
        us.read_log({"user": ["ann", f"ann{space}"], "item": [1, 2], "time": [1, 2]})
