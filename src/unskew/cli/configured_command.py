"""A command that takes what the command line does not set from a configuration file, and how it was given."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from unskew.cli.configuration import Configuration, find_configuration, read_configuration
from unskew.cli.option_groups import GroupedCommand, own_option
from unskew.cli.terminal import tell
from unskew.errors import InputError, option
from unskew.options import Group
from unskew.text import hide_secrets

ARGUMENTS = "unskew.arguments"
"""Under this name a context keeps the command and its arguments, as they were given."""


_CONFIGURATION = {
    "--config FILE": "Read options that the command line does not set from this file.  [default: unskew.toml, or "
    "[tool.unskew] of pyproject.toml, in the working directory]",
    "--no-config": "Ignore configuration files.",
    "--allow-code": "Allow the configuration file to name your own classes as recommenders, and import them.",
}


class ConfiguredCommand(GroupedCommand):
    """A command with ``--config``, ``--no-config`` and ``--allow-code``.

    What the file says becomes the default of each option (click's ``default_map``), and of the argument LOG.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for flags, words in _CONFIGURATION.items():
            own_option(flags, words, Group.GENERAL, expose_value=False)(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse once to see what is given, and again with the file behind it."""
        ctx.meta[ARGUMENTS] = [self.name or "", *args]
        if ctx.resilient_parsing or self.asks_for_help(ctx, args):
            return super().parse_args(ctx, args)
        try:
            opts, _, order = self.make_parser(ctx).parse_args(list(args))
        except click.UsageError:
            return super().parse_args(ctx, args)  # which says so
        given_names = [param.name for param in order if isinstance(param, click.Option) and param.name is not None]
        configuration = self._find(ctx, opts)
        if configuration is None:
            return super().parse_args(ctx, args)
        values = configuration.options_of(self.name or "", given_names, allow_code=bool(opts.get("allow_code")))
        logs = values.pop("log", [])
        was_given = isinstance(opts.get("log"), tuple) and opts["log"]
        if logs and not was_given:
            args = [*logs, *args]  # as the first arguments, so that no option takes them for its value
        ctx.default_map = values
        if values or logs:
            tell(f"options from {configuration.file}")
        return super().parse_args(ctx, args)

    def _find(self, ctx: click.Context, opts: Mapping[str, Any]) -> Configuration | None:
        config, no_config = opts.get("config"), bool(opts.get("no_config"))
        if config is not None and no_config:
            raise InputError(f"give {option('config')} or {option('no_config', True)}, not both")
        file = None if no_config else Path(config) if config is not None else find_configuration(Path())
        if file is None:
            return None
        return read_configuration(file, _configured(ctx, self), named=config is not None)


def _configured(ctx: click.Context, command: click.Command) -> dict[str, click.Command]:
    """All commands that a file may speak of."""
    group = ctx.find_root().command
    several = group.commands if isinstance(group, click.Group) else {command.name or "": command}
    return {name: member for name, member in several.items() if isinstance(member, ConfiguredCommand)}


def quote_command(*, without: Sequence[str] = ()) -> str:
    """The command under way as it was given, ready to be typed again, without some flags and passwords."""
    context = click.get_current_context()
    words = (hide_secrets(word) for word in context.meta[ARGUMENTS] if word not in without)
    return shlex.join(["unskew", *words])


_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
"""Where what was given comes from: the command itself, or a configuration file."""


def write_command(context: click.Context, leave_out: Iterable[str] = ()) -> str:
    """The command with what was given to it, in the order of its help; neither defaults nor passwords are written.

    `leave_out` names parameters that are not to be written.
    """
    words, last = [context.command_path], []
    for param in context.command.params:
        name = param.name or ""
        if name in leave_out or name not in context.params or context.get_parameter_source(name) not in _GIVEN:
            continue
        value = context.params.get(name)
        if isinstance(param, click.Argument):
            last += [hide_secrets(str(item)) for item in _as_list(value)]
        elif isinstance(param, click.Option) and param.is_flag and value is True:
            words.append(param.opts[0])
        elif isinstance(param, click.Option):
            for item in _as_list(value):
                flag, text = param.opts[0], hide_secrets(str(item))
                words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
    return shlex.join([*words[0].split(), *last, *words[1:]])


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]
