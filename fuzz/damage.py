"""Damaging a file: in its bytes, or in what it says, with or without a checksum that fits."""

from __future__ import annotations

import io
import json
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.byte_mutations import BYTE_MUTATIONS, splice
from fuzz.json_mutations import change_json
from fuzz.specimens import Specimen
from fuzz.table_mutations import ARRAY_MUTATIONS, TABLE_MUTATIONS
from fuzz.text_mutations import TEXT_MUTATIONS
from unskew.frames import join_chunks
from unskew.storage.tables import pack_row, seal, sum_array

_ABOUT = b"unskew"  # where files of unskew's own say what they hold
_LOG_ABOUT, _LOG_SUM = b"unskew.log", b"unskew.log.checksum"


@dataclass(frozen=True)
class Damage:
    """A damaged file.

    Attributes
    ----------
    how
        What was done to it, in a few words.
    sealed
        Whether its checksums were computed anew, as somebody does who means harm. Nobody can tell then what it
        held.
    """

    content: bytes
    how: str
    sealed: bool = False


def damage_file(specimen: Specimen, content: bytes, other: bytes, rng: Random) -> Damage:
    """Damage the file of a specimen; `other` is a file to take parts from."""
    ways = _WAYS[specimen.shape]
    return rng.choice(ways)(specimen, content, other, rng)


def _damage_bytes(_: Specimen, content: bytes, other: bytes, rng: Random) -> Damage:
    if rng.random() < 0.1:
        return Damage(splice(content, other, rng), "splice")
    mutation = rng.choice(BYTE_MUTATIONS)
    return Damage(mutation(content, rng), mutation.__name__)


def _damage_text(_: Specimen, content: bytes, other: bytes, rng: Random) -> Damage:
    mutation = rng.choice(TEXT_MUTATIONS)
    return Damage(mutation(content, rng), mutation.__name__)


def _damage_table(specimen: Specimen, content: bytes, other: bytes, rng: Random) -> Damage:
    """Another table in the same format; bytes or text where the format cannot hold it."""
    way = specimen.way
    assert way is not None
    if way.is_text and rng.random() < 0.5:
        return _damage_text(specimen, content, other, rng)
    mutation = rng.choice(TABLE_MUTATIONS)
    try:
        return Damage(way.pack(mutation(pa.table(way.unpack(content, None)), rng)), mutation.__name__)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, sqlite3.Error, duckdb.Error):
        return _damage_bytes(specimen, content, other, rng)


def _damage_own_table(specimen: Specimen, content: bytes, other: bytes, rng: Random) -> Damage:
    """Another table, or something else said about it, in a file that unskew seems to have written."""
    table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    about = dict(table.schema.metadata)
    if rng.random() < 0.5:
        key = rng.choice([key for key in about if key.startswith(_ABOUT)])
        how, told = f"change {key.decode()}", about[key]
        if key == _ABOUT:
            told = change_json(told.decode(), rng).encode()
        elif rng.random() < 0.8:
            mutation = rng.choice(BYTE_MUTATIONS)
            told = mutation(told, rng).decode("ascii", errors="replace").encode()
        else:
            told = b""
        table = table.replace_schema_metadata(about | {key: told})
    else:
        mutation_of_table = rng.choice(TABLE_MUTATIONS)
        how = mutation_of_table.__name__
        table = mutation_of_table(table, rng).replace_schema_metadata(about)
    sealed = rng.random() < 0.5
    try:
        table = seal(table) if sealed else table
        sink = io.BytesIO()
        pq.write_table(table, sink)
    except (pa.ArrowException, TypeError, ValueError):
        return _damage_bytes(specimen, content, other, rng)
    return Damage(sink.getvalue(), how + " and seal" * sealed, sealed)


def _damage_saved_log(specimen: Specimen, content: bytes, other: bytes, rng: Random) -> Damage:
    """Other arrays, or something else said about them, with checksums that fit or with the old ones."""
    batch = pa.ipc.open_file(io.BytesIO(content)).get_batch(0)
    arrays = {name: batch.column(name).values for name in batch.schema.names}
    about = batch.schema.metadata[_LOG_ABOUT].decode()
    if rng.random() < 0.4:
        how, about = "change what is said", change_json(about, rng)
    else:
        name = rng.choice(list(arrays))
        mutation = rng.choice(ARRAY_MUTATIONS)
        how = f"{mutation.__name__} of {name}"
        arrays[name] = join_chunks(mutation(pa.table({"a": arrays[name]}), rng).column(0))
    metadata = dict(batch.schema.metadata) | {_LOG_ABOUT: about.encode()}
    sealed = rng.random() < 0.5
    if sealed:
        metadata = _seal_log(arrays, about)
    return Damage(_pack_log(arrays, metadata), how + " and seal" * sealed, sealed)


def _seal_log(arrays: dict[str, pa.Array], about: str) -> dict[bytes, bytes]:
    """What a saved log says that holds these arrays, with checksums that fit them."""
    try:
        told = json.loads(about)
        told["checksums"] = {name: sum_array(array) for name, array in arrays.items()}
        about = json.dumps(told)
    except (ValueError, TypeError, RecursionError, pa.ArrowException):
        pass  # then it is damaged in that, too
    return {_LOG_ABOUT: about.encode(), _LOG_SUM: str(zlib.crc32(about.encode())).encode()}


def _pack_log(arrays: dict[str, pa.Array], metadata: dict[bytes, bytes]) -> bytes:
    batch = pack_row(arrays).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _damage_json(specimen: Specimen, content: bytes, other: bytes, rng: Random) -> Damage:
    """Something else is said, with a checksum that fits or with the old one."""
    text = change_json(content.decode(), rng)
    if rng.random() < 0.5:
        return Damage(text.encode(), "change_json")
    return Damage(seal_json(text).encode(), "change_json and seal", sealed=True)


def seal_json(text: str) -> str:
    """The same JSON with a checksum that fits, or with none where files without one are read as well."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(told, dict):
        return text
    told.pop("checksums", None)
    if "checksum" in told:
        told["checksum"] = zlib.crc32(json.dumps(told.get("found"), sort_keys=True).encode())
    try:
        return json.dumps(told)
    except RecursionError:
        return text


_Way = Callable[[Specimen, bytes, bytes, Random], Damage]
_WAYS: dict[str, tuple[_Way, ...]] = {
    "table": (_damage_bytes, _damage_table),
    "text": (_damage_bytes, _damage_text),
    "own table": (_damage_bytes, _damage_own_table),
    "saved log": (_damage_bytes, _damage_saved_log, _damage_saved_log),
    "json": (_damage_bytes, _damage_text, _damage_json),
}
