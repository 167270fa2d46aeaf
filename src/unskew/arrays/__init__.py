"""Numbers only: profiles as arrays, loops over them, and how a pass is cut into blocks and threads.

Nothing here knows an id or a date. `types` is free to import: it loads no compiler.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path
from typing import Any

from unskew.errors import warn

SETTINGS = ".numba_config.yaml"
"""Numba reads this file of the working directory if PyYAML is there: when it is imported and when it compiles."""

IS_CONFIGURED = "numba" in sys.modules
"""Whether the program around unskew imported Numba, which is then set as that program has it."""


def _import_without_settings() -> None:
    """Import Numba without the settings in the working directory, which may be somebody else's.

    They can name a folder of compiled loops. These are unpickled, so whoever wrote them would run code here.
    """
    modules: dict[str, Any] = sys.modules
    yaml = modules.pop("yaml", None)
    modules["yaml"] = None  # so that importing it fails
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Numba says that PyYAML is missing
            importlib.import_module("numba")
    finally:
        del modules["yaml"]
        if yaml is not None:
            modules["yaml"] = yaml
    warn(f"{SETTINGS} in the working directory is not used: set Numba with variables of the environment")


if not IS_CONFIGURED and Path(SETTINGS).is_file():
    _import_without_settings()
