"""Dataframes in and out. Any library that narwhals knows is taken; none is required."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Protocol

import narwhals as nw
import pyarrow as pa

from unskew.errors import ColumnError, InputError, UnskewError, missing_column
from unskew.text import count, first_line

_PREFERRED = ("pandas", "polars")


_SHOWN = 10  # rows of a table in a notebook


def to_native(table: pa.Table, library: str | None) -> Any:
    """A table in the library that the log came in.

    For a log from a file: pandas if it is installed, else polars, else the Arrow table itself.
    """
    if library is None:
        library = next(filter(_is_installed, _PREFERRED), "pyarrow")
    if library == "pandas":
        return table.to_pandas(date_as_object=False)
    if library == "polars":
        import polars

        return polars.from_arrow(table)
    return table


class GivesArrow(Protocol):
    """A result that has a table."""

    def to_arrow(self) -> pa.Table:
        """The table."""


def show_as_table(result: GivesArrow) -> str:
    """The first rows of a result as HTML: its `_repr_html_`, which a notebook shows."""
    table = result.to_arrow()
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    rows = [
        "".join(f"<td>{escape(_show_cell(value))}</td>" for value in row.values())
        for row in table.slice(0, _SHOWN).to_pylist()
    ]
    more = f", the first {_SHOWN}" if table.num_rows > _SHOWN else ""
    caption = f"<caption>{type(result).__name__}: {count(table.num_rows, 'row')}{more}</caption>"
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _show_cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(_show_cell, value))
    return "" if value is None else str(value)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # an import hook forbids it, or a module without a spec has its name
        return False


def library_of(source: Any) -> str | None:
    """The library in which tables go back to someone who came with `source`."""
    name = type(source).__module__.split(".")[0]
    return name if name in (*_PREFERRED, "pyarrow") else None


def is_frame(source: Any) -> bool:
    """Whether narwhals knows what this is."""
    with _translate_errors():
        return isinstance(nw.from_native(source, pass_through=True), nw.DataFrame | nw.LazyFrame)


def column_names(source: Any) -> list[str]:
    """The columns of a frame, without reading it."""
    with _translate_errors():
        return list(nw.from_native(source).collect_schema().names())


def from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    """A table from a mapping of column names to lists."""
    names = [name for name in columns if not isinstance(name, str)]
    if names:
        raise InputError(f"the name of a column must be text, not {names[0]!r}")
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = values if isinstance(values, pa.Array | pa.ChunkedArray) else as_array(values)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ColumnError(f"column {name!r} cannot be read: {_explain(error)}") from None
    lengths = {len(values) for values in arrays.values()}
    if len(lengths) > 1:
        lengths_by_name = ", ".join(f"{name!r} {len(values)}" for name, values in arrays.items())
        raise InputError(f"the columns must be equally long, but have these numbers of rows: {lengths_by_name}")
    return pa.table(arrays)


def as_array(values: Any) -> pa.Array:
    """An Arrow array of Python values; integers may have all of 64 bits, with or without a sign."""
    try:
        return pa.array(values)
    except OverflowError:
        return pa.array(values, type=pa.uint64())


def join_chunks(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def to_arrow(source: Any, columns: list[str]) -> pa.Table:
    """The named columns of any frame as an Arrow table; lazy frames are run for these alone."""
    with _translate_errors():
        frame = nw.from_native(source).select(*(nw.col(name) for name in columns))
        if isinstance(frame, nw.LazyFrame):
            return frame.collect("pyarrow").to_native()
    arrays = {}
    for name in columns:  # one by one, so that an error can name the column
        try:
            arrays[name] = frame.select(nw.col(name)).to_arrow().column(name)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ColumnError(f"column {name!r} cannot be read: {_explain(error)}") from None
        if str(getattr(arrays[name].type, "extension_name", "")).startswith("pandas."):
            kind = arrays[name].type.extension_name.removeprefix("pandas.")
            raise ColumnError(
                f"column {name!r} holds {kind} values", remedy="turn them into numbers, text or dates"
            )
    return pa.table(arrays)


def numbers_by_id(source: Any, id_column: str, number_column: str, what: str) -> tuple[pa.Array, pa.Array]:
    """Ids and numbers from a mapping, or from a frame with these two columns."""
    if isinstance(source, Mapping):
        table = from_columns({id_column: list(source.keys()), number_column: list(source.values())})
    elif is_frame(source):
        have = column_names(source)
        missing = [c for c in (id_column, number_column) if c not in have]
        if missing:
            remedy = f"give it the columns {id_column!r} and {number_column!r}"
            raise missing_column(what, missing[0], have, remedy)
        table = to_arrow(source, [id_column, number_column])
    else:
        raise InputError(f"{what} is a {type(source).__name__}", remedy="give a mapping or a dataframe")
    table = table.combine_chunks()
    arrays = [table.column(name).combine_chunks() for name in (id_column, number_column)]
    for name, array in zip((id_column, number_column), arrays, strict=True):
        if array.null_count:
            raise ColumnError(
                f"{what}: column {name!r} has {count(array.null_count, 'null')}",
                remedy="drop these rows, or fill them",
            )
    return arrays[0], arrays[1]


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """One kind of error for whatever the many libraries raise."""
    try:
        yield
    except UnskewError:
        raise
    except Exception as error:
        message = " ".join(str(error).split("\n")[:2]).strip()
        raise InputError(
            f"the table cannot be read: {message}", remedy="give one that PyArrow can convert"
        ) from error


def _explain(error: BaseException) -> str:
    """Why Arrow does not take a column."""
    if isinstance(error, OverflowError):
        return "it holds an integer beyond 64 bits; make such numbers text"
    reason = error.args[0] if error.args and isinstance(error.args[0], str) else first_line(error)
    several = "tried to convert to" in reason or "Expected bytes" in reason
    return f"it holds values of several types; make them one ({reason})" if several else reason
