"""Inverse propensity scoring (IPS) with a propensity from popularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.data.slice import Slice
from unskew.data.weighting import Weighting
from unskew.methods.method import Method
from unskew.methods.popularity_propensity import GAMMA, find_propensities, require_gamma


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
    knows: ClassVar[str] = "nothing"
    targets_reference: ClassVar[bool] = False
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
