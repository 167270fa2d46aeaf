"""Two dates as arrays over the items of one log, with the users whom the policy keeps.

What is asked of the users of either date is asked of an engine (`unskew.engines`); here are no arrays over users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unskew.arrays import distances
from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import require_instance
from unskew.data.ids import Ids, kind_of
from unskew.data.log import DatedLog, Log
from unskew.data.marginal import Marginal
from unskew.data.policy import ItemPrior, Share, UserPrior
from unskew.data.slice import Slice
from unskew.data.times import Label, to_python_value
from unskew.engines.population import Population, SnapshotOnSpark, is_at_spark, open_population
from unskew.errors import InputError, PolicyError, option
from unskew.frames import is_frame
from unskew.weights.fit_options import FitOptions

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkLog, SparkSnapshot

Reference = Slice | SnapshotOnSpark | Marginal | Mapping[Any, float] | Any
"""Whatever can be compared with: a snapshot, a marginal, a mapping or a frame of probabilities."""


def is_date(reference: Any) -> bool:
    """Whether a reference is a date of the log, and not profiles or an item mix."""
    return isinstance(to_python_value(reference), str | int | float | date)


def resolve_reference(
    log: Log | SparkLog, reference: Any, *, p_user: UserPrior = None, p_item: ItemPrior = None
) -> Reference:
    """What is compared with: the snapshot at a date, or the reference itself if that is no date."""
    if is_date(reference):
        return log.at(reference, p_user=p_user, p_item=p_item)
    if isinstance(reference, DatedLog):
        raise InputError(
            "the reference is a whole log", remedy="give a date, or the profiles at one: log.at(date)"
        )
    return reference


@dataclass(frozen=True)
class ReferenceMix:
    """The item mix of the reference date, over the items of the log that is compared with it."""

    known: Floats  # the probability of each item of the log
    # The probabilities of items that the log does not have, and their ids.
    outside: Floats
    outside_items: pa.Array

    @classmethod
    def of_marginal(cls, marginal: Marginal, items: Ids) -> ReferenceMix:
        """Look the items of a marginal up."""
        codes = items.match(marginal.items)
        known = codes >= 0
        p = np.zeros(len(items))
        p[codes[known]] = marginal.probabilities[known]
        outside = ~known & (marginal.probabilities > 0)
        return cls(p, marginal.probabilities[outside], marginal.items.filter(pa.array(outside)))

    @classmethod
    def of_population(cls, reference: Population, items: Ids) -> ReferenceMix:
        """The mix of some users; those of the same log have the same codes."""
        p = reference.marginal()
        if reference.items is items:
            return cls(p, np.zeros(0), items.take([]))
        here = np.flatnonzero(p > 0)
        return cls.of_marginal(Marginal(reference.items.take(here), p[here]), items)


@dataclass(frozen=True)
class Alignment:
    """What a fit sees of two dates. Arrays are over all items of the log."""

    # All users at t1, and those who are evaluated.
    everyone: Population
    now: Population
    at: Label | None  # the reference date, None if it is not known
    # The item mix at t0 of all users who have enough items, and of those who are evaluated.
    raw: ReferenceMix
    reference: ReferenceMix
    p_before: Floats  # P_t1 of all users who have enough items
    # The items that anyone with P(u) > 0 holds at t1, and that anyone who is evaluated holds.
    held: Mask
    present: Mask
    drop: bool  # whether items that the reference lacks are dropped
    excluded_reference: Share  # users who are not evaluated at t0
    # All users at t0, and those who are evaluated; None where the reference is a marginal.
    everyone_then: Population | None = None
    then: Population | None = None

    @classmethod
    def of(cls, snapshot: Slice | SparkSnapshot, reference: Reference, options: FitOptions) -> Alignment:
        """Apply the policy at both dates."""
        if not is_at_spark(snapshot):
            require_instance(Slice, snapshot, "a snapshot", "give the profiles at a date, such as log.at(date)")
        everyone, everyone_then, then = open_population(snapshot), None, None
        source: Population | Marginal
        if isinstance(reference, Slice) or is_at_spark(reference):
            source = everyone_then = open_population(reference)
            raw, mix, now, excluded, then = _align_population(everyone, everyone_then, options)
        elif isinstance(reference, Marginal | Mapping) or is_frame(reference):
            source = marginal = reference if isinstance(reference, Marginal) else Marginal.of(reference)
            raw = mix = ReferenceMix.of_marginal(marginal, everyone.items)
            now, excluded = _align_marginal(everyone, marginal, mix, options), Share()
        else:
            raise InputError(
                f"{option('reference')} is a {type(reference).__name__}",
                remedy="give a snapshot such as log.at(date), a Marginal, a mapping or a dataframe",
            )
        held = everyone.marginal() > 0
        if not ((mix.known > 0) & held).any():
            raise _nothing_shared(everyone, source)
        if now.is_empty():
            raise _nobody(options, str(everyone.at))
        p_before = _with_min_items(everyone, options.min_items).marginal()
        return cls(
            everyone=everyone,
            now=now,
            at=source.at,
            raw=raw,
            reference=mix,
            p_before=p_before,
            held=held,
            present=held if now.excluded().count == 0 else now.held_items(),
            drop=options.drops_new,
            excluded_reference=excluded,
            everyone_then=everyone_then,
            then=then,
        )

    @property
    def p_reference(self) -> Floats:
        """P_t0 of those who are evaluated there."""
        return self.reference.known

    def target(self, *, keep_new: bool) -> Floats:
        """What is fitted: P_t0 without vanished items, renormalised; with room for new ones if kept."""
        known = np.where(self.present, self.p_reference, 0.0)
        if not known.any():
            raise InputError(
                "no evaluated user has any item of the reference",
                remedy=f"lower {option('min_items')}, or use {option('users', 'all')}",
            )
        known /= known.sum()
        if not keep_new:
            return known
        new = np.where(self.p_reference > 0, 0.0, self.now.marginal())
        return known * (1.0 - float(new.sum())) + new

    @cached_property
    def by_change(self) -> Codes:
        """The items that exist at both dates, largest change of probability first."""
        both = np.flatnonzero(self.present & (self.p_reference > 0))
        change = np.abs(self.raw.known[both] - self.p_before[both])
        return both[np.argsort(-change, kind="stable")]

    @property
    def new(self) -> Mask:
        """The items that are held at t1 and unknown at t0."""
        new: Mask = self.held & (self.p_reference == 0)
        return new

    def vanished(self, among: Mask) -> Floats:
        """The probabilities at t0 of items that are not among these any more."""
        gone = (self.p_reference > 0) & ~among
        return np.concatenate([self.p_reference[gone], self.reference.outside])

    @property
    def divergence_before(self) -> float:
        """D of the raw snapshot, in nats, from P_t0 without the items that nobody holds any more."""
        target = np.where(self.held, self.raw.known, 0.0)
        return distances.divergence(target / target.sum(), self.p_before)

    @property
    def bound_before(self) -> float:
        """The total variation of the raw snapshot from the whole of P_t0."""
        return distances.total_variation(self.raw.known, self.p_before) + 0.5 * float(self.raw.outside.sum())

    def bound(self, q: Floats) -> float:
        """The total variation of a weighted marginal from the whole of P_t0."""
        return distances.total_variation(self.p_reference, q) + 0.5 * float(self.reference.outside.sum())


def _align_population(
    everyone: Population, reference: Population, options: FitOptions
) -> tuple[ReferenceMix, ReferenceMix, Population, Share, Population]:
    """Leave out users at both dates until nothing changes any more.

    Gives the mix of everybody at t0 and of those evaluated, those evaluated at t1, who is excluded at t0, and
    those evaluated there.

    With ``users="both"`` leaving out a user at one date leaves it out at the other, which can take the
    last holder of an item away, and with it a user who now has too few. In a log without removals
    the first round is the last.
    """
    everyone.policy.require_same(reference.policy, "the reference")
    before = reference.eligible(None, options.min_items)
    if before.is_empty():
        raise _nobody(options, f"the reference date {reference.at}")
    enough = _with_min_items(reference, options.min_items)
    raw = mix = ReferenceMix.of_population(enough, everyone.items)
    cohort = everyone.also_in(before) if options.users == "both" else None
    while True:
        if cohort is not None:
            before = before.also_in(cohort)
        if before.is_empty():
            raise _nobody(options, f"the reference date {reference.at}")
        excluded = before.excluded()
        if cohort is not None and excluded.count:
            mix = ReferenceMix.of_population(before, everyone.items)
        keep = (mix.known > 0) | (not options.drops_new)
        now = everyone.eligible(keep, options.min_items, cohort)
        if cohort is None or now.is_same(cohort):
            return raw, mix, now, excluded, before
        cohort = now


def _align_marginal(
    everyone: Population, marginal: Marginal, mix: ReferenceMix, options: FitOptions
) -> Population:
    """Those evaluated at t1; refuses a marginal of another policy."""
    if options.users == "both":
        raise PolicyError(
            f"{option('users', 'both')} needs to know who had a profile at the reference date, which a marginal "
            "does not say",
            remedy="give the date of the reference instead",
        )
    if marginal.policy is not None:
        policy = replace(everyone.policy, min_items=options.min_items, users=options.users)
        policy.require_same(marginal.policy, "the reference marginal")
    return everyone.eligible((mix.known > 0) | (not options.drops_new), options.min_items)


def _with_min_items(everyone: Population, min_items: int) -> Population:
    """Those who have enough items: everybody, if one is enough."""
    return everyone if min_items <= 1 else everyone.eligible(None, min_items)


def _nobody(options: FitOptions, when: str) -> PolicyError:
    has = "a profile" if options.min_items == 1 else f"at least {options.min_items} items"
    lower = [f"lower {option('min_items')}"] * (options.min_items > 1)
    if options.users == "both":
        widen = [*lower, f"use {option('users', 'all')}"]
        return PolicyError(f"no user has {has} at both dates", remedy=", or ".join(widen))
    return PolicyError(f"no user has {has} at {when}", remedy="".join(lower) or "choose another date")


def _nothing_shared(everyone: Population, reference: Population | Marginal) -> InputError:
    reference_items, log_items = reference.items, everyone.items
    if isinstance(reference, Marginal):
        reference_items = Ids.of(reference.items)
    reference_kind, log_kind = kind_of(reference_items.values.type), kind_of(log_items.values.type)
    hint = (
        f"ids of the reference are {reference_kind}, those of the log {log_kind}; make them the same type"
        if reference_kind != log_kind
        else "are they ids of the same catalogue?"
    )
    return InputError(
        f"the reference and the log share no item (the reference has {reference_items.examples()}, the log has "
        f"{log_items.examples()})",
        remedy=hint,
    )
