"""The excess: how many of the interactions in windows recommendations caused, with no list of exposures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from unskew.checks import Seed, public, require_repeats, require_whole_number
from unskew.data.log import Log
from unskew.data.policy import check_level
from unskew.data.times import Windows
from unskew.errors import EmptyError, PolicyError, option
from unskew.recommend.specs import AnyRecommender
from unskew.views.contrast import set_up_contrast
from unskew.views.knowledge import Knowledge
from unskew.views.placebo import Placebo, measure_induced_share
from unskew.views.production import choose_production, count_ranked
from unskew.views.rates import Rates, list_strata


@dataclass(frozen=True)
class ExcessStratum:
    """The interactions of one rank stratum."""

    name: str  # which, in words: ``rank 1``
    pairs: int  # how many pairs are of the windows, or exposed, of users who could be shown something
    # Pairs for each of these users and window, and how many there would be had nothing been shown.
    observed: float
    usual: float
    # The share of the pairs that recommendations caused; negative if there were fewer than usual.
    excess: float


@dataclass(frozen=True)
class Excess:
    """How many of the interactions in windows recommendations caused. Made by `unskew.excess`.

    Attributes
    ----------
    value, low, high, level
        The share of the interactions, with its interval, and the confidence level of that. By dates, what a
        placebo finds is taken out, and its interval included.
    uncorrected, placebo
        The share before that, and the placebo; the same and None with a holdout group.
    pairs
        How many pairs of the windows are of users who could be shown something: those outside of a hold-out
        group who had a profile when a window began.
    production
        The model that stands for production.
    candidates
        If production was to be found: how well each model that competed tells what came from recommendations, from
        0 to 1, the best first.
    windows
        How many short windows there were.
    compared_with
        Where nothing was shown, in words.
    explains
        How much of the interactions in the windows the stand-in tells apart, from 0 to 1.
    is_sign
        Whether the share is above 0 by more than chance, given how many stand-ins were tried.
    strata
        The same by the rank that production gave to what was taken.
    notes
        What should be known beside it.
    """

    value: float
    low: float
    high: float
    level: float
    pairs: int
    production: str
    windows: int
    compared_with: str
    candidates: Mapping[str, float] = field(default_factory=dict)
    strata: tuple[ExcessStratum, ...] = ()
    notes: tuple[str, ...] = ()
    uncorrected: float = float("nan")
    explains: float = 0.0
    is_sign: bool = True
    placebo: Placebo | None = None

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"recommendations caused about {100 * self.value:.0f} % of the interactions in these windows"
        share = f"{100 * self.value:.0f} % [{100 * self.low:.0f}, {100 * self.high:.0f}]"
        if not self.is_sign:
            return f"no sign of recommendations: they caused {share} of the interactions in these windows"
        return f"recommendations caused about {share} of the interactions in these windows"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            **asdict(self),
            "candidates": dict(self.candidates),
            "placebo": None if self.placebo is None else self.placebo.to_dict(),
            "sentence": str(self),
        }


@public
def excess(
    log: Log,
    production: AnyRecommender | None = None,
    *,
    campaigns: Windows | None = None,
    holdout: Any = None,
    since: Any = None,
    until: Any = None,
    candidates: Iterable[AnyRecommender] = (),
    knowledge: Knowledge | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    repeats: int = 200,
) -> Excess:
    """How many of the interactions in windows of time recommendations caused.

    Interactions in the windows, by the rank that a model of production gives to them, are compared with those of
    a holdout group over the same time or, without one, with those of everyone in quiet windows. Exposures need not
    be known. The share is cross-fitted: strata with more than usual are found on half of the users, and the
    differences are added up on the other half. By dates, placebo campaigns before the first window show what the
    comparison finds if nothing is recommended, which is taken out.

    Parameters
    ----------
    log
        All of history.
    production
        The recommender that was in production, or one like it: a spec, an object or a table of the lists that were
        shown (``table:lists.parquet``). ``"auto"`` has those of unskew compete.
    campaigns
        When something was recommended: windows ``"START:END"``, ``"START:"`` for one that goes on.
    holdout
        Users who were never shown anything: a file, a dataframe or ids.
    since, until
        With a holdout group and no campaigns: something was recommended after `since`. Nothing after `until`
        counts.
    candidates
        With ``"auto"``, models that compete besides those of unskew: what you compare.
    knowledge
        The production, the campaigns and the holdout group as one object, in place of these three.
    level, repeats
        Confidence level of the interval, and how many samples of users it is made from.
    seed
        Of the samples.

    Notes
    -----
    Interactions that recommendations only brought forward into a window count as caused by
    them. The interval is about who happened to be there, not about the model: another one may explain more.
    What was in demand in the windows for another reason, such as a season, looks the same as a recommendation,
    unless a holdout group is given.

    Examples
    --------
    >>> import unskew as us
    >>> world = us.simulate(users=800, items=300, seed=1)
    >>> found = us.excess(world.log, "knn?similarity=cooccurrence", campaigns=["330:350", "430:450"], repeats=50)
    >>> 0.8 < found.low < found.value < found.high <= 1
    True
    """
    known = Knowledge.of(knowledge, None)
    if known is not None:
        for name, value in (("production", production), ("campaigns", campaigns), ("holdout", holdout)):
            if value is not None:
                raise PolicyError(f"give {option('knowledge')} or {option(name)}, not both")
        production, campaigns, holdout = known.production, known.campaigns or None, known.holdout
    check_known(Knowledge(production=production) if known is None else known)
    check_level(level)
    require_repeats(option("repeats"), repeats)
    require_whole_number(option("seed"), seed, "where the random numbers begin", 0)
    contrast = set_up_contrast(log, campaigns=campaigns, holdout=holdout, since=since, until=until, later=False)
    if not (contrast.suspect & contrast.taken.known).any():
        raise EmptyError(
            "users who had a profile when these windows began had no interactions in them",
            remedy=f"check {option('campaigns')} and {option('until')}",
        )
    assert production is not None  # as was checked
    chosen = choose_production(contrast, production, candidates, seed)
    ranked = count_ranked(contrast, chosen.ranks, by_taste=False, seed=seed)
    induced = measure_induced_share(contrast, chosen, level=level, repeats=repeats, seed=seed)
    return Excess(
        value=induced.value,
        low=induced.low,
        high=induced.high,
        level=level,
        pairs=int((contrast.suspect & contrast.taken.known).sum()),
        production=chosen.ranks.production,
        windows=len(contrast.windows),
        compared_with=contrast.describe_quiet(),
        candidates=chosen.candidates,
        strata=tuple(_describe_strata(ranked.rates)),
        notes=(*contrast.notes, *ranked.notes),
        uncorrected=induced.uncorrected,
        explains=chosen.explains,
        is_sign=induced.is_sign,
        placebo=induced.placebo,
    )


def check_known(known: Any) -> None:
    """Refuse knowledge without a model of production, and what an excess has no use for."""
    if known.production is None:
        raise PolicyError(
            "an excess needs a model of production",
            remedy=f"give {option('production')} SPEC, or {option('production', 'auto')}",
        )
    for name in ("exposures", "exposed", "within", "induced_share", "view"):
        if getattr(known, name, None) is not None:
            raise PolicyError(
                f"{option(name)} is of no use here: an excess is estimated from the whole log, without exposures",
                remedy="leave it out",
            )


def _describe_strata(rates: Rates) -> list[ExcessStratum]:
    return [
        ExcessStratum(name, pairs, observed, usual, more / pairs if pairs else 0.0)
        for name, pairs, observed, usual, more in list_strata(rates)
    ]
