"""Names of items from a file, for tables that people read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unskew.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def read_names(path: str | None, items: pa.Array) -> list[str] | None:
    """The names of items from a file with the column item and one of text; None if not asked for."""
    if path is None:
        return None
    import pyarrow as pa

    from unskew.data.ids import Ids, kind_of
    from unskew.reading.sources import open_source

    with open_source(path if Path(path).exists() else [path]) as source:
        table = source.connection.sql(f"SELECT * FROM {source.relation}").to_arrow_table()
    texts = [f.name for f in table.schema if f.name != "item" and pa.types.is_string(f.type)]
    if "item" not in table.column_names or not texts:
        have = ", ".join(map(repr, table.column_names))
        raise InputError(f"{path} must have the column 'item' and one of text; it has {have}")
    ids = table.column("item").combine_chunks()
    wanted = Ids.of(items).values
    if (kind_of(ids.type) == "text") != (kind_of(wanted.type) == "text"):  # numbers in a text file
        ids, wanted = ids.cast(pa.string()), wanted.cast(pa.string())
    named = table.column(texts[0]).to_pylist()
    codes = Ids.of(ids).codes(wanted)
    return [
        str(named[c]) if c >= 0 and named[c] is not None else str(i)
        for c, i in zip(codes, items.to_pylist(), strict=True)
    ]
