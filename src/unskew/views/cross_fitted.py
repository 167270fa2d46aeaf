"""How much came from recommendations, cross-fitted: what is chosen on half of the users is measured on the others.

The plain sum of max(0, observed - usual) over strata is positive by chance alone, and grows with their number.
Here strata with more pairs than usual are found on one half of the users, and the differences of these strata are
added up, whatever their sign, on the other half; then the halves change places. Models of production are compared
in the same way, by how well their strata separate what came from recommendations from what did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unskew.arrays.types import Floats, Mask
from unskew.views.rates import divide
from unskew.views.strata import BEYOND, CELLS, KIND_OF, NEW, RANK_OF, RANK_STRATA
from unskew.views.tally import Tally

_SPLITS = 4  # into halves, to average over
_STREAM = 0x5B11  # of random numbers
_KNOWN = np.arange(RANK_STRATA) != NEW  # rank strata of users who had a profile
_TOGETHER = 25  # samples of blocks that are measured at once, so that their cells fit into the cache
_WIDTH = CELLS // RANK_STRATA  # cells of a rank stratum, which are neighbours


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
    once = np.ones(counted[0].blocks) if times is None else times
    return float(_measure_excess(counted, halves, once[None], two_sided=two_sided)[0])


def measure_separation(counted: Tally, halves: Sequence[Mask], times: Floats | None = None) -> float:
    """How well the strata of a model tell what came from recommendations.

    With p the share of each stratum that came from them, found on one half, and D, x the excess and the suspect
    pairs of the other: ``sum 2 p D - p ** 2 x``, for each pair. This is largest for the true shares, 1 if they are
    all 1, and 0 if a model explains nothing.
    """
    once = np.ones(counted.blocks) if times is None else times
    sides = _list_sides(halves) * once
    return float(np.mean(_separate(counted, sides, _swap(sides))))


def resample_excess(
    counted: Sequence[Tally], halves: Sequence[Mask], repeats: int, seed: int, *, two_sided: bool = False
) -> Floats:
    """The share that recommendations caused for samples of blocks, drawn with repetition."""
    rng = np.random.default_rng([seed, _STREAM, 1])
    blocks = counted[0].blocks
    times = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=repeats).astype(np.float64)
    parts = [times[at : at + _TOGETHER] for at in range(0, repeats, _TOGETHER)]
    samples = [_measure_excess(counted, halves, part, two_sided=two_sided) for part in parts]
    return np.concatenate(samples) if samples else np.empty(0)


def _measure_excess(counted: Sequence[Tally], halves: Sequence[Mask], times: Floats, *, two_sided: bool) -> Floats:
    """The induced share for each of several samples of blocks: the mean over all halves, each first once."""
    sides = times[:, None, :] * _list_sides(halves)
    strata = [_find_strata(each, sides) for each in counted]
    best = np.zeros(sides.shape[:2], dtype=np.int64)
    if len(counted) > 1:
        even = np.arange(counted[0].blocks) % 2 == 0
        best = np.argmax([_separate(each, sides * even, sides * ~even) for each in counted], axis=0)
    partner = _swap(np.arange(sides.shape[1]))
    shares = np.empty(best.shape)
    for sample, side in np.ndindex(best.shape):
        excess, suspect = strata[best[sample, side]]
        more = (excess[sample, side] > 0) | two_sided
        second = sample, partner[side]
        shares[sample, side] = _share(excess[second][more & _KNOWN].sum(), suspect[second])
    means: Floats = shares.mean(axis=1)
    return means


def _list_sides(halves: Sequence[Mask]) -> Mask:
    """All halves of the blocks, then the other half of each."""
    marked = np.array(halves)
    return np.concatenate([marked, ~marked])


def _swap(sides: Any) -> Any:
    """The other half for each of `_list_sides`."""
    return np.roll(sides, len(sides) // 2, axis=0)


def _find_strata(counted: Tally, times: Floats) -> tuple[Floats, Floats]:
    """Excess and suspect pairs by rank stratum, as `find_rates` has them, for many samples of blocks.

    The last axis of `times` are the blocks, that of the results the rank strata. Sums have the order of
    `find_rates`, and therefore its bits; cells without any pairs are left out, which changes none.
    """
    used = np.flatnonzero((counted.suspect + counted.others + counted.quiet_pairs).any(axis=0))
    rows = times.reshape(-1, counted.blocks)
    suspect, others, pairs = (
        rows @ counts[:, used] for counts in (counted.suspect, counted.others, counted.quiet_pairs)
    )
    factor = divide(rows @ counted.people, rows @ counted.quiet_people)[:, KIND_OF[used]]
    if counted.scaled:
        far = RANK_OF[used] == BEYOND
        expected = np.zeros((len(rows), _WIDTH))
        expected[:, used[far] - BEYOND * _WIDTH] = (pairs * factor)[:, far]
        scale = divide((suspect + others)[:, far].sum(axis=1), expected.sum(axis=1))
        factor = np.where(RANK_OF[used] == NEW, factor, factor * scale[:, None])
    excess = np.zeros((RANK_STRATA, len(rows)))
    several = np.zeros((RANK_STRATA, len(rows)))
    for stratum, surplus, taken in zip(
        RANK_OF[used], (suspect + others - pairs * factor).T, suspect.T, strict=True
    ):
        excess[stratum] += surplus
        several[stratum] += taken
    shape = (*times.shape[:-1], RANK_STRATA)
    return np.ascontiguousarray(excess.T).reshape(shape), np.ascontiguousarray(several.T).reshape(shape)


def _separate(counted: Tally, chosen_on: Floats, measured_on: Floats) -> Floats:
    (first, taken), (second, suspect) = _find_strata(counted, chosen_on), _find_strata(counted, measured_on)
    share = np.clip(np.divide(first, taken, out=np.zeros_like(taken), where=taken > 0), 0.0, 1.0)
    score = 2 * share * second - share**2 * suspect
    shares = np.empty(score.shape[:-1])
    for place in np.ndindex(shares.shape):
        shares[place] = _share(score[place][_KNOWN].sum(), suspect[place])
    return shares


def _share(pairs: float, suspect: Floats) -> float:
    """So many pairs as a share of all suspect ones of users who had a profile."""
    taken = float(suspect[_KNOWN].sum())
    return float(pairs) / taken if taken > 0 else 0.0
