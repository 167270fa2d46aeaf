"""Small files that would unpack to far more than they are meant to hold are refused before they do."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from unskew.errors import FileError
from unskew.storage.tables import pack_row, read_arrays, read_batch, read_parquet, write_parquet

PACKINGS = (None, "zstd", "lz4")


def pack(batch: pa.RecordBatch, how: str | None) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=how)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


@pytest.mark.parametrize("how", PACKINGS)
@given(
    numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=300),
    texts=st.lists(st.text(max_size=40), max_size=300),
)
@settings(max_examples=30, deadline=None)
def test_a_batch_is_read_unless_it_is_compressed(
    how: str | None, numbers: list[int | None], texts: list[str]
) -> None:
    batch = pack_row({"n": pa.array(numbers, pa.int64()), "t": pa.array(texts, pa.string())})
    packed = pa.BufferReader(pack(batch, how))
    if how is None:
        assert read_batch(packed).equals(batch)
    else:
        with pytest.raises(ValueError, match="it is compressed"):
            read_batch(packed)


def peak_of(command: Any) -> int:
    """How many bytes Arrow held at once, beyond what it held before."""
    pool = pa.default_memory_pool()
    proxy = pa.proxy_memory_pool(pool)
    pa.set_memory_pool(proxy)
    try:
        command()
    finally:
        pa.set_memory_pool(pool)
    return int(proxy.max_memory())


def test_a_saved_log_that_was_packed_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]}).save(path)
    with pa.OSFile(str(path)) as file:
        schema = pa.ipc.open_file(file).schema
    large = pack_row({name: pa.array(np.zeros(3_000_000, np.int64)) for name in schema.names})
    told = large.replace_schema_metadata(schema.metadata)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, told.schema, options=options) as writer:
        writer.write_batch(told)
    assert path.stat().st_size < 100_000

    def load() -> None:
        with pytest.raises(FileError, match=r"log\.arrow cannot be read: it is compressed"):
            us.Log.load(path)

    assert peak_of(load) < 10_000_000


def test_arrays_in_metadata_are_refused_before_they_are_unpacked() -> None:
    packed = base64.b64encode(pack(pack_row({"x": pa.array(np.zeros(5_000_000))}), "zstd"))
    schema = pa.schema([], metadata={b"unskew.arrays": packed})

    def read() -> None:
        with pytest.raises(FileError, match="damaged: it is compressed"):
            read_arrays(schema)

    assert peak_of(read) < 10_000_000


def test_texts_that_stand_in_many_rows_are_counted_before_they_are_written_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unskew.storage.tables._MOST_BYTES", 2**22)
    path = tmp_path / "weights.parquet"
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(5000, np.int32)), ["x" * 50_000])
    pq.write_table(pa.table({"item": text.cast(pa.string())}), path)
    assert path.stat().st_size < 10_000

    def read() -> None:
        with pytest.raises(FileError, match="it unpacks to more than"):
            read_parquet(path)

    assert peak_of(read) < 50_000_000  # of the 250 MB that it has


def test_a_table_of_texts_numbers_and_categories_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = pa.table(
        {
            "item": pa.array(["a", None, "a", "ä€"]),
            "large": pa.array(["b", "b", "", None], pa.large_string()),
            "kind": pa.array(["k", "k", None, "l"]).dictionary_encode(),
            "bytes": pa.array([b"1", b"2", None, b"1"]),
            "x": [1.5, None, 2.5, 3.5],
            "lists": [["a", "b"], [], None, ["c"]],
        }
    )
    write_parquet(tmp_path / "t.parquet", table, "things", {})
    found, about = read_parquet(tmp_path / "t.parquet")
    assert about["kind"] == "things"
    assert found.schema.remove_metadata().equals(table.schema)
    assert found.to_pydict() == table.to_pydict()


def test_two_columns_of_one_name_are_read_as_they_are(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a", "b"]), pa.array([1, 2]), pa.array(["c", "c"])], names=["x", "x", "y"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_parquet(tmp_path / "t.parquet")[0].equals(table)


def forge(path: Path, **arrays: pa.Array) -> None:
    """Other arrays in a saved log, with checksums that fit."""
    from unskew.data.saved_log import _sum_up

    with pa.OSFile(str(path)) as file:
        batch = pa.ipc.open_file(file).get_batch(0)
    known = {name: batch.column(name).values for name in batch.schema.names} | arrays
    about = json.loads(batch.schema.metadata[b"unskew.log"]) | {"checksums": _sum_up(known)}
    told = json.dumps(about).encode()
    metadata = {b"unskew.log": told, b"unskew.log.checksum": str(zlib.crc32(told)).encode()}
    made = pack_row(known).replace_schema_metadata(metadata)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_batch(made)


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"time": pa.array([-np.inf, 2.0, 3.0])}, "a time is not finite"),
        ({"time": pa.array([1, 2, 3], pa.float16())}, "time holds float16"),
        ({"time": pa.array([1, 2, 3], pa.int8())}, "time holds int8"),
        ({"items": pa.array([1.5, np.nan])}, "items has nulls"),
        ({"items": pa.array(["a", "a"])}, "an item is named twice"),
        ({"users": pa.array(["a", "a"])}, "a user is named twice"),
        ({"items": pa.array([1, 2], pa.float16())}, "items holds halffloat"),
        ({"label.g": pa.array([1, 2], pa.int64())}, r"label\.g holds int64"),
        ({"label.g": pa.array(["a", None])}, r"label\.g holds string"),
        ({"label-codes.g": pa.array([0, 1, 0], pa.int64())}, r"label-codes\.g holds int64"),
    ],
)
def test_a_forged_array_of_another_type_is_refused(arrays: dict[str, pa.Array], why: str, tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    rows = {"user": [1, 1, 2], "item": [1, 2, 1], "time": [1.0, 2.0, 3.0], "g": ["x", "y", "x"]}
    us.read_log(rows, labels=["g"]).save(path)
    forge(path)
    us.Log.load(path)
    forge(path, **arrays)
    with pytest.raises(FileError, match=rf"log\.arrow is damaged \({why}"):
        us.Log.load(path)


@pytest.mark.parametrize("wish", ["0", "", " 2", "1025", "many"])
def test_a_number_of_threads_that_cannot_be_is_not_called_damage(
    wish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]}).save(tmp_path / "log.arrow")
    monkeypatch.setenv("UNSKEW_THREADS", wish)
    with pytest.raises(us.UnskewError, match=r"^UNSKEW_THREADS is"):
        us.Log.load(tmp_path / "log.arrow")
