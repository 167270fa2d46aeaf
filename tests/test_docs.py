"""What the documentation names exists: commands, options, JSON keys, targets of make, files, headings, worlds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main
from unskew.known_truths.case_names import CHOOSING, REPORTING
from unskew.known_truths.case_names import SUMMARIES as CASES
from unskew.known_truths.estimators import ESTIMATORS
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.world_names import SUMMARIES

ROOT = Path(us.__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
JSON = (ROOT / "docs" / "json.md").read_text()
SIMULATE = (ROOT / "docs" / "simulate.md").read_text()
CALL = re.compile(r"(?:^|[`/]|\$ )unskew ([a-z]+)((?:[^`\n|]|\\\||\\\n)*)", re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]+\]\(([^)\s]+)\)")
LOG = "user,item,time\n1,a,0\n1,b,0\n2,a,0\n2,c,0\n3,b,0\n1,c,9\n3,c,9\n4,c,9\n"

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def extract_code(text: str) -> str:
    """What is set as code: blocks for a console, and words between backquotes."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))])


def list_anchors(page: Path) -> set[str]:
    """The headings of a page, as a link names them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads} | set(
        re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)
    )


@each_page
def test_commands_and_their_options_exist(page: Path) -> None:
    for name, rest in CALL.findall(extract_code(page.read_text())):
        assert name in main.commands
        known = {option for parameter in main.commands[name].params for option in parameter.opts}
        known |= {"-h", "--help"}
        assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", rest)) <= known


@each_page
def test_targets_of_make_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    code = extract_code(page.read_text())
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", code, re.MULTILINE)) <= set(targets)


@each_page
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in list_anchors(target), link


def test_every_page_has_its_place_on_the_site() -> None:
    listed = re.findall(r"^ +- ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


def test_the_header_of_the_site_shows_the_version() -> None:
    assert f"site_name: unskew {us.__version__}\n" in (ROOT / "mkdocs.yml").read_text()


@each_page
def test_tables_have_at_most_seven_columns(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    assert max((line.count("|") - 1 for line in re.findall(r"^\|-[-|:]*\|$", text, re.MULTILINE)), default=0) <= 7


def test_the_readme_has_both_commands_that_set_up() -> None:
    assert set(re.findall(r"^make ([a-z]+)", README, re.MULTILINE)) == {"demo", "test"}


def test_the_readme_opens_with_the_problem_then_the_picture_then_two_commands() -> None:
    opening, commands = README.split("```console\n", maxsplit=1)
    assert opening.index("Is the algorithm better") < opening.index("](docs/images/two-lines.png)")
    assert [line.split("#")[0].strip() for line in commands.split("```")[0].splitlines()] == [
        "make demo",
        "make test",
    ]


def test_the_demonstration_runs_commands_and_installs_what_they_use() -> None:
    text = (ROOT / "Makefile").read_text()
    assert re.findall(r"/unskew ([a-z]+)", text) == ["doctor", "evaluate", "report", "reproduce"]
    options = " ".join(re.findall(r"^ON_EXAMPLE := (.*)$", text, re.MULTILINE))
    assert f"unskew evaluate {options} " in README
    assert re.search(r"^\.venv/demo:.*\n.*\n.*-e '\.\[implicit\]'$", text, re.MULTILINE)


def test_the_page_of_commands_has_every_command() -> None:
    assert all(f"| `unskew {name} " in COMMANDS for name in main.commands)


@pytest.mark.parametrize(
    "arguments",
    [
        "doctor LOG",
        "drift LOG --reference 0 --at 9",
        "marginal LOG --at 0 -o FILE",
        "weights LOG --reference 0 --at 9",
        "evaluate LOG --reference 0 --at 9 -r popular -r constant:a",
        "timeline LOG --reference 0 --every 9 -r popular --follow a",
        "report LOG --reference 0 --at 9 -r popular -r constant:a -o PAGE",
        "sample LOG --at 9 -n 5 -o FILE",
        "check LOG --reference 0 --at 9 --max-drift 1 --max-unexplained 1 -r popular",
        "excess LOG --campaign 9: --production popular",
        "simulate FOLDER --users 100 --items 50",
        "yardstick paper --seed 1 --users 100 --items 50 -r popular --truth-seeds 1",
    ],
    ids=lambda arguments: arguments.split()[0],
)
def test_the_page_of_json_has_every_key_that_a_command_prints(arguments: str, tmp_path: Path) -> None:
    paths = {name: str(tmp_path / name) for name in ("LOG", "FILE", "FOLDER", "PAGE")}
    paths["LOG"] += ".csv"
    paths["FILE"] += ".parquet"
    paths["PAGE"] += ".html"
    Path(paths["LOG"]).write_text(LOG)
    done = CliRunner().invoke(main, [*(paths.get(word, word) for word in arguments.split()), "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    section = find_section(f"`unskew {arguments.split(maxsplit=1)[0]}`")
    described = section + find_section("Parts that come again")
    if "timeline" in printed:
        described += find_section("`unskew evaluate`") + find_section("`unskew timeline`")
    if isinstance(printed.get("weights"), dict):
        described += find_section("`unskew weights`")
    assert list_keys(printed) <= set(re.findall(r"`(\w+)`", described))
    first_list = re.split(r"\n\n(?=With|Each)", section)[0]
    described_keys = {
        key
        for keys in re.findall(r"^- (`[^:]*): ", first_list, re.MULTILINE)
        for key in re.findall(r"`(\w+)`", keys)
    }
    assert described_keys
    assert described_keys <= set(printed)


def test_every_command_has_its_json_described() -> None:
    assert set(re.findall(r"^## `unskew (\w+)`$", JSON, re.MULTILINE)) == set(main.commands)


def find_section(head: str) -> str:
    """The text below a heading of the page about JSON, up to the next one."""
    [text] = re.findall(rf"^## {re.escape(head)}\n(.*?)(?=^## |\Z)", JSON, re.MULTILINE | re.DOTALL)
    return str(text)


def list_keys(value: Any) -> set[str]:
    """The keys of an object and of all that is in it; not of `candidates`, whose keys are recommenders."""
    if isinstance(value, list):
        return set().union(*(list_keys(part) for part in value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(list_keys(part) for key, part in value.items() if key != "candidates"))


def test_the_page_of_worlds_has_its_worlds_methods_and_seeds() -> None:
    for name, words in CASES.items():
        assert f"| `{name}` | {words} |" in SIMULATE
    assert [name for name in ESTIMATORS if f"`{name}`" not in SIMULATE] == []
    for seeds in (CHOOSING, REPORTING):
        assert f"**{seeds[0]} to {seeds[-1]}**" in SIMULATE


def test_every_world_has_the_same_summary_in_the_help_and_in_the_documentation() -> None:
    assert set(SUMMARIES) == set(WORLDS)
    text = click.Context(main.commands["simulate"], terminal_width=150).get_help()
    for name, words in SUMMARIES.items():
        assert re.search(rf"^ +{name} +{re.escape(words)}$", text, re.MULTILINE)
        assert f"| `{name}` | {words}" in SIMULATE
