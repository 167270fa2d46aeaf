"""What a command is doing: counted always, shown on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unskew.cli.streams import tell
from unskew.progress import COMPILING, Progress
from unskew.text import escape_controls

if TYPE_CHECKING:
    from rich.console import Console


class CountingProgress(Progress):
    """Shows large steps alone, but knows how far the work has come; for output that is not a terminal."""

    def __init__(self) -> None:
        self._text = ""
        self._unit = ""
        self._total = self._done = 0

    def step(self, number: int, total: int, text: str) -> None:
        CountingProgress.stage(self, text)
        tell(f"[{number}/{total}] {text}")

    def stage(self, text: str) -> None:
        self._text, self._total, self._done = text, 0, 0

    def begin(self, text: str, total: int, unit: str) -> None:
        self._text, self._total, self._done, self._unit = text, total, 0, unit

    def advance(self, steps: int) -> None:
        self._done += steps

    def compiling(self) -> None:
        pass

    def reached(self) -> str:
        if self._total:
            return f"{self._text}: {self._done} of {self._total} {self._unit}"
        return self._text


class TerminalProgress(CountingProgress):
    """One line of the terminal that goes away when the work is done; a bar where the end is known."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._console = console
        self._bar: Any = None
        self._bounded = False
        self._step = ""

    def step(self, number: int, total: int, text: str) -> None:
        self._step = f"[{number}/{total}] {text}"
        CountingProgress.stage(self, text)
        self._show("")

    def stage(self, text: str) -> None:
        super().stage(text)
        self._show(text)

    def note(self, text: str) -> None:
        self._show(f"{self._text}: {text}" if self._text else text)

    def begin(self, text: str, total: int, unit: str) -> None:
        super().begin(text, total, unit)
        self.close()  # a rate is of one piece of work
        self._show(text)

    def advance(self, steps: int) -> None:
        super().advance(steps)
        self._show(self._text)

    def compiling(self) -> None:
        self.note(COMPILING)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, part: str) -> None:
        text = escape_controls(": ".join(filter(None, (self._step, part))))
        from rich import progress
        from rich.console import Console
        from rich.markup import escape

        if self._bar is not None and bool(self._total) != self._bounded:
            self.close()
        if self._bar is None:
            self._bounded = bool(self._total)
            console = self._console or Console(stderr=True)
            columns: list[Any] = [progress.SpinnerColumn(), progress.TextColumn("{task.description}")]
            if self._bounded:
                columns += [
                    progress.BarColumn(),
                    progress.MofNCompleteColumn(),
                    progress.TextColumn("{task.fields[rate]}"),
                    progress.TimeRemainingColumn(),
                ]
            self._bar = progress.Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(escape(text), total=self._total or None, rate="")
            self._bar.start()
        speed = self._bar.tasks[0].speed
        rate = f"{speed:,.0f} {self._unit}/s" if speed else ""
        self._bar.update(
            self._task, description=escape(text), completed=self._done, total=self._total or None, rate=rate
        )
