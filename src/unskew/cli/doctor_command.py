"""``unskew doctor``: what unskew sees in a file, and what to run next."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from unskew.cli.command_group import write_flag
from unskew.cli.configured_command import ConfiguredCommand
from unskew.cli.printing import print_figures, print_json, print_line
from unskew.cli.shared_options import LogOptions, file_options, show_options
from unskew.text import enumerate_words, percent, thousands

if TYPE_CHECKING:
    from unskew.examining.examination import Examination


@click.command(cls=ConfiguredCommand)
@file_options
@show_options
def doctor(source: LogOptions, as_json: bool) -> None:
    """Show what is in a file and which commands to run next.

    Columns that you do not name are guessed. The exit code is 0 unless the file cannot be opened at all.

    \b
    Examples:
      unskew doctor u.data
      unskew doctor events.db --table clicks
    """
    from unskew.examining.examine import examine_source

    given = {"user": source.user, "item": source.item, "time": source.time}
    how = {**source.file, **({} if source.time_format is None else {"time_format": source.time_format})}
    name_option = functools.partial(write_flag, click.get_current_context().command)
    found = examine_source(source.path, given, source.time_unit, how, name_option)
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found)


def _show(found: Examination) -> None:
    for line in found.read_as:
        print_line(f"{line}.")
    print_figures(found.source, [figure for figure in _list_figures(found) if figure[1]])
    if found.campaigns:
        print_line(
            f"Likely campaigns: {enumerate_words(found.campaigns)}. Known users then took more than usual, and "
            "other items than usual; seasons, holidays and news look the same."
        )
    elif found.users is not None and not any("not looked for" in note for note in found.notes):
        print_line("No likely campaigns were found; recommendations that came all the time make no bursts.")
    for note in found.notes:
        print_line(f"{note[0].upper()}{note[1:]}.")
    if found.advice:
        print_line(f"{(found.protocol or 'no protocol').capitalize()} suits: {found.advice}.")
    for problem in found.problems:
        print_line(f"Problem: {problem}.")
    if found.commands:
        print_line("Next:")
    for command in found.commands:
        click.echo(f"  {command}")


def _list_figures(found: Examination) -> list[tuple[str, str, str]]:
    """What there is to say in numbers; those that are not known are empty."""
    sizes = found.sizes
    roles = ", ".join(f"{role} is {name!r}" for role, name in found.roles.items())
    guessed = f"guessed: {enumerate_words(found.guessed)}" if found.guessed else ""
    nulls = sum(found.nulls.values())
    told = ", ".join(f"{thousands(n)} without {role}" for role, n in found.nulls.items() if n)
    return [
        ("columns", str(len(found.columns)) if found.columns else "", ", ".join(found.columns[:12])),
        ("", " " if roles else "", roles + (f" ({guessed})" if guessed else "")),
        ("rows", _number(found.rows), ""),
        ("missing values", thousands(nulls) if nulls else "", told),
        ("users", _number(found.users), ""),
        ("items", _number(found.items), ""),
        ("interactions", _number(found.interactions), f"{thousands(found.repeats or 0)} rows were repeats"),
        ("times", " " if found.times else "", f"{found.times}, from {found.first} to {found.last}"),
        (
            "profile sizes",
            f"{sizes.median:g}" if sizes else "",
            f"in the median, {sizes.mean:.1f} on average, {sizes.least} to {sizes.most}; "
            f"{percent(sizes.single, 0)} of the users have one item"
            if sizes
            else "",
        ),
    ]


def _number(value: int | None) -> str:
    return "" if value is None else thousands(value)
