"""Rates: how many pairs of each stratum were taken, and how many would have been had nothing been shown.

Both are counts over the same people, those who could be shown something:

- observed: ``e_s``, split into the suspect pairs ``x_s`` (taken in a window, or after an exposure) and others ``o_s``
- usual: ``h_s``, the pairs of each user where nothing was shown, times the number of people
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.views.strata import KIND_OF, NUMBER, Stratified, is_outermost


@dataclass(frozen=True)
class Rates:
    """Pairs by stratum, as counts over those who could be shown something.

    Attributes
    ----------
    suspect, others
        Pairs that recommendations may have brought, and those that they did not.
    usual
        How many there would be had nothing been shown.
    basis
        How many pairs this was counted from.
    people
        For each stratum, the number of people that rates are of.
    """

    suspect: Floats
    others: Floats
    usual: Floats
    basis: Floats
    people: Floats

    @property
    def observed(self) -> Floats:
        """Pairs of each stratum in the log."""
        return self.suspect + self.others

    @property
    def excess(self) -> Floats:
        """Suspect pairs that would not be there had nothing been shown; negative where there are too few."""
        return self.observed - self.usual


def count_pairs(pairs: Stratified, which: Mask, weight: Floats) -> Floats:
    """Pairs of each stratum, each as often as its user counts."""
    counts: Floats = np.bincount(pairs.stratum[which], weights=weight[pairs.user[which]], minlength=NUMBER)
    return counts


def count_people(pairs: Stratified, weight: Floats) -> Floats:
    """People of each stratum's kind, over all windows."""
    kinds = np.bincount(pairs.kind, weights=weight[pairs.person], minlength=int(KIND_OF.max()) + 1)
    people: Floats = kinds[KIND_OF]
    return people


def compare_with_group(pairs: Stratified, suspect: Mask, shown: Floats, held_out: Floats) -> Rates:
    """Rates where the usual one is that of a hold-out group over the same time.

    `shown` and `held_out` say how often each user counts among those who could be shown something, and in the group.
    """
    people, group = count_people(pairs, shown), count_people(pairs, held_out)
    everything = np.ones(len(pairs.stratum), dtype=np.bool_)
    basis = count_pairs(pairs, everything, held_out)
    return Rates(
        count_pairs(pairs, suspect, shown),
        count_pairs(pairs, ~suspect, shown),
        basis * _divide(people, group),
        basis,
        people,
    )


def compare_with_quiet(pairs: Stratified, quiet: Stratified, shown: Floats) -> Rates:
    """Rates where the usual one is that of quiet windows, scaled so that the outermost stratum agrees."""
    everything, all_quiet = (np.ones(len(some.stratum), dtype=np.bool_) for some in (pairs, quiet))
    people, then = count_people(pairs, shown), count_people(quiet, shown)
    observed, basis = count_pairs(pairs, everything, shown), count_pairs(quiet, all_quiet, shown)
    usual = basis * _divide(people, then)
    far = is_outermost()
    scale = _divide(observed[far].sum(), usual[far].sum())
    known = KIND_OF == 0
    return Rates(observed, np.zeros(NUMBER), np.where(known, scale * usual, usual), basis, people)


def _divide(a: Floats | float, b: Floats | float) -> Floats:
    """a / b, and 1 where b is 0: nothing is known there."""
    found: Floats = np.divide(a, b, out=np.ones(np.shape(b)), where=np.asarray(b) > 0)
    return found


def find_keep(rates: Rates) -> Floats:
    """The probability with which suspect pairs of each stratum are kept: ``(usual - others) / suspect`` in [0, 1]."""
    ratio = np.divide(
        rates.usual - rates.others, rates.suspect, out=np.ones(len(rates.suspect)), where=rates.suspect > 0
    )
    keep: Floats = np.clip(ratio, 0.0, 1.0)
    return keep


def spread(weight: Codes) -> Floats:
    """How often each user counts, as numbers that may be added."""
    return weight.astype(np.float64)
