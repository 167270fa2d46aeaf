"""Which pairs are held out and how: one set of options for everything that scores, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from unskew.checks import require_sample_size, require_whole_number
from unskew.data.held_out import SplitRule
from unskew.errors import PolicyError, option

_MOST_LEFT_OUT = 2**31 - 1  # items, more than anybody holds


class SelectionKeywords(TypedDict, total=False):
    """The options by name, as functions take them; see `SelectionOptions`."""

    sample: int | Literal["auto", "all"] | None
    seed: int
    leave_out: int
    after: Any
    leave_last_out: bool
    folds: int | None
    min_items: int


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Which pairs are held out.

    Attributes
    ----------
    sample, seed
        How many pairs are drawn, and where the draws begin. None or ``"all"`` for every pair; ``"auto"`` for every
        pair unless that would take hours, where whoever runs the evaluation can tell.
    leave_out
        How many items of a profile are taken out at a time.
    after
        A time, or how long before the date it is: what users took later is held out.
    leave_last_out
        Whether the last item of each profile is held out.
    folds
        Into how many folds pairs are dealt for cross-fitting; None for none.
    min_items
        Only users with at least this many items in what items are held out from are scored; see `SplitRule`.
    may_draw
        Whether it was left open how many pairs are drawn.
    """

    sample: Any = None
    seed: int = 0
    leave_out: int = 1
    after: Any = None
    leave_last_out: bool = False
    folds: int | None = None
    min_items: int = 1
    may_draw: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "may_draw", isinstance(self.sample, str) and self.sample == "auto")
        if isinstance(self.sample, str) and self.sample in ("auto", "all"):
            object.__setattr__(self, "sample", None)
        if self.sample is not None:
            require_sample_size(option("sample"), self.sample)
        require_whole_number(option("seed"), self.seed, "where the draws begin", 0)
        require_whole_number(
            option("leave_out"), self.leave_out, "how many items to take out of a profile", most=_MOST_LEFT_OUT
        )
        split = bool(self.rule)
        if self.folds is not None:
            require_whole_number(option("folds"), self.folds, "how many parts the pairs are dealt into", 2)
            if split or self.leave_out > 1:
                raise PolicyError(
                    f"{option('folds')} holds out pairs one at a time from the profiles of one date",
                    remedy=f"leave out {option(self._protocol if split else 'leave_out')}",
                )
        if split and self.leave_out > 1:
            raise PolicyError(
                f"{option('leave_out')} holds out several items of a profile at a time, but "
                f"{option(self._protocol)} does not hold out from profiles",
                remedy="give one of the two",
            )

    @property
    def rule(self) -> SplitRule:
        """How profiles are split into what is known and what is held out."""
        return SplitRule(self.after, self.leave_last_out, self.min_items)

    @property
    def _protocol(self) -> str:
        return "after" if self.after is not None else "leave_last_out"
