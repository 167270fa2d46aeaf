"""Where passes run: on the threads of this machine, or on a Spark cluster.

- `population`: what `fit_weights` asks of an engine, besides passes
- `local`: the answers of this machine
- `spark`: those of a cluster
- `spark_log`: a log on a cluster, and its profiles at a date
- `spark_session`: a Spark session and its settings; `spark_jobs`: its jobs, and what can go wrong with them
- `snapshot_rule`: how every worker makes the profiles at a date of its own blocks
- `block_table`: a Spark table with one packed record of arrays for each block of users, and work on each of them
- `block_logs`: a block as a log of its users alone, so that whatever works on a log works on a block
- `block_sweep`: passes over the profiles on a cluster, each block by the loop that runs on one machine

`open_population` chooses: to add an engine, write its file and let it be chosen here.
"""

from __future__ import annotations

from unskew.data.slice import Slice
from unskew.engines.local import LocalPopulation
from unskew.engines.population import Population
from unskew.engines.spark_log import SparkSnapshot


def open_population(part: Slice | SparkSnapshot) -> Population:
    """The users of a slice, or of a snapshot on a cluster, for the engine that can run passes over them."""
    return part.everyone if isinstance(part, SparkSnapshot) else LocalPopulation(part)
