"""Ranks kept for a second use: a page scores the same dates twice, once for its answer and once for its charts.

Only ranks of every pair of the profiles of a date are kept, and only inside the block that asks for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from unskew.evaluation.pair_selection import PairSelection
from unskew.evaluation.ranking import RankedPairs
from unskew.recommend.contract import PreparedLists, Recommender


@dataclass
class RankMemory:
    """Ranks by recommender, date and depth; what they are about is kept too, so that no other has its identity."""

    keeps: bool = True
    _found: dict[tuple[Any, ...], tuple[RankedPairs, Any]] = field(default_factory=dict)

    def recall(self, key: tuple[Any, ...]) -> RankedPairs | None:
        """What was found before."""
        found = self._found.get(key)
        return None if found is None else found[0]

    def keep(self, key: tuple[Any, ...], ranks: RankedPairs, about: Any) -> None:
        """Keep what was found, as long as this memory does."""
        if self.keeps:
            self._found[key] = (ranks, about)


_memories: list[RankMemory] = []


@contextlib.contextmanager
def remembering_ranks(memory: RankMemory) -> Iterator[None]:
    """Inside the block ranks are looked for in `memory`, and kept there if it keeps any."""
    _memories.append(memory)
    try:
        yield
    finally:
        _memories.remove(memory)


def recall_or_rank(
    model: Recommender, selection: PairSelection, depth: int, graded: bool, rank: Callable[[], RankedPairs]
) -> RankedPairs:
    """The ranks of a selection: remembered, or computed by `rank`."""
    whole = selection.sample is None and selection.folds is None and selection.held.together == 1
    whole = whole and selection.split.is_from_profiles and not isinstance(model, PreparedLists)
    if not _memories or not whole:
        return rank()
    log = selection.part.log
    key = (id(model), id(log), selection.part.tick, selection.part.policy.min_items, depth, graded)
    found = _memories[-1].recall(key)
    if found is None:
        found = rank()
        _memories[-1].keep(key, found, (model, log))
    return found
