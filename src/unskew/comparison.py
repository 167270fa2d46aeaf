"""What differs between two scores: recommenders at one date, or one recommender at two dates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from unskew.errors import PolicyError
from unskew.evaluation import AnyQuality, HeldOutRanks
from unskew.intervals import by_bootstrap, critical, holm, influences, p_value, standard_error
from unskew.population import users_of
from unskew.quality import quality as named_quality
from unskew.result import ItemWeights
from unskew.sweep import Floats


@dataclass(frozen=True)
class Comparison:
    """The difference of two recommenders on the same held-out pairs: ``a - b``.

    Attributes
    ----------
    p, p_holm
        p-value of no difference, and the same corrected for all comparisons made together.
    """

    a: str
    b: str
    quality: str
    weighting: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    level: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """The change of a score since the reference date, and how much of it the item mix explains.

    Attributes
    ----------
    before, raw, weighted
        The score at t0, and at t1 without and with weights.
    explained
        ``raw - weighted``: what comes from the item mix that is not that of t0 any more.
    unexplained
        ``weighted - before``: what the item mix does not explain. For a constant algorithm it is 0 by
        construction up to the bound; for a personalised one it can still be bias.
    low, high
        The interval of `unexplained`; users who are at both dates are paired. The weights are taken as given.
    raw_low, raw_high
        That of the raw change.
    """

    recommender: str
    quality: str
    before: float
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
        rise = self.raw - self.before
        verb = "rose" if rise > 0 else "fell"
        return (
            f"{self.recommender}, {self.quality}: the score {verb} by {100 * abs(rise):.2f} points; "
            f"{100 * self.explained:+.2f} come from the item mix, {100 * self.unexplained:+.2f} "
            f"[{100 * self.low:+.2f}, {100 * self.high:+.2f}] are not explained by it"
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def compare(
    *ranks: HeldOutRanks,
    quality: AnyQuality = "hit@5",
    weights: ItemWeights | None = None,
    level: float = 0.95,
) -> list[Comparison]:
    """Compare recommenders pair by pair on the same held-out items, with Holm's correction across all.

    Parameters
    ----------
    *ranks
        From `rank_held_out`, of the same snapshot and the same pairs.
    quality, weights, level
        As for `evaluate`.
    """
    if len(ranks) < 2:
        raise PolicyError("compare needs the ranks of at least two recommenders")
    for other in ranks[1:]:
        same = other.snapshot.profiles.item is ranks[0].snapshot.profiles.item
        if not same or not np.array_equal(other.entries, ranks[0].entries):
            raise PolicyError(f"{other.recommender} was ranked on other pairs than {ranks[0].recommender}")
    sums = [r.user_sums(quality, weights) for r in ranks]
    found = []
    for i, j in combinations(range(len(ranks)), 2):
        mass = sums[i][0]
        total = sums[i][1] - sums[j][1]
        difference = float(total.sum() / mass.sum())
        part = mass > 0
        error = standard_error(influences(mass[part], total[part]))
        half = critical(level) * error
        found.append(
            Comparison(
                ranks[i].recommender,
                ranks[j].recommender,
                named_quality(quality).name,
                "raw" if weights is None else "weighted",
                difference,
                difference - half,
                difference + half,
                p_value(difference, error),
                math.nan,
                level,
            )
        )
    corrected = holm([c.p for c in found])
    return [Comparison(**{**asdict(c), "p_holm": float(p)}) for c, p in zip(found, corrected, strict=True)]


def change(
    now: HeldOutRanks,
    before: HeldOutRanks,
    weights: ItemWeights,
    *,
    quality: AnyQuality = "hit@5",
    level: float = 0.95,
) -> Change:
    """Split the change of a score since the reference date into what the item mix explains and the rest."""
    then = before.score(quality, None, level=level)
    raw, weighted = now.score(quality, None, level=level), now.score(quality, weights, level=level)
    z = critical(level)
    error = _error_of_change(now, before, weights, quality)
    raw_error = _error_of_change(now, before, None, quality)
    unexplained = weighted.value - then.value
    return Change(
        recommender=now.recommender,
        quality=then.quality,
        before=then.value,
        raw=raw.value,
        weighted=weighted.value,
        explained=raw.value - weighted.value,
        unexplained=unexplained,
        low=unexplained - z * error,
        high=unexplained + z * error,
        raw_low=raw.value - then.value - z * raw_error,
        raw_high=raw.value - then.value + z * raw_error,
        level=level,
    )


def refitted_change(found: Change, now: Floats, raw: Floats, before: Floats) -> Change:
    """The same change with intervals from bootstrap repetitions in which the weights were fitted again."""
    rest = by_bootstrap(found.unexplained, now - before, found.level)
    whole = by_bootstrap(found.raw - found.before, raw - before, found.level)
    return replace(found, low=rest.low, high=rest.high, raw_low=whole.low, raw_high=whole.high, method=rest.method)


def _error_of_change(
    now: HeldOutRanks, before: HeldOutRanks, weights: ItemWeights | None, quality: AnyQuality
) -> float:
    """A user's influence on the change is that on the one score minus that on the other."""
    if now.sample is not None:  # two samples, drawn each for itself
        scores = [now.score(quality, weights), before.score(quality, None)]
        z = critical(0.95)
        return math.sqrt(sum(((s.high - s.low) / (2 * z)) ** 2 for s in scores))
    here = influences(*now.user_sums(quality, weights))
    there = influences(*before.user_sums(quality, None))
    return standard_error(_paired(now, before, here, there))


def _paired(now: HeldOutRanks, before: HeldOutRanks, here: Floats, there: Floats) -> Floats:
    """Influences of the users of either date; of one who is at both, the difference."""
    if now.snapshot.log.users is before.snapshot.log.users:
        return here - there
    both = users_of(before.snapshot, np.ones(len(there), dtype=bool), now.snapshot)
    codes = before.snapshot.log.users.codes(now.snapshot.log.users.values)
    matched = here - np.where(both, there[codes], 0.0)
    alone = np.ones(len(there), dtype=bool)
    alone[codes[both]] = False
    return np.concatenate([matched, there[alone]])
