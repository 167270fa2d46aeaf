"""Columns of texts that are kept with a log, and scores split by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.scoring import pair_shares, stepping
from tests.tables import LAW
from unskew.errors import ColumnError

ROWS = [
    # user, item, time, land (of the user), kind (of the item), way (of the row)
    ("ann", 0, 1, "de", "book", "web"),
    ("ann", 1, 2, "de", "film", "app"),
    ("ann", 2, 3, "de", "book", None),
    ("bob", 0, 1, "fr", "book", "app"),
    ("bob", 3, 4, "fr", None, "app"),
    ("cid", 1, 2, "fr", "film", "web"),
    ("cid", 2, 5, "fr", "book", "web"),
    ("dan", 3, 6, "it", None, "web"),
]
TABLE: dict[str, list[Any]] = {
    name: [row[k] for row in ROWS] for k, name in enumerate(("user", "item", "time", "land", "kind", "way"))
}
LABELS = ["land", "kind", "way"]


def texts(snapshot: us.Snapshot, name: str) -> dict[tuple[Any, Any], str]:
    """The label of each pair of a snapshot, through the arrays that a score uses."""
    log, p = snapshot.log, snapshot.profiles
    column = log.label(name)
    codes = snapshot.per_entry(column.codes)
    return {
        (log.users[u], log.items[int(p.item[e])]): column.values[int(codes[e])].as_py()
        for u in range(p.n_users)
        for e in range(int(p.start[u]), int(p.stop[u]))
    }


def expected(name: str, until: int = 9) -> dict[tuple[Any, Any], str]:
    return {
        (u, i): str(value if value is not None else "(none)")
        for u, i, t, value in zip(TABLE["user"], TABLE["item"], TABLE["time"], TABLE[name], strict=True)
        if t <= until
    }


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("at", [2, 4, 6])
def test_each_pair_keeps_its_label_and_a_null_is_named(name: str, at: int) -> None:
    assert texts(us.read_log(TABLE, labels=LABELS).at(at), name) == expected(name, at)


@pytest.mark.parametrize("name", LABELS)
def test_labels_survive_a_file(tmp_path: Path, name: str) -> None:
    us.read_log(TABLE, labels=LABELS).save(tmp_path / "log.arrow")
    for log in (us.Log.load(tmp_path / "log.arrow"), us.read_log(tmp_path / "log.arrow", labels=name)):
        assert texts(log.at(6), name) == expected(name)
    with pytest.raises(ColumnError, match=r"no labels 'town' were read with the log .*'land', 'kind', 'way'"):
        us.read_log(tmp_path / "log.arrow", labels=["town"])


def test_a_view_has_labels_of_its_own_also_in_a_file(tmp_path: Path) -> None:
    table = {**TABLE, "shown": [k % 2 == 0 for k in range(len(ROWS))]}
    log = us.read_log(table, labels=LABELS, exposed="shown")
    log.save(tmp_path / "log.arrow")
    kept = {(row[0], row[1]) for row in ROWS[1::2]}
    for organic in (us.views.organic(log), us.views.organic(us.Log.load(tmp_path / "log.arrow"))):
        for name in LABELS:
            assert texts(organic.at(6), name) == {p: t for p, t in expected(name).items() if p in kept}


@settings(LAW, max_examples=20)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 3), st.sampled_from(["x", "y", None])),
        min_size=1,
        max_size=12,
    )
)
def test_of_repeated_rows_the_label_of_the_earliest_counts(rows: list[tuple[str, int, int, str | None]]) -> None:
    names = ("user", "item", "time", "way")
    log = us.read_log({name: [row[k] for row in rows] for k, name in enumerate(names)}, labels=["way"])
    first: dict[Any, tuple[int, str]] = {}
    for user, item, time, way in rows:
        told = (time, way or "(none)")
        first[user, item] = min(told, first.get((user, item), told))  # of one moment, the first by its text
    found = texts(log.at(log.last), "way")
    assert found == {pair: way for pair, (_, way) in first.items()}


def test_with_removals_labels_stay_with_their_rows() -> None:
    table = {**TABLE, "removed": [None, 4, None, 2, None, None, None, None]}
    log = us.read_log(table, labels=LABELS, removed="removed")
    gone = {("ann", 1), ("bob", 0)}
    for name in LABELS:
        assert texts(log.at(6), name) == {p: t for p, t in expected(name).items() if p not in gone}


@pytest.mark.parametrize(
    ("values", "shown"), [([1, 2], {"1", "2"}), ([True, None], {"true", "(none)"}), ([1.5, 2.0], {"1.5", "2.0"})]
)
def test_labels_of_any_type_are_texts(values: list[Any], shown: set[str]) -> None:
    log = us.read_log({"user": [1, 2], "item": [1, 1], "time": [1, 1], "way": values}, labels="way")
    assert set(log.label("way").values.to_pylist()) == shown


def test_labels_from_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,time,way\na,1,1,web\na,2,2,\nb,1,3,007\n")
    log = us.read_log(path, labels=["way"])
    assert texts(log.at(3), "way") == {("a", 1): "web", ("a", 2): "(none)", ("b", 1): "007"}


def test_a_label_may_be_the_user_or_the_item_itself() -> None:
    log = us.read_log(TABLE, labels=["user", "item"])
    assert texts(log.at(6), "user") == {(u, i): u for u, i in expected("land")}
    assert texts(log.at(6), "item") == {(u, i): str(i) for u, i in expected("land")}


def test_a_label_that_is_not_there_is_told() -> None:
    with pytest.raises(ColumnError, match=r"no column 'lnad'.*did you mean 'land'"):
        us.read_log(TABLE, labels=["lnad"])
    with pytest.raises(
        ColumnError, match=r"no labels 'land' were read with the log \(read: none\): name it with labels"
    ):
        us.read_log(TABLE).label("land")
    ranks = us.rank_held_out("popular", us.read_log(TABLE, labels=["kind"]).at(6))
    with pytest.raises(ColumnError, match=r"no labels 'land' were read with the log \(read: 'kind'"):
        ranks.by_segment("land")


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("after", [None, 2])
def test_scores_by_users_items_or_rows_are_those_of_their_pairs_and_recombine(
    name: str, after: int | None
) -> None:
    log = us.read_log(TABLE, labels=LABELS)
    recommend = stepping(range(4))
    profiles = {u: [i for v, i, *_ in ROWS if v == u] for u in ("ann", "bob", "cid", "dan")}
    weight = {0: 0.5, 1: 3.0, 2: 1.0, 3: 0.2}
    ranks = us.rank_held_out(recommend, log.at(6), metric="hit@2", after=after)
    found = {s.segment: s for s in ranks.by_segment(name, "hit@2", weight)}
    if after is None:
        shares = pair_shares(profiles, weight.__getitem__)
        seen = {(u, i): [j for j in profiles[u] if j != i] for u, i in shares}
    else:
        past = {u: [i for v, i, t, *_ in ROWS if v == u and t <= after] for u in profiles}
        later = {u: [i for i in items if i not in past[u]] for u, items in profiles.items() if past[u]}
        shares = pair_shares(later, weight.__getitem__)
        seen = {(u, i): past[u] for u, i in shares}
    label = expected(name)
    total = 0.0
    assert set(found) == {label[pair] for pair in shares}
    for segment, score in found.items():
        mine = {pair: p for pair, p in shares.items() if label[pair] == segment}
        mass = sum(mine.values())
        hits = sum(p for pair, p in mine.items() if pair[1] in recommend(seen[pair], 2))
        assert score.value == pytest.approx(hits / mass, abs=1e-12)
        assert score.pairs == len(mine)
        total += mass * score.value
    assert total == pytest.approx(ranks.score("hit@2", weight).value, abs=1e-12)


def test_as_many_segments_as_items_recombine_by_the_marginal() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    table = {"user": rng.integers(0, 5000, n), "item": rng.integers(0, 4000, n), "time": np.zeros(n, dtype=int)}
    log = us.read_log(table, labels=["item"])
    ranks = us.rank_held_out("popular", log.at(0), metric="hit@10")
    found = ranks.by_segment("item", "hit@10")
    assert len(found) == len(log.items)
    marginal = log.at(0).marginal().to_dict()
    total = sum(marginal[int(s.segment or "")] * s.value for s in found)
    assert total == pytest.approx(ranks.score("hit@10").value, abs=1e-10)
