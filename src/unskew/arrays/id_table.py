"""A table of ids that come in batches: each gets a number when it is first seen, and the same ever after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays.blocks import over_items
from unskew.arrays.id_kernels import (
    add_ids,
    fill_slots,
    find_common_prefix,
    guess_codes,
    hash_ids,
    read_words_at,
    refuse_guesses,
    write_ids,
)
from unskew.arrays.types import Codes

_STEP = 16_384  # rows at a time: what is known of them stays in the caches
_Words = npt.NDArray[np.uint64]
_Bytes = npt.NDArray[np.uint8]
_Bounds = npt.NDArray[np.integer[Any]]


def allow_memory(size: int) -> None:
    """Allow any number of bytes."""


class IdTable:
    """Ids as texts of bytes, and their codes, which count from 0 in the order of appearance.

    `require` is called with how many bytes more are needed, before they are taken.
    """

    def __init__(self, require: Callable[[int], None] = allow_memory) -> None:
        self._require = require
        self._slots: _Words = np.zeros(4 * _STEP, dtype=np.uint64)
        self._start: Codes = np.zeros(2 * _STEP, dtype=np.int64)  # the first word of each
        self._size: npt.NDArray[np.int32] = np.zeros(2 * _STEP, dtype=np.int32)  # in bytes
        self._words: _Words = np.zeros(4 * _STEP, dtype=np.uint64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, start: _Bounds, text: _Bytes) -> npt.NDArray[np.int32]:
        """The codes of some ids; the bytes of id k are ``text[start[k] : start[k + 1]]``."""
        words = np.empty(len(text) // 8 + 3, dtype=np.uint64)
        words.view(np.uint8)[: len(text)] = text
        codes = np.empty(len(start) - 1, dtype=np.int32)
        hashes = np.empty(min(_STEP, len(codes)), dtype=np.uint64)
        for lo in range(0, len(codes), _STEP):
            these = codes[lo : lo + _STEP]
            bounds, some = start[lo : lo + len(these) + 1], hashes[: len(these)]
            self._make_room(len(these), int(bounds[-1] - bounds[0]))
            hash_ids(words, bounds, some)
            guess_codes(some, self._slots, these)
            refuse_guesses(words, bounds, these, *self._known())
            self._n = add_ids(words, bounds, some, self._slots, these, *self._known(), self._n)
        return codes

    def rank(self, sizes: Codes) -> Codes:
        """The codes of ids with a positive size: large ones first, ties in the order of the bytes."""
        used = np.flatnonzero(sizes > 0)
        return _sort_by_size(self._sort(used), sizes)

    def take(self, codes: Codes) -> tuple[Codes, _Bytes]:
        """Some ids one after the other: where each begins and ends, and all bytes."""
        start = np.concatenate([[0], np.cumsum(self._size[codes], dtype=np.int64)])
        text = np.empty(int(start[-1]), dtype=np.uint8)
        known = self._start, self._size, self._words.view(np.uint8)
        over_items(len(codes), lambda _, lo, hi: write_ids(lo, hi, *known, codes, start, text))
        return start, text

    def _known(self) -> tuple[Codes, npt.NDArray[np.int32], _Words]:
        return self._start, self._size, self._words

    def _make_room(self, rows: int, size: int) -> None:
        """Room for so many more ids with so many bytes in all; at least a third of the slots stay empty."""
        ids, words = self._n + rows, int(self._start[self._n]) + size // 8 + 2 * rows + 1
        if ids >= len(self._size):
            self._require(12 * self._n)
            self._start = _lengthen(self._start, 2 * ids)
            self._size = _lengthen(self._size, 2 * ids)
        if words >= len(self._words):
            self._require(8 * int(self._start[self._n]))
            self._words = _lengthen(self._words, 2 * words)
        if 3 * ids > 2 * len(self._slots):
            self._require(16 * len(self._slots))
            self._slots = np.zeros(2 * len(self._slots), dtype=np.uint64)
            fill_slots(self._slots, *self._known(), self._n)

    def _sort(self, codes: Codes) -> Codes:
        """Codes in the order of their ids, word by word: the next word is only looked at where all are equal."""
        if not len(codes):
            return codes
        done = int(find_common_prefix(*self._known(), self._n))
        found = np.empty(len(codes), dtype=np.uint64)
        read_words_at(*self._known(), codes, done, found)
        order = np.argsort(found)
        codes, found = codes[order], found[order]
        equal = _find_equal(found)
        group = np.cumsum(~equal)  # the same for ids that are equal so far
        tied = _with_neighbours(equal)
        while len(tied):
            done += 8
            some, word = codes[tied], np.empty(len(tied), dtype=np.uint64)
            read_words_at(*self._known(), some, done, word)
            length = np.minimum(self._size[some], done + 8)  # zeros at the end of an id are not those beyond it
            order = np.lexsort((length, word, group[tied]))
            codes[tied] = some[order]
            same = np.zeros(len(codes), dtype=np.bool_)
            same[tied[1:]] = (
                (np.diff(group[tied]) == 0) & (np.diff(word[order]) == 0) & (np.diff(length[order]) == 0)
            )
            group[tied] += np.cumsum(~same[tied])
            tied = _with_neighbours(same)
        return codes


def _sort_by_size(codes: Codes, sizes: Codes) -> Codes:
    """Those with the largest size first, else in the order in which they are."""
    if not len(codes):
        return codes
    below = sizes.max() - sizes[codes]
    if below.max() < 2**16:
        below = below.astype(np.uint16)  # which NumPy sorts by counting
    return codes[np.argsort(below, kind="stable")]


def _find_equal(values: _Words) -> npt.NDArray[np.bool_]:
    """Which values equal the one before."""
    return np.concatenate([[False], values[1:] == values[:-1]])


def _with_neighbours(equal: npt.NDArray[np.bool_]) -> Codes:
    """The places of values that equal the one before or the one after."""
    return np.flatnonzero(equal | np.append(equal[1:], False))


def _lengthen(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
