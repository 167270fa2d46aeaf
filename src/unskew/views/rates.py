"""Rates: how many pairs of each cell were taken, and how many would have been had nothing been shown.

For a cell s with e_s observed pairs (the suspect ones x_s, which recommendations may have brought, and others o_s)
among the n people who could be shown something, and b_s pairs among m people to whom nothing was shown:

    usual     h_s = c b_s n / m       c = 1 for a holdout group over the same time; for quiet windows such that
                                      the outermost stratum agrees, since demand may differ between times
    excess    e_s - h_s               negative if there were fewer than usual
    keep      (h_s - o_s) / x_s       in [0, 1]: with this probability a suspect pair is kept

Users are dealt into blocks at random and counted by block: a sample of blocks stands for a sample of users, and
costs the same however large the log is.

How much came from recommendations is cross-fitted. The plain sum of max(0, observed - usual) over strata is
positive by chance alone, and grows with their number. So strata with more pairs than usual are found on one half
of the users, and the differences of these strata are added up, whatever their sign, on the other half; then the
halves change places. Models of production are compared in the same way, by how well their strata separate what
came from recommendations from what did not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.views.strata import (
    BEYOND,
    CELLS,
    KIND_OF,
    KINDS,
    MARGINS,
    NEW,
    RANK_OF,
    RANK_STRATA,
    Stratified,
    add_up,
    name_strata,
)

MOST_BLOCKS = 200


@dataclass(frozen=True)
class Tally:
    """Counts of those who could be shown something, and of those who were shown nothing."""

    # Pairs that recommendations may have brought and others, by block and cell.
    suspect: Floats
    others: Floats
    people: Floats  # users who could be shown something, once for each window, by block and kind
    # The same where nothing was shown.
    quiet_pairs: Floats
    quiet_people: Floats
    # Whether that was at another time, so that it must be scaled to agree where recommendations do not reach.
    scaled: bool
    models: int = 1  # by how many models the quiet pairs were ranked: each pair counts so many times

    @property
    def blocks(self) -> int:
        """How many blocks of users there are."""
        return len(self.suspect)


def deal_blocks(n_users: int, holdout: Mask | None, seed: int) -> Codes:
    """A block for each user: as many of the holdout group in each as possible, and of the others."""
    order = np.random.default_rng([seed, 0xB10C]).permutation(n_users)
    if holdout is not None:
        order = order[np.argsort(holdout[order], kind="stable")]
    block = np.empty(n_users, dtype=np.int64)
    block[order] = np.arange(n_users) % min(MOST_BLOCKS, max(2, n_users // 2))
    return block


def tally(
    pairs: Stratified, suspect: Mask, quiet: Sequence[Stratified], holdout: Mask | None, block: Codes
) -> Tally:
    """Count pairs and people by block.

    `quiet` has the pairs of quiet windows, once for each model that ranked them; if it is empty, the holdout group
    is who was shown nothing.
    """
    blocks = int(block.max()) + 1
    nobody = np.zeros(len(block), dtype=np.bool_) if holdout is None else holdout
    shown, shown_people = ~nobody[pairs.user], ~nobody[pairs.person]
    unshown = [
        (pairs_of_model, ~nobody[pairs_of_model.user], ~nobody[pairs_of_model.person]) for pairs_of_model in quiet
    ] or [(pairs, ~shown, ~shown_people)]
    return Tally(
        _count(pairs.user, pairs.cell, shown & suspect, block, blocks, CELLS),
        _count(pairs.user, pairs.cell, shown & ~suspect, block, blocks, CELLS),
        _count(pairs.person, pairs.kind, shown_people, block, blocks, KINDS),
        _sum(
            _count(pairs_of_model.user, pairs_of_model.cell, which, block, blocks, CELLS)
            for pairs_of_model, which, _ in unshown
        ),
        _sum(
            _count(pairs_of_model.person, pairs_of_model.kind, which, block, blocks, KINDS)
            for pairs_of_model, _, which in unshown
        ),
        scaled=bool(quiet),
        models=len(unshown),
    )


def _sum(several: Iterable[Floats]) -> Floats:
    total: Floats = np.sum(list(several), axis=0)
    return total


def _count(user: Codes, place: Codes, which: Mask, block: Codes, blocks: int, size: int) -> Floats:
    places = block[user[which]] * size + place[which]
    return np.bincount(places, minlength=blocks * size).reshape(blocks, size).astype(np.float64)


_ROUNDS = 30
_ERRORS = 1.5  # standard errors by which an excess must differ from 0 to count
_PRIOR = 3.0  # pairs by which a group of cells is drawn to its rank stratum


@dataclass(frozen=True)
class Rates:
    """Pairs by cell, as counts over the people who could be shown something."""

    # Pairs that recommendations may have brought, and others.
    suspect: Floats
    others: Floats
    # How many there would be had nothing been shown, and the variance of this estimate.
    usual: Floats
    usual_variance: Floats
    people: Floats  # how many there are of each kind of people

    @property
    def observed(self) -> Floats:
        """Pairs of each cell in the log."""
        return self.suspect + self.others

    @property
    def excess(self) -> Floats:
        """What came from recommendations, by rank stratum: observed without usual, negative if fewer."""
        return add_up(self.observed - self.usual)


def find_rates(counted: Tally, times: Floats | None = None) -> Rates:
    """Rates over all blocks of users, each as many times as given."""
    once = np.ones(counted.blocks) if times is None else times
    suspect, others = once @ counted.suspect, once @ counted.others
    people, quiet_people = once @ counted.people, once @ counted.quiet_people
    pairs = once @ counted.quiet_pairs
    factor = divide(people, quiet_people)[KIND_OF]
    if counted.scaled:
        far = RANK_OF == BEYOND
        scale = divide((suspect + others)[far].sum(), (pairs * factor)[far].sum())
        factor = np.where(RANK_OF == NEW, factor, factor * scale)
    return Rates(suspect, others, pairs * factor, pairs * factor**2 * counted.models, people)


def find_growth(counted: Tally) -> float:
    """The share of the pairs by which people of the same kind had more of them than where nothing was shown.

    Other than usual rates, this is not scaled to agree anywhere: it is 0 or less if people do no more than before.
    """
    known = RANK_OF != NEW
    pairs = (counted.suspect + counted.others).sum(axis=0)[known].sum()
    factor = divide(counted.people.sum(axis=0), counted.quiet_people.sum(axis=0))[KIND_OF]
    expected = (counted.quiet_pairs.sum(axis=0) * factor)[known].sum()
    return float(1 - expected / pairs) if pairs > 0 else 0.0


def find_keep(rates: Rates) -> Floats:
    """The probability with which suspect pairs of each cell are kept.

    Raked: beginning with 1, the probabilities are scaled in turn until what is kept agrees with what is usual for
    each rank stratum and for each group of cells in `MARGINS`, never beyond 1. The groups are drawn to their rank
    stratum as if they had a few pairs more. Then the thinning of each rank stratum is multiplied by how sure its
    excess is.
    """
    expected = rates.usual - rates.others
    keep = np.ones(CELLS)
    for _ in range(_ROUNDS):
        for group, prior in ((RANK_OF, 0.0), *((margin, _PRIOR) for margin in MARGINS)):
            wanted = np.maximum(np.bincount(group, weights=expected), 0.0) + prior
            now = np.bincount(group, weights=keep * rates.suspect) + prior
            keep = np.minimum(keep * divide(wanted, now)[group], 1.0)
    return 1 - _find_certainty(rates)[RANK_OF] * (1 - keep)


def _find_certainty(rates: Rates) -> Floats:
    """How sure the excess D of each rank stratum is: ``1 - 2.25 Var(D) / D ** 2``, 0 up to 1.5 standard errors."""
    excess = np.maximum(rates.excess, 1e-9)
    variance = add_up(rates.observed + rates.usual_variance)
    sure: Floats = np.maximum(1 - _ERRORS**2 * variance / excess**2, 0.0)
    return sure


def list_strata(rates: Rates) -> list[tuple[str, int, float, float, float]]:
    """Of each rank stratum: name, suspect pairs, observed and usual pairs for each person, excess in pairs."""
    suspect, observed, usual = (add_up(values) for values in (rates.suspect, rates.observed, rates.usual))
    people = np.full(len(suspect), max(float(rates.people[1:].sum()), 1.0))
    people[NEW] = max(float(rates.people[0]), 1.0)
    each, normal = observed / people, usual / people
    return [
        (name, int(suspect[k]), float(each[k]), float(normal[k]), float(observed[k] - usual[k]))
        for k, name in enumerate(name_strata())
        if observed[k] + usual[k] > 0
    ]


def divide(a: Any, b: Any) -> Floats:
    """The ratio, and 1 where there is nothing to divide by."""
    ratios: Floats = np.divide(a, b, out=np.ones(np.shape(b)), where=np.asarray(b) > 0)
    return ratios


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


def measure_separation(counted: Tally, halves: Sequence[Mask]) -> float:
    """How well the strata of a model tell what came from recommendations.

    With p the share of each stratum that came from them, found on one half, and D, x the excess and the suspect
    pairs of the other: ``sum 2 p D - p ** 2 x``, for each pair. This is largest for the true shares, 1 if they are
    all 1, and 0 if a model explains nothing.
    """
    sides = _list_sides(halves) * np.ones(counted.blocks)
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
