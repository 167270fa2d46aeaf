"""Where a log comes from: formats, lists, globs and dataframes, and ids that keep their type."""

from __future__ import annotations

import bz2
import gzip
import json
import tempfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.tables import held
from unskew.errors import ColumnError, FileError, InputError, UnskewError
from unskew.reading import formats
from unskew.reading.formats import Format
from unskew.reading.input_files import InputFile

TABLE = {"user": ["ann", "ann", "bob"], "item": [1, 2, 1], "time": [3, 4, 5]}
HELD = {"ann": {1, 2}, "bob": {1}}
CSV = "user,item,time\nann,1,3\nann,2,4\nbob,1,5\n"
LINES = "".join(json.dumps(dict(zip(TABLE, row, strict=True))) + "\n" for row in zip(*TABLE.values(), strict=True))


def write(path: Path) -> Path:
    """TABLE in the format of the file's ending."""
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(pa.table(TABLE), path)
    elif path.suffix in (".arrow", ".feather"):
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, pa.table(TABLE).schema) as writer:
            writer.write_table(pa.table(TABLE))
    else:
        text = LINES if "json" in path.name or "nd" in path.name else CSV
        text = "[" + ",".join(LINES.splitlines()) + "]" if path.suffix == ".json" else text
        text = text.replace(",", "\t") if ".tsv" in path.name else text
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(
    "ending",
    [
        "parquet",
        "pq",
        "csv",
        "tsv",
        "txt",
        "csv.gz",
        "tsv.gz",
        "jsonl",
        "ndjson",
        "json",
        "jsonl.gz",
        "arrow",
        "feather",
    ],
)
def test_every_format_gives_the_same_log(ending: str, tmp_path: Path) -> None:
    log = us.read_log(write(tmp_path / f"log.{ending}"))
    assert held(log, 5) == HELD
    assert log.items.values.type == pa.int64()


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        lambda table: pl.DataFrame(table).lazy(),
        pa.table,
        dict,
        lambda table: duckdb.from_arrow(pa.table(table)),
        lambda table: pd.DataFrame(table).astype({"user": "category", "item": "Int64"}),
    ],
    ids=["pandas", "polars", "lazy", "arrow", "dict", "duckdb", "nullable"],
)
def test_every_dataframe_gives_the_same_log(make: Any) -> None:
    assert held(us.read_log(make(TABLE)), 5) == HELD


@pytest.mark.parametrize(
    ("make", "kind"), [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)]
)
def test_tables_go_back_in_the_library_the_log_came_in(make: Any, kind: type) -> None:
    assert isinstance(us.read_log(make(TABLE)).at(5).marginal().to_frame(), kind)


def test_files_of_one_list_are_one_log_whatever_their_formats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time;user;item\n1;carl;9\n")
    (tmp_path / "b.jsonl").write_text('{"item": 8, "user": "dora", "time": 2}\n')
    pq.write_table(pa.table({"user": ["eve"], "item": [7], "time": [3]}), tmp_path / "c.parquet")
    log = us.read_log([tmp_path / "a.csv", str(tmp_path / "b.jsonl"), tmp_path / "c.parquet"])
    assert held(log, 3) == {"carl": {9}, "dora": {8}, "eve": {7}}


@pytest.mark.filterwarnings("ignore::unskew.ReadingNotice")
def test_what_is_unpacked_or_recoded_for_a_list_of_files_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, wide = tmp_path / "log.csv.bz2", tmp_path / "more.csv"
    packed.write_bytes(bz2.compress(CSV.encode()))
    wide.write_text(CSV, encoding="utf-16")
    for place in ("here", "scratch"):
        (tmp_path / place).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    assert held(us.read_log([packed, str(wide)]), 5) == HELD
    assert [*(tmp_path / "here").iterdir(), *(tmp_path / "scratch").iterdir()] == []


def test_a_glob_takes_files_and_leaves_folders(tmp_path: Path) -> None:
    write(tmp_path / "one.csv")
    (tmp_path / "two.csv").write_text("user,item,time\ncarl,9,1\n")
    (tmp_path / "folder.csv").mkdir()
    assert held(us.read_log(str(tmp_path / "*.csv")), 5) == {**HELD, "carl": {9}}


def test_a_folder_is_its_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep" / "log.parquet")
    write(tmp_path / "deep" / "notes.txt")
    assert held(us.read_log(tmp_path), 5) == HELD


@pytest.mark.parametrize("name", ["log[1].csv", "st*r.csv", 'o\'brien "x".csv', "ünïcode ☃.csv", "a?.parquet"])
def test_a_file_with_a_strange_name_is_read_and_no_other(name: str, tmp_path: Path) -> None:
    write(tmp_path / name)
    for other in ("log1.csv", "stXr.csv", "ab.parquet"):
        (tmp_path / other).write_text("user,item,time\nwrong,1,1\n")
    assert held(us.read_log(tmp_path / name), 5) == HELD


@pytest.mark.parametrize("folder", ["~", "file:"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".duckdb"])
def test_a_folder_that_is_called_like_home_or_an_address_is_a_folder(
    ending: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / f"log{ending}"
    if ending == ".duckdb":
        rows = pa.table(TABLE)  # which DuckDB finds by its name
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE log AS FROM rows")
        del rows
    else:
        write(path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    log = us.read_log(f"{folder}/log{ending}")
    assert held(log, 5) == HELD
    log.at(5).marginal().save(f"{folder}/marginal.parquet")
    assert us.Marginal.load(f"{folder}/marginal.parquet").to_dict() == log.at(5).marginal().to_dict()


@pytest.mark.parametrize("source", [[], "missing.csv", "missing*.csv", None, 3, b"x", [None], "a\0b", "x\n" * 400])
def test_what_is_no_source_is_one_clear_line(source: Any) -> None:
    with pytest.raises(UnskewError) as said:
        us.read_log(source)
    assert "\n" not in str(said.value)


def test_a_folder_without_parquet_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no Parquet file"):
        us.read_log(tmp_path)


def test_a_file_that_lacks_a_column_of_the_others_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    pq.write_table(pa.table({"user": ["x"], "item": [1]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError, match=r"b\.parquet has no column 'time'"):
        us.read_log([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_ids_that_are_text_in_one_file_and_numbers_in_another_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    pq.write_table(pa.table({"user": [1], "item": [1], "time": [1]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError, match=r"'user' holds .*numbers in .*b\.parquet"):
        us.read_log([tmp_path / "a.parquet", tmp_path / "b.parquet"])


@pytest.mark.parametrize(
    ("ending", "name", "parts"),
    [
        ("arrow", "log.parquet", ["ends in .parquet but is an Arrow file"]),
        ("parquet", "log.feather", ["ends in .feather but is a Parquet file"]),
        ("arrow", "log.csv", ["ends in .csv but is an Arrow file"]),
        ("parquet", "log.jsonl", ["ends in .jsonl but is a Parquet file"]),
        ("csv", "log.PQ", ["ends in .pq but is not a Parquet file"]),
        ("parquet", "log.parquet", []),
        ("parquet", "log", []),
        ("arrow", "log.something", []),
    ],
)
def test_an_ending_must_not_contradict_the_first_bytes_and_may_be_missing(
    ending: str, name: str, parts: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / f"first.{ending}").rename(tmp_path / name)
    if not parts:
        assert held(us.read_log(path), 5) == HELD
        return
    with pytest.raises(FileError, match="rename it") as said:
        us.read_log(path)
    assert all(part in str(said.value) for part in parts)


def test_a_format_is_added_with_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_pairs(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], __: Hashable) -> pa.Table:
        rows = [line.split("=") for file in files for line in file.path.read_text().splitlines()[1:]]
        return pa.table(dict(zip(("user", "item", "time"), zip(*rows, strict=True), strict=True)))

    pairs = Format("pairs", "pairs", (".pairs",), open_pairs, typed_by="nothing", parse_once=False, magic=b"PAIRS")
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, pairs))
    for name, row in (("a.pairs", "ann=1=3\nann=2=4"), ("b.pairs", "bob=1=5")):
        (tmp_path / name).write_text(f"PAIRS\n{row}\n")
    assert held(us.read_log(str(tmp_path / "*.pairs")), 5) == HELD
    assert held(us.read_log([tmp_path / "b.pairs", write(tmp_path / "log.csv")]), 5) == HELD
    (tmp_path / "b.pairs").rename(tmp_path / "b.csv")
    with pytest.raises(FileError, match=r"ends in \.csv but is a pairs file"):
        us.read_log(tmp_path / "b.csv")


def test_a_saved_log_among_files_is_refused(tmp_path: Path) -> None:
    us.read_log(TABLE).save(tmp_path / "saved.arrow")
    with pytest.raises(InputError, match="give it alone"):
        us.read_log([tmp_path / "saved.arrow"])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2, 1], pa.int8()),
        pa.array([2**64 - 1, 1], pa.uint64()),
        pa.array(["b", "a"]),
        pa.array(["b", "a"]).dictionary_encode(),
        pa.array([20, 10]).dictionary_encode(),
        pa.array([b"b", b"a"]),
    ],
    ids=lambda values: str(values.type),
)
@pytest.mark.parametrize("way", ["table", "parquet", "arrow", "saved"])
def test_ids_come_back_in_their_own_type(values: pa.Array, way: str, tmp_path: Path) -> None:
    table = pa.table({"user": values, "item": values, "time": [1, 2]})
    source: Any = table
    if way == "parquet":
        pq.write_table(table, source := tmp_path / "log.parquet")
    elif way != "table":
        source = tmp_path / "log.arrow"
        with pa.OSFile(str(source), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    log = us.read_log(source)
    if way == "saved":
        log.save(tmp_path / "saved.arrow")
        log = us.read_log(tmp_path / "saved.arrow")
    kind = values.type  # Parquet itself keeps categoricals of text alone
    if way == "parquet":
        kind = pq.read_schema(source).field("user").type
    assert log.users.to_list() == sorted(values.to_pylist())
    for column in (log.users.column(), log.at(2).marginal().to_arrow().column("item")):
        assert column.type == kind
    one = values[0].as_py()
    assert log.at(2).profile(one) == [one]


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        (["7", "12"], [7, 12]),
        (["007", "12"], ["007", "12"]),
        (["7", "x"], ["7", "x"]),
        (["+7", "8"], ["+7", "8"]),
        (["1.0", "2"], [1, 2]),
        (["1.0", "2.5"], ["1.0", "2.5"]),
        (["1.0", "007.0"], ["007.0", "1.0"]),
        (["9" * 20, "1"], ["1", "9" * 20]),
        (['"a, b"', "ü"], ["a, b", "ü"]),
    ],
)
def test_ids_in_csv_are_integers_only_if_all_are_written_as_one(
    written: list[str], ids: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,time\n" + "".join(f"{user},1,1\n" for user in written))
    assert us.read_log(path).users.to_list() == ids


@pytest.mark.parametrize("text", ["007", "2013-01-01", "12:30:00", "550E8400-E29B-41D4-A716-446655440000", '"'])
def test_a_text_in_json_stays_the_text_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"user": text, "item": 1, "time": 1}))
    assert us.read_log(path).users.to_list() == [text]


def test_a_number_finds_an_equal_number_of_another_type_and_no_text() -> None:
    ids = us.read_log({"user": [1, 2], "item": ["1", "2"], "time": [1, 1]})
    assert ids.users.codes([2, 1, 3]).tolist() == [1, 0, -1]
    assert ids.users.codes([2.0, 1.5, float("nan")]).tolist() == [1, -1, -1]
    assert ids.users.codes(np.array([2], dtype=np.int16)).tolist() == [1]
    assert ids.users.codes([2**80, 1]).tolist() == [-1, 0]
    assert ids.users.codes(["1"]).tolist() == ids.items.codes([1]).tolist() == [-1]
    assert ids.items.codes(pa.array(["2"], pa.large_string())).tolist() == [1]


@pytest.mark.parametrize(
    "names", [('a"b', "c d'e", "zeit-ü;"), ("select", "FROM", "1"), ("u", "i", "t"), ("c0", "x", "r")]
)
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_column_may_have_any_name(names: tuple[str, str, str], ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(dict(zip(names, TABLE.values(), strict=True)))
    path = tmp_path / f"log.{ending}"
    write_to: dict[str, Any] = {
        "csv": frame.write_csv,
        "parquet": frame.write_parquet,
        "jsonl": frame.write_ndjson,
    }
    write_to[ending](path)
    user, item, time = names
    for source in (path, frame):
        log = us.read_log(source, user=user, item=item, time=time, columns=[item])
        assert held(log, 5) == HELD
        assert sorted(log.column(item)) == [1, 1, 2]


@pytest.mark.parametrize(
    ("columns", "wanted", "likely"),
    [
        (("user", "item", "timestamp"), {}, None),
        (("skilled_user", "item", "time"), {}, "skilled_user"),
        (("user", "course", "time"), {}, "course"),
        (("user", "item", "addedAt"), {}, "addedAt"),
        (("user", "item", "time"), {"user": "usr"}, "user"),
        (("user", "item", "category"), {}, ""),
    ],
)
def test_a_missing_column_names_those_there_are_and_the_likely_one(
    columns: tuple[str, str, str], wanted: dict[str, str], likely: str | None
) -> None:
    table = dict(zip(columns, TABLE.values(), strict=True))
    if likely is None:
        assert held(us.read_log(table), 5) == HELD
        return
    with pytest.raises(ColumnError) as said:
        us.read_log(table, **wanted)  # type: ignore[arg-type]
    assert ", ".join(map(repr, columns)) in str(said.value)
    assert ("did you mean" in str(said.value)) == bool(likely)
    assert f"did you mean {likely!r}" in str(said.value) or not likely


def test_a_spilled_folder_is_gone_after_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    us.read_log(TABLE)
    with pytest.raises(ColumnError):
        us.read_log(TABLE, user="nobody")
    assert list(tmp_path.iterdir()) == []
