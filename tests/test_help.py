"""The help as a user meets it: groups of options, everyday ones first, and nothing that is cut off."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise

import click
import pytest
from click.testing import CliRunner

from unskew.cli import main
from unskew.cli.option_groups import SPECS, GroupedCommand, GroupedOption
from unskew.options import Group
from unskew.recommend.specs import KNOWN, recommender

HEADINGS = [group.value for group in Group]
EVERYDAY_OF_EVALUATE = {
    "What to compare": ["--reference", "--at", "-r", "-m", "--baseline"],
    "What you know": ["--exposures", "--campaign", "--holdout"],
    "Protocol": ["--after"],
    "Output": ["--details", "--json"],
    "Reading the log": ["--user", "--item", "--time"],
}
SECTIONS = {
    "Everyday commands": ["doctor", "evaluate", "report", "check", "timeline"],
    "Building blocks": ["drift", "weights", "marginal", "sample", "excess"],
    "Research": ["simulate", "yardstick", "reproduce"],
}

each_command = pytest.mark.parametrize("name", main.commands)


def read_help(*arguments: str, width: int = 80) -> str:
    result = CliRunner().invoke(main, list(arguments), terminal_width=width, prog_name="unskew")
    assert result.exit_code == 0, result.output
    return result.stdout


def list_sections(text: str) -> dict[str, list[str]]:
    """The first words of the rows under each heading, in order."""
    sections: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in text.splitlines():
        if re.fullmatch(r"\S.*:", line):
            rows = sections.setdefault(line.removesuffix(":"), [])
        elif row := re.match(r"  ([^\s,]+)", line):
            rows.append(row[1])
    return sections


def list_options(name: str) -> list[click.Option]:
    return [param for param in main.commands[name].params if isinstance(param, click.Option)]


def list_examples(name: str) -> list[list[str]]:
    """The words of each example, after ``unskew``; lines that go on are joined as a shell joins them."""
    text = read_help(name, "--help").replace("\\\n", "")
    return [shlex.split(line)[1:] for line in re.findall(r"^    (unskew .*)$", text, re.MULTILINE)]


def takes_specs(name: str) -> bool:
    return any("SPEC" in (option.metavar or "") for option in list_options(name))


# ---- groups of options


@each_command
def test_every_option_has_a_group(name: str) -> None:
    assert isinstance(main.commands[name], GroupedCommand)
    assert [option.opts for option in list_options(name) if not isinstance(option, GroupedOption)] == []


@each_command
def test_help_shows_the_everyday_options_in_their_groups(name: str) -> None:
    sections = list_sections(read_help(name, "--help"))
    everyday = [option for option in list_options(name) if isinstance(option, GroupedOption) and option.everyday]
    assert 0 < len(everyday) <= 14
    for group in Group:
        expected = [option.opts[0] for option in everyday if option.group is group]
        assert sections.get(group.value, []) == expected


@each_command
def test_all_help_is_complete_and_everyday_options_come_first_in_each_group(name: str) -> None:
    brief, whole = (list_sections(read_help(name, flag)) for flag in ("--help", "--help-all"))
    flags = [flag for heading in HEADINGS for flag in whole.get(heading, [])]
    assert sorted(flags) == sorted([*(option.opts[0] for option in list_options(name)), "-h"])
    for heading in HEADINGS:
        everyday = brief.get(heading, [])
        assert whole.get(heading, [])[: len(everyday)] == everyday


@each_command
@pytest.mark.parametrize("flag", ["--help", "--help-all"])
def test_groups_are_in_the_same_order_in_every_help(name: str, flag: str) -> None:
    places = [HEADINGS.index(heading) for heading in list_sections(read_help(name, flag)) if heading in HEADINGS]
    assert all(before < after for before, after in pairwise(places))


@each_command
def test_help_ends_with_the_way_to_the_other_options(name: str) -> None:
    text = read_help(name, "--help")
    hidden = len(list_options(name)) + 1 - text.count("\n  -")  # and --help itself
    assert text.endswith(f"\n\n'unskew {name} --help-all' shows {hidden} more options.\n")
    assert "shows" not in read_help(name, "--help-all").splitlines()[-1]


def test_the_everyday_options_of_evaluate() -> None:
    sections = list_sections(read_help("evaluate", "--help"))
    assert {heading: sections[heading] for heading in HEADINGS if heading in sections} == EVERYDAY_OF_EVALUATE


def test_options_that_a_command_refuses_are_not_among_its_everyday_ones() -> None:
    assert "--exposures" not in read_help("excess", "--help")
    assert "--exposures" in read_help("excess", "--help-all")


# ---- the list of commands


def test_commands_are_listed_in_three_sections() -> None:
    sections = list_sections(read_help("--help"))
    assert {heading: sections[heading][: len(names)] for heading, names in SECTIONS.items()} == SECTIONS
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(main.commands)


def test_no_summary_is_cut_off_at_80_columns() -> None:
    text = read_help("--help")
    for name, command in main.commands.items():
        summary = (command.help or "").splitlines()[0]
        assert re.search(rf"^  {name} +{re.escape(summary)}$", text, re.MULTILINE)


@pytest.mark.parametrize("flag", ["--help", "--help-all"])
@each_command
def test_nothing_is_wider_than_the_terminal(name: str, flag: str) -> None:
    for width in (80, 120):
        assert [line for line in read_help(name, flag, width=width).splitlines() if len(line) > width] == []


# ---- SPEC and examples


@each_command
def test_spec_is_explained_and_used_in_an_example_of_every_command_that_accepts_it(name: str) -> None:
    text = read_help(name, "--help")
    assert all(f"\n  {spec} " in text for spec in SPECS) == takes_specs(name)
    flags = {flag for option in list_options(name) if "SPEC" in (option.metavar or "") for flag in option.opts}
    examples = [words for words in list_examples(name) if words[0] == name]
    assert examples
    assert any(flags & set(words) for words in examples) == takes_specs(name)


def test_every_shipped_recommender_is_explained() -> None:
    text = " ".join([*SPECS, *SPECS.values()])
    assert [name for name in KNOWN if not re.search(rf"\b{name}\b", text)] == []
    for spec in ("popular", "knn?neighbours=50&similarity=cosine", "ease?l2=500", "constant:a,b,c"):
        assert str(recommender(spec)) == spec
        assert any(spec.startswith(explained) for explained in SPECS)


@each_command
def test_examples_have_only_options_that_exist(name: str) -> None:
    for command, *words in list_examples(name):
        context = click.Context(main.commands[command], info_name=command)
        main.commands[command].make_parser(context).parse_args(words)


@each_command
@pytest.mark.parametrize("flag", ["--help", "--help-all"])
def test_help_uses_the_vocabulary(name: str, flag: str) -> None:
    text = " ".join(read_help(name, flag).split())
    for word in ("found", "hold-out", "left out", "constant algorithm", "quality", "repeat for several"):
        assert word not in text
