"""How items are held out: the rule, what it gives at one date, and how both are described."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unskew.arrays.profiles import all_entries, all_users
from unskew.arrays.types import Codes
from unskew.checks import require_instance
from unskew.data.log import Log
from unskew.data.marginal import Marginal
from unskew.data.policy import Share
from unskew.data.slice import Slice, Snapshot
from unskew.data.time_steps import LogSpan, Step, label_of
from unskew.data.times import Label, Moment
from unskew.errors import EmptyError, InputError, PolicyError, TimeError, option, warn
from unskew.options import check_options


@dataclass(frozen=True, repr=False, eq=False)
class LastItems(Slice):
    """Of each profile of a snapshot the item that was taken last; see `Slice`."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> LastItems:
        """The last items of the profiles of `snapshot`."""
        users, entries = find_last_entries(snapshot)
        start, stop = snapshot.profiles.start.copy(), snapshot.profiles.start.copy()
        start[users] = entries
        stop[users] = entries + 1
        return cls.cut_from(snapshot, start, stop, "last")

    def __repr__(self) -> str:
        return f"LastItems(at {self.at}: {self.n_users} users, {self.n_items} items)"


def find_last_entries(snapshot: Snapshot) -> tuple[Codes, Codes]:
    """Who has a profile, and where in ``profiles.item`` its last item is: by time, then by id.

    The order of entries cannot break ties: in a log it follows how often items are taken in all of history, which
    would put the rarest item last, and would know the future.
    """
    p = snapshot.profiles
    entries, users = all_entries(p), all_users(p)
    time = snapshot.per_entry(snapshot.log.time)
    last = time[entries] == time[p.stop[users].astype(np.int64) - 1]
    entries, users = entries[last], users[last]
    by_id = snapshot.number_by_id().profiles.item[entries]
    order = np.lexsort((by_id, users))
    is_last = np.append(users[order][1:] != users[order][:-1], True)[: len(users)]
    return users[order][is_last], entries[order][is_last]


@dataclass(frozen=True)
class SplitRule:
    """Which items are held out from what.

    Attributes
    ----------
    after
        A global time split: what users took after this time is held out from their profiles of then. A time, or
        text of how long before each date it is, such as ``"-30d"`` or, where times are plain numbers, ``"-20"``.
    leave_last_out
        The last item of each profile is held out from the rest of it.
    min_items
        Only users with at least this many items in what items are held out from are evaluated: in the profile or,
        with `after`, in what came later. With `leave_last_out` everybody has one.

    Without the first two every item of a profile is held out in turn (leave-one-out).
    """

    after: Any = None
    leave_last_out: bool = False
    min_items: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.leave_last_out, bool):
            raise InputError(f"{option('leave_last_out')} is {self.leave_last_out!r}", remedy="give True or False")
        if self.leave_last_out and self.after is not None:
            raise PolicyError(
                f"{option('after')} holds out later interactions, {option('leave_last_out', True)} the last one "
                "of each user",
                remedy="give one of the two",
            )
        check_options(self, "min_items")
        if self.leave_last_out and self.min_items > 1:
            raise PolicyError(
                f"{option('leave_last_out', True)} holds out one item of each user, and nobody has "
                f"{option('min_items', self.min_items)} of them",
                remedy=f"leave out {option('min_items')}: users with a single item are excluded already",
            )

    def __bool__(self) -> bool:
        """Whether it is another rule than leave-one-out."""
        return self.after is not None or self.leave_last_out

    def split(self, snapshot: Snapshot) -> HeldOutSplit:
        """The profiles at a date, split."""
        require_snapshot(snapshot)
        if self.leave_last_out:
            return HeldOutSplit.by_last_item(snapshot)
        if self.after is None:
            return HeldOutSplit.of_profiles(snapshot).with_min_items(self.min_items)
        return HeldOutSplit.by_time(snapshot, self.start(snapshot)).with_min_items(self.min_items)

    def split_reference(self, reference: Snapshot, now: Snapshot) -> HeldOutSplit:
        """The profiles of the reference date, split in the same way as those of `now`.

        With a time in `after`, what is held out there is what was taken in as long a time before it.
        """
        if self.after is None:
            return self.split(reference)
        split = HeldOutSplit.by_time(reference, self.reference_start(reference, now))
        return split.with_min_items(self.min_items)

    def start(self, snapshot: Slice) -> Moment:
        """With `after`: the time after which things are held out at a date."""
        log = snapshot.log
        step = self._step(log)
        if step is not None:
            return step.before(log.axis, Moment(snapshot.tick, snapshot.at))
        return log.moment(self.after)

    def reference_start(self, reference: Snapshot, now: Snapshot) -> Moment:
        """With `after`: the time after which things are held out at the reference date."""
        log, begin = reference.log, self.start(now)
        if self.is_relative(now.log):
            tick = self.start(reference).tick
        elif log.axis == now.log.axis:
            tick = reference.tick - (now.tick - begin.tick)
        else:
            raise TimeError(
                "the log of the reference counts time in another way than that of the date",
                remedy=f"say with {option('after')} how long before each date to begin, such as -30d",
            )
        if tick < log.span[0]:
            raise InputError(
                f"{begin.label} is so long before {now.at} that the same length of time before "
                f"{reference.at} would begin before the log does, at {log.first}",
                remedy=f"choose a later {option('after')} or a later {option('reference')}",
            )
        return Moment(tick, label_of(log.axis, tick))

    def describe(self, log: Log) -> dict[str, Any]:
        """The rule, ready for JSON: times in the one form that they have on a grid of dates."""
        after: Label | None = None
        if self.is_relative(log):
            after = str(self.after).strip()
        elif self.after is not None:
            after = label_of(log.axis, log.moment(self.after).tick)
        return {"after": after, "leave_last_out": self.leave_last_out}

    def is_relative(self, log: Log) -> bool:
        """Whether `after` says how long before each date it is."""
        return self._step(log) is not None

    def _step(self, log: Log) -> Step | None:
        """How long before each date `after` is; None if it is a time.

        A negative number is a time where the log has such times.
        """
        text = self.after.strip() if isinstance(self.after, str) else ""
        if not LogSpan(log.axis, *log.span).is_relative(text):
            return None
        try:
            return Step.of(log.axis, text[1:].strip())
        except TimeError as error:
            raise error.with_context(option("after", text)) from None


LEAVE_ONE_OUT = SplitRule()
"""The rule where nothing else is asked for."""


def split_dates(rule: SplitRule, now: Slice, reference: Any) -> tuple[Slice, Any]:
    """What is held out at both dates, which weights are fitted to: the parts of the one and of the other.

    A reference that is no snapshot (a marginal, a mapping, a window) is taken as it is.
    """
    if not rule:
        return now, reference
    snapshot = require_snapshot(now)
    part = rule.split(snapshot).pairs
    if not isinstance(reference, Snapshot):
        if isinstance(reference, Marginal) and rule.after is not None:
            _compare_lengths(rule.start(snapshot), snapshot, reference)
        return part, reference
    return part, rule.split_reference(reference, snapshot).pairs


def _compare_lengths(start: Moment, now: Snapshot, reference: Marginal) -> None:
    """Warn where a saved item mix is of a window of another length than that of the date."""
    axis = now.log.axis
    try:
        begin, end = (axis.moment(label) for label in (reference.after, reference.at))
    except (TimeError, InputError):
        return  # it does not say, or counts time in another way
    earlier, later = end.tick - begin.tick, now.tick - start.tick
    if abs(earlier - later) > 0.02 * later:
        warn(
            f"the reference is the interactions from {begin.label} to {end.label}, a window of another length "
            f"than that from {start.label} to {now.at}: save it again with one of the same length"
        )


def require_snapshot(value: Any) -> Snapshot:
    """Refuse what is no snapshot, above all a window: profiles must not hold what came later."""
    return require_instance(
        Snapshot,
        value,
        "a snapshot",
        "give the profiles at a date, such as log.at(date); to hold out later interactions, use "
        f"{option('after')}",
    )


@dataclass(frozen=True)
class HeldOutSplit:
    """The profiles at a date, split."""

    # The profiles that a recommender may see. Where they are `pairs` too, what is held out is still in them, and
    # is taken out of them one by one.
    known: Snapshot
    whole: Slice  # all that could be held out, of anyone
    pairs: Slice  # the same of the users who have a profile in `known`, and enough items: what is held out
    profiled: Slice  # the same of all users who have a profile in `known`, however few their items

    @classmethod
    def of_profiles(cls, snapshot: Snapshot) -> HeldOutSplit:
        """Every item of every profile is held out, each from the rest of its profile."""
        return cls(snapshot, snapshot, snapshot, snapshot)

    @classmethod
    def by_time(cls, snapshot: Snapshot, start: Moment) -> HeldOutSplit:
        """What users took after `start` and up to the snapshot is held out from the profiles of then."""
        if start.tick >= snapshot.tick:
            raise TimeError(
                f"{option('after', start.label)} is not before {option('at', snapshot.at)}",
                remedy="what is held out lies between the two: choose an earlier date",
            )
        log = snapshot.log
        whole, known = log.between(start, snapshot), log.at(start)
        pairs = whole.keep_known(known)
        if not pairs.shares().any():
            raise EmptyError(
                f"no user with a profile at {known.at} has an interaction between then and {snapshot.at}: there "
                "is nothing to hold out",
                remedy=f"choose an earlier {option('after')}",
            )
        return cls(known, whole, pairs, pairs)

    @classmethod
    def by_last_item(cls, snapshot: Snapshot) -> HeldOutSplit:
        """The last item of each profile is held out from the rest of it; users with one item are excluded."""
        whole = LastItems.of(snapshot)
        pairs = whole.restrict(snapshot.sizes() > 1)
        if not pairs.shares().any():
            raise EmptyError(
                f"no user has more than one item at {snapshot.at}: without the last nothing is left to recommend "
                "from",
                remedy=f"choose a later date, or leave out {option('leave_last_out')}",
            )
        return cls(snapshot.without(find_last_entries(snapshot)[1]), whole, pairs, pairs)

    def with_min_items(self, min_items: int) -> HeldOutSplit:
        """The same without the users who have fewer items to hold out from; `known` stays as it is."""
        return replace(self, pairs=self.pairs.with_min_items(min_items))

    @property
    def is_from_profiles(self) -> bool:
        """Whether what is held out is still in `known`, and is taken out of it."""
        return self.profiled is self.known

    @property
    def without_profile(self) -> Share:
        """Who has something that could be held out, but nothing else to recommend from."""
        out = (self.whole.sizes() > 0) & (self.profiled.sizes() == 0)
        return self.whole.share_of(out)

    @property
    def below_min_items(self) -> Share:
        """Who has a profile, but fewer items than `min_items`."""
        if self.pairs is self.profiled:
            return Share()
        out = (self.profiled.sizes() > 0) & (self.pairs.sizes() == 0)
        return self.profiled.share_of(out)
