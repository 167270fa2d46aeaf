"""The arrays that the package passes around, by what they hold. Imports nothing but NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
"""Numbers of users, items or entries."""

Mask = npt.NDArray[np.bool_]
Items = npt.NDArray[np.uint32]
"""Item codes as they are stored."""

Offsets = npt.NDArray[Any]
"""Where rows begin or end: uint32, or uint64 beyond 4 billion entries."""

Levels = npt.NDArray[np.uint16]
Times = npt.NDArray[Any]
"""Ticks: whole numbers or not, as those of the log."""
