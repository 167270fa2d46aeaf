"""A table of ids that come in batches: each gets a number when it is first seen, and the same ever after.

An id is a text of bytes, read as words of eight bytes; the last word is filled up with zeros. Batches have them in
one buffer, wherever the last one ended; the table has each from a whole word on. A slot of the hash table holds
half a hash and the code plus one, so that most ids that differ are told apart without a look at their bytes.

The loops, compiled with numba, are short: one over hashes, one over slots, one over bytes. Each waits for memory
at places that are not known before: a short loop waits for many of them at once, and asks for what it needs some
rows ahead.
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.arrays.blocks import over_items
from unskew.arrays.compiling import compiled, prefetch
from unskew.arrays.types import Codes

_ONE = np.uint64(1)
_EIGHT = np.uint64(8)
_HALF = np.uint64(32)
_CODE = np.uint64(0xFFFFFFFF)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, whose multiples are spread well
_EMPTY = np.uint64(0)
_FAR, _NEAR = 32, 12  # rows ahead: of what says where something is, and of what is there


@compiled
def fills_page(page):
    """Whether texts, each after its length in four bytes, fill a page of a Parquet file to its last byte."""
    at, size = np.int64(0), len(page)
    while at + 4 <= size:
        length = np.int64(page[at]) | np.int64(page[at + 1]) << 8 | np.int64(page[at + 2]) << 16
        at += 4 + (length | np.int64(page[at + 3]) << 24)
    return at == size


@compiled
def read_word(words, at, left):
    """Eight bytes from byte `at` on, with zeros beyond the next `left`; `words` has a word more than is needed."""
    k = at >> 3
    shift = np.uint64(at & 7) << np.uint64(3)
    word = (words[k] >> shift) | ((words[k + 1] << _ONE) << (np.uint64(63) - shift))
    if left < 8:
        word &= (_ONE << (np.uint64(left) << np.uint64(3))) - _ONE
    return word


@compiled
def _mix(mixed, word):
    mixed = (mixed ^ word) * _MIX
    return mixed ^ (mixed >> _HALF)


@compiled
def _finish(mixed):
    mixed *= _MIX
    return mixed ^ (mixed >> np.uint64(29))


@compiled
def hash_ids(words, start, hashes):
    """The hash of each id, whose bytes are ``[start[row], start[row + 1])``."""
    for row in range(len(hashes)):
        at = start[row]
        size = start[row + 1] - at
        mixed = _mix(np.uint64(size), read_word(words, at, size))
        done = 8
        while done < size:
            mixed = _mix(mixed, read_word(words, at + done, size - done))
            done += 8
        hashes[row] = _finish(mixed)


@compiled
def guess_codes(hashes, slots, codes):
    """The code of the first slot with the same half of the hash; -1 if there is none."""
    mask = np.uint64(len(slots) - 1)
    last = len(hashes) - 1
    for row in range(len(hashes)):
        prefetch(slots, hashes[min(row + _FAR, last)] & mask)
        slot = hashes[row] & mask
        half = hashes[row] >> _HALF
        held = slots[slot]
        while held != _EMPTY and held >> _HALF != half:
            slot = (slot + _ONE) & mask
            held = slots[slot]
        codes[row] = np.int64(held & _CODE) - 1


@compiled
def refuse_guesses(words, start, codes, known_start, known_size, known):
    """Make the codes of ids that differ from what was guessed -1."""
    last = len(codes) - 1
    for row in range(len(codes)):
        far = np.uint64(max(codes[min(row + _FAR, last)], 0))
        prefetch(known_start, far)
        prefetch(known_size, far)
        prefetch(known, np.uint64(known_start[max(codes[min(row + _NEAR, last)], 0)]))
        code = max(codes[row], 0)
        at = start[row]
        size = start[row + 1] - at
        first = known_start[code]
        # without a branch on what is in memory: it is waited for later, and for many rows at once
        differ = np.uint64(known_size[code] ^ size) | (known[first] ^ read_word(words, at, size))
        done = 8
        while done < size:
            differ |= known[first + (done >> 3)] ^ read_word(words, at + done, size - done)
            done += 8
        if differ != _EMPTY:
            codes[row] = -1


@compiled
def add_ids(words, start, hashes, slots, codes, known_start, known_size, known, n):
    """Look for the ids without a code in all slots, and add those that are new; gives how many are known now."""
    mask = np.uint64(len(slots) - 1)
    for row in range(len(codes)):
        if codes[row] >= 0:
            continue
        at = start[row]
        size = start[row + 1] - at
        slot = hashes[row] & mask
        half = hashes[row] >> _HALF
        while slots[slot] != _EMPTY:
            if slots[slot] >> _HALF == half:
                code = np.int64(slots[slot] & _CODE) - 1
                if known_size[code] == size and _is_same(words, at, size, known, known_start[code]):
                    codes[row] = code
                    break
            slot = (slot + _ONE) & mask
        else:
            slots[slot] = (half << _HALF) | np.uint64(n + 1)
            first = known_start[n]
            known[first] = read_word(words, at, size)
            done = 8
            while done < size:
                known[first + (done >> 3)] = read_word(words, at + done, size - done)
                done += 8
            known_size[n] = size
            known_start[n + 1] = first + max((size + 7) >> 3, 1)
            codes[row] = n
            n += 1
    return n


@compiled
def _is_same(words, at, size, known, first):
    done = 0
    while done < size:
        if known[first + (done >> 3)] != read_word(words, at + done, size - done):
            return False
        done += 8
    return True


@compiled
def fill_slots(slots, known_start, known_size, known, n):
    """Put the first `n` ids into a table that is larger, and empty."""
    mask = np.uint64(len(slots) - 1)
    for code in range(n):
        first = known_start[code]
        mixed = _mix(np.uint64(known_size[code]), known[first])
        for k in range(first + 1, known_start[code + 1]):
            mixed = _mix(mixed, known[k])
        mixed = _finish(mixed)
        slot = mixed & mask
        while slots[slot] != _EMPTY:
            slot = (slot + _ONE) & mask
        slots[slot] = ((mixed >> _HALF) << _HALF) | np.uint64(code + 1)


@compiled
def read_words_at(known_start, known_size, known, codes, done, found_words):
    """The word of some ids that begins at byte `done`, with its first byte as the highest; zero beyond the end."""
    for k in range(len(codes)):
        code = codes[k]
        left = known_size[code] - done
        word = read_word(known, known_start[code] * 8 + done, left) if left > 0 else _EMPTY
        turned = _EMPTY
        for _ in range(8):
            turned = (turned << _EIGHT) | (word & np.uint64(255))
            word >>= _EIGHT
        found_words[k] = turned


@compiled
def write_ids(lo, hi, known_start, known_size, text, codes, start, written):
    """Copy the bytes of some ids one after the other; `text` has the words of the table as bytes."""
    last = hi - 1
    for k in range(lo, hi):
        far = np.uint64(codes[min(k + _FAR, last)])
        prefetch(known_start, far)
        prefetch(known_size, far)
        prefetch(text, np.uint64(known_start[codes[min(k + _NEAR, last)]] * 8))
        code = codes[k]
        first = known_start[code] * 8
        at = start[k]
        for done in range(known_size[code]):
            written[at + done] = text[first + done]


@compiled
def find_common_prefix(known_start, known_size, known, n):
    """How many bytes all of the first `n` ids begin with."""
    length = known_size[0]
    for code in range(1, n):
        length = min(length, known_size[code])
        done = 0
        while done < length:
            differ = known[known_start[code] + (done >> 3)] ^ known[known_start[0] + (done >> 3)]
            if differ != _EMPTY:
                while differ & np.uint64(255) == _EMPTY:
                    differ >>= _EIGHT
                    done += 1
                break
            done += 8
        length = min(length, done)
    return length


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
        self.clear()

    def clear(self) -> None:
        """Forget all ids."""
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
            bounds, step_hashes = start[lo : lo + len(these) + 1], hashes[: len(these)]
            self._make_room(len(these), int(bounds[-1] - bounds[0]))
            hash_ids(words, bounds, step_hashes)
            guess_codes(step_hashes, self._slots, these)
            refuse_guesses(words, bounds, these, *self._known())
            self._n = add_ids(words, bounds, step_hashes, self._slots, these, *self._known(), self._n)
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
        words = np.empty(len(codes), dtype=np.uint64)
        read_words_at(*self._known(), codes, done, words)
        order = np.argsort(words)
        codes, words = codes[order], words[order]
        equal = np.append(False, words[1:] == words[:-1])
        group = np.cumsum(~equal)  # the same for ids that are equal so far
        tied = _with_neighbours(equal)
        while len(tied):
            done += 8
            ties, word = codes[tied], np.empty(len(tied), dtype=np.uint64)
            read_words_at(*self._known(), ties, done, word)
            length = np.minimum(self._size[ties], done + 8)  # zeros at the end of an id are not those beyond it
            order = np.lexsort((length, word, group[tied]))
            codes[tied] = ties[order]
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


def _with_neighbours(equal: npt.NDArray[np.bool_]) -> Codes:
    """The places of values that equal the one before or the one after."""
    return np.flatnonzero(equal | np.append(equal[1:], False))


def _lengthen(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros(length, dtype=array.dtype)  # whose pages take no memory before they are written
    longer[: len(array)] = array
    return longer
