"""Items that many users interacted with at once: cells of time, and the bursts in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from unskew.arrays.types import Codes, Floats
from unskew.checks import public, require_instance
from unskew.data.columns import restore_dates
from unskew.data.log import Log
from unskew.data.times import Label, TimeAxis, TimeWindow
from unskew.engines.population import require_local_log
from unskew.errors import EmptyError, function
from unskew.frames import show_as_table, to_native

_MOST, _FEWEST = 100, 20  # cells
_TAKES = 30  # in a cell, on average


@dataclass(frozen=True, eq=False)
class BurstCells:
    """Counts of takes by cell."""

    edges: list[int | float]  # where cells begin and, one more, where the last ends: ticks of the log
    counts: tuple[sparse.csr_matrix, sparse.csr_matrix]  # for each half of the users a matrix of cells by items
    known: Codes  # how many users had a profile when each cell begins

    @classmethod
    def of(cls, log: Log) -> BurstCells:
        """Cut the time of a log into cells, and count."""
        entry_users = log.entry_users()
        first = log.time[log.start[entry_users]]  # rows are sorted by time
        edges = _cut_time(log, int(np.count_nonzero(log.time > first)))
        if len(edges) < _FEWEST:
            raise EmptyError(
                f"there is too little time between {log.first} and {log.last} to look for bursts in",
                remedy=f"at least {_FEWEST - 1} days or units of time are needed",
            )
        begin = np.asarray(edges)
        cell = np.searchsorted(begin, log.time, side="right") - 1
        knows = first < begin[cell]
        half = np.random.default_rng(0).integers(0, 2, len(log.users))[entry_users] == 0
        shape = (len(edges) - 1, len(log.items))
        counts = []
        for part in (knows & half, knows & ~half):
            places = (cell[part], log.item[part])
            counts.append(sparse.csr_matrix((np.ones(len(places[0])), places), shape=shape))
        joined = np.sort(log.time[log.start[:-1][np.diff(log.start.astype(np.int64)) > 0]])
        return cls(edges, (counts[0], counts[1]), np.searchsorted(joined, begin[:-1], side="left"))

    def __len__(self) -> int:
        return len(self.known)

    def takes(self) -> Floats:
        """How many takes each half has in each cell."""
        return np.array([np.asarray(half.sum(axis=1)).ravel() for half in self.counts])

    def take_mix(self, cells: list[int]) -> tuple[Floats, Floats]:
        """How often each item was taken in some cells together, by each half."""
        first, second = (np.asarray(half[cells].sum(axis=0)).ravel() for half in self.counts)
        return first, second


def _cut_time(log: Log, takes: int) -> list[int | float]:
    """Where cells begin: whole days or units of time where there are enough of them."""
    axis = log.axis
    low, high = (tick.item() for tick in log.span)
    number = int(np.clip(takes // _TAKES, _FEWEST, _MOST))
    if axis.is_calendar and (high - low) / axis.duration(1) >= _FEWEST:
        return _cut_days(axis, low, high, number)
    step = (high - low) / number
    if axis.kind != "float":
        step = max(1, round(step))
        return [low + k * step for k in range(max(1, round((high + 1 - low) / step)))] + [high + 1]
    edges = [low + k * step for k in range(number + 1)]
    return [*edges[:-1], math.nextafter(max(high, edges[-1]), math.inf)] if step > 0 else [low]


def _cut_days(axis: TimeAxis, low: float, high: float, number: int) -> list[int | float]:
    first, last = (date.fromisoformat(str(axis.show(tick))[:10]) for tick in (low, high))
    step = max(1, round(((last - first).days + 1) / number))
    days = [first + timedelta(days=k * step) for k in range(max(1, round(((last - first).days + 1) / step)))]
    return [axis.begin(day.isoformat()).tick for day in (*days, last + timedelta(days=1))]


_RECENT = 20  # quiet cells that say what is usual
_RATES = 10  # of these, for how much is taken
_LEAST_QUIET = 500  # in the quiet cells, at least; else earlier ones count too
_FEWEST_QUIET = 5  # quiet cells before anything can be said
_STRONG, _RISE = (
    4.0,
    1.25,
)  # a burst begins where the mix is so many spreads above usual, activity so many times
_WEAK, _STILL = 1.5, 1.0  # and goes on while they are above these
_SHOWN = 5  # items of a burst


@dataclass(frozen=True, eq=False)
class Burst:
    """One likely campaign.

    Attributes
    ----------
    window
        From its start, included, to its end, not included, which is None if it goes on to the end of the log.
    excess
        The share of what known users took in it that is above the usual rates of the items that rose.
    takes
        How many items known users took in it.
    activity
        How many interactions per known user, over the usual number.
    items
        The items that rose most.
    """

    window: TimeWindow
    excess: float
    takes: int
    activity: float
    items: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "start": self.window.first,
            "end": self.window.last,
            "excess": self.excess,
            "takes": self.takes,
            "activity": self.activity,
            "items": list(self.items),
        }


@dataclass(frozen=True, eq=False)
class Bursts:
    """The bursts of a log, in the order of time.

    Attributes
    ----------
    bursts
        Each a `Burst`.
    since
        From when on bursts were looked for; before that there is too little to tell what is usual.
    cells
        What was looked at, one row a cell of time: its start, `takes`, `rate` (takes of a known user),
        `usual_rate`, `moved` (how much of the item mix lies on items that rose), `usual_moved`, `strength` (of
        the difference, in spreads) and `inside` (a burst).
    """

    bursts: tuple[Burst, ...]
    since: Label | None
    cells: pa.Table
    frames: str | None = None

    @property
    def windows(self) -> tuple[TimeWindow, ...]:
        """When they were, as `outside` takes them."""
        return tuple(burst.window for burst in self.bursts)

    def __len__(self) -> int:
        return len(self.bursts)

    def __repr__(self) -> str:
        return f"Bursts({', '.join(map(str, self.windows)) or 'none'})"

    def to_arrow(self) -> pa.Table:
        """The cells of time as an Arrow table."""
        return self.cells

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """The cells of time, in the dataframe library that the log came in."""
        return to_native(restore_dates(self.cells, ["start"]), self.frames)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: what ``unskew drift --detect --json`` prints."""
        return {"since": self.since, "windows": [burst.to_dict() for burst in self.bursts]}


@public
def find_bursts(log: Log) -> Bursts:
    """Find likely campaigns in a log: when known users took more than usual, and other items than usual.

    The time is cut into about 100 cells. In each, the items whose share rose against the last quiet cells are
    chosen by one half of the users, and what they gained is counted in the other half, so that chance alone
    gains nothing. A burst begins where this is 4 spreads above what it usually is and known users take 1.25
    times as much as usual, and lasts while it stays 1.5 spreads above it and they take more than usual. Bursts
    in the first tenth of the time, or where less was taken before, cannot be told.

    What follows is a guess that somebody has to look at: seasons, holidays and news make bursts too, and
    recommendations that come little by little make none.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.simulate(users=2000, items=800, seed=1).log      # campaigns at days 330 and 430
    >>> from unskew.weights import find_bursts
    >>> found = find_bursts(log)
    >>> found
    Bursts(330:350, 430:455)
    >>> len(us.views.outside(log, found.windows)) < len(log)
    True
    """
    require_local_log(log, function("find_bursts"))
    require_instance(Log, log, "a log", "read one with read_log")
    cells = BurstCells.of(log)
    scan = _Scan(cells)
    scan.run()
    runs = _find_runs(scan.inside)
    return Bursts(
        bursts=tuple(_describe(log, cells, scan, first, last) for first, last in runs),
        since=None if scan.begun is None else _label(log, cells.edges[scan.begun]),
        cells=_tabulate(log, cells, scan),
        frames=log.frames,
    )


class _Scan:
    """Cells in the order of time, each compared with the quiet ones before it; NaN where that cannot be done."""

    def __init__(self, cells: BurstCells) -> None:
        n = len(cells)
        self.cells = cells
        self.takes = cells.takes()
        self.rate = self.takes.sum(axis=0) / np.maximum(cells.known, 1)
        self.moved, self.error, self.usual_moved, self.strength = np.full((4, n), np.nan)
        self.usual_rate = np.full(n, np.nan)
        self.inside = np.zeros(n, dtype=bool)
        self.begun: int | None = None

    def run(self) -> None:
        """Look at every cell; those of a burst do not count as usual for later ones."""
        for cell in range(len(self.cells) // 10, len(self.cells)):
            quiet = self.quiet_before(cell)
            if quiet:
                self._look(cell, quiet)

    def quiet_before(self, cell: int) -> list[int]:
        """The last quiet cells before one, or none if too little was taken in them."""
        before = np.flatnonzero(~self.inside[:cell])[::-1]
        takes = np.cumsum(self.takes.sum(axis=0)[before])
        if len(before) < _FEWEST_QUIET or takes[-1] < _LEAST_QUIET:
            return []
        enough = int(np.searchsorted(takes, _LEAST_QUIET)) + 1
        chosen: list[int] = before[: max(_RECENT, enough)].tolist()
        return chosen

    def _look(self, cell: int, quiet: list[int]) -> None:
        moved, error = self._measure(cell, quiet)
        self.moved[cell], self.error[cell] = moved, error
        self.usual_rate[cell] = np.median(self.rate[quiet[:_RATES]])
        known = np.flatnonzero(~self.inside[:cell] & np.isfinite(self.moved[:cell]))[-_RECENT:]
        if len(known) < _FEWEST_QUIET or not math.isfinite(moved):
            return
        self.begun = cell if self.begun is None else self.begun
        usual = float(np.median(self.moved[known]))
        spread = 1.4826 * float(np.median(np.abs(self.moved[known] - usual)))
        chance = float(np.median(self.error[known]))  # part of the spread, and larger where less is taken
        self.usual_moved[cell] = usual
        self.strength[cell] = (moved - usual) / math.sqrt(max(spread**2 - chance**2, 0.0) + error**2)
        if self._is_above(cell, _STRONG, _RISE):
            self.inside[cell] = True
            self.inside[cell - 1] |= self._is_above(cell - 1, _WEAK, _STILL)
        elif self.inside[cell - 1]:
            self.inside[cell] = self._is_above(cell, _WEAK, _STILL)

    def _is_above(self, cell: int, strength: float, rise: float) -> bool:
        return bool(self.strength[cell] > strength and self.rate[cell] > rise * self.usual_rate[cell])

    def _measure(self, cell: int, quiet: list[int]) -> tuple[float, float]:
        """How much of the mix moved to items that rose, chosen by one half of the users and counted in the other.

        What is usual is taken from the same half as what is compared with it: an item that was rare by chance in
        the quiet cells would else be chosen for that, and gain by it.
        """
        now, usual = self.cells.take_mix([cell]), self.cells.take_mix(quiet)
        if not all(half.any() for half in (*now, *usual)):
            return math.nan, math.nan
        gains, errors = [], []
        for chooser, counter in ((0, 1), (1, 0)):
            rose = _share(now[chooser]) > _share(usual[chooser])
            after, before = _share(now[counter])[rose].sum(), _share(usual[counter])[rose].sum()
            n, total = now[counter].sum(), usual[counter].sum()
            gains.append(float(after - before))
            errors.append(max(float(before), 1 / n) * (1 - float(before)) * (1 / n + 1 / total))
        return float(np.mean(gains)), math.sqrt(sum(errors)) / 2


def _share(counts: Floats) -> Floats:
    shares: Floats = counts / counts.sum()
    return shares


def _find_runs(inside: Any) -> list[tuple[int, int]]:
    """Cells in a row, as the first and the last of each; a single cell between two does not part them."""
    places = np.flatnonzero(inside)
    if len(places) == 0:
        return []
    cuts = np.flatnonzero(np.diff(places) > 2)
    starts, ends = places[np.concatenate([[0], cuts + 1])], places[np.concatenate([cuts, [len(places) - 1]])]
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _describe(log: Log, cells: BurstCells, scan: _Scan, first: int, last: int) -> Burst:
    run = list(range(first, last + 1))
    quiet = scan.quiet_before(first)
    times = float(cells.known[run].sum() / cells.known[quiet].sum())
    halves, usual = cells.take_mix(run), [times * half for half in cells.take_mix(quiet)]
    takes = float(np.add(*halves).sum())
    gained = sum(
        float((halves[counter] - usual[counter])[halves[chooser] > usual[chooser]].sum())
        for chooser, counter in ((0, 1), (1, 0))
    )
    rose = np.argsort(np.add(*usual) - np.add(*halves), kind="stable")[:_SHOWN]
    end, still_on = cells.edges[last + 1], last == len(cells) - 1
    return Burst(
        window=TimeWindow(
            cells.edges[first],
            math.inf if still_on else end,
            _label(log, cells.edges[first]),
            None if still_on else _label(log, end),
        ),
        excess=min(max(gained / takes, 0.0), 1.0),
        takes=int(takes),
        activity=float(np.mean(scan.rate[run]) / scan.usual_rate[first]),
        items=tuple(log.items[int(code)] for code in rose),
    )


def _label(log: Log, tick: int | float) -> Label:
    """A time as people write it: the start of a day as the bare date."""
    shown = log.axis.show(tick)
    day = str(shown)[:10]
    return day if log.axis.is_calendar and log.axis.begin(day).tick == tick else shown


def _tabulate(log: Log, cells: BurstCells, scan: _Scan) -> pa.Table:
    def numbers(values: Floats) -> pa.Array:
        return pa.array(values, from_pandas=True)  # NaN is null

    return pa.table(
        {
            "start": [_label(log, tick) for tick in cells.edges[:-1]],
            "takes": pa.array(scan.takes.sum(axis=0).astype(np.int64)),
            "rate": numbers(scan.rate),
            "usual_rate": numbers(scan.usual_rate),
            "moved": numbers(scan.moved),
            "usual_moved": numbers(scan.usual_moved),
            "strength": numbers(scan.strength),
            "inside": pa.array(scan.inside),
        }
    )
