"""Logs from a PostgreSQL server, through ADBC: types, errors, bounded memory, and no password anywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import pytest
from click.testing import CliRunner

import unskew as us
from tests.postgres_server import PASSWORD, PostgresServer, run_postgres
from unskew.cli import main
from unskew.reading.exposures import mark_exposed
from unskew.text import hide_secrets

_EVENTS = """
create table events (
    user_id int, item_id text, at timestamptz, local timestamp, day date, code uuid, big numeric, hidden bool
);
insert into events
select g % 5, 'item-' || g % 3, timestamptz '2024-03-01 12:00+02' + g * interval '1 hour',
       timestamp '2024-03-01 12:00', date '2024-03-01' + g, gen_random_uuid(), 12345678901234567890, g % 2 = 0
from generate_series(1, 40) g;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        server.run(_EVENTS)
        yield server


def read(server: PostgresServer, columns: str, table: str = "events", **how: Any) -> us.Log:
    return us.read_log(server.uri, query=f"select {columns} from {table}", **how)


def test_a_query_gives_the_log_that_psql_prints(server: PostgresServer) -> None:
    log = read(server, 'user_id as "user", item_id as item, at as time')
    printed = server.run("select user_id, item_id, extract(epoch from min(at))::bigint from events group by 1, 2")
    expected = sorted((int(u), i, int(t)) for u, i, t in (line.split("|") for line in printed.split()))
    users, items = log.users.take(log.entry_users()).to_pylist(), log.items.take(log.item).to_pylist()
    assert sorted(zip(users, items, (log.time // 10**6).tolist(), strict=True)) == expected
    assert log.axis.zone == "UTC"


@pytest.mark.parametrize(
    ("column", "first"),
    [("at", "2024-03-01T11:00:00+00:00"), ("local", "2024-03-01T12:00:00"), ("day", "2024-03-02")],
)
def test_dates_and_zones_arrive_as_they_are(server: PostgresServer, column: str, first: str) -> None:
    log = read(server, f'user_id as "user", item_id as item, {column} as time')
    assert str(log.axis.show(log.span[0])) == first


def test_ids_of_other_types_keep_all_their_digits(server: PostgresServer) -> None:
    log = read(server, 'code as "user", big as item, at as time, hidden', exposed="hidden")
    assert len(log.users) == 40
    assert sorted(log.items) == ["12345678901234567890"]
    assert log.exposed is not None
    assert log.exposed.sum() == 20


def test_nulls_are_refused_or_dropped(server: PostgresServer) -> None:
    columns = 'nullif(user_id, 3) as "user", item_id as item, at as time'
    with pytest.raises(us.ColumnError, match="column 'user' has 8 null values"):
        read(server, columns)
    log = us.read_log(server.uri, query=f"select {columns} from events", drop_nulls=True)
    assert log.reading.dropped == 8


@pytest.mark.parametrize(
    ("change", "query", "said"),
    [
        ((PASSWORD, "wr0ng"), "select 1", 'password authentication failed for user "shopkeeper": check'),
        (("/postgres", "/nowhere"), "select 1", 'database "nowhere" does not exist'),
        (("", ""), "select * from nothing", 'relation "nothing" does not exist: check the names in the query'),
        (("", ""), "selec 1", 'syntax error at or near "selec"'),
        (("", ""), "select 1/0 as a", "division by zero$"),
        (("", ""), "create table x (a int)", "returns no columns: begin it with SELECT"),
        (("", ""), " ", "it is not said what to read from it: give a query"),
        (("127.0.0.1:", "127.0.0.1:1"), "select 1", "refused|port"),
    ],
)
def test_each_mistake_is_one_line_without_the_password(
    server: PostgresServer, change: tuple[str, str], query: str, said: str
) -> None:
    uri = server.uri.replace(*change)
    with pytest.raises(us.UnskewError, match=said) as caught:
        us.read_log(uri, query=query)
    message = str(caught.value)
    assert "\n" not in message
    assert PASSWORD not in message
    assert "wr0ng" not in message


def test_a_connection_that_is_lost_midway_is_one_line(server: PostgresServer) -> None:
    query = (
        'select g as "user", 1 as item, g as time, '
        "case when g = 300000 then pg_terminate_backend(pg_backend_pid()) end as lost "
        "from generate_series(1, 600000) g"
    )
    with pytest.raises(us.FileError, match="connection was lost") as caught:
        us.read_log(server.uri, query=query)
    assert PASSWORD not in str(caught.value)


def test_a_million_rows_take_bounded_memory(server: PostgresServer) -> None:
    """The rows have 600 MB as texts; reading them may take 300 MB beyond what the program takes to start."""
    program = f"""
import re
from pathlib import Path
from typing import Any
import unskew as us
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1000
us.read_log({{"user": [1], "item": [2], "time": [3]}})
before = peak()
query = ("select g % 50000 as user_id, g / 1000 as item_id, g as time, repeat('x', 600) as note "
         "from generate_series(1, 1000000) g")
log = us.read_log({server.uri!r}, query=query, user="user_id", item="item_id", memory_limit="250MB")
assert len(log) == 1000000, len(log)
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) < 350


def test_no_trace_of_the_password_is_kept_in_a_log(server: PostgresServer, tmp_path: Path) -> None:
    log = read(server, 'user_id as "user", item_id as item, at as time')
    assert PASSWORD not in repr(log) + log.source
    log.save(tmp_path / "log")
    kept = [path for path in tmp_path.rglob("*") if path.is_file()] or [tmp_path / "log"]
    assert all(PASSWORD.encode() not in path.read_bytes() for path in kept)


def test_a_driver_that_is_not_installed_is_named() -> None:
    with pytest.raises(us.FileError, match="pip install 'adbc-driver-mysql'"):
        us.read_log("mysql://ann:pw@localhost/shop", query="select 1")


def test_a_query_without_a_database_is_refused() -> None:
    with pytest.raises(us.InputError, match="query is about a database"):
        us.read_log({"user": [1], "item": [2], "time": [3]}, query="select 1")


def test_a_cursor_of_adbc_is_read_as_it_stands(server: PostgresServer) -> None:
    query = 'select user_id as "user", item_id as item, at as time from events'
    with adbc_driver_postgresql.dbapi.connect(server.uri) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        log = us.read_log(cursor)
    assert len(log) == len(us.read_log(server.uri, query=query))


def test_credentials_come_from_the_environment(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    address = server.uri.replace(f":{PASSWORD}", "")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with pytest.raises(us.FileError, match=r"no password supplied: .* PGPASSWORD"):
        us.read_log(address, query="select 1")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert len(us.read_log(address, query='select 1 as "user", 2 as item, 3 as time')) == 1


@pytest.mark.parametrize(
    "address",
    [
        f"pg://ann:{PASSWORD}@host/shop",
        f"postgresql:/ann:{PASSWORD}@host/shop",
        f"postgresql+psycopg2://ann:{PASSWORD}@host/shop",
        f"host=127.0.0.1 user=ann password={PASSWORD} dbname=shop",
    ],
)
@pytest.mark.parametrize("role", ["log", "lists", "exposures", "seed", "python"])
def test_an_address_that_is_mistyped_shows_no_password(address: str, role: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,time\n1,1,1\n1,2,2\n2,2,3\n")
    if role == "python":
        with pytest.raises(us.UnskewError) as caught:
            us.read_log(address, query="select 1")
        output = f"{caught.value} {caught.value!r}"
    else:
        more = {
            "seed": ["-r", "knn", "--seed", address],
            "log": ["-r", "knn"],
            "lists": ["-r", f"table:{address}"],
            "exposures": ["-r", "knn", "--exposures", address],
        }
        arguments = ["evaluate", address if role == "log" else str(path), *more[role]]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 2
        output = done.output
    assert PASSWORD not in output
    assert "ann" in output


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("table:https://ann:pw@host/a.csv?token=hush", "table:https://ann@host/a.csv?token=..."),
        ("'postgresql://ann:p@w@host/shop'", "'postgresql://ann@host/shop'"),
        ("postgresql://ann:pw@host/shop", "postgresql://ann@host/shop"),
        ("postgresql://ann:p%40w@host/shop?password=hush&x=1", "postgresql://ann@host/shop?password=...&x=1"),
        ("s3://KEY:SECRET@bucket/a.parquet", "s3://KEY@bucket/a.parquet"),
        ("https://host/a.csv?X-Amz-Signature=abc&v=2", "https://host/a.csv?X-Amz-Signature=...&v=2"),
        ("ratings.dat?sep=::", "ratings.dat?sep=::"),
        ("s3://", "s3://"),
    ],
)
def test_addresses_are_shown_without_their_secrets(address: str, shown: str) -> None:
    assert hide_secrets(address) == shown


_IMPRESSIONS = """
create table raw_events (user_id int, item_id int, event text, created_at timestamptz);
insert into raw_events values
    (1, 10, 'purchase', '2024-03-01 10:00Z'), (1, 10, 'purchase', '2024-03-02 10:00Z'),
    (1, 11, 'view', '2024-03-01 11:00Z'),
    (2, 10, 'add_to_list', '2024-03-03 10:00Z'), (null, 12, 'purchase', '2024-03-03 10:00Z');
insert into raw_events select 3, g, 'purchase', '2024-03-04 10:00Z' from generate_series(1, 501) g;
create table sessions (session_id text, user_id int);
insert into sessions values ('s1', 1), ('s2', null);
create table impressions (session_id text, user_id int, item_id int, surface text, shown_at timestamptz);
insert into impressions values
    ('s1', null, 10, 'home', '2024-02-29 10:00Z'), (null, 1, 10, 'email', '2024-02-29 12:00Z'),
    (null, 2, 10, 'admin', '2024-03-01 10:00Z'), ('s2', null, 10, 'home', '2024-02-29 10:00Z');
"""


def test_the_queries_of_the_documentation_make_a_log_and_its_exposures(
    server: PostgresServer, tmp_path: Path
) -> None:
    server.run(_IMPRESSIONS)
    page = (Path(us.__file__).parents[2] / "docs" / "reading.md").read_text()
    of_log, of_exposures = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    with pytest.warns(us.ReadingNotice, match="user_id and item_id"):
        log = us.read_log(server.uri, query=of_log.replace("from events", "from raw_events"))
    assert (sorted(log.users), sorted(log.items), len(log)) == ([1, 2], [10], 2)
    shown = server.run(of_exposures).split("\n")[:-1]
    assert len(shown) == 1  # that of the first session, which the e-mail of the same day repeats
    (tmp_path / "shown.csv").write_text(
        "\n".join(["user_id,item_id,time", *(row.replace("|", ",") for row in shown)])
    )
    marked = mark_exposed(log, tmp_path / "shown.csv")
    assert marked.exposed is not None
    assert marked.exposed.tolist() == [True, False]


def test_commands_and_pages_show_no_password(server: PostgresServer, tmp_path: Path) -> None:
    query = "select user_id, item_id, at from events"
    shared = [
        server.uri,
        "--query",
        query,
        "--time",
        "at",
        "--reference",
        "2024-03-01T20:00",
        "-r",
        "knn",
        "--quick",
    ]
    page = tmp_path / "page.html"
    for arguments in (
        ["doctor", server.uri, "--query", query, "--time", "at"],
        ["evaluate", *shared, "--baseline", "popular"],
        ["report", *shared, "--baseline", "popular", "-o", str(page)],
        ["evaluate", server.uri, "--query", "select * from nothing", "-r", "knn"],
    ):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == (2 if "nothing" in arguments[3] else 0), done.output
        assert "postgresql://shopkeeper@127.0.0.1" in done.output or page.exists()
        assert PASSWORD not in done.output
    assert PASSWORD not in page.read_text()
    assert "shopkeeper@127.0.0.1" in page.read_text()


def test_a_configuration_that_nobody_named_has_no_query_and_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text, said in (
        ("log = 'postgresql://localhost/shop'\n", "a relative path below the folder"),
        ("log = 's3://shop/events'\n", "a relative path below the folder"),
        ("[file]\nquery = 'select 1'\n", "left out, unless --config names the file"),
    ):
        Path("unskew.toml").write_text(text)
        done = CliRunner().invoke(main, ["drift", *([] if "log" in text else ["log.csv"]), "--reference", "1"])
        assert done.exit_code == 2
        assert said in done.output
