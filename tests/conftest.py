"""What holds for every test: timing decides nothing, and processes that tests start import this checkout."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings

import unskew

settings.register_profile("unskew", deadline=None)
settings.load_profile("unskew")

os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(unskew.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)
