"""Whether estimates lead to the true choice: which of two recommenders is better, and which is best.

Pairs of recommenders whose true difference cannot be told from chance are left out: there is no order to find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Pair = tuple[str, str]
"""Two recommenders, the truly better one first."""


@dataclass(frozen=True)
class Choice:
    """What is chosen by some estimates, and what that costs.

    Attributes
    ----------
    chosen, best
        The recommender with the best estimate, and the truly best.
    regret
        What is lost by the choice: the true score of the best minus that of the chosen one.
    regret_share
        The same as a share of the true score of the best; None if that is 0.
    """

    chosen: str
    best: str
    regret: float
    regret_share: float | None


def kendall_tau(estimates: Mapping[str, float], ordered: Sequence[Pair]) -> float | None:
    """Kendall's tau over some pairs: the share in the true order minus the share in the reverse; None without any.

    A pair of equal estimates counts for neither.

    >>> kendall_tau({"a": 3.0, "b": 2.0, "c": 2.5}, [("a", "b"), ("b", "c"), ("a", "c")])
    0.3333333333333333
    """
    if not ordered:
        return None
    return float(np.mean([np.sign(estimates[better] - estimates[worse]) for better, worse in ordered]))


def choose_by(estimates: Mapping[str, float], truths: Mapping[str, float]) -> Choice:
    """The choice that estimates lead to; of equal ones the first.

    >>> choose_by({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 0.25})
    Choice(chosen='b', best='a', regret=0.25, regret_share=0.5)
    """
    chosen, best = (max(scores, key=lambda name: scores[name]) for scores in (estimates, truths))
    regret = truths[best] - truths[chosen]
    return Choice(chosen, best, regret, regret / truths[best] if truths[best] > 0 else None)
