"""Solvers: pure functions on arrays that know nothing of logs, dates or ids."""
