"""What the documentation names exists: commands, options, targets of make, files, headings, worlds."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import unskew as us
from unskew.cli import main
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.world_names import SUMMARIES

ROOT = Path(us.__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
README = (ROOT / "README.md").read_text()
SIMULATE = (ROOT / "docs" / "simulate.md").read_text()
CALL = re.compile(r"(?:^|[`/]|\$ )unskew ([a-z]+)((?:[^`\n|]|\\\||\\\n)*)", re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]+\]\(([^)\s]+)\)")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def code(text: str) -> str:
    """What is set as code: blocks for a console, and words between backquotes."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))])


def anchors(page: Path) -> set[str]:
    """The headings of a page, as a link names them."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@each_page
def test_commands_and_their_options_exist(page: Path) -> None:
    for name, rest in CALL.findall(code(page.read_text())):
        assert name in main.commands
        known = {option for parameter in main.commands[name].params for option in parameter.opts}
        known |= {"-h", "--help"}
        assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", rest)) <= known


@each_page
def test_targets_of_make_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", code(page.read_text()), re.MULTILINE)) <= set(targets)


@each_page
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_has_every_command_and_both_that_set_up() -> None:
    assert {name for name, _ in CALL.findall(code(README))} == set(main.commands)
    assert set(re.findall(r"^make ([a-z]+)", README, re.MULTILINE)) == {"demo", "test"}


def test_the_demonstration_runs_a_command_and_installs_what_it_uses() -> None:
    text = (ROOT / "Makefile").read_text()
    assert re.findall(r"/unskew ([a-z]+)", text) == ["reproduce"]
    assert re.search(r"^\.venv/demo:.*\n.*\n.*-e '\.\[implicit\]'$", text, re.MULTILINE)


def test_the_interface_has_every_command() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    assert all(f"| `unskew {name} " in text for name in main.commands)


def test_every_world_is_told_of_in_the_same_words_everywhere() -> None:
    assert set(SUMMARIES) == set(WORLDS)
    told = click.Context(main.commands["simulate"]).get_help()
    for name, words in SUMMARIES.items():
        assert re.search(rf"^ +{name} +{re.escape(words)}$", told, re.MULTILINE)
        assert f"| `{name}` | {words}" in SIMULATE
