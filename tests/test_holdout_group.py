"""A holdout group: found in a log whatever form it comes in, and checked before it is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from unskew.views.contrast import check_holdout, find_holdout

NAMES = ["ann", "bob", "cid", "dan"]


def named_log() -> us.Log:
    rows = {"member": NAMES, "item": ["x", "y", "x", "z"], "time": [1, 2, 3, 4]}
    return us.read_log(rows, user="member")


def numbered_log() -> us.Log:
    return us.read_log({"user": [3, 5, 7], "item": ["x", "y", "x"], "time": [1, 2, 3]})


def ids_in(log: us.Log, given: Any) -> set[Any]:
    return {log.users[int(code)] for code in np.flatnonzero(find_holdout(log, given))}


@pytest.mark.parametrize(
    "given",
    [
        ["bob", "dan"],
        ("dan", "bob", "bob"),
        {"bob", "dan"},
        np.array(["bob", "dan"]),
        pa.array(["bob", "dan"]),
        pa.table({"who": ["bob", "dan"]}),
        pa.table({"group": ["h", "h"], "member": ["bob", "dan"]}),
        {"member": ["bob", None, "dan"], "since": [1, 1, 2]},
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_group_is_found_in_whatever_form_it_comes(given: Any) -> None:
    assert ids_in(named_log(), given) == {"bob", "dan"}


def test_a_group_is_read_from_files(tmp_path: Path) -> None:
    texts = tmp_path / "group.csv"
    texts.write_text("who\nbob\ndan\n")
    assert ids_in(named_log(), str(texts)) == {"bob", "dan"}
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("user,since\n5,2020-01-01\n7,2020-01-01\n")
    assert ids_in(numbered_log(), numbers) == {5, 7}
    pq.write_table(pa.table({"user": [3]}), tmp_path / "group.parquet")
    assert ids_in(numbered_log(), tmp_path / "group.parquet") == {3}


def test_users_whom_the_log_does_not_have_are_counted() -> None:
    with pytest.warns(us.UnskewWarning, match="1 user of 2 is not in the log"):
        assert ids_in(named_log(), ["bob", "eve"]) == {"bob"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "names no users"),
        (["eve"], "none of these users, such as 'eve'"),
        (NAMES, "every user"),
        (7, "is a int"),
        (pa.table({"a": ["bob"], "b": ["dan"]}), "no column 'member'"),
        ("no-such-file.csv", "no-such-file.csv"),
    ],
)
def test_a_group_that_cannot_be_used_is_refused(given: Any, message: str) -> None:
    with pytest.raises(us.UnskewError, match=message):
        find_holdout(named_log(), given)


def random_log(seed: int, users: int = 400) -> us.Log:
    """Profiles of 1 to 9 items out of 50, some of which are frequent."""
    rng = np.random.default_rng(seed)
    rows = [(u, i) for u in range(users) for i in set((50 * rng.random(rng.integers(1, 10)) ** 2).astype(int))]
    return us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * len(rows)})


def test_groups_drawn_at_random_pass_the_check() -> None:
    rng = np.random.default_rng(0)
    log = random_log(1)
    flagged = sum(bool(check_holdout(log, rng.random(400) < 0.2, 2)) for _ in range(20))
    assert flagged <= 1  # each test fails once in a thousand times


def test_a_group_with_longer_profiles_is_reported() -> None:
    log = random_log(2)
    sizes = log.at(1).sizes()
    found = check_holdout(log, sizes >= 7, 2)
    assert any("items on average" in sentence for sentence in found)


def test_a_group_with_other_items_is_reported() -> None:
    log = random_log(3)
    before = log.at(1)
    top = int(np.argmax(before.counts()))
    holds = np.array([log.items[top] in before.profile(user) for user in log.users])
    found = check_holdout(log, holds & (np.arange(len(holds)) % 2 == 0), 2)
    assert any("was among the" in sentence for sentence in found)


def test_a_group_without_profiles_cannot_be_checked() -> None:
    log = us.read_log({"user": [1, 2, 3, 4], "item": [1, 2, 3, 4], "time": [1, 1, 1, 9]})
    assert "cannot be checked" in check_holdout(log, np.array([u == 4 for u in log.users]), 5)[0]
    assert check_holdout(log, np.array([u == 4 for u in log.users]), 0) == []


def test_a_list_of_users_without_a_first_line_for_names_loses_none(tmp_path: Path) -> None:
    for users, text in ((["u1", "u2", "u3"], "u1\nu2\n"), ([11, 12, 13], "11\n12\n")):
        log = us.read_log({"user": users, "item": [1, 1, 1], "time": [1, 2, 3]})
        (tmp_path / "held.csv").write_text(text)
        found = find_holdout(log, tmp_path / "held.csv")
        assert sorted(log.users[int(code)] for code in np.flatnonzero(found)) == users[:2]
