"""Dropping what recommendations brought: suspect pairs are kept with the probability of their cell.

What is expensive (fitting the model of production before each window) is done once, in `plan_thinning`; then any
number of draws cost little: see `Thinning.draw`. Two views are made so: `thinned`, of the interactions in windows,
and `kept`, of what was exposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import Seed, public, require_instance, require_whole_number
from unskew.data.log import Log
from unskew.data.times import Windows
from unskew.data.view_report import Stratum
from unskew.errors import EmptyError, InputError, option
from unskew.recommend.specs import AnyRecommender
from unskew.text import count, percent
from unskew.views.contrast import Contrast, set_up_contrast
from unskew.views.dropping import describe_view, warn_of_lost_repeats
from unskew.views.placebo import InducedShare, measure_induced_share
from unskew.views.production import Production, choose_production, count_ranked
from unskew.views.rates import Rates, find_keep, find_rates, list_strata
from unskew.views.strata import RANK_OF, RANK_STRATA, name_strata

_STREAM = 0x5A3E  # of random numbers


@dataclass(frozen=True)
class Thinning:
    """Which pairs of a log are kept with which probability, ready to be drawn."""

    log: Log  # all of history
    # The suspect pairs, as places of ``log.item``, with the cell and the probability of each.
    entry: Codes
    cell: Codes
    keep: Floats
    rates: Rates | None  # what was observed and what is usual, by cell; None if that was not compared
    # view, reason, notes, advice: What the report of the view says.
    view: str
    reason: str
    # The share of the suspect pairs that recommendations caused; None if a view does not estimate it.
    induced: InducedShare | None
    tested: bool  # whether what the view assumes passed its test on this log
    production: tuple[str, ...] = ()  # the models that stand for production
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    besides: Mask | None = None  # entries that are dropped in any case, if any
    again: Mask | None = None  # which repeats of the log may stand in for what is dropped
    # Gives probabilities as other users would have led to them, by a generator of random numbers; None if they are
    # taken as given.
    resample: Callable[[np.random.Generator], Floats] | None = None

    def draw_several(self, seed: int, draws: int) -> list[Log]:
        """Draws of the view, each with probabilities from another sample of users if there are several.

        So what differs between them includes the error of the probabilities.
        """
        if draws == 1 or self.resample is None:
            return [self.draw(seed, draw) for draw in range(draws)]
        several = [self.resample(np.random.default_rng([seed, _STREAM, draw])) for draw in range(draws)]
        return [replace(self, keep=keep).draw(seed, draw) for draw, keep in enumerate(several)]

    def draw(self, seed: int = 0, draw: int = 0) -> Log:
        """One draw of the view: the same for the same two numbers."""
        require_whole_number(option("seed"), seed, "where the random numbers begin", 0)
        require_whole_number(option("draw"), draw, "which of several draws", 0)
        dropped = ~draw_kept(self.keep, self.cell, seed, draw)
        left = np.ones(len(self.log), dtype=np.bool_) if self.besides is None else ~self.besides
        left[self.entry[dropped]] = False
        result = self.log.keep_entries(left, repeats=self.again, view=self.view)
        if len(result) == 0:
            raise EmptyError(
                f"nothing is left of this log in the {self.view} view", remedy="take another view, or a longer log"
            )
        strata: list[Stratum] = []
        if self.rates is not None:
            strata = _describe_strata(self.rates, self.cell[dropped], _weigh(self.log, self.entry[dropped]))
        report = describe_view(self.log, result, self.reason, strata=strata, notes=self.notes, advice=self.advice)
        placebo = None if self.induced is None else self.induced.placebo
        return replace(
            result,
            view_report=replace(
                report,
                tested=self.tested,
                placebo=None if placebo is None else placebo.to_dict(),
                production=self.production,
            ),
        )


def plan_thinning(
    contrast: Contrast,
    production: Production,
    *,
    view: str,
    reason: str,
    notes: Sequence[str] = (),
    advice: Sequence[str] = (),
    besides: Mask | None = None,
    again: Mask | None = None,
    is_scenario: bool = False,
) -> Thinning:
    """Find with which probability each suspect pair is kept.

    By dates, as many pairs are dropped as the placebo-corrected induced share says, and none if that may be 0;
    in a scenario, the full excess.
    """
    ranked = count_ranked(contrast, production.ranks)
    rates, places = ranked.rates, contrast.suspect_places
    cell = ranked.pairs.cell[places]
    known = contrast.taken.known[places]
    keep = find_keep(rates)[cell]
    if is_scenario:  # which assumes a share: nothing is to be tested
        induced = measure_induced_share(contrast, production, repeats=0, with_placebo=False)
    else:
        induced = measure_induced_share(contrast, production)
    notes = [*production.notes(), f"what is usual comes from {contrast.describe_quiet()}", *notes]
    if contrast.quiet is not None:
        if not is_scenario:
            keep = _limit(keep, induced.value if induced.is_sign else 0.0, known)
        notes.append(_describe_test(induced))

    def resample(rng: np.random.Generator) -> Floats:
        blocks = ranked.tally.blocks
        times = rng.multinomial(blocks, np.full(blocks, 1 / blocks)).astype(np.float64)
        again_kept = find_keep(find_rates(ranked.tally, times))[cell]
        if contrast.quiet is None:
            return again_kept
        share = rng.normal(induced.value, induced.standard_error) if induced.is_sign else 0.0
        return _limit(again_kept, share, known)

    return Thinning(
        log=contrast.log,
        entry=contrast.taken.entry[places],
        cell=cell,
        keep=keep,
        rates=rates,
        view=view,
        reason=reason,
        induced=induced,
        tested=_is_tested(contrast, production, induced),
        production=tuple(map(str, production.models)),
        notes=(*notes, *contrast.notes, *ranked.notes),
        advice=tuple(advice),
        besides=besides,
        again=again,
        resample=None if is_scenario else resample,
    )


def _limit(keep: Floats, induced: float, known: Mask) -> Floats:
    """The same probabilities, with not more dropped than the share that recommendations caused."""
    planned = float((1 - keep)[known].mean()) if known.any() else 0.0
    if induced <= 0 or planned <= 0:
        return np.ones_like(keep)
    return 1 - min(1.0, induced / planned) * (1 - keep)


def _is_tested(contrast: Contrast, production: Production, induced: InducedShare) -> bool:
    """Whether the holdout group was like the others or the placebo test was passed, and the share is precise.

    By dates, no test tells a good stand-in from a poor one, so one that was chosen among several passes none.
    """
    if contrast.quiet is None:
        return contrast.group_passed and induced.is_precise
    if production.candidates:
        return False
    return induced.placebo is not None and induced.placebo.is_passed and induced.is_precise


def _describe_test(induced: InducedShare) -> str:
    if induced.placebo is None:
        return "no placebo test: there is too little time before the first window"
    if not induced.is_sign:
        return f"{induced.placebo}; no sign of recommendations remains, so that nothing is dropped"
    if induced.is_precise:
        return str(induced.placebo)
    limits = f"between {percent(induced.low, 0)} and {percent(induced.high, 0)}"
    return f"{induced.placebo}; the induced share is {limits}, too uncertain to trust"


def _weigh(log: Log, entries: Codes) -> Floats:
    """The mass of some entries: all users have the same, and all items of a user."""
    sizes = np.diff(log.start.astype(np.int64)).astype(np.int64)
    each: Floats = 1.0 / (np.count_nonzero(sizes) * sizes[log.entry_users()[entries]])
    return each


def _describe_strata(rates: Rates, dropped: Codes, mass: Floats) -> list[Stratum]:
    rank = RANK_OF[dropped]
    counts, masses = np.bincount(rank, minlength=RANK_STRATA), np.bincount(rank, mass, minlength=RANK_STRATA)
    lost = dict(zip(name_strata(), zip(counts.tolist(), masses.tolist(), strict=True), strict=True))
    return [
        Stratum(name, pairs, *lost[name], observed, usual)
        for name, pairs, observed, usual, _ in list_strata(rates)
    ]


_GOLDEN = (5**0.5 - 1) / 2
_DRAW_STREAM = 0x7417  # of random numbers


def draw_kept(keep: Floats, cell: Codes, seed: int, draw: int) -> Mask:
    """Which pairs are kept, each with its probability.

    A systematic sample: pairs are lined up by cell, at random within each, and a pair is kept when the sum of the
    probabilities so far passes a whole number. So each cell, and any row of cells, keeps as many as expected, up
    to one. The draws of one seed begin at different places, spaced by the golden section, so that averages over
    draws settle faster than those of independent ones.
    """
    rng = np.random.default_rng([seed, _DRAW_STREAM])
    order = np.lexsort((rng.random(len(cell)), cell))
    passed = np.floor(np.cumsum(keep[order]) + (rng.random() + draw * _GOLDEN) % 1.0)
    kept = np.empty(len(cell), dtype=np.bool_)
    kept[order] = np.diff(passed, prepend=0.0) > 0
    return kept | (keep >= 1.0)


@public
def thinned(
    log: Log,
    production: AnyRecommender,
    *,
    campaigns: Windows | None = None,
    holdout: Any = None,
    since: Any = None,
    until: Any = None,
    seed: Seed = 0,
    draw: int = 0,
) -> Log:
    """The log with the interactions in windows thinned to what is usual: a view, itself a log.

    Each pair is kept with the probability usual rate / observed rate of pairs that production, fitted just before
    the window, ranked alike. Nothing has to be known about what was shown. The usual rate is that of a hold-out
    group over the same time or, without one, that of quiet windows.

    Parameters
    ----------
    log
        All of history; read it with ``read_log(..., repeats=True)`` if users take items more than once, so that an
        item that is dropped in a window and comes again outside counts from then on.
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
        With a holdout group and no campaigns: something was recommended after `since`. What came after
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


@public
def kept(
    log: Log,
    production: AnyRecommender,
    *,
    holdout: Any,
    campaigns: Windows | None = None,
    since: Any = None,
    until: Any = None,
    seed: Seed = 0,
    draw: int = 0,
) -> Log:
    """The log with exposed interactions kept as often as they would have happened anyway: a view, itself a log.

    Recommendations may bring forward interactions that users would have had by themselves later. The organic view
    drops such pairs; here some of what was exposed is kept, so that users hold as much of what production ranked
    alike as the users of a holdout group do by `until`. What was not exposed is always kept.

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
