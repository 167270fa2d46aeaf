"""Evaluating recommenders: held-out pairs, ranks, scores, and how sure they are."""
