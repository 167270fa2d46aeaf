"""A log on disk: one Arrow file, mapped into memory when it is opened.

The file holds one row of lists, one list per array, so that arrays of different lengths share one
file that is replaced in one step. Nothing is decoded on loading, and nothing is ever pickled.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unskew.errors import FileError
from unskew.files import check_readable, first_line, replacing
from unskew.data.ids import Ids
from unskew.data.times import TimeAxis

if TYPE_CHECKING:
    from unskew.data.log import Log

_KEY = b"unskew.data.log"
_FORMAT = 1
_MAGIC = b"ARROW1"


def is_saved_log(path: Path) -> bool:
    """Whether the file was written by `Log.save`."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return False
        with pa.memory_map(str(path)) as mapped:
            return _KEY in (pa.ipc.open_file(mapped).schema.metadata or {})
    except (pa.ArrowException, OSError):
        return False


def save_log(log: Log, path: Path) -> None:
    """Write `log`, and its organic view if it has one."""
    arrays, about = _pack(log)
    if log._organic is not None:
        more, about["organic"] = _pack(log._organic)
        shared = ("users", "items")
        arrays |= {f"organic.{name}": array for name, array in more.items() if name not in shared}
    columns = [
        pa.LargeListArray.from_arrays(pa.array([0, len(array)], type=pa.int64()), array)
        for array in arrays.values()
    ]
    batch = pa.RecordBatch.from_arrays(columns, names=list(arrays))
    batch = batch.replace_schema_metadata({_KEY: json.dumps(about).encode()})
    with (
        replacing(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, batch.schema) as writer,
    ):
        writer.write_batch(batch)


def load_log(path: Path) -> Log:
    """Open what `save_log` wrote."""
    check_readable(path)
    if not is_saved_log(path):
        raise FileError(f"{path} is not a saved log (or only half of one): write it with Log.save")
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} cannot be read: {first_line(error)}") from None
    about = json.loads(batch.schema.metadata[_KEY])
    if about["format"] != _FORMAT:
        raise FileError(f"{path} was written by another version of unskew: save the log again")
    arrays = {name: batch.column(name).values for name in batch.schema.names}
    organic = None
    if "organic" in about:
        parts = {n.removeprefix("organic."): a for n, a in arrays.items() if n.startswith("organic.")}
        organic = _unpack(parts | {n: arrays[n] for n in ("users", "items")}, about["organic"], None)
    return _unpack(arrays, about, organic)


def _pack(log: Log) -> tuple[dict[str, pa.Array], dict[str, Any]]:
    arrays = {
        "users": log.users.values,
        "items": log.items.values,
        "start": pa.array(log.start),
        "item": pa.array(log.item),
        "time": pa.array(log.time),
    }
    if log.removed is not None:
        arrays["removed"] = pa.array(log.removed)
    if log.exposed is not None:
        arrays["exposed"] = pa.array(log.exposed.view(np.uint8))
    arrays |= {f"extra.{name}": pa.array(values) for name, values in log.extra.items()}
    for name, labels in log.labels.items():
        arrays |= {f"label.{name}": labels.values, f"label-codes.{name}": pa.array(labels.codes)}
    about = {
        "format": _FORMAT,
        "axis": log.axis.to_dict(),
        "columns": asdict(log.columns),
        "reading": asdict(log.reading),
        "view": log.view,
        "source": log.source,
        "extra": list(log.extra),
        "labels": list(log.labels),
        "categorical": [pa.types.is_dictionary(ids.type) for ids in (log.users, log.items)],
    }
    return arrays, about


def _unpack(arrays: dict[str, pa.Array], about: dict[str, Any], organic: Log | None) -> Log:
    from unskew.data.log import Columns, Labels, Log, Reading

    def array(name: str) -> Any:
        return arrays[name].to_numpy(zero_copy_only=True)

    def ids(name: str, categorical: bool) -> Ids:
        values = arrays[name]
        return Ids(values, pa.dictionary(pa.int32(), values.type) if categorical else values.type)

    return Log(
        users=ids("users", about["categorical"][0]),
        items=ids("items", about["categorical"][1]),
        start=array("start"),
        item=array("item"),
        time=array("time"),
        axis=TimeAxis(**about["axis"]),
        columns=Columns(**about["columns"]),
        reading=Reading(**about["reading"]),
        removed=array("removed") if "removed" in arrays else None,
        exposed=array("exposed").view(np.bool_) if "exposed" in arrays else None,
        extra={name: array(f"extra.{name}") for name in about["extra"]},
        labels={n: Labels(arrays[f"label.{n}"], array(f"label-codes.{n}")) for n in about.get("labels", [])},
        view=about["view"],
        source=about["source"],
        _organic=organic,
    )
