"""Solvers: pure functions on arrays that know nothing of logs, dates or ids.

- `problem`: what a solver is given, a `Problem`, and what it returns, a `Solution`
- `passes`: what a solver asks of the data
- `scaling`: fits all items at once; `descent`: any subset, by gradient descent or L-BFGS
- `joint_scaling`: fits items and further margins of the pairs together
- `fit`: what all methods share: passes, the stop rule, the result
- `certificate`: how far from the best possible a result can be
"""
