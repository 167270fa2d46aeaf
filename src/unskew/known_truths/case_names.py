"""The worlds of the yardstick by name, what each asks of a method, and the seeds.

Imports nothing, since the help of the command line shows them.
"""

from __future__ import annotations

SUMMARIES = {
    "paper": "two short campaigns",
    "candidate": "the recommender of the campaigns is one of those that are scored",
    "few-items": "two campaigns in a catalogue of 200 items",
    "growth": "users keep joining, new items appear, tastes change",
    "long-campaigns": "campaigns that take a third of the time",
    "quiet": "nothing is recommended: methods must do no harm, and keep true gains",
    "always-on": "a recommender that is always on, 15 % of the users held out",
    "always-on-for-all": "the same with nobody held out",
    "pre-empting": "campaigns show what users would have taken anyway, 15 % held out",
    "closed-loop": "the winner of each evaluation goes into production",
}
"""The names, and in a few words what each asks."""

INJECTED = "injected"
"""The paper's campaigns in a real log, which has to be given."""

CHOOSING = (100, 101, 102, 103, 104)
"""Seeds on which methods and their parameters are chosen."""

REPORTING = (200, 201, 202, 203, 204)
"""Seeds on which they are reported, and nothing is chosen."""

POPULATION = 1000
"""The first seed of the worlds whose mean truth intervals are held against."""
