"""A first look at a file: what it finds is what plain Python counts, and the commands that it gives work."""

from __future__ import annotations

import json
import random
import shlex
import sqlite3
import tomllib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import unskew as us
from unskew.cli import main
from unskew.cli.doctor_command import format_configuration
from unskew.examining import examine

START = 874724710


def rows(n: int = 900, seed: int = 1) -> list[tuple[int, int, int]]:
    draw = random.Random(seed)
    return [(draw.randint(1, 40), draw.randint(1, 30), START + 86400 * draw.randint(0, 90)) for _ in range(n)]


ROWS = rows()


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(one) for one in arguments])


def look(*arguments: object) -> dict[str, Any]:
    result = run("doctor", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def write(path: Path, header: str = "member_id,sku,rating,ts\n", sep: str = ",") -> Path:
    path.write_text(header + "".join(f"{u}{sep}{i}{sep}5{sep}{t}\n" for u, i, t in ROWS))
    return path


def check_counts(found: dict[str, Any]) -> None:
    pairs = {(u, i) for u, i, _ in ROWS}
    sizes = sorted(sum(u == user for u, _ in pairs) for user in {u for u, _ in pairs})
    assert found["rows"] == len(ROWS)
    assert found["users"] == len(sizes)
    assert found["items"] == len({i for _, i in pairs})
    assert found["interactions"] == len(pairs)
    assert found["repeats"] == len(ROWS) - len(pairs)
    assert (found["sizes"]["least"], found["sizes"]["most"]) == (sizes[0], sizes[-1])
    assert found["sizes"]["mean"] == pytest.approx(sum(sizes) / len(sizes))
    assert str(found["first"]).startswith("1997-09-20")
    assert found["time_unit"] == "s"


def test_columns_are_guessed_by_their_names_and_counted(tmp_path: Path) -> None:
    found = look(write(tmp_path / "log.csv"))
    assert found["roles"] == {"user": "member_id", "item": "sku", "time": "ts"}
    assert found["guessed"] == ["user", "item", "time"]
    check_counts(found)


def test_columns_without_names_are_guessed_by_what_they_hold(tmp_path: Path) -> None:
    found = look(write(tmp_path / "u.data", "", "\t"))
    assert found["roles"] == {"user": "1", "item": "2", "time": "4"}
    assert "tab-separated text without a header" in found["read_as"][0]
    check_counts(found)


def test_what_is_said_is_not_guessed(tmp_path: Path) -> None:
    found = look(write(tmp_path / "log.csv"), "--user", "sku", "--item", "member_id")
    assert found["roles"] == {"user": "sku", "item": "member_id", "time": "ts"}
    assert found["guessed"] == ["time"]


def make_sqlite(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "log.db") as database:
        database.execute("CREATE TABLE clicks (visitor, product, at)")
        database.execute("CREATE TABLE others (a)")
        database.executemany("INSERT INTO clicks VALUES (?, ?, datetime(?, 'unixepoch'))", ROWS)
    database.close()
    return ["log.db", "--table", "clicks"]


def make_numbers(folder: Path) -> list[str]:
    (folder / "n.csv").write_text(
        "user,item,time\n" + "".join(f"{u},{i},{(t - START) // 86400}\n" for u, i, t in ROWS)
    )
    return ["n.csv"]


def make_burst(folder: Path) -> list[str]:
    world = us.simulate(users=300, items=120, seed=3)
    world.save(folder / "world")
    return ["world/log.parquet"]


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: [write(folder / "log.csv").name],
        lambda folder: [write(folder / "u.data", "", "::").name],
        lambda folder: [write(folder / "odd name;.txt", "a;b;c;d\n", ";").name, "--sep", ";"],
        make_sqlite,
        make_numbers,
        make_burst,
    ],
)
def test_the_commands_that_it_gives_work(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = look(*make(tmp_path))
    assert len(found["commands"]) >= 4
    for command in found["commands"]:
        program, name, *arguments = shlex.split(command)
        assert program == "unskew"
        if name == "report":
            continue  # a page takes a while; it has the options of evaluate, and its own tests
        quick = ["--quick"] if name == "evaluate" else []  # verdicts have their own tests
        result = run(name, *arguments, *quick)
        assert result.exit_code == 0, (command, result.stderr)


def test_missing_values_are_counted_and_the_commands_drop_them(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    path.write_text(path.read_text() + f",7,5,{START}\n3,,5,{START}\n4,7,5,\n,8,5,{START}\n")
    found = look(path)
    assert found["nulls"] == {"user": 2, "item": 1, "time": 1}
    assert "--drop-nulls" in found["commands"][0]


@pytest.mark.parametrize("other", ["x", "7", "7.0"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "db"])
def test_doctor_counts_as_missing_what_reading_drops(ending: str, other: str, tmp_path: Path) -> None:
    users = [other, "NULL", "nan", "-1", None, other, None]
    path = write_users(tmp_path / f"log.{ending}", users)
    whole = us.read_log(path, drop_nulls=True)
    assert set(whole.users.to_list()) == {other, "NULL", "nan", "-1"}
    examination = examine(path)
    assert examination.nulls == {"user": len(users) - len(whole), "item": 0, "time": 0}
    note = "the user ids '-1', 'NULL' and 'nan' may mean that the user is missing: remove these rows first if so"
    assert note in examination.notes
    with pytest.raises(us.UnskewError, match=r"column 'user' has 2 null values, the first in row 5 of"):
        us.read_log(path)


def test_minus_one_among_numbers_is_an_id_too(tmp_path: Path) -> None:
    path = write_users(tmp_path / "log.parquet", [3, -1, 5, None])
    examination = examine(path)
    assert (examination.users, examination.nulls["user"]) == (3, 1)
    assert "the user id -1 may mean that the user is missing: remove these rows first if so" in examination.notes


def write_users(path: Path, users: list[Any]) -> Path:
    """A log with these users, each with an item and a time of its own."""
    table = pa.table({"user": users, "item": [f"i{k}" for k in range(len(users))], "time": range(len(users))})
    if path.suffix == ".csv":
        rows = [["" if value is None else str(value) for value in row.values()] for row in table.to_pylist()]
        path.write_text("\n".join(map(",".join, [table.column_names, *rows])) + "\n")
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE log (user, item, time)")
            connection.executemany("INSERT INTO log VALUES (:user, :item, :time)", table.to_pylist())
    return path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("user,item,time\n1,2,12/01/2010\n1,3,11/02/2010\n", "--time-format %d/%m/%Y"),
        ("user,item,time\n1,2,monday\n", "neither a number nor a date"),
        ("user,item\n1,2\n", "--time"),
        ("only\n1\n", "not clear which columns are the item and the time"),
        ("user,item,time\n", "no rows"),
        ("user,item,time\n1,2,3\n1,2\n", "expected 3 columns, found 2"),
        ("user,item,time\n,,\n", "nothing is left"),
    ],
)
def test_an_odd_file_is_described_as_far_as_it_goes(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(content)
    found = look(path)
    assert any(words in problem for problem in found["problems"])
    assert found["columns"]
    assert run("doctor", path).exit_code == 0


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    for name in ("log.parquet", "missing.csv"):
        result = run("doctor", tmp_path / name)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1


def test_files_of_which_the_first_lacks_a_column_are_described(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item\n1,2\n")
    (tmp_path / "b.csv").write_text("user,item,time\n1,2,3\n")
    found = examine(tmp_path)
    assert "a.csv has no column 'time'" in found.problems[0]


def test_one_item_for_each_user_leaves_nothing_to_hold_out() -> None:
    found = examine({"user": [1, 2], "item": [1, 2], "time": [1, 2]})
    assert found.protocol is None
    assert "no user has more than one item" in str(found.advice)
    assert [command.split()[1] for command in found.commands] == ["drift", "weights"]


def test_few_late_users_speak_for_leave_one_out_and_many_for_a_time_split() -> None:
    few = {"user": [1] * 9 + [2] * 9, "item": [*range(9), *range(9)], "time": [*range(9), *range(9)]}
    assert examine(few).protocol == "leave-one-out"
    many = {
        "user": [k // 5 for k in range(500)],
        "item": [k % 5 for k in range(500)],
        "time": [k % 5 for k in range(500)],
    }
    assert examine(many).protocol == "time split"


def test_a_saved_log_is_examined_too(tmp_path: Path) -> None:
    us.read_log({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]}).save(tmp_path / "log.arrow")
    found = examine(tmp_path / "log.arrow")
    assert (found.users, found.items, found.interactions) == (2, 2, 3)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from('ab1290,;\t\n" -:/.é'), max_size=120))
def test_any_text_is_described_or_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    result = run("doctor", path)
    assert result.exit_code in (0, 2), result.output
    assert result.exit_code == 0 or len(result.stderr.splitlines()) == 1


def test_many_users_with_a_single_item_are_told_with_what_to_do() -> None:
    table = {"user": [1, 1, 2, 3], "item": list("abab"), "time": [1, 2, 3, 4]}
    [note] = [note for note in examine(table).notes if "single item" in note]
    assert note.startswith("67 % of the users have a single item")
    assert note.endswith("Compare models with --min-items 2 as well")
    table = {"user": [1, 1, 2, 2], "item": list("abab"), "time": [1, 2, 3, 4]}
    assert not [note for note in examine(table).notes if "single item" in note]


# ---- what columns hold decides, besides their names


def write_table(path: Path, header: str, lines: Sequence[tuple[object, ...]]) -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, line)) for line in lines)]) + "\n")
    return path


def retail_lines(n: int = 300) -> list[tuple[object, ...]]:
    """Invoices of several lines each, all of one customer, as in the best-known retail log."""
    draw = random.Random(2)
    lines: list[tuple[object, ...]] = []
    for invoice in range(n):
        customer, day = draw.choice([*range(12346, 12386), ""]), draw.randint(1, 28)
        for _ in range(draw.randint(1, 6)):
            code = draw.randint(0, 79)
            stock, name = f"{20000 + code}{'A' if code % 7 == 0 else ''}", f"CANDLE NO {code}"
            when = f"{draw.randint(13, 28)}/{draw.randint(1, 12)}/2011 {day % 24}:26"
            amounts = draw.choice([1, 2, 6, 12, 24, 48, -1]), f"{draw.randint(1, 999) / 100:.2f}"
            lines.append((536365 + invoice, stock, name, amounts[0], when, amounts[1], customer, "United Kingdom"))
    return lines


RETAIL = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country"


def test_the_number_of_an_invoice_is_no_item(tmp_path: Path) -> None:
    seen = look(write_table(tmp_path / "retail.csv", RETAIL, retail_lines()))
    assert seen["roles"] == {"user": "CustomerID", "item": "StockCode", "time": "InvoiceDate"}
    assert seen["problems"] == []
    assert seen["items"] == len({line[1] for line in retail_lines() if line[6] != ""})
    assert seen["nulls"]["user"] == sum(line[6] == "" for line in retail_lines())


def test_an_invoice_is_no_item_under_any_name(tmp_path: Path) -> None:
    """Its values belong to one user each, and those of the third column to many."""
    lines = [(line[0], line[6], line[1], line[4]) for line in retail_lines() if line[6] != ""]
    seen = look(write_table(tmp_path / "log.csv", "a,customer,b,t", lines))
    assert seen["roles"] == {"user": "customer", "item": "b", "time": "t"}


def split_date_lines(n: int = 400) -> list[tuple[object, ...]]:
    draw = random.Random(3)
    return [
        (draw.randint(1, 40), draw.randint(1, 30), draw.randint(1, 31), draw.randint(1, 12), 2023)
        for _ in range(n)
    ]


def test_the_day_of_a_month_is_no_time(tmp_path: Path) -> None:
    path = write_table(tmp_path / "log.csv", "customer,product,day,month,year", split_date_lines())
    seen = look(path)
    assert "time" not in seen["roles"]
    assert seen["problems"] == [
        "no column holds times, and 'day', 'month' and 'year' are parts of a date: join them into one column and "
        "name it with --time"
    ]
    lines = [(*line, START + 3600 * k) for k, line in enumerate(split_date_lines())]
    seen = look(write_table(path, "customer,product,day,month,year,purchased", lines))
    assert seen["roles"] == {"user": "customer", "item": "product", "time": "purchased"}
    seen = look(path, "--time", "day")
    assert seen["roles"]["time"] == "day"


def test_the_kind_of_an_event_is_no_item(tmp_path: Path) -> None:
    draw = random.Random(4)
    lines = [
        (
            1433221332117 + 86_400_000 * draw.randint(0, 100) + k,
            draw.randint(1, 40),
            draw.choice(["view", "view", "addtocart", "transaction"]),
            draw.randint(1, 30),
            k if draw.random() < 0.02 else "",
        )
        for k in range(500)
    ]
    header = "timestamp,visitorid,event,itemid,transactionid"
    seen = look(write_table(tmp_path / "events.csv", header, lines))
    assert seen["roles"] == {"user": "visitorid", "item": "itemid", "time": "timestamp"}
    assert seen["time_unit"] == "ms"
    seen = look(write_table(tmp_path / "other.csv", "ms,a,event,b,c", lines))
    assert seen["roles"] == {"user": "a", "item": "b", "time": "ms"}


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        (
            "event_time,event_type,product_id,category_id,user_id,user_session",
            ("user_id", "product_id", "event_time"),
        ),
        ("session_id,user_id,item_id,eventdate", ("user_id", "item_id", "eventdate")),
        ("Session ID,Timestamp,Item ID,Category", ("Session ID", "Item ID", "Timestamp")),
        ("reviewerID,asin,overall,unixReviewTime", ("reviewerID", "asin", "unixReviewTime")),
        ("t_dat,customer_id,article_id,price", ("customer_id", "article_id", "t_dat")),
        ("userId,movieId,rating,timestamp", ("userId", "movieId", "timestamp")),
        ("review_id,user_id,business_id,stars,date", ("user_id", "business_id", "date")),
        ("Unnamed: 0,client,article_name,article,ts", ("client", "article", "ts")),
        ("user,item,product,timestamp", ("user", "product", "timestamp")),  # whose item is the number of the row
    ],
)
def test_columns_of_well_known_logs_are_detected(header: str, roles: tuple[str, str, str], tmp_path: Path) -> None:
    draw = random.Random(5)
    small = {"event_type", "overall", "stars", "rating", "Category"}
    unique = {"review_id", "Unnamed: 0"}
    columns = header.split(",")
    user, item, time = roles

    def value(name: str, row: int) -> object:
        if name == time:
            return f"2021-{1 + row % 12:02}-{1 + row % 28:02}" if "dat" in name else START + row * 5000
        if name in unique or (name, item) == ("item", "product"):
            return row
        return draw.randint(1, 5) if name in small else draw.randint(1, 35)

    lines = [tuple(value(name, row) for name in columns) for row in range(400)]
    seen = look(write_table(tmp_path / "log.csv", header, lines))
    assert seen["roles"] == {"user": user, "item": item, "time": time}


def test_columns_that_fit_nothing_are_named_with_the_reason(tmp_path: Path) -> None:
    lines = [(k % 40, k, "view", START + k) for k in range(300)]
    seen = look(write_table(tmp_path / "log.csv", "user,click,event,time", lines))
    assert "item" not in seen["roles"]
    assert seen["problems"] == [
        "it is not clear which column is the item ('click' has another value in nearly every row; 'event' has 1 "
        "different value only): name it with --item"
    ]


def test_ids_that_look_like_times_lose_against_times(tmp_path: Path) -> None:
    draw = random.Random(6)
    lines = [(10**9 + draw.randint(0, 40), 1_500_000_000 + draw.randint(0, 30), k % 90) for k in range(300)]
    seen = look(write_table(tmp_path / "log.csv", "account_no,product_no,day", lines))
    assert seen["roles"] == {"user": "account_no", "item": "product_no", "time": "day"}


# ---- whether the mix drifted, and what to ask first


def test_the_drift_of_the_item_mix_is_that_of_the_first_command(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    seen = look(path)
    program, name, *arguments = shlex.split(seen["commands"][0])
    assert (program, name) == ("unskew", "drift")
    moved = json.loads(run("drift", *arguments, "--json").stdout)
    mix = seen["item_mix"]
    assert {key: mix[key] for key in ("reference", "at", "bound", "chance", "drifted")} == {
        key: moved[key] for key in ("reference", "at", "bound", "chance", "drifted")
    }
    assert mix["drifted"] is False  # items are drawn from one mix all the time
    printed = " ".join(run("doctor", path).stdout.split())
    assert mix["conclusion"] in printed
    assert f"Next ({mix['reference']} is a guess: give the last date before anything was recommended):" in printed


def test_a_log_of_one_date_has_no_drift_to_tell() -> None:
    assert examine({"user": [1, 1, 2], "item": [1, 2, 1], "time": [5, 5, 5]}).item_mix is None


def test_what_recommendations_caused_is_asked_before_campaigns_are_excluded(tmp_path: Path) -> None:
    make_burst(tmp_path)
    seen = look(tmp_path / "world/log.parquet")
    assert seen["campaigns"]
    names = [command.split()[1] for command in seen["commands"]]
    campaigns = [k for k, command in enumerate(seen["commands"]) if "--campaign" in command]
    assert names.index("excess") == campaigns[0] < campaigns[-1]
    assert all(window in seen["commands"][campaigns[0]] for window in seen["campaigns"])
    printed = " ".join(run("doctor", tmp_path / "world/log.parquet").stdout.split())
    assert "Before you exclude them with --campaign, ask unskew excess" in printed


# ---- saving what was detected


@pytest.mark.filterwarnings("ignore::unskew.errors.ReadingNotice")
def test_options_are_those_of_read_log(tmp_path: Path) -> None:
    path = write_table(tmp_path / "retail.csv", RETAIL, retail_lines())
    seen = examine(path)
    log = us.read_log(path, **seen.options)
    assert (len(log.users), len(log.items), len(log)) == (seen.users, seen.items, seen.interactions)


@pytest.mark.filterwarnings("ignore::unskew.UnskewWarning")
@pytest.mark.parametrize("kind", ["retail", "numbered", "semicolons", "database", "weird name"])
def test_written_options_make_evaluate_need_none(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    epoch = ["--time-unit", "s"]
    files: dict[str, tuple[list[str], list[str]]] = {
        "retail": (
            [write_table(Path("retail.csv"), RETAIL, retail_lines()).name],
            ["--user", "CustomerID", "--item", "StockCode", "--time", "InvoiceDate", "--drop-nulls"],
        ),
        "numbered": (
            [write(Path("u.data"), "", "\t").name],
            ["--user", "1", "--item", "2", "--time", "4", *epoch],
        ),
        "semicolons": (
            [write(Path("log.txt"), "Kunde;Artikel;Note;ts\n", ";").name, "--sep", ";"],
            ["--user", "Kunde", "--item", "Artikel", "--time", "ts", *epoch],
        ),
        "database": (make_sqlite(tmp_path), ["--user", "visitor", "--item", "product", "--time", "at"]),
        "weird name": (
            [write(Path("a 'b' é.csv"), 'visitor é,"sku \\ ""x""",rating,ts\n').name],
            ["--user", "visitor é", "--item", 'sku \\ "x"', "--time", "ts", *epoch],
        ),
    }
    arguments, flags = files[kind]
    written = look(*arguments, "--write")
    assert written["written"] == "unskew.toml"
    assert not any(flag in command for command in written["commands"] for flag in ("--user", "--item", "--sep"))
    scoring = ("--at", written["last"], "-r", "popular", "--json")
    saved = run("evaluate", arguments[0], *scoring)
    assert saved.exit_code == 0, saved.output
    expected = run("evaluate", *arguments, *flags, *scoring, "--no-config")
    assert expected.exit_code == 0, expected.output
    assert json.loads(saved.stdout)["scores"] == json.loads(expected.stdout)["scores"]
    alone = run("evaluate", *scoring)  # the file knows the log as well
    assert json.loads(alone.stdout)["scores"] == json.loads(expected.stdout)["scores"]


def test_what_was_written_is_replaced_and_what_was_edited_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("log.csv"))
    write(Path("other.csv"), "buyer,book,rating,ts\n")
    assert run("doctor", "log.csv", "--write").exit_code == 0
    assert 'item = "sku"' in Path("unskew.toml").read_text()
    assert run("doctor", "other.csv", "--write").exit_code == 0  # and no column of the file before is asked for
    assert 'item = "book"' in Path("unskew.toml").read_text()
    edited = Path("unskew.toml").read_text() + "# 5 folds, as agreed\n[protocol]\nfolds = 5\n"
    for text in (edited, "# by hand\n", ""):
        Path("unskew.toml").write_text(text)
        result = run("doctor", "log.csv", "--write")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.splitlines() == [
            "error: unskew.toml exists, and unskew did not write it or it was edited since: rename it, or leave "
            "out --write"
        ]
        assert Path("unskew.toml").read_text() == text


def test_options_in_pyproject_are_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("log.csv"))
    Path("pyproject.toml").write_text("[tool.unskew]\nat = 'last'\n")
    result = run("doctor", "log.csv", "--write")
    assert (result.exit_code, Path("unskew.toml").exists()) == (2, False)
    assert "pyproject.toml has options for unskew already" in result.stderr


def test_a_log_whose_columns_are_not_known_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("user,item\n1,2\n")
    result = run("doctor", "log.csv", "--write")
    assert (result.exit_code, Path("unskew.toml").exists()) == (2, False)
    assert "not clear which column is the time" in result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith("error: unskew.toml was not written: it is not clear which column is the time")
    assert run("doctor", "log.csv", "--write", "--json").stdout == ""


@given(st.dictionaries(st.sampled_from(["user", "item", "time", "sep", "table"]), st.text()), st.text(min_size=1))
def test_any_text_survives_the_file(options: dict[str, str], log: str) -> None:
    try:
        text = format_configuration([log], options)
        text.encode()
    except UnicodeEncodeError:
        return
    read = tomllib.loads(text)
    groups = {"user": "columns", "item": "columns", "time": "columns", "sep": "file", "table": "file"}
    assert {name: read[groups[name]][name] for name in options} == options
    assert read.get("log", "-").removeprefix("./" if log.startswith("~") else "") == log
