"""The recipes of the worlds that have a name; what each is about stands in `unskew.worlds.world_names`."""

from __future__ import annotations

from dataclasses import replace

from unskew.worlds.recipe import Campaign, Loop, Recipe


def _repeat(campaign: Campaign, first: int, last: int, step: int) -> tuple[Campaign, ...]:
    return tuple(replace(campaign, day=day) for day in range(first, last + 1, step))


PAPER = Recipe(campaigns=(Campaign(330, catalogue=0.03, excluded=30), Campaign(430, catalogue=0.05, excluded=60)))

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
}
"""The recipes, by name."""
