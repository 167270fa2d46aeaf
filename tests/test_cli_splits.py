"""``--after`` and ``--leave-last-out`` as a user meets them on every command that takes them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.dense import columns
from tests.test_cli import answer, refused, run, table

DATED = ["--reference", "49", "--at", "99"]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("logs") / "log.parquet"
    pq.write_table(table(), path)
    return str(path)


@pytest.fixture(scope="module")
def weights(log: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("weights") / "w.parquet")
    assert run("weights", log, *DATED, "--after", "79", "-o", path).exit_code == 0
    return path


def test_weights_of_a_time_split_are_those_of_evaluate_and_of_the_library(log: str, weights: str) -> None:
    history = us.read_log(log)
    mine = us.fit_weights(history.at(99), history.at(49), after=79)
    found = answer("weights", log, *DATED, "--after", "79")
    assert (found["bound_after"], found["after"], found["reference_after"]) == (mine.bound, 79, 29)
    assert found["policy"]["held"] == "later"
    assert us.ItemWeights.load(weights).to_arrow().equals(mine.to_arrow())
    by_date = answer("evaluate", log, *DATED, "--after", "79", "-r", "popular", "--refit", "0")
    by_file = answer("evaluate", log, "--at", "99", "--weights", weights, "--after", "79", "-r", "popular")
    assert by_date["scores"][1:] == by_file["scores"]
    assert {k: by_date[k] for k in ("protocol", "after", "reference_after")} == {
        "protocol": "time split", "after": 79, "reference_after": 29,
    }  # fmt: skip
    relative = answer("evaluate", log, *DATED, "--after=-20", "-r", "popular", "--refit", "0")
    assert relative["scores"] == by_date["scores"]


def test_a_saved_marginal_of_what_was_held_out_is_a_reference_for_it(log: str, tmp_path: Path) -> None:
    path = str(tmp_path / "m.parquet")
    saved = answer("marginal", log, "--at", "49", "--after=-20", "-o", path)
    assert saved["policy"]["held"] == "later"
    by_file, by_date = (
        answer("weights", log, "--reference", t0, "--at", "99", "--after", "79") for t0 in (path, "49")
    )
    assert by_file["bound_after"] == by_date["bound_after"]
    assert (by_file["reference"], by_file["reference_after"]) == (49, 29)
    said = refused("weights", log, "--reference", path, "--at", "99")
    made_with = "interactions of users after a time at which they had a profile, not whole profiles"
    assert f"was made with {made_with}" in said


def test_the_output_names_both_windows_and_what_stands_behind_the_scores(log: str) -> None:
    wanted = ["-r", "popular", "-m", "hit@3", "-m", "user-hit@3", "--details"]
    done = run("evaluate", log, *DATED, "--after", "79", *wanted)
    told = " ".join(done.stdout.split())
    assert "Held out: interactions after 79 and up to 99, and at the reference date after 29 and up to 49." in told
    assert "had no profile before, and cannot be scored." in told
    assert "user-hit@3: not re-weighted, since one value stands for all held-out items of a user" in told
    assert "recall@3" in told
    assert " hit@3" not in told
    plain = run("evaluate", log, *DATED, "-r", "popular").stdout
    assert "Held out: interactions" not in plain
    assert "not re-weighted" not in plain
    shown = " ".join(run("weights", log, *DATED, "--after", "79").stdout.split())
    assert "Held out: interactions after 79 and up to 99, and at the reference date after 29" in shown


def test_the_mass_of_new_items_is_beside_the_weights(tmp_path: Path) -> None:
    events = [(u, i, 0) for u in (1, 2, 3) for i in "ab"] + [(1, "c", 5), (2, "c", 5), (3, "c", 5), (3, "d", 5)]
    path = str(tmp_path / "log.parquet")
    pq.write_table(pa.table(columns(events)), path)
    told = " ".join(run("evaluate", path, "--reference", "0", "--at", "5", "-r", "constant:a").stdout.split())
    new = (1 / 3 + 1 / 3 + 2 / 4) / 3
    assert f"2 new items, dropped, have {100 * new:.2f} % of the mass now" in told
    kept = run("evaluate", path, "--reference", "0", "--at", "5", "-r", "constant:a", "--new-items", "keep").stdout
    assert "2 new items, kept, have" in " ".join(kept.split())


def test_leave_last_out_on_every_command(log: str, tmp_path: Path) -> None:
    history = us.read_log(log)
    mine = us.evaluate("popular", history.at(99), leave_last_out=True)
    found = answer("evaluate", log, "--at", "99", "--leave-last-out", "-r", "popular")
    assert found["scores"][0]["value"] == mine.value
    assert (found["protocol"], found["scores"][0]["held_out"]) == ("leave-last-out", "exact")
    told = run("evaluate", log, "--at", "99", "--leave-last-out", "-r", "popular").stdout
    assert "Held out: the last item of each profile." in told
    path = str(tmp_path / "w.parquet")
    done = run("weights", log, *DATED, "--leave-last-out", "-o", path)
    assert "warning: with one held-out item a user there is nothing" in done.stderr
    again = answer("evaluate", log, "--at", "99", "--leave-last-out", "--weights", path, "-r", "popular")
    assert [s["weighting"] for s in again["scores"]] == ["raw", "weighted"]
    grid = ["timeline", log, "--reference", "49", "--from", "80", "--to", "99", "--every", "19"]
    rows = answer(*grid, "--leave-last-out", "-r", "popular")["rows"]
    assert rows[-2]["value"] == mine.value
    drawn = answer("sample", log, "--at", "99", "--leave-last-out", "-n", "50", "-o", str(tmp_path / "s.parquet"))
    assert (drawn["protocol"], drawn["policy"]["held"]) == ("leave-last-out", "last")


def test_a_sample_after_a_time_has_the_profiles_of_then(log: str, weights: str, tmp_path: Path) -> None:
    out = str(tmp_path / "s.parquet")
    given = ["sample", log, "--at", "99", "--after", "79", "--weights", weights, "-n", "200", "-o", out]
    found = answer(*given)
    assert (found["after"], found["protocol"]) == (79, "time split")
    then = us.read_log(log).at(79)
    for row in pq.read_table(out).to_pylist():
        assert sorted(row["profile"]) == sorted(then.profile(row["user"]))
    told = " ".join(run(*given).stdout.split())
    assert "Held out: interactions after 79 and up to 99." in told


def test_a_timeline_says_what_it_holds_out(log: str) -> None:
    grid = ["timeline", log, "--reference", "49", "--from", "80", "--to", "99", "--every", "19", "-r", "popular"]
    rolling = answer(*grid, "--after=-20")
    assert rolling["rows"][2]["value"] == us.evaluate("popular", us.read_log(log).at(99), after=79).value
    assert rolling["options"]["after"] == "-20"
    assert "interactions in the last 20 before it" in " ".join(run(*grid, "--after=-20").stdout.split())
    assert "interactions after 70 and up to it" in " ".join(run(*grid, "--after", "70").stdout.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["weights", *DATED, "--after", "79", "--leave-last-out"], "--leave-last-out the last one"),
        (["evaluate", "--at", "99", "-r", "popular", "--leave-last-out", "--folds", "2"], "out --leave-last-out"),
        (["evaluate", "--at", "99", "-r", "popular", "--leave-last-out", "--leave-out", "2"], "--leave-last-out"),
        (["evaluate", "--at", "99", "-r", "popular", "--after=-5d"], "-5d: '5d' is a step of the calendar"),
        (["evaluate", "--at", "99", "-r", "popular", "--after", "99"], "--at 99: what is held out lies"),
        (["evaluate", "--at", "99", "-r", "popular", "-m", "user-hit@5", "--sample", "9"], "leave out --sample"),
        (["timeline", "--reference", "49", "-r", "popular", "--after", "70"], "begin later with --from"),
    ],
)  # fmt: skip
def test_what_cannot_be_held_out_is_refused(log: str, arguments: list[str], told: str) -> None:
    assert told in refused(arguments[0], log, *arguments[1:])


def test_a_weights_file_of_another_protocol_is_refused(log: str, weights: str, tmp_path: Path) -> None:
    out = str(tmp_path / "s.parquet")
    for command in (["evaluate", "-r", "popular"], ["sample", "-o", out]):
        said = refused(command[0], log, "--at", "99", "--weights", weights, *command[1:])
        assert "not to whole profiles: use --after 79 here too, or fit them again" in said
        said = refused(command[0], log, "--at", "99", "--after", "70", "--weights", weights, *command[1:])
        assert "after 79, not after 70: fit them again with --after 70, or use --after 79" in said
    assert not Path(out).exists()


def test_a_saved_marginal_of_a_longer_window_is_warned_of(log: str, tmp_path: Path) -> None:
    path = str(tmp_path / "m.parquet")
    answer("marginal", log, "--at", "49", "--after=-40", "-o", path)
    done = run("weights", log, "--reference", path, "--at", "99", "--after", "79")
    assert done.exit_code == 0, done.output
    assert "a window of another length" in " ".join(done.stderr.split())


def test_weights_from_a_file_name_both_windows(log: str, tmp_path: Path) -> None:
    path = str(tmp_path / "w.parquet")
    answer("weights", log, *DATED, "--after", "79", "-o", path)
    found = answer("evaluate", log, "--at", "99", "--weights", path, "-r", "popular", "--after", "79")
    assert (found["after"], found["reference_after"]) == (79, 29)
