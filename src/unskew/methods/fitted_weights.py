"""Item weights fitted to the reference date: the paper's descent on p items, and the scaling of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.data.slice import Slice, Weighting
from unskew.methods.method import Method
from unskew.weights.alignment import Reference
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_weights import fit_weights


@dataclass(frozen=True, eq=False)
class ItemWeighting(Method):
    """What `fit_weights` gives: item weights under which the item mix is that of the reference date, or nearest.

    Minimises ``D = sum_i T_i log(T_i / q_i)`` over the weights of all items by matrix scaling, or, as in the
    paper, over those of the `top` p items of largest change by gradient descent.

    Limits: the scores of constant lists are brought back, up to a bound that `fit_weights` reports. Personalised
    recommenders still find what was recommended together: for these, weights alone can even do harm (see the
    method, section 5).

    Attributes
    ----------
    reference
        The date to compare with, as for `fit_weights`: a snapshot or an item mix.
    top
        Fit only the p items of largest change, as in the paper, by descent; None for all items.
    """

    name: ClassVar[str] = "item-weights"
    knows: ClassVar[str] = "reference"
    paper: ClassVar[str] = (
        "A. de Myttenaere, B. Golden, B. Le Grand and F. Rossi (2014), Reducing Offline Evaluation Bias in "
        "Recommendation Systems"
    )

    reference: Reference
    top: int | None = None

    def _weigh(self, part: Slice) -> Weighting:
        options = FitOptions() if self.top is None else FitOptions(top=self.top, method="descent")
        return fit_weights(part, self.reference, options=options).apply(part)
