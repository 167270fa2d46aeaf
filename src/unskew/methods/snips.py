"""Self-normalised inverse propensity scoring (SNIPS) with a propensity from popularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.data.slice import Slice
from unskew.data.weighting import Weighting
from unskew.methods.method import Method
from unskew.methods.popularity_propensity import GAMMA, find_propensities, require_gamma


@dataclass(frozen=True, eq=False)
class SNIPS(Method):
    """Item weights ``1 / p_i`` with ``p_i ~ n_i^((gamma + 1) / 2)``, normalised user by user.

    ``P(u) (P(i|u) / p_i) / sum_j P(j|u) / p_j``, which is the estimator of the paper and what its programs
    compute: a user's score is divided by its own sum of 1/p, and then users are averaged. The scale of p_i does
    not matter.

    Limits: those of `IPS`, but for the users: each keeps its P(u). Of profiles with one item nothing changes.

    Attributes
    ----------
    gamma
        How exposure grows with popularity. The paper estimates it from what a deployed recommender shows and
        scores with 1.5, 2, 2.5 and 3; -1 is the raw score.
    """

    name: ClassVar[str] = "snips"
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
        return Weighting(part, -np.log(find_propensities(part, self.gamma)), "weighted")
