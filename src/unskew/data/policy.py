"""How users and items were chosen: P(u), P(i|u), who is evaluated, and at which level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtri, stdtrit

from unskew.arrays.types import Floats, Mask
from unskew.errors import InputError, PolicyError, option
from unskew.json_fields import read_dataclass
from unskew.text import enumerate_words, one_line

if TYPE_CHECKING:
    from unskew.data.slice import Slice


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    known: Any = level
    if not isinstance(known, Real) or not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, not {level!r}")


def critical_value(level: float, n: float | None = None) -> float:
    """How many standard errors an interval has on each side; `n` units gave the error, None if it is known.

    >>> [round(critical_value(0.95, n), 3) for n in (None, 1000, 10)]
    [1.96, 1.962, 2.262]
    """
    check_level(level)
    upper = 0.5 + level / 2
    return float(ndtri(upper) if n is None else stdtrit(n - 1, upper))


@dataclass(frozen=True)
class Share:
    """How many, and how much of the probability."""

    count: int = 0
    mass: float = 0.0

    @classmethod
    def of(cls, mask: Mask, shares: Floats) -> Self:
        """Those that are marked, and what they have of `shares`."""
        return cls(int(mask.sum()), float(shares[mask].sum()))


def eligible_users(part: Slice, keep: Mask | None, min_items: int, cohort: Mask | None = None) -> Mask:
    """The users with P(u) > 0, `min_items` items and one item to keep (None for all); of the cohort, if any.

    Items that are not kept count for `min_items`: raw and weighted scores rest on the same users, but for those
    who have no item to keep.
    """
    eligible: Mask = part.sizes() >= max(min_items, 1)
    if keep is not None:
        eligible &= part.kept_sizes(keep) > 0
    eligible &= part.shares() > 0
    return eligible if cohort is None else eligible & cohort


def find_users(one: Slice, mask: Mask, other: Slice) -> Mask:
    """Which users of `other` are in the `mask` of `one`; the two may come from different logs."""
    if one.log.users is other.log.users:
        return mask
    codes = one.log.users.codes(other.log.users.values)
    return np.where(codes >= 0, mask[codes], False)


USERS = ("all", "both")
"""Who may be eligible: all users, or those who exist at both dates."""

HELD = {
    "profiles": "whole profiles",
    "window": "interactions between two times",
    "later": "interactions of users after a time at which they had a profile",
    "last": "the last items of profiles",
}
"""What items are held out from, in words."""

_PROTOCOLS = {"profiles": "leave-one-out", "later": "time split", "last": "leave-last-out"}


@dataclass(frozen=True)
class Policy:
    """How a marginal was made. Two marginals can be compared only under the same policy.

    Attributes
    ----------
    p_user, p_item
        How P(u) and P(i|u) were chosen, in words.
    min_items
        Only users with at least this many items were eligible.
    users
        ``all``, or ``both`` for the users who exist at both dates.
    view
        Which view of the log was used.
    held
        What items are held out from: whole ``profiles``; a ``window`` of what anyone took; what users took
        ``later`` than a time at which they had a profile; or the ``last`` item of each profile.
    """

    p_user: str = "uniform"
    p_item: str = "uniform"
    min_items: int = 1
    users: str = "all"
    view: str = "all"
    held: str = "profiles"

    @property
    def protocol(self) -> str:
        """How items are held out: ``leave-one-out``, ``time split`` or ``leave-last-out``; or ``window``."""
        return _PROTOCOLS.get(self.held, self.held)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """What `to_dict` gave; a ValueError if it cannot be."""
        policy = read_dataclass(cls, {f.name: values[f.name] for f in fields(cls) if f.name in values})
        for name, known in (("users", USERS), ("held", HELD)):
            if getattr(policy, name) not in known:
                raise ValueError(f"{name} is {one_line(getattr(policy, name))}")
        if policy.min_items < 1:
            raise ValueError(f"at least {policy.min_items} items")
        return policy

    def require_same(self, other: Policy, what: str) -> None:
        """Refuse a reference that was made under another policy than this one."""
        names = [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]
        if names:
            theirs, ours = (
                enumerate_words([_describe(name, getattr(policy, name)) for name in names])
                for policy in (other, self)
            )
            raise PolicyError(
                f"{what} was made with {theirs}, not {ours}",
                remedy="make it again with the options used here, or use the options it was made with",
            )


def _describe(name: str, value: Any) -> str:
    """One choice in words, as whoever made it would write it."""
    if name == "view":
        return f"the {value!r} view of the log"
    if name == "held":
        return HELD[value]
    if value == "given":
        return f"numbers given for {option(name)}"
    return option(name, value.removeprefix("column ") if isinstance(value, str) else value)
