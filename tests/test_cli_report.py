"""``unskew report`` as a user meets it: the page and its words, JSON, a saved timeline, and what is refused."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.test_cli import answer, refused, run, table
from unskew.pages.log_page import choose_step
from unskew.show.report_words import explain_metric, places_words


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("logs") / "log.parquet"
    pq.write_table(table(), path)
    return str(path)


_OPTIONS = ("--refit", "10", "--campaign", "60:70", "--view", "all", "--quick")


def _command(log: str, *more: str) -> list[str]:
    return ["report", log, "--reference", "50", "--at", "95", "-r", "constant:1,2,3", "-r", "popular", *more]


@pytest.fixture(scope="module")
def made(log: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    path = tmp_path_factory.mktemp("page") / "report.html"
    told = answer(*_command(log, "-o", str(path), *_OPTIONS))
    return path, told


def _text(path: Path) -> str:
    """What a reader reads: the words of the page without its scripts and styles."""
    markup = re.sub(r"(?s)<(script|style).*?</\1>", " ", path.read_text())
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", markup)).replace("\u00a0", " ").split())


def test_json_has_the_path_and_the_figures_of_evaluate_and_timeline(
    made: tuple[Path, dict[str, Any]], log: str
) -> None:
    path, told = made
    assert told["output"] == str(path)
    alone = answer("evaluate", *_command(log)[1:], *_OPTIONS)
    assert told["scores"] == alone["scores"]
    assert told["verdicts"] == [{**verdict, "next_steps": ANY} for verdict in alone["verdicts"]]
    assert told["verdicts"]
    assert told["changes"] == alone["changes"]
    last = {(r["recommender"], r["weighting"]): r["value"] for r in told["timeline"]["rows"] if r["at"] == 95}
    now = {(s["recommender"], s["weighting"]): s["value"] for s in told["scores"] if s["at"] == 95}
    assert last == pytest.approx(now, abs=1e-4)  # the tolerance of the weights, which begin elsewhere


def test_the_words_on_top_are_those_of_the_numbers(made: tuple[Path, dict[str, Any]]) -> None:
    path, told = made
    text = _text(path)
    for change in told["changes"]:
        then, now = (f"{100 * change[name]:.2f} %" for name in ("score_from", "score_to"))
        assert f"{then} then, {now} now" in text
        assert f"{100 * change['item_mix']['value']:+z.2f}".replace("-", "−") + " from the item mix" in text


def test_the_page_says_how_it_was_made_and_the_command_makes_it_again(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    path, _ = made
    [command] = re.findall(r'<section id="made".*?<code>(.*?)</code>', path.read_text(), re.DOTALL)
    words = shlex.split(html.unescape(command))
    assert words[-2:] == ["-o", str(path)]
    again = tmp_path / "again.html"
    assert run(*words[1:-1], str(again)).exit_code == 0
    assert again.read_text().replace(str(again), str(path)) == path.read_text()  # to the last letter
    assert us.__version__ in _text(path)
    assert "fingerprint" in _text(path)


def test_the_page_asks_nothing_of_a_network(made: tuple[Path, dict[str, Any]]) -> None:
    text = made[0].read_text()
    markup = re.sub(r"(?s)<script.*?</script>", " ", text)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""", markup)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert html.unescape(policy[1]).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy[1]
    assert "script-src 'unsafe-inline'" not in html.unescape(policy[1])


def test_a_saved_timeline_is_shown_without_the_log(log: str, tmp_path: Path) -> None:
    saved, path = str(tmp_path / "timeline.parquet"), tmp_path / "page.html"
    made = answer(
        "timeline", log, "--reference", "50", "--to", "95", "--every", "15", "-r", "popular", "-o", saved
    )
    told = answer("report", saved, "-o", str(path))
    assert told["timeline"]["rows"] == made["rows"]
    raw = [row["value"] for row in made["rows"] if row["weighting"] == "raw"]
    assert f"{100 * raw[0]:.2f} % then, {100 * raw[-1]:.2f} % now" in _text(path)
    assert "Whether popular would score the same had nothing been recommended" in _text(path)
    both = tmp_path / "both.html"
    with_log = answer(*_command(log, "--timeline", saved, "-o", str(both), "--refit", "0", "--quick"))
    assert with_log["timeline"]["rows"] == made["rows"]


def test_names_stand_for_ids(log: str, tmp_path: Path) -> None:
    names, path = tmp_path / "names.csv", tmp_path / "page.html"
    items = us.read_log(log).items.values.to_pylist()
    names.write_text("item,title\n" + "".join(f"{item},The <b>{item}</b>\n" for item in items))
    assert (
        run(
            *_command(log, "--names", str(names), "-o", str(path), "--refit", "0", "--quick", "--every", "45")
        ).exit_code
        == 0
    )
    text = path.read_text()
    assert f"The <b>{items[0]}</b>" not in text
    assert f"The \\u003cb\\u003e{items[0]}" in text


@pytest.mark.parametrize("name", ["reference", "recommender"])
def test_what_a_log_needs_is_asked_for_by_name(log: str, name: str) -> None:
    words = _command(log)
    flags = {"reference": ["--reference", "50"], "recommender": ["-r"]}[name]
    kept = [word for k, word in enumerate(words) if word not in flags and words[k - 1] != "-r"]
    kept = kept if name == "recommender" else [word for word in words if word not in flags]
    done = run(*kept)
    assert done.exit_code == 2
    assert flags[0] in done.stderr


def test_a_file_of_somebody_else_is_not_overwritten(log: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.html"
    path.write_text("<p>mine</p>")
    assert "notes.html is there already and was not made by unskew" in refused(*_command(log, "-o", str(path)))
    assert path.read_text() == "<p>mine</p>"
    assert "a page must be an .html file" in refused(*_command(log, "-o", str(tmp_path / "page.pdf")))


def test_a_page_of_ours_is_replaced(made: tuple[Path, dict[str, Any]], log: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(made[0].read_text())
    found = us.report(us.read_log(log), "popular", at=95)
    found.save(path)
    assert path.read_text() != made[0].read_text()
    assert "nothing is said about a change" in _text(path)


def test_a_report_shows_itself_in_a_notebook_without_a_script(log: str) -> None:
    recommenders = {"</script><img src=x onerror=alert(2)>": "popular", "b": "constant:1"}
    found = us.report(us.read_log(log), recommenders, at=95, reference=50, refit=0, quick=True)
    shown = found._repr_html_()
    assert "<script" not in shown
    assert "<img" not in shown
    assert shown.count("<svg") == 4  # the range of the verdict, a split for each, and the scores
    assert f"{100 * found.scores[0].value:.2f} %" in shown


def test_a_page_without_a_clock_is_the_same_each_time(log: str, tmp_path: Path) -> None:
    found = us.report(us.read_log(log), "popular", at=95, reference=50, refit=0)
    for name in ("a.html", "b.html"):
        found.save(tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_words_about_metrics_and_orders() -> None:
    assert explain_metric("user-recall@10") == (
        "user-recall@10 is how many of a user's held-out items are among the first 10 recommended, as a share."
    )
    assert explain_metric("item-mrr@10") == explain_metric("mrr@10").replace("mrr@10", "item-mrr@10")
    assert "first of a user's held-out items that is found" in explain_metric("user-mrr@10")
    assert explain_metric("mine") == "mine is a metric of your own."
    assert places_words(["a", "b"], ["a", "b"]) == (
        "The order of the scores is the same as logged and re-weighted; a has the highest."
    )


@pytest.mark.parametrize(
    ("times", "start", "end", "expected"),
    [
        (["2024-01-01T00:00:00", "2024-01-03T00:00:00"], "2024-01-01", "2024-01-03", "3h"),
        (["2024-01-01", "2024-12-31"], "2024-01-01", "2024-04-30", "7d"),
        ([0.0, 1.0], 0.0, 0.8, 0.05),
        ([0, 3], 0, 3, 1),
    ],
)
def test_the_time_is_cut_into_about_sixteen_dates(times: list[Any], start: Any, end: Any, expected: Any) -> None:
    log = us.read_log({"user": ["a", "b"], "item": [1, 2], "time": times})
    assert choose_step(log, start, end) == pytest.approx(expected)


def test_json_is_one_object_and_nothing_else_and_the_last_date_is_the_default(log: str, tmp_path: Path) -> None:
    words = [word for word in _command(log) if word not in ("--at", "95")]
    done = run(*words, *("-o", str(tmp_path / "x.html"), "--refit", "0", "--quick", "--every", "45", "--json"))
    told = json.loads(done.stdout)
    assert told["output"] == str(tmp_path / "x.html")
    assert told["at"] == max(table().column("time").to_pylist())


def test_a_timeline_that_does_not_go_with_the_report_is_told_apart(log: str, tmp_path: Path) -> None:
    saved = str(tmp_path / "timeline.parquet")
    answer("timeline", log, "--reference", "40", "--to", "90", "--every", "50", "-r", "popular", "-o", saved)
    options = [
        "--reference",
        "50",
        "--at",
        "95",
        "-r",
        "constant:1",
        "--refit",
        "0",
        "--quick",
        "-o",
        str(tmp_path / "page.html"),
    ]
    told = run("report", log, *options, "--timeline", saved)
    assert told.exit_code == 0
    assert (
        "are those of other recommenders (popular instead of constant:1) and reference dates (40 instead of 50)"
        in (" ".join(told.stderr.split()))
    )


def test_options_for_a_log_are_refused_beside_a_timeline(log: str, tmp_path: Path) -> None:
    saved, page = str(tmp_path / "timeline.parquet"), tmp_path / "page.html"
    answer("timeline", log, "--reference", "40", "--to", "90", "--every", "50", "-r", "popular", "-o", saved)
    for flag, value in (("--reference", "50"), ("--at", "90"), ("-r", "knn")):
        assert f"error: {flag} is for a log" in refused("report", saved, flag, value, "-o", str(page))
    assert not page.exists()
