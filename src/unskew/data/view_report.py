"""What a view of a log left out of it, why it was taken, and what would make it better."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Stratum:
    """Some of the pairs that a view decides about together.

    Attributes
    ----------
    name
        Which, in words: ``rank 1``.
    pairs, dropped
        How many there are, and how many of them the view leaves out.
    dropped_mass
        How much mass of the whole log those left out have, where users are alike, and so are the items of a user.
    observed, usual
        Pairs for each user who could be shown something, and how many there would be had nothing been shown; None
        where a view does not estimate this.
    """

    name: str
    pairs: int
    dropped: int
    dropped_mass: float
    observed: float | None = None
    usual: float | None = None


@dataclass(frozen=True)
class ViewReport:
    """What a view left out, and why it was taken.

    Attributes
    ----------
    view
        Its name.
    reason
        Why it was taken: what is known about the log.
    pairs, dropped_pairs
        Interactions of the whole log, and how many of them the view leaves out.
    users, dropped_users
        Users of the whole log, and how many have nothing left.
    strata
        The same by stratum, of the views that have any.
    notes
        What was found on the way that a reader should know: which model stands for production, a hold-out group
        that differs from the others.
    advice
        What would improve it, a sentence each.
    """

    view: str
    reason: str
    pairs: int
    dropped_pairs: int
    users: int
    dropped_users: int
    strata: tuple[Stratum, ...] = ()
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "strata": [asdict(stratum) for stratum in self.strata]}
