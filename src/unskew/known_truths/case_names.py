"""The worlds of the yardstick by name, what each asks of a method, and the seeds.

Imports nothing, since the help of the command line shows them.
"""

from __future__ import annotations

SUMMARIES = {
    "paper": "two short campaigns in a service most of whose organic activity is over",
    "candidate": "the recommender of the campaigns is one of those that are scored",
    "few-items": "two campaigns in a catalogue of 200 items",
    "growth": "users keep joining, new items appear, tastes change",
    "long-campaigns": "campaigns that take a third of the time",
    "quiet": "nothing is recommended: methods must do no harm, and keep true gains",
    "always-on": "a recommender that is always on, 15 % of the users held out",
    "always-on-for-all": "the same with nobody held out",
    "pre-empting": "campaigns show items that users would have interacted with anyway, 15 % held out",
    "closed-loop": "the winner of each evaluation goes into production",
    "steady": "production that is always on, while people keep joining and interacting",
    "steady-quiet": "the same with nothing recommended: methods must do no harm",
    "steady-campaigns": "two short campaigns while people keep joining and interacting",
    "new-items": "steady; new items every week, whose novelty fades",
    "seasons": "steady; demand for topics goes up and down",
    "season-in-window": "steady; demand for some topics has a peak in the window of a campaign",
    "moving-tastes": "steady; the tastes of users change over time",
    "content": "steady; production is a content model, like none of those that are scored but v1",
    "trending": "steady; production shows what was popular in the last two weeks",
    "same-maker": "steady; production shows more of the same makers, which the log does not tell",
    "exploring": "steady; production fills 30 % of its lists at random",
    "sponsored": "steady; sponsored items are put at the top of lists",
    "position-bias": "steady; what is at the top of a list is accepted more often",
    "active-users": "steady; active users accept more often",
    "substitution": "steady; accepted recommendations replace later interactions",
    "spill-over": "steady; accepted recommendations lead to interactions with related items",
    "joiners": "steady; users join because of recommendations",
    "biased-holdout": "steady; the holdout group is drawn by activity",
    "on-before": "steady; production was on long before the reference date",
    "replaced": "steady; another model is put into production at the reference date",
    "twins": "steady; v1 is in production, and v2 is no better and no worse",
}
"""The names, and in a few words what each asks."""

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
