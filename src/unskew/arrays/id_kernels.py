"""The loops that give ids numbers, each the same number in every batch. Compiled with numba.

An id is a text of bytes, read as words of eight bytes; the last word is filled up with zeros. Batches have them in
one buffer, wherever the last one ended; the table has each from a whole word on. A slot of the hash table holds
half a hash and the code plus one, so that most ids that differ are told apart without a look at their bytes.

The work is cut into short loops, one over hashes, one over slots, one over bytes, since each waits for memory at
places that are not known before: a short loop waits for many of them at once, and asks for what it needs some rows
ahead (`unskew.arrays.blocks`).
"""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from unskew.arrays.compiling import compiled
from unskew.arrays.prefetch import prefetch

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
        there = known_start[code]
        # without a branch on what is in memory: it is waited for later, and for many rows at once
        differ = np.uint64(known_size[code] ^ size) | (known[there] ^ read_word(words, at, size))
        done = 8
        while done < size:
            differ |= known[there + (done >> 3)] ^ read_word(words, at + done, size - done)
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
            there = known_start[n]
            known[there] = read_word(words, at, size)
            done = 8
            while done < size:
                known[there + (done >> 3)] = read_word(words, at + done, size - done)
                done += 8
            known_size[n] = size
            known_start[n + 1] = there + max((size + 7) >> 3, 1)
            codes[row] = n
            n += 1
    return n


@compiled
def _is_same(words, at, size, known, there):
    done = 0
    while done < size:
        if known[there + (done >> 3)] != read_word(words, at + done, size - done):
            return False
        done += 8
    return True


@compiled
def fill_slots(slots, known_start, known_size, known, n):
    """Put the first `n` ids into a table that is larger, and empty."""
    mask = np.uint64(len(slots) - 1)
    for code in range(n):
        there = known_start[code]
        mixed = _mix(np.uint64(known_size[code]), known[there])
        for k in range(there + 1, known_start[code + 1]):
            mixed = _mix(mixed, known[k])
        mixed = _finish(mixed)
        slot = mixed & mask
        while slots[slot] != _EMPTY:
            slot = (slot + _ONE) & mask
        slots[slot] = ((mixed >> _HALF) << _HALF) | np.uint64(code + 1)


@compiled
def read_words_at(known_start, known_size, known, codes, done, found):
    """The word of some ids that begins at byte `done`, with its first byte as the highest; zero beyond the end."""
    for k in range(len(codes)):
        code = codes[k]
        left = known_size[code] - done
        word = read_word(known, known_start[code] * 8 + done, left) if left > 0 else _EMPTY
        turned = _EMPTY
        for _ in range(8):
            turned = (turned << _EIGHT) | (word & np.uint64(255))
            word >>= _EIGHT
        found[k] = turned


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
        there = known_start[code] * 8
        at = start[k]
        for done in range(known_size[code]):
            written[at + done] = text[there + done]


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
