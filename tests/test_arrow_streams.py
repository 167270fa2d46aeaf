"""Logs from Arrow streams and datasets: each batch is read once, and nothing but the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import unskew as us

ROWS = 5_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "user": pa.array(rng.integers(0, 200, ROWS)),
            "item": pa.array([f"item-{k}" for k in rng.integers(0, 50, ROWS)]).dictionary_encode(),
            "time": pa.array(rng.integers(0, 10**9, ROWS), pa.timestamp("s", "UTC")),
            "note": pa.array(["x" * 20] * ROWS),
        }
    )


class Exporter:
    """An object that knows nothing but how to export its batches."""

    def __init__(self, table: pa.Table) -> None:
        self.reader = table.to_reader(max_chunksize=700)
        self.exports = 0

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.exports += 1
        return self.reader.__arrow_c_stream__(requested_schema)


def describe(log: us.Log) -> list[tuple[Any, ...]]:
    users, items = log.users.take(log.entry_users()).to_pylist(), log.items.take(log.item).to_pylist()
    return sorted(zip(users, items, map(log.axis.show, log.time), strict=True))


def test_every_kind_of_stream_gives_the_log_of_its_table(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=900)
    expected = describe(us.read_log(table))
    sources = {
        "reader": table.to_reader(max_chunksize=700),
        "dataset": ds.dataset(tmp_path / "a.parquet"),
        "dataset in memory": ds.dataset(table),
        "exporter": Exporter(table),
        "record batch": table.combine_chunks().to_batches()[0],
        "polars, lazy": pl.DataFrame(table).lazy(),
        "duckdb": duckdb.from_arrow(table),
    }
    for name, source in sources.items():
        assert describe(us.read_log(source)) == expected, name


def test_categories_that_differ_between_batches_keep_their_values() -> None:
    batches = [
        pa.record_batch({"user": ["a"], "item": pa.array([item]).dictionary_encode(), "time": [k]})
        for k, item in enumerate(["x", "y", "x"])
    ]
    log = us.read_log(pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches)))
    assert sorted(log.items) == ["x", "y"]


def test_a_stream_is_exported_and_read_once(table: pa.Table) -> None:
    batches = iter(table.to_batches(max_chunksize=700))
    read: list[int] = []

    def count() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read.append(batch.num_rows)
            yield batch

    us.read_log(pa.RecordBatchReader.from_batches(table.schema, count()))
    assert sum(read) == ROWS
    exporter = Exporter(table)
    us.read_log(exporter)
    assert exporter.exports == 1


def test_a_dataset_is_asked_for_no_other_columns(table: pa.Table, tmp_path: Path) -> None:
    """The bytes of the column `note` are damaged, and nobody notices."""
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False)
    content = path.read_bytes()
    at = content.index(b"x" * 20)
    path.write_bytes(content[: at - 4] + b"\xff\xff\xff\x7f" + content[at:])
    with pytest.raises(Exception, match=r"."):
        pq.read_table(path, columns=["note"])
    assert len(us.read_log(ds.dataset(path))) > 0


def test_a_stream_that_fails_midway_is_one_line(table: pa.Table) -> None:
    def fail() -> Iterator[pa.RecordBatch]:
        yield table.to_batches(max_chunksize=700)[0]
        raise OSError("the cable was pulled")

    with pytest.raises(us.FileError, match="the cable was pulled") as caught:
        us.read_log(pa.RecordBatchReader.from_batches(table.schema, fail()))
    assert "\n" not in str(caught.value)


def test_a_missing_column_of_a_stream_names_those_that_it_has(table: pa.Table) -> None:
    with pytest.raises(us.ColumnError, match=r"'person'.*it has .user., .item., .time., .note."):
        us.read_log(table.to_reader(), user="person")


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (["user_id", "item_id", "timestamp"], "columns user_id and item_id are user and item"),
        (["customerId", "sku", "event_time"], "columns customerId, sku and event_time are user, item and time"),
        (["user", "item", "created_at"], "column created_at is time"),
    ],
)
def test_usual_names_are_taken_with_a_notice(names: list[str], roles: str) -> None:
    with pytest.warns(us.ReadingNotice, match=roles):
        log = us.read_log(dict(zip(names, (["a", "b"], ["x", "y"], [1, 2]), strict=True)))
    assert len(log) == 2


def test_two_columns_with_a_usual_name_are_refused() -> None:
    with pytest.raises(us.ColumnError, match="'user'"):
        us.read_log({"user_id": [1], "member_id": [2], "item": [3], "time": [4]})
