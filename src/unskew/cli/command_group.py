"""Running a command: exit codes, one-line errors, warnings and progress on standard error."""

from __future__ import annotations

import contextlib
import errno
import re
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from unskew.cli.option_groups import own_option
from unskew.cli.terminal import CountingProgress, TerminalProgress, discard_output, prepare_streams, tell
from unskew.errors import Interruption, Notice, UnskewError, UnskewWarning, render
from unskew.options import Group
from unskew.progress import Progress, progress, reporting
from unskew.text import hide_secrets

_DEBUG = "unskew.debug"
WARNINGS = "unskew.warnings"
"""Where a command finds what it has warned of so far, for a page that repeats it."""

_FLAGS = {
    "columns": "--p-user or --p-item",
    "labels": "--by or --margin column:NAME of 'unskew weights'",
    "day": "--campaign-at",
}
"""What options of Python are called on the command line, where no command has one of that name."""
_COMMANDS = {
    "Snapshot.marginal()": "unskew marginal",
    "fit_weights()": "unskew weights",
    "simulate()": "unskew simulate",
    "timeline()": "unskew timeline",
    "yardstick()": "unskew yardstick",
}
"""The commands that do what functions of Python do."""


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_DEBUG] = value or ctx.meta.get(_DEBUG, False)


debug_option = own_option(
    "--debug",
    "Show the traceback of an error.",
    Group.GENERAL,
    is_eager=True,
    expose_value=False,
    callback=_set_debug,
)


class _Commands(Mapping[str, click.Command]):
    """The commands by name; each is imported when it is first asked for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._names:
            raise KeyError(name)
        command: click.Command = getattr(import_module(f"unskew.cli.{name}_command"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class CommandGroup(click.Group):
    """A group whose commands end with 0 (done), 2 (wrong input or usage) or 1 (a bug).

    The help shows the commands in `sections`.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **more: Any) -> None:
        more["commands"] = _Commands(name for names in sections.values() for name in names)
        super().__init__(*args, **more)
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the help."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections, with a line for each command."""
        longest = max(map(len, self.list_commands(ctx)))
        limit = formatter.width - 6 - longest
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(longest), self.commands[name].get_short_help_str(limit)) for name in names]
                )

    def main(self, *args: Any, **more: Any) -> Any:
        """Run the group; see to it first that it can say something."""
        prepare_streams()
        with contextlib.suppress(ValueError):  # in another thread
            signal.signal(signal.SIGTERM, _end_in_order)
        try:
            return super().main(*args, **more)
        except OSError as error:  # of --help and --version
            tell(f"error: cannot write to standard output: {error.strerror or error}")
            discard_output()
            raise SystemExit(2) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what goes wrong into one line and an exit code."""
        reporter = TerminalProgress() if sys.stderr.isatty() else CountingProgress()
        texts: set[str] = set()

        def name_option(name: str, value: Any) -> str:
            return write_flag(self.get_command(ctx, ctx.invoked_subcommand or ""), name, value)

        def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            progress().close()
            text = message.render(name_option) if isinstance(message, UnskewWarning) else render(str(message))
            if text not in texts:  # the same may hold at both dates
                tell(text if issubclass(category, Notice) else f"warning: {text}")
                if isinstance(message, UnskewWarning) and not issubclass(category, Notice):
                    ctx.meta.setdefault(WARNINGS, []).append(text)
            texts.add(text)

        try:
            with warnings.catch_warnings(), reporting(reporter):
                warnings.simplefilter("default")
                warnings.showwarning = show_warning
                return super().invoke(ctx)
        except UnskewError as error:
            _end(ctx, reporter, f"error: {error.render(name_option)}", 2)
        except click.ClickException as error:
            text = _ENDLESS.sub(lambda match: f"{match[0][:197]}...", hide_secrets(error.message))
            vars(error)["message"] = text
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # whoever read our output has seen enough
            discard_output()
            raise SystemExit(0) from None
        except KeyboardInterrupt as stopped:
            reached = reporter.reached()
            lost = f"interrupted{' while ' + reached if reached else ''}: nothing was written"
            kept = stopped.render(name_option) if isinstance(stopped, Interruption) else str(stopped)
            _end(ctx, reporter, f"interrupted: {kept}" if kept else lost, 130)
        except MemoryError as error:
            description = str(error) or "there is not enough memory for this"
            _end(ctx, reporter, f"error: {render(description)} (--debug shows where)", 2)
        except OSError as error:  # the disk is full, a folder is gone, something may not be read
            _end(ctx, reporter, f"error: {render(_describe(error))} (--debug shows where)", 2)
        except Exception as error:
            description = render(f"{type(error).__name__}: {error}")
            _end(ctx, reporter, f"unexpected {description} (--debug shows where)", 1)
        finally:
            reporter.close()


def _end_in_order(number: int, _: Any) -> None:
    """Let go of temporary files, as on an interrupt."""
    raise SystemExit(128 + number)


_ENDLESS = re.compile(r"'[^']{200,}'|\S{200,}")  # a value that click would quote whole


def _describe(error: OSError) -> str:
    try:
        Path.cwd()
    except OSError:
        return "the current directory does not exist any more: change to another"
    reason = f"{error.strerror or error}"
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF):
        return f"cannot write the output: {reason}"
    return reason if error.filename is None else f"{reason}: {error.filename}"


def _end(ctx: click.Context, reporter: Progress, message: str, code: int) -> None:
    reporter.close()
    if ctx.meta.get(_DEBUG):
        traceback.print_exc()
    tell(message)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        discard_output()
    raise SystemExit(code) from None


def write_flag(command: click.Command | None, name: str, value: Any) -> str:
    """An option of the library as the command has it: ``--users both`` for users='both'.

    Of a function, the command that does the same.
    """
    if name in _COMMANDS:
        return f"'{_COMMANDS[name]}'"
    params = [param for param in (command.params if command else []) if param.name == name]
    if params and value is False and params[0].secondary_opts:
        return params[0].secondary_opts[0]
    flag = params[0].opts[0] if params else _FLAGS.get(name, "--" + name.replace("_", "-"))
    if isinstance(value, list):
        return " ".join(f"{flag} {shlex.quote(str(item))}" for item in value)
    return flag if value is None or value is True else f"{flag} {shlex.quote(str(value))}"
