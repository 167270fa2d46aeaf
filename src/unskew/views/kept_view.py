"""The kept view: a log in which what was exposed is kept as often as it would have been taken anyway."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unskew.checks import public, require_instance
from unskew.data.log import Log
from unskew.data.times import Windows
from unskew.errors import InputError, option
from unskew.recommend.specs import AnyRecommender
from unskew.text import count
from unskew.views.contrast import set_up_contrast
from unskew.views.production_choice import choose_production
from unskew.views.thinning import Thinning, plan_thinning


@public
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
    """The log with what was exposed kept as often as it would have been taken anyway: a view, itself a log.

    Recommendations may bring forward what users would have taken by themselves later. The organic view drops such
    pairs; here some of what was exposed is kept, so that users hold as much of what production ranked alike as the
    users of a holdout group do by `until`. What was not exposed is always kept.

    Parameters
    ----------
    log
        A log with exposure marks.
    production
        The recommender that was in production, or one like it; see `thinned`.
    holdout
        Users who were never shown anything: a file, a dataframe or ids. They lose nothing.
    campaigns
        When something was recommended; without it, after `since` or from the first exposed row on.
    since, until
        See `thinned`. What was exposed outside of this time is dropped, as in the organic view.
    seed, draw
        See `thinned`.

    Examples
    --------
    >>> import unskew as us
    >>> world = us.simulate("pre-empting", users=1500, items=500, seed=1, holdout=0.2)
    >>> view = us.views.kept(world.log, "knn?similarity=cooccurrence", holdout=world.holdout, campaigns="330:")
    >>> len(us.views.organic(world.log)) < len(view) < len(world.log)
    True
    """
    plan = plan_kept(log, production, holdout=holdout, campaigns=campaigns, since=since, until=until)
    return plan.draw(seed, draw)


def plan_kept(
    log: Log,
    production: AnyRecommender,
    *,
    holdout: Any,
    campaigns: Windows | None = None,
    since: Any = None,
    until: Any = None,
    candidates: Iterable[AnyRecommender] = (),
) -> Thinning:
    """What `kept` draws from, for those who want several draws."""
    require_instance(Log, log, "a log", "read one with read_log")
    if log.exposed is None:
        raise InputError("this log has no exposure marks", remedy=f"read it with {option('exposed', 'COLUMN')}")
    if holdout is None:
        raise InputError(f"{option('holdout')} is missing", remedy="name users who were never shown anything")
    contrast = set_up_contrast(
        log, campaigns=campaigns, holdout=holdout, since=since, until=until, by_exposure=True
    )
    assert contrast.holdout is not None
    whose = log.entry_users()
    besides = log.exposed & ~contrast.holdout[whose]
    besides[contrast.taken.entry] = False
    notes = []
    if besides.any():
        notes.append(
            f"{count(int(besides.sum()), 'pair')} exposed at other times: dropped, as in the organic view"
        )
    again = None
    if log.repeats is not None and log.repeats.exposed is not None:
        again = ~log.repeats.exposed | contrast.holdout[whose[log.repeats.entry]]
    return plan_thinning(
        contrast,
        choose_production(contrast, production, candidates),
        view="kept",
        reason="exposures, a holdout group and a model of production are known",
        notes=notes,
        besides=besides,
        again=again,
    )
