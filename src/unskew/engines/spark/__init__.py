"""Everything about Spark: nothing here is imported before a log is read on a cluster.

From the ground up: `jobs`, `blocks`, `population` and `log`; how tables become a log, `tables` and `layout`; how
recommenders are evaluated on it, `sample`, `scores` and `evaluation`.
"""
