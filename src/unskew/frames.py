"""Dataframes in and out. Any library that narwhals knows is taken; none is required."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import pyarrow as pa

from unskew.errors import ColumnError, InputError

_PREFERRED = ("pandas", "polars")


def to_native(table: pa.Table, library: str | None) -> Any:
    """A table in the library that the log came in.

    For a log from a file: pandas if it is installed, else polars, else the Arrow table itself.
    """
    if library is None:
        library = next((name for name in _PREFERRED if importlib.util.find_spec(name)), "pyarrow")
    if library == "pandas":
        return table.to_pandas()
    if library == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def library_of(source: Any) -> str | None:
    """The library in which tables go back to someone who came with `source`."""
    name = type(source).__module__.split(".")[0]
    return name if name in (*_PREFERRED, "pyarrow") else None


def is_frame(source: Any) -> bool:
    """Whether narwhals knows what this is."""
    return isinstance(nw.from_native(source, pass_through=True), nw.DataFrame | nw.LazyFrame)


def column_names(source: Any) -> list[str]:
    """The columns of a frame, without reading it."""
    return list(nw.from_native(source).collect_schema().names())


def to_arrow(source: Any, columns: list[str]) -> pa.Table:
    """The named columns of any frame as an Arrow table; lazy frames are run for these alone."""
    frame = nw.from_native(source).select(*(nw.col(name) for name in columns))
    if isinstance(frame, nw.LazyFrame):
        return frame.collect("pyarrow").to_native()
    arrays = {}
    for name in columns:  # one by one, so that an error can name the column
        try:
            arrays[name] = frame.select(nw.col(name)).to_arrow().column(name)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
            raise ColumnError(f"column {name!r} holds values of several types: {error}") from None
    return pa.table(arrays)


def numbers_by_id(source: Any, id_column: str, number_column: str, what: str) -> tuple[pa.Array, pa.Array]:
    """Ids and numbers from a mapping, or from a frame with these two columns."""
    if isinstance(source, Mapping):
        table = pa.table({id_column: list(source.keys()), number_column: list(source.values())})
    elif is_frame(source):
        have = column_names(source)
        missing = [c for c in (id_column, number_column) if c not in have]
        if missing:
            raise ColumnError(
                f"{what} has no column {missing[0]!r}; it has {', '.join(map(repr, have))}: "
                f"give it the columns {id_column!r} and {number_column!r}"
            )
        table = to_arrow(source, [id_column, number_column])
    else:
        raise InputError(f"{what} is a {type(source).__name__}; give a mapping or a dataframe")
    table = table.combine_chunks()
    arrays = [table.column(name).combine_chunks() for name in (id_column, number_column)]
    for name, array in zip((id_column, number_column), arrays, strict=True):
        if array.null_count:
            raise ColumnError(f"{what}: column {name!r} has {array.null_count} nulls")
    return arrays[0], arrays[1]
