"""Recommendations external, against a plain dict."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW
from unskew.errors import ColumnError, FileError, InputError, UnskewError, UnskewWarning
from unskew.recommend import Table
from unskew.testing import all_pairs, batch_of, without_each

LISTS = {"ann": ["x", "z", "y"], "bob": ["z", "x"]}


def a_log() -> us.Log:
    return us.read_log({"user": ["ann", "ann", "bob"], "item": ["x", "y", "z"], "time": [1, 2, 3]}).numbered_by_id


def a_number_log() -> us.Log:
    return us.read_log({"user": [1, 1, 2], "item": [10, 20, 30], "time": [1, 2, 3]}).numbered_by_id


def rows_of(lists: dict[Any, list[Any]], seed: int = 0) -> list[dict[str, Any]]:
    """One row for each item with a rank and a score, in any order."""
    rows = [
        {"user": user, "item": item, "rank": 2 * place + 5, "score": 1 / (place + 1)}
        for user, items in lists.items()
        for place, item in enumerate(items)
    ]
    random.Random(seed).shuffle(rows)
    return rows


def columns(rows: list[dict[str, Any]], *names: str) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


def for_empty_profiles(table: Table, log: us.Log) -> dict[Any, list[Any]]:
    """The whole list of each user: an empty profile holds nothing to be skipped."""
    users = list(log.users)
    nothing = [np.empty(0, dtype=np.int64)] * len(users)
    batch = batch_of(log.at(3), log.users.codes(users).tolist(), nothing)
    found = table.fit(log.at(3)).recommend(batch, len(log.items))
    return {user: [log.items[c] for c in row if c >= 0] for user, row in zip(users, found, strict=True)}


def write(path: Path, lists: dict[Any, list[Any]], form: str) -> Path:
    rows = rows_of(lists)
    if form == "items":
        rows = [{"user": user, "items": items} for user, items in lists.items()]
        names: tuple[str, ...] = ("user", "items")
    else:
        names = ("user", "item", form)
    table = pa.table(columns(rows, *names))
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        path.write_text(
            "\n".join([",".join(names), *(",".join(str(row[n]) for n in names) for row in rows)]) + "\n"
        )
    else:
        path.write_text("".join(json.dumps({n: row[n] for n in names}) + "\n" for row in rows))
    return path


FORMS = [(e, f) for e in (".parquet", ".csv", ".jsonl") for f in ("items", "rank", "score")]


@pytest.mark.parametrize(
    ("ending", "form"), [form for form in FORMS if form != (".csv", "items")]
)  # it has no lists
def test_files_of_every_form_say_the_same(tmp_path: Path, ending: str, form: str) -> None:
    path = write(tmp_path / f"lists{ending}", LISTS, form)
    assert for_empty_profiles(Table(path), a_log()) == LISTS
    numbers = {1: [10, 30, 20], 2: [30, 10]}
    path = write(tmp_path / f"numbers{ending}", numbers, form)
    assert for_empty_profiles(Table(str(path)), a_number_log()) == numbers


@pytest.mark.parametrize("frame", [dict, pandas.DataFrame, polars.DataFrame, pa.table, polars.LazyFrame])
def test_frames_of_every_library_say_the_same(frame: Any) -> None:
    rows = rows_of(LISTS)
    assert for_empty_profiles(Table(frame(columns(rows, "user", "item", "rank"))), a_log()) == LISTS
    assert for_empty_profiles(Table(frame(columns(rows, "user", "item", "score"))), a_log()) == LISTS
    nested = {"user": list(LISTS), "items": list(LISTS.values())}
    assert for_empty_profiles(Table(frame(nested)), a_log()) == LISTS


def test_equal_scores_are_ordered_by_id() -> None:
    table = {"user": ["ann"] * 3 + ["bob"], "item": ["z", "y", "x", "x"], "score": [1.0, 2.0, 1.0, 0.0]}
    assert for_empty_profiles(Table(table), a_log())["ann"] == ["y", "x", "z"]


def test_text_that_looks_like_a_number_is_the_text_that_the_log_has(tmp_path: Path) -> None:
    log = us.read_log({"user": ["7", "08"], "item": ["1", "2"], "time": [3, 3]})
    path = tmp_path / "lists.csv"
    path.write_text("user,item,rank\n7,2,1\n08,1,1\n")
    assert for_empty_profiles(Table(path), log) == {"7": ["2"], "08": ["1"]}


def test_a_number_log_takes_the_text_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("user,item,rank\n1,30,1\n2,x,1\n")
    with pytest.warns(UnskewWarning, match="the log does not have 1 item of .*, such as item 'x'"):
        table = Table(path).fit(a_number_log().at(3))
    assert repr(table) == "Table(2 lists, 2 recommendations)"


def test_what_the_remaining_profile_holds_is_skipped() -> None:
    log = a_log()
    table = Table({"user": list(LISTS), "items": list(LISTS.values())}).fit(log.at(3))
    batch = batch_of(
        log.at(3), log.users.codes(["ann", "ann"]).tolist(), [log.items.codes(["y"]), log.items.codes(["x", "y"])]
    )
    found = table.recommend(batch, 2)
    assert log.items.take(found[0]).to_pylist() == ["x", "z"]
    assert [log.items[found[1, 0]], found[1, 1]] == ["z", -1]


def test_users_without_a_list_are_counted_and_warned_of_once() -> None:
    table = Table({"user": ["bob"], "items": [["z"]]})
    told = "no recommendation for 1 of the 2 users scored at 3: they count as misses"
    with pytest.warns(UnskewWarning, match=told) as found:
        us.evaluate(table, a_log().at(3))
    assert len(found) == 1
    table = Table({"user": ["bob"], "items": [["x"]]}).fit(a_log().at(3))
    pairs = all_pairs(a_log().at(3))
    assert table.count_missing(pairs) == (1, 2, "users")
    assert (table.held_out_ranks(pairs, 3) == 0).all()
    assert (table.recommend(without_each(pairs), 2)[pairs.user == a_log().users.codes(["ann"])[0]] == -1).all()


@given(st.lists(st.permutations(range(5)), min_size=3, max_size=3), st.integers(1, 6), st.integers(0, 2**20))
@LAW
def test_ranks_are_places_in_the_list_without_the_remaining_profile(
    lists: list[list[int]], k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    u, i = np.nonzero((rng.random((3, 5)) < 0.5) | (np.arange(5) == np.arange(3)[:, None]))
    log = us.read_log({"user": u, "item": i, "time": np.ones(len(u), dtype=np.int64)}).numbered_by_id
    known = {user: [item for item in items if item in set(log.items)] for user, items in enumerate(lists)}
    table = Table({"user": list(known), "items": list(known.values())}).fit(log.at(1))
    pairs = all_pairs(log.at(1))
    ranks = table.held_out_ranks(pairs, k)
    for user, item, rank in zip(pairs.user, pairs.item, ranks, strict=True):
        out = log.items[item]
        left = set(log.at(1).profile(log.users[user])) - {out}
        shown = [other for other in known[log.users[user]] if other not in left][:k]
        assert rank == (shown.index(out) + 1 if out in shown else 0)
    hits = table.recommend(without_each(pairs), k) == pairs.item[:, None]
    assert (np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0) == ranks).all()


HELD_OUT: dict[str, list[Any]] = {
    "user": ["ann", "ann", "ann", "bob"],
    "held_out": ["x", "x", "y", "z"],
    "item": ["z", "x", "y", "x"],
    "rank": [1, 2, 1, 1],
}


def test_a_list_for_each_held_out_item() -> None:
    log = a_log()
    table = Table(HELD_OUT).fit(log.at(3))
    pairs = all_pairs(log.at(3))
    ranks = {
        (log.users[u], log.items[i]): r
        for u, i, r in zip(pairs.user, pairs.item, table.held_out_ranks(pairs, 2), strict=True)
    }
    assert ranks == {("ann", "x"): 2, ("ann", "y"): 1, ("bob", "z"): 0}
    assert table.held_out_ranks(pairs, 1).tolist().count(1) == 1
    found = table.recommend(without_each(pairs), 2)
    lists = {
        (log.users[u], log.items[i]): [log.items[c] for c in row if c >= 0]
        for u, i, row in zip(pairs.user, pairs.item, found, strict=True)
    }
    assert lists == {("ann", "x"): ["z", "x"], ("ann", "y"): ["y"], ("bob", "z"): ["x"]}


def test_a_pair_without_a_list_is_a_miss_and_counted() -> None:
    rows = {name: values[:2] for name, values in HELD_OUT.items()}
    with pytest.warns(UnskewWarning, match="for 2 of the 3 pairs of a user and a held-out item scored at 3"):
        us.evaluate(Table(rows), a_log().at(3))


def test_users_who_are_not_scored_are_not_missed() -> None:
    log = us.read_log({"user": ["ann", "bob", "cid", "bob"], "item": list("xyzx"), "time": [1, 1, 1, 5]})
    lists = Table({"user": ["bob"], "items": [["x", "z"]]})
    score = us.evaluate(lists, log.at(5), after=1, metric="hit@1")  # a warning would fail the test
    assert (score.value, score.users) == (1.0, 1)


def test_a_held_out_list_with_an_item_of_the_remaining_profile_is_an_error() -> None:
    log = a_log()
    rows = HELD_OUT | {"item": ["z", "y", "y", "x"]}
    table = Table(rows).fit(log.at(3))
    pairs = all_pairs(log.at(3))
    assert (table.held_out_ranks(pairs, 1) >= 0).all()  # it is not among the first
    with pytest.raises(InputError, match="for user 'ann': recommends item 'y', which is in the profile"):
        table.held_out_ranks(pairs, 2)


def test_lists_for_held_out_items_are_for_one_at_a_time() -> None:
    log = a_log()
    table = Table(HELD_OUT).fit(log.at(3))
    empty = batch_of(log.at(3), log.users.codes(["ann"]).tolist(), [np.empty(0, dtype=np.int64)])
    with pytest.raises(InputError, match="2 items of the profile of user 'ann' are held out: hold out one"):
        table.recommend(empty, 2)


@pytest.mark.parametrize(
    ("table", "told", "lists"),
    [
        (
            {"user": ["ann", "cid", "cid"], "items": [["x"], ["y"], ["q"]]},
            "not have 1 user and 1 item of table, such as user 'cid': 2 recommendations of 3 skipped",
            {"ann": ["x"], "bob": []},
        ),
        (
            {"user": ["ann", "bob"], "items": [["q", "x"], ["r", "q"]]},
            "not have 2 items of table, such as item 'q': 3 recommendations of 4 cannot be hit, but keep",
            {"ann": ["x"], "bob": []},
        ),
    ],
)
def test_what_the_log_does_not_have_is_counted_and_skipped(
    table: dict[str, Any], told: str, lists: dict[str, list[str]]
) -> None:
    with pytest.warns(UnskewWarning, match=told) as found:
        assert for_empty_profiles(Table(table), a_log()) == lists
    assert len(found) == 1


def test_a_held_out_item_that_the_log_does_not_have_is_skipped() -> None:
    told = (
        "the log does not have 1 held-out item of table, such as held-out item 'q': 1 recommendation of 4 skipped"
    )
    with pytest.warns(UnskewWarning, match=told):
        table = Table(HELD_OUT | {"held_out": ["x", "x", "q", "z"]}).fit(a_log().at(3))
    assert table.count_missing(all_pairs(a_log().at(3))) == (1, 3, "pairs of a user and a held-out item")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"user": ["cid"], "items": [["x"]]}, "no user 'cid', for example, but users such as 'ann', 'bob'"),
        (
            {"user": ["ann"], "items": [[1]]},
            r"column 'items' holds integers \(1\), but the ids of the log are text",
        ),
        ({"user": [1], "items": [["x"]]}, r"column 'user' holds integers \(1\), but the ids of the log are text"),
        (HELD_OUT | {"held_out": [1, 1, 2, 3]}, "column 'held_out' holds integers"),
        ({"user": ["ann"], "items": [["x", "x"]]}, "recommends item 'x' to user 'ann' twice"),
        ({"user": ["ann"] * 2, "item": ["x", "y"], "rank": [1, 1]}, "two items of rank 1 for user 'ann'"),
    ],
)
def test_lists_that_do_not_fit_the_log_are_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Table(table).fit(a_log().at(3))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"who": ["ann"], "items": [["x"]]}, "the columns 'who', 'items': .*needs 'user'"),
        ({"user": ["ann"], "item": ["x"]}, "it needs items .a ranked list., or item and rank, or item and score"),
        ({"user": ["ann"], "items": [["x"]], "item": ["x"], "rank": [1]}, "the order of the items is not clear"),
        ({"user": ["ann"], "items": ["x"]}, "column 'items' holds varchar values: it must hold lists"),
        ({"user": ["ann"], "items": [["x", None]]}, "column 'items' of the table has 1 missing value"),
        ({"user": [None, "ann"], "items": [["x"], ["x"]]}, "column 'user' of the table has 1 missing"),
        ({"user": ["ann"], "item": ["x"], "score": [float("nan")]}, "column 'score' of the table has 1 missing"),
        ({"user": ["ann"], "item": ["x"], "rank": ["first"]}, "column 'rank' holds 'first': numbers are needed"),
    ],
)
def test_tables_that_cannot_be_read_are_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        Table(table)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nothing\.parquet"):
        Table(tmp_path / "nothing.parquet")
    (tmp_path / "lists.csv").write_text("user,items\nann,x y\n")
    with pytest.raises(ColumnError, match="in a text file, give item and rank"):
        Table(tmp_path / "lists.csv")
    (tmp_path / "lists.jsonl").write_text('{"user": "ann", "items": "x"}\n')
    with pytest.raises(ColumnError, match="must hold lists"):
        Table(tmp_path / "lists.jsonl")


def test_an_empty_list_is_no_recommendation() -> None:
    table = Table({"user": ["ann", "bob"], "items": [[], None]}).fit(a_log().at(3))
    assert table.count_missing(all_pairs(a_log().at(3))) == (2, 2, "users")
    assert (table.held_out_ranks(all_pairs(a_log().at(3)), 3) == 0).all()


def test_it_must_be_fitted_first() -> None:
    table = Table({"user": ["ann"], "items": [["x"]]})
    with pytest.raises(UnskewError, match="has not been fitted: call fit"):
        table.recommend(batch_of(a_log().at(3), [], []), 1)
    assert repr(table) == "Table(1 recommendations)"


def test_lists_without_what_users_hold_find_nothing_and_this_is_said() -> None:
    filtered = {"user": ["ann", "bob"], "items": [["z"], ["x", "y"]]}
    with pytest.warns(UnskewWarning, match="none of the held-out items to anyone"):
        score = us.evaluate(Table(pa.table(filtered)), a_log().at(3), metric="hit@3")
    assert score.value == 0.0


def test_unknown_items_keep_their_place_as_in_trec_eval() -> None:
    """Of two lists of ten, in which every other item is not in the log."""
    log = us.read_log({"user": [1, 1, 2, 2, 2], "item": [1, 2, 1, 3, 4], "time": [1, 5, 1, 5, 5]})
    lists = {1: [91, 2, 92, 93], 2: [94, 3, 95, 4]}
    table = {"user": list(lists), "items": list(lists.values())}
    judged, run = (
        {"1": {"2": 1}, "2": {"3": 1, "4": 1}},
        {str(user): {str(item): -float(rank) for rank, item in enumerate(items)} for user, items in lists.items()},
    )
    trec = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank", "recall.3"}).evaluate(run)
    for metric, name in (("user-mrr@4", "recip_rank"), ("user-recall@3", "recall_3")):
        with pytest.warns(UnskewWarning, match="5 recommendations of 8 cannot be hit, but keep their place"):
            score = us.evaluate(Table(table), log.at(5), after=3, metric=metric)
        assert score.value == pytest.approx(sum(found[name] for found in trec.values()) / 2)
    with pytest.warns(UnskewWarning, match="keep their place"):
        ranks = us.rank_held_out(Table({"user": [1, 2], "items": [[9, 1, 8, 2], [7, 3, 1, 4]]}), log.at(5))
    pairs = ranks.selection.pairs
    users, items = pairs.snapshot.log.users, pairs.snapshot.log.items
    held = [(users[int(u)], items[int(i)]) for u, i in zip(pairs.user, pairs.item, strict=True)]
    assert dict(zip(held, ranks.ranks, strict=True)) == {(1, 1): 2, (1, 2): 3, (2, 1): 2, (2, 3): 2, (2, 4): 2}
