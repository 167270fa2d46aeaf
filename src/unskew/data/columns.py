"""The columns that a log came from: their names, what reading did to the rows, and columns of texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Columns:
    """What the columns were called where the log came from; used again in what is written."""

    user: str = "user"
    item: str = "item"
    time: str = "time"


@dataclass(frozen=True)
class Reading:
    """What reading did to the rows.

    Attributes
    ----------
    rows
        Rows of the source.
    folded
        Rows that repeat a (user, item) and were folded into its earliest (with `removed`: into a stay
        that they overlap), or whose item left the moment it came.
    dropped
        Rows dropped because of a null, with `drop_nulls`.
    """

    rows: int
    folded: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class Labels:
    """A column of texts, one for each entry: ``values[codes[e]]``."""

    values: pa.Array
    codes: npt.NDArray[np.int32]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Labels:
        """Number the texts in their order."""
        found = column.combine_chunks().dictionary_encode()
        order = pc.sort_indices(found.dictionary)
        place = np.empty(len(order), dtype=np.int32)
        place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        return cls(found.dictionary.take(order), place[found.indices.to_numpy()])

    def add(self, column: pa.ChunkedArray) -> tuple[Labels, npt.NDArray[np.int32]]:
        """The same with the texts of another column beside its own, and the codes of that column."""
        texts = pa.concat_arrays([self.values.take(self.codes), *column.chunks])
        both = Labels.of(pa.chunked_array([texts]))
        own = len(self.codes)
        return Labels(both.values, both.codes[:own]), both.codes[own:]
