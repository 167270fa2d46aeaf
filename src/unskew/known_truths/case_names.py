"""The worlds of the yardstick by name, what happens in each, and the seeds.

Imports next to nothing, since the help of the command line shows them.
"""

from __future__ import annotations

from unskew.worlds import world_names

_WORDS = world_names.SUMMARIES | {"always-on-for-all": "always-on, with nobody held out"}

SUMMARIES = {
    name: _WORDS[name]
    for name in (
        *("paper", "candidate", "few-items", "growth", "long-campaigns", "quiet", "always-on"),
        *("always-on-for-all", "pre-empting", "closed-loop", "steady", "steady-quiet", "steady-campaigns"),
        *("new-items", "seasons", "season-in-window", "moving-tastes", "content", "trending"),
        *("same-maker", "exploring", "sponsored", "position-bias", "active-users", "substitution"),
        *("spill-over", "joiners", "biased-holdout", "on-before", "replaced", "twins"),
    )
}
"""The names in their order, and in a few words what happens in each world."""

INJECTED = "injected"
"""The paper's campaigns in a real log, which has to be given."""

TUNING_WORLDS = ("paper", "steady", "steady-quiet", "steady-campaigns", "new-items", "content")
"""Worlds on which methods and their parameters may be chosen; all others are for reporting only."""

UNTOUCHED_WORLDS = (
    *("seasons", "season-in-window", "moving-tastes", "exploring", "sponsored", "position-bias", "active-users"),
    *("substitution", "spill-over", "joiners", "biased-holdout", "on-before", "replaced", "twins"),
)
"""Worlds on which nothing was ever chosen; other worlds for reporting are older than this rule."""

CHOOSING = (100, 101, 102, 103, 104)
"""Seeds on which methods and their parameters are chosen."""

REPORTING = (200, 201, 202, 203, 204)
"""Seeds on which they are reported, and nothing is chosen."""

POPULATION = 10_000
"""Other people for the items of a seed have the seeds from ``POPULATION * (seed + 1)`` on."""
