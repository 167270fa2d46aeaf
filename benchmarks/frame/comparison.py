"""A comparison: contenders that take turns, each held against a yardstick in the same round.

A first round is for compiling and for the answers: where two contenders disagree, nothing is measured. Then come
the rounds that count, A B C A B C, so that whatever slows the machine down slows all of them. A ratio is that of
two trials of one round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.frame.contenders import Absent, Contender, Trial
from benchmarks.frame.result_files import Row, Spread, Table


class Disagreement(Exception):
    """Two contenders did not compute the same."""


@dataclass(frozen=True)
class Comparison:
    """One job, and those who do it.

    Attributes
    ----------
    title
        The job and its size.
    job
        What exactly each side does, in a sentence or two.
    contenders
        Ours first.
    yardstick
        The name of the contender that all are divided by.
    agreement
        What was checked between the answers, in words, with its tolerance.
    differ
        Says how an answer differs from ours; None if it does not.
    events
        By which memory is divided.
    sizes
        Events of each contender, where they do the same job at different sizes: then costs are those of an event.
    versions
        Of libraries in environments of their own.
    most_rounds
        For a job that takes minutes.
    """

    title: str
    job: str
    contenders: Sequence[Contender | Absent]
    yardstick: str
    agreement: str
    differ: Callable[[object, object], str | None]
    events: int | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    most_rounds: int | None = None

    def run(self, repeats: int, note: Callable[[str], None] = lambda text: None) -> Table:
        """Measure; raise `Disagreement` where the answers differ."""
        repeats = min(repeats, self.most_rounds or repeats)
        taking_part = [c for c in self.contenders if isinstance(c, Contender)]
        if self.yardstick not in [c.name for c in taking_part]:
            reasons = [c.reason for c in self.contenders if isinstance(c, Absent) and c.name == self.yardstick]
            raise LookupError(f"{self.title}: the yardstick {self.yardstick} is missing: {', '.join(reasons)}")
        note(f"{self.title}: answers")
        self._compare([(c, c.attempt(True)) for c in taking_part])
        trials: dict[str, list[Trial]] = {c.name: [] for c in taking_part}
        for n in range(repeats):
            note(f"{self.title}: round {n + 1} of {repeats}")
            for contender in taking_part:
                trials[contender.name].append(contender.attempt(False))
        rows = [self._row(contender, trials) for contender in self.contenders]
        return Table(self.title, self.job, self.yardstick, self.agreement, repeats, rows)

    def _compare(self, first: list[tuple[Contender, Trial]]) -> None:
        answers = [(contender.name, trial.answer) for contender, trial in first if contender.uncompared is None]
        (ours, wanted), *others = answers
        for name, answer in others:
            difference = self.differ(wanted, answer)
            if difference is not None:
                raise Disagreement(f"{self.title}: {ours} and {name} disagree: {difference}")

    def _row(self, contender: Contender | Absent, trials: dict[str, list[Trial]]) -> Row:
        if isinstance(contender, Absent):
            return Row(contender.name, absent=contender.reason)
        mine, base = trials[contender.name], trials[self.yardstick]
        scale = self._size(self.yardstick) / self._size(contender.name)
        peaks = [trial.peak for trial in mine if trial.peak is not None]
        events = self.sizes.get(contender.name, self.events)
        return Row(
            contender.name,
            time=Spread.of([scale * a.wall / b.wall for a, b in zip(mine, base, strict=True)]),
            processor=Spread.of([scale * a.processor / b.processor for a, b in zip(mine, base, strict=True)]),
            bytes_an_event=float(np.median(peaks)) / events if peaks and events else None,
            events=self.sizes.get(contender.name),
            uncompared=contender.uncompared,
        )

    def _size(self, name: str) -> int:
        return self.sizes.get(name, 1)
