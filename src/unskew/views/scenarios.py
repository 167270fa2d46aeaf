"""Scenarios: the log without what recommendations since a date may have caused, more of it or less.

How much they caused is not known, nor what made them. Each scenario takes one stand-in for production and removes
part of the excess: of the interactions since the date, those by which they agree more with the stand-in than
interactions before it did. The full excess, not corrected by a placebo, is the most that a stand-in can explain.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unskew.data.log import Log
from unskew.data.time_windows import TimeWindow
from unskew.errors import UnskewError, UnskewWarning
from unskew.progress import progress
from unskew.recommend.contract import Recommender, traits_of
from unskew.text import shorten_spec
from unskew.views.contrast import set_up_contrast
from unskew.views.production_choice import (
    CANDIDATES,
    is_alike,
    is_cheap,
    list_family,
    take_for_production,
)
from unskew.views.rates import find_growth
from unskew.views.short_windows import tick_after
from unskew.views.thinning import Thinning, plan_thinning

FRACTIONS = (0.25, 0.5, 0.75, 1.0, 1.25)
"""How much of the excess scenarios remove; more than all of it, since production need not be like any stand-in."""

_FAMILY = tuple(spec for spec in CANDIDATES if spec != "als")  # which takes ten times as long as the others
_LEAST = 0.002  # of the log: what drops less changes no score


@dataclass(frozen=True)
class ScenarioView:
    """A log without part of the excess.

    Attributes
    ----------
    stand_in
        The name of what stands for production.
    fraction
        How much of the excess is removed.
    share
        The share of the interactions since the date that recommendations caused in this scenario.
    log
        What is left.
    compared
        The name of the compared recommender that stands for production here; None for any other stand-in.
    """

    stand_in: str
    fraction: float
    share: float
    log: Log
    compared: str | None = None

    @property
    def name(self) -> str:
        """In a few words."""
        return f"{self.fraction:.0%} of the excess over {shorten_spec(self.stand_in)}"


@dataclass(frozen=True)
class Excesses:
    """The excess of a log over each of several stand-ins, ready to be removed.

    Attributes
    ----------
    thinnings
        By the name of the stand-in; only of those that explain something.
    explained
        The share of the interactions since the date that each stand-in explains, also of those that explain none.
    problem
        Why nothing could be estimated, or nothing.
    compared
        Of stand-ins that are compared recommenders: the names of these.
    growth
        The share of the interactions since the date by which users of the same kind had more of them than before.
    """

    thinnings: Mapping[str, Thinning]
    explained: Mapping[str, float]
    problem: str = ""
    compared: Mapping[str, str] = field(default_factory=dict)
    growth: float = 0.0

    def find_most(self, pair: tuple[str, str]) -> float:
        """The largest share that any stand-in explains; a compared recommender counts only for its own pair."""
        shares = [s for name, s in self.explained.items() if self.compared.get(name) in (None, *pair)]
        return max([0.0, *shares])

    def list_views(self, *, fractions: tuple[float, ...] = FRACTIONS, seed: int = 0) -> Iterator[ScenarioView]:
        """A view for each stand-in and fraction."""
        for name, thinning in self.thinnings.items():
            for fraction in fractions:
                keep = np.clip(1 - fraction * (1 - thinning.keep), 0.0, 1.0)
                log = replace(thinning, keep=keep).draw(seed)
                share = fraction * self.explained[name]
                yield ScenarioView(name, fraction, share, log, self.compared.get(name))


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

    Parameters
    ----------
    log
        All of history.
    since, until
        Recommendations may have been made after `since`; the log is used up to `until`.
    compared
        The recommenders that are compared, by name: each of them is a stand-in, besides the family of ``auto``.
    production
        What the user takes for production, if it was given.
    only
        Not more stand-ins than this, those of the family first.
    """
    start = tick_after(log, log.moment(since).tick)
    window = TimeWindow(start, float("inf"), log.axis.show(start))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnskewWarning)
            contrast = set_up_contrast(log, campaigns=(window,), until=until)
    except UnskewError as error:
        return Excesses({}, {}, f"the time before {log.axis.show(start)} tells too little: {error.message}")
    models, own = _list_stand_ins(log, compared, production)
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
    return Excesses(thinnings, explained, compared=own, growth=growth)


def _list_stand_ins(
    log: Log, compared: Mapping[str, Recommender], production: Recommender | None
) -> tuple[dict[str, Recommender], dict[str, str]]:
    """The family of ``auto``, what the user takes for production and the models that are compared, by name.

    And the names that the compared ones have as recommenders: a stand-in of the family may have the same name.
    """
    models = list_family(log, _FAMILY)
    if production is not None and not is_alike(production, models.values()):
        models[str(production)] = production
    shared, own = dict(models), {}
    for name, model in compared.items():
        traits = traits_of(model)
        if traits.external or traits.constant or not is_cheap(model, log):
            continue
        if not is_alike(model, shared.values()):
            stand_in = f"{name} (compared)" if name in shared else name
            models[stand_in], own[stand_in] = model, name
    return models, own
