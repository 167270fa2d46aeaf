"""A fixed snapshot: score at the old date for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.checks import require_instance
from unskew.data.slice import Slice, Snapshot, Weighting
from unskew.errors import PolicyError
from unskew.methods.method import Method


@dataclass(frozen=True, eq=False)
class FixedSnapshot(Method):
    """The pairs of the reference date, with the probabilities that they had then: ``P_t0(u) P_t0(i|u)``.

    Its `profiles` are those of the reference date, and a score on them is the raw score of then. Applied to a
    later date of the same log, it takes the pairs of then that are still there, but profiles and models are
    those of now.

    Limits: new users and all that was taken since are thrown away, which is why the paper sets it aside ("clearly
    unacceptable"); on the profiles of then a true improvement of the data is never seen.

    Attributes
    ----------
    reference
        The profiles at the reference date, a `Snapshot`.
    """

    name: ClassVar[str] = "fixed-snapshot"
    knows: ClassVar[str] = "reference"
    paper: ClassVar[str] = (
        "A. de Myttenaere, B. Golden, B. Le Grand and F. Rossi (2014), Reducing Offline Evaluation Bias in "
        "Recommendation Systems, section 2.2"
    )

    reference: Slice

    def __post_init__(self) -> None:
        remedy = "give the profiles at the reference date, log.at(date): an item mix does not say who held what"
        require_instance(Slice, self.reference, "a snapshot", remedy)

    def profiles(self, now: Snapshot) -> Snapshot:
        """The profiles of the reference date."""
        return require_instance(Snapshot, self.reference, "a snapshot", "give the profiles at a date")

    def _weigh(self, part: Slice) -> Weighting:
        then, log = self.reference, part.log
        if then.log is not log:
            raise PolicyError(
                f"the fixed snapshot is of another log ({then.log}) than what is scored ({log})",
                remedy="score its own profiles",
            )
        part.policy.require_same(then.policy, "the fixed snapshot")
        held = then.mark_entries()
        of_log = np.zeros(len(log))  # by place in the log, which two slices share
        of_log[then.per_entry(np.arange(len(log)))[held]] = then.weigh().pair_shares[held]
        return Weighting.of_pairs(part, part.per_entry(of_log), frees_constant_lists=True)
