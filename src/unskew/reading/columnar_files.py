"""Parquet and Arrow files: their columns have types, so that there is nothing to find out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import duckdb
import pyarrow as pa

from unskew.data.saved_log import is_saved_log
from unskew.errors import FileError, InputError
from unskew.reading.input_file import InputFile
from unskew.reading.sql import quote_paths, run_interruptibly
from unskew.text import tell_damage


def open_parquet(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], __: Hashable) -> str:
    """SQL for Parquet files; a column that some of them lack is null there, and folders give no columns."""
    return (
        f"read_parquet({quote_paths([file.path for file in files])}, union_by_name=true, hive_partitioning=false)"
    )


def open_arrow(_: duckdb.DuckDBPyConnection, files: Sequence[InputFile], __: Hashable) -> pa.Table:
    """The table in an Arrow file, mapped into memory."""
    (file,) = files
    if is_saved_log(file.path):
        raise InputError(
            f"{file.name} is a saved log, which cannot be joined with other files", remedy="give it alone"
        )
    try:
        table = pa.ipc.open_file(pa.memory_map(str(file.path))).read_all()
        run_interruptibly(lambda: table.validate(full=True))  # DuckDB would follow a damaged offset anywhere
        return table
    except UnicodeDecodeError:
        raise FileError(f"cannot read {file.name}: the name of a column is not UTF-8") from None
    except Exception as error:  # whatever damaged bytes lead Arrow to
        raise FileError(f"cannot read {file.name}: {tell_damage(error)}") from error
