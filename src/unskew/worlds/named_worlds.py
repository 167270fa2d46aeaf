"""The recipes of the worlds that have a name; what each is about stands in `unskew.worlds.world_names`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unskew.worlds.recipe import Campaign, Loop, Recipe


def _repeat(campaign: Campaign, first: int, last: int, step: int) -> tuple[Campaign, ...]:
    return tuple(replace(campaign, day=day) for day in range(first, last + 1, step))


PAPER = Recipe(campaigns=(Campaign(330, catalogue=0.03, excluded=30), Campaign(430, catalogue=0.05, excluded=60)))

STEADY = Recipe(organic=6.0, late=0.2, trickle=1.0)
"""People who keep joining and interacting; nothing is recommended."""

_ON = Campaign(0, reach=0.2, acceptance=0.04, catalogue=1.0, excluded=0)
_BURST = Campaign(0, reach=0.4, acceptance=0.04, catalogue=1.0, excluded=0)
_CAMPAIGNS = (replace(_BURST, day=330), replace(_BURST, day=430))


def _keep_on(first: int = 320, last: int = 490, **changes: Any) -> tuple[Campaign, ...]:
    """Production that is always on: every ten days a fifth of the users get a list."""
    return _repeat(replace(_ON, **changes), first, last, 10)


def _steady(**changes: Any) -> Recipe:
    """Steady activity, production on from day 320 unless other campaigns are given."""
    return replace(STEADY, **{"campaigns": _keep_on(), **changes})


_CONTENT: dict[str, Any] = {"recommender": "content"}

WORLDS: dict[str, Recipe] = {
    "paper": PAPER,
    "quiet": replace(PAPER, campaigns=()),
    "always-on": replace(PAPER, campaigns=_repeat(Campaign(0, reach=0.2), 320, 490, 10)),
    "few-items": replace(PAPER, items=200, topics=8, head=2.0, campaigns=(Campaign(330), Campaign(430))),
    "growth": replace(PAPER, late=0.5, births=0.1, trend=1.0),
    "pre-empting": replace(
        PAPER,
        organic=6.0,
        trickle=1.0,
        anyway=0.9,
        campaigns=tuple(replace(c, shown=3, acceptance=0.15) for c in PAPER.campaigns),
    ),
    "candidate": replace(
        PAPER,
        campaigns=tuple(
            replace(c, recommender="knn?neighbours=50", catalogue=1.0, excluded=0) for c in PAPER.campaigns
        ),
    ),
    "long-campaigns": replace(
        PAPER, late=0.5, trickle=0.5, campaigns=(Campaign(320, delay=16.0), Campaign(410, delay=16.0))
    ),
    "closed-loop": replace(
        PAPER,
        campaigns=(),
        loop=Loop(("list:a", "list:b", "list:c", "list:d", "list:e"), incumbent="list:e"),
    ),
    "steady": _steady(),
    "steady-quiet": STEADY,
    "steady-campaigns": _steady(campaigns=_CAMPAIGNS),
    "new-items": _steady(births=0.4, birth_every=7, novelty=6.0, fade=30.0),
    "seasons": _steady(season=0.8, period=120.0),
    "season-in-window": _steady(campaigns=_CAMPAIGNS, peak=1.5, peak_days=(330, 350)),
    "moving-tastes": _steady(trend=2.0, restless=0.1),
    "content": _steady(campaigns=_keep_on(**_CONTENT)),
    "trending": _steady(campaigns=_keep_on(recommender="trending")),
    "same-maker": _steady(campaigns=_keep_on(recommender="same-maker")),
    "exploring": _steady(campaigns=_keep_on(explore=0.3)),
    "sponsored": _steady(campaigns=_keep_on(sponsored=2)),
    "position-bias": _steady(campaigns=_keep_on(position_bias=1.0)),
    "active-users": _steady(campaigns=_keep_on(activity_bias=0.7)),
    "substitution": _steady(campaigns=_keep_on(substitution=0.7)),
    "spill-over": _steady(campaigns=_keep_on(acceptance=0.03, spill_over=0.5)),
    "joiners": _steady(campaigns=_keep_on(joiners=0.005)),
    "biased-holdout": _steady(holdout=0.15, holdout_bias=1.0),
    "on-before": _steady(campaigns=_keep_on(first=10), stopped_after=300),
    "replaced": _steady(
        campaigns=(*_keep_on(10, 300, **_CONTENT), *_keep_on(310)),
        stopped_after=300,
    ),
    "twins": _steady(campaigns=_keep_on(**_CONTENT, acceptance=0.05)),
}
"""The recipes, by name."""
