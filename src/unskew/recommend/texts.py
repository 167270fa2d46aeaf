"""Ids written as text, where text is all there is: a CSV file, a command line."""

from __future__ import annotations

import pyarrow as pa

from unskew.data.ids import Ids, kind_of


def ids_of_texts(texts: pa.Array, ids: Ids) -> pa.Array:
    """Text as ids of the type of `ids`: null where it cannot be one.

    >>> ids_of_texts(pa.array(["7", "x"]), Ids.of(pa.array([7, 8]))).to_pylist()
    [7, None]
    """
    wanted = ids.values.type
    if kind_of(wanted) == "text":
        return texts.cast(wanted)
    try:
        return texts.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([_one(text, wanted) for text in texts], type=wanted)


def _one(text: pa.Scalar, wanted: pa.DataType) -> object:
    try:
        return text.cast(wanted).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
