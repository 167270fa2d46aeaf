"""A real log cut down to a size at which every method can be tried: users drawn at random, and frequent items."""

from __future__ import annotations

import numpy as np

from unskew.data.log import Log
from unskew.errors import EmptyError
from unskew.reading.reader import read_log
from unskew.worlds.injection import restore_table
from unskew.worlds.people import Events


def cut_log(log: Log, users: int, items: int, seed: int) -> Log:
    """The log of so many of its users, drawn with a seed, and of the items that most of them hold.

    A log that is smaller stays as it is.
    """
    chosen = np.random.default_rng(seed).permutation(len(log.users)) < users
    user, item = log.entry_users(), log.item.astype(np.int64)
    counts = np.bincount(item[chosen[user]], minlength=len(log.items))
    place = np.empty(len(counts), dtype=np.int64)
    place[np.lexsort((np.arange(len(counts)), -counts))] = np.arange(len(counts))
    kept = chosen[user] & (place[item] < items)
    if not kept.any():
        raise EmptyError(f"nothing is left of {log.source} with {users} users and {items} items")
    table = restore_table(log, Events(user[kept], item[kept], np.asarray(log.time)[kept]))
    unit = log.axis.unit if log.axis.kind == "epoch" else None
    return read_log(table, *table.column_names[:3], time_unit=unit)
