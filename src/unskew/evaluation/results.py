"""Lists of results that can be had as a table, one row each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from unskew.data.columns import restore_dates
from unskew.frames import show_as_table, to_native


class GivesRow(Protocol):
    """A result that can be a row of a table."""

    def to_row(self) -> dict[str, Any]:
        """Its columns: numbers and texts."""


Result = TypeVar("Result", bound=GivesRow)


class Results(list[Result]):
    """A list of scores, changes or comparisons, which can be had as a table; in all else a list.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
    >>> scores = us.evaluate("constant:1", log.at(5), metric=["hit@1", "mrr@10"])
    >>> scores.to_arrow().select(["metric", "value"]).to_pylist()
    [{'metric': 'hit@1', 'value': 0.75}, {'metric': 'mrr@10', 'value': 0.75}]
    """

    def __init__(self, results: Iterable[Result] = (), frames: str | None = None) -> None:
        super().__init__(results)
        self.frames = frames

    def to_arrow(self) -> pa.Table:
        """One row each; a figure with an interval has columns such as item_mix, item_mix_low, item_mix_high."""
        return pa.Table.from_pylist([one.to_row() for one in self])

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """One row each, in the dataframe library that the log came in; dates are dates."""
        return to_native(restore_dates(self.to_arrow(), ["at", "from", "to"]), self.frames)


def flatten(row: Mapping[str, Any], parts: Sequence[str] = ()) -> dict[str, Any]:
    """What a result tells as columns: a nested figure has one for each thing that it tells.

    `parts` are figures with an interval, of which there may be none.

    >>> flatten({"rest": {"value": 1.0, "low": 0.5, "high": 2.0}, "users": {"count": 3}, "algorithm": None},
    ...         parts=["rest", "algorithm"])
    {'rest': 1.0, 'rest_low': 0.5, 'rest_high': 2.0, 'users_count': 3, 'algorithm': None, 'algorithm_low': None, \
'algorithm_high': None}
    """
    flat: dict[str, Any] = {}
    for name, value in row.items():
        told = dict.fromkeys(("value", "low", "high")) if name in parts and value is None else value
        if isinstance(told, Mapping):
            flat |= {name if key == "value" else f"{name}_{key}": one for key, one in told.items()}
        else:
            flat[name] = told
    return flat
