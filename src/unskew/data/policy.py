"""The policy under which users and items are chosen; what was made under one cannot be used under another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from unskew.errors import PolicyError, option
from unskew.json_fields import read_dataclass
from unskew.text import enumerate_words, one_line

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
