"""What comparisons found, as JSON: tables of ratios, with the machine and the versions behind them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.machine import Made
from unskew.storage.files import replace_file

FOLDER = Path(__file__).parents[1] / "results"

ENOUGH_FOR_QUARTILES = 4


@dataclass(frozen=True)
class Spread:
    """The median of some ratios and their quartiles, or the least and the largest where there are few."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        outer = [0.25, 0.75] if len(values) >= ENOUGH_FOR_QUARTILES else [0.0, 1.0]
        low, median, high = (float(f"{q:.4g}") for q in np.quantile(values, [outer[0], 0.5, outer[1]]))
        return cls(median, low, high)


@dataclass(frozen=True)
class Row:
    """A contender: what it took as a multiple of the yardstick.

    Attributes
    ----------
    time, processor
        Ratios by the clock, and of the time of all processors.
    bytes_an_event
        Memory at the peak beyond what the process had before.
    events
        Its size, where contenders differ in that; ratios are then of the cost of an event.
    uncompared
        Why its answer was not compared.
    absent
        Why it did not take part.
    """

    name: str
    time: Spread | None = None
    processor: Spread | None = None
    bytes_an_event: float | None = None
    events: int | None = None
    uncompared: str | None = None
    absent: str | None = None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Row:
        spreads = {k: Spread(**values[k]) for k in ("time", "processor") if values[k] is not None}
        return cls(**{**values, **spreads})


@dataclass(frozen=True)
class Table:
    """One comparison; see `benchmarks.frame.comparison.Comparison`."""

    title: str
    job: str
    yardstick: str
    agreement: str
    repeats: int
    rows: list[Row]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Table:
        return cls(**{**values, "rows": [Row.from_dict(row) for row in values["rows"]]})


@dataclass(frozen=True)
class Results:
    """The tables of one benchmark, and what they were made with."""

    benchmark: str
    made: Made
    tables: list[Table]

    def write(self, folder: Path = FOLDER) -> Path:
        """Keep them as JSON."""
        path = folder / f"{self.benchmark}.json"
        with replace_file(path) as temporary:
            Path(temporary).write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")
        return path

    @classmethod
    def read(cls, path: Path) -> Results:
        values = json.loads(path.read_text())
        tables = [Table.from_dict(table) for table in values["tables"]]
        return cls(values["benchmark"], Made(**values["made"]), tables)
