"""How realistic the worlds of the yardstick are, without scoring anything on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from unskew.known_truths.case_sources import find_sources
from unskew.known_truths.yardstick_result import summarise_worlds


def describe_worlds(
    names: str | Sequence[str], *, seeds: Sequence[int], users: int, items: int
) -> list[dict[str, Any]]:
    """One row for each world: means over seeds, with standard errors."""
    profiles = []
    for source in find_sources(names, base=None, users=users, items=items):
        for seed in source.choose_seeds(seeds):
            profile = source.make(seed).profile
            assert profile is not None
            profiles.append((source.label, asdict(profile)))
    return summarise_worlds(profiles)
