"""Running a command: exit codes, one-line errors, warnings and progress on standard error."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Any, TextIO

import click

from unskew.cli.terminal_progress import CountingProgress, TerminalProgress
from unskew.errors import UnskewError
from unskew.progress import Progress, progress, reporting


class CarefulGroup(click.Group):
    """A group whose commands end with 0 (done), 2 (wrong input or usage) or 1 (a bug)."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what goes wrong into one line and an exit code."""
        reporter = TerminalProgress() if sys.stderr.isatty() else CountingProgress()
        try:
            with warnings.catch_warnings(), reporting(reporter):
                warnings.simplefilter("default")
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except UnskewError as error:
            self._end(reporter, f"error: {error}", 2)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        except KeyboardInterrupt as stopped:
            came = reporter.reached()
            lost = f"interrupted{' while ' + came if came else ''}: nothing was written"
            kept = str(stopped)  # whoever writes on the way says what is there
            self._end(reporter, f"interrupted: {kept}" if kept else lost, 130)
        except Exception as error:
            self._end(reporter, f"unexpected {type(error).__name__}: {error} (--debug shows where)", 1)
        finally:
            reporter.close()

    @staticmethod
    def _end(reporter: Progress, message: str, code: int) -> None:
        reporter.close()
        if "--debug" in sys.argv:
            traceback.print_exc()
        click.echo(message, err=True)
        raise SystemExit(code) from None


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    progress().close()
    click.echo(f"warning: {message}", err=True)
