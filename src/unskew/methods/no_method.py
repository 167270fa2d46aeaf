"""None: the raw score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.data.slice import Slice
from unskew.data.weighting import Weighting
from unskew.methods.method import Method


@dataclass(frozen=True, eq=False)
class NoMethod(Method):
    """The pairs as they are: ``P(u) P(i|u)``, the score of most offline evaluations.

    Limits: whatever recommendations and promotions did to the log is in it.
    """

    name: ClassVar[str] = "none"
    knows: ClassVar[str] = "nothing"
    targets_reference: ClassVar[bool] = False
    paper: ClassVar[str] = "none: what offline evaluation does unless told otherwise"

    def _weigh(self, part: Slice) -> Weighting:
        return part.weigh()
