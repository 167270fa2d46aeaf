"""Popularity strata: each stratum of popularity is scored by itself, and the scores are averaged by size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.arrays.profiles import all_entries
from unskew.arrays.types import Codes, Floats
from unskew.checks import require_whole_number
from unskew.data.slice import Slice, Weighting
from unskew.errors import option
from unskew.methods.ips import GAMMA, find_propensities, require_gamma
from unskew.methods.method import Method, divide_among_pairs


@dataclass(frozen=True, eq=False)
class PopularityStrata(Method):
    """``sum_q (N_q / N) L_q``: L_q the score of the pairs of stratum q alone, N_q / N its share of the pairs.

    Items are cut into strata of equal width by their propensity ``n_i^((gamma + 1) / 2)``, from the least to the
    largest. Within a stratum users are chosen by P(u) among those who have a pair in it, then a pair by P(i|u).
    This is the way of the authors' own program (in Cornac), but that the most popular item belongs to the last
    stratum. They fit gamma to the counts as a power law; here it is given, as for `IPS`.

    Limits: a stratum has nearly the share that it had before, so that what a campaign added to popular items
    stays; what changes is who has a say within them. With few strata of equal width almost all items are in the
    first.

    Attributes
    ----------
    strata
        How many.
    gamma
        How exposure grows with popularity; 1 makes strata of equal width in n_i.
    """

    name: ClassVar[str] = "popularity-strata"
    paper: ClassVar[str] = (
        "A. H. Jadidinejad, C. Macdonald and I. Ounis (2021), The Simpson's paradox in the offline evaluation of "
        "recommendation systems"
    )

    strata: int = 2
    gamma: float = GAMMA

    def __post_init__(self) -> None:
        require_whole_number(option("strata"), self.strata, "how many strata of popularity")
        require_gamma(self.gamma)

    def _weigh(self, part: Slice) -> Weighting:
        p = part.profiles
        entries = all_entries(p)
        stratum = np.full(len(p.item), -1)
        stratum[entries] = _number_strata(find_propensities(part, self.gamma)[p.item[entries]], self.strata)
        shares = np.zeros(len(p.item))
        for q in range(self.strata):
            inside = stratum == q
            if inside.any():
                divided = divide_among_pairs(part, inside.astype(np.float64))
                shares += divided * (inside.sum() / len(entries) / divided.sum())
        return Weighting.of_pairs(part, shares)


def _number_strata(values: Floats, strata: int) -> Codes:
    """The stratum of each value, from 0: as many of equal width from the least to the largest."""
    low, high = values.min(), values.max()
    if high == low:
        return np.zeros(len(values), dtype=np.int64)
    place: Codes = np.floor((values - low) / (high - low) * strata).astype(np.int64)
    return np.minimum(place, strata - 1)
