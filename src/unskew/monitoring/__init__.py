"""Thresholds for a job that runs by itself: what is checked, and what was found.

- `thresholds`: how far figures may go
- `check_thresholds`: `unskew.check`, which works them out
- `check_result`: what was found, in figures and in words
"""
