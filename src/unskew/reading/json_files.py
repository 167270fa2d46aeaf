"""JSON lines as a DuckDB relation, without guessing.

Values stay JSON until `unskew.reading.column_types` has seen all of a column: a text that looks like a date or a
number is still a text.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import duckdb

from unskew.errors import EmptyError, FileError
from unskew.reading.input_file import InputFile
from unskew.reading.sql import quote_paths, quote_text


def open_json(connection: duckdb.DuckDBPyConnection, files: Sequence[InputFile], _: Hashable) -> str:
    """SQL for JSON lines (or one array) of objects, each value as JSON."""
    paths = quote_paths([file.path for file in files])
    found = connection.execute(
        f"DESCRIBE SELECT * FROM read_json({paths}, union_by_name=true, hive_partitioning=false)"
    ).fetchall()
    if [row[0] for row in found] == ["json"]:  # what DuckDB calls values that are no objects
        if found[0][1] == "JSON":
            raise EmptyError(f"{files[0].name} has no rows")
        raise FileError(
            f"{files[0].name} does not hold JSON objects",
            remedy="write one on each line, such as {'user': 1, ...}",
        )
    columns = ", ".join(f"{quote_text(row[0])}: 'JSON'" for row in found)
    return f"read_json({paths}, columns={{{columns}}}, hive_partitioning=false)"
