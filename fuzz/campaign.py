"""The campaign: cases by number, sweeps by name, what they came to, and the findings.

A case is told by its seed and its number alone, whatever else is run with it, so that any can be run again.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from fuzz.damaged_files import Store, run_file_case
from fuzz.kill_points import list_writers, run_kills
from fuzz.random_options import run_option_case
from fuzz.resuming import run_resume_case
from fuzz.surroundings import compare_threads, run_surrounding_case, run_without_home
from fuzz.verdicts import Verdict

_SHARES = {"files": 0.9, "options": 0.07, "surroundings": 0.025, "resume": 0.005}
_WORK = "work"


@dataclass
class Campaign:
    """Some cases and what they came to.

    Attributes
    ----------
    scratch
        A folder for whatever cases need.
    findings
        Where findings are kept, each in a folder of its own.
    """

    seed: int
    scratch: Path
    findings: Path
    console: Console
    counts: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    found: int = 0

    def __post_init__(self) -> None:
        self.store = Store(self.scratch / "store")

    def run_case(self, number: int) -> Verdict:
        """Run the case of this number."""
        rng = Random(f"{self.seed} {number}")
        (kind,) = rng.choices(list(_SHARES), list(_SHARES.values()))
        file = None
        if kind == "files":
            verdict, file = run_file_case(self.store, rng)
        elif kind == "options":
            verdict = run_option_case(self.store, rng)
        elif kind == "resume":
            verdict = run_resume_case(self.scratch / _WORK, rng)
        else:
            verdict = run_surrounding_case(self.scratch / _WORK, rng)
        self._note(verdict, f"--case {number}", file)
        return verdict

    def run_sweep(self, name: str) -> None:
        """Run everything of one kind that is not left to chance."""
        for verdict in SWEEPS[name](self.scratch / _WORK):
            self._note(verdict, f"--cases 0 --sweep {name}", None)

    def _note(self, verdict: Verdict, again: str, file: Path | None) -> None:
        self.counts[verdict.group, verdict.outcome, verdict.is_finding] += 1
        if not verdict.is_finding:
            return
        self.found += 1
        again = f"python -m fuzz --seed {self.seed} {again}"
        folder = self.findings / f"{self.seed}-{again.split()[-1]}-{self.found}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "finding.txt").write_text(f"{verdict.group}: {verdict.outcome}\n{again}\n\n{verdict.detail}\n")
        if file is not None and file.exists():
            shutil.copy(file, folder / file.name)
        self.console.print(
            f"FINDING {verdict.group}: {verdict.outcome}\n  {again}\n  {verdict.detail}", markup=False
        )

    def print_counts(self) -> None:
        """How many cases of each kind came to what."""
        table = Table("kind", "outcome", "cases", title=f"seed {self.seed}")
        table.columns[2].justify = "right"
        for (group, outcome, is_finding), n in sorted(self.counts.items()):
            table.add_row(group, f"FINDING: {outcome}" if is_finding else outcome, str(n))
        table.add_row("all", f"{self.found} findings", str(sum(self.counts.values())))
        self.console.print(table)


def _sweep_kills(work: Path) -> Iterator[Verdict]:
    for writer in list_writers():
        yield from run_kills(writer, work)


def _sweep_threads(work: Path) -> Iterable[Verdict]:
    return compare_threads()


def _sweep_homes(work: Path) -> Iterable[Verdict]:
    return [run_without_home(work)]


SWEEPS: dict[str, Callable[[Path], Iterable[Verdict]]] = {
    "kills": _sweep_kills,
    "threads": _sweep_threads,
    "no-home": _sweep_homes,
}
"""What is gone through from one end to the other, whatever the seed."""
