"""Where passes run: on the threads of this machine, and later elsewhere.

- `population`: what `fit_weights` asks of an engine, besides passes
- `local`: the answers of this machine

`open_population` chooses: to add an engine, write its file and let it be chosen here.
"""

from __future__ import annotations

from unskew.data.slice import Slice
from unskew.engines.local import LocalPopulation
from unskew.engines.population import Population


def open_population(part: Slice) -> Population:
    """The users of a slice, for the engine that can run passes over them."""
    return LocalPopulation(part)
