"""A log on disk: one Arrow file; and checksums that tell one log from another.

The file holds one row of lists, one list per array, so that arrays of different lengths share one
file that is replaced in one step. Nothing is decoded on loading, and nothing is ever pickled. Each array has a
checksum, and what loops rely on (offsets, codes, lengths, the order of times, each item once in a profile) is
checked before they see it. Arrays are read and not mapped: a file that is cut short while a map of it is open ends
the process.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa
from pyarrow import compute

from unskew.arrays import kernels
from unskew.arrays.blocks import over_blocks, threads
from unskew.arrays.types import Codes, Mask, Times
from unskew.data.columns import Columns, Labels, Reading, Repeats
from unskew.data.ids import Ids
from unskew.data.times import Kind, TimeAxis
from unskew.errors import FileError
from unskew.storage.files import (
    ARROW_MAGIC,
    check_readable,
    hash_bytes,
    parse_json,
    read_dataclass,
    replace_file,
    report_damage,
)
from unskew.storage.tables import pack_row, read_batch, require_format, sum_array
from unskew.text import tell_damage

if TYPE_CHECKING:
    from unskew.data.log import Log


Fields = dict[str, Any]
"""What a log is made from, by the names of its fields."""

_KEY = b"unskew.log"
_SUM_KEY = b"unskew.log.checksum"
_FORMAT = 2
_FIRST_MESSAGE = 8  # bytes from the beginning of an Arrow file
_ORGANIC = "organic."
_SAVE_AGAIN = "save the log again"
_TICKS = ("int64", "float64")
_NO_IDS = ("null", "halffloat", "string_view", "binary_view")  # types that nothing is read as


def is_saved_log(path: Path) -> bool:
    """Whether the file was written by `Log.save`."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            if file.read(len(ARROW_MAGIC)) != ARROW_MAGIC:
                return False
        with pa.OSFile(str(path)) as file:
            return _KEY in (pa.ipc.open_file(file).schema.metadata or {})
    except Exception:  # whatever damaged bytes lead Arrow to
        return False


def write_saved_log(log: Log, path: Path) -> None:
    """Write `log`, and its organic view if it has one."""
    arrays, about = _pack(log)
    if log.unexposed is not None:
        more, about["organic"] = _pack(log.unexposed)
        shared = ("users", "items")
        arrays |= {f"{_ORGANIC}{name}": array for name, array in more.items() if name not in shared}
    about["checksums"] = _sum_up(arrays)
    description = json.dumps(about).encode()
    batch = pack_row(arrays).replace_schema_metadata(
        {_KEY: description, _SUM_KEY: str(zlib.crc32(description)).encode()}
    )
    with (
        replace_file(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, batch.schema) as writer,
    ):
        writer.write_batch(batch)


def read_saved_log(path: Path) -> tuple[Fields, Fields | None]:
    """The fields of what `write_saved_log` wrote, and those of its organic view if it has one."""
    check_readable(path)
    if not is_saved_log(path):
        raise FileError(f"{path} is not a saved log (or only half of one)", remedy="write it with Log.save")
    threads()  # a number of threads that cannot be is no damage
    try:
        with pa.OSFile(str(path)) as file:
            file.seek(_FIRST_MESSAGE)
            batch = read_batch(file)
    except Exception as error:  # as above
        raise FileError(f"{path} cannot be read: {tell_damage(error)}", remedy=_SAVE_AGAIN) from error
    with report_damage(path, _SAVE_AGAIN):
        about = parse_json(batch.schema.metadata[_KEY])
        require_format(path, about, _SAVE_AGAIN, current=_FORMAT)
        if batch.schema.metadata.get(_SUM_KEY) != str(zlib.crc32(batch.schema.metadata[_KEY])).encode():
            raise ValueError("what is said about the log is not what was written")
        arrays = {name: batch.column(name).values for name in batch.schema.names}
        _verify(arrays, about["checksums"])
        log = _unpack(arrays, about)
        if "organic" not in about:
            return log, None
        parts = {n.removeprefix(_ORGANIC): a for n, a in arrays.items() if n.startswith(_ORGANIC)}
        return log, _unpack(parts | {n: arrays[n] for n in ("users", "items")}, about["organic"])


def _sum_up(arrays: Mapping[str, pa.Array]) -> dict[str, int]:
    with ThreadPoolExecutor(threads()) as pool:
        return dict(zip(arrays, pool.map(sum_array, arrays.values()), strict=True))


def _verify(arrays: Mapping[str, pa.Array], wanted: Mapping[str, int]) -> None:
    if set(wanted) != set(arrays):
        raise ValueError("its arrays are not those that were written")
    for name, checksum in _sum_up(arrays).items():
        if checksum != wanted[name]:
            raise ValueError(f"the checksum of {name} does not fit")


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
    if log.repeats is not None:
        arrays |= _pack_repeats(log.repeats)
    about = {
        "format": _FORMAT,
        "axis": asdict(log.axis),
        "columns": asdict(log.columns),
        "reading": asdict(log.reading),
        "view": log.view,
        "source": log.source,
        "extra": list(log.extra),
        "labels": list(log.labels),
        "categorical": [pa.types.is_dictionary(ids.type) for ids in (log.users, log.items)],
    }
    return arrays, about


def _pack_repeats(repeats: Repeats) -> dict[str, pa.Array]:
    arrays = {"repeats.entry": pa.array(repeats.entry), "repeats.time": pa.array(repeats.time)}
    if repeats.exposed is not None:
        arrays["repeats.exposed"] = pa.array(repeats.exposed.view(np.uint8))
    arrays |= {f"repeats.extra.{name}": pa.array(values) for name, values in repeats.extra.items()}
    return arrays | {f"repeats.label-codes.{name}": pa.array(codes) for name, codes in repeats.labels.items()}


def _unpack(arrays: dict[str, pa.Array], about: dict[str, Any]) -> Fields:
    def array(name: str, *kinds: str) -> Any:
        values = arrays[name].to_numpy(zero_copy_only=True)
        if values.dtype.name not in kinds:
            raise ValueError(f"{name} holds {values.dtype}")
        return values

    def marks(name: str) -> Mask | None:
        return array(name, "uint8").astype(np.bool_) if name in arrays else None

    def ids(name: str, categorical: bool) -> Ids:
        values = arrays[name]
        if pa.types.is_nested(values.type) or str(values.type) in _NO_IDS:
            raise ValueError(f"{name} holds {values.type}")
        numbers = pa.types.is_floating(values.type)
        if values.null_count or (numbers and compute.any(compute.is_nan(values)).as_py()):
            raise ValueError(f"{name} has nulls")
        return Ids(values, pa.dictionary(pa.int32(), values.type) if categorical else values.type)

    def labels(name: str) -> Labels:
        values = arrays[f"label.{name}"]
        if values.null_count or not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            raise ValueError(f"label.{name} holds {values.type}")
        return Labels(values, array(f"label-codes.{name}", "int32"))

    fields = {
        "users": ids("users", about["categorical"][0]),
        "items": ids("items", about["categorical"][1]),
        "start": array("start", "uint32", "uint64"),
        "item": array("item", "uint32"),
        "time": array("time", *_TICKS),
        "axis": read_dataclass(TimeAxis, about["axis"]),
        "columns": read_dataclass(Columns, about["columns"]),
        "reading": read_dataclass(Reading, about["reading"]),
        "removed": array("removed", *_TICKS) if "removed" in arrays else None,
        "exposed": marks("exposed"),
        "extra": {name: array(f"extra.{name}", "float64") for name in about["extra"]},
        "labels": {name: labels(name) for name in about["labels"]},
        **{name: _require_text(about, name) for name in ("view", "source")},
        "repeats": None,
    }
    if "repeats.entry" in arrays:
        fields["repeats"] = Repeats(
            entry=array("repeats.entry", "int64"),
            time=array("repeats.time", *_TICKS),
            exposed=marks("repeats.exposed"),
            extra={name: array(f"repeats.extra.{name}", "float64") for name in about["extra"]},
            labels={name: array(f"repeats.label-codes.{name}", "int32") for name in about["labels"]},
        )
    _check(fields)
    return fields


def _require_text(about: Mapping[str, Any], name: str) -> str:
    if not isinstance(about[name], str):
        raise ValueError(f"{name} is not text")
    return str(about[name])


def _check(fields: Fields) -> None:
    """Refuse arrays that a loop would follow out of bounds."""
    start, n = fields["start"], len(fields["item"])
    if len(start) != len(fields["users"]) + 1 or start[0] != 0 or start[-1] != n or (start[1:] < start[:-1]).any():
        raise ValueError("the offsets of users do not fit")
    columns = {"time": fields["time"], "removed": fields["removed"], "exposed": fields["exposed"]}
    columns |= fields["extra"] | {name: labels.codes for name, labels in fields["labels"].items()}
    for name, values in columns.items():
        if values is not None and len(values) != n:
            raise ValueError(f"{name} has {len(values)} values for {n} interactions")
    for name, labels in fields["labels"].items():
        if n and not 0 <= int(labels.codes.min()) <= int(labels.codes.max()) < len(labels.values):
            raise ValueError(f"a code of {name} is beyond the number of its texts")
    if not n:
        raise ValueError("it holds no interaction")
    for kind, whom in (("users", "a user"), ("items", "an item")):
        if len(fields[kind].values.unique()) < len(fields[kind]):
            raise ValueError(f"{whom} is named twice")
    _check_times(fields["axis"], fields["time"])
    _check_rows(fields)
    if fields["repeats"] is not None:
        _check_repeats(fields, fields["repeats"])


def _check_repeats(fields: Fields, repeats: Repeats) -> None:
    """Refuse repeats of what is not there, or that do not fit together."""
    n, entry = len(repeats), repeats.entry
    if n and (entry[0] < 0 or entry[-1] >= len(fields["item"]) or (entry[1:] < entry[:-1]).any()):
        raise ValueError("repeats do not follow the interactions")
    columns = {"time": repeats.time, "exposed": repeats.exposed, **repeats.extra, **repeats.labels}
    for name, values in columns.items():
        if values is not None and len(values) != n:
            raise ValueError(f"{name} of the repeats has {len(values)} values for {n} rows")
    if (fields["exposed"] is None) != (repeats.exposed is None) or repeats.time.dtype != fields["time"].dtype:
        raise ValueError("repeats have other columns than the log")
    for name, codes in repeats.labels.items():
        if n and not 0 <= int(codes.min()) <= int(codes.max()) < len(fields["labels"][name].values):
            raise ValueError(f"a code of {name} is beyond the number of its texts")
    if (repeats.time < fields["time"][entry]).any():
        raise ValueError("a repeat is earlier than what it repeats")


def _check_times(axis: TimeAxis, time: Times) -> None:
    """Refuse times that no date can be made of."""
    if axis.kind not in get_args(Kind):
        raise ValueError(f"its times are of the unknown kind {axis.kind!r}")
    for tick in (time.min(), time.max()):
        if not np.isfinite(tick):
            raise ValueError("a time is not finite")
        axis.show(tick)


def _check_rows(fields: Fields) -> None:
    """Refuse codes beyond their range, times that are not in order, and a user who holds an item twice.

    Snapshots cut by the order of times, and loops have no room for an item twice. It is one pass over all entries,
    in parts that need little scratch.
    """
    start, item, time, removed = (fields[name] for name in ("start", "item", "time", "removed"))
    n, items = len(item), len(fields["items"])
    parts = max(1, min(16, n // (16 * items + 1)))
    edges = np.searchsorted(start, np.linspace(0, n, parts + 1).astype(start.dtype)).astype(np.int64)
    edges[0], edges[-1] = 0, len(start) - 1

    def look(_: int, lo: int, hi: int) -> int:
        last = np.full(items, -1, dtype=np.int64)
        gone = np.empty(items, dtype=time.dtype if removed is None else removed.dtype)
        return int(kernels.find_fault(lo, hi, start, item, time, removed, last, gone))

    for fault in over_blocks(edges, n, look):
        if fault:
            raise ValueError(kernels.FAULTS[fault])


def fingerprint_log(log: Log) -> dict[str, Any]:
    """The same for two logs only if they are the same; ready for JSON."""
    arrays = [log.start, log.item, log.time, log.removed, *(log.extra[name] for name in sorted(log.extra))]
    ids = [pa.record_batch([ids.values], names=["id"]).serialize() for ids in (log.users, log.items)]
    return {
        "users": len(log.users),
        "items": len(log.items),
        "interactions": len(log),
        "first": log.first,
        "last": log.last,
        "hash": hash_bytes([*ids, *(np.ascontiguousarray(a) for a in arrays if a is not None)]),
    }


def fingerprint_history(log: Log, before: int | float) -> str | None:
    """A check sum of what a log holds before a time (a tick), whatever came later; None if rows can be removed.

    Codes of users and items follow how often they come in all of history, so rows are told by ids, in the order
    of ids.

    >>> import unskew as us
    >>> rows = {"user": ["a", "b", "b", "b"], "item": ["x", "x", "y", "z"], "time": [1, 1, 3, 4]}
    >>> short = us.read_log({name: column[:3] for name, column in rows.items()})
    >>> grown = us.read_log(rows)
    >>> fingerprint_history(short, 3) == fingerprint_history(grown, 3)
    True
    >>> fingerprint_history(short, 4) == fingerprint_history(grown, 5)
    False
    """
    if log.removed is not None or log.extra:
        return None
    early = np.flatnonzero(log.time < before)
    user = log.entry_users()[early]
    names, columns = [], []
    for ids, codes in ((log.users, user), (log.items, log.item[early].astype(np.int64))):
        present, ranks = _rank_by_id(ids, codes)
        names.append(pa.record_batch([present], names=["id"]).serialize())
        columns.append(ranks)
    time = np.asarray(log.time)[early]
    order = np.lexsort((columns[1], time, columns[0]))
    return hash_bytes([*names, *(np.ascontiguousarray(column[order]) for column in (*columns, time))])


def _rank_by_id(ids: Ids, codes: Codes) -> tuple[pa.Array, Codes]:
    """The ids that come at all, in their order, and the place of each row's id among them."""
    in_order = ids.order()[np.isin(ids.order(), codes)]
    place = np.zeros(len(ids), dtype=np.int64)
    place[in_order] = np.arange(len(in_order))
    return ids.values.take(pa.array(in_order)), place[codes]
