"""The tutorial, done as it is written: its table made, its commands run, and what it shows printed by them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main

TUTORIAL = (Path(us.__file__).parents[2] / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_tutorial_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    ran = 0
    for block in BLOCK.findall(TUTORIAL):
        command, _, shown = block.removeprefix("$ ").partition("\n")
        program, *arguments = shlex.split(command)
        if program == "python":
            _run_script(arguments[0])
            continue
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        _expect_in_order(shown.split("\n...\n") if shown else [], done.stdout)
        ran += 1
    assert ran >= 5
    [first_lines] = re.findall(r"^```text\n(user,item,time\n.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    assert Path("events.csv").read_text().startswith(first_lines)


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
