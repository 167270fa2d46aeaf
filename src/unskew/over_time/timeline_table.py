"""The rows of a timeline, the files that keep them, and the mix of its reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unskew.arrays.types import Floats
from unskew.data.columns import restore_dates
from unskew.data.marginal import Marginal
from unskew.data.times import Label, Windows
from unskew.errors import FileError, InputError, PolicyError, function, option
from unskew.frames import show_as_table, to_native
from unskew.storage.files import check_writable, hash_bytes, is_file, report_damage
from unskew.storage.tables import (
    check_table_name,
    is_csv,
    read_arrays,
    read_metadata,
    read_parquet,
    require_entries,
    require_kind,
    write_table,
)
from unskew.text import count

REFERENCE_MIX = "reference_mix"
"""What the options in the file of a timeline call it."""

_TURNS = (0.0, 1.0, 2.0**0.5, 2.0, 3.0)
_ROUNDING = 1e-11  # by which sums of probabilities may differ from one machine to another


def sketch_mix(marginal: Marginal) -> dict[str, Any]:
    """A hash of the items, and a few sums over their probabilities p_k: ``sum p_k cos(t k)``; ready for JSON.

    >>> sketch_mix(Marginal.of({"x": 0.75, "y": 0.25}))["numbers"][0]
    1.0
    """
    p, places = marginal.probabilities, np.arange(len(marginal))
    ids = hash_bytes([pa.record_batch([marginal.items], names=["item"]).serialize()])
    return {"items": len(p), "ids": ids, "numbers": [float(p @ np.cos(places * turn)) for turn in _TURNS]}


def is_same_mix(had: Any, wanted: Any) -> bool:
    """Whether two sketches are of the same item mix, but for how machines round."""
    if not isinstance(had, Mapping) or not isinstance(wanted, Mapping):
        return had is wanted is None
    if any(had.get(name) != wanted.get(name) for name in ("items", "ids")):
        return False
    pairs = [mix.get("numbers") for mix in (had, wanted)]
    if not all(isinstance(numbers, list) and len(numbers) == len(_TURNS) for numbers in pairs):
        return False
    return all(
        isinstance(a, int | float) and isinstance(b, int | float) and abs(a - b) <= _ROUNDING
        for a, b in zip(*pairs, strict=True)
    )


BEGIN_AGAIN = "remove it to begin again"
"""What to do about a damaged file."""

BOTH_ENDS, OTHER_VIEW = "both_ends", "thinned"
"""What the options call the other end of the range, and the view of its rows."""

Starts = Mapping[int | None, Floats]
"""Log-weights to start from, for each `top` (None for all items): an array over the items of the log."""

_MAKE_AGAIN = f"make one in another file with {function('timeline')}"
_SCORES = [
    *((name, pa.string()) for name in ("recommender", "metric", "view", "weighting")),
    ("top", pa.int64()),
    *((name, pa.float64()) for name in ("value", "low", "high", "divergence", "bound")),
    ("too_few_hits", pa.bool_()),
    ("held_out", pa.string()),
]


_OTHER = "other "  # before the names of weights of the other end
_FINITE = ("value", "low", "high", "bound", "probability")


@dataclass(frozen=True, repr=False, eq=False)
class Timeline:
    """Scores, item probabilities, divergences and bounds on a grid of dates. Made by `unskew.timeline`.

    Attributes
    ----------
    rows
        An Arrow table, sorted by date, with columns at, recommender, metric, view, weighting (``raw`` or
        ``weighted``), top (null where all items are weighted, or none), value, low, high, divergence, bound,
        too_few_hits and held_out (see `Score`). Divergence and bound are about the item mix: of the raw snapshot
        in raw rows, after weighting in the others.
    probabilities
        An Arrow table with columns at, item, weighting, top, probability: of the items asked for.
    options
        What it was made with.
    unfinished
        The dates at which a fit did not converge.
    complete
        Whether every date that was asked for is there.
    computed
        How many dates were computed; the others were in the file already.
    starts, other_starts, history
        What it needs to be continued: the weights of the last date, as logged and at the other end of the range,
        and a check sum of the log before its end, by which a log that has grown since is known again.
    """

    rows: pa.Table
    probabilities: pa.Table
    options: Mapping[str, Any]
    unfinished: tuple[Label, ...] = ()
    complete: bool = True
    computed: int = 0
    starts: Starts = field(default_factory=dict)
    other_starts: Starts = field(default_factory=dict)
    history: Mapping[str, Any] | None = None
    frames: str | None = None

    @property
    def dates(self) -> list[Label]:
        """The dates, in order."""
        dates: list[Label] = self.rows.column("at").unique().to_pylist()
        return dates

    @property
    def other_end(self) -> Mapping[str, Any] | None:
        """What the other end of the range is made of: `since`, `stand_in`, `share`; None if only one is scored."""
        description: Mapping[str, Any] | None = self.options.get(BOTH_ENDS)
        return description

    @property
    def settings(self) -> dict[str, Any]:
        """The options for people: without the mix, by which it is continued."""
        return {name: value for name, value in self.options.items() if name != REFERENCE_MIX}

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        dates = self.dates
        span = f" from {dates[0]} to {dates[-1]}" if dates else ""
        names = ", ".join(self.rows.column("recommender").unique().to_pylist())
        part = "" if self.complete else ", not complete"
        return f"Timeline({count(len(dates), 'date')}{span}: {len(self)} rows of {names}{part})"

    def to_arrow(self) -> pa.Table:
        """The rows."""
        return self.rows

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """The rows in the dataframe library that the log came in; see `unskew.frames.to_native`.

        Where the log has dates, `at` is one: a bare date, which is the end of that day, as a date.
        """
        return to_native(restore_dates(self.rows, ["at"]), self.frames)

    def plot(
        self, metric: str | None = None, *, campaigns: Windows = (), names: Mapping[Any, str] | None = None
    ) -> Any:
        """The scores over time as an altair chart, as logged and re-weighted, with bands; then the items, if any.

        Parameters
        ----------
        metric
            One of those that were scored; by default a chart for each.
        campaigns
            When something was recommended, as for `unskew.views.outside`: shaded.
        names
            What items are called, where their ids do not say it.
        """
        from unskew.over_time.timeline_page import plot_timeline  # a drawing library is loaded when it draws

        return plot_timeline(self, metric, campaigns=campaigns, names=names or {})

    def page_sections(self, *, campaigns: Windows = (), names: Mapping[Any, str] | None = None) -> list[Any]:
        """The same charts as sections of a page, which `Report.save` takes."""
        from unskew.over_time.timeline_page import timeline_sections

        return timeline_sections(self, campaigns=campaigns, names=names or {})

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: what ``unskew timeline --json`` prints."""
        return {
            "rows": self.rows.to_pylist(),
            "probabilities": self.probabilities.to_pylist(),
            "dates": len(self.dates),
            "computed": self.computed,
            "complete": self.complete,
            "unfinished": list(self.unfinished),
            "options": self.settings,
        }

    def save(self, path: str | Path, *, probabilities: str | Path | None = None) -> None:
        """Write the rows as Parquet, and the probabilities of items to a file of their own; or ``.csv`` files."""
        if probabilities is not None:  # first: the file of the rows says which dates are done
            write_table(Path(probabilities), self.probabilities, "probabilities", {"options": self.options})
        about = {name: getattr(self, name) for name in ("options", "unfinished", "complete", "history")}
        starts = {
            f"{prefix}{'all' if top is None else top}": pa.array(theta)
            for prefix, by_top in (("", self.starts), (_OTHER, self.other_starts))
            for top, theta in by_top.items()
        }
        write_table(Path(path), self.rows, "timeline", about, starts)

    @classmethod
    def load(cls, path: str | Path, *, probabilities: str | Path | None = None) -> Timeline:
        """Read what `save` wrote.

        >>> import tempfile, unskew as us
        >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
        >>> series = us.timeline(log, "constant:1", reference=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     series.save(folder + "/timeline.parquet")
        ...     Timeline.load(folder + "/timeline.parquet")
        Timeline(2 dates from 4 to 5: 4 rows of constant:1)
        """
        table, about = _read(Path(path), "timeline")
        require_entries(Path(path), about, ("options", "unfinished", "complete"), BEGIN_AGAIN)
        with report_damage(path, BEGIN_AGAIN):
            starts, other_starts = _read_starts(table.schema)
            table = table.replace_schema_metadata(None)
            _require_columns(table, scores_table([], table.schema.field("at").type))
            _require_end(about["options"].get(BOTH_ENDS))
            timeline = cls(
                rows=table,
                probabilities=probabilities_table([], table.schema.field("at").type, pa.null()),
                options=dict(about["options"]),
                unfinished=tuple(about["unfinished"]),
                complete=bool(about["complete"]),
                starts=starts,
                other_starts=other_starts,
                history=about.get("history"),
            )
        if probabilities is None:
            return timeline
        table, about = _read(Path(probabilities), "probabilities")
        if not _is_made_alike(about.get("options"), timeline.options):
            raise InputError(
                f"{probabilities} was made with other options than {path}",
                remedy="give the file that was written with it, or remove both to begin again",
            )
        table = table.replace_schema_metadata(None)
        with report_damage(probabilities, BEGIN_AGAIN):
            at, item = (table.schema.field(name).type for name in ("at", "item"))
            _require_columns(table, probabilities_table([], at, item))
        return replace(timeline, probabilities=table)


def is_timeline(path: str) -> bool:
    """Whether a file holds a timeline that `Timeline.save` wrote."""
    if not is_file(path):
        return False
    try:
        return read_metadata(pq.read_schema(Path(path).absolute())).get("kind") == "timeline"
    except (pa.ArrowException, OSError, FileError):
        return False  # some other file, about which whoever reads it will say more


def _is_made_alike(first: Any, second: Mapping[str, Any]) -> bool:
    if not isinstance(first, Mapping) or not is_same_mix(first.get(REFERENCE_MIX), second.get(REFERENCE_MIX)):
        return False
    return {**first, REFERENCE_MIX: None} == {**second, REFERENCE_MIX: None}


def _require_columns(table: pa.Table, like: pa.Table) -> None:
    if table.schema.names != like.schema.names or table.schema.types != like.schema.types:
        raise ValueError(f"its columns must be {', '.join(like.schema.names)}")
    ends = [table.column(name).to_numpy() for name in ("low", "high") if name in table.schema.names]
    no_interval = np.logical_and.reduce([np.isnan(end) for end in ends]) if ends else False  # of a single user
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        unknown = no_interval if name in ("low", "high") else False
        if name != "top" and table.column(name).null_count:
            raise ValueError(f"column {name} has no value in some row")
        if pa.types.is_nested(kind):
            raise ValueError(f"column {name} holds {kind}")
        if name in _FINITE and not (np.isfinite(table.column(name).to_numpy()) | unknown).all():
            raise ValueError(f"column {name} is not a number in some row")


def _require_end(end: Any) -> None:
    if end is None:
        return
    kinds = {"since": str, "stand_in": str | None, "share": int | float}
    if not isinstance(end, Mapping) or not all(isinstance(end.get(name), kind) for name, kind in kinds.items()):
        raise ValueError(f"{BOTH_ENDS} must be an object with since, stand_in and share")


def _read_starts(schema: pa.Schema) -> tuple[Starts, Starts]:
    """The weights of the last date that was computed, as logged and at the other end."""
    starts: dict[str, dict[int | None, Floats]] = {"": {}, _OTHER: {}}
    for name, values in read_arrays(schema).items():
        theta = values.to_numpy(zero_copy_only=False)
        if theta.dtype != np.float64 or not np.isfinite(theta).all():
            raise ValueError("weights to start from are not finite")
        prefix = _OTHER if name.startswith(_OTHER) else ""
        top = name.removeprefix(prefix)
        starts[prefix][None if top == "all" else int(top)] = theta
    return starts[""], starts[_OTHER]


def scores_table(rows: list[tuple[Any, ...]], at: pa.DataType) -> pa.Table:
    """Rows of a timeline as a table."""
    return _table(rows, pa.schema([("at", at), *_SCORES]))


def probabilities_table(rows: list[tuple[Any, ...]], at: pa.DataType, item: pa.DataType) -> pa.Table:
    """Rows of item probabilities as a table."""
    columns = [("at", at), ("item", item), ("weighting", pa.string()), ("top", pa.int64())]
    return _table(rows, pa.schema([*columns, ("probability", pa.float64())]))


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, type=kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.table(arrays, schema=schema)


def _read(path: Path, kind: str) -> tuple[pa.Table, dict[str, Any]]:
    table, about = read_parquet(path)
    require_kind(path, about, kind, _MAKE_AGAIN)
    return table, about


@dataclass(frozen=True)
class TimelineFiles:
    """Where rows and probabilities are written, if anywhere."""

    rows: Path | None
    probabilities: Path | None

    @classmethod
    def of(
        cls, output: str | Path | None, probabilities: str | Path | None, *, resume: bool, items: bool
    ) -> TimelineFiles:
        """Check that they can be written, and that nothing is missing to go on with them."""
        if probabilities is not None and not items:
            raise PolicyError(f"{option('probabilities')} needs {option('items')}", remedy="say whose to write")
        if probabilities is not None and output is None:
            raise PolicyError(
                "a file of probabilities goes with the file of the rows",
                remedy=f"give that with {option('output')}",
            )
        if resume and output is None:
            raise PolicyError(f"{option('resume')} continues a file", remedy=f"give it with {option('output')}")
        if resume and any(path is not None and is_csv(Path(path)) for path in (output, probabilities)):
            raise PolicyError(
                f"{option('resume')} continues Parquet files: CSV has no room for what it needs",
                remedy="give names that end in .parquet",
            )
        if resume and items and probabilities is None:
            raise PolicyError(
                f"{option('resume')} with {option('items')} needs the file of their probabilities",
                remedy=f"give it with {option('probabilities')}",
            )
        files = [None if path is None else Path(path) for path in (output, probabilities)]
        for path in files:
            if path is not None:
                check_writable(path)
                check_table_name(path)
        if files[0] is not None and files[1] is not None and files[0].resolve() == files[1].resolve():
            raise PolicyError(
                f"rows and probabilities cannot both be written to {files[0]}", remedy="name two files"
            )
        return cls(*files)
