"""The README: what it prints is what its command prints, its figures are those of the log, and it is short."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tools.demo_page import write_demo_page
from tools.make_example import TRUTH

import unskew as us
from unskew.cli import main

ROOT = Path(us.__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMAND, ANSWER = re.findall(r"```console\n\$ unskew (.*?)\n(.*?)\.\.\.\n```", README, re.DOTALL)[0]


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """What the command of the README prints as JSON."""
    done = CliRunner().invoke(main, [*shlex.split(COMMAND), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_it_is_short_and_links_to_few_pages() -> None:
    assert len(README.splitlines()) <= 130
    [documentation] = re.findall(r"^## Documentation\n(.*?)^## ", README, re.MULTILINE | re.DOTALL)
    assert documentation.count("](docs/") == 8


def test_its_answer_is_that_of_its_command(printed: dict[str, Any]) -> None:
    shown = " ".join(ANSWER.split())
    knn, ease = printed["verdicts"]
    for verdict in (knn, ease):
        assert f"{verdict['headline']}. {verdict['reason']}." in shown


def test_the_range_has_the_truth_and_the_log_does_not(printed: dict[str, Any]) -> None:
    for verdict in printed["verdicts"]:
        truth = TRUTH[verdict["recommender"]]
        logged = verdict["scenarios"][0]["difference"]
        assert verdict["range"]["low"] < truth < verdict["range"]["high"]
        assert logged["low"] > truth
    said = re.findall(r"(?:leads|trail|lead)\s+by (\d\.\d)", README)
    knn, _ = printed["verdicts"]
    logged = knn["scenarios"][0]["difference"]["value"]
    assert said == [f"{100 * abs(value):.1f}" for value in (logged, TRUTH["knn"], TRUTH["ease"])]


@pytest.mark.parametrize("reproduced", [False, True])
def test_the_demonstration_ends_on_a_page_with_verdicts_links_and_what_to_run(
    printed: dict[str, Any], tmp_path: Path, reproduced: bool
) -> None:
    (tmp_path / "report.json").write_text(json.dumps({"verdicts": printed["verdicts"]}))
    if reproduced:
        (tmp_path / "paper").mkdir()
        (tmp_path / "paper" / "index.html").touch()
    page = write_demo_page(tmp_path)
    html = page.read_text().replace("\xa0", " ")
    outside = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert page.name == "index.html"
    for text in (
        "Did knn beat popular?",
        "Undecided",
        "Did ease beat popular?",
        "Yes, if nothing was recommended",
    ):
        assert text in outside
    assert 'href="report.html"' in outside
    assert ('href="paper/index.html"' in outside) is reproduced
    assert ("DEMO=quick" in outside) is not reproduced
    assert "unskew evaluate events.csv" in outside
    assert "knn would be 2.9 points behind popular; the log as it is says +6.0" in outside
