"""What tells one log apart from another: its sizes, its span, and a check sum of all that is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

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
