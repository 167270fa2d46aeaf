"""The thinned view: a log in which what was taken in windows is thinned to what is usual."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unskew.checks import public, require_instance
from unskew.data.log import Log
from unskew.data.times import Windows
from unskew.recommend.specs import AnyRecommender
from unskew.views.contrast import set_up_contrast
from unskew.views.outside_view import warn_of_lost_repeats
from unskew.views.production_choice import choose_production
from unskew.views.thinning import Thinning, plan_thinning


@public
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
    """The log with what was taken in windows thinned to what is usual: a view, itself a log.

    Each pair is kept with the probability usual rate / observed rate of pairs that production, fitted just before
    the window, ranked alike. Nothing has to be known about what was shown. The usual rate is that of a hold-out
    group over the same time or, without one, that of quiet windows.

    Parameters
    ----------
    log
        All of history; read it with ``read_log(..., repeats=True)`` if users take items more than once, so that an
        item that is dropped in a window and was taken again outside counts from then on.
    production
        The recommender that was in production, or one like it: a spec, an object, or a table of the lists that
        were shown (``table:lists.parquet``); ``"auto"`` for the one of unskew that explains most of what was
        taken.
    campaigns
        When something was recommended: windows ``"START:END"``, ``"START:"`` for one that goes on. Long windows
        are cut into short ones, and the model is fitted anew for each.
    holdout
        Users who were never shown anything: a file, a dataframe or ids. They are never thinned.
    since, until
        With a holdout group and no campaigns: something was recommended after `since`. What was taken after
        `until`, by default the end of the log, is neither counted nor thinned: give the date of the evaluation.
    seed, draw
        Which pairs are kept is drawn at random. Draws 0, 1, 2, ... of one seed are to be averaged over: their mean
        settles faster than that of other seeds.

    Notes
    -----
    Without a holdout group, what was in demand in the windows for another reason, such as a season, looks the
    same as a recommendation and is thinned too.

    Examples
    --------
    >>> import unskew as us
    >>> world = us.simulate(users=800, items=300, seed=1)
    >>> view = us.views.thinned(world.log, "knn?similarity=cooccurrence", campaigns=["330:350", "430:450"])
    >>> len(world.log) > 1.3 * len(world.truth), abs(len(view) / len(world.truth) - 1) < 0.03
    (True, True)
    """
    plan = plan_thinned(log, production, campaigns=campaigns, holdout=holdout, since=since, until=until)
    return plan.draw(seed, draw)


def plan_thinned(
    log: Log,
    production: AnyRecommender,
    *,
    campaigns: Windows | None = None,
    holdout: Any = None,
    since: Any = None,
    until: Any = None,
    candidates: Iterable[AnyRecommender] = (),
) -> Thinning:
    """What `thinned` draws from, for those who want several draws."""
    require_instance(Log, log, "a log", "read one with read_log")
    contrast = set_up_contrast(log, campaigns=campaigns, holdout=holdout, since=since, until=until)
    warn_of_lost_repeats(log)
    again = None
    if log.repeats is not None:
        again = ~contrast.mark_inside(log.repeats.time)
        if contrast.holdout is not None:
            again |= contrast.holdout[log.entry_users()[log.repeats.entry]]
    known = "when something was recommended" if contrast.holdout is None else "a holdout group"
    advice = ["exposures (who was shown what) would tell which of these pairs to drop"]
    if contrast.holdout is None:
        advice.append("a holdout group, never shown anything, would tell what is usual at the same time")
    return plan_thinning(
        contrast,
        choose_production(contrast, production, candidates),
        view="thinned",
        reason=f"{known} and a model of production are known",
        advice=advice,
        again=again,
    )
