"""Later rows of pairs that a log counts once, and what is left of a log when some of its rows are dropped.

A log counts a user and an item once, at the first time. A view that drops this first row, say because it followed
a recommendation, must not lose that the user took the item again later, by itself: it then counts from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unskew.arrays.types import Codes, Floats, Mask, Times

if TYPE_CHECKING:
    from unskew.data.log import Log


@dataclass(frozen=True, eq=False)
class Repeats:
    """The rows of a log that repeat an earlier one of the same user and item.

    Attributes
    ----------
    entry
        Which entry of the log each repeats; sorted by it, then by time.
    time
        The tick of each, later than that of its entry or at the same time.
    exposed
        Whether it was marked as exposed, or None if that is not known of the log.
    extra, labels
        The further columns of the log, the labels as codes of its texts.
    """

    entry: Codes
    time: Times
    exposed: Mask | None = None
    extra: Mapping[str, Floats] = field(default_factory=dict)
    labels: Mapping[str, npt.NDArray[np.int32]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entry)

    def select(self, keep: Codes, entry: Codes) -> Repeats:
        """Some of them, by place, with the entries that they repeat numbered anew."""
        return Repeats(
            entry[keep],
            self.time[keep],
            None if self.exposed is None else self.exposed[keep],
            {name: values[keep] for name, values in self.extra.items()},
            {name: codes[keep] for name, codes in self.labels.items()},
        )


def keep_rows(log: Log, keep: Mask, keep_repeats: Mask | None) -> Log:
    """The log of some of its rows; an entry that is dropped counts from its first repeat that is kept, if any."""
    time, found = log.time, log.repeats
    exposed, extra = log.exposed, dict(log.extra)
    codes = {name: labels.codes for name, labels in log.labels.items()}
    first = np.empty(0, dtype=np.int64)
    if found is not None and keep_repeats is not None:
        stand_in = np.flatnonzero(keep_repeats & ~keep[found.entry])
        entry, at = np.unique(found.entry[stand_in], return_index=True)
        first = stand_in[at]
        keep = keep.copy()
        keep[entry] = True
        time = _put(time, entry, found.time[first])
        exposed = None if exposed is None or found.exposed is None else _put(exposed, entry, found.exposed[first])
        extra = {name: _put(values, entry, found.extra[name][first]) for name, values in extra.items()}
        codes = {name: _put(values, entry, found.labels[name][first]) for name, values in codes.items()}
    user = log.entry_users()
    chosen = np.flatnonzero(keep)
    if len(first):
        chosen = chosen[np.lexsort((log.item[chosen], time[chosen], user[chosen]))]
    sizes = np.bincount(user[chosen], minlength=len(log.users))
    return replace(
        log,
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(log.start.dtype),
        item=log.item[chosen],
        time=time[chosen],
        removed=None if log.removed is None else log.removed[chosen],
        exposed=None if exposed is None else exposed[chosen],
        extra={name: values[chosen] for name, values in extra.items()},
        labels={name: replace(labels, codes=codes[name][chosen]) for name, labels in log.labels.items()},
        repeats=_keep_repeats(found, keep_repeats, first, chosen, len(log)),
        unexposed=None,
    )


def _keep_repeats(
    found: Repeats | None, keep: Mask | None, used: Codes, chosen: Codes, size: int
) -> Repeats | None:
    """The repeats of what is left."""
    if found is None:
        return None
    place = np.full(size, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    left = np.ones(len(found), dtype=np.bool_) if keep is None else keep.copy()
    left[used] = False
    entry = place[found.entry]
    order = np.argsort(entry, kind="stable")
    order = order[(left & (entry >= 0))[order]]
    return found.select(order, entry)


def _put(values: Any, at: Codes, new: Any) -> Any:
    changed = values.copy()
    changed[at] = new
    return changed
