"""The other end of the range: the log without what recommendations since the reference date may have caused.

Scores as logged assume that recommendations caused nothing. The other end assumes that they caused all of the
excess, not corrected by a placebo: everything by which interactions since the reference date agree more with a
stand-in for production than interactions before it did. See `unskew.views.scenarios`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unskew.data.fingerprint import fingerprint_log
from unskew.data.slice import Snapshot
from unskew.data.times import Label
from unskew.errors import EmptyError, PolicyError, UnskewWarning, option
from unskew.over_time.timeline_spec import TimelineSpec
from unskew.over_time.timeline_table import BOTH_ENDS, OTHER_VIEW
from unskew.views.scenarios import find_excesses


@dataclass(frozen=True)
class OtherEnd:
    """The same question as that of a timeline, about the log without the excess.

    Attributes
    ----------
    spec
        What is asked for; the probabilities of items are those of the log as it is, and not recorded again.
    since
        The reference date: nothing before it is dropped.
    stand_in
        The stand-in for production that explains most; None if none explains anything.
    share
        The share of the interactions since the date that it explains.
    """

    spec: TimelineSpec
    since: Label
    stand_in: str | None
    share: float

    @classmethod
    def of(cls, spec: TimelineSpec) -> OtherEnd:
        """Drop the excess over the stand-in that explains most, up to the end of the log."""
        log, since = spec.log, check_both_ends(spec)
        excesses = find_excesses(log, since, None, compared=spec.models)
        if excesses.problem:
            raise EmptyError(
                f"the other end of the range cannot be estimated: {excesses.problem}",
                remedy=f"choose a later reference date, or leave out {option(BOTH_ENDS)}",
            )
        if not excesses.thinnings:
            warnings.warn(
                f"no stand-in for production explains interactions since {since}: both ends of the range are the "
                "log as it is",
                UnskewWarning,
                stacklevel=3,
            )
            everything = log.keep_entries(np.ones(len(log), dtype=np.bool_), view=OTHER_VIEW)
            return cls(spec.move_to(everything), since, None, 0.0)
        name = max(excesses.thinnings, key=lambda stand_in: excesses.explained[stand_in])
        most = replace(excesses, thinnings={name: excesses.thinnings[name]})
        [view] = most.list_views(fractions=(1.0,), seed=spec.seed)
        return cls(spec.move_to(view.log), since, name, excesses.explained[name])

    def describe(self) -> dict[str, Any]:
        """What its rows depend on besides the options of the timeline, ready for JSON."""
        return {
            "since": str(self.since),
            "stand_in": self.stand_in,
            "share": round(self.share, 6),
            "hash": fingerprint_log(self.spec.log)["hash"],
        }


def check_both_ends(spec: TimelineSpec) -> Label:
    """The reference date; refuse a timeline that has no other end."""
    name, log = option(BOTH_ENDS), spec.log
    if log.view != "all":
        raise PolicyError(
            f"{name} is for the log as it is, and this is the view {log.view!r} of it",
            remedy=f"leave out {name}, or insist on the whole log with {option('view', 'all')}",
        )
    if not isinstance(spec.reference, Snapshot) or spec.reference.log is not log:
        raise PolicyError(
            f"{name} needs a reference that is a date of the log, since only interactions after it are dropped",
            remedy=f"give a date as {option('reference')}, or leave out {name}",
        )
    return spec.reference.at
