"""What holds for every test: timing decides nothing, a run can be repeated, and children import this checkout.

Property tests draw the same examples in every run; ``HYPOTHESIS_PROFILE=explore`` draws new ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import unskew

settings.register_profile("repeat", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

LONGEST = (
    *("spark", "fuzz", "earned_warnings", "verdicts", "reproduction_study", "yardstick", "timeline", "excess"),
    *("cli_reproduce", "cli_views", "adjusted", "thinned", "both_ends", "paper_size", "worlds_people", "wheel"),
)
"""Files that take long are begun first: with two workers, neither is left alone with one of them in the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(unskew.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)
