"""The names of the simulated worlds, and what each is about.

Imports nothing, since the help of the command line shows them.
"""

from __future__ import annotations

SUMMARIES = {
    "paper": "two campaigns, at days 330 and 430; the sizes of the paper",
    "closed-loop": "the winner of each offline evaluation goes into production and shapes the next log",
    "always-on": "no campaigns: a recommender that shows something to a fifth of the users every ten days",
    "candidate": "two campaigns whose recommender is one of those that are scored later: knn?neighbours=50",
    "long-campaigns": "two campaigns of 80 days each, a third of the time together, while users keep joining",
    "few-items": "two campaigns in a catalogue of 200 items",
    "growth": "two campaigns while users keep joining, new items appear and tastes change",
    "pre-empting": "two campaigns that often recommend what users would have taken anyway",
    "quiet": "nothing is recommended",
}
"""The names, and in a few words what happens in each world; `unskew.worlds.named_worlds` has their recipes."""
