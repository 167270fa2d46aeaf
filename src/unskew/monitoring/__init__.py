"""Thresholds for a job that runs by itself: what is checked, and what was found."""
