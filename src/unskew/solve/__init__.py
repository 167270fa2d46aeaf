"""Solvers: pure functions on arrays that know nothing of logs, dates or ids.

`scaling` fits all items at once, `descent` and `lbfgs` any subset; each takes a `Problem` and returns a
`Solution`. `certificate` says how far from the best possible a result can be.
"""
