"""What a debiasing method is: pair probabilities for what is held out, so that scoring is the same for all.

A method is given wherever weights are: ``evaluate(..., weights=method)``, ``ranks.score(metric, method)``,
``sample_pairs(now, method)``. To add one, see CONTRIBUTING.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unskew.arrays.profiles import all_entries, all_users, sum_entries
from unskew.arrays.types import Floats
from unskew.checks import require_instance
from unskew.data.slice import Slice, Snapshot, Weighting
from unskew.memo import Memo
from unskew.weights.alignment import Alignment, Reference
from unskew.weights.fit_options import FitOptions


@dataclass(frozen=True, eq=False)
class Method(ABC):
    """A way to choose the pairs that are held out.

    Attributes
    ----------
    name
        What it is called in `METHODS` and in tables.
    knows
        What one must know to use it: ``nothing`` (but the log), ``reference`` (a reference date or its item mix)
        or ``hold-out`` (users who were never shown anything).
    targets_reference
        Whether it aims at the item mix of the reference date, as those do that know it, so that its scores are to
        be compared with those of then.
    paper
        Where it comes from.
    """

    name: ClassVar[str]
    knows: ClassVar[str] = "nothing"
    targets_reference: ClassVar[bool]
    paper: ClassVar[str]

    _applied: Memo[Slice, Weighting] = field(default_factory=Memo, init=False, repr=False, compare=False)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.targets_reference = cls.knows == "reference"

    def profiles(self, now: Snapshot) -> Snapshot:
        """The profiles that recommenders are fitted to and scored on: those of `now`, if nothing else is said."""
        return now

    def apply(self, part: Slice, /) -> Weighting:
        """The method on what is held out: a probability for each pair of the users with P(u) > 0.

        What it gives for a slice is kept, since every score asks for it again.
        """
        require_instance(Slice, part, "a snapshot", "give the profiles at a date, such as log.at(date)")
        weighting = self._applied.get(part)
        if weighting is None:
            weighting = self._applied[part] = self._weigh(part.restrict(part.shares() > 0))
        return weighting

    @abstractmethod
    def _weigh(self, part: Slice) -> Weighting:
        """The same on a slice all of whose users have P(u) > 0."""


def find_reference_mix(part: Slice, reference: Reference) -> Floats:
    """P_t0 of the items that anyone still holds."""
    return Alignment.of(part, reference, FitOptions(new_items="drop")).target(keep_new=False)


def divide_among_pairs(part: Slice, factors: Floats) -> Floats:
    """P(u) of each user, divided among its pairs by P(i|u) times a factor for each place of ``profiles.item``.

    A user whose factors are all 0 gets nothing, and the numbers then sum to less than 1.
    """
    p = part.profiles
    entries = all_entries(p)
    factored = part.weigh().pair_shares[entries] * factors[entries]
    total = sum_entries(p, factored)
    weighted = total > 0
    scale = np.zeros(p.n_users)
    scale[weighted] = part.shares()[weighted] / total[weighted]
    shares = np.zeros(len(p.item))
    shares[entries] = factored * scale[all_users(p)]
    return shares


def sum_over_holders(part: Slice, values: Floats) -> Floats:
    """For each item of the log: a number of each user, summed over the users who hold the item."""
    p = part.profiles
    items = p.item[all_entries(p)].astype(np.int64)
    return np.bincount(items, weights=values[all_users(p)], minlength=p.n_items).astype(np.float64)


@dataclass(frozen=True, eq=False)
class NoMethod(Method):
    """The pairs as they are: ``P(u) P(i|u)``, the score of most offline evaluations.

    Limits: whatever recommendations and promotions did to the log is in it.
    """

    name: ClassVar[str] = "none"
    paper: ClassVar[str] = "none: what offline evaluation does unless told otherwise"

    def _weigh(self, part: Slice) -> Weighting:
        return part.weigh()
