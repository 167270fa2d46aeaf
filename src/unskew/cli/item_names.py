"""Names of items from a file, for tables that people read."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from unskew.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from unskew.reading.sources import Source


def read_names(path: str | None, items: pa.Array) -> list[str] | None:
    """The names of items from a file with the column item and one of text; None if not asked for."""
    if path is None:
        return None
    import pyarrow as pa

    from unskew.data.ids import Ids, kind_of
    from unskew.frames import join_chunks
    from unskew.reading.sources import open_source

    with open_source(path if Path(path).exists() else [path]) as source:
        found = _read_texts(source) if "item" in source.columns else None
        if found is None:
            have = ", ".join(map(repr, source.columns))
            raise InputError(f"{path} must have the column 'item' and one of text; it has {have}")
    ids = join_chunks(found.column(0))
    wanted = Ids.of(items).values
    if (kind_of(ids.type) == "text") != (kind_of(wanted.type) == "text"):  # numbers in a text file
        ids, wanted = ids.cast(pa.string()), wanted.cast(pa.string())
    named = found.column(1).to_pylist()
    codes = Ids.of(ids).codes(wanted)
    return [
        str(named[c]) if c >= 0 and named[c] is not None else str(i)
        for c, i in zip(codes, items.to_pylist(), strict=True)
    ]


def _read_texts(source: Source) -> pa.Table | None:
    """The items and the first column of text, if there is one."""
    import pyarrow as pa

    from unskew.errors import ColumnError
    from unskew.reading.column_types import read_plain

    for name in source.columns:
        with contextlib.suppress(ColumnError):  # JSON of several kinds is no name
            table = read_plain(source, ["item", name])
            if name != "item" and pa.types.is_string(table.schema.field(1).type):
                return table
    return None
