"""Options in groups, and help: ``--help`` shows everyday options, ``--help-all`` shows every option.

An option says itself to which group it belongs and whether it is an everyday one, so that no second list has to be
kept up to date. `GroupedCommand` writes the help from that. A dataclass of options declares them as its fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from unskew.errors import InputError
from unskew.options import OPTIONS, Group, Option
from unskew.text import count

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

_HELP_ALL = "unskew.help_all"
_Options = TypeVar("_Options")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any] | click.Command)


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

    - `group`: the heading under which the help shows it.
    - `everyday`: whether ``--help`` shows it; ``--help-all`` shows every option.
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


class _Number(click.ParamType):  # type: ignore[type-arg]
    """A number in the range of its option; the message about any other is that of the library."""

    def __init__(self, name: str, declared: Option) -> None:
        self.option_name, self.declared = name, declared
        self.name = "integer" if declared.kind is int else "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = (click.INT if self.declared.kind is int else click.FLOAT).convert(value, param, ctx)
        return self.declared.check(self.option_name, number)


def add_option(name: str, declared: Option, **more: Any) -> Callable[[_Decorated], _Decorated]:
    """``click.option`` for an option; `more` is what click has besides."""
    settings: dict[str, Any] = {"metavar": declared.metavar, "help": declared.help}
    if declared.choices:
        settings["type"] = click.Choice(declared.choices)
    elif declared.kind is bool:
        settings |= {"default": None} if "/" in declared.flags else {"is_flag": True}
    elif declared.kind in (int, float):
        settings["type"] = _Number(name, declared)
    elif declared.kind is Path:
        settings["type"] = FILE
    if declared.several:
        settings["multiple"] = True
    if declared.bare is not None:
        settings |= {"is_flag": False, "flag_value": declared.bare}
    if declared.default is not None:
        settings |= {"default": declared.default, "show_default": "[default:" not in declared.help}
    settings |= {"cls": GroupedOption, "group": declared.group, "everyday": declared.everyday}
    return click.option(*declared.names, name, **settings | more)


def own_option(flags: str, help: str, group: Group, *, name: str = "", **more: Any) -> Callable[[Any], Any]:
    """An option of one command, declared as `Option` does; `name` is its parameter if that is not its flag."""
    known = {field.name for field in fields(Option)}
    declared = Option(flags, help, group, **{key: more.pop(key) for key in known & {*more}})
    return add_option(name or declared.names[-1].lstrip("-").replace("-", "_"), declared, **more)


everyday_option = partial(own_option, everyday=True)
"""One that ``--help`` shows."""


def use_options(*names: str, **changes: Any) -> Callable[[Any], Any]:
    """Options of `unskew.options` in this order, with `changes` for a command and what click has besides."""
    known = {field.name for field in fields(Option)}
    changed = {key: changes.pop(key) for key in known & {*changes}}

    def add(function: Any) -> Any:
        for name in reversed(names):
            function = add_option(name, replace(OPTIONS[name], **changed), **changes)(function)
        return function

    return add


def decorate(function: Callable[..., Any], options: Sequence[Callable[[Any], Any]]) -> Callable[..., Any]:
    """A command with options, in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def list_fields(options: type[Any]) -> list[str]:
    """The fields of a dataclass that are options."""
    return [field.name for field in fields(options) if field.name in OPTIONS]


def take_fields(
    options: type[_Options], parameters: dict[str, Any], names: Iterable[str] = (), **more: Any
) -> _Options:
    """The dataclass with its options (or those of some names), taken out of the parameters of a command.

    `more` has its other fields.
    """
    return options(**{name: parameters.pop(name) for name in names or list_fields(options)}, **more)


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

    - `lists`: lists of names and explanations that the help shows before the options, by their headings.
    """

    def __init__(self, *args: Any, lists: Mapping[str, Mapping[str, str]] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lists = lists or {}
        settings: dict[str, Any] = {"is_eager": True, "expose_value": False, "callback": _show_all}
        own_option("--help-all", "Show every option and exit.", Group.GENERAL, **settings)(self)

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


class _FileName(click.Path):
    """A name, for tab completion; whether it can be used is said where it is opened."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "" and isinstance(param, click.Option):  # which would be the folder that one is in
            raise InputError(f"{max(param.opts, key=len)} is empty", remedy="is a shell variable unset?")
        return super().convert(value, param, ctx)


FILE = _FileName(readable=False)
