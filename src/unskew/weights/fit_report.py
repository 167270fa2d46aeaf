"""The figures of a fit: how good the weights are, what was left out, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from unskew.data.shares import Share
from unskew.json_fields import read_dataclass

STATUSES = ("solved", "certified", "unfinished")
"""How a fit can end."""


@dataclass(frozen=True)
class Certificate:
    """Why no weighting of the profiles can do better than `bound_least`.

    Attributes
    ----------
    items
        Number of items in the set S that proves it.
    target
        Their mass at the reference date, T(S).
    reach
        The share of users (by P(u)) who hold any of them: no weighting gives S more.
    others
        Number of items outside S that have a target.
    """

    items: int = 0
    target: float = 0.0
    reach: float = 1.0
    others: int = 0


@dataclass(frozen=True, kw_only=True)
class MarginReport:
    """What is known about one margin beyond items.

    Attributes
    ----------
    name
        That of the margin.
    groups
        How many of its groups have a target.
    residual
        Total variation between the weighted mix of its groups and the fitted target.
    bound_before, bound
        Total variation from the mix of its groups at t0: of the raw snapshot, and of the weighted one.
    bound_least
        No weighting of these profiles has a smaller residual, whatever becomes of the other margins.
    """

    name: str
    groups: int
    residual: float
    bound_before: float
    bound: float
    bound_least: float

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: what ``unskew weights --json`` prints."""
        values = asdict(self)
        return {"bound_after" if name == "bound" else name: value for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """What is known about fitted weights.

    Attributes
    ----------
    status
        ``solved``: the residual is at most `tol` (with `top` or `items`: the gradient is);
        ``certified``: no weighting can do better by more than `tol`; ``unfinished``: neither.
    divergence_before, divergence
        D in nats: of the raw snapshot, and of the fitted target from the weighted marginal q.
    bound_before, bound
        Total variation from the whole of P_t0: of the raw snapshot with all users and items, and of q.
        No constant algorithm's score in [0, 1] is off by more.
    residual
        Total variation between q and the fitted target.
    bound_least
        No weighting of these profiles has a smaller residual.
    gap
        ``D - min D`` is at most this, over every choice of P(i|u).
    certificate
        Why `bound_least` cannot be beaten.
    fitted
        Number of items with a fitted weight.
    passes, history, seconds
        Sweeps over the data, D after each accepted one, and how long all took.
    new_items, vanished_items
        Items of one date only: in no profile of those evaluated at the other.
    users_excluded, users_excluded_reference
        Users who hold something at t1 (at t0) and are not evaluated.
    margins
        The margins beyond items; those of items are the fields above.
    margin_gap
        With margins: the mean over items and margins of ``KL(q || T)`` is at most this above the least that any
        choice of P(i|u) reaches. None where matching the items matched the margins as well.
    """

    status: str
    divergence_before: float
    divergence: float
    bound_before: float
    bound: float
    residual: float
    bound_least: float
    gap: float
    certificate: Certificate
    fitted: int
    passes: int
    history: tuple[float, ...]
    new_items: Share
    vanished_items: Share
    users_excluded: Share
    users_excluded_reference: Share
    seconds: float = 0.0
    margins: tuple[MarginReport, ...] = ()
    margin_gap: float | None = None

    @property
    def converged(self) -> bool:
        """Whether the fit ended because nothing was left to gain."""
        return self.status != "unfinished"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FitReport:
        """What `to_dict` gave."""
        found = read_dataclass(cls, values)
        if found.status not in STATUSES:
            raise ValueError(f"status is {found.status!r}")
        return found
