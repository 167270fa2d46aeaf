"""Parts of a log: the profiles at a date, what came between two, and weights on them as scoring sees these.

Whatever weights are (none, a mapping, fitted ones, another method), `Slice.weigh` turns them into a `Weighting`:
who is evaluated, and the probability of each pair. Those of items are log-weights on the P(u) and P(i|u) of the
slice. Pair probabilities that no item weights give become P(u) and P(i|u) of their own, under item weights of 1:
so whatever works with the ones works with the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from unskew.arrays import kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles, all_entries, mark_entries, sum_entries
from unskew.arrays.sweep import Sweep, count_kept
from unskew.arrays.types import Codes, Floats, Mask, Offsets, Times
from unskew.data.ids import log_weights_by_id
from unskew.data.marginal import Marginal
from unskew.data.policy import ItemPrior, Policy, Share, UserPrior, item_prior, user_prior
from unskew.data.times import Label, Moment
from unskew.errors import EmptyError, InputError, option

if TYPE_CHECKING:
    from unskew.data.log import Log


@dataclass(frozen=True, repr=False, eq=False)
class Slice:
    """For each user of a log, some of its entries in a row.

    Attributes
    ----------
    log
        The log that it is a part of.
    at
        The date up to which it goes, in the form in which it was asked for.
    tick
        The same as a number.
    profiles
        The rows: ``profiles.item[profiles.start[u]:profiles.stop[u]]`` is what is in it of user u.
    policy
        How P(u) and P(i|u) were chosen; kept with everything made from the slice.
    after
        The time after which a window begins; None for profiles, which go back to the beginning.
    """

    log: Log
    at: Label
    tick: int | float
    profiles: Profiles
    policy: Policy = Policy()
    _entries: Codes | None = None
    after: Label | None = None

    @classmethod
    def cut_from(cls, whole: Slice, start: Offsets, stop: Offsets, held: str, after: Label | None = None) -> Self:
        """What lies between these offsets of another slice; `held` says what that is, as in `Policy`."""
        profiles, policy = replace(whole.profiles, start=start, stop=stop), replace(whole.policy, held=held)
        return cls(whole.log, whole.at, whole.tick, profiles, policy, whole._entries, after)

    def with_priors(self, p_user: UserPrior = None, p_item: ItemPrior = None) -> Self:
        """The same with another P(u) and P(i|u); see `Log.at`."""
        a, by_user = user_prior(self, p_user)
        b, by_item = item_prior(self, p_item)
        policy = replace(self.policy, p_user=by_user, p_item=by_item)
        return replace(self, profiles=replace(self.profiles, a=a, b=b), policy=policy)

    def __len__(self) -> int:
        """Number of interactions: pairs of a user and an item it holds."""
        return int(self.sizes().sum())

    @property
    def n_users(self) -> int:
        """Number of users with items."""
        return int(np.count_nonzero(self.profiles.stop != self.profiles.start))

    @property
    def n_items(self) -> int:
        """Number of items that anyone has."""
        return int(np.count_nonzero(self.counts()))

    def sizes(self) -> Codes:
        """Number of items of each user, in the order of ``log.users``."""
        return self.profiles.sizes()

    def counts(self) -> Codes:
        """Number of users who have each item, in the order of ``log.items``."""
        p = self.profiles
        edges = p.edges
        sums = np.zeros((len(edges) - 1, p.n_items), dtype=np.int64)
        over_blocks(edges, len(p.item), lambda k, lo, hi: kernels.count_holders(lo, hi, p.rows, sums[k]))
        return np.asarray(sums.sum(axis=0))

    def shares(self) -> Floats:
        """P(u) of each user, in the order of ``log.users``; 0 for one without items."""
        return self.profiles.shares()

    def share_of(self, users: Mask) -> Share:
        """How many of these users there are, all of whom hold something, and how much of P(u) they have."""
        if self.profiles.a is None:
            number = int(np.count_nonzero(users))
            return Share(number, number / max(self.n_users, 1))
        return Share.of(users, self.shares())

    def probabilities(self, weights: Weights = None) -> Floats:
        """P(i|w) of each item, in the order of ``log.items``."""
        return self._unweighted.copy() if weights is None else self.weigh(weights).marginal()

    @cached_property
    def _unweighted(self) -> Floats:
        """P(i), kept: a reference date is asked for it at every fit."""
        return Sweep(self.profiles).marginal(np.zeros(self.profiles.n_items))

    def marginal(self, weights: Weights = None, *, min_items: int = 1) -> Marginal:
        """The item marginal ``P(i|w) = sum_u P(u) w_i P(i|u) / sum_j w_j P(j|u)``.

        Parameters
        ----------
        weights
            None for 1 everywhere, fitted weights, or a mapping from item id to weight (1 for an
            item that it does not name).
        min_items
            Only users with at least this many items; kept in the policy of the marginal.

        Examples
        --------
        >>> import unskew as us
        >>> log = us.read_log({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 1, 1]})
        >>> log.at(1).marginal().to_dict()
        {'x': 0.75, 'y': 0.25}
        >>> log.at(1).marginal({"y": 3.0}).to_dict()
        {'x': 0.625, 'y': 0.375}
        """
        enough = self.with_min_items(min_items)
        if enough.n_users == 0:
            raise no_user_error(min_items, self.at)
        q = enough.probabilities(weights)
        here = np.flatnonzero(q > 0)
        return Marginal(
            items=self.log.items.take(here),
            probabilities=q[here],
            at=self.at,
            policy=enough.policy,
            frames=self.log.frames,
            after=self.after,
        )

    def per_entry(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column of the log, lined up with ``profiles.item``."""
        return values if self._entries is None else values[self._entries]

    def mark_entries(self) -> Mask:
        """Which places of ``profiles.item`` belong to a user: those from its `start` up to its `stop`."""
        return mark_entries(self.profiles)

    def restrict(self, users: Mask) -> Self:
        """The same with these users alone."""
        stop: Offsets = np.where(users, self.profiles.stop, self.profiles.start)
        return replace(self, profiles=replace(self.profiles, stop=stop))

    def with_min_items(self, min_items: int) -> Self:
        """The same without the users who have fewer items; its policy says so."""
        if min_items <= self.policy.min_items:
            return self
        enough = self.restrict(self.sizes() >= min_items)
        if enough.n_users == 0:
            raise no_user_error(min_items, self.at)
        return replace(enough, policy=replace(self.policy, min_items=min_items))

    def kept_sizes(self, keep: Mask) -> Codes:
        """How many items of each profile are among those to keep."""
        return count_kept(self.profiles, keep)

    def number_by_id(self) -> Self:
        """The same with items numbered in the order of their ids, as recommenders see them.

        Entries (places of ``profiles.item``) and users stay where they are.
        """
        log = self.log.numbered_by_id
        return replace(self, log=log, profiles=replace(self.profiles, item=self.per_entry(log.item)))

    def weigh(self, weights: Weights = None) -> Weighting:
        """Apply weights: who is evaluated under them, and the probability of each pair.

        `weights` are None for 1 everywhere, fitted weights or another method (`unskew.methods`), a mapping from
        item id to weight (1 for an item that it does not name), or what this method gave before.
        """
        if weights is None:
            return Weighting(self, np.zeros(self.profiles.n_items))
        if isinstance(weights, Weighting):
            part = weights.part
            same_rows = part.log is self.log and part.profiles.item is self.profiles.item
            if not same_rows or (part.tick, part.after, part.policy) != (self.tick, self.after, self.policy):
                raise InputError(f"these weights belong to {part}, not to {self}", remedy="weigh this one")
            return weights
        if isinstance(weights, type):
            name = weights.__name__
            raise InputError(f"{option('weights')} is the class {name}", remedy=f"make one of it: {name}()")
        if not isinstance(weights, Mapping):
            if not isinstance(weights, AppliesToSlice) or hasattr(weights, "iloc"):  # a frame has an apply as well
                raise InputError(
                    f"{option('weights')} is a {type(weights).__name__}",
                    remedy="give fitted weights, a mapping {item: weight} or a method of unskew.methods",
                )
            return weights.apply(self)
        theta = log_weights_by_id(self.log.items, weights)
        part = self.restrict(self.kept_sizes(theta > -np.inf) > 0)
        if not part.shares().any():
            raise EmptyError(
                f"with these weights nobody holds anything at {self.at}", remedy="give some item a positive weight"
            )
        return Weighting(part, theta, "weighted", frees_constant_lists=True)


def no_user_error(min_items: int, at: Label) -> EmptyError:
    """The error about a date at which nobody has so many items."""
    return EmptyError(f"no user has at least {min_items} items at {at}", remedy=f"lower {option('min_items')}")


@dataclass(frozen=True, repr=False, eq=False)
class Snapshot(Slice):
    """The profiles of a log at one date: everything taken up to it. Made by `Log.at`; see `Slice`."""

    @classmethod
    def of(cls, log: Log, moment: Moment) -> Snapshot:
        """The profiles of `log` at `moment`, P(u) and P(i|u) uniform; somebody holds something."""
        snapshot = cls.cut_off(log, moment)
        if snapshot.n_users == 0:
            raise EmptyError(
                f"the snapshot at {moment.label} is empty: every item had left its profile again "
                f"(the log runs from {log.first} to {log.last})"
            )
        return snapshot

    @classmethod
    def cut_off(cls, log: Log, moment: Moment) -> Snapshot:
        """The same, of a part of a log in which maybe nobody has an item yet."""
        profiles = log.profiles(log.stops_at(moment.tick))
        entries = None
        if log.removed is not None:
            profiles, entries = _without_removed(profiles, log.removed, moment.tick)
        return cls(log, moment.label, moment.tick, profiles, Policy(view=log.view), entries)

    def __repr__(self) -> str:
        return f"Snapshot(at {self.at}: {self.n_users} users, {self.n_items} items, {len(self)} interactions)"

    def without(self, entries: Codes) -> Snapshot:
        """The profiles without some of their entries, which are places of ``profiles.item``."""
        keep = self.mark_entries()
        keep[entries] = False
        kept = np.flatnonzero(keep)
        places = kept if self._entries is None else self._entries[kept]
        return replace(self, profiles=_keep_entries(self.profiles, keep), _entries=places)

    def profile(self, user: Any) -> list[Any]:
        """The ids of what a user holds, in the order in which they were taken."""
        code = int(self.log.users.codes([user])[0])
        if code < 0:
            raise InputError(
                f"the log has no user {user!r} (it has {self.log.users.examples()})",
                remedy="check the id and its type",
            )
        p = self.profiles
        return list(self.log.items.take(p.item[int(p.start[code]) : int(p.stop[code])]).to_pylist())


def _without_removed(profiles: Profiles, removed: Times, tick: int | float) -> tuple[Profiles, Codes]:
    """Rows without the entries that had left by `tick`, and which entries stayed.

    New arrays, since this is no prefix.
    """
    inside = mark_entries(profiles)
    if removed.dtype.kind == "i":
        tick = min(tick, np.iinfo(removed.dtype).max - 1)  # what never leaves has the largest there is
    inside &= removed > tick
    return _keep_entries(profiles, inside), np.flatnonzero(inside)


def _keep_entries(profiles: Profiles, keep: Mask) -> Profiles:
    """Rows with some of their entries alone; new arrays, since what is kept is no prefix."""
    ends = np.concatenate([[0], np.cumsum(keep)])
    offsets = profiles.start.dtype
    return replace(
        profiles,
        start=ends[profiles.start].astype(offsets),
        stop=ends[profiles.stop].astype(offsets),
        item=profiles.item[keep],
        b=None if profiles.b is None else profiles.b[keep],
    )


@dataclass(frozen=True, repr=False, eq=False)
class Window(Slice):
    """What users took after one time and up to another. Made by `Log.between`; see `Slice`."""

    @classmethod
    def of(cls, snapshot: Snapshot, start: Moment) -> Window:
        """What is in the profiles of `snapshot` and was not there yet at `start`."""
        began = snapshot.log.stops_at(start.tick)
        if snapshot._entries is not None:  # without removals an entry's place is its place in the log
            began = np.searchsorted(snapshot._entries, began.astype(np.int64)).astype(began.dtype)
        first = np.minimum(np.maximum(began, snapshot.profiles.start), snapshot.profiles.stop)
        window = cls.cut_from(snapshot, first, snapshot.profiles.stop, "window", start.label)
        if window.n_users == 0:
            raise EmptyError(f"there are no interactions after {start.label} and up to {snapshot.at}")
        return window

    def keep_known(self, known: Snapshot) -> Window:
        """The same of the users who had a profile when it begins: what a global time split holds out."""
        part = self.restrict(known.sizes() > 0)
        return replace(part, policy=replace(self.policy, held="later"))

    def __repr__(self) -> str:
        return (
            f"Window(after {self.after} and up to {self.at}: {self.n_users} users, {self.n_items} items, "
            f"{len(self)} interactions)"
        )


@dataclass(frozen=True, eq=False)
class Weighting:
    """Item weights or pair probabilities on one slice of a log.

    Attributes
    ----------
    part
        The slice with the users who are evaluated, and the P(u) and P(i|u) that the log-weights apply to.
    log_weights
        Of each item of the log; -inf for one that is dropped.
    name
        ``raw`` where every weight is 1, else ``weighted``.
    top
        How many items have a fitted weight; None where all have, or none.
    frees_constant_lists
        Whether the score of a constant list is free of what recommendations and promotions did to the log.
    """

    part: Slice
    log_weights: Floats
    name: str = "raw"
    top: int | None = None
    frees_constant_lists: bool = False

    @classmethod
    def of_pairs(cls, part: Slice, probabilities: Floats, *, frees_constant_lists: bool = False) -> Weighting:
        """Given pair probabilities: a number for each place of ``part.profiles.item``, on any positive scale.

        Numbers at places of nobody are not looked at. Who has none is not evaluated.

        >>> import unskew as us
        >>> log = us.read_log({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "time": [1, 1, 1]})
        >>> Weighting.of_pairs(log.at(1), [1, 2, 1]).pair_shares.tolist()
        [0.25, 0.5, 0.25]
        """
        p = part.profiles
        entries = all_entries(p)
        numbers = np.asarray(probabilities, dtype=np.float64)
        if numbers.shape != p.item.shape:
            raise InputError(
                f"pair probabilities have shape {numbers.shape}",
                remedy=f"give one for each of {len(p.item)} places",
            )
        shares = np.zeros(len(p.item))
        shares[entries] = numbers[entries]
        bad = ~(np.isfinite(shares) & (shares >= 0))
        if bad.any():
            raise InputError(
                f"the probability of the pair at place {int(np.argmax(bad))} is {shares[bad][0]}, but must be a "
                "number of at least 0"
            )
        mass = sum_entries(p, shares[entries])
        if not mass.any():
            raise EmptyError(
                f"no pair at {part.at} has any probability: nobody would be evaluated",
                remedy="give one of them a probability above 0",
            )
        held = part.restrict(mass > 0)
        with_priors = replace(held, profiles=replace(held.profiles, a=mass, b=shares))
        return cls(with_priors, np.zeros(p.n_items), "weighted", frees_constant_lists=frees_constant_lists)

    def marginal(self) -> Floats:
        """The weighted item marginal ``q_i = sum_u P(u) P(i|u,w)``, over the items of the log."""
        return Sweep(self.part.profiles).marginal(self.log_weights)

    @cached_property
    def pair_shares(self) -> Floats:
        """``P(u) P(i|u,w)`` of every place of ``profiles.item``: 0 where nobody is evaluated; sums to 1."""
        p = self.part.profiles
        return find_pair_shares(p, p.shares(), self.log_weights)

    @cached_property
    def user_mass(self) -> Floats:
        """The sum of `pair_shares` over the entries of each user of the log."""
        p = self.part.profiles
        return sum_entries(p, self.pair_shares[all_entries(p)])


def find_pair_shares(profiles: Profiles, shares: Floats, log_weights: Floats) -> Floats:
    """``P(u) P(i|u,w)`` of every place of ``profiles.item``; `shares` are P(u)."""
    rows, b, out = profiles.rows, profiles.b, np.zeros(len(profiles.item))
    over_blocks(
        profiles.edges,
        len(out),
        lambda _, lo, hi: kernels.fill_pair_shares(lo, hi, rows, shares, b, log_weights, out),
    )
    return out


@runtime_checkable
class AppliesToSlice(Protocol):
    """Fitted weights or another method, as far as a slice needs to know them."""

    def apply(self, part: Slice, /) -> Weighting:
        """The weights on this slice."""


Weights = Weighting | AppliesToSlice | Mapping[Any, float] | None
"""Whatever can be weights."""
