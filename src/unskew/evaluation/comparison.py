"""What differs between two scores: recommenders at one date, or one recommender at two dates.

Both are paired: what a user (or a draw) adds to the error of a difference is what it adds to the one score minus
what it adds to the other; see `unskew.evaluation.intervals`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from unskew.errors import PolicyError
from unskew.evaluation.evaluate import AnyQuality, AnyWeights, HeldOutRanks, weighted
from unskew.evaluation.pairs import draw, entry_shares
from unskew.evaluation.intervals import Interval, around, by_bootstrap, effective, holm, influences, p_value, standard_error
from unskew.data.population import Mask, cohort_of, users_of
from unskew.evaluation.quality import quality as named_quality
from unskew.recommend.contract import Codes
from unskew.weights.item_weights import ItemWeights
from unskew.data.snapshot import Snapshot
from unskew.arrays.sweep import Floats


@dataclass(frozen=True)
class Comparison:
    """The difference of two recommenders on the same held-out pairs: ``a - b``.

    Attributes
    ----------
    low, high
        The interval of the difference at `level`; by users, or by draws where pairs were sampled.
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
        ``raw - weighted``: what the item mix, which is not that of t0 any more, explains.
    unexplained
        ``weighted - before``: what the item mix does not explain. For a constant algorithm it is 0 by
        construction up to the bound; for a personalised one it can still be bias.
    low, high
        The interval of `unexplained`; users who are at both dates are paired.
    raw_low, raw_high
        That of the raw change, ``raw - before``.
    method
        ``users`` or, of samples, ``draws``: the weights are taken as given. ``bootstrap``: they were fitted again.
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


def compare(
    *ranks: HeldOutRanks,
    quality: AnyQuality = "hit@5",
    weights: AnyWeights = None,
    level: float = 0.95,
) -> list[Comparison]:
    """Compare recommenders pair by pair on the same held-out items, with Holm's correction across all.

    Parameters
    ----------
    *ranks
        From `rank_held_out`, of the same snapshot and the same pairs.
    quality, weights, level
        As for `evaluate`. The weights are taken as given.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("cid", "x"), ("cid", "z"), ("dan", "y")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> ranks = [us.rank_held_out(f"constant:{item}", log.at(1), qualities=["hit@1"]) for item in "xz"]
    >>> us.compare(*ranks, quality="hit@1")[0].difference
    0.375
    """
    if len(ranks) < 2:
        raise PolicyError("compare needs the ranks of at least two recommenders")
    for other in ranks[1:]:
        require_same_pairs(ranks[0], other)
    units = [Units.of(r, quality, weights) for r in ranks]
    found = []
    for i, j in combinations(range(len(ranks)), 2):
        difference = units[i].value - units[j].value
        n = units[i].n
        error = standard_error(units[i].influence - units[j].influence, n)
        interval = around(difference, error, n, level)
        found.append(
            Comparison(
                a=ranks[i].recommender,
                b=ranks[j].recommender,
                quality=named_quality(quality).name,
                weighting="raw" if weights is None else "weighted",
                difference=difference,
                low=interval.low,
                high=interval.high,
                p=p_value(difference, error, n),
                p_holm=math.nan,
                level=level,
            )
        )
    corrected = holm([c.p for c in found])
    return [replace(c, p_holm=float(p)) for c, p in zip(found, corrected, strict=True)]


def change(
    now: HeldOutRanks,
    before: HeldOutRanks,
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
    if now.recommender != before.recommender:
        raise PolicyError(f"{now.recommender} now and {before.recommender} then are not the same recommender")
    if (now.sample is None) != (before.sample is None):
        raise PolicyError("one date was sampled and the other not: rank both with sample, or neither")
    here, there = population(weights, now.snapshot, before.snapshot)
    raw = Units.of(now, quality, None).of_users(here)
    reweighted = Units.of(now, quality, weights)
    then = Units.of(before, quality, None).of_users(there)
    places = numbered(now.snapshot, before.snapshot) if now.sample is None else (raw.own(), then.own())
    whole = _difference(raw, then, places, level)
    rest = _difference(reweighted, then, places, level)
    return Change(
        recommender=now.recommender,
        quality=named_quality(quality).name,
        before=then.value,
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


def refitted_change(found: Change, now: Floats, raw: Floats, before: Floats) -> Change:
    """The same change with intervals from bootstrap repetitions in which the weights were fitted again."""
    rest = by_bootstrap(found.unexplained, now - before, found.level)
    whole = by_bootstrap(found.raw - found.before, raw - before, found.level)
    return replace(found, low=rest.low, high=rest.high, raw_low=whole.low, raw_high=whole.high, method=rest.method)


@dataclass(frozen=True)
class Units:
    """What a score is the mean of: one number for each independent unit, a user or (of a sample) a draw.

    Attributes
    ----------
    mass, total
        The mass of each unit, 0 for one that takes no part, and its mass times quality.
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
    def of(cls, ranks: HeldOutRanks, quality: AnyQuality, weights: AnyWeights) -> Units:
        """Those of a score."""
        if ranks.sample is None:
            mass, total = ranks.user_sums(quality, weights)
            return cls(mass, total, np.arange(len(mass)), "users")
        place = _drawn(ranks, weights)
        return cls(np.ones(len(place)), ranks.values(quality)[place], ranks.users[place], "draws")

    def of_users(self, part: Mask) -> Units:
        """The same without the units of other users."""
        mine = part[self.user]
        return replace(self, mass=np.where(mine, self.mass, 0.0), total=np.where(mine, self.total, 0.0))

    def own(self) -> Codes:
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


def _difference(one: Units, other: Units, places: tuple[Codes, Codes], level: float) -> Interval:
    """The interval of ``one - other``, whose units have these places among all: at one place they are the same."""
    here, there = places
    together = np.zeros(max(here.max(initial=-1), there.max(initial=-1)) + 1)
    together[here] += one.influence
    together[there] -= other.influence
    n = min(one.n, other.n)  # the error of a difference is known no better than that of either
    return around(one.value - other.value, standard_error(together, n), n, level, one.method)


def numbered(now: Snapshot, before: Snapshot) -> tuple[Codes, Codes]:
    """A number for each user of either log, the same for the same id: those of `now`, and those of `before`."""
    here = np.arange(len(now.log.users))
    if now.log.users is before.log.users:
        return here, here
    codes = now.log.users.codes(before.log.users.values)
    return here, np.where(codes >= 0, codes, len(here) + np.arange(len(codes)))


def population(weights: ItemWeights, now: Snapshot, before: Snapshot) -> tuple[Mask, Mask]:
    """Whom the policy of the weights leaves in at either date, whatever becomes of their items."""
    least = weights.policy.min_items
    here, there = now.sizes() >= least, before.sizes() >= least
    if weights.policy.users == "both":
        part, _ = weights.applied_to(now, before)
        here &= cohort_of(before, now, least)
        there &= users_of(now, part.sizes() > 0, before)
    return here, there


def require_same_pairs(one: HeldOutRanks, other: HeldOutRanks) -> None:
    """Refuse ranks that cannot be paired: of other users, items or draws, or under other probabilities."""
    here, there = one.snapshot, other.snapshot
    same = here.log is there.log and one.sample == other.sample and (one.sample is None or one.seed == other.seed)
    same = same and one.held.together == other.held.together
    same = same and np.array_equal(one.users, other.users)
    if not same or not np.array_equal(here.profiles.item[one.entries], there.profiles.item[other.entries]):
        raise PolicyError(f"{other.recommender} was ranked on other pairs than {one.recommender}")
    alike = np.zeros(here.profiles.n_items)
    if here is not there and not np.array_equal(entry_shares(here, alike), entry_shares(there, alike)):
        raise PolicyError(f"{other.recommender} was ranked under another P(u) or P(i|u) than {one.recommender}")


def _drawn(ranks: HeldOutRanks, weights: AnyWeights) -> Codes:
    """The place of each draw among the ranked pairs."""
    assert ranks.sample is not None
    entries = draw(*weighted(ranks.snapshot, weights), ranks.sample, ranks.seed)
    place = np.minimum(np.searchsorted(ranks.entries, entries), len(ranks.entries) - 1)
    if (ranks.entries[place] != entries).any():
        raise PolicyError("these weights were not named when the sample was drawn: give them in weights=")
    return place


def _points(low: float, high: float) -> str:
    return f"[{100 * low:+z.2f}, {100 * high:+z.2f}]"
