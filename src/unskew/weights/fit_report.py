"""What a fit came to, and why it is no better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from unskew.arrays.types import Floats, Mask
from unskew.data.policy import Share
from unskew.storage.files import read_dataclass
from unskew.text import enumerate_words, percent, short_percent, thousands
from unskew.weights.fit_options import FitOptions

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
    """What is known about one margin beyond items."""

    name: str
    groups: int  # how many of its groups have a target
    residual: float  # total variation between the weighted mix of its groups and the fitted target
    # Total variation from the mix of its groups at t0: of the raw snapshot, and of the weighted one.
    bound_before: float
    bound: float
    # No weighting of these profiles has a smaller residual, whatever becomes of the other margins.
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
        report = read_dataclass(cls, values)
        if report.status not in STATUSES:
            raise ValueError(f"status is {report.status!r}")
        return report


def explain_fit(report: FitReport, options: FitOptions) -> str:
    """Why the weights are as they are, and what would make them better."""
    keeps_new = not options.drops_new and report.new_items.count > 0
    if report.converged and report.margin_gap is not None:
        return explain_margins(report, options.tol)
    if report.status == "certified":
        fitted_only = keeps_new or report.vanished_items.count > 0  # T is not quite the mix of the reference date
        had = "should get {} of the fitted mix" if fitted_only else "had {} of the mass at the reference date"
        return explain_certificate(report.certificate, had)
    if report.status != "solved":
        known = report.bound_least > options.tol
        least = f", and no weighting can get below {report.bound_least:.2g}" if known else ""
        return (
            f"the fit stopped after {report.passes} passes, {report.residual:.2g} away from the target{least}: "
            "allow more passes or a larger tolerance"
        )
    if options.is_subset and report.residual > options.tol:
        return (
            f"the gradient of D over these {report.fitted} weights is at most {options.tol:g}: "
            "changing them a little gains nothing; more items would"
        )
    if keeps_new:
        return (
            f"among the items of the reference date the weighted mix matches that date to within {options.tol:g}; "
            f"the {report.new_items.count} new items keep their mass, so scores are comparable with "
            "that date only up to the bound"
        )
    if report.vanished_items.mass > options.tol:
        gone = report.vanished_items
        return (
            f"among the items left the weighted mix matches the reference date to within {options.tol:g}; "
            f"{gone.count} vanished items had {short_percent(gone.mass)} of the mass then, "
            "which no weighting brings back"
        )
    return f"the weighted mix matches the reference date to within {options.tol:g}"


def explain_margins(report: FitReport, tol: float) -> str:
    """How items and the other margins were matched together, and what kept them apart."""
    every: list[FitReport | MarginReport] = [report, *report.margins]
    names = ["items", *(f"{margin.name!r}" for margin in report.margins)]
    if report.status == "solved":
        return f"the weighted mix of {enumerate_words(names)} matches the reference date to within {tol:g} each"
    away = [
        f"{name} {match.residual:.2g} away from the target (alone at least {match.bound_least:.2g})"
        for name, match in zip(names, every, strict=True)
        if match.residual > tol
    ]
    if all(match.residual - match.bound_least <= tol for match in every):
        return f"no weighting of these profiles can do better: {enumerate_words(away)}"
    return (
        "the margins contradict each other, and no weighting of these profiles does noticeably better for all of "
        f"them: {enumerate_words(away)}"
    )


EXTREME = 1e4
"""A weight beyond this, or below one over it, is shown as what it means: beside others it decides alone."""


def explain_range(weights: Floats) -> str:
    """Between what the weights lie (above 0 all of them), and what those far out of range mean."""
    rare, sure = weights < 1 / EXTREME, weights > EXTREME
    usual = weights[~rare & ~sure]
    words = [f"{usual.min():.3g} to {usual.max():.3g}"] if len(usual) else []
    if rare.any():
        words.append(f"{_count_items(rare)} held out only if a user has nothing else")
    if sure.any():
        words.append(f"{_count_items(sure)} held out whenever a user has {'it' if sure.sum() == 1 else 'them'}")
    return ", ".join(words)


def _count_items(items: Mask) -> str:
    n = int(items.sum())
    return f"{thousands(n)} item{'s' * (n != 1)}"


def explain_certificate(certificate: Certificate, had: str = "had {} of the mass at the reference date") -> str:
    """Why no weighting can do better; `had` says what T(S) is a part of."""
    c = certificate
    if c.target <= c.reach:
        return "nothing found stands in the way of an exact solution"
    few = "this one item" if c.items == 1 else f"these {c.items} items"
    digits = max(1, math.ceil(-math.log10(100 * (c.target - c.reach))) + 1)  # two of their difference
    if c.target > 0.5 and 0 < 10 * c.others <= c.items:  # the other side is far smaller: speak of it
        few = "one item that" if c.others == 1 else f"{c.others} items that"
        return (
            f"no weighting of these profiles can do better, because {percent(1 - c.reach, digits)} of the users "
            f"evaluated now have nothing but {few} {had.format('only ' + percent(1 - c.target, digits))}"
        )
    return (
        f"no weighting of these profiles can do better, because {few} {had.format(percent(c.target, digits))}, "
        f"and only {percent(c.reach, digits)} of the users evaluated now have any of them"
    )
