"""From typed rows to a log: in memory where they are plain and fit, else in DuckDB. Both give the same bits."""

from __future__ import annotations

from unskew.data.log import Log
from unskew.progress import progress
from unskew.reading.memory_encoder import encode_in_memory, fits_memory
from unskew.reading.sql_encoder import SqlEncoder
from unskew.reading.typed_rows import TypedRows


def encode_log(rows: TypedRows) -> Log:
    """Fold repeats, give the ids numbers, and sort."""
    progress().stage("encoding and sorting")
    log = encode_in_memory(rows) if fits_memory(rows) else SqlEncoder(rows).log()
    rows.warn_of_white_space(log.users.values, rows.names.user)
    rows.warn_of_white_space(log.items.values, rows.names.item)
    return log
