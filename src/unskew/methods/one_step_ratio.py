"""The one-step ratio: each item weighted once by how its probability has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.checks import require_number
from unskew.data.slice import Slice, Weighting
from unskew.errors import option
from unskew.methods.method import Method
from unskew.weights.alignment import Alignment, Reference
from unskew.weights.fit_options import FitOptions


@dataclass(frozen=True, eq=False)
class OneStepRatio(Method):
    """Item weights ``w_i = (P_t0(i) / P_t1(i)) ^ power``, with no iteration.

    The weights of importance sampling under covariate shift. As item weights they keep P(u): ``P(i|u,w)`` is
    ``w_i P(i|u) / sum_j w_j P(j|u)``. With a power below 1 they are shrunken towards 1, Shimodaira's flattened
    weights, which trade bias for variance; 0 is the raw score, but for new items. Items that the reference does
    not have get weight 0, and a user left with nothing is left out, as for `fit_weights`.

    Limits: the sum below the line changes with the weights, so that the item mix of t0 is not reached; the fit of
    all items at once (`ItemWeighting`) goes on until it is. Of one more step nobody knows whether it would help.

    Attributes
    ----------
    reference
        The date to compare with, as for `fit_weights`: a snapshot or an item mix.
    power
        Between 0 and 1.
    """

    name: ClassVar[str] = "one-step-ratio"
    knows: ClassVar[str] = "reference"
    paper: ClassVar[str] = (
        "H. Shimodaira (2000), Improving predictive inference under covariate shift by weighting the "
        "log-likelihood function"
    )

    reference: Reference
    power: float = 1.0

    def __post_init__(self) -> None:
        require_number(option("power"), self.power, "1 for the ratio itself, less to shrink it", 0, 1)

    def _weigh(self, part: Slice) -> Weighting:
        aligned = Alignment.of(part, self.reference, FitOptions(new_items="drop"))
        target = aligned.target(keep_new=False)
        theta = np.full(len(target), -np.inf)
        fitted = target > 0
        theta[fitted] = self.power * (np.log(target[fitted]) - np.log(aligned.p_before[fitted]))
        return Weighting(aligned.now.collect(), theta, "weighted")
