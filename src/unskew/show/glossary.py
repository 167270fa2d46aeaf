"""Words that somebody who has not read the paper may not know, and what they mean."""

from __future__ import annotations

WORDS = {
    "item mix": "How likely each item is to be the one that has to be found: the share of each item in what "
    "users have. Campaigns and recommendations push some items, and so change it.",
    "as logged": "Scored on the log as it is, as if recommendations had caused nothing.",
    "re-weighted": "Scored as if the item mix were still that of the reference date: items that became more "
    "frequent count less, and those that became rarer count more. That does not undo what an algorithm learned "
    "from recommended items.",
    "range": "From the lowest to the highest difference that may be true, over all assumptions about what "
    "recommendations caused, with the intervals of each.",
    "stand-ins for production": "Models that may resemble what made the recommendations. Where interactions since "
    "the reference date agree more with them than before, recommendations may be the cause.",
    "exposure log": "Who was shown what, and when; also called impressions.",
    "holdout group": "Users who are never shown recommendations.",
    "held out": "To score a recommender, an item is removed from what a user has, and the recommender has to find "
    "it from the rest.",
    "item weights": "A number for each item, chosen so that the held-out items have the item mix of the reference "
    "date.",
    "points": "Percentage points: from 10 % to 12 % is 2 points.",
    "users excluded": "Users who have nothing that exists at the other date, so that no weighting can make them "
    "comparable.",
    "more data": "What longer profiles and more users add to a score. It is measured with profiles cut at random "
    "to the size that they had at the reference date.",
    "unexplained": "What is left of a change once the item mix, the users excluded, more data and a change of "
    "algorithm are removed. It can be a real improvement, chance, or bias that is left.",
    "bound": "The furthest that the re-weighted score of a list that is the same for everybody can still be from "
    "its score at the reference date.",
    "mass": "A share of the item mix.",
    "profiles": "What users have at a date, each user's items together.",
    "interval": "Where the figure would lie if other people of the same kind had been asked: 95 of 100 such "
    "intervals contain the true one. It is about chance, and about nothing else.",
}
