"""Measurements, side by side in one run, as ratios. ``make bench`` runs them all."""
