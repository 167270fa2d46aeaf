"""How far the figures of a check may go: one limit for each thing that is watched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from unskew.checks import require_number, require_one_of
from unskew.errors import InputError, PolicyError, option
from unskew.text import did_you_mean, one_line


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What a check watches; None where it does not. A figure that equals its threshold is still well.

    Attributes
    ----------
    max_drift
        The most that the item mix may have moved since the reference date, before any weighting: total variation,
        from 0 to 1. No raw score in [0, 1] of a constant algorithm can have moved by more.
    max_bound
        The most by which the weighted score of a constant algorithm may still be off, from 0 to 1.
    max_excluded
        The largest share of users whom the weights may leave out, at either date, from 0 to 1.
    max_unexplained
        The most that a score may have changed for reasons that neither the item mix nor another algorithm
        explains, in units of the score: 0.01 is one point. What counts is the part of the change that is sure,
        which is how far its interval is from 0; so 0 asks for an interval that contains 0.
    max_unexplained_relative
        The same as a share of the score at the reference date: 0.1 is a tenth of it.
    min_effective_pairs
        The least number of held-out pairs that must stand behind weighted scores: so many pairs of equal weight
        would tell as much.
    fail_if
        ``"worse"``: no verdict on a recommender, against the baseline or the first one, may be this decision. A
        verdict that is undecided passes, and is shown as such.

    Examples
    --------
    >>> import unskew as us
    >>> us.Thresholds(max_drift=0.1).given
    {'max_drift': 0.1}
    """

    max_drift: float | None = None
    max_bound: float | None = None
    max_excluded: float | None = None
    max_unexplained: float | None = None
    max_unexplained_relative: float | None = None
    min_effective_pairs: float | None = None
    fail_if: str | None = None

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            if name == "fail_if":
                require_one_of(option(name), value, FAILING)
                continue
            most = 1.0 if name in ("max_drift", "max_bound", "max_excluded") else math.inf
            require_number(option(name), value, _UNITS[name], 0.0, most)

    @property
    def given(self) -> dict[str, float | str]:
        """Those that are watched, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def need_scores(self) -> bool:
        """Whether recommenders have to be scored for them."""
        return not _ABOUT_SCORES.isdisjoint(self.given)

    def require_recommenders(self, given: Any, baseline: Any = None) -> None:
        """Refuse thresholds about scores without recommenders, and those about verdicts without two of them."""
        if self.need_scores and not given:
            name = next(name for name in self.given if name in _ABOUT_SCORES)
            raise PolicyError(
                f"{option(name)} is about the scores of recommenders", remedy=f"give {option('recommenders')}"
            )
        if self.fail_if is not None and len(given) < 2 and baseline is None:
            raise PolicyError(
                f"{option('fail_if')} compares two recommenders",
                remedy=f"give {option('baseline')}, or {option('recommenders')} twice",
            )

    @classmethod
    def of(cls, given: Thresholds | Mapping[str, Any]) -> Thresholds:
        """The same, from a mapping of names too; at least one must be given."""
        if isinstance(given, Mapping):
            known = [field.name for field in fields(cls)]
            for name in given:
                if name not in known:
                    meant = did_you_mean(str(name), known)
                    raise InputError(f"there is no threshold {name!r}{meant or '.'} There are {', '.join(known)}")
            given = cls(**given)
        if not isinstance(given, cls):
            raise InputError(
                f"{one_line(given)} (of type {type(given).__name__}) is no set of thresholds",
                remedy="give a mapping such as {'max_drift': 0.1}, or unskew.Thresholds(max_drift=0.1)",
            )
        if not given.given:
            raise PolicyError(
                "no threshold is given, so there is nothing to check",
                remedy=f"give at least one, such as {option('max_drift', 0.1)}",
            )
        return given


FAILING = ("worse",)
"""Decisions of a verdict that may fail a check."""

_ABOUT_SCORES = {"max_unexplained", "max_unexplained_relative", "fail_if"}

_UNITS: dict[str, Any] = {
    "max_drift": "how far the item mix may move, where 1 is as far as it can",
    "max_bound": "how far a weighted score may still be off, where 1 is as far as it can",
    "max_excluded": "a share of the users, where 1 is all of them",
    "max_unexplained": "a change of the score, where 0.01 is one point",
    "max_unexplained_relative": "a change as a share of the score at the reference date, where 0.1 is a tenth",
    "min_effective_pairs": "how many pairs of equal weight would tell as much",
}
