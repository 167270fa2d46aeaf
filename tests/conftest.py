"""What holds for every test: timing decides nothing, a run can be repeated, and children import this checkout.

Property tests draw the same examples in every run; ``HYPOTHESIS_PROFILE=explore`` draws new ones.
"""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings

import unskew

settings.register_profile("repeat", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(unskew.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)
