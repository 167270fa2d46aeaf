"""Files of events with texts for ids and moments for times, as services have them, for whoever reads.

They are made once and kept in ``bench/``. The events are those of `benchmarks.worlds.quick_world`, in order of
time, with repeats of some pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.frame.machine import ROOT
from benchmarks.worlds import ENTRIES, ITEMS, MOST_ITEMS, USERS, quick_world
from unskew.storage.files import replace_file

FOLDER = ROOT / "bench"
FORMATS = ("parquet", "csv")
FIRST = np.datetime64("2020-01-01", "s")

_CHUNK = 2_000_000
_REPEATED = 0.1


@dataclass(frozen=True)
class TextLog:
    """A file of events, and how many there are."""

    path: Path
    events: int


def text_log(events: int, kind: str) -> TextLog:
    """A file with about so many events; its catalogue grows with the square root of them, up to 100 000."""
    path = FOLDER / f"events-{events}-{MOST_ITEMS}.{kind}"
    counts = path.with_suffix(f".{kind}.count")
    if not counts.exists():
        FOLDER.mkdir(exist_ok=True)
        rows = make_rows(events)
        with replace_file(path) as temporary:
            _write(rows, Path(temporary), kind)
        counts.write_text(str(len(rows)))
    return TextLog(path, int(counts.read_text()))


def make_rows(events: int) -> pa.Table:
    """The events as numbers: user, item, and seconds since the first day."""
    scale = events / ENTRIES / (1 + _REPEATED)
    rows = quick_world(int(USERS * scale), min(int(ITEMS * scale**0.5), MOST_ITEMS))
    rng = np.random.default_rng(1)
    again = np.sort(rng.choice(len(rows), int(_REPEATED * len(rows)), replace=False))
    columns = {name: np.concatenate([whole := rows[name].to_numpy(), whole[again]]) for name in ("user", "item")}
    days = rows["time"].to_numpy()
    days = np.concatenate([days, np.minimum(days[again] + rng.integers(0, 60, len(again)), days[-1])])
    seconds = days * 86_400 + rng.integers(0, 86_400, len(days))
    order = np.argsort(seconds, kind="stable")
    return pa.table({**{name: values[order] for name, values in columns.items()}, "time": seconds[order]})


def _write(rows: pa.Table, path: Path, kind: str) -> None:
    schema = pa.schema([("user", pa.string()), ("item", pa.string()), ("time", pa.timestamp("us"))])
    writer = pq.ParquetWriter(path, schema) if kind == "parquet" else pa.csv.CSVWriter(path, schema)
    with writer:
        for low in range(0, len(rows), _CHUNK):
            writer.write_table(_to_texts(rows.slice(low, _CHUNK)).cast(schema))


def _to_texts(rows: pa.Table) -> pa.Table:
    first = int(FIRST.astype(np.int64))
    return pa.table(
        {
            "user": pc.binary_join_element_wise("user", rows["user"].cast(pa.string()), "-"),
            "item": pc.binary_join_element_wise("item", rows["item"].cast(pa.string()), "-"),
            "time": pc.add(rows["time"], first).cast(pa.timestamp("s")),
        }
    )
