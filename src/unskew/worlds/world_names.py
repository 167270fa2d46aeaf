"""The names of the simulated worlds, and what each is about.

Imports nothing, since the help of the command line shows them.
"""

from __future__ import annotations

SUMMARIES = {
    "paper": "two campaigns in a service most of whose organic activity is over; the sizes of the paper",
    "closed-loop": "the winner of each offline evaluation goes into production and shapes the next log",
    "always-on": "no campaigns: a recommender that shows something to a fifth of the users every ten days",
    "candidate": "two campaigns whose recommender is one of those that are scored later: knn?neighbours=50",
    "long-campaigns": "two campaigns of 80 days each, a third of the time together, while users keep joining",
    "few-items": "two campaigns in a catalogue of 200 items",
    "growth": "two campaigns while users keep joining, new items appear and tastes change",
    "pre-empting": "two campaigns that often recommend items that users would have interacted with anyway",
    "quiet": "nothing is recommended",
    "steady": "users keep joining and interacting; co-occurrence production is on from day 320",
    "steady-quiet": "the same with nothing recommended",
    "steady-campaigns": "the same with two short campaigns",
    "new-items": "steady; new items every week, whose novelty fades",
    "seasons": "steady; demand for topics goes up and down",
    "season-in-window": "steady; demand for some topics has a peak in the window of the first campaign",
    "moving-tastes": "steady; the tastes of users change over time",
    "content": "steady; a content model is in production",
    "trending": "steady; production shows what was popular in the last two weeks",
    "same-maker": "steady; production shows more of the makers of what a user has, which the log does not tell",
    "exploring": "steady; production fills 30 % of its lists at random",
    "sponsored": "steady; sponsored items are put at the top of lists",
    "position-bias": "steady; what is at the top of a list is accepted more often",
    "active-users": "steady; active users accept more often",
    "substitution": "steady; most accepted recommendations replace a later interaction",
    "spill-over": "steady; accepted recommendations lead to interactions with related items",
    "joiners": "steady; users join because of recommendations",
    "biased-holdout": "steady; the holdout group is drawn by activity",
    "on-before": "steady; production is on from the first days, long before the reference date",
    "replaced": "steady; a content model is replaced by co-occurrence at the reference date",
    "twins": "steady; a content model is in production, and its exchangeable twin is the candidate",
}
"""The names, and in a few words what happens in each world; `unskew.worlds.named_worlds` has their recipes."""
