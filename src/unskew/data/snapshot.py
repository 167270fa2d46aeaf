"""The profiles at a date, with P(u) and P(i|u): what is evaluated and what weights are fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays import kernels
from unskew.errors import EmptyError, InputError
from unskew.data.ids import require_mapping_codes
from unskew.data.log import Log
from unskew.data.priors import ItemPrior, Policy, UserPrior, item_prior, user_prior
from unskew.arrays.sweep import Floats, Offsets, Profiles, Sweep, over_blocks
from unskew.data.times import Label, Moment

if TYPE_CHECKING:
    from unskew.data.marginal import Marginal


class Weighting(Protocol):
    """Fitted weights, as far as a snapshot needs to know them."""

    def applied_to(self, snapshot: Snapshot) -> tuple[Snapshot, Floats]:
        """The snapshot of the users who take part, and a log-weight for each item of its log."""


@dataclass(frozen=True, repr=False, eq=False)
class Snapshot:
    """The profiles of a log at one date. Made by `Log.at`.

    It shares the memory of the log: without removals it owns no more than `stop`.

    Attributes
    ----------
    log
        The log it is a prefix of.
    at
        The date, in the form in which it was asked for.
    profiles
        The rows: ``profiles.item[profiles.start[u]:profiles.stop[u]]`` is what user u holds.
    policy
        How P(u) and P(i|u) were chosen; kept with everything made from the snapshot.
    """

    log: Log
    at: Label
    tick: int | float
    profiles: Profiles
    policy: Policy = Policy()
    _entries: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, log: Log, moment: Moment) -> Snapshot:
        """The profiles of `log` at `moment`, P(u) and P(i|u) uniform."""
        profiles = log.profiles(log.stops_at(moment.tick))
        entries = None
        if log.removed is not None:
            profiles, entries = _without_removed(profiles, log.removed, moment.tick)
        snapshot = cls(log, moment.label, moment.tick, profiles, Policy(view=log.view), entries)
        if snapshot.n_users == 0:
            raise EmptyError(
                f"the snapshot at {moment.label} is empty: every item had left its profile again "
                f"(the log runs from {log.first} to {log.last})"
            )
        return snapshot

    def since(self, moment: Moment) -> Snapshot:
        """Only what was taken after `moment`; see `Log.between`."""
        began = self.log.stops_at(moment.tick)
        if self._entries is not None:  # without removals an entry's place is its place in the log
            began = np.searchsorted(self._entries, began.astype(np.int64)).astype(began.dtype)
        start = np.minimum(np.maximum(began, self.profiles.start), self.profiles.stop)
        policy = replace(self.policy, held="later")
        window = replace(self, profiles=replace(self.profiles, start=start), policy=policy)
        if window.n_users == 0:
            raise EmptyError(f"nothing was taken after {moment.label} and up to {self.at}")
        return window

    def with_priors(self, p_user: UserPrior = None, p_item: ItemPrior = None) -> Snapshot:
        """The same profiles with another P(u) and P(i|u); see `Log.at`."""
        a, by_user = user_prior(self, p_user)
        b, by_item = item_prior(self, p_item)
        policy = replace(self.policy, p_user=by_user, p_item=by_item)
        return replace(self, profiles=replace(self.profiles, a=a, b=b), policy=policy)

    def __repr__(self) -> str:
        return f"Snapshot(at {self.at}: {self.n_users} users, {self.n_items} items, {len(self)} interactions)"

    def __len__(self) -> int:
        """Number of interactions: pairs of a user and an item it holds."""
        return int(self.sizes().sum())

    @property
    def n_users(self) -> int:
        """Number of users who hold anything."""
        return int(np.count_nonzero(self.profiles.stop != self.profiles.start))

    @property
    def n_items(self) -> int:
        """Number of items that anyone holds."""
        return int(np.count_nonzero(self.counts()))

    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of items of each user, in the order of ``log.users``."""
        return self.profiles.sizes()

    def counts(self) -> npt.NDArray[np.int64]:
        """Number of users who hold each item, in the order of ``log.items``."""
        p = self.profiles
        edges = p.edges()
        sums = np.zeros((len(edges) - 1, p.n_items), dtype=np.int64)
        over_blocks(
            edges,
            len(p.item),
            lambda k, lo, hi: kernels.item_counts(lo, hi, p.start, p.stop, p.item, sums[k]),
        )
        total: npt.NDArray[np.int64] = sums.sum(axis=0)
        return total

    def profile(self, user: Any) -> list[Any]:
        """The ids of what a user holds, in the order in which they were taken."""
        code = int(self.log.users.codes([user])[0])
        if code < 0:
            raise InputError(f"the log has no user {user!r} (it has {self.log.users.examples()})")
        p = self.profiles
        held: list[Any] = self.log.items.take(p.item[int(p.start[code]) : int(p.stop[code])]).to_pylist()
        return held

    def shares(self) -> Floats:
        """P(u) of each user, in the order of ``log.users``; 0 for one who holds nothing."""
        return self.profiles.shares()

    def probabilities(self, weights: Weighting | Mapping[Any, float] | None = None) -> Floats:
        """P(i|w) of each item, in the order of ``log.items``."""
        if weights is None:
            return self._unweighted.copy()
        snapshot, theta = self.weighted(weights)
        return Sweep(snapshot.profiles).marginal(theta)

    @cached_property
    def _unweighted(self) -> Floats:
        """P(i), kept: a reference date is asked for it at every fit."""
        return Sweep(self.profiles).marginal(np.zeros(self.profiles.n_items))

    def marginal(self, weights: Weighting | Mapping[Any, float] | None = None, *, min_items: int = 1) -> Marginal:
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
        from unskew.data.marginal import Marginal

        enough = self if min_items <= 1 else self.restricted(self.sizes() >= min_items)
        if enough.n_users == 0:
            raise EmptyError(f"no user has {min_items} items at {self.at}: relax min_items")
        q = enough.probabilities(weights)
        here = np.flatnonzero(q > 0)
        return Marginal(
            items=self.log.items.take(here),
            probabilities=q[here],
            at=self.at,
            policy=replace(self.policy, min_items=min_items),
            frames=self.log.frames,
        )

    def joint(self, items: Iterable[Any], weights: Weighting | Mapping[Any, float] | None = None) -> Floats:
        """``P(i,k|w) = sum_u P(u) P(i|u,w) P(k|u,w)`` of the paper, for the chosen items.

        Two independent draws from one profile; rows and columns in the order of `items`.
        """
        codes = self.item_codes(items, "joint")
        if len(np.unique(codes)) < len(codes):
            raise InputError("joint() was given the same item twice")
        snapshot, theta = self.weighted(weights)
        return Sweep(snapshot.profiles).joint(theta, codes)

    def item_codes(self, items: Iterable[Any], what: str) -> npt.NDArray[np.int64]:
        """Codes of items that must exist in the log."""
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise InputError(f"{what}: {items!r} is not a list of items: put it into one")
        wanted = items if isinstance(items, pa.Array) else list(items)
        codes = self.log.items.codes(wanted)
        if (codes < 0).any():
            first = int(np.argmax(codes < 0))
            missing = wanted[first].as_py() if isinstance(wanted, pa.Array) else wanted[first]
            raise InputError(f"{what}: the log has no item {missing!r} (it has {self.log.items.examples()})")
        return codes

    def per_entry(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column of the log, lined up with ``profiles.item``."""
        return values if self._entries is None else values[self._entries]

    def inside(self) -> npt.NDArray[np.bool_]:
        """Which places of ``profiles.item`` belong to a profile: those up to its `stop`."""
        return _inside(self.profiles)

    def restricted(self, users: npt.NDArray[np.bool_]) -> Snapshot:
        """The same snapshot in which only these users take part."""
        stop: Offsets = np.where(users, self.profiles.stop, self.profiles.start)
        return replace(self, profiles=replace(self.profiles, stop=stop))

    def kept_sizes(self, keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """How many items of each profile are among those to keep."""
        p = self.profiles
        out = np.zeros(p.n_users, dtype=np.int64)
        over_blocks(
            p.edges(),
            len(p.item),
            lambda k, lo, hi: kernels.kept_sizes(lo, hi, p.start, p.stop, p.item, keep, out),
        )
        return out

    def weighted(self, weights: Weighting | Mapping[Any, float] | None) -> tuple[Snapshot, Floats]:
        """The snapshot of the users who take part under the weights, and a log-weight for each item of the log."""
        theta = np.zeros(self.profiles.n_items)
        if weights is None:
            return self, theta
        if not isinstance(weights, Mapping):
            if not hasattr(weights, "applied_to"):
                raise InputError(
                    f"weights is a {type(weights).__name__}; give fitted weights or a mapping {{item: weight}}"
                )
            return weights.applied_to(self)
        codes, values = require_mapping_codes(self.log.items, weights, "weights")
        for item, code, value in zip(weights, codes, values, strict=True):
            if code < 0:
                raise InputError(f"weights: the log has no item {item!r} (it has {self.log.items.examples()})")
            if not (np.isfinite(value) and value >= 0):
                raise InputError(f"the weight of item {item!r} is {value}: it must be finite and not negative")
        with np.errstate(divide="ignore"):
            theta[codes] = np.log(values)
        part = self.restricted(self.kept_sizes(theta > -np.inf) > 0)
        if not part.shares().any():
            raise EmptyError(f"with these weights nobody holds anything at {self.at}: leave some item a weight")
        return part, theta


def _without_removed(
    profiles: Profiles, removed: npt.NDArray[Any], tick: int | float
) -> tuple[Profiles, npt.NDArray[np.int64]]:
    """Rows without the entries that had left by `tick`, and which entries stayed.

    New arrays, since this is no prefix.
    """
    inside = _inside(profiles)
    if removed.dtype.kind == "i":
        tick = min(tick, np.iinfo(removed.dtype).max - 1)  # what never leaves has the largest there is
    inside &= removed > tick
    ends = np.concatenate([[0], np.cumsum(inside)])
    offsets = profiles.start.dtype
    rows = replace(
        profiles,
        start=ends[profiles.start].astype(offsets),
        stop=ends[profiles.stop].astype(offsets),
        item=profiles.item[inside],
    )
    return rows, np.flatnonzero(inside)


def _inside(profiles: Profiles) -> npt.NDArray[np.bool_]:
    change = np.zeros(len(profiles.item) + 1, dtype=np.int64)  # +1 where a row begins, -1 where it ends
    np.add.at(change, profiles.start, 1)
    np.add.at(change, profiles.stop, -1)
    inside: npt.NDArray[np.bool_] = np.cumsum(change[:-1]) > 0
    return inside
