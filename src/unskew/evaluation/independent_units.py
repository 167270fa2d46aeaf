"""The independent units of a score, users or draws, and how those of two scores are paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.slice import Slice
from unskew.data.weighting import Weights
from unskew.errors import PolicyError
from unskew.evaluation.held_out_ranks import AnyQuality, HeldOutRanks
from unskew.evaluation.intervals import Interval, around, effective, influences, standard_error


@dataclass(frozen=True)
class Units:
    """What a score is the mean of: one number for each independent unit, a user or (of a sample) a draw.

    Attributes
    ----------
    mass, total
        The mass of each unit, 0 for one that is not evaluated, and its mass times quality.
    user
        Whose it is.
    method
        What the units are: ``users`` or ``draws``.
    """

    mass: Floats
    total: Floats
    user: Codes
    method: str

    @classmethod
    def of(cls, ranks: HeldOutRanks, quality: AnyQuality, weights: Weights) -> Units:
        """Those of a score."""
        if ranks.sample is None:
            mass, total = ranks.user_sums(quality, weights)
            return cls(mass, total, np.arange(len(mass)), "users")
        place = ranks.selection.places_of_draws(ranks.selection.weigh(weights))
        return cls(np.ones(len(place)), ranks.values(quality)[place], ranks.users[place], "draws")

    def of_users(self, part: Mask) -> Units:
        """The same without the units of other users."""
        mine = part[self.user]
        return replace(self, mass=np.where(mine, self.mass, 0.0), total=np.where(mine, self.total, 0.0))

    def numbers(self) -> Codes:
        """The number of each unit among these."""
        return np.arange(len(self.mass))

    @property
    def value(self) -> float:
        return float(self.total.sum() / self.mass.sum())

    @property
    def n(self) -> float:
        return effective(self.mass)

    @property
    def influence(self) -> Floats:
        return influences(self.mass, self.total)


def combined_interval(
    signed: Sequence[tuple[int, Units, bool]], places: tuple[Codes, Codes] | None, level: float
) -> Interval:
    """The interval of a sum of scores with signs, some of them (marked True) at the reference date.

    `places` number the users of the two dates: at one place they are the same. None pairs units in their order.
    """
    value = sum(sign * units.value for sign, units, _ in signed)
    at = [units.numbers() if places is None else places[is_then] for _, units, is_then in signed]
    together = np.zeros(max(place.max(initial=-1) for place in at) + 1)
    for (sign, units, _), place in zip(signed, at, strict=True):
        together[place] += sign * units.influence
    n = min(units.n for _, units, _ in signed)  # the error of a sum is known no better than that of any part
    return around(value, standard_error(together, n), n, level, signed[0][1].method)


def number_users(now: Slice, reference: Slice) -> tuple[Codes, Codes]:
    """A number for each user of either log, the same for the same id: those of `now`, and those of `reference`."""
    here = np.arange(len(now.log.users))
    if now.log.users is reference.log.users:
        return here, here
    codes = now.log.users.codes(reference.log.users.values)
    return here, np.where(codes >= 0, codes, len(here) + np.arange(len(codes)))


def require_same_pairs(one: HeldOutRanks, other: HeldOutRanks) -> None:
    """Refuse ranks that cannot be paired: of other users, items or draws, or under other probabilities."""
    a, b = one.selection, other.selection
    if a is b:
        return
    same = a.part.log is b.part.log and a.sample == b.sample and (a.sample is None or a.seed == b.seed)
    same = same and a.held.together == b.held.together and np.array_equal(one.users, other.users)
    if not same or not np.array_equal(a.pairs.item, b.pairs.item):
        raise PolicyError(f"{other.recommender} was ranked on other pairs than {one.recommender}")
    if not np.array_equal(a.part.weigh().pair_shares, b.part.weigh().pair_shares):
        raise PolicyError(f"{other.recommender} was ranked under another P(u) or P(i|u) than {one.recommender}")
