"""Where passes run: on the threads of this machine, or on a Spark cluster.

`open_population` chooses: to add an engine, write its file and let it be chosen here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unskew.data.slice import Slice
from unskew.engines.local import LocalPopulation
from unskew.engines.population import Population

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot


def open_population(part: Slice | SparkSnapshot) -> Population:
    """The users of a slice, or of a snapshot on a cluster, for the engine that can run passes over them."""
    return LocalPopulation(part) if isinstance(part, Slice) else part.everyone
