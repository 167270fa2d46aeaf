"""One id in several types: 17511, 17511.0, "17511" and "17511.0" are the same user or item in every file."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.test_cli import answer
from unskew.cli.shared_options import read_names
from unskew.data.ids import Ids
from unskew.errors import InputError
from unskew.reading import mark_exposed
from unskew.views.contrast import find_holdout

USERS, ITEMS = [17511, 17512, 17513, 17514], [11, 12, 13]
PAIRS = [(user, item) for user in USERS for item in ITEMS[: 2 + user % 2]]
Write = Callable[[list[int]], Any]
FORMS: dict[str, Write] = {
    "integers": lambda ids: pa.array(ids, type=pa.int64()),
    "floats": lambda ids: pa.array(ids, type=pa.float64()),
    "decimals": lambda ids: pa.array([Decimal(k) for k in ids], type=pa.decimal128(12, 2)),
    "texts": lambda ids: pa.array([str(k) for k in ids]),
    "texts of floats": lambda ids: pa.array([f"{k}.0" for k in ids]),
}


def rows(form: str, times: list[int] | None = None) -> pa.Table:
    users, items = ([pair[k] for pair in PAIRS] for k in (0, 1))
    return pa.table(
        {"user": FORMS[form](users), "item": FORMS[form](items), "time": times or list(range(len(PAIRS)))}
    )


def csv(table: pa.Table, path: Path) -> str:
    lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


pairs_of_forms = pytest.mark.parametrize("theirs", FORMS)
forms = pytest.mark.parametrize("ours", FORMS)


@pytest.mark.parametrize("form", ["integers", "floats", "decimals"])
def test_decimal_ids_that_are_whole_are_read_as_integers(form: str) -> None:
    log = us.read_log(rows(form))
    assert sorted(log.users) == USERS
    assert all(type(user) is int for user in log.users)


@pytest.mark.parametrize("form", FORMS)
def test_a_text_file_of_floats_is_read_as_integers(form: str, tmp_path: Path) -> None:
    log = us.read_log(csv(rows(form), tmp_path / "log.csv"))
    assert log.users.values.type == log.items.values.type == pa.int64()
    assert sorted(log.users) == USERS


def test_a_gap_in_the_ids_does_not_make_them_decimal() -> None:
    log = us.read_log({"user": [1.0, float("nan"), 2.0], "item": [1, 2, 3], "time": [1, 2, 3]}, drop_nulls=True)
    assert sorted(log.users) == [1, 2]
    assert log.users.values.type == pa.int64()


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        ([1.0, 2.5], pa.float64()),
        ([1.0, 2.0**60], pa.float64()),
        (["1.0", "1.5"], pa.string()),
        (["7.0"], pa.string()),
    ],
)
def test_other_decimals_and_texts_of_typed_files_stay_as_they_are(ids: list[Any], kind: pa.DataType) -> None:
    log = us.read_log({"user": ids, "item": ids, "time": [1] * len(ids)})
    assert log.users.values.type == kind


def test_versions_in_a_text_file_stay_texts(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,time\n1.0,007.0,1\n1.5,2.0,2\n")
    log = us.read_log(str(path))
    assert (sorted(log.users), sorted(log.items)) == (["1.0", "1.5"], ["007.0", "2.0"])


@forms
@pairs_of_forms
def test_exposures_match_whatever_the_type(ours: str, theirs: str) -> None:
    log = us.read_log(rows(ours, times=[9] * len(PAIRS)))
    shown = rows(theirs, times=[1] * len(PAIRS)).slice(0, 5)
    marked = mark_exposed(log, shown)
    assert marked.exposed is not None
    assert marked.exposed.sum() == 5


@forms
@pairs_of_forms
def test_a_holdout_group_matches_whatever_the_type(ours: str, theirs: str, tmp_path: Path) -> None:
    log = us.read_log(rows(ours))
    group = FORMS[theirs](USERS[:2])
    typed, text = tmp_path / "group.parquet", tmp_path / "group.csv"
    pq.write_table(pa.table({"user": group}), typed)
    csv(pa.table({"user": group}), text)
    for given in (group, group.to_pylist(), str(typed), str(text)):
        marked = find_holdout(log, given)
        assert sorted(float(log.users[code]) for code in np.flatnonzero(marked).tolist()) == USERS[:2]


@forms
@pairs_of_forms
def test_lists_match_whatever_the_type(ours: str, theirs: str, tmp_path: Path) -> None:
    log = us.read_log(rows(ours))
    lists = rows(theirs).append_column("rank", pa.array([item for _, item in PAIRS])).drop_columns(["time"])
    typed = tmp_path / "lists.parquet"
    pq.write_table(lists, typed)
    expected = us.evaluate(
        us.Table(rows("integers").append_column("rank", lists.column("rank"))),
        us.read_log(rows("integers")).at("last"),
    ).value
    for path in (str(typed), csv(lists, tmp_path / "lists.csv")):
        assert us.evaluate(f"table:{path}", log.at("last")).value == expected


@forms
@pairs_of_forms
def test_weights_and_marginals_match_whatever_the_type(ours: str, theirs: str, tmp_path: Path) -> None:
    there, here = us.read_log(rows(theirs)), us.read_log(rows(ours))
    there.at(4).marginal().save(tmp_path / "mix.parquet")
    us.fit_weights(there.at("last"), there.at(4)).save(tmp_path / "weights.parquet")
    mix = us.Marginal.load(tmp_path / "mix.parquet")
    weights = us.ItemWeights.load(tmp_path / "weights.parquet")
    expected = us.fit_weights(here.at("last"), here.at(4))
    fitted = us.fit_weights(here.at("last"), mix)
    assert fitted.weights == pytest.approx(expected.weights)
    scores = [us.evaluate("popular", here.at("last"), weights=w).value for w in (weights, expected)]
    assert scores[0] == pytest.approx(scores[1])


@forms
def test_names_and_constant_lists_match_whatever_the_type(ours: str, tmp_path: Path) -> None:
    log = us.read_log(rows(ours))
    for write in FORMS.values():
        path = tmp_path / "names.parquet"
        pq.write_table(pa.table({"item": write(ITEMS), "name": ["a", "b", "c"]}), path)
        assert sorted(read_names(str(path), log.items.values) or []) == ["a", "b", "c"]
    for text in ("11", "11.0"):
        assert us.evaluate(f"constant:{text}", log.at("last")).value > 0


def test_the_command_line_matches_them_too(tmp_path: Path) -> None:
    log = csv(rows("integers", times=list(range(10, 10 + len(PAIRS)))), tmp_path / "log.csv")
    shown = csv(rows("texts of floats", times=[1] * len(PAIRS)).slice(0, 4), tmp_path / "shown.csv")
    found = answer("evaluate", log, "-r", "popular", "--exposures", shown)
    assert found["view"]["dropped_pairs"] == 4


def test_an_id_that_is_here_as_it_is_written_is_that_one() -> None:
    ids = Ids.of(pa.array(["1.0", "1", "2"]))
    assert ids.match(pa.array(["1", "1.0", "2.0", "3"])).tolist() == [1, 0, 2, -1]


def test_texts_that_are_no_numbers_are_refused_as_ever() -> None:
    log = us.read_log(rows("integers"))
    with pytest.raises(
        InputError, match=r"the users of .* are text, those of the log integers: make them the same"
    ):
        mark_exposed(log, {"user": ["ann"], "item": ["tea"], "time": [1]})
    with pytest.raises(InputError, match="the users of holdout are text, those of the log integers"):
        find_holdout(log, pa.array(["ann"]))


@pytest.mark.parametrize("text", ["7", "7.0", " 7 ", "007", "+7", "-0", "0x7", "7.", "7e0", "٧", "x"])
@pytest.mark.parametrize("number", [7, 7.0, 0])
def test_a_text_matches_a_number_if_the_number_matches_the_text(text: str, number: float) -> None:
    is_7 = text.strip() in ("7", "7.0") and number == 7
    for others in ([], ["guest"]):
        assert Ids.of(pa.array([number])).match([text, *others]).tolist() == [
            0 if is_7 else -1,
            *[-1] * len(others),
        ]
        assert Ids.of(pa.array([text, *others])).match([number]).tolist() == [0 if is_7 else -1]
