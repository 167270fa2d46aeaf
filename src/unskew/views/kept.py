"""The kept view: a log in which what was exposed is kept as often as it would have been taken anyway."""

from __future__ import annotations

from typing import Any

import numpy as np

from unskew.checks import require_instance
from unskew.data.log import Log
from unskew.data.time_windows import Windows
from unskew.errors import InputError, option
from unskew.recommend.specs import AnyRecommender
from unskew.text import count
from unskew.views.contrast import set_up_contrast
from unskew.views.production_choice import choose_production
from unskew.views.thinned import thin


def kept(
    log: Log,
    production: AnyRecommender,
    *,
    holdout: Any,
    campaigns: Windows | None = None,
    since: Any = None,
    until: Any = None,
    seed: int = 0,
    draw: int = 0,
) -> Log:
    """The log with what was exposed kept as often as it would have been taken anyway: a view, itself a log."""
    require_instance(Log, log, "a log", "read one with read_log")
    if log.exposed is None:
        raise InputError("this log has no exposure marks", remedy=f"read it with {option('exposed', 'COLUMN')}")
    if holdout is None:
        raise InputError(f"{option('holdout')} is not given", remedy="name users who were never shown anything")
    contrast = set_up_contrast(
        log, campaigns=campaigns, holdout=holdout, since=since, until=until, by_exposure=True
    )
    assert contrast.holdout is not None
    ranked, notes = choose_production(contrast, production)
    besides = log.exposed.copy()
    besides[contrast.taken.entry] = False
    besides &= ~contrast.holdout[log.entry_users()]
    if besides.any():
        notes.append(f"{count(int(besides.sum()), 'pair')} exposed outside of the windows dropped, as if organic")
    again = None
    if log.repeats is not None and log.repeats.exposed is not None:
        again = ~log.repeats.exposed | contrast.holdout[log.entry_users()[log.repeats.entry]]
    reason = "exposures, a hold-out group and production are known"
    return thin(
        ranked, view="kept", seed=seed, draw=draw, again=again, reason=reason, notes=notes, besides=besides
    )
