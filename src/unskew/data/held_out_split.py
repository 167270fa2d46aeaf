"""What a recommender may see, and what it has to find: made by one of three rules (`SplitRule`).

Leave-one-out, the global time split and leave-last-out differ in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from unskew.data.last_items import LastItems, find_last_entries
from unskew.data.shares import Share
from unskew.data.slice import Slice
from unskew.data.snapshot import Snapshot
from unskew.data.times import Moment
from unskew.errors import EmptyError, TimeError, option


@dataclass(frozen=True)
class HeldOutSplit:
    """The profiles at a date, split.

    Attributes
    ----------
    known
        The profiles that a recommender may see. Where they are `pairs` too, what is held out is still in them, and
        is taken out of them one by one.
    whole
        All that could be held out, of anyone.
    pairs
        The same of the users who have a profile in `known`, and enough items: what is held out.
    profiled
        The same of all users who have a profile in `known`, however few their items.
    """

    known: Snapshot
    whole: Slice
    pairs: Slice
    profiled: Slice

    @classmethod
    def of_profiles(cls, snapshot: Snapshot) -> HeldOutSplit:
        """Every item of every profile is held out, each from the rest of its profile."""
        return cls(snapshot, snapshot, snapshot, snapshot)

    @classmethod
    def by_time(cls, snapshot: Snapshot, start: Moment) -> HeldOutSplit:
        """What users took after `start` and up to the snapshot is held out from the profiles of then."""
        if start.tick >= snapshot.tick:
            raise TimeError(f"{option('after', start.label)} is not before {option('at', snapshot.at)}")
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
        """The last item of each profile is held out from the rest of it; who has no other item is left out."""
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
