"""Files as others have them: folders that look like columns, names that clash, integers beside decimal numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import unskew as us
from unskew.errors import ColumnError, FileError, InputError
from unskew.reading import text_files

ROWS = {"user": ["a", "b"], "item": [1, 2], "time": [3, 4]}


def write(path: Path, rows: dict[str, list[Any]] | pa.Table) -> Path:
    """A file of the format that its ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = rows if isinstance(rows, pa.Table) else pa.table(rows)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        feather.write_feather(table, str(path), compression="uncompressed")
    elif path.suffix == ".csv":
        lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("folder", ["item=9", "user=zz", "time=5"])
def test_a_column_of_the_file_wins_over_the_name_of_a_folder(tmp_path: Path, ending: str, folder: str) -> None:
    path = write(tmp_path / folder / f"log.{ending}", ROWS)
    for log in (us.read_log(path), us.read_log(tmp_path), us.read_log(path, "user", "item", "time")):
        assert log.users.to_list() == ["a", "b"]
        assert log.items.to_list() == [1, 2]
        assert (log.first, log.last) == (3, 4)


def test_the_name_of_a_folder_is_a_column_only_where_it_is_asked_for(tmp_path: Path) -> None:
    for day, item in (("2024-03-01", 1), ("2024-03-02", 2)):
        write(tmp_path / f"day={day}" / "log.parquet", {"user": ["a"], "item": [item]})
    log = us.read_log(tmp_path, time="day")
    assert (log.first, log.last, len(log)) == ("2024-03-01", "2024-03-02", 2)
    with pytest.raises(ColumnError, match="no column 'time'"):
        us.read_log(tmp_path)


def test_a_folder_that_could_be_meant_is_suggested(tmp_path: Path) -> None:
    path = write(tmp_path / "time=5" / "log.csv", {"user": ["a"], "item": [1]})
    with pytest.raises(ColumnError, match=r"its folders are called so.*time='time'"):
        us.read_log(path)
    assert us.read_log(path, time="time").last == 5


def test_columns_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    table = pa.table({"user": ["a"], "User": ["b"], "item": [1], "time": [1]})
    for path in (write(tmp_path / "log.parquet", table), write(tmp_path / "log.arrow", table)):
        for name in ("user", "User"):
            with pytest.raises(ColumnError, match="differ only in case: rename one"):
                us.read_log(path, user=name)
    assert us.read_log(table, user="User").users.to_list() == ["b"]  # of a frame only what is named is taken


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([["a"], ["b"], [1], [1]], names=["user", "user", "item", "time"])
    with pytest.raises(ColumnError, match="has two columns 'user': rename one"):
        us.read_log(write(tmp_path / "log.parquet", table))


@pytest.mark.parametrize("column", ["user", "item"])
def test_integers_that_decimal_numbers_cannot_tell_apart_are_refused(tmp_path: Path, column: str) -> None:
    one = write(tmp_path / "one.parquet", {"user": [1], "item": [1], "time": [1], column: [2**53 + 1]})
    other = write(tmp_path / "other.parquet", {"user": [1], "item": [1], "time": [1], column: [2.0**53]})
    with pytest.raises(ColumnError, match=r"BIGINT in .*one.parquet, such as 9007199254740993.*DOUBLE in .*other"):
        us.read_log([one, other])
    (tmp_path / "both.jsonl").write_text(
        '{"user": 1, "item": 9007199254740993, "time": 1}\n{"user": 1, "item": 9007199254740992.0, "time": 1}\n'
    )
    with pytest.raises(ColumnError, match="BIGINT, such as 9007199254740993"):
        us.read_log(tmp_path / "both.jsonl")


def test_small_integers_may_stand_beside_decimal_numbers(tmp_path: Path) -> None:
    one = write(tmp_path / "one.parquet", ROWS)
    other = write(tmp_path / "other.parquet", {"user": ["a"], "item": [2.0], "time": [9]})
    assert us.read_log([one, other]).items.to_list() in ([1, 2], [2, 1])


def test_a_damaged_arrow_file_is_refused(tmp_path: Path) -> None:
    table = pa.table({"user": ["ann", "bob", "cid"] * 50, "item": list(range(150)), "time": [1] * 150})
    path = write(tmp_path / "log.arrow", table)
    whole = path.read_bytes()
    offsets = pa.array(["ann", "bob", "cid"] * 50).buffers()[1].to_pybytes()
    at = whole.index(offsets)
    for place in (at + 4, at + 7, at + 300):
        damaged = bytearray(whole)
        damaged[place] ^= 0x80
        path.write_bytes(bytes(damaged))
        with pytest.raises(FileError, match="cannot read"):
            us.read_log(path)


@pytest.mark.parametrize("wish", ["²", "0", "-1", "1e3", "99999999999999999999", "", " 2", "2048"])
def test_a_number_of_threads_that_is_none_is_refused(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSKEW_THREADS", wish)
    with pytest.raises(InputError, match=r"UNSKEW_THREADS is .*a whole number from 1 to 1024"):
        us.read_log(ROWS)


def test_duckdb_fetches_nothing_by_itself() -> None:
    from unskew.reading.sources import open_source

    with open_source(ROWS) as source:
        settings = dict(
            source.connection.execute(
                "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%extensions'"
            ).fetchall()
        )
    assert settings == {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> int:
    """A smaller limit for lines, so that tests need not write the real one."""
    monkeypatch.setattr(text_files, "_LONGEST", 2**20)
    return 2**20


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst"])
@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("length", [3.5, 1.5, 0.5])
def test_a_line_that_is_too_long_is_refused_and_never_dropped(
    tmp_path: Path, ending: str, place: int, length: float, short_lines: int
) -> None:
    lines = ["1,a,1", "2,b,2"] * 50_000
    lines.insert(len(lines) // 2 if place == 1 else len(lines), f"3,{'c' * int(length * short_lines)},3")
    path = tmp_path / f"log.{ending}"
    with pa.output_stream(str(path), compression="detect") as sink:
        sink.write("\n".join(["user,item,time", *lines]).encode())
    if length < 1:
        assert len(us.read_log(path).items) == 3
        return
    with pytest.raises(
        FileError, match=r"it has a line of more than 1 MB|line \d+: it is longer than 1048576 bytes"
    ):
        us.read_log(path)


@pytest.mark.parametrize("cell", ["y" * 5_000_000, ("y" * 80 + "\n") * 1000])
def test_a_large_cell_in_quotes_is_read(tmp_path: Path, cell: str) -> None:
    (tmp_path / "log.csv").write_text(f'user,item,time\n1,a,1\n2,"{cell}",2\n3,c,3\n')
    assert sorted(map(len, us.read_log(tmp_path / "log.csv").items.to_list())) == [1, 1, len(cell)]


def test_a_first_line_without_end_is_said(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(f"user,item,{'x' * 2_000_000},time\n1,a,1,1\n")
    with pytest.raises(FileError, match=r"log\.csv: its first line is longer than 131072 characters$"):
        us.read_log(tmp_path / "log.csv")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_nanoseconds_with_a_zone_are_kept(tmp_path: Path, zone: str) -> None:
    ticks = np.array([1_600_000_000_000_000_001, 1_600_000_000_000_000_000, 1_600_000_000_000_000_002])
    table = pa.table({"user": [1, 2, 3], "item": [1, 1, 1], "time": pa.array(ticks, pa.timestamp("ns", tz=zone))})
    pq.write_table(table, tmp_path / "log.parquet")
    frame = table.to_pandas()
    assert str(frame["time"].dtype) == f"datetime64[ns, {zone}]"
    for source in (table, frame, tmp_path / "log.parquet"):
        log = us.read_log(source)
        assert (log.axis.unit, log.axis.zone) == ("ns", zone)
        assert log.time.tolist() == ticks.tolist()
        assert log.at(log.axis.show(ticks[0])).n_users == 2
    written = [f"2020-09-13T14:26:40.{k:09d}+02:00" for k in (1, 0, 2)]
    rows = "".join(f"{k},1,{time}\n" for k, time in enumerate(written))
    (tmp_path / "log.csv").write_text(f"user,item,time\n{rows}")
    assert us.read_log(tmp_path / "log.csv").time.tolist() == ticks.tolist()


def test_nanoseconds_and_microseconds_with_a_zone_go_together(tmp_path: Path) -> None:
    for name, unit, tick in (("a", "ns", 5_000), ("b", "us", 7)):
        time = pa.array([tick], pa.timestamp(unit, tz="UTC"))
        pq.write_table(pa.table({"user": [name], "item": [1], "time": time}), tmp_path / f"{name}.parquet")
    assert us.read_log(tmp_path).time.tolist() == [5_000, 7_000]


@pytest.mark.parametrize(
    "address", ["hdfs://shop/log.parquet", "ftp://host/a.csv", Path("s3://bucket/log.parquet")]
)
def test_other_addresses_say_which_can_be_read(address: str | Path) -> None:
    for source in (address, [address]):
        with pytest.raises(FileError, match=r"is not on this machine: give an s3://, .* of a database, as text"):
            us.read_log(source)


@pytest.mark.parametrize("column", ["user", "item", "time"])
@pytest.mark.parametrize("removed", [False, True])
def test_wrong_statistics_of_a_parquet_file_change_nothing(tmp_path: Path, column: str, removed: bool) -> None:
    rows = 3000
    table = pa.table(
        {
            "user": np.arange(rows) % 700 + 7_000_000,
            "item": np.arange(rows) % 50 + 8_000_000,
            "time": np.arange(rows) + 9_000_000,
            "until": np.arange(rows) + 9_500_000,
        }
    )
    path = write(tmp_path / "log.parquet", table)
    right = us.read_log(path, removed="until" if removed else None)
    values = table.column(column).to_numpy()
    lie = {int(values.min()): int(values.min()) + 2, int(values.max()): int(values.min()) + 5}
    _replace_statistics(path, lie)
    found = pq.read_metadata(path).row_group(0).column(table.column_names.index(column)).statistics
    assert [found.min, found.max] == list(lie.values())
    log = us.read_log(path, removed="until" if removed else None)
    assert log.users.values.equals(right.users.values)
    assert log.items.values.equals(right.items.values)
    np.testing.assert_array_equal(log.item, right.item)
    np.testing.assert_array_equal(log.time, right.time)


def _replace_statistics(path: Path, lie: dict[int, int]) -> None:
    """Write other numbers wherever the end of the file, which has no data, speaks of the least and the most."""
    data = path.read_bytes()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[begin:]
    for true, false in lie.items():
        footer = footer.replace(true.to_bytes(8, "little"), false.to_bytes(8, "little"))
    path.write_bytes(data[:begin] + footer)
