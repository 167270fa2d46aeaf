"""How likely an item is to be seen, if that follows its popularity: what IPS, SNIPS and strata divide by."""

from __future__ import annotations

import numpy as np

from unskew.arrays.types import Floats
from unskew.checks import require_number
from unskew.data.slice import Slice
from unskew.errors import option

GAMMA = 1.5
"""The least of the exponents (1.5, 2, 2.5 and 3) with which Yang et al. score; -1 would be no correction."""


def require_gamma(gamma: float) -> None:
    """Refuse what is no exponent."""
    require_number(option("gamma"), gamma, "how exposure grows with popularity; -1 for not at all", -1, 20)


def find_propensities(part: Slice, gamma: float) -> Floats:
    """``n_i^((gamma + 1) / 2)`` of each item of the log, on no particular scale; 1 for one that nobody holds.

    n_i is the number of users who hold the item among those that are held out.
    """
    return np.maximum(part.counts(), 1).astype(np.float64) ** ((gamma + 1.0) / 2.0)
