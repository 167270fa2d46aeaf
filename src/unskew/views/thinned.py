"""The thinned view: a log in which what was taken in windows is thinned to what is usual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unskew.arrays.types import Floats, Mask
from unskew.checks import require_whole_number
from unskew.data.log import Log
from unskew.data.time_windows import Windows
from unskew.data.view_report import Stratum
from unskew.errors import EmptyError, option
from unskew.recommend.specs import AnyRecommender
from unskew.text import count
from unskew.views.contrast import Contrast, RankedContrast, set_up_contrast
from unskew.views.keep_draws import draw_kept
from unskew.views.outside import warn_of_lost_repeats
from unskew.views.production_choice import choose_production
from unskew.views.rates import find_keep
from unskew.views.reporting import describe_view
from unskew.views.strata import name_strata


def thinned(
    log: Log,
    production: AnyRecommender,
    *,
    campaigns: Windows | None = None,
    holdout: Any = None,
    since: Any = None,
    until: Any = None,
    seed: int = 0,
    draw: int = 0,
) -> Log:
    """The log with what was taken in windows thinned to what is usual: a view, itself a log."""
    contrast = set_up_contrast(log, campaigns=campaigns, holdout=holdout, since=since, until=until)
    warn_of_lost_repeats(log)
    ranked, notes = choose_production(contrast, production)
    again = None
    if log.repeats is not None:
        again = ~_mark_windows(contrast, log.repeats.time)
        if contrast.holdout is not None:
            again |= contrast.holdout[log.entry_users()[log.repeats.entry]]
    what = "the dates of recommendations" if contrast.holdout is None else "a hold-out group"
    return thin(
        ranked,
        view="thinned",
        seed=seed,
        draw=draw,
        again=again,
        reason=f"{what} and production are known",
        notes=notes,
    )


def thin(
    ranked: RankedContrast,
    *,
    view: str,
    seed: int,
    draw: int,
    again: Mask | None,
    reason: str,
    notes: Sequence[str],
    besides: Mask | None = None,
) -> Log:
    """Drop suspect pairs with the probability of their stratum; `besides` are dropped in any case."""
    require_whole_number(option("seed"), seed, "where the random numbers begin", 0)
    require_whole_number(option("draw"), draw, "which of several draws", 0)
    contrast, pairs = ranked.contrast, ranked.pairs
    log = contrast.log
    rates = ranked.rates()
    keep = find_keep(rates)
    suspect = np.flatnonzero(contrast.suspect)
    kept = draw_kept(keep[pairs.stratum[suspect]], pairs.stratum[suspect], seed, draw)
    left = np.ones(len(log), dtype=np.bool_) if besides is None else ~besides
    left[contrast.taken.entry[suspect[~kept]]] = False
    result = log.keep_entries(left, repeats=again, view=view)
    if len(result) == 0:
        raise EmptyError(f"nothing is left of this log in the {view} view")
    strata = _describe_strata(ranked, keep, np.bincount(pairs.stratum[suspect[~kept]], minlength=len(keep)))
    report = describe_view(log, result, reason, strata=strata, notes=[*contrast.notes, *notes])
    return replace(result, view_report=report)


def _describe_strata(ranked: RankedContrast, keep: Floats, dropped: Floats) -> list[Stratum]:
    rates = ranked.rates()
    people = np.maximum(rates.people, 1)
    return [
        Stratum(
            name, int(rates.suspect[k]), int(dropped[k]), rates.observed[k] / people[k], rates.usual[k] / people[k]
        )
        for k, name in enumerate(name_strata())
        if rates.observed[k] + rates.usual[k] > 0
    ]


def _mark_windows(contrast: Contrast, time: Any) -> Mask:
    inside = np.zeros(len(time), dtype=np.bool_)
    for window in contrast.windows:
        inside |= window.contains(time)
    return inside
