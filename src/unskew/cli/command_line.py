"""The command that was given, as text that can be copied and run again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
"""Where what was given comes from: the command itself, or a configuration file."""


def write_command(context: click.Context, leave_out: Iterable[str] = ()) -> str:
    """The command with what was given to it, in the order of its help; defaults are not written.

    `leave_out` names parameters that are not to be written.
    """
    words, last = [context.command_path], []
    for param in context.command.params:
        name = param.name or ""
        if name in leave_out or name not in context.params or context.get_parameter_source(name) not in _GIVEN:
            continue
        value = context.params.get(name)
        if isinstance(param, click.Argument):
            last += [str(one) for one in _as_list(value)]
        elif isinstance(param, click.Option) and param.is_flag and value is True:
            words.append(param.opts[0])
        elif isinstance(param, click.Option):
            for one in _as_list(value):
                flag, text = param.opts[0], str(one)
                words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
    return shlex.join([*words[0].split(), *last, *words[1:]])


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]
