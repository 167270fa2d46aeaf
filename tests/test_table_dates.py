"""Lists external at several dates: which list counts when, in evaluations, reports and timelines."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW
from tests.test_cli import answer, refused, run
from unskew.errors import ColumnError, EmptyError, InputError, UnskewWarning
from unskew.recommend import Table, recommender
from unskew.testing import batch_of

USERS, ITEMS = ["ann", "bob", "cid"], list("vwxyz")
EVENTS = {
    "user": ["ann", "bob", "cid", "ann", "bob", "cid", "ann", "bob", "cid"],
    "item": list("vwxwxyxyz"),
    "time": ["2013-07-01"] * 3 + ["2013-08-01"] * 3 + ["2013-09-01"] * 3,
}


def a_log() -> us.Log:
    return us.read_log({"user": [u for u in USERS for _ in ITEMS], "item": ITEMS * 3, "time": [1] * 15})


def dated_log() -> us.Log:
    return us.read_log(EVENTS)


def lists_at(table: Any, log: us.Log, at: Any) -> dict[Any, list[Any]]:
    """The whole list of each user at a date."""
    snapshot = log.at(at).number_by_id()
    users = list(log.users)
    batch = batch_of(
        snapshot, snapshot.log.users.codes(users).tolist(), [np.empty(0, dtype=np.int64)] * len(users)
    )
    found = table.fit(snapshot).recommend(batch, len(log.items))
    return {
        u: [snapshot.log.items[c] for c in row if c >= 0]
        for u, row in zip(users, found, strict=True)
        if row[0] >= 0
    }


@given(
    st.dictionaries(st.tuples(st.sampled_from(USERS), st.integers(0, 6)), st.permutations(ITEMS), min_size=1),
    st.integers(1, 9),
    st.randoms(use_true_random=False),
)
@LAW
def test_at_any_date_the_list_of_a_user_is_its_newest_that_is_not_later(
    lists: dict[tuple[str, int], list[str]], at: int, random: Any
) -> None:
    rows = [(u, i, rank, d) for (u, d), items in lists.items() for rank, i in enumerate(items)]
    random.shuffle(rows)
    table = Table(dict(zip(("user", "item", "rank", "date"), map(list, zip(*rows, strict=True)), strict=True)))
    log = us.read_log({"user": USERS * 2, "item": [*ITEMS, "v"], "time": [1] * 5 + [9]})
    valid = {u: max((d for v, d in lists if v == u and d <= at), default=None) for u in USERS}
    wanted = {u: lists[u, d] for u, d in valid.items() if d is not None}
    if wanted:
        assert lists_at(table, log, at) == wanted
    else:
        with pytest.raises(EmptyError, match=rf"no lists of table are valid at {at}: the first are valid from "):
            table.fit(log.at(at))


def test_a_time_split_takes_the_lists_of_the_split_and_none_of_later() -> None:
    lists = {"user": ["ann"] * 2, "items": [["w"], ["x"]], "date": ["2013-07-15", "2013-08-20"]}
    log = dated_log()
    with pytest.warns(UnskewWarning, match="no recommendation for 2 of the 3 users"):
        old = us.evaluate(Table(lists), log.at("2013-08-10"), after="2013-07-20", metric="hit@1")
    assert old.value == pytest.approx(1 / 3)  # ann took w in August
    with pytest.warns(UnskewWarning, match="no recommendation for 2 of the 3 users"):
        new = us.evaluate(Table(lists), log.at("2013-09-01"), after="2013-07-20", metric="hit@1")
    assert new.value == pytest.approx(1 / 6)  # and x in September, which the list of July does not have


def test_lists_with_dates_can_be_compared_after_a_time_split() -> None:
    log = report_log()
    for table, kind in ((tables_of(log, old=280), "time"), (without_dates(log, 280), "external")):
        found = us.report(log, {"lists": Table(table), "popular": "popular"}, at=400, after=300)
        assert {s.recommender: s.held_out for s in found.scores} == {"lists": kind, "popular": "time"}
        assert found.comparisons[0].comparable == (kind == "time")
    assert us.evaluate(Table(tables_of(log, old=280)), log.at(400)).held_out == "external"


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_a_bare_date_is_the_end_of_that_day_in_the_zone_of_the_log(zone: str | None) -> None:
    times = pa.array(np.array(["2013-08-30", "2013-09-03"], dtype="datetime64[us]"), pa.timestamp("us", zone))
    log = us.read_log(pa.table({"user": ["ann", "bob"], "item": ["x", "y"], "time": times}))
    table = Table({"user": ["ann"], "items": [["x"]], "date": ["2013-09-01"]})
    assert lists_at(table, log, "2013-09-01") == {"ann": ["x"]}
    with pytest.raises(EmptyError, match="the first are valid from 2013-09-01"):
        table.fit(log.at("2013-09-01T23:00"))
    sharp = Table({"user": ["ann"], "items": [["x"]], "date": ["2013-09-01T22:00"]})
    assert lists_at(sharp, log, "2013-09-01T23:00") == {"ann": ["x"]}


@pytest.mark.parametrize(
    ("dates", "log_time"),
    [
        (pa.array(["2013-09-01"]), ["2013-08-01"]),
        (pa.array([date(2013, 9, 1)]), ["2013-08-01"]),
        (pa.array([datetime(2013, 9, 1)]), ["2013-08-01"]),
        (pa.array([3]), [2]),
        (pa.array([2.5]), [2]),
    ],
)
def test_dates_of_every_type_are_read(dates: pa.Array, log_time: list[Any]) -> None:
    log = us.read_log({"user": ["ann"], "item": ["x"], "time": log_time})
    table = Table(pa.table({"user": ["ann"], "items": [["x"]], "day": dates}), date="day")
    axis = log.axis
    late = "2013-09-01" if axis.is_calendar else 3
    early = "2013-08-31" if axis.is_calendar else 2
    assert table.is_valid_at(axis, axis.moment(late).tick)
    assert table.is_valid_at(axis, axis.moment(early).tick) is False


def test_a_date_that_is_no_time_of_the_log_is_named() -> None:
    with pytest.raises(us.TimeError, match=r"table, the date of a list: '2013-09-01' is .*plain numbers"):
        Table({"user": ["ann"], "items": [["x"]], "date": ["2013-09-01"]}).fit(a_log().at(1))
    with pytest.raises(us.TimeError, match="'soon' is not a date"):
        Table({"user": ["ann"], "items": [["x"]]}, valid_from="soon").fit(dated_log().at("2013-09-01"))
    with pytest.raises(ColumnError, match="column 'date' of the table has 1 missing value"):
        Table({"user": ["ann"] * 2, "items": [["x"]] * 2, "date": ["2013-09-01", None]})
    with pytest.raises(us.PolicyError, match="give one of the two"):
        Table({"user": ["ann"], "items": [["x"]], "day": [1]}, date="day", valid_from=1)


def test_one_date_for_all_lists_overrules_a_column() -> None:
    table = Table({"user": ["ann"], "items": [["x"]], "date": ["2013-07-01"]}, valid_from="2013-09-01")
    assert table.dates == ("2013-09-01",)
    assert str(table) == "table?from=2013-09-01"


# names of columns


@pytest.mark.parametrize(
    ("columns", "guessed"),
    [
        ({"user_id": ["ann"], "item_id": ["x"], "rank": [1]}, "'user_id' as user and 'item_id' as item"),
        ({"UserID": ["ann"], "sku": ["x"], "pos": [1]}, "'UserID' as user, 'sku' as item and 'pos' as rank"),
        ({"member": ["ann"], "item": ["x"], "score": [1.0]}, "'member' as user"),
        ({"user": ["ann"], "recommendations": [["x"]]}, "'recommendations' as items"),
        ({"user": ["ann"], "items": [["x"]], "day": [1]}, "'day' as date"),
    ],
)
def test_usual_names_are_taken_and_said(columns: dict[str, Any], guessed: str) -> None:
    with pytest.warns(UnskewWarning, match=f"table was read with {guessed}$"):
        table = Table(columns)
    assert lists_at(table, a_log(), 1) == {"ann": ["x"]}


def test_any_name_can_be_given_and_nothing_is_said() -> None:
    columns = {"m": ["ann", "ann"], "what": ["y", "x"], "p": [2, 1], "rank": [1, 2], "d": [1, 1]}
    table = Table(columns, user="m", item="what", rank="p", date="d")
    assert lists_at(table, a_log(), 1) == {"ann": ["x", "y"]}
    assert str(table) == "table?user=m&item=what&rank=p&date=d"
    nested = {"user": ["ann"], "best": [["x"]], "item": ["y"], "rank": [1]}
    assert lists_at(Table(nested, items="best"), a_log(), 1) == {"ann": ["x"]}
    held_out = {"user": ["ann"], "gone": ["x"], "items": [["x"]]}
    assert us.evaluate(Table({**held_out}, held_out="gone"), us.read_log(
        {"user": ["ann"], "item": ["x"], "time": [1]}).at(1)).value == 1.0  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"user": "membr"},
            "the table has no column 'membr'; it has 'member', .*with user=; did you mean 'member'",
        ),
        ({"user": "member", "rank": 3}, "rank= of a table is 3; it takes the name of a column"),
        ({}, "columns 'member' and 'customer', each of which could be 'user': say which is .*user='COLUMN'"),
        ({"user": "member", "item": "sku", "items": "sku"}, "it needs items"),
    ],
)
def test_wrong_and_unclear_names_are_said(given: dict[str, Any], message: str) -> None:
    columns = {"member": ["ann"], "customer": ["ann"], "sku": ["x"], "rank": [1]}
    with pytest.raises(ColumnError, match=message):
        Table(columns, **given)


def test_a_spec_names_columns_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("member,what,p,s\nann,x,2,1\nann,y,1,2\n")
    spec = f"table:{path}?user=member&item=what&rank=p&from=2013-08-15"
    table: Any = recommender(spec)
    assert str(table) == spec
    assert lists_at(table, dated_log(), "2013-09-01") == {"ann": ["y", "x"]}
    by_score: Any = recommender(f"table:{path}?user=member&item=what&score=s&from=2013-08-15")
    assert lists_at(by_score, dated_log(), "2013-09-01") == {"ann": ["y", "x"]}
    with pytest.raises(InputError, match="table has no parameter 'usr'; did you mean 'user'"):
        recommender(f"table:{path}?usr=member")
    with pytest.raises(InputError, match="gives 'from' and 'valid_from'"):
        recommender(f"table:{path}?from=1&valid_from=2")


# files


def write(path: Path, lists: dict[str, list[str]]) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    rows = [(u, i, k) for u, items in lists.items() for k, i in enumerate(items)]
    if path.suffix == ".csv":
        path.write_text("user,item,rank\n" + "".join(f"{u},{i},{k}\n" for u, i, k in rows))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"user": u, "items": items}) + "\n" for u, items in lists.items()))
    elif path.suffix == ".arrow":
        table = pa.table({"user": list(lists), "items": list(lists.values())})
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    else:
        pq.write_table(pa.table({"user": list(lists), "items": list(lists.values())}), path)


JULY, AUGUST = {"ann": ["v", "w"], "bob": ["x"]}, {"ann": ["x", "y"]}


@pytest.mark.parametrize("name", ["2013-{}.parquet", "lists_2013-{}_v2.csv", "2013-{}.jsonl", "2013-{}.arrow",
                                  "date=2013-{}/part.parquet"])  # fmt: skip
@pytest.mark.parametrize("how", ["folder", "glob", "list"])
def test_daily_files_have_their_dates_in_their_names(tmp_path: Path, name: str, how: str) -> None:
    for day, lists in (("07-10", JULY), ("08-10", AUGUST)):
        write(tmp_path / name.format(day), lists)
    paths = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    glob = str(tmp_path / name.format("*"))
    table = Table({"folder": tmp_path, "glob": glob, "list": paths}[how])
    log = dated_log()
    assert lists_at(table, log, "2013-08-09") == JULY
    assert lists_at(table, log, "2013-08-10") == JULY | AUGUST
    with pytest.raises(EmptyError, match="the first are valid from 2013-07-10"):
        table.fit(log.at("2013-07-09"))
    assert sorted(table.traits.files) == paths


def test_files_of_several_formats_are_one_table(tmp_path: Path) -> None:
    log = us.read_log({"user": [1, 2], "item": [10, 20], "time": ["2013-08-01", "2013-09-01"]})
    write(tmp_path / "2013-07-10.csv", {"1": ["10"]})
    pq.write_table(pa.table({"user": [2], "item": [20], "rank": [1]}), tmp_path / "2013-07-11.parquet")
    assert lists_at(Table(str(tmp_path / "2013*")), log, "2013-09-01") == {1: [10], 2: [20]}


def test_a_single_file_may_have_its_date_in_its_name_and_a_column_is_stronger(tmp_path: Path) -> None:
    write(tmp_path / "2013-08-10.csv", JULY)
    assert Table(tmp_path / "2013-08-10.csv").dates == ("2013-08-10",)
    assert Table(tmp_path / "2013-08-10.csv", valid_from="2013-07-01").dates == ("2013-07-01",)
    (tmp_path / "2013-08-11.csv").write_text("user,item,rank,date\nann,x,1,2013-07-02\n")
    assert Table(tmp_path / "2013-08-11.csv").dates == ("2013-07-02",)


@pytest.mark.parametrize("other", ["rest.csv", "2013-08-01_2013-08-02.csv"])
def test_a_file_without_one_date_among_those_with_one_is_named(tmp_path: Path, other: str) -> None:
    write(tmp_path / "2013-07-10.csv", JULY)
    write(tmp_path / other, AUGUST)
    with pytest.raises(
        InputError, match=rf"07-10\.csv has a date in its name, and .*{other} has none, or several"
    ):
        Table(tmp_path)


def test_two_lists_of_a_user_without_dates_ask_for_them(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", JULY)
    write(tmp_path / "b.csv", AUGUST)
    with pytest.raises(InputError, match=r"rank 0 for user 'ann'.*several dates, name the column"):
        Table(tmp_path).fit(dated_log().at("2013-09-01"))


# reports


def report_log() -> us.Log:
    return us.simulate(users=120, items=30, seed=4).log


def best(log: us.Log, at: int) -> list[int]:
    counts = log.at(at).counts()
    return [log.items[int(c)] for c in np.argsort(-counts, kind="stable")[:8]]


def tables_of(log: us.Log, **days: int) -> dict[str, list[Any]]:
    """The most popular items of some days, for everybody."""
    users = log.users.to_list()
    return {
        "user": users * len(days),
        "items": [best(log, day) for day in days.values() for _ in users],
        "date": [day for day in days.values() for _ in users],
    }


def without_dates(log: us.Log, day: int) -> dict[str, list[Any]]:
    return {name: values for name, values in tables_of(log, day=day).items() if name != "date"}


def test_a_report_scores_each_date_with_the_lists_of_that_date() -> None:
    log = report_log()
    table = Table(tables_of(log, old=280, new=440))
    found = us.report(log, {"lists": table}, at=480, reference=300, refit=0)
    assert found.notes == ()
    values = {(s.at, s.weighting): s.value for s in found.scores}
    for day, at in ((280, 300), (440, 480)):
        alone = Table(without_dates(log, day))
        assert values[at, "raw"] == us.evaluate(alone, log.at(at)).value
    assert found.changes[0].change.value == pytest.approx(values[480, "raw"] - values[300, "raw"])


def test_lists_that_were_not_there_yet_have_no_score_and_no_change() -> None:
    log = report_log()
    table = Table(tables_of(log, new=440))
    found = us.report(log, {"lists": table, "popular": "popular"}, at=480, reference=300, refit=0)
    assert [(s.recommender, s.at) for s in found.scores if s.recommender == "lists"] == [("lists", 480)] * 2
    assert [change.recommender for change in found.changes] == ["popular"]
    [note] = found.notes
    assert note == (
        "no lists of lists are valid at 300: there is no score of it at that date, and no change since then"
    )
    assert note in repr(found)
    assert found.to_dict()["notes"] == [note]


def test_lists_without_dates_are_scored_now_alone() -> None:
    log = report_log()
    undated = Table(without_dates(log, 440))
    found = us.report(log, {"lists": undated}, at=480, reference=300, refit=0)
    assert {s.at for s in found.scores} == {480}
    assert found.changes == []
    assert "lists does not say from when its lists are valid: it is scored at 480 alone" in found.notes[0]
    assert us.report(log, {"lists": undated}, at=480).notes == ()


def test_a_report_at_a_date_without_any_list_is_refused() -> None:
    log = report_log()
    with pytest.raises(EmptyError, match="nothing to score: no lists of v2 are valid at 430"):
        us.report(log, {"v2": Table(tables_of(log, new=440))}, at=430)
    with pytest.raises(EmptyError, match="no lists of v2 are valid at 430"):  # the date of the split
        us.report(log, {"v2": Table(tables_of(log, new=440))}, at=480, after=430)
    two = us.report(log, {"v2": Table(tables_of(log, new=440)), "popular": "popular"}, at=430)
    assert {s.recommender for s in two.scores} == {"popular"}
    assert len(two.notes) == 1


def test_a_baseline_with_dates_is_scored_now_as_well_so_that_there_is_an_algorithm() -> None:
    log = report_log()
    v1 = Table(tables_of(log, old=280, new=440))
    found = us.report(log, "constant:1,2", baseline={"v1": v1}, at=480, reference=300, refit=0)
    [change] = found.changes
    assert change.algorithm is not None
    weighted = {s.recommender: s.value for s in found.scores if s.weighting == "weighted"}
    assert change.algorithm.value == pytest.approx(weighted["constant:1,2"] - weighted["v1"])


def test_a_baseline_without_dates_ran_then_and_not_now() -> None:
    log = report_log()
    undated = Table(without_dates(log, 280))
    found = us.report(log, "constant:1,2", baseline={"v1": undated}, at=480, reference=300, refit=0)
    assert found.changes[0].algorithm is None
    assert {(s.recommender, s.at) for s in found.scores} == {("v1", 300), ("constant:1,2", 480)}
    assert found.notes == ()


def test_a_baseline_whose_lists_came_later_gives_no_change() -> None:
    log = report_log()
    late = Table(tables_of(log, new=440))
    found = us.report(log, "constant:1,2", baseline={"v1": late}, at=480, reference=300, refit=0)
    assert found.changes == []
    assert "no lists of v1 are valid at 300" in found.notes[0]


# timelines


def daily(folder: Path, log: us.Log, *days: int) -> Path:
    for day in days:
        table = tables_of(log, day=day)
        pq.write_table(pa.table(table), folder / f"{day}.parquet")
    return folder


def test_a_timeline_takes_the_lists_of_each_date_and_leaves_out_dates_before_them(tmp_path: Path) -> None:
    log = report_log()
    spec = f"table:{daily(tmp_path, log, 330, 390)}"
    with pytest.warns(UnskewWarning, match=r"are valid at 1 of 4 dates, the last 300: no rows of it there"):
        made = us.timeline(log, spec, reference=300, end=480, every=60)
    assert made.dates == [360, 420, 480]
    values = {row["at"]: row["value"] for row in made.rows.to_pylist() if row["weighting"] == "raw"}
    for at, day in ((360, 330), (420, 390), (480, 390)):
        alone = Table(without_dates(log, day))
        assert values[at] == us.evaluate(alone, log.at(at)).value


def test_dates_without_lists_keep_the_rows_of_others_and_resume_to_the_bit(tmp_path: Path) -> None:
    log = report_log()
    (tmp_path / "lists").mkdir()
    spec = [f"table:{daily(tmp_path / 'lists', log, 330)}", "popular"]
    told = pytest.warns(UnskewWarning, match="are valid at 1 of")
    with told:
        whole = us.timeline(log, spec, reference=300, end=420, every=60)
    assert [row["recommender"] for row in whole.rows.to_pylist() if row["at"] == 300] == ["popular"] * 2
    output = tmp_path / "t.parquet"
    with told:
        us.timeline(log, spec, reference=300, end=360, every=60, output=output)
    with told:
        resumed = us.timeline(log, spec, reference=300, end=420, every=60, output=output, resume=True)
    assert resumed.computed == 1
    assert resumed.rows.equals(whole.rows)
    daily(tmp_path / "lists", log, 400)
    with pytest.raises(us.PolicyError, match=r"it was made when recommenders=.* had other content"), told:
        us.timeline(log, spec, reference=300, end=420, every=60, output=output, resume=True)


def test_a_timeline_without_any_list_is_refused_and_one_without_dates_warns(tmp_path: Path) -> None:
    log = report_log()
    late = {"late": Table(tables_of(log, new=470))}
    with (
        pytest.raises(EmptyError, match="no lists of late are valid at any date from 300 to 360"),
        pytest.warns(UnskewWarning, match="are valid at 2 of 2 dates"),
    ):
        us.timeline(log, late, reference=300, end=360, every=60)
    undated = {"lists": Table(without_dates(log, 440))}
    with pytest.warns(UnskewWarning, match="lists does not say from when its lists are valid: they are scored at"):
        assert len(us.timeline(log, undated, reference=300, end=360, every=60).dates) == 2


def test_users_without_a_list_are_told_of_once_on_a_timeline() -> None:
    log = report_log()
    some = {name: values[:50] for name, values in tables_of(log, old=280).items()}
    with pytest.warns(UnskewWarning) as found:
        us.timeline(log, {"lists": Table(some)}, reference=300, end=360, every=30)
    [told] = [str(one.message) for one in found]
    users = int(np.count_nonzero(log.at(300).sizes()))
    with_list = len({u for u in some["user"] if log.at(300).profile(u)})
    assert f"no recommendation for {users - with_list} of the {users} users scored at 300" in told
    assert told.endswith("(and the same at 2 other dates or of other lists)")


# the command line


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, Path]:
    log = tmp_path / "log.csv"
    rows = zip(*EVENTS.values(), strict=True)
    log.write_text("user,item,time\n" + "".join(",".join(row) + "\n" for row in rows))
    (tmp_path / "lists").mkdir()
    write(tmp_path / "lists" / "2013-08-10.csv", {user: ["x", "y", "w"] for user in USERS})
    return str(log), tmp_path / "lists"


def test_the_command_says_that_lists_came_later(files: tuple[str, Path]) -> None:
    log, lists = files
    given = ["evaluate", log, "--reference", "2013-08-01", "--at", "2013-09-01", "-r", f"table:{lists}"]
    done = run(*given)
    assert done.exit_code == 0, done.output
    shown = " ".join(done.stdout.split())
    assert "are valid at 2013-08-01: there is no score of it at that date, and no change since then" in shown
    assert "rose" not in shown
    told = answer(*given)
    assert (len(told["notes"]), told["changes"]) == (1, [])
    assert {score["at"] for score in told["scores"]} == {"2013-09-01"}


def test_the_command_refuses_to_write_over_a_file_of_the_lists(files: tuple[str, Path]) -> None:
    log, lists = files
    given = ["timeline", log, "--reference", "2013-08-10", "-r", f"table:{lists}"]
    assert "is an input of this command" in refused(*given, "-o", str(lists / "2013-08-10.csv"))
