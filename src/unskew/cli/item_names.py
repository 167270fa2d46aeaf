"""Names of items from a file, for tables that people read."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unskew.errors import InputError

_ITEMS = ("item", "item_id", "itemId", "id")
_NAMES = ("name", "title", "label")
_HOW = "choose its columns as in FILE?item=movie_id&name=title"

if TYPE_CHECKING:
    import pyarrow as pa

    from unskew.reading.sources import Source


def read_names(path: str | None, items: pa.Array) -> list[str] | None:
    """The names of items from a file; None if not asked for.

    The columns are chosen as in ``movies.csv?item=movie_id&name=title``; else they are ``item``, or what items are
    often called, and ``name`` or ``title`` or the first other column of text.
    """
    if path is None:
        return None
    from unskew.data.ids import Ids
    from unskew.frames import join_chunks
    from unskew.reading.input_files import split_roles
    from unskew.reading.reader import give_notice
    from unskew.reading.sources import open_source

    file, chosen = split_roles(path, ("item", "name"))
    with open_source(file if "?" in file or Path(file).exists() else [file]) as source:
        give_notice(source)
        item = _choose(source, chosen.get("item"), "item", _ITEMS)
        found = _read_texts(
            source, item, None if "name" not in chosen else _choose(source, chosen["name"], "name", ())
        )
        if found is None:
            raise InputError(f"{file} has no column of text beside {item!r}", remedy=_HOW)
    ids = join_chunks(found.column(0))
    named = found.column(1).to_pylist()
    codes = Ids.of(ids).match(Ids.of(items).values)
    return [
        str(named[c]) if c >= 0 and named[c] is not None else str(i)
        for c, i in zip(codes, items.to_pylist(), strict=True)
    ]


def read_names_by_item(path: str | None, items: pa.Array) -> dict[Any, str] | None:
    """The same for looking up; None if not asked for."""
    called = read_names(path, items)
    return None if called is None else dict(zip(items.to_pylist(), called, strict=True))


def _choose(source: Source, given: str | None, role: str, usual: Sequence[str]) -> str:
    """The column that was named, or the first that is called so."""
    from unskew.errors import missing_column
    from unskew.reading.column_guesses import find_by_words, find_place

    if given is not None:
        found = find_place(source.columns, given)
    else:
        places = ["1"] if source.has_no_names else []
        likely = [*usual, *find_by_words(role, source.columns), *places]
        found = next((name for name in likely if name in source.columns), None)
    if found is None:
        raise missing_column(source.name, given or role, source.columns, _HOW)
    return found


def _read_texts(source: Source, item: str, name: str | None) -> pa.Table | None:
    """The items and their names: the column that was named, or the likeliest of those that hold texts."""
    import pyarrow as pa

    from unskew.errors import ColumnError
    from unskew.reading.column_types import read_plain

    usual = [one for one in source.columns if str(one).lower() in _NAMES]
    for one in [name] if name is not None else [*usual, *source.columns]:
        with contextlib.suppress(ColumnError):  # JSON of several kinds is no name
            table = read_plain(source, [item, one])
            if one != item and (name is not None or pa.types.is_string(table.schema.field(1).type)):
                return table
    return None
