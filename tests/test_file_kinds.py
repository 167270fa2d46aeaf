"""Files as people have them: each kind is read as plain Python reads it, and its damaged twin is refused.

The rows are those of ROWS everywhere; what a file holds is checked against `expected`, which knows no files.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import held
from unskew.errors import ReadingNotice, UnskewError
from unskew.reading import database_files
from unskew.reading.connection import run_interruptibly
from unskew.reading.input_files import FileOptions
from unskew.reading.sources import open_source
from unskew.reading.text_files import find_header, find_quote, find_separator, sniff_text

ROWS = [
    (196, 242, 3, 881250949),
    (186, 302, 3, 891717742),
    (22, 377, 1, 878887116),
    (196, 51, 2, 880606923),
    (22, 242, 5, 886397596),
]
NAMES = ["user", "item", "rating", "time"]


def expected(rows: list[tuple[Any, ...]], at: int) -> dict[Any, set[Any]]:
    """Who holds what at a time, from rows of user, item, rating and time."""
    found: dict[Any, set[Any]] = {}
    for user, item, _, tick in rows:
        if tick <= at:
            found.setdefault(user, set()).add(item)
    return found


def write_text(path: Path, *, sep: str = ",", header: bool = True, encoding: str = "utf-8") -> Path:
    lines = [NAMES] * header + [list(map(str, row)) for row in ROWS]
    path.write_bytes("".join(sep.join(line) + "\n" for line in lines).encode(encoding))
    return path


def check(log: us.Log) -> None:
    for at in (881250949, 891717742):
        assert held(log, at) == expected(ROWS, at)


def read_with_notice(source: Any, words: str, **options: Any) -> us.Log:
    with pytest.warns(ReadingNotice, match=words):
        return us.read_log(source, **options)


def refuse(source: Any, words: str, **options: Any) -> None:
    with pytest.raises(UnskewError, match=words) as said:
        us.read_log(source, **options)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("sep", "words"),
    [("\t", "tab-separated"), ("::", "'::'"), (";", "';'"), ("|", "'|'"), (",", "comma"), (" ", "spaces")],
)
def test_a_file_without_a_header_is_read_by_numbers_and_says_so(sep: str, words: str, tmp_path: Path) -> None:
    path = write_text(tmp_path / "u.data", sep=sep, header=False)
    said = f"{words.replace('|', '[|]')}.* without a header; columns 1, 2 and 4 are user, item and time"
    log = read_with_notice(path, said)
    check(log)
    check(us.read_log(path, "1", "2", "4", header=False, sep=sep))  # nothing is guessed, and nothing said
    check(us.read_log(path, column_names=NAMES, sep=sep))


@pytest.mark.parametrize("sep", ["\t", "::", ";", "|", ","])
def test_a_file_with_a_header_needs_no_word_about_its_separator(sep: str, tmp_path: Path) -> None:
    path = write_text(tmp_path / "log.txt", sep=sep)
    check(read_with_notice(path, "'::'") if sep == "::" else us.read_log(path))


def test_a_column_may_be_given_by_its_number_where_it_has_a_name(tmp_path: Path) -> None:
    check(us.read_log(write_text(tmp_path / "log.csv"), 1, "2", 4))
    refuse(write_text(tmp_path / "log.csv"), "no column '9'", user="9")


def test_a_first_line_of_digits_is_a_row_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    path = write_text(tmp_path / "log.csv", header=False)
    assert read_with_notice(path, "without a header").reading.rows == len(ROWS)
    log = us.read_log(path, "196", "242", "881250949", header=True)
    assert log.reading.rows == len(ROWS) - 1


def test_columns_that_could_be_anything_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("1,2,3\n2,3,4\n")
    refuse(path, "not clear which .*'1', '2', '3'.*number the columns from 1, as in user='1' item='2' time='3'")
    log = us.read_log(path, "1", "2", "3", header=False)
    assert held(log, 4) == {1: {2}, 2: {3}}


def test_names_of_columns_must_be_as_many_as_there_are(tmp_path: Path) -> None:
    path = write_text(tmp_path / "u.data", sep="\t", header=False)
    refuse(path, "has 4 columns, and column_names names 3", column_names=["user", "item", "time"])
    refuse(path, "twice", column_names=["user", "item", "User", "time"])
    refuse(path, "empty name", column_names=["user", "", "time", "x"])


def test_names_replace_a_header_that_is_plain_to_see(tmp_path: Path) -> None:
    path = write_text(tmp_path / "log.csv")
    log = read_with_notice(path, "its header replaced", user="a", item="b", time="d", column_names=list("abcd"))
    check(log)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [("latin-1", "in latin-1"), ("cp1252", "in cp1252"), ("utf-16", "in UTF-16"), ("utf-16-le", "in UTF-16")],
)
def test_text_in_another_encoding_is_read_and_said(encoding: str, words: str, tmp_path: Path) -> None:
    name = "ren\u00e9 \u20ac" if encoding != "latin-1" else "ren\u00e9"
    text = f"user,item,time\n{name},caf\u00e9,3\nann,caf\u00e9,4\n"
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode(encoding))
    truth = {name: {"caf\u00e9"}, "ann": {"caf\u00e9"}}
    assert held(read_with_notice(path, words), 4) == truth
    assert held(us.read_log(path, encoding=encoding), 4) == truth
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    assert held(read_with_notice(packed, words), 4) == truth


def test_an_encoding_that_is_not_that_of_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes("user,item,time\nren\u00e9,1,3\n".encode("latin-1"))
    refuse(path, "UTF-8.*encoding='latin-1'", encoding="utf-8")
    refuse(path, "in ascii|utf-32|UTF-32|codec", encoding="utf-32")
    refuse(path, "Python does not know", encoding="klingon")
    refuse(path, "Python does not know", encoding="rot13")


@pytest.mark.parametrize("sep", [",", "\t", "::"])
def test_a_stray_quote_in_a_title_is_a_character(sep: str, tmp_path: Path) -> None:
    titles = ['"Weird Al" Yankovic', 'say "no"', '5" screen', "plain", '"']
    lines = [["user", "title", "item", "time"]]
    lines += [[str(u), title, str(i), str(t)] for (u, i, _, t), title in zip(ROWS, titles, strict=True)]
    path = tmp_path / "log.csv"
    path.write_text("".join(sep.join(line) + "\n" for line in lines))
    log = us.read_log(path, sep=sep, quote="none", labels=["title"])
    check(log)
    assert sorted(log.labels["title"].values.to_pylist()) == sorted(titles)
    if sep == ",":
        check(read_with_notice(path, "quotes read as plain characters"))
        refuse(path, "quote", quote='"')


def test_quotes_that_would_join_whole_lines_are_characters(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,item,time\n1,"Weird Al,3\n2,no",4\n3,b,5\n')
    log = read_with_notice(path, "plain characters")
    assert held(log, 5) == {1: {'"Weird Al'}, 2: {'no"'}, 3: {"b"}}


def test_real_quotes_are_quotes(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,item,time\n1,"a, ""b"" and\nc",3\n2,d,4\n')
    assert held(us.read_log(path), 4) == {1: {'a, "b" and\nc'}, 2: {"d"}}


@pytest.mark.parametrize("shown", range(21, 46))
def test_quotes_are_recognised_wherever_the_first_lines_are_cut(shown: int) -> None:
    text = '1;"Oats ""Size 4""; bag";3\n2;"Oats ""Size 5""; bag";4\n'
    assert find_quote(text[:shown], ";", whole=False) == '"'


def test_a_long_file_of_quoted_values_is_read(tmp_path: Path) -> None:
    rows = [f'{n % 90};"Oats ""Size {n % 7}""; bag";{1000 + n};1,99\n' for n in range(5000)]
    for extra in range(0, 30, 2):  # the first lines that are looked at end at every place of a line
        path = tmp_path / "log.csv"
        path.write_text("user;item;time;price" + "x" * extra + "\n" + "".join(rows))
        assert us.read_log(path).at(1006).n_items == 7


def zip_of(content: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inside in content.items():
            archive.writestr(name, inside)
    return out.getvalue()


def zstd(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zip", lambda content: zip_of({"deep/log.csv": content})),
    ],
)
def test_packed_text_is_unpacked_and_a_damaged_one_refused(
    ending: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    content = write_text(tmp_path / "log.csv").read_bytes() * 1
    path = tmp_path / f"packed.csv{ending}"
    path.write_bytes(pack(content))
    check(us.read_log(path))
    (tmp_path / "packed.csv").write_bytes(pack(content))  # whatever it is called
    check(us.read_log(tmp_path / "packed.csv"))
    path.write_bytes(pack(content)[:-20])
    refuse(path, r"packed\.csv")


def test_zstandard_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.zst"
    with pa.output_stream(str(path), compression="zstd") as out:
        out.write(write_text(tmp_path / "log.csv").read_bytes())
    check(us.read_log(path))
    path.write_bytes(path.read_bytes()[:-10])
    refuse(path, r"log\.csv\.zst")


def test_one_of_several_files_in_an_archive_is_chosen(tmp_path: Path) -> None:
    content = write_text(tmp_path / "log.csv").read_bytes()
    path = tmp_path / "ml.zip"
    path.write_bytes(zip_of({"ml/ratings.csv": content, "ml/README": b"hello\n", "__MACOSX/ml/._x": b"\0"}))
    refuse(path, r"'ml/ratings.csv' and 'ml/README' in it: choose with table")
    refuse(path, "none is called 'movies.csv'", table="movies.csv")
    check(us.read_log(path, table="ratings.csv"))
    check(us.read_log(f"{path}?table=*.csv"))
    path.write_bytes(zip_of({}))
    refuse(path, "no file")


def test_parts_in_an_archive_are_one_log(tmp_path: Path) -> None:
    lines = write_text(tmp_path / "log.csv").read_text().splitlines(keepends=True)
    parts = {f"part-{k}.csv": (lines[0] + line).encode() for k, line in enumerate(lines[1:])}
    (tmp_path / "parts.zip").write_bytes(zip_of(parts))
    check(us.read_log(tmp_path / "parts.zip", table="part-*.csv"))


def write_sqlite(path: Path, table: str = "events", extra: str | None = None) -> Path:
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE {table} ({', '.join(NAMES)})")
        database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", ROWS)
        if extra:
            database.execute(f"CREATE TABLE {extra} (a)")
    database.close()
    return path


@pytest.mark.parametrize("ending", ["db", "sqlite", "sqlite3", "anything"])
def test_a_table_of_sqlite_is_read(ending: str, tmp_path: Path) -> None:
    path = write_sqlite(tmp_path / f"log.{ending}")
    check(us.read_log(path))
    assert us.read_log(path).users.values.type == pa.int64()
    path.write_bytes(path.read_bytes()[:3000])
    refuse(path, "cannot read|malformed|not a database|damaged")


def test_a_table_of_several_is_named(tmp_path: Path) -> None:
    path = write_sqlite(tmp_path / "log.db", extra="movies")
    refuse(path, "has the tables 'events' and 'movies': choose one with table='events'")
    refuse(path, "none is called 'event': choose one of these; did you mean 'events'", table="event")
    check(us.read_log(path, table="events"))
    check(us.read_log(f"{path}?table=EVENTS"))


def test_values_of_several_types_in_a_sqlite_column_become_one(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "log.db") as database:
        database.execute("CREATE TABLE t (user, item, time)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, "a", 1.5), ("x", 2, 2), (None, "b", 3)])
    database.close()
    log = us.read_log(tmp_path / "log.db", drop_nulls=True)
    assert held(log, 3) == {"1": {"a"}, "x": {"2"}}
    assert log.reading.dropped == 1


def test_a_table_of_duckdb_is_read_and_its_views_are_not(tmp_path: Path) -> None:
    path = tmp_path / "log.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE events (user BIGINT, item BIGINT, rating INT, time BIGINT)")
        database.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", ROWS)
        database.execute("CREATE VIEW other AS SELECT * FROM events")
    check(us.read_log(path))
    refuse(path, "none is called 'other'", table="other")
    path.rename(tmp_path / "log.db")
    check(us.read_log(tmp_path / "log.db"))
    (tmp_path / "log.db").write_bytes((tmp_path / "log.db").read_bytes()[:5000])
    refuse(tmp_path / "log.db", r"cannot read .*log\.db")


def test_a_view_of_sqlite_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with sqlite3.connect(path) as database:
        numbers = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
        database.execute(f"CREATE VIEW endless AS SELECT n AS user, n AS item, n AS time FROM ({numbers})")
    database.close()
    refuse(path, "has no tables")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE events (user, item, rating, time)")
        database.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", ROWS)
    database.close()
    check(us.read_log(path))
    refuse(path, "none is called 'endless'", table="endless")


_ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("library", ["SQLite", "DuckDB", "one that does not listen"])
def test_an_interrupt_is_heard_while_a_library_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    path = tmp_path / "log.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (user, item, time)")
    database.close()
    monkeypatch.setattr(
        database_files, "_refuse_damage", lambda database, _: database.execute(_ENDLESS).fetchall()
    )
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def multiply() -> None:
        with open_source({"user": [1]}) as source:
            source.connection.execute("SELECT sum(a.range % (b.range + 1)) FROM range(9999999) a, range(99999) b")

    work: Callable[[], object] = {
        "SQLite": lambda: us.read_log(path),
        "DuckDB": multiply,
        "one that does not listen": lambda: run_interruptibly(
            lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", 10_000_000)
        ),
    }[library]
    timer = threading.Timer(1, interrupt)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background ignores
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert time.monotonic() - sent[0] < 1
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, usual)


_DEAF = """
import hashlib, os, signal, sys, threading
from unskew.__main__ import run
from unskew.reading import database_files

number = getattr(signal, sys.argv.pop())

def work(database, _):
    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
    database.create_function("work", 0, lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", 300_000_000))
    database.execute("SELECT work()").fetchall()

database_files._refuse_damage = work
signal.signal(signal.SIGINT, signal.default_int_handler)
run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("name", "code", "line"), [("SIGINT", 130, "interrupted: nothing was written\n"), ("SIGTERM", 143, "")]
)
def test_a_command_ends_in_order_while_sqlite_does_not_listen(
    tmp_path: Path, name: str, code: int, line: str
) -> None:
    with sqlite3.connect(tmp_path / "log.db") as database:
        database.execute("CREATE TABLE t (user, item, time)")
    database.close()
    (tmp_path / "spill").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _DEAF, "doctor", tmp_path / "log.db", name],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,  # the work takes longer
        env={**os.environ, "TMPDIR": str(tmp_path / "spill")},
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", line)
    assert list((tmp_path / "spill").iterdir()) == []


def write_excel(path: Path, *, header: bool = True, sheets: int = 1) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "events"
    for row in ([tuple(NAMES)] if header else []) + ROWS:
        sheet.append(row)
    for k in range(1, sheets):
        book.create_sheet(f"notes {k}")
    book.save(path)
    return path


def test_a_sheet_is_read(tmp_path: Path) -> None:
    log = us.read_log(write_excel(tmp_path / "log.xlsx"))
    check(log)
    assert log.users.values.type == pa.int64()
    check(us.read_log(write_excel(tmp_path / "bare.xlsx", header=False), "1", "2", "4"))
    path = write_excel(tmp_path / "two.xlsx", sheets=2)
    refuse(path, "has the sheets 'events' and 'notes 1': choose one with table='events'")
    check(us.read_log(path, table="events"))
    path.write_bytes(path.read_bytes()[:-200])
    refuse(path, r"two\.xlsx")


def test_a_sheet_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_excel(tmp_path / "log.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    refuse(path, r"pip install 'unskew\[excel\]', or save the sheet as CSV")


class Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    from unskew.reading.unpacking import copy_standard_input

    def put(content: bytes) -> None:
        copy_standard_input.cache_clear()
        monkeypatch.setattr(sys, "stdin", Stdin(content))

    return put


def test_standard_input_is_a_file_like_any_other(feed: Callable[[bytes], None], tmp_path: Path) -> None:
    feed(write_text(tmp_path / "log.csv").read_bytes())
    check(us.read_log("-"))
    check(us.read_log("-"))  # it is kept, since it cannot be read again
    feed(gzip.compress(write_text(tmp_path / "u.data", sep="\t", header=False).read_bytes()))
    check(read_with_notice("-", "standard input: read as tab-separated text without a header"))
    feed(b"")
    refuse("-", "standard input is empty")


def test_several_files_and_folders_of_text_are_one_log(tmp_path: Path) -> None:
    lines = write_text(tmp_path / "whole.csv").read_text().splitlines(keepends=True)
    folder = tmp_path / "days"
    folder.mkdir()
    for k, line in enumerate(lines[1:]):
        (folder / f"{k}.csv").write_text(lines[0] + line)
    check(us.read_log(folder))
    check(us.read_log([folder / f"{k}.csv" for k in range(len(ROWS))]))
    check(us.read_log(str(folder / "*.csv")))
    (folder / "other.csv").write_text("movie,title\n1,a\n")
    refuse(folder, "other.csv has no column 'user'")


def test_any_text_is_read_whatever_it_is_called_and_a_format_that_is_asked_for_is_checked(tmp_path: Path) -> None:
    path = write_text(tmp_path / "log.export")
    check(us.read_log(path))
    path.write_text("".join(f'{{"user": {u}, "item": {i}, "time": {t}}}\n' for u, i, _, t in ROWS))
    check(us.read_log(path))
    check(us.read_log(path, format="json"))
    refuse(path, "to be read as a Parquet file but is not a Parquet file: leave out format", format="parquet")
    refuse(path, "give one of csv", format="word")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("log.xls", r"pd.read_excel\('log.xls'\).to_parquet\('log.parquet'\)"),
        ("log.pkl", "read_pickle"),
        ("log.tar", "tar xf log.tar"),
        ("log.bin", "save it as Parquet or CSV"),
    ],
)
def test_what_cannot_be_read_names_a_recipe(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(bytes(range(256)) * 4)
    refuse(tmp_path / name, words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sep": ""}, "sep is ''"),
        ({"sep": "abcde"}, "sep is 'abcde'"),
        ({"quote": "ab"}, "quote is 'ab'"),
        ({"header": "yes"}, "header is 'yes'"),
        ({"table": ""}, "table is ''"),
        ({"time_format": "day"}, "time_format is 'day'"),
        ({"time_format": "%Y", "time_unit": "s"}, "give one of the two"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    refuse(write_text(tmp_path / "log.csv"), words, **options)


def test_options_for_files_are_refused_for_a_table() -> None:
    refuse({"user": [1], "item": [1], "time": [1]}, "sep says how to read a file, and this is a table", sep=";")
    refuse("log.csv?sepp=;", "parameter 'sepp'; did you mean 'sep'")
    refuse("log.csv?header=perhaps", "write header=yes or header=no")


fields = st.text(
    st.characters(codec="ascii", exclude_characters='\r\n",;|\t: ', categories=["L", "N"]), min_size=1
)


@given(
    st.lists(st.tuples(fields, fields, fields), min_size=2, max_size=8),
    st.sampled_from([",", "\t", ";", "|", "::"]),
)
def test_the_separator_is_the_one_that_was_written(rows: list[tuple[str, ...]], sep: str) -> None:
    lines = [sep.join(row) for row in rows]
    assert find_separator(lines) == sep
    form = sniff_text("\n".join(lines) + "\n", FileOptions(), whole=True)
    assert form.rows == tuple(rows)


@given(st.lists(st.tuples(st.integers(0), st.integers(0), st.integers(0)), min_size=1, max_size=9))
def test_a_row_of_numbers_is_never_taken_for_a_header(rows: list[tuple[int, ...]]) -> None:
    texts = [tuple(map(str, row)) for row in rows]
    assert find_header(texts) is False
    assert find_header([("user", "item", "time"), *texts]) is True
