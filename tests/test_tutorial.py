"""The tutorial and the quickstart, done as they are written: their commands print what the pages show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main

DOCS = Path(us.__file__).parents[2] / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text()
QUICKSTART = (DOCS / "quickstart.md").read_text()
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_tutorial_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    assert _run_commands(TUTORIAL) >= 5
    [first_lines] = re.findall(r"^```text\n(user,item,time\n.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    assert Path("events.csv").read_text().startswith(first_lines)


@pytest.mark.filterwarnings("ignore::unskew.errors.UnskewWarning")
def test_the_commands_of_the_quickstart_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    assert _run_commands(QUICKSTART) >= 5


def _run_commands(page: str) -> int:
    """Run every command of a page and compare what it prints; how many there were."""
    ran = 0
    for block in BLOCK.findall(page):
        command, _, shown = block.removeprefix("$ ").partition("\n")
        program, *arguments = shlex.split(command)
        if program == "python":
            _run_script(arguments[0])
            continue
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        _expect_in_order(shown.split("\n...\n") if shown else [], done.stdout)
        ran += 1
    return ran


def _run_script(name: str) -> None:
    [script] = re.findall(rf"^```python\n# {re.escape(name)}\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    exec(compile(script, name, "exec"), {})


def _expect_in_order(parts: list[str], printed: str) -> None:
    """Each part stands in what was printed, after the one before; spaces and the ends of lines do not count."""
    text, place = " ".join(printed.split()), 0
    for part in parts:
        wanted = " ".join(part.removeprefix("...\n").split())
        found = text.find(wanted, place)
        assert found >= 0, f"not printed: {wanted}"
        place = found + len(wanted)
