"""What tells one log apart from another: its sizes, its span, and a check sum of all that is in it.

A log grows. What was in it before some time is told by a check sum of its own, which later rows do not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.files import hash_bytes


def fingerprint_log(log: Log) -> dict[str, Any]:
    """The same for two logs only if they are the same; ready for JSON."""
    arrays = [log.start, log.item, log.time, log.removed, *(log.extra[name] for name in sorted(log.extra))]
    ids = [pa.record_batch([ids.values], names=["id"]).serialize() for ids in (log.users, log.items)]
    return {
        "users": len(log.users),
        "items": len(log.items),
        "interactions": len(log),
        "first": log.first,
        "last": log.last,
        "hash": hash_bytes([*ids, *(np.ascontiguousarray(a) for a in arrays if a is not None)]),
    }


def fingerprint_history(log: Log, before: int | float) -> str | None:
    """A check sum of what a log holds before a time (a tick), whatever came later; None if rows can be removed.

    Codes of users and items follow how often they come in all of history, so rows are told by ids, in the order
    of ids.

    >>> import unskew as us
    >>> rows = {"user": ["a", "b", "b", "b"], "item": ["x", "x", "y", "z"], "time": [1, 1, 3, 4]}
    >>> short = us.read_log({name: column[:3] for name, column in rows.items()})
    >>> grown = us.read_log(rows)
    >>> fingerprint_history(short, 3) == fingerprint_history(grown, 3)
    True
    >>> fingerprint_history(short, 4) == fingerprint_history(grown, 5)
    False
    """
    if log.removed is not None or log.extra:
        return None
    early = np.flatnonzero(log.time < before)
    user = np.repeat(np.arange(len(log.users)), np.diff(log.start).astype(np.int64))[early]
    names, columns = [], []
    for ids, codes in ((log.users, user), (log.items, log.item[early].astype(np.int64))):
        present, ranks = _rank_by_id(ids, codes)
        names.append(pa.record_batch([present], names=["id"]).serialize())
        columns.append(ranks)
    time = np.asarray(log.time)[early]
    order = np.lexsort((columns[1], time, columns[0]))
    return hash_bytes([*names, *(np.ascontiguousarray(column[order]) for column in (*columns, time))])


def _rank_by_id(ids: Ids, codes: Codes) -> tuple[pa.Array, Codes]:
    """The ids that come at all, in their order, and the place of each row's id among them."""
    there = np.zeros(len(ids), dtype=bool)
    there[codes] = True
    in_order = ids.order()
    in_order = in_order[there[in_order]]
    place = np.zeros(len(ids), dtype=np.int64)
    place[in_order] = np.arange(len(in_order))
    return ids.values.take(pa.array(in_order)), place[codes]
