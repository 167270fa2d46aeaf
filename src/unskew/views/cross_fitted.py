"""How much came from recommendations, cross-fitted: what is chosen on half of the users is measured on the others.

The plain sum of max(0, observed - usual) over strata is positive by chance alone, and grows with their number.
Here strata with more pairs than usual are found on one half of the users, and the differences of these strata are
added up, whatever their sign, on the other half; then the halves change places. Models of production are compared
in the same way, by how well their strata separate what came from recommendations from what did not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from unskew.arrays.types import Floats, Mask
from unskew.views.rates import Rates, find_rates
from unskew.views.strata import NEW, RANK_STRATA, add_up
from unskew.views.tally import Tally

_SPLITS = 4  # into halves, to average over
_STREAM = 0x5B11  # of random numbers
_KNOWN = np.arange(RANK_STRATA) != NEW  # rank strata of users who had a profile


def split_blocks(blocks: int, seed: int) -> list[Mask]:
    """Several ways of marking half of the blocks."""
    rng = np.random.default_rng([seed, _STREAM])
    return [rng.permutation(blocks) < blocks // 2 for _ in range(_SPLITS)]


def measure_excess(
    counted: Sequence[Tally], halves: Sequence[Mask], times: Floats | None = None, *, two_sided: bool = False
) -> float:
    """The share of the interactions in the windows that recommendations caused.

    Of several models, the one that separates best on one half is used on the other. `times` says how often each
    block of users counts. With `two_sided`, strata with fewer interactions than usual count as well: what is
    missing is negative.
    """
    even = np.arange(counted[0].blocks) % 2 == 0

    def measure(chosen_on: Floats, measured_on: Floats) -> float:
        best = 0
        if len(counted) > 1:
            found = [_separate(one, chosen_on * even, chosen_on * ~even) for one in counted]
            best = int(np.argmax(found))
        first, second = (find_rates(counted[best], some) for some in (chosen_on, measured_on))
        more = (first.excess > 0) | two_sided
        return _share(second.excess[more & _KNOWN].sum(), second)

    return _average(measure, counted[0].blocks, halves, times)


def measure_separation(counted: Tally, halves: Sequence[Mask], times: Floats | None = None) -> float:
    """How well the strata of a model tell what came from recommendations.

    With p the share of each stratum that came from them, found on one half, and D, x the excess and the suspect
    pairs of the other: ``sum 2 p D - p ** 2 x``, for each pair. This is largest for the true shares, 1 if they are
    all 1, and 0 if a model explains nothing.
    """
    return _average(lambda one, other: _separate(counted, one, other), counted.blocks, halves, times)


def resample_excess(
    counted: Sequence[Tally], halves: Sequence[Mask], repeats: int, seed: int, *, two_sided: bool = False
) -> Floats:
    """The share that recommendations caused for samples of blocks, drawn with repetition."""
    rng = np.random.default_rng([seed, _STREAM, 1])
    blocks = counted[0].blocks
    each = np.full(blocks, 1 / blocks)
    return np.array(
        [
            measure_excess(counted, halves, rng.multinomial(blocks, each).astype(float), two_sided=two_sided)
            for _ in range(repeats)
        ]
    )


def _average(
    measure: Callable[[Floats, Floats], float], blocks: int, halves: Sequence[Mask], times: Floats | None
) -> float:
    """The mean over all halves, each of which is the first one once."""
    once = np.ones(blocks) if times is None else times
    found = [measure(once * half, once * ~half) for half in halves]
    found += [measure(once * ~half, once * half) for half in halves]
    return float(np.mean(found))


def _separate(counted: Tally, chosen_on: Floats, measured_on: Floats) -> float:
    first, second = find_rates(counted, chosen_on), find_rates(counted, measured_on)
    taken = add_up(first.suspect)
    share = np.clip(np.divide(first.excess, taken, out=np.zeros_like(taken), where=taken > 0), 0.0, 1.0)
    score = 2 * share * second.excess - share**2 * add_up(second.suspect)
    return _share(score[_KNOWN].sum(), second)


def _share(pairs: float, rates: Rates) -> float:
    """So many pairs as a share of all suspect ones of users who had a profile."""
    taken = float(add_up(rates.suspect)[_KNOWN].sum())
    return float(pairs) / taken if taken > 0 else 0.0
