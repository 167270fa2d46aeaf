"""Inverse propensity scoring with a propensity from popularity: IPS, and self-normalised (SNIPS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.arrays.types import Floats
from unskew.checks import require_number
from unskew.data.slice import Slice, Weighting
from unskew.errors import option
from unskew.methods.method import Method

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


@dataclass(frozen=True, eq=False)
class IPS(Method):
    """Pairs by ``P(u) P(i|u) / p_i`` with ``p_i ~ n_i^((gamma + 1) / 2)``, divided by their sum over all pairs.

    In the paper a user counts ``1/|S_u| sum_i c_ui / p_i``, and |S_u|, how many items it would like, is not
    known; here P(i|u) stands for it. The sum of such scores is no mean: the scale of p_i is not known either.
    Dividing by one number for all pairs makes it one and changes neither which recommender is better nor by what
    factor. `SNIPS` divides user by user.

    Limits: it assumes that exposure depends on popularity alone, in one power law for all items. What it gives
    is the score under nearly equal probabilities for all items, not that of any date; a few pairs of rare items
    have most of the mass, and users who hold them most of the say.

    Attributes
    ----------
    gamma
        How exposure grows with popularity. The paper estimates it from what a deployed recommender shows and
        scores with 1.5, 2, 2.5 and 3; -1 is the raw score.
    """

    name: ClassVar[str] = "ips"
    paper: ClassVar[str] = (
        "L. Yang, Y. Cui, Y. Xuan, C. Wang, S. Belongie and D. Estrin (2018), Unbiased offline recommender "
        "evaluation for missing-not-at-random implicit feedback"
    )

    gamma: float = GAMMA

    def __post_init__(self) -> None:
        require_gamma(self.gamma)

    def _weigh(self, part: Slice) -> Weighting:
        inverse = 1.0 / find_propensities(part, self.gamma)
        return Weighting.of_pairs(part, part.weigh().pair_shares * inverse[part.profiles.item])


@dataclass(frozen=True, eq=False)
class SNIPS(IPS):
    """Item weights ``1 / p_i`` with ``p_i ~ n_i^((gamma + 1) / 2)``, normalised user by user.

    ``P(u) (P(i|u) / p_i) / sum_j P(j|u) / p_j``, which is the estimator of the paper and what its programs
    compute: a user's score is divided by its own sum of 1/p, and then users are averaged. The scale of p_i does
    not matter.

    Limits: those of `IPS`, but for the users: each keeps its P(u). Of profiles with one item nothing changes.
    """

    name: ClassVar[str] = "snips"

    def _weigh(self, part: Slice) -> Weighting:
        return Weighting(part, -np.log(find_propensities(part, self.gamma)), "weighted")
