"""Scores over time: every recommender at every date of a grid, raw and weighted."""
