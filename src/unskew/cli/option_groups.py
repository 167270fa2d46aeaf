"""Options in groups, and help: ``--help`` shows everyday options, ``--help-all`` shows every option.

An option says itself to which group it belongs and whether it is an everyday one, so that no second list has to be
kept up to date. `GroupedCommand` writes the help from that. A dataclass of options declares them as its fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import click

from unskew.text import count

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

_HELP_ALL = "unskew.help_all"
_DECLARATION = "unskew.option"
_Options = TypeVar("_Options")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any] | click.Command)


class Group(Enum):
    """The groups of options, in the order of the help."""

    COMPARE = "What to compare"
    THRESHOLDS = "Thresholds"
    WORLD = "The world"
    CAMPAIGNS = "What is recommended"
    KNOWN = "What you know"
    PROTOCOL = "Protocol"
    OUTPUT = "Output"
    READING = "Reading the log"
    FIT = "Fitting weights"
    INTERVALS = "Sampling and intervals"
    WORK = "Where the work is done"
    GENERAL = "Configuration and help"


SPECS = {
    "popular": "items with the most users",
    "knn?neighbours=50": "item neighbourhoods; &similarity=cosine may follow",
    "ease?l2=500": "EASE",
    "als?factors=64": "ALS of the library implicit; also bm25, tfidf, cosine",
    "constant:a,b,c": "a fixed list of items",
    "table:lists.parquet": "external lists, read from a file",
    "./file.py:Class": "your own class or function; also package.module:Class",
}
"""What SPEC may be, in the help of every command that accepts it."""


class GroupedOption(click.Option):
    """An option with its place in the help.

    Parameters
    ----------
    group
        The heading under which the help shows it.
    everyday
        Whether ``--help`` shows it; ``--help-all`` shows every option.
    """

    def __init__(self, *args: Any, group: Group, everyday: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.group = group
        self.everyday = everyday

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """The default and whether it is required; a range such as ``x>=0`` explains nothing."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def grouped_option(
    *names: str, group: Group, everyday: bool = False, **more: Any
) -> Callable[[_Decorated], _Decorated]:
    """``click.option`` for a `GroupedOption`."""
    return click.option(*names, cls=GroupedOption, group=group, everyday=everyday, **more)


def option_field(*flags: str, default: Any = None, **more: Any) -> Any:
    """A field of a dataclass of options, with what `grouped_option` needs to declare it.

    The name of the field is its flag, unless there are others. A default of False makes it a switch, one of () an
    option that can be repeated.
    """
    return field(default=default, metadata={_DECLARATION: (flags, more)})


def declare_fields(options: type[Any], names: Iterable[str] = ()) -> list[Callable[[Any], Any]]:
    """The options that a dataclass declares, or those with these names."""
    return [_declare(declared) for declared in _list_declared(options, names)]


def take_fields(
    options: type[_Options], parameters: dict[str, Any], names: Iterable[str] = (), **more: Any
) -> _Options:
    """The dataclass with its options, taken out of the parameters of a command; `more` has its other fields."""
    return options(**{f.name: parameters.pop(f.name) for f in _list_declared(options, names)}, **more)


def decorate(function: Callable[..., Any], options: Sequence[Callable[[Any], Any]]) -> Callable[..., Any]:
    """A command with options, in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def _list_declared(options: type[Any], names: Iterable[str]) -> list[Field[Any]]:
    return [f for f in fields(options) if _DECLARATION in f.metadata and (not names or f.name in names)]


def _declare(declared: Field[Any]) -> Callable[[Any], Any]:
    flags, more = declared.metadata[_DECLARATION]
    if declared.default is False:
        more = {"is_flag": True, **more}
    elif declared.default == ():
        more = {"multiple": True, **more}
    else:
        more = {"default": declared.default, "show_default": declared.default is not None, **more}
    return grouped_option(*(flags or [f"--{declared.name.replace('_', '-')}"]), declared.name, **more)


def place(*names: str, everyday: bool, group: Group | None = None) -> Callable[[_Decorated], _Decorated]:
    """Give shared options, by their names in Python, another place in the help of this command.

    Stands above the decorators that add them.
    """

    def decorate(function: _Decorated) -> _Decorated:
        for param in getattr(function, "__click_params__", []):
            if isinstance(param, GroupedOption) and param.name in names:
                param.everyday = everyday
                param.group = group or param.group
        return function

    return decorate


class GroupedCommand(click.Command):
    """A command with ``--help-all`` and options in groups.

    Parameters
    ----------
    lists
        Lists of names and explanations that the help shows before the options, by their headings.
    """

    def __init__(self, *args: Any, lists: Mapping[str, Mapping[str, str]] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lists = lists or {}
        self.params.append(
            GroupedOption(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                group=Group.GENERAL,
                help="Show every option and exit.",
            )
        )

    def asks_for_help(self, ctx: click.Context, args: Iterable[str]) -> bool:
        """Whether the help is all that is wanted."""
        return bool({*ctx.help_option_names, "--help-all"} & {*args})

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the command does, with examples that can be copied at any width; then its lists."""
        text = inspect.cleandoc(self.help or "").partition("\f")[0]
        lines = [part for line in text.splitlines() for part in fold_example(line, formatter.width - 2)]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n".join(lines))
        for title, explanations in self.lists.items():
            with formatter.section(title):
                formatter.write_dl(list(explanations.items()))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in their groups, everyday ones first; all of them after ``--help-all``."""
        shown = self._list_shown(ctx)
        records = {param: record for param in shown if (record := param.get_help_record(ctx)) is not None}
        width = min(30, max((len(flags) for flags, _ in records.values()), default=0))
        for group in Group:
            rows = [record for param, record in records.items() if _group_of(param) is group]
            if rows:
                flags, text = rows[0]
                with formatter.section(group.value):  # the first row decides where the texts of its group begin
                    formatter.write_dl([(flags.ljust(width), text), *rows[1:]])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What SPEC may be, and how to see the other options."""
        shown = self._list_shown(ctx)
        if any("SPEC" in (param.metavar or "") for param in shown):
            with formatter.section("SPEC, a recommender (in quotes if it contains ? or &)"):
                formatter.write_dl(list(SPECS.items()))
        super().format_epilog(ctx, formatter)
        hidden = len(self._list_options(ctx)) - len(shown)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"'{ctx.command_path} --help-all' shows {count(hidden, 'more option')}.")

    def _list_options(self, ctx: click.Context) -> list[click.Option]:
        """Everyday options first and --help-all last, otherwise as they are declared."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
        return sorted(options, key=lambda option: (not _is_everyday(option), option.name == "help_all"))

    def _list_shown(self, ctx: click.Context) -> list[click.Option]:
        return [option for option in self._list_options(ctx) if ctx.meta.get(_HELP_ALL) or _is_everyday(option)]


def fold_example(line: str, width: int) -> list[str]:
    r"""A line of a help text; a command that is too long is continued on the next line, as a shell reads it.

    >>> fold_example("  unskew drift log.csv --reference 1 --at 2", 36)
    ['  unskew drift log.csv \\', '    --reference 1 --at 2']
    >>> fold_example("  Other lines stay as they are.", 10)
    ['  Other lines stay as they are.']
    """
    if len(line) <= width or not line.startswith("  unskew "):
        return [line]
    folded: list[str] = []
    for part in re.split(r" (?=-)", line):
        if folded and len(folded[-1]) + len(part) + len("  \\") <= width:
            folded[-1] += f" {part}"
        else:
            folded.append(f"    {part}" if folded else part)
    return [*(f"{part} \\" for part in folded[:-1]), folded[-1]]


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _group_of(option: click.Option) -> Group:
    return option.group if isinstance(option, GroupedOption) else Group.GENERAL  # click's own --help


def _is_everyday(option: click.Option) -> bool:
    return isinstance(option, GroupedOption) and option.everyday
