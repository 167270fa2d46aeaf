"""Reading a table of recommendations: one row for each, whatever form it came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.errors import ColumnError
from unskew.reading.column_types import id_expression, json_expression, number_expression
from unskew.reading.sources import Source, open_source
from unskew.reading.sql import quote_name
from unskew.text import count

_FORMS = "items (a ranked list), or item and rank, or item and score"


@dataclass(frozen=True)
class Rows:
    """One recommendation each; ids as they came.

    Attributes
    ----------
    held_out
        What was left out of the profile, or None if the table does not say.
    rank, score
        One of them orders a list: the smallest rank or the highest score first.
    is_text
        Whether the ids are text because the file knows nothing else.
    item_column
        Where the items came from.
    """

    user: pa.Array
    item: pa.Array
    held_out: pa.Array | None
    rank: npt.NDArray[np.float64] | None
    score: npt.NDArray[np.float64] | None
    is_text: bool
    item_column: str

    def __len__(self) -> int:
        return len(self.item)


def read_rows(source: Any) -> Rows:
    """Read the recommendations from a file or a dataframe; see `Table` for the columns."""
    with open_source(source) as found:
        chosen = _choose_columns(found)
        narrow = found.narrow(list(chosen.values()))
        selected = ", ".join(f"{quote_name(name)} AS {short}" for short, name in chosen.items())
        what = "TABLE" if narrow.parse_once else "VIEW"
        narrow.connection.execute(f"CREATE TEMP {what} parsed AS SELECT {selected} FROM {narrow.relation}")
        if "l" in chosen:
            _unnest(narrow, chosen)
        else:
            narrow.connection.execute("CREATE TEMP VIEW listed AS SELECT * FROM parsed")
        return _collect(narrow, chosen)


def _choose_columns(source: Source) -> dict[str, str]:
    """Which columns to read, under which short names."""
    have = source.columns
    told = f"{source.name} has the columns {', '.join(map(repr, have))}"
    if "user" not in have:
        raise ColumnError(told, remedy=f"a table of recommendations needs 'user', and {_FORMS}")
    chosen = {"u": "user"} | ({"h": "held_out"} if "held_out" in have else {})
    known = ({"l": "items"}, {"i": "item", "r": "rank"}, {"i": "item", "s": "score"})
    forms = [form for form in known if set(form.values()) <= set(have)]
    if not forms:
        raise ColumnError(told, remedy=f"it needs {_FORMS}")
    if "l" in forms[0] and len(forms) > 1:
        raise ColumnError(f"{told}: the order of the items is not clear", remedy=f"give {_FORMS}")
    return chosen | forms[0]


def _types(source: Source, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in source.connection.execute(f"DESCRIBE {table}").fetchall()}


def _unnest(source: Source, chosen: dict[str, str]) -> None:
    """One row for each item of a list."""
    kind, name = _types(source, "parsed")["l"], chosen["l"]
    items = "l"
    if kind == "JSON":
        found = source.connection.execute(
            "SELECT l::VARCHAR FROM parsed WHERE l IS NOT NULL AND json_type(l) NOT IN ('ARRAY', 'NULL') LIMIT 1"
        ).fetchall()
        if found:
            raise ColumnError(f"column {name!r} holds {found[0][0]}", remedy="it must hold lists")
        items = "CASE WHEN json_type(l) = 'ARRAY' THEN l::JSON[] END"
    elif not kind.endswith("]"):
        instead = "; in a text file, give item and rank" if source.is_text else ""
        raise ColumnError(f"column {name!r} holds {kind.lower()} values", remedy=f"it must hold lists{instead}")
    held = ", h" if "h" in chosen else ""
    source.connection.execute(
        f"CREATE TEMP TABLE listed AS SELECT u{held}, unnest(a) AS i, generate_subscripts(a, 1) AS r "
        f"FROM (SELECT u{held}, {items} AS a FROM parsed)"
    )


def _collect(source: Source, chosen: dict[str, str]) -> Rows:
    names = {"i": chosen.get("l", "item"), "r": "rank"} | chosen
    plain = [
        f"{json_expression(source, short, names[short], 'listed')} AS {short}" if kind == "JSON" else short
        for short, kind in _types(source, "listed").items()
    ]
    source.connection.execute(f"CREATE TEMP VIEW raw AS SELECT {', '.join(plain)} FROM listed")
    wanted = []
    for short, kind in _types(source, "raw").items():
        if short in "rs":
            value = number_expression(source, kind, short, names[short])
        elif kind == "VARCHAR" and source.is_text:
            value = short  # the log says what the ids are
        else:
            value = id_expression(source, kind, short, names[short])
        wanted.append(f"{value} AS {short}")
    source.connection.execute(f"CREATE TEMP VIEW typed AS SELECT {', '.join(wanted)} FROM raw")
    table = source.connection.sql("SELECT * FROM typed").to_arrow_table()
    columns = {short: _array(table.column(short)) for short in table.column_names}
    numbers: dict[str, npt.NDArray[np.float64]] = {}
    for short, values in columns.items():
        bad = values.null_count
        if short in "rs":
            numbers[short] = values.to_numpy(zero_copy_only=False).astype(np.float64)
            bad = int(np.isnan(numbers[short]).sum())
        if bad:
            raise ColumnError(
                f"column {names[short]!r} of {source.name} has {count(bad, 'missing value')}",
                remedy="fill them in, or leave out these rows",
            )
    return Rows(
        user=columns["u"],
        item=columns["i"],
        held_out=columns.get("h"),
        rank=numbers.get("r"),
        score=numbers.get("s"),
        is_text=source.is_text,
        item_column=names["i"],
    )


def _array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
