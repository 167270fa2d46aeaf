"""What the campaign of `fuzz/` found in files of others, each as a case of its own."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sqlite3
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import feather

import unskew as us
from unskew.cli import main
from unskew.cli.shared_options import read_names
from unskew.errors import ColumnError, FileError
from unskew.known_truths import yardstick
from unskew.over_time import Timeline
from unskew.reading import columnar_files
from unskew.reading.connection import translate_errors
from unskew.reading.database_files import _refuse_damage, _to_array
from unskew.reading.input_files import FileOptions, InputFile
from unskew.storage.tables import seal
from unskew.views.contrast import find_holdout

ROWS = {"user": ["a", "b"], "item": [1, 2], "time": [3, 4]}


def write(path: Path, rows: dict[str, list[Any]] | pa.Table) -> Path:
    """A Parquet file or JSON lines, as the ending says."""
    table = rows if isinstance(rows, pa.Table) else pa.table(rows)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def test_figures_in_a_parquet_file_about_its_values_are_not_believed(tmp_path: Path) -> None:
    largest = 0x1122334455667788
    path = write(tmp_path / "log.parquet", {"user": [1, 2, largest], "item": [1, 2, 1], "time": [3, 4, 5]})
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    pattern = largest.to_bytes(8, "little")
    assert pattern in whole[footer:]
    path.write_bytes(whole[:footer] + whole[footer:].replace(pattern, (1).to_bytes(8, "little")))
    assert sorted(us.read_log(path).users.to_list()) == [1, 2, largest]


def test_a_parquet_file_with_a_damaged_arrow_schema_is_refused_or_read_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", ROWS)
    whole = path.read_bytes()
    begin = whole.index(b"/////", whole.index(b"ARROW:schema"))
    refused = 0
    for place in range(begin + 5, begin + 200, 5):
        path.write_bytes(whole[:place] + b"/" + whole[place + 1 :])
        try:
            assert us.read_log(path).users.to_list() == ["a", "b"]
        except FileError:
            refused += 1
    assert refused


def test_names_of_items_and_users_held_out_may_be_json_lines(tmp_path: Path) -> None:
    log = us.read_log({"user": [7, 8, 9], "item": [1, 2, 1], "time": [3, 4, 5]})
    users = write(tmp_path / "held-out.jsonl", {"user": [8]})
    assert [log.users[int(code)] for code in find_holdout(log, users).nonzero()[0]] == [8]
    names = write(tmp_path / "names.jsonl", {"item": [1, 2], "more": [[1], [2]], "title": ["one", "two"]})
    assert read_names(str(names), log.items.values) == ["one", "two"]


def test_a_name_that_leads_past_its_page_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    names = pa.table({"item": [1, 2], "title": ["the first", "the last"]})
    pq.write_table(names, path, compression="none")
    assert read_names(str(path), names["item"].combine_chunks()) == ["the first", "the last"]
    path.write_bytes(path.read_bytes().replace(b"\x08\0\0\0the last", b"\x09\0\0\0the last"))
    with pytest.raises(FileError, match=r"cannot read .*: Unexpected end of stream"):
        read_names(str(path), names["item"].combine_chunks())


def test_a_column_that_says_otherwise_whether_values_may_be_missing_is_refused(tmp_path: Path) -> None:
    """What Arrow has counted of them does not fit then, and it would end the process."""
    path = write(tmp_path / "names.parquet", {"item": [1, 2], "title": ["the first", "the last"]})
    optional = b"\x15\x0c\x25\x02\x18\x05title"
    whole = path.read_bytes()
    assert whole.count(optional) == 1
    path.write_bytes(whole.replace(optional, optional.replace(b"\x02", b"\0")))
    code = "import sys, pyarrow as pa; from unskew.cli import shared_options as names"
    code += "; names.read_names(sys.argv[1], pa.array([1]))"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "FileError: cannot read" in done.stderr.splitlines()[-1]


def test_two_columns_of_one_name_are_refused_in_a_hold_out_too(tmp_path: Path) -> None:
    log = us.read_log({"user": [7, 8, 9], "item": [1, 2, 1], "time": [3, 4, 5]})
    path = write(tmp_path / "held-out.parquet", pa.table([[7], [8]], names=["user", "user"]))
    with pytest.raises(ColumnError, match="has two columns 'user': rename one"):
        find_holdout(log, path)


def test_a_sqlite_file_that_would_be_read_in_part_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE log (user, item, time)")
        database.executemany("INSERT INTO log VALUES (?, ?, ?)", [(n, n % 3, n) for n in range(50)])
        database.commit()
    whole = bytearray(path.read_bytes())
    page = whole[4096:8192]
    cells = 8 + 2 * 20  # where the 21st row of this page begins, in two bytes
    whole[4096 + cells] ^= 0x40
    assert page[0] == 0x0D  # a page of rows
    path.write_bytes(bytes(whole))
    with pytest.raises(FileError, match=r"log\.sqlite is damaged"):
        us.read_log(path)


def test_ids_of_a_sqlite_file_that_are_not_utf8_stay_apart(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "log.sqlite")) as database:
        database.execute("CREATE TABLE log (user, item, time)")
        database.executemany("INSERT INTO log VALUES (CAST(? AS TEXT), 1, 2)", [(b"a\xf3",), (b"a\xf4",), (b"a",)])
        database.commit()
    assert sorted(us.read_log(tmp_path / "log.sqlite").users.to_list()) == ["a", r"a\xf3", r"a\xf4"]


def test_lists_with_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    log = us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]})
    path = write(
        tmp_path / "lists.parquet", pa.table([[1], [2], [1], [1]], names=["user", "item", "rank", "item"])
    )
    with pytest.raises(ColumnError, match="has two columns 'item': rename one"):
        us.evaluate(f"table:{path}", log.at(3))


@pytest.mark.parametrize("name", ["marginal.parquet", "log.arrow"])
def test_a_file_of_ours_that_is_cut_off_says_what_to_do(name: str, tmp_path: Path) -> None:
    log = us.read_log(ROWS)
    log.save(tmp_path / "log.arrow")
    log.at(4).marginal().save(tmp_path / "marginal.parquet")
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError) as caught:
        (us.Marginal if name.startswith("m") else us.Log).load(path)
    assert caught.value.remedy


def test_a_damaged_workbook_is_refused_or_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.xlsx"
    book = openpyxl.Workbook()
    for row in (("user", "item", "time"), ("a", 1, 3), ("b", 2, 4)):
        book.active.append(row)
    book.save(path)
    whole = path.read_bytes()
    refused = 0
    for place in range(40, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            assert us.read_log(path).users.to_list() == ["a", "b"]
        except us.UnskewError:
            refused += 1
    assert refused > 5


def test_numbers_of_a_workbook_beyond_64_bits_stay_apart() -> None:
    assert _to_array([1e308, 1]).to_pylist() == [1e308, 1.0]
    assert _to_array([2**63 + 1, 2**63 + 2]).to_pylist() == [str(2**63 + 1), str(2**63 + 2)]
    assert _to_array([2**53 + 1, 0.5]).to_pylist() == [str(2**53 + 1), "0.5"]
    assert _to_array([2.0**53, None, 3]).to_pylist() == [2**53, None, 3]


def test_a_column_that_is_called_by_its_number_is_no_user_held_out(tmp_path: Path) -> None:
    log = us.read_log({"user": [1, 2, 3], "item": [1, 2, 1], "time": [3, 4, 5]})
    (tmp_path / "held-out.csv").write_text("2\n3\n")
    assert [log.users[int(code)] for code in find_holdout(log, tmp_path / "held-out.csv").nonzero()[0]] == [2, 3]


@pytest.mark.parametrize(
    ("case", "name", "value"),
    [
        ("quiet", "estimate", "0.5"),
        ("quiet", "method", []),
        ("quiet", "raw", None),
        ("quiet", "high", None),
        ("truth", "truth", []),
        ("truth", "recommender", []),
    ],
)
def test_a_case_of_a_yardstick_that_no_table_can_be_made_of_is_refused(
    case: str, name: str, value: Any, tmp_path: Path
) -> None:
    """Even if its checksum fits."""
    options: dict[str, Any] = {"seeds": [1], "users": 60, "items": 30, "recommenders": "popular", "truth_seeds": 1}
    yardstick("quiet", methods="item weights", **options, output=tmp_path)
    (path,) = (tmp_path / "cases").glob(f"{case}*.json")
    told = json.loads(path.read_text())
    told["found"]["rows"][0][name] = value
    told["checksum"] = zlib.crc32(json.dumps(told["found"], sort_keys=True).encode())
    path.write_text(json.dumps(told))
    with pytest.raises(FileError, match=r"is damaged .*: remove it, and the case is computed again"):
        yardstick("quiet", methods="item weights", **options, output=tmp_path, resume=True)


def test_a_file_with_a_checksum_is_verified_whatever_it_says_about_its_format(tmp_path: Path) -> None:
    log = us.read_log(ROWS)
    log.at(4).marginal().save(tmp_path / "marginal.parquet")
    table = pq.read_table(tmp_path / "marginal.parquet")
    about = table.schema.metadata
    older = "was written by an older version"
    cases = (
        (b'{"kind": "marginal", "format": 2}', older),
        (b'{"kind": "marginal"}', "is damaged"),
        (b"[]", "is damaged"),
    )
    for told, why in cases:
        pq.write_table(table.replace_schema_metadata({**about, b"unskew": told}), tmp_path / "marginal.parquet")
        with pytest.raises(FileError, match=rf"marginal\.parquet {why}"):
            us.Marginal.load(tmp_path / "marginal.parquet")
    log.save(tmp_path / "log.arrow")
    whole = (tmp_path / "log.arrow").read_bytes()
    assert b'"format": 2' in whole
    (tmp_path / "log.arrow").write_bytes(whole.replace(b'"format": 2', b'"format": 1'))
    with pytest.raises(FileError, match=older):
        us.Log.load(tmp_path / "log.arrow")


def test_what_is_said_about_a_saved_log_may_not_be_nested_without_end(tmp_path: Path) -> None:
    path = tmp_path / "log.arrow"
    us.read_log(ROWS).save(path)
    batch = pa.ipc.open_file(path).get_batch(0)
    deep = batch.replace_schema_metadata({b"unskew.log": b"[" * 100_000})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, deep.schema) as writer:
        writer.write_batch(deep)
    with pytest.raises(FileError, match="nested too deeply"):
        us.Log.load(path)


@pytest.mark.parametrize(
    "told",
    [
        {"kind": {}},
        {"policy": {"held": []}},
        {"policy": {"min_items": "1"}},
        {"policy": {"min_items": 0}},
        {"policy": {"held": "x" * 9999}},
        {"policy": {"users": "none"}},
        {"at": [1]},
        {"after": {"a": 1}},
    ],
    ids=str,
)
def test_a_marginal_that_says_of_itself_what_cannot_be_is_refused(told: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "marginal.parquet"
    about = {"kind": "marginal", "format": 4, "at": 4, **told}
    table = pa.table({"item": [1], "probability": [1.0]}).replace_schema_metadata({"unskew": json.dumps(about)})
    pq.write_table(seal(table), path)
    with pytest.raises(us.UnskewError, match=r"marginal\.parquet is (not a marginal|damaged)"):
        us.Marginal.load(path)


def change_weights(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the table in a file of weights, and have its checksum fit."""
    table = pq.read_table(path)
    pq.write_table(seal(change(table).replace_schema_metadata(table.schema.metadata)), path)


def set_first(name: str, value: float) -> Callable[[pa.Table], pa.Table]:
    """Another first value of a column."""

    def change(table: pa.Table) -> pa.Table:
        values = [value, *table.column(name).to_pylist()[1:]]
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(0, 0),
        lambda table: table.slice(0, 1),
        lambda table: pa.concat_tables([table, table.slice(0, 1)]),
        set_first("log_weight", float("nan")),
        set_first("log_weight", float("inf")),
        set_first("p_before", -0.5),
        set_first("p_after", 0.0),
    ],
)
def test_weights_that_no_fit_gives_are_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "weights.parquet"
    log = us.read_log({"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 3, 2], "time": [1, 1, 1, 2, 2]})
    us.fit_weights(log.at(2), log.at(1)).save(path)
    assert len(us.ItemWeights.load(path).items) == 3
    change_weights(path, change)
    with pytest.raises(FileError, match=r"weights\.parquet is damaged"):
        us.ItemWeights.load(path)


def test_a_timeline_whose_options_were_forged_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "timeline.parquet"
    log = us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [3, 4, 5]})
    us.timeline(log, "constant:1", reference=4, output=path)
    table = pq.read_table(path)
    told = json.loads(table.schema.metadata[b"unskew"])
    told["options"]["p_user"] = 3
    forged = {**table.schema.metadata, b"unskew": json.dumps(told).encode()}
    pq.write_table(seal(table.replace_schema_metadata(forged)), path)
    with pytest.raises(us.PolicyError, match="cannot be continued: it was made with p_user=3"):
        us.timeline(log, "constant:1", reference=4, output=path, resume=True)


def test_a_timeline_with_a_date_of_one_user_can_be_read_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "timeline.parquet"
    log = us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [3, 4, 5]})
    made = us.timeline(log, "constant:1", reference=4, output=path)
    assert math.isnan(made.rows.column("low")[0].as_py())
    assert Timeline.load(path).dates == [4, 5]
    assert us.timeline(log, "constant:1", reference=4, output=path, resume=True).computed == 0


@pytest.mark.parametrize("sep", ["\udcff", ";\udcff"])
def test_a_separator_that_is_no_text_is_refused(sep: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user;item;time\na;b;1\n")
    with pytest.raises(us.InputError, match=r"sep is .*: give one to"):
        us.read_log(tmp_path / "log.csv", sep=sep)


@pytest.mark.parametrize(
    "line",
    [
        "reproduce -o out --world",
        "weights log.csv --reference 1 --at 2 -o",
        "evaluate log.csv -r popular --weights",
    ],
)
def test_an_empty_name_is_not_taken_for_this_folder_or_for_none(line: str) -> None:
    result = CliRunner().invoke(main, [*line.split(), ""])
    assert result.exit_code == 2
    assert re.fullmatch(r"error: --\w+ is empty: is a shell variable unset\?\n", result.stderr)


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_a_column_whose_name_is_no_text_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"log.{ending}"
    table = pa.table({**ROWS, "caf\u00e9": [1, 2]})
    feather.write_feather(table, path, compression="uncompressed") if ending == "arrow" else pq.write_table(
        table, path
    )
    path.write_bytes(path.read_bytes().replace("caf\u00e9".encode(), b"caf\xc3)"))
    with pytest.raises(FileError, match=f"cannot read .*log.{ending}: "):
        us.read_log(path)


def test_a_yardstick_is_not_held_against_more_worlds_than_anybody_can_wait_for() -> None:
    with pytest.raises(us.PolicyError, match=r"truth_seeds is 9223372036854775808, but must be at most 10000"):
        yardstick("quiet", seeds=[1], users=60, items=30, truth_seeds=2**63)


@pytest.mark.parametrize("value", ["a" * 5000, "a b " * 1000])
@pytest.mark.parametrize("flag", ["--sample", "--seed"])
def test_a_message_about_an_option_does_not_quote_all_of_an_endless_value(flag: str, value: str) -> None:
    result = CliRunner().invoke(main, ["evaluate", "log.csv", flag, value])
    assert result.exit_code == 2
    assert f"Invalid value for '{flag}': 'a" in result.stderr
    assert len(result.stderr) < 600


def test_no_message_is_endless_even_about_values_that_it_does_not_quote() -> None:
    message = str(us.UnskewError(f"the log has {'x' * 50_000}", remedy="give another file"))
    assert len(message) == 2500
    assert message.startswith("the log has xxx")
    assert message.endswith("xxx: give another file")


def test_a_file_of_another_kind_is_named_in_few_words(tmp_path: Path) -> None:
    path = tmp_path / "timeline.parquet"
    us.timeline(us.read_log({**ROWS, "user": ["a", "a"]}), "constant:1", reference=3, output=path)
    table = pq.read_table(path)
    told = {**json.loads(table.schema.metadata[b"unskew"]), "kind": "x" * 9000}
    forged = {**table.schema.metadata, b"unskew": json.dumps(told).encode()}
    pq.write_table(seal(table.replace_schema_metadata(forged)), path)
    with pytest.raises(us.InputError, match=r"holds a table of kind 'x{50,60}\.\.\., not a timeline: make one"):
        Timeline.load(path)


def test_an_sqlite_file_about_which_sqlite_cannot_speak_is_refused(tmp_path: Path) -> None:
    class Mute:
        """A database whose first complaint quotes bytes that are no text, as Python's sqlite3 then raises it."""

        def execute(self, _: str) -> None:
            b"\xc6".decode()

    damaged: Any = Mute()
    with pytest.raises(FileError, match=r"log\.sqlite is damaged \(its schema is no text\): restore it"):
        _refuse_damage(damaged, InputFile(tmp_path / "log.sqlite", "log.sqlite", FileOptions()))


def test_ids_that_are_spans_of_time_are_refused(tmp_path: Path) -> None:
    spans = pa.array([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval())
    feather.write_feather(pa.table({"user": [1, 2], "item": spans, "time": [1, 2]}), tmp_path / "log.arrow")
    with pytest.raises(ColumnError, match="column 'item' holds INTERVAL: an id must be one number or one text"):
        us.read_log(tmp_path / "log.arrow")


@pytest.mark.parametrize("few", [100_000, 0], ids=["few rows", "many rows"])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_page_with_fewer_values_than_rows_is_refused(
    column: int, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar_files, "_FEW", few)
    rows: dict[str, list[Any]] = {
        "user": [f"u{n % 9}" for n in range(60)],
        "item": [f"i{n % 8}" for n in range(60)],
    }
    path = write(tmp_path / "log.parquet", {**rows, "time": list(range(60))})
    us.read_log(path)
    content = bytearray(path.read_bytes())
    page = pq.ParquetFile(path).metadata.row_group(0).column(column).data_page_offset
    number = content.index(b"\x15\x78", page) + 1  # 60 values, as the header of the page has them
    content[number] = 56 * 2
    path.write_bytes(content)
    with pytest.raises(FileError, match="has 56 values in 60 rows"):
        us.read_log(path)


def test_a_row_group_that_forgets_rows_is_refused(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"user": [f"u{n}" for n in range(60)], "item": [1] * 60, "time": [3] * 60}
    path = write(tmp_path / "log.parquet", rows)
    content = path.read_bytes()
    number = content.rindex(b"\x16\x78\x26")  # 60 rows, as the footer has them for its row group
    path.write_bytes(content[: number + 1] + bytes([56 * 2]) + content[number + 2 :])
    assert pq.ParquetFile(path).metadata.row_group(0).num_rows == 56
    with pytest.raises(FileError, match="has 60 values in 56 rows"):
        us.read_log(path)


def test_a_time_zone_that_nobody_knows_has_a_remedy(tmp_path: Path) -> None:
    times = pa.array([3, 4], type=pa.timestamp("us", "Europe/Paris\0"))
    table = pa.table({**ROWS, "time": times})
    feather.write_feather(table, tmp_path / "log.arrow")
    with pytest.raises(us.TimeError, match="is not known on this machine") as raised:
        us.read_log(tmp_path / "log.arrow").at("2024-01-01")
    assert "in UTC" in raised.value.remedy


def test_categories_that_are_records_are_refused_as_ids_and_passed_over_elsewhere(tmp_path: Path) -> None:
    records = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array([{"a": 1}, {"a": 2}]))
    rows = {"user": pa.array([1, 2, 3]), "item": pa.array([4, 5, 4]), "time": pa.array([1, 2, 3])}
    feather.write_feather(pa.table({**rows, "item": records}), tmp_path / "ids.arrow")
    with pytest.raises(ColumnError, match=r"column 'item' holds STRUCT\(a BIGINT\): an id must be one"):
        us.read_log(tmp_path / "ids.arrow")
    feather.write_feather(pa.table({**rows, "more": records}), tmp_path / "more.arrow")
    assert us.read_log(tmp_path / "more.arrow").items.to_list() == [4, 5]


def test_an_archive_with_a_file_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("log.csv", "user,item,time\n1,2,3\n")
    path.write_bytes(path.read_bytes().replace(b"log.csv", b"\0og.csv"))  # zipfile cuts a name at a zero byte
    with pytest.raises(FileError, match=r"^\S*log\.zip has no file in it$"):
        us.read_log(path)


@pytest.mark.parametrize("error", [IndexError, struct.error, KeyError, TypeError])
def test_whatever_a_library_raises_on_packed_bytes_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as archive:
        archive.writestr("log.csv", "user,item,time\n1,2,3\n")

    def fail(_: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        raise error  # a new one each time: one that is kept would keep all that its traceback knows

    monkeypatch.setattr(zipfile.ZipFile, "infolist", fail)
    with pytest.raises(FileError, match=r"^cannot read \S*log\.zip: it is damaged$"):
        us.read_log(tmp_path / "log.zip")


def test_what_arrow_says_against_a_file_is_one_line_about_it() -> None:
    with pytest.raises(FileError, match=r"^cannot read log\.arrow: no such thing$"), translate_errors("log.arrow"):
        raise pa.ArrowNotImplementedError("no such thing\nsomewhere in a library")


def refuse(*arguments: str) -> str:
    """What a command says that it refuses to run."""
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 2, done.output
    return done.output.strip().splitlines()[-1]


@pytest.fixture
def small_log(tmp_path: Path) -> str:
    return str(write(tmp_path / "log.parquet", {"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-r", "constant:a\nb"], "error: 'constant:a\\\\nb' cannot be read: "),
        (["-r", "constant:" + "x" * 140_000], "error: 'constant:xxx"),
        (["-r", "popular", "--leave-out", "9" * 23], "error: --leave-out is 999.*but must be at most 2147483647"),
        (["-r", "popular", "--memory-limit", "999999999999TB"], "error: --memory-limit is .*give at most 1000TB"),
        (
            ["-r", "popular", "--temp-dir", "x" * 5000],
            "error: --temp-dir is 'x{200}'\\.\\.\\., which does not exist",
        ),
    ],
    ids=[
        "a line break in a list",
        "a long item",
        "more left out than can be",
        "more memory than there is",
        "a long name",
    ],
)
def test_odd_values_are_refused_in_one_line(arguments: list[str], message: str, small_log: str) -> None:
    assert re.match(message, refuse("evaluate", small_log, "--at", "3", *arguments))


def test_a_configuration_that_is_nested_without_end_is_refused(
    tmp_path: Path, small_log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unskew.toml").write_text("a=" + "[" * 100_000)
    monkeypatch.chdir(tmp_path)
    assert refuse("drift", small_log, "--reference", "2", "--at", "3").endswith(
        "it is nested too deeply: write fewer levels of brackets"
    )


@pytest.mark.parametrize("kind", ["folder", "loop", "nothing"])
def test_a_configuration_that_cannot_be_read_is_not_passed_over(
    kind: str, tmp_path: Path, small_log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "unskew.toml"
    if kind == "folder":
        file.mkdir()
    else:
        file.symlink_to("unskew.toml" if kind == "loop" else "nowhere.toml")
    monkeypatch.chdir(tmp_path)
    assert "unskew.toml cannot be read: " in refuse("drift", small_log, "--reference", "2", "--at", "3")


def test_a_limit_from_the_environment_is_called_by_its_own_name(
    small_log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSKEW_TEMP_DIR", "nope")
    assert refuse("doctor", small_log) == ("error: UNSKEW_TEMP_DIR is nope, which does not exist: make it first")


def test_a_link_that_leads_to_itself_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert refuse("doctor", str(tmp_path / "a")).endswith("a: it is a link that leads to itself")


def test_a_folder_that_must_not_be_looked_into_is_not_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "log.parquet", ROWS)
    monkeypatch.setattr("os.access", lambda path, mode: mode == os.R_OK and Path(path) != tmp_path)
    assert refuse("doctor", str(tmp_path)) == f"error: cannot read {tmp_path}: permission denied"
