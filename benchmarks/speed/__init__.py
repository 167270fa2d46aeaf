"""Comparisons of speed: each file is one job, done by unskew and by others, in the frame of `benchmarks.frame`."""
