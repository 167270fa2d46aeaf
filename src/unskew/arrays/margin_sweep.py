"""One pass over the profiles for several margins at once: each entry is in one group of each of them.

Cut into blocks and added up as in `unskew.arrays.sweep`, so that the result is the same for any number of
threads. A pass takes an exponential for each entry, where one for a single margin takes none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from unskew.arrays import margin_kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Floats

Groups = npt.NDArray[np.int32]
"""The groups of each entry, one column a margin; those of all margins are numbered one after the other."""


@dataclass
class MarginSweep:
    """Passes over profiles whose entries have groups, with their buffers and their count.

    Attributes
    ----------
    profiles
        The rows; every entry belongs to one, and none has weight 0.
    groups
        Of each entry.
    size
        How many groups there are, of all margins together.
    pairs
        ``P(u) P(i|u,w)`` of each entry after the last pass.
    """

    profiles: Profiles
    groups: Groups
    size: int
    count: int = 0
    pairs: Floats = field(init=False, repr=False)
    _log_b: Floats | None = field(init=False, repr=False)
    _sums: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        p = self.profiles
        self.pairs = np.zeros(len(p.item))
        self._log_b = None if p.b is None else np.log(p.b)
        self._sums = np.empty((len(p.edges()) - 1, self.size))

    def marginals(self, theta: Floats, score: Floats | None = None) -> tuple[Floats, float]:
        """The weighted marginals of all margins, one after the other, for log-weights of their groups. One pass.

        With `score`, also ``sum_u P(u) max_e sum_k score`` of the groups k of e, over the entries e of u.
        """
        p, shares = self.profiles, self.profiles.shares()
        self.count += 1

        def block(k: int, lo: int, hi: int) -> float:
            highest: float = margin_kernels.add_margins(
                lo, hi, p.start, p.stop, shares, self._log_b, self.groups, theta, score, self.pairs, self._sums[k]
            )
            return highest

        highest = over_blocks(p.edges(), len(p.item), block)
        q = np.zeros(self.size)
        for sums in self._sums:
            q += sums
        return q, float(sum(highest))
