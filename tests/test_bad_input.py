"""Input as somebody might really send it: every one is refused in one line that says what and where."""

from __future__ import annotations

import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from unskew.errors import UnskewError

HEADER = "user,item,time\n"
MANY = HEADER + "".join(f"u{k},{k * 7919 % 997},{k}\n" for k in range(5000))


def refused(source: Any, *parts: str, **options: Any) -> None:
    """`read_log` refuses `source` in one line that has all `parts` in it."""
    with pytest.raises(UnskewError) as said:
        us.read_log(source, **options)
    message = str(said.value)
    assert "\n" not in message
    assert len(message) < 600
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("a.csv", b"", ["a.csv", "empty"]),
        ("a.csv", b"\n\n\n", ["a.csv", "name the columns"]),
        ("a.csv", HEADER.encode(), ["a.csv", "no rows"]),
        ("a.csv", b"user,item,time", ["a.csv", "no rows"]),
        ("a.csv", b"1,2,1\n1,3,2\n", ["a.csv", "'1'", "number the columns from 1"]),
        ("a.csv", bytes(range(256)) * 20, ["a.csv", "not text"]),
        ("a.csv", b"\x00\x01\x02" * 50, ["a.csv", "not text"]),
        (
            "a.csv",
            (HEADER + "ann,1,2\n" * 2**18 + "ren\u00e9,1,2\n").encode("latin-1"),
            ["a.csv", "UTF-8", "latin-1"],
        ),
        ("a.csv", (HEADER + "x,1,2\n").encode("utf-16")[:-1], ["a.csv", "UTF-16", "truncated"]),
        ("a.csv", (HEADER + "x,1,2\ny,1\n").encode(), ["a.csv", "line 3", "expected 3", "found 2"]),
        ("a.csv", (HEADER + "y,1,2\n" * 2**18 + '"x,1,2\n').encode(), ["a.csv", "quote", "quote='none'"]),
        ("a.csv", b"user,user,item,time\na,b,1,2\n", ["a.csv", "two columns 'user'"]),
        ("a.csv.gz", MANY.encode(), ["a.csv.gz"]),
        ("a.csv.gz", gzip.compress(MANY.encode())[:-500], ["a.csv.gz"]),
        ("a.csv.gz", gzip.compress(b"", mtime=0), ["a.csv.gz", "name the columns"]),
        ("a.parquet", MANY.encode(), ["a.parquet", "ends in .parquet but is not a Parquet file"]),
        ("a.parquet", b"PAR1", ["a.parquet"]),
        ("a.parquet", b"PAR1" + bytes(500) + b"PAR1", ["a.parquet"]),
        ("a.arrow", MANY.encode(), ["a.arrow", "ends in .arrow but is not an Arrow file"]),
        ("a.arrow", b"ARROW1" + bytes(500), ["a.arrow"]),
        ("a.jsonl", b'{"user": 1, "item": 2, "time": 3}\n{"user": 1, "it', ["a.jsonl"]),
        ("a.jsonl", b"[]", ["a.jsonl", "no rows"]),
        ("a.jsonl", b"\n\n", ["a.jsonl", "no rows"]),
        ("a.jsonl", b"1\n2\n", ["a.jsonl", "object"]),
        ("a.jsonl", bytes(range(256)), ["a.jsonl"]),
        ("a.jsonl.gz", gzip.compress(b'{"user": 1, "item": 2, "time": 3}\n' * 999)[:-30], ["a.jsonl.gz"]),
        ("a.xlsx", b"PK\x03\x04", ["a.xlsx", "zip"]),
        ("noending", bytes(range(256)), ["noending", ".csv", ".parquet"]),
    ],
)
def test_a_broken_file_is_refused_by_its_name(name: str, content: bytes, parts: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, *parts)


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.999])
def test_a_cut_off_columnar_file_is_refused_by_its_name(format_: str, kept: float, tmp_path: Path) -> None:
    table = pa.table({"user": list(range(2000)), "item": list(range(2000)), "time": list(range(2000))})
    whole, cut = tmp_path / f"whole.{format_}", tmp_path / f"cut.{format_}"
    if format_ == "parquet":
        pq.write_table(table, whole)
    else:
        with pa.OSFile(str(whole), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    content = whole.read_bytes()
    cut.write_bytes(content[: int(len(content) * kept)])
    refused(cut, "cut.")


def test_parquet_named_csv_is_told_by_its_content(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": [1], "item": [1], "time": [1]}), tmp_path / "a.csv")
    refused(tmp_path / "a.csv", "a.csv", "Parquet")


@pytest.mark.parametrize(
    ("user", "parts"),
    [
        ([1, "a"], ["several types"]),
        ([2**70, 1], ["64 bits"]),
        ([object(), 1], []),
        ([[1], [2]], ["[]", "one number or one text"]),
        ([{"a": 1}, {"a": 2}], ["STRUCT", "one number or one text"]),
        (pd.period_range("2013-01", periods=2, freq="M"), ["period"]),
    ],
)
def test_a_column_of_things_that_are_no_ids_is_refused_by_name(user: Any, parts: list[str]) -> None:
    refused(pd.DataFrame({"user": user, "item": [1, 2], "time": [1, 2]}), "'user'", *parts)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ('{"user": "x", "item": 1, "time": 1}', ["numbers and text"]),
        ('{"user": [1], "item": 1, "time": 1}', ["lists"]),
        ('{"user": {"id": 1}, "item": 1, "time": 1}', ["objects"]),
        ('{"user": true, "item": 1, "time": 1}', ["true or false"]),
        ('{"user": 99999999999999999999999, "item": 1, "time": 1}', ["99999999999999999999999", "64 bits"]),
    ],
)
def test_a_late_stray_value_in_json_is_refused_by_its_column(line: str, parts: list[str], tmp_path: Path) -> None:
    lines = [f'{{"user": {k}, "item": 1, "time": 1}}' for k in range(25_000)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, line]))
    refused(tmp_path / "a.jsonl", "'user'", *parts)


@pytest.mark.parametrize(
    ("time", "parts"),
    [
        ([True, False], ["boolean"]),
        ([[1], [2]], ["[]"]),
        ([dt.timedelta(1)] * 2, ["interval"]),
        ([dt.time(1)] * 2, ["time values"]),
        (["tomorrow", "2013-01-01"], ["'tomorrow'", "row 1"]),
        (["2013-01-01", "06/01/2013"], ["'06/01/2013'", "row 2", "2013-06-01"]),
        (["2013-01-01", "5"], ["mixes numbers and dates"]),
        (["2013-01-01T00:00:00", "2013-01-01T00:00:00Z"], ["with and without a zone"]),
        (["2013-01-01 00:00 Europe/Paris"] * 2, ["Europe/Paris"]),
        (["2013-13-01", "2013-02-30"], ["'2013-13-01'"]),
        (["epoch", "today"], ["'epoch'"]),
        (["9" * 25, "1"], ["64 bits"]),
        ([2**63 + 1, 1], ["64 bits"]),
        ([2**64 + 1, 1], ["64 bits"]),
        ([float("inf"), 1.0], ["infinite"]),
        (pa.array([10**8, 1], pa.date32()), ["9999"]),
        (pa.array([10**18, 1], pa.timestamp("us")), ["9999"]),
        (pa.array([10**17, 1], pa.timestamp("s")), ["too far off"]),
        (pa.array([1, 1], pa.timestamp("us", "Mars/Olympus")), ["Mars/Olympus"]),
    ],
)
def test_a_column_of_things_that_are_no_times_is_refused_by_name(time: Any, parts: list[str]) -> None:
    refused({"user": [1, 2], "item": [1, 2], "time": time}, *parts)


@pytest.mark.parametrize(
    ("unit", "time"), [("s", 1370044800000), ("ms", 1370044800 * 10**9), ("s", 1e300), ("day", 10**9)]
)
def test_a_wrong_unit_that_leads_beyond_the_calendar_is_doubted(unit: str, time: float) -> None:
    refused({"user": [1], "item": [1], "time": [time]}, "'time'", repr(unit), "right?", time_unit=unit)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ({}, ["no column 'user'", "no columns"]),
        ({"user": [1], "item": [1, 2], "time": [1]}, ["equally long", "'item' 2"]),
        ({"user": 1, "item": 2, "time": 3}, ["'user'"]),
        ({1: [1], 2: [2], 3: [3]}, ["must be text, not 1"]),
        (pd.DataFrame([[1, 2, 3]]), ["no column 'user'", "0, 1, 2"]),
        (pd.DataFrame([[1, 2, 3, 4]], columns=["user", "user", "item", "time"]), ["unique", "'user'"]),
        (pa.Table.from_arrays([pa.array([1])] * 4, names=["user", "user", "item", "time"]), ["unique", "'user'"]),
        (pl.scan_csv("missing.csv"), ["missing.csv"]),
        (pl.DataFrame({"user": [1]}).lazy().select("nothing"), ["nothing"]),
        (pd.Series([1, 2]), ["Series"]),
        ([pd.DataFrame()], ["list"]),
    ],
)
def test_a_table_that_is_none_is_refused(source: Any, parts: list[str]) -> None:
    refused(source, *parts)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"time_unit": "hours"}, ["'hours'", "ms"]),
        ({"user": "item"}, ["three different columns"]),
        ({"user": 3.5}, ["user is 3.5", "number"]),
        ({"user": 7}, ["no column '7'"]),
        ({"removed": "gone"}, ["'gone'", "the right one with removed"]),
        ({"exposed": "shown"}, ["'shown'", "the right one with exposed"]),
        ({"columns": ["stars"]}, ["'stars'", "the right one with columns"]),
        ({"columns": ["word"]}, ["'word'", "'x'", "numbers"]),
        ({"removed": "word"}, ["'word'", "'x'"]),
        ({"removed": "day"}, ["'day'", "date times", "'time'", "integer times"]),
    ],
)
def test_an_option_that_does_not_fit_is_refused(options: dict[str, Any], parts: list[str]) -> None:
    day = [dt.date(2013, 1, 1)] * 2
    table = {"user": [1, 2], "item": [1, 2], "time": [1, 2], "word": ["x", "y"], "day": day}
    refused(table, *parts, **options)


def test_times_and_removals_with_and_without_a_zone_are_not_compared() -> None:
    times = {c: pa.array([10**15], pa.timestamp("us", zone)) for c, zone in (("time", None), ("gone", "UTC"))}
    refused({"user": [1], "item": [1], **times}, "'gone'", "with a zone", "without a zone", removed="gone")


def test_a_wrong_number_of_threads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSKEW_THREADS", "many")
    refused({"user": [1], "item": [1], "time": [1]}, "UNSKEW_THREADS", "'many'")


def test_decimal_numbers_of_a_database_are_times_and_ids() -> None:
    table = {"user": [Decimal(7), Decimal(8)], "item": [1, 2], "time": [Decimal("1.5"), Decimal("2.5")]}
    log = us.read_log(table)
    assert log.at(1.5).profile(7) == [1]
