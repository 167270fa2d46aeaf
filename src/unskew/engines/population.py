"""The users of one date, wherever their profiles are: who is eligible, who is left out, and passes over them.

Whatever is answered here is about all users together (a share, a marginal, a mask over items), so that no array
over users ever leaves an engine. The local engine is `unskew.engines.local`.
"""

from __future__ import annotations

from typing import Protocol, Self

from unskew.arrays.types import Floats, Mask
from unskew.data.ids import Ids
from unskew.data.policy import Policy, Share
from unskew.data.slice import Slice
from unskew.data.times import Label
from unskew.solve.passes import Passes


class AppliedWeights(Protocol):
    """Item weights on some users, as `unskew.data.weighting.Weighting` has them."""

    @property
    def log_weights(self) -> Floats: ...

    @property
    def name(self) -> str: ...

    @property
    def top(self) -> int | None: ...

    @property
    def frees_constant_lists(self) -> bool: ...

    def marginal(self) -> Floats:
        """The weighted item marginal."""


class Population(Protocol):
    """Some of the users who hold anything at a date; arrays are over the items of its log.

    Attributes
    ----------
    at, policy
        The date, and how P(u) and P(i|u) were chosen.
    items
        The ids of the items.
    """

    @property
    def at(self) -> Label: ...

    @property
    def policy(self) -> Policy: ...

    @property
    def items(self) -> Ids: ...

    def marginal(self) -> Floats:
        """P(i) of these users."""

    def held_items(self) -> Mask:
        """The items that any of these users holds."""

    def eligible(self, keep: Mask | None, min_items: int, among: Self | None = None) -> Self:
        """Those with P(u) > 0 who hold at least `min_items` of the items to keep (None for all).

        With `among`, only those who were found eligible before.
        """

    def also_in(self, other: Self) -> Self:
        """Those who are among the users of another date, maybe of another log, as well."""

    def is_empty(self) -> bool:
        """Whether nobody is left."""

    def is_same(self, other: Self) -> bool:
        """Whether these are the same users of the same date."""

    def excluded(self) -> Share:
        """The users who hold something at the date and are not among these."""

    def passes(self) -> Passes:
        """Passes over the profiles of these users, counted from 0."""

    def weigh(self, log_weights: Floats, top: int | None) -> AppliedWeights:
        """Fitted log-weights of all items on these users; `top` if only so many items have one."""

    def collect(self) -> Slice:
        """Their profiles, on this machine."""
