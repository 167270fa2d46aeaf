"""Down-sampling of popular items, as the debiased metrics of RecTools do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.arrays.profiles import all_entries
from unskew.arrays.types import Codes, Floats
from unskew.checks import Seed, draw_seed, require_number, require_whole_number
from unskew.data.slice import Slice, Weighting
from unskew.errors import EmptyError, option
from unskew.methods.method import Method, divide_among_pairs


@dataclass(frozen=True, eq=False)
class DownSampling(Method):
    """Of an item with more than ``Q3 + iqr_coef (Q3 - Q1)`` held-out pairs only so many are kept, at random.

    Q1 and Q3 are the quartiles of the number of pairs of an item, linearly interpolated; the border is rounded
    down. What is left is scored as usual: users by P(u), then their pairs by P(i|u).

    Without a `seed` nothing is drawn: an item of n_i pairs has the weight ``min(1, border / n_i)``, the share of
    its pairs that would be kept. That is not the mean over draws, since a user's pairs are normalised after the
    draw, but near to it, and it has no luck in it. With a `seed` it is one draw, as in RecTools.

    Limits: an outlier of popularity need not be a pushed item, nor the other way round; what was pushed below the
    border is left as it is. What it gives is not the score of any date.

    Attributes
    ----------
    iqr_coef
        How far above the quartiles popularity is left as it is.
    seed
        Of the draw; None for its expected weights.
    """

    name: ClassVar[str] = "down-sampling"
    paper: ClassVar[str] = "RecTools 0.8 (MTS, 2024), debiased metrics: DebiasConfig(iqr_coef, random_state)"

    iqr_coef: float = 1.5
    seed: Seed | None = None

    def __post_init__(self) -> None:
        require_number(option("iqr_coef"), self.iqr_coef, "how far above the quartiles popularity is kept", 0)
        if self.seed is not None:
            object.__setattr__(self, "seed", draw_seed(self.seed))
            require_whole_number(option("seed"), self.seed, "of the draw", 0)

    def _weigh(self, part: Slice) -> Weighting:
        n = part.counts()
        border = find_border(n, self.iqr_coef)
        if border < 1:
            raise EmptyError(
                f"no pair of a popular item would be kept at {part.at}",
                remedy=f"give a larger {option('iqr_coef')}",
            )
        if self.seed is None:
            return Weighting(part, np.log(np.minimum(1.0, border / np.maximum(n, 1))), "weighted")
        kept = _draw_kept(part, border, self.seed)
        return Weighting.of_pairs(part, divide_among_pairs(part, kept))


def find_border(counts: Codes, iqr_coef: float) -> int:
    """The most pairs of one item that are kept, from the number of pairs of each item."""
    first, third = np.quantile(counts[counts > 0], [0.25, 0.75])
    return int(third + iqr_coef * (third - first))


def _draw_kept(part: Slice, border: int, seed: int) -> Floats:
    """1 for a place of ``profiles.item`` that is kept, else 0: at most so many of an item."""
    p = part.profiles
    entries = all_entries(p)
    shuffled = np.random.default_rng(seed).permutation(entries)
    item = p.item[shuffled]
    order = np.argsort(item, kind="stable")
    first = np.concatenate([[0], np.flatnonzero(np.diff(item[order])) + 1])
    sizes = np.diff(np.append(first, len(order)))
    place = np.arange(len(order)) - np.repeat(first, sizes)
    kept = np.zeros(len(p.item))
    kept[shuffled[order][place < border]] = 1.0
    return kept
