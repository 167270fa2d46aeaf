"""Scenarios: the log without what recommendations since a date may have caused, more of it or less.

How much they caused is not known, nor what made them. Each scenario takes one stand-in for production and removes
part of the excess: of the interactions since the date, those by which they agree more with the stand-in than
interactions before it did. The full excess, not corrected by a placebo, is the most that a stand-in can explain.
If the user knows which share recommendations caused, each scenario removes that share instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unskew.arrays.types import Floats
from unskew.data.log import Log
from unskew.data.times import TimeWindow
from unskew.errors import UnskewError, UnskewWarning
from unskew.progress import progress
from unskew.recommend.contract import Recommender, traits_of
from unskew.text import short_percent, shorten_spec
from unskew.views.contrast import set_up_contrast
from unskew.views.production import (
    CANDIDATES,
    is_alike,
    is_cheap,
    list_family,
    take_for_production,
)
from unskew.views.rates import find_growth
from unskew.views.thinning import Thinning, plan_thinning
from unskew.views.windows import tick_after

FRACTIONS = (0.25, 0.5, 0.75, 1.0, 1.25)
"""How much of the excess scenarios remove; more than all of it, since production need not be like any stand-in."""

BELOW, ABOVE = (0.5, 0.75), 1.25
"""A stand-in may cause less than the known share, these parts of its lower end, or more than its upper end: so
much of that, but not more than so much of what it explains."""

_FAMILY = tuple(spec for spec in CANDIDATES if spec != "als")  # which takes ten times as long as the others
_LEAST = 0.002  # of the log: what drops less changes no score


@dataclass(frozen=True)
class ScenarioView:
    """A log without part of the excess."""

    stand_in: str  # the name of what stands for production
    amount: str  # how much is removed, in words: a part of the excess, or a known share of the interactions
    share: float  # the share of the interactions since the date that recommendations caused in this scenario
    log: Log  # what is left
    # The name of the compared recommender that stands for production here; None for any other stand-in.
    compared: str | None = None
    is_known: bool = False  # whether the user knows the share

    @property
    def name(self) -> str:
        """In a few words."""
        return f"{self.amount} over {shorten_spec(self.stand_in)}"


@dataclass(frozen=True)
class Excesses:
    """The excess of a log over each of several stand-ins, ready to be removed."""

    thinnings: Mapping[str, Thinning]  # by the name of the stand-in; only of those that explain something
    # The share of the interactions since the date that each stand-in explains, also of those that explain none.
    explained: Mapping[str, float]
    problem: str = ""  # why nothing could be estimated, or nothing
    # Of stand-ins that are compared recommenders: the names of these.
    compared: Mapping[str, str] = field(default_factory=dict)
    # The share of the interactions since the date by which users of the same kind had more of them than before.
    growth: float = 0.0

    def find_most(self, pair: tuple[str, str]) -> float:
        """The largest share that any stand-in explains; a compared recommender counts only for its own pair."""
        shares = [s for name, s in self.explained.items() if self.compared.get(name) in (None, *pair)]
        return max([0.0, *shares])

    def list_views(
        self, *, fractions: Sequence[float] = FRACTIONS, shares: Sequence[float] = (), seed: int = 0
    ) -> Iterator[ScenarioView]:
        """A view for each stand-in and fraction; for each stand-in and known share, if there are `shares`.

        A stand-in that explains less than the smallest known share contributes nothing, and none causes more than
        `ABOVE` of what it explains. If all but compared recommenders contribute nothing, fractions of their
        excesses are removed as if no share were known.
        """
        able = {name for name in self.thinnings if shares and self.explained[name] >= min(shares)}
        for name, thinning in self.thinnings.items():
            compared = self.compared.get(name)
            if name in able:
                most = ABOVE * self.explained[name]
                for share in dict.fromkeys(min(share, most) for share in shares if share):
                    keep = scale_to_share(thinning.keep, share)
                    log = replace(thinning, keep=keep).draw(seed)
                    amount = f"{short_percent(share)} of the interactions, by the excess"
                    yield ScenarioView(name, amount, float(np.mean(1 - keep)), log, compared, is_known=True)
            elif able <= self.compared.keys():
                for fraction in fractions:
                    keep = np.clip(1 - fraction * (1 - thinning.keep), 0.0, 1.0)
                    log = replace(thinning, keep=keep).draw(seed)
                    share = fraction * self.explained[name]
                    yield ScenarioView(name, f"{fraction:.0%} of the excess", share, log, compared)


def list_shares(low: float, high: float) -> tuple[float, ...]:
    """What a stand-in may have caused if the user knows the share: both ends, the middle, somewhat less and more.

    >>> list_shares(0.2, 0.4), list_shares(0, 0)
    ((0.1, 0.15, 0.2, 0.3, 0.4, 0.5), (0.0,))
    """
    shares = (*(part * low for part in BELOW), low, (low + high) / 2, high, min(ABOVE * high, 1.0))
    return tuple(dict.fromkeys(round(share, 9) for share in shares))


def scale_to_share(keep: Floats, share: float) -> Floats:
    """The same probabilities, with what they drop scaled so that this share is dropped, or as much as can be."""
    dropped = np.sort((1 - keep)[keep < 1])[::-1]
    others = dropped[::-1].cumsum()[::-1]  # if so many before them are dropped for sure
    factors = (share * len(keep) - np.arange(len(dropped))) / others
    fits = factors[factors * dropped <= 1]
    scaled = np.clip(1 - fits[0] * (1 - keep), 0.0, 1.0) if len(fits) else np.zeros_like(keep)
    return np.where(keep < 1, scaled, keep)


def find_excesses(
    log: Log,
    since: Any,
    until: Any,
    *,
    compared: Mapping[str, Recommender],
    production: Recommender | None = None,
    only: int | None = None,
) -> Excesses:
    """Estimate the excess of what followed a date over each stand-in.

    - `log`: all of history.
    - `since`, `until`: recommendations may have been made after `since`; the log is used up to `until`.
    - `compared`: the recommenders that are compared, by name: each of them is a stand-in, besides the family of
      ``auto``.
    - `production`: what the user takes for production, if it was given.
    - `only`: not more stand-ins than this, those of the family first.
    """
    start = tick_after(log, log.moment(since).tick)
    window = TimeWindow(start, float("inf"), log.axis.show(start))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnskewWarning)
            contrast = set_up_contrast(log, campaigns=(window,), until=until)
    except UnskewError as error:
        return Excesses({}, {}, f"the time before {log.axis.show(start)} tells too little: {error.message}")
    models, compared_names = _list_stand_ins(log, compared, production)
    names = list(models)[:only]
    thinnings: dict[str, Thinning] = {}
    explained: dict[str, float] = {}
    growth = 0.0
    for number, name in enumerate(names):
        progress().stage(f"what recommendations may have caused: stand-in {number + 1} of {len(names)}, {name}")
        try:
            stand_in = take_for_production(contrast, models[name])
        except UnskewError:  # a model that is compared need not know users to whom it was not fitted
            continue
        thinning = plan_thinning(contrast, stand_in, view="thinned", reason="", is_scenario=True)
        growth = find_growth(stand_in.tallies[0])
        dropped = float((1 - thinning.keep).sum())
        explained[name] = dropped / max(len(thinning.keep), 1)
        if dropped > _LEAST * len(log):
            thinnings[name] = thinning
    return Excesses(thinnings, explained, compared=compared_names, growth=growth)


def _list_stand_ins(
    log: Log, compared: Mapping[str, Recommender], production: Recommender | None
) -> tuple[dict[str, Recommender], dict[str, str]]:
    """The family of ``auto``, what the user takes for production and the models that are compared, by name.

    And the names that the compared ones have as recommenders: a stand-in of the family may have the same name.
    """
    models = list_family(log, _FAMILY)
    if production is not None and not is_alike(production, models.values()):
        models[str(production)] = production
    shared, names = dict(models), {}
    for name, model in compared.items():
        traits = traits_of(model)
        if traits.external or traits.constant or not is_cheap(model, log):
            continue
        if not is_alike(model, shared.values()):
            stand_in = f"{name} (compared)" if name in shared else name
            models[stand_in], names[stand_in] = model, name
    return models, names
