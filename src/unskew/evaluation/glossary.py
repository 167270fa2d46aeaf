"""Words that somebody who has not read the paper may not know, and what they mean."""

from __future__ import annotations

WORDS = {
    "item mix": "How likely each item is to be the one that has to be found: the share of each item in what "
    "people hold. Campaigns and recommendations push some items, and so change it.",
    "debiased": "Scored as if the item mix were still that of the reference date: items that became more frequent "
    "count less, and those that became rarer count more.",
    "raw": "Scored as the log is, with nothing taken out.",
    "held out": "To score a recommender, an item is taken out of what a user holds, and the recommender has to "
    "find it from the rest.",
    "item weights": "A number for each item that says how often it is held out, compared with drawing blindly: 1 "
    "is as often, 2 twice as often.",
    "points": "Percentage points: from 10 % to 12 % is 2 points.",
    "users excluded": "Users who hold nothing that exists at the other date, so that no weighting can make them "
    "comparable.",
    "unexplained": "What is left of a change once the item mix, the users excluded and a change of algorithm "
    "are taken off. It can be a real improvement, chance, or bias that is left.",
    "bound": "The furthest that the debiased score of a list that is the same for everybody can still be from its "
    "score at the reference date.",
    "mass": "A share of the item mix.",
    "profiles": "What users hold at a date, each user's items together.",
    "interval": "Where the figure would lie if other people of the same kind had been asked: 95 of 100 such "
    "intervals hold the true one. It knows of chance, and of nothing else.",
}
