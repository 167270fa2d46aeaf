"""SKEW: held-out pairs by the inverse of their item's popularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.data.slice import Slice, Weighting
from unskew.methods.method import Method


@dataclass(frozen=True, eq=False)
class SKEW(Method):
    """Pairs by ``1 / n_i``, whoever holds them: every item is then equally likely.

    A test set drawn so, from all pairs alike, is what the paper evaluates on; P(u) and P(i|u) play no part in it,
    but that users with P(u) = 0 are left out. Here its pairs have these probabilities, with nothing drawn.

    Limits: the score under equal probabilities for all items is not that of any date, and is mostly about items
    that hardly anyone takes. Users with many rare items have most of the say.
    """

    name: ClassVar[str] = "skew"
    paper: ClassVar[str] = "D. Liang, L. Charlin and D. M. Blei (2016), Causal inference for recommendation"

    def _weigh(self, part: Slice) -> Weighting:
        inverse = 1.0 / np.maximum(part.counts(), 1)
        return Weighting.of_pairs(part, inverse[part.profiles.item])
