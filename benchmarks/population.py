"""A population in which every true score is known, and samples of users drawn from it.

It is given as a few thousand kinds of users, equally likely: what each holds at t0 and at t1, its P(u), and the
lists that it is shown. A true score is a sum over them, and the true weights are those fitted to the whole
population; both are computed here densely, without the code that is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import unskew as us
from unskew.data.ids import Ids
from unskew.data.times import TimeAxis
from unskew.evaluation.held_out_ranks import HeldOutRanks
from unskew.evaluation.pairs import PairSelection

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

KINDS, ITEMS, GROUPS, LISTED = 3000, 24, 3, 6
PUSHED = slice(18, 22)  # not popular by themselves
SEGMENT = 8  # the first so many items, the popular ones
BEFORE, NOW, NEVER = 0, 1, 9
RECOMMENDERS = ("own", "other", "constant")
"""Show every group the items of its own taste, of another one, or everyone the same."""


@dataclass(frozen=True, eq=False)
class Population:
    """Everyone there is. Arrays have a row for each kind of user.

    Attributes
    ----------
    taken
        The time at which each item was taken; shape (kinds, items).
    p_user
        P(u), up to a factor, where it is not uniform.
    group
        Decides which lists a user is shown.
    ranks
        For each recommender, the rank of an item in the list of a group, 0 if it is not there.
    """

    taken: Codes
    p_user: Floats
    group: Codes
    ranks: dict[str, Codes]

    def entries(self, at: int, w: Floats | None = None, *, uniform: bool = True) -> Floats:
        """``P(u) P(i|u,w)`` of every kind and item."""
        held = (self.taken <= at) * (np.ones(ITEMS) if w is None else w)
        sums = held.sum(axis=1)
        shares = np.where(sums > 0, 1.0 if uniform else self.p_user, 0.0)
        found: Floats = held * (shares / shares.sum() / np.maximum(sums, 1e-300))[:, None]
        return found

    def score(
        self, recommender: str, at: int, *, weighted: bool = False, uniform: bool = True, items: int = ITEMS
    ) -> float:
        """The true hit rate, of the first so many items."""
        return _score(self, recommender, at, weighted, uniform, items)

    @cached_property
    def target(self) -> Floats:
        """The item mix at t0."""
        mix: Floats = self.entries(BEFORE).sum(axis=0)
        return mix

    @cached_property
    def w(self) -> Floats:
        """The weights under which the item mix at t1 comes nearest to that, by plain matrix scaling."""
        w = np.ones(ITEMS)
        for _ in range(2000):  # some fall to 1e-160 where mass is trapped
            w *= self.target / self.entries(NOW, w).sum(axis=0)
            w /= w.max()
        return w

    @cached_property
    def weights(self) -> us.ItemWeights:
        """The same as an object."""
        everyone = Sample(self, np.arange(KINDS))
        return us.fit_weights(everyone.now, everyone.before, tol=1e-7)

    def drawn(self, users: int, seed: int) -> Sample:
        """So many users, drawn independently."""
        return Sample(self, np.random.default_rng([seed, 1]).integers(0, KINDS, users))


@dataclass(frozen=True)
class Sample:
    """The log of some users, each with an id of its own, and what a recommender shows them."""

    people: Population
    who: Codes

    @cached_property
    def log(self) -> us.Log:
        taken = self.people.taken[self.who]
        order = np.argsort(taken, axis=1, kind="stable")
        times = np.take_along_axis(taken, order, axis=1)
        there = times < NEVER
        return us.Log(
            users=Ids.of(pa.array(np.arange(len(self.who)))),
            items=Ids.of(pa.array(np.arange(ITEMS))),
            start=np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.uint32),
            item=order[there].astype(np.uint32),
            time=times[there],
            axis=TimeAxis("integer"),
        )

    @cached_property
    def before(self) -> us.Snapshot:
        return self.log.at(BEFORE)

    @cached_property
    def now(self) -> us.Snapshot:
        return self.log.at(NOW)

    @cached_property
    def now_uneven(self) -> us.Snapshot:
        """The profiles at t1 with the given P(u)."""
        return self.log.at(NOW, p_user=self.people.p_user[self.who])

    def ranked(
        self, recommender: str, snapshot: us.Snapshot, *, sample: int | None = None, seed: int = 0
    ) -> HeldOutRanks:
        """Held-out ranks, looked up: what a group is shown does not depend on who was drawn."""
        every = PairSelection.of(snapshot)
        ranks = self.people.ranks[recommender][self.people.group[self.who[every.pairs.user]], every.pairs.item]
        selection = replace(every, sample=sample, seed=seed)  # every pair is ranked: any may be drawn
        return HeldOutRanks(recommender, selection, ranks, None, LISTED)


@cache
def _score(people: Population, recommender: str, at: int, weighted: bool, uniform: bool, items: int) -> float:
    hit = people.ranks[recommender][people.group] > 0
    mass = people.entries(at, people.w if weighted else None, uniform=uniform)
    return float((mass * hit)[:, :items].sum() / mass[:, :items].sum())


@cache
def population(*, trapped: bool = False) -> Population:
    """People with tastes, and a campaign between t0 and t1 that pushes items.

    Where mass is to be `trapped`, half of those who join hold a single item, which was pushed: no weights can give
    it as little as it had at t0.
    """
    rng = np.random.default_rng(7)
    group = rng.integers(0, GROUPS, KINDS)
    joins = rng.random(KINDS) < 0.2
    taken = np.full((KINDS, ITEMS), NEVER)
    popular = 1.0 / (np.arange(ITEMS) + 3.0)
    for u in range(KINDS):
        taste = popular * np.where(np.arange(ITEMS) % GROUPS == group[u], 3.0, 1.0)
        own = rng.choice(ITEMS, size=2 + rng.poisson(1.5), replace=False, p=taste / taste.sum())
        late = rng.random(len(own)) < (1.0 if joins[u] else 0.3)
        late[0] = joins[u]
        taken[u, own] = np.where(late, NOW, BEFORE)
        pushed = np.arange(ITEMS)[PUSHED]
        if trapped and joins[u] and rng.random() < 0.5:
            taken[u] = NEVER
            taken[u, rng.choice(pushed)] = NOW
        else:
            reached = pushed[rng.random(len(pushed)) < 0.25]
            taken[u, reached] = np.minimum(taken[u, reached], NOW)
    ranks = {name: np.zeros((GROUPS, ITEMS), dtype=np.int64) for name in RECOMMENDERS}
    places = np.arange(1, LISTED + 1)
    for g in range(GROUPS):
        ranks["own"][g, g::GROUPS][:LISTED] = places
        ranks["other"][g, (g + 1) % GROUPS :: GROUPS][:LISTED] = places
        ranks["constant"][g, 15 : 15 + LISTED] = places
    return Population(taken, rng.gamma(2.0, 1.0, KINDS), group, ranks)
