"""The two dates as arrays over the items of one log, after the policy has left out whom it must."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays import distances
from unskew.errors import InputError, PolicyError
from unskew.data.shares import Share
from unskew.frames import is_frame
from unskew.data.ids import kind_of
from unskew.data.marginal import Marginal
from unskew.data.population import Mask, cohort_of, taking_part, users_of
from unskew.data.snapshot import Snapshot
from unskew.arrays.sweep import Floats
from unskew.data.times import Label

Reference = Snapshot | Marginal | Mapping[Any, float] | Any


@dataclass(frozen=True)
class Scene:
    """What a fit sees. Arrays are over all items of the log.

    Attributes
    ----------
    snapshot, now
        The snapshot as it was given, and with the users who take part.
    at
        The reference date, None if it is not known.
    raw, raw_outside
        P_t0 of all users; the probabilities of reference items that the log does not have.
    whole, outside, outside_items
        The same of the users who take part, and the ids of those items.
    p_before
        P_t1 of all users.
    held, present
        The items that anyone with P(u) > 0 holds at t1, and that anyone who takes part holds.
    drop
        Whether items that the reference lacks are dropped.
    left_out, left_out_reference
        Users who take no part, at t1 and at t0.
    """

    snapshot: Snapshot
    now: Snapshot
    at: Label | None
    raw: Floats
    raw_outside: Floats
    whole: Floats
    outside: Floats
    outside_items: pa.Array
    p_before: Floats
    held: Mask
    present: Mask
    drop: bool
    left_out: Share
    left_out_reference: Share

    @classmethod
    def of(cls, snapshot: Snapshot, reference: Reference, min_items: int, users: str, drop: bool) -> Scene:
        """Apply the policy at both dates."""
        if not isinstance(snapshot, Snapshot):
            raise InputError(f"{snapshot!r} is not a snapshot: give the profiles at a date, such as log.at(date)")
        if isinstance(reference, Snapshot):
            view = _from_snapshot(snapshot, reference, min_items, users, drop)
        elif not (isinstance(reference, Marginal | Mapping) or is_frame(reference)):
            raise InputError(
                f"the reference is a {type(reference).__name__}; give a snapshot such as log.at(date), a "
                "Marginal, a mapping or a dataframe"
            )
        else:
            marginal = reference if isinstance(reference, Marginal) else Marginal.of(reference)
            view = _from_marginal(snapshot, marginal, min_items, users, drop)
        p_before = snapshot.probabilities()
        held = p_before > 0
        if not ((view.whole > 0) & held).any():
            raise InputError(_nothing_shared(snapshot, reference))
        if not view.part.any():
            raise PolicyError(_nobody(min_items, users, str(snapshot.at)))
        everyone = bool((view.part == (snapshot.sizes() > 0)).all())
        now = snapshot if everyone else snapshot.restricted(view.part)
        return cls(
            snapshot=snapshot,
            now=now,
            at=view.at,
            raw=view.raw,
            raw_outside=view.raw_outside,
            whole=view.whole,
            outside=view.outside,
            outside_items=view.outside_items,
            p_before=p_before,
            held=held,
            present=held if everyone else now.counts() > 0,
            drop=drop,
            left_out=_left_out(snapshot, view.part),
            left_out_reference=view.left_out,
        )

    def target(self, *, keep_new: bool) -> Floats:
        """What is fitted: P_t0 without vanished items, renormalised; with room for new ones if kept."""
        known = np.where(self.present, self.whole, 0.0)
        if not known.any():
            raise InputError("no user who takes part holds any item of the reference: relax min_items or users")
        known /= known.sum()
        if not keep_new:
            return known
        new = np.where(self.whole > 0, 0.0, self.now.probabilities())
        return known * (1.0 - float(new.sum())) + new

    @cached_property
    def by_change(self) -> npt.NDArray[np.int64]:
        """The items that exist at both dates, largest change of probability first."""
        both = np.flatnonzero(self.present & (self.whole > 0))
        change = np.abs(self.raw[both] - self.p_before[both])
        return both[np.argsort(-change, kind="stable")]

    @property
    def divergence_before(self) -> float:
        """D of the raw snapshot, in nats, from P_t0 without the items that nobody holds any more."""
        target = np.where(self.held, self.raw, 0.0)
        return distances.divergence(target / target.sum(), self.p_before)

    @property
    def bound_before(self) -> float:
        """The total variation of the raw snapshot from the whole of P_t0."""
        return distances.total_variation(self.raw, self.p_before) + 0.5 * float(self.raw_outside.sum())

    def bound(self, q: Floats) -> float:
        """The total variation of a weighted marginal from the whole of P_t0."""
        return distances.total_variation(self.whole, q) + 0.5 * float(self.outside.sum())


@dataclass(frozen=True)
class _View:
    """The reference date and who takes part at t1."""

    at: Label | None
    raw: Floats
    raw_outside: Floats
    whole: Floats
    outside: Floats
    outside_items: pa.Array
    part: Mask
    left_out: Share


def _from_snapshot(snapshot: Snapshot, reference: Snapshot, min_items: int, users: str, drop: bool) -> _View:
    """Leave out users at both dates until nothing changes any more.

    With ``users="both"`` leaving out a user at one date leaves it out at the other, which can take the
    last holder of an item away, and with it a user who now has too few. In a log without removals
    the first round is the last.
    """
    snapshot.policy.require_same(reference.policy, "the reference")
    raw, raw_outside, names = _marginal_of(reference, snapshot)
    whole, outside = raw, raw_outside
    before = taking_part(reference, np.ones(reference.profiles.n_items, dtype=bool), min_items, None)
    cohort = cohort_of(reference, snapshot, min_items) & (snapshot.sizes() > 0) if users == "both" else None
    while True:
        if cohort is not None:
            before &= users_of(snapshot, cohort, reference)
        if not before.any():
            raise PolicyError(_nobody(min_items, users, f"the reference date {reference.at}"))
        if not before[reference.sizes() > 0].all():
            whole, outside, names = _marginal_of(reference.restricted(before), snapshot)
        part = taking_part(snapshot, (whole > 0) | (not drop), min_items, cohort)
        if cohort is None or (part == cohort).all():
            left_out = _left_out(reference, before)
            return _View(reference.at, raw, raw_outside, whole, outside, names, part, left_out)
        cohort = part


def _from_marginal(snapshot: Snapshot, marginal: Marginal, min_items: int, users: str, drop: bool) -> _View:
    if users == "both":
        raise PolicyError(
            "users='both' needs to know who had a profile at the reference date, which a marginal does not tell: "
            "give the date of the reference instead"
        )
    if marginal.policy is not None:
        ours = replace(snapshot.policy, min_items=min_items, users=users)
        ours.require_same(marginal.policy, "the reference marginal")
    raw, outside, names = _aligned(marginal, snapshot)
    part = taking_part(snapshot, (raw > 0) | (not drop), min_items, None)
    return _View(marginal.at, raw, outside, raw, outside, names, part, Share())


def _marginal_of(reference: Snapshot, snapshot: Snapshot) -> tuple[Floats, Floats, pa.Array]:
    """The same of a snapshot; one of the same log has the same codes."""
    if reference.log.items is snapshot.log.items:
        return reference.probabilities(), np.zeros(0), snapshot.log.items.take([])
    return _aligned(reference.marginal(), snapshot)


def _aligned(marginal: Marginal, snapshot: Snapshot) -> tuple[Floats, Floats, pa.Array]:
    """Probabilities over the items of the log; those of items that the log does not have, and their ids."""
    codes = snapshot.log.items.codes(marginal.items)
    known = codes >= 0
    p = np.zeros(snapshot.profiles.n_items)
    p[codes[known]] = marginal.probabilities[known]
    outside = ~known & (marginal.probabilities > 0)
    return p, marginal.probabilities[outside], marginal.items.filter(pa.array(outside))


def _left_out(snapshot: Snapshot, part: Mask) -> Share:
    out = (snapshot.sizes() > 0) & ~part
    return Share(int(out.sum()), float(snapshot.shares()[out].sum()))


def _nobody(min_items: int, users: str, when: str) -> str:
    who = "has a profile at both dates" if users == "both" else "is left"
    more = f" with at least {min_items} items" if min_items > 1 else ""
    return f"no user{more} {who} at {when}: relax min_items or users"


def _nothing_shared(snapshot: Snapshot, reference: Reference) -> str:
    marginal = reference.marginal() if isinstance(reference, Snapshot) else reference
    marginal = marginal if isinstance(marginal, Marginal) else Marginal.of(marginal)
    theirs = ", ".join(repr(v) for v in marginal.items.slice(0, 3).to_pylist())
    ours = snapshot.log.items
    one, other = kind_of(marginal.items.type), kind_of(ours.values.type)
    hint = (
        f"the ids there are {one} and here {other}: make them the same type"
        if one != other
        else "are they ids of the same catalogue?"
    )
    return (
        f"the reference and the log share no item: the reference has {theirs}, "
        f"the log has {ours.examples()}; {hint}"
    )
