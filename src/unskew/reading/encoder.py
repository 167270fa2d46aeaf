"""From typed rows to a log: by loops or by NumPy if rows are plain, else in DuckDB. All give the same bits."""

from __future__ import annotations

from unskew.data.log import Log
from unskew.progress import progress
from unskew.reading.coded_rows import CodedRows, FileStorage, MemoryStorage
from unskew.reading.limits import open_spill_folder
from unskew.reading.loop_encoder import NoStorage, choose_storage, encode_few, encode_rows
from unskew.reading.sql_encoder import SqlEncoder
from unskew.reading.typed_rows import TypedRows


def encode_log(rows: TypedRows) -> Log:
    """Fold repeats, give the ids numbers, and sort."""
    progress().stage("encoding and sorting")
    log = _encode(rows)
    rows.warn_of_white_space(log.users.values, rows.names.user)
    rows.warn_of_white_space(log.items.values, rows.names.item)
    return log


def _encode(rows: TypedRows) -> Log:
    chosen = choose_storage(rows)
    if chosen is None:
        return SqlEncoder(rows).log()
    if chosen is NoStorage:
        return encode_few(rows)
    if chosen is MemoryStorage:
        return encode_rows(rows, CodedRows(MemoryStorage(), rows.source.memory))
    with open_spill_folder(rows.sql) as folder:
        return encode_rows(rows, CodedRows(FileStorage(folder), rows.source.memory))
