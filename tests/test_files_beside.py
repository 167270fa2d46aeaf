"""Files beside the log (names, exposures, holdout groups, lists) are read as the log is, their columns chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unskew.cli import main

ROWS = [(user, item, time) for user in range(1, 7) for item, time in ((10, 1), (20, user), (30, 9))]
TITLES = {10: 'Toy "Story"', 20: "Café, Le", 30: "Zoo"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in ROWS))
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments))


def drift(names: str) -> dict[int, str]:
    done = run("drift", "log.csv", "--reference", "3", "--at", "9", "--names", names, "--json")
    assert done.exit_code == 0, done.stderr
    return {row["item"]: row["name"] for row in json.loads(done.stdout)["top"]}


def write_titles(path: str, sep: str, header: str, encoding: str = "utf-8") -> str:
    body = "".join(f"{item}{sep}{title}{sep}x\n" for item, title in TITLES.items())
    Path(path).write_bytes((header + body).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("path", "sep", "header", "encoding", "more"),
    [
        ("names.tsv", "\t", "item\tname\tkind\n", "utf-8", ""),
        ("movies.dat", "::", "", "latin-1", ""),
        ("movies.dat", "::", "", "latin-1", "?item=1&name=2"),
        ("movies.csv", ";", "kind;movie_id;title\n", "utf-8", ""),
        ("movies.csv", ";", "a;b;c\n", "utf-8", "?item=a&name=b"),
        ("movies.txt", "|", "a|b|c\n", "utf-16", "?item=1&name=2&sep=pipe&encoding=utf-16"),
    ],
)
def test_names_come_from_any_file_and_columns(path: str, sep: str, header: str, encoding: str, more: str) -> None:
    write_titles(path, sep, header, encoding)
    if header.startswith("kind"):
        body = "".join(f"x{sep}{item}{sep}{title}\n" for item, title in TITLES.items())
        Path(path).write_text(header + body)
    found = drift(path + more)
    assert found == {item: TITLES[item] for item in found}


def test_a_timeline_names_the_items_that_it_follows() -> None:
    write_titles("names.tsv", "\t", "item\tname\tkind\n")
    grid = ["timeline", "log.csv", "--reference", "3", "--to", "9", "--every", "6", "-r", "popular"]
    named = [*grid, "--follow", "30,10", "--names", "names.tsv"]
    shown = run(*named).stdout
    assert [line.split()[:2] for line in shown.splitlines() if " 30 " in line] == [["Zoo", "30"]] * 2
    found = json.loads(run(*named, "--json").stdout)["probabilities"]
    assert {(row["item"], row["name"]) for row in found} == {(30, "Zoo"), (10, 'Toy "Story"')}
    wrong = run(*grid, "--follow", "30,40", "--names", "names.tsv")
    assert (wrong.exit_code, "the log has no item 40" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("names.csv?item=movie", "no column 'movie'"),
        ("names.csv?item=a&nam=b", "parameter 'nam'; did you mean 'name'"),
        ("names.csv", "choose its columns as in FILE?item=movie_id&name=title"),
        ("missing.csv?item=a&name=b", "no file missing.csv"),
    ],
)
def test_names_that_cannot_be_found_say_how_to_choose_them(names: str, words: str) -> None:
    write_titles("names.csv", ";", "a;b;c\n")
    done = run("drift", "log.csv", "--reference", "3", "--at", "9", "--names", names)
    assert done.exit_code == 2
    assert words in done.stderr


def weights_left(*known: str) -> dict[str, Any]:
    done = run("drift", "log.csv", "--reference", "3", "--at", "9", "--json", *known)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["view"]
    return found


@pytest.mark.parametrize("path", ["shown.dat", "shown.dat?user=1&item=2&time=3&header=no&sep=::"])
def test_exposures_come_from_any_file(path: str) -> None:
    if "?" in path:
        Path("shown.dat").write_text("".join(f"{u}::30::8\n" for u in (1, 2)))
    else:
        Path("shown.dat").write_text("user::item::time\n" + "".join(f"{u}::30::8\n" for u in (1, 2)))
    assert weights_left("--exposures", path)["dropped_pairs"] == 2


def test_exposures_with_a_wrong_parameter_are_refused() -> None:
    Path("shown.csv").write_text("user,item,time\n1,30,8\n")
    done = run("drift", "log.csv", "--reference", "3", "--at", "9", "--exposures", "shown.csv?usr=a")
    assert done.exit_code == 2
    assert "parameter 'usr'; did you mean 'user'" in done.stderr


def test_a_list_of_users_without_a_header_loses_none() -> None:
    Path("held.txt").write_text("1\n2\n")
    from unskew import read_log
    from unskew.views.contrast import find_holdout

    log = read_log("log.csv")
    assert sorted(log.users[int(code)] for code in find_holdout(log, "held.txt").nonzero()[0]) == [1, 2]
    Path("held.csv").write_bytes("user;name\n3;Ren\u00e9\n".encode("latin-1"))
    assert [log.users[int(code)] for code in find_holdout(log, "held.csv?encoding=latin-1").nonzero()[0]] == [3]


def test_an_output_over_names_with_parameters_is_refused() -> None:
    write_titles("names.csv", ";", "a;b;c\n")
    done = run(
        "weights",
        "log.csv",
        "--reference",
        "3",
        "--at",
        "9",
        "--names",
        "names.csv?item=a&name=b",
        "-o",
        "names.csv",
    )
    assert done.exit_code == 2
    assert "would be overwritten" in done.stderr
