"""How far chance alone moves an item mix: the distance of a random sample from the mix that it was drawn from.

The users of a reference date are fewer than those of today, and most had fewer items. Even if nothing drifted,
their item mix would differ from today's, the more the fewer they were. `measure_chance` draws as many of today's
users as there were then, each with as many of its items as it had then, and measures the total variation from
today's mix. Users drawn with all their items would not do: in logs without any drift whose profiles grow, nearly
all distances are above theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays import distances
from unskew.arrays.drawing_kernels import add_drawn_rows
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Codes, Floats
from unskew.data.slice import Slice

_DRAWS = 19  # a distance above all of them comes by chance once in 20 times
_STREAM = 0xC4A2CE  # of random numbers
_BATCH = 2**20  # items that are drawn at a time, which bounds the memory


@dataclass(frozen=True)
class Chance:
    """The total variation that chance alone gives.

    Attributes
    ----------
    value, low, high
        The mean, the smallest and the largest of 19 random samples. If nothing drifted, a distance is above `high`
        once in 20 times.
    users_alone
        The mean for users drawn with all the items that they have today: the part of `value` that is due to who
        the users were, and not to which of their items they had.
    """

    value: float
    low: float
    high: float
    users_alone: float


def measure_chance(now: Slice, reference: Slice, *, seed: int = 0) -> Chance:
    """The distance from the mix of `now` that random samples of it have which are as large as `reference`.

    A sample has ``min(n_t0, n_t1)`` users, drawn without replacement. Each has as many of its items of today,
    drawn at random, as it had at t0; a user who came later has as large a part of them as a random user of t0.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": [1, 2, 3], "item": ["a", "a", "b"], "time": [0, 0, 9]})
    >>> chance = measure_chance(log.at(9), log.at(0))  # a and a, or a and b, against 2/3 and 1/3
    >>> round(chance.low, 3), round(chance.high, 3)
    (0.167, 0.333)
    """
    profiles, mix = now.profiles, now.probabilities()
    sizes, earlier = profiles.sizes(), _earlier_sizes(now, reference)
    pool = np.flatnonzero(now.shares() > 0)
    stayed = pool[earlier[pool] > 0]
    parts = np.minimum(earlier[stayed] / sizes[stayed], 1.0) if len(stayed) else np.ones(1)
    rng = np.random.default_rng([seed, _STREAM])
    thinned, whole = [], []
    for _ in range(_DRAWS):
        users = rng.permutation(pool)[: reference.n_users]
        copied = np.rint(sizes[users] * rng.choice(parts, len(users))).astype(np.int64)
        wanted = np.clip(np.where(earlier[users] > 0, earlier[users], copied), 1, sizes[users])
        thinned.append(distances.total_variation(_draw_mix(profiles, users, wanted, rng), mix))
        whole.append(distances.total_variation(_draw_mix(profiles, users, sizes[users], rng), mix))
    return Chance(float(np.mean(thinned)), min(thinned), max(thinned), float(np.mean(whole)))


def _earlier_sizes(now: Slice, reference: Slice) -> Codes:
    """How many items each user of `now` had at the reference date, maybe of another log; 0 for none."""
    sizes = reference.sizes()
    if reference.log.users is now.log.users:
        return sizes
    codes = reference.log.users.codes(now.log.users.values)
    earlier: Codes = np.where(codes >= 0, sizes[codes], 0)
    return earlier


def _draw_mix(profiles: Profiles, users: Codes, wanted: Codes, rng: np.random.Generator) -> Floats:
    """The item mix of these users, each with so many of its items at random."""
    sums, mass = np.zeros(profiles.n_items), 0.0
    scratch = np.empty(int(profiles.sizes_of(users).max()), dtype=np.int64)
    edges = np.searchsorted(np.cumsum(wanted), np.arange(0, int(wanted.sum()), _BATCH))
    for first, end in zip(edges, [*edges[1:], len(users)], strict=True):
        batch = slice(first, end)
        uniform = rng.random(int(wanted[batch].sum()))
        mass += add_drawn_rows(
            users[batch], wanted[batch], uniform, profiles.rows, profiles.a, profiles.b, scratch, sums
        )
    return sums / mass
