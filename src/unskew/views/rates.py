"""Rates: how many pairs of each cell were taken, and how many would have been had nothing been shown.

For a cell s with e_s observed pairs (the suspect ones x_s, which recommendations may have brought, and others o_s)
among the n people who could be shown something, and b_s pairs among m people to whom nothing was shown:

    usual     h_s = c b_s n / m       c = 1 for a holdout group over the same time; for quiet windows such that
                                      the outermost stratum agrees, since demand may differ between times
    excess    e_s - h_s               negative where less was taken than usual
    keep      (h_s - o_s) / x_s       in [0, 1]: with this probability a suspect pair is kept
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.arrays.types import Floats
from unskew.views.strata import BEYOND, CELLS, KIND_OF, MARGINS, NEW, RANK_OF, add_up, name_strata
from unskew.views.tally import Tally

_ROUNDS = 30
_ERRORS = 1.5  # standard errors by which an excess must differ from 0 to count
_PRIOR = 3.0  # pairs by which a group of cells is drawn to its rank stratum


@dataclass(frozen=True)
class Rates:
    """Pairs by cell, as counts over the people who could be shown something.

    Attributes
    ----------
    suspect, others
        Pairs that recommendations may have brought, and others.
    usual, usual_variance
        How many there would be had nothing been shown, and the variance of this estimate.
    people
        How many there are of each kind of people.
    """

    suspect: Floats
    others: Floats
    usual: Floats
    usual_variance: Floats
    people: Floats

    @property
    def observed(self) -> Floats:
        """Pairs of each cell in the log."""
        return self.suspect + self.others

    @property
    def excess(self) -> Floats:
        """What came from recommendations, by rank stratum: observed without usual, negative if fewer."""
        return add_up(self.observed - self.usual)


def find_rates(counted: Tally, times: Floats | None = None) -> Rates:
    """Rates over all blocks of users, each as many times as given."""
    once = np.ones(counted.blocks) if times is None else times
    suspect, others = once @ counted.suspect, once @ counted.others
    people, quiet_people = once @ counted.people, once @ counted.quiet_people
    pairs = once @ counted.quiet_pairs
    factor = divide(people, quiet_people)[KIND_OF]
    if counted.scaled:
        far = RANK_OF == BEYOND
        scale = divide((suspect + others)[far].sum(), (pairs * factor)[far].sum())
        factor = np.where(RANK_OF == NEW, factor, factor * scale)
    return Rates(suspect, others, pairs * factor, pairs * factor**2 * counted.models, people)


def find_growth(counted: Tally) -> float:
    """The share of the pairs by which people of the same kind had more of them than where nothing was shown.

    Other than usual rates, this is not scaled to agree anywhere: it is 0 or less if people do no more than before.
    """
    known = RANK_OF != NEW
    pairs = (counted.suspect + counted.others).sum(axis=0)[known].sum()
    factor = divide(counted.people.sum(axis=0), counted.quiet_people.sum(axis=0))[KIND_OF]
    expected = (counted.quiet_pairs.sum(axis=0) * factor)[known].sum()
    return float(1 - expected / pairs) if pairs > 0 else 0.0


def find_keep(rates: Rates) -> Floats:
    """The probability with which suspect pairs of each cell are kept.

    Raked: beginning with 1, the probabilities are scaled in turn until what is kept agrees with what is usual for
    each rank stratum and for each group of cells in `MARGINS`, never beyond 1. The groups are drawn to their rank
    stratum as if they had a few pairs more. Then the thinning of each rank stratum is multiplied by how sure its
    excess is.
    """
    expected = rates.usual - rates.others
    keep = np.ones(CELLS)
    for _ in range(_ROUNDS):
        for group, prior in ((RANK_OF, 0.0), *((margin, _PRIOR) for margin in MARGINS)):
            wanted = np.maximum(np.bincount(group, weights=expected), 0.0) + prior
            now = np.bincount(group, weights=keep * rates.suspect) + prior
            keep = np.minimum(keep * divide(wanted, now)[group], 1.0)
    return 1 - _find_certainty(rates)[RANK_OF] * (1 - keep)


def _find_certainty(rates: Rates) -> Floats:
    """How sure the excess D of each rank stratum is: ``1 - 2.25 Var(D) / D ** 2``, 0 up to 1.5 standard errors."""
    excess = np.maximum(rates.excess, 1e-9)
    variance = add_up(rates.observed + rates.usual_variance)
    sure: Floats = np.maximum(1 - _ERRORS**2 * variance / excess**2, 0.0)
    return sure


def list_strata(rates: Rates) -> list[tuple[str, int, float, float, float]]:
    """Of each rank stratum: name, suspect pairs, observed and usual pairs for each person, excess in pairs."""
    suspect, observed, usual = (add_up(some) for some in (rates.suspect, rates.observed, rates.usual))
    people = np.full(len(suspect), max(float(rates.people[1:].sum()), 1.0))
    people[NEW] = max(float(rates.people[0]), 1.0)
    each, normal = observed / people, usual / people
    return [
        (name, int(suspect[k]), float(each[k]), float(normal[k]), float(observed[k] - usual[k]))
        for k, name in enumerate(name_strata())
        if observed[k] + usual[k] > 0
    ]


def divide(a: Any, b: Any) -> Floats:
    """The ratio, and 1 where there is nothing to divide by."""
    found: Floats = np.divide(a, b, out=np.ones(np.shape(b)), where=np.asarray(b) > 0)
    return found
