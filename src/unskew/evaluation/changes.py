"""The change of a score since the reference date, and how much of it the item mix explains."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from unskew.arrays.types import Floats, Mask
from unskew.data.eligibility import find_users, users_of_both
from unskew.data.slice import Slice
from unskew.errors import PolicyError
from unskew.evaluation.held_out_ranks import AnyQuality, HeldOutRanks
from unskew.evaluation.independent_units import Units, difference_interval, number_users
from unskew.evaluation.intervals import interval_from_repeats
from unskew.evaluation.quality import quality as named_quality
from unskew.weights.item_weights import ItemWeights


@dataclass(frozen=True)
class Change:
    """The change of a score since the reference date, and how much of it the item mix explains.

    Attributes
    ----------
    reference, raw, weighted
        The score at t0, and at t1 without and with weights.
    explained
        ``raw - weighted``: what the item mix, which is not that of t0 any more, explains.
    unexplained
        ``weighted - reference``: what the item mix does not explain. For a constant algorithm it is 0 by
        construction up to the bound; for a personalised one it can still be bias.
    low, high
        The interval of `unexplained`; users who are at both dates are paired.
    raw_low, raw_high
        That of the raw change, ``raw - reference``.
    method
        ``users`` or, of samples, ``draws``: the weights are taken as given. ``bootstrap``: they were fitted again.
    """

    recommender: str
    quality: str
    reference: float
    raw: float
    weighted: float
    explained: float
    unexplained: float
    low: float
    high: float
    raw_low: float
    raw_high: float
    level: float = 0.95
    method: str = "users"

    def __str__(self) -> str:
        rise = self.raw - self.reference
        size = f"{100 * abs(rise):.2f}"
        moved = "did not change" if size == "0.00" else f"{'rose' if rise > 0 else 'fell'} by {size} points"
        return (
            f"{self.recommender}, {self.quality}: the score {moved} {_points(self.raw_low, self.raw_high)}: "
            f"{100 * self.explained:+z.2f} explained by the item mix, {100 * self.unexplained:+z.2f} "
            f"{_points(self.low, self.high)} not explained by it"
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def explain_change(
    now: HeldOutRanks,
    reference: HeldOutRanks,
    weights: ItemWeights,
    *,
    quality: AnyQuality = "hit@5",
    level: float = 0.95,
) -> Change:
    """Split the change of a score since the reference date into what the item mix explains and the rest.

    Users whom the policy of the weights leaves out (``min_items``, ``users="both"``) are left out of all three
    scores. Of samples, the draws are paired in their order.
    """
    if not isinstance(weights, ItemWeights):
        raise PolicyError(f"the split of a change needs fitted weights, not {weights!r}")
    if now.recommender != reference.recommender:
        raise PolicyError(f"{now.recommender} now and {reference.recommender} then are not the same recommender")
    if (now.sample is None) != (reference.sample is None):
        raise PolicyError("one date was sampled and the other not: rank both with sample, or neither")
    here, there = keep_eligible(weights, now.snapshot, reference.snapshot)
    raw = Units.of(now, quality, None).of_users(here)
    reweighted = Units.of(now, quality, weights)
    then = Units.of(reference, quality, None).of_users(there)
    places = number_users(now.snapshot, reference.snapshot) if now.sample is None else (raw.own(), then.own())
    whole = difference_interval(raw, then, places, level)
    rest = difference_interval(reweighted, then, places, level)
    return Change(
        recommender=now.recommender,
        quality=named_quality(quality).name,
        reference=then.value,
        raw=raw.value,
        weighted=reweighted.value,
        explained=raw.value - reweighted.value,
        unexplained=reweighted.value - then.value,
        low=rest.low,
        high=rest.high,
        raw_low=whole.low,
        raw_high=whole.high,
        level=level,
        method=rest.method,
    )


def refit_change(found: Change, now: Floats, raw: Floats, reference: Floats) -> Change:
    """The same change with intervals from bootstrap repetitions in which the weights were fitted again."""
    rest = interval_from_repeats(found.unexplained, now - reference, found.level)
    whole = interval_from_repeats(found.raw - found.reference, raw - reference, found.level)
    low, high = rest if rest.low < rest.high else (found.low, found.high)  # nothing was found in any repetition
    raw_low, raw_high = whole if whole.low < whole.high else (found.raw_low, found.raw_high)
    return replace(found, low=low, high=high, raw_low=raw_low, raw_high=raw_high, method=rest.method)


def keep_eligible(weights: ItemWeights, now: Slice, reference: Slice) -> tuple[Mask, Mask]:
    """Whom the policy of the weights leaves in at either date, whatever becomes of their items."""
    least = weights.policy.min_items
    here, there = now.sizes() >= least, reference.sizes() >= least
    if weights.policy.users == "both":
        part = weights.apply(now, reference).part
        here &= users_of_both(reference, now, least)
        there &= find_users(now, part.sizes() > 0, reference)
    return here, there


def _points(low: float, high: float) -> str:
    return f"[{100 * low:+z.2f}, {100 * high:+z.2f}]"
