"""Damage to a table that leaves it a table: in the names, types, values and order of columns and rows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa

TableMutation = Callable[[pa.Table, Random], pa.Table]

_KINDS = (
    *(pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()),
    *(
        pa.bool_(),
        pa.decimal128(38, 3),
        pa.date32(),
        pa.timestamp("ns"),
        pa.timestamp("us", "UTC"),
        pa.time64("us"),
    ),
    *(pa.dictionary(pa.int32(), pa.string()), pa.null(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())])),
)
_VALUES: tuple[Any, ...] = (
    *(None, 0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 0.5, float("nan"), float("inf"), -0.0, 1e308, 1e-320),
    *("", " ", "a", "\0", "\x1b[31m", "x" * 5000, "NULL", "1", "007", True),
)


def rename_column(table: pa.Table, rng: Random) -> pa.Table:
    """A column is called otherwise; perhaps as another one is."""
    names, k = table.column_names, rng.randrange(table.num_columns)
    others = (names[k].upper(), names[k] + " ", "", "time", "item", rng.choice(names), "a\nb", 'a"b', "x" * 300)
    names[k] = rng.choice(others)
    return table.rename_columns(names)


def drop_column(table: pa.Table, rng: Random) -> pa.Table:
    """A column is gone."""
    return table.remove_column(rng.randrange(table.num_columns))


def repeat_column(table: pa.Table, rng: Random) -> pa.Table:
    """A column is there twice."""
    k = rng.randrange(table.num_columns)
    return table.append_column(table.field(k), table.column(k))


def swap_columns(table: pa.Table, rng: Random) -> pa.Table:
    """The columns stand in another order."""
    return table.select(rng.sample(range(table.num_columns), table.num_columns))


def retype_column(table: pa.Table, rng: Random) -> pa.Table:
    """A column has another type; values that it cannot hold are null."""
    k, kind = rng.randrange(table.num_columns), rng.choice(_KINDS)
    return table.set_column(k, table.column_names[k], convert(table.column(k).to_pylist(), kind))


def change_value(table: pa.Table, rng: Random) -> pa.Table:
    """One to three values of a column are others: odd ones, or just beyond its numbers."""
    if not len(table):
        return table
    k = rng.randrange(table.num_columns)
    values = table.column(k).to_pylist()
    numbers = [value for value in values if isinstance(value, int | float)]
    beyond = (max(numbers) + 1, min(numbers) - 1, numbers[0]) if numbers else _VALUES
    for _ in range(rng.randint(1, 3)):
        values[rng.randrange(len(values))] = rng.choice(rng.choice((_VALUES, beyond)))
    return table.set_column(k, table.column_names[k], convert(values, table.field(k).type))


def drop_rows(table: pa.Table, rng: Random) -> pa.Table:
    """Half of the rows are gone, or all, or one."""
    n = len(table)
    kept = rng.choice((n // 2, 0, 1, max(0, n - 1)))
    return table.take(pa.array(sorted(rng.sample(range(n), min(kept, n))), type=pa.int64()))


def repeat_rows(table: pa.Table, rng: Random) -> pa.Table:
    """Rows are there twice."""
    return (
        table.take([*range(len(table)), *rng.choices(range(len(table)), k=rng.randint(1, 5))])
        if len(table)
        else table
    )


def shuffle_rows(table: pa.Table, rng: Random) -> pa.Table:
    """Rows stand in another order."""
    return table.take(pa.array(rng.sample(range(len(table)), len(table)), type=pa.int64()))


def convert(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values as a column of this type; null where the type cannot hold them."""
    try:
        return _make_valid(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([_convert_one(value, kind) for value in values], type=kind)


def _make_valid(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An array, or an error if a value is none of its type: Arrow takes 30 hours for a time of day."""
    array = pa.array(values, type=kind)
    array.validate(full=True)
    return array


def _convert_one(value: Any, kind: pa.DataType) -> Any:
    for text in (value, str(value)):
        for is_cast in (False, True):
            try:
                return (pa.scalar(text).cast(kind) if is_cast else pa.scalar(text, type=kind)).as_py()
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                continue
    return None


ARRAY_MUTATIONS: tuple[TableMutation, ...] = (
    retype_column,
    change_value,
    change_value,
    drop_rows,
    repeat_rows,
    shuffle_rows,
)
"""Those that change a table of one column whose name does not matter."""

TABLE_MUTATIONS: tuple[TableMutation, ...] = (
    rename_column,
    drop_column,
    repeat_column,
    swap_columns,
    retype_column,
    *ARRAY_MUTATIONS,
)
