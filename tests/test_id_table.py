"""Ids that get numbers batch by batch, against a plain dictionary and Python's own order of bytes."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.arrays import id_table
from unskew.arrays.id_table import IdTable
from unskew.reading.loop_encoder import IdColumn

Bytes = npt.NDArray[np.uint8]

TEXTS = st.one_of(
    st.binary(max_size=3),
    st.lists(st.sampled_from([b"a", b"b", b"\0", b"abcdefgh", b"\0\0\0\0\0\0\0\0", b"\xff"]), max_size=5).map(
        b"".join
    ),
)


def _pack(texts: list[bytes]) -> tuple[npt.NDArray[np.int32], Bytes]:
    start = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int32)
    return start, np.frombuffer(b"".join(texts), dtype=np.uint8)


def _unpack(start: npt.NDArray[np.int64], text: Bytes) -> list[bytes]:
    return [text[a:b].tobytes() for a, b in itertools.pairwise(start)]


@settings(deadline=None)
@given(batches=st.lists(st.lists(TEXTS, max_size=30), max_size=4), data=st.data())
def test_ids_get_numbers_in_the_order_of_appearance_and_are_sorted_by_size_and_bytes(
    batches: list[list[bytes]], data: st.DataObject
) -> None:
    table, known = IdTable(), dict[bytes, int]()
    for batch in batches:
        wanted = [known.setdefault(text, len(known)) for text in batch]
        assert table.add(*_pack(batch)).tolist() == wanted
    assert len(table) == len(known)
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 2, 70_000]), min_size=len(known), max_size=len(known)))
    ranked = table.rank(np.array(sizes, dtype=np.int64))
    used = [text for text, code in known.items() if sizes[code]]
    wanted_ids = sorted(used, key=lambda text: (-sizes[known[text]], text))
    assert _unpack(*table.take(ranked)) == wanted_ids


def test_ids_keep_their_numbers_when_the_table_grows() -> None:
    rng = np.random.default_rng(0)
    texts = [b"x" * (k % 30) + str(k).encode() for k in range(150_000)]
    table = IdTable()
    first = table.add(*_pack(texts))
    again = rng.permutation(len(texts))
    np.testing.assert_array_equal(table.add(*_pack([texts[k] for k in again])), first[again])
    assert len(table) == len(texts)
    assert _unpack(*table.take(table.rank(np.ones(len(texts), dtype=np.int64)))) == sorted(texts)


def test_ids_with_one_hash_are_told_apart_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_table, "hash_ids", lambda _words, _start, hashes: hashes.fill(7 << 33))
    texts = [b"a" * (k // 2) + b"b" * (k % 2) for k in range(60)]
    table, known = IdTable(), dict[bytes, int]()
    for batch in (texts[:40], texts[20:], texts):
        assert table.add(*_pack(batch)).tolist() == [known.setdefault(text, len(known)) for text in batch]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [-(2**63), -1, 0, 255, 256, 2**63 - 1]),
        (pa.uint64(), [0, 255, 256, 2**63, 2**64 - 1]),
        (pa.int32(), [-(2**31), -256, -1, 0, 2**31 - 1]),
        (pa.uint32(), [0, 1, 2**32 - 1]),
        (pa.string(), ["", "Z", "a", "aa", "é", "日本"]),
        (pa.large_string(), ["", "a", "b"]),
    ],
)
def test_a_column_of_every_kind_comes_back_in_its_own_order_and_type(
    kind: pa.DataType, values: list[object]
) -> None:
    column = IdColumn(kind)
    backwards = pa.array([None, *reversed(values)], kind)
    codes = column.add_ids(backwards[1:])
    assert codes.tolist() == list(range(len(values)))
    assert column.add_ids(backwards).tolist() == [-1, *codes]
    assert column.take_ids(column.rank(np.ones(len(column), dtype=np.int64))).equals(pa.array(values, kind))
