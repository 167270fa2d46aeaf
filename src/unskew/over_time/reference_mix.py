"""What tells the reference of one timeline apart from that of another, whatever machine computed it.

The last digits of probabilities depend on how a machine adds, so a hash of them would be another one elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.data.marginal import Marginal
from unskew.files import hash_bytes

REFERENCE_MIX = "reference_mix"
"""What the options in the file of a timeline call it."""

_TURNS = (0.0, 1.0, 2.0**0.5, 2.0, 3.0)
_ROUNDING = 1e-11  # by which sums of probabilities may differ from one machine to another


def sketch_mix(marginal: Marginal) -> dict[str, Any]:
    """A hash of the items, and a few sums over their probabilities p_k: ``sum p_k cos(t k)``; ready for JSON.

    >>> sketch_mix(Marginal.of({"x": 0.75, "y": 0.25}))["numbers"][0]
    1.0
    """
    p, places = marginal.probabilities, np.arange(len(marginal))
    ids = hash_bytes([pa.record_batch([marginal.items], names=["item"]).serialize()])
    return {"items": len(p), "ids": ids, "numbers": [float(p @ np.cos(places * turn)) for turn in _TURNS]}


def is_same_mix(had: Any, wanted: Any) -> bool:
    """Whether two sketches are of the same item mix, but for how machines round."""
    if not isinstance(had, Mapping) or not isinstance(wanted, Mapping):
        return had is wanted is None
    if any(had.get(name) != wanted.get(name) for name in ("items", "ids")):
        return False
    pairs = [one.get("numbers") for one in (had, wanted)]
    if not all(isinstance(numbers, list) and len(numbers) == len(_TURNS) for numbers in pairs):
        return False
    return all(
        isinstance(one, int | float) and isinstance(other, int | float) and abs(one - other) <= _ROUNDING
        for one, other in zip(*pairs, strict=True)
    )
