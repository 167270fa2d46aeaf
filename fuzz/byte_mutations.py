"""Damage to the bytes of a file, whatever its format: what disks and networks do, and what fuzzers add."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Literal

ByteMutation = Callable[[bytes, Random], bytes]

_TEXT = re.compile(rb"[\x01-\x3f]\0\0\0(?=[ -~])")  # a length in four bytes, and a letter
_COUNT = re.compile(rb"[\x1c\x2c\x5c]\x15.", re.DOTALL)  # a structure of Thrift that begins with a number
_EDGES = (0x00, 0x01, 0x7F, 0x80, 0xFF)


def flip_bit(content: bytes, rng: Random) -> bytes:
    """One bit is the other."""
    damaged, place = bytearray(content), _place(content, rng)
    damaged[place] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def flip_bits(content: bytes, rng: Random) -> bytes:
    """Some bits are the other."""
    for _ in range(rng.randint(2, 16)):
        content = flip_bit(content, rng)
    return content


def set_byte(content: bytes, rng: Random) -> bytes:
    """One byte has an extreme value."""
    place = _place(content, rng)
    return content[:place] + bytes([rng.choice(_EDGES)]) + content[place + 1 :]


def set_number(content: bytes, rng: Random) -> bytes:
    """Four or eight bytes are an extreme number."""
    size, place = rng.choice((4, 8)), _place(content, rng)
    number: int = rng.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**16, 2**53, 2**63 - 1)) % 2 ** (8 * size)
    order: Literal["little", "big"] = rng.choice(("little", "big"))
    return content[:place] + number.to_bytes(size, order) + content[place + size :]


def lengthen_text(content: bytes, rng: Random) -> bytes:
    """A text that nothing like it follows says that it is one byte longer, as the last one of a page may."""
    starts = [match.start() for match in _TEXT.finditer(content)]
    ends = {start: start + 4 + content[start] for start in starts}
    last = [start for start in starts if ends[start] not in ends]
    if not last:
        return flip_bit(content, rng)
    place = rng.choice(last)
    return content[:place] + bytes([content[place] + 1]) + content[place + 1 :]


def change_count(content: bytes, rng: Random) -> bytes:
    """The header of a page of a Parquet file has another number of values."""
    places = [match.end() - 1 for match in _COUNT.finditer(content)]
    if not places:
        return flip_bit(content, rng)
    damaged, place = bytearray(content), rng.choice(places)
    damaged[place] ^= 1 << rng.randrange(7)
    return bytes(damaged)


def insert_bytes(content: bytes, rng: Random) -> bytes:
    """There are more bytes in between."""
    place = _place(content, rng)
    return content[:place] + rng.randbytes(rng.choice((1, 1, 2, 8, 100))) + content[place:]


def remove_bytes(content: bytes, rng: Random) -> bytes:
    """Some bytes are gone."""
    place = _place(content, rng)
    return content[:place] + content[place + rng.choice((1, 1, 2, 8, 100)) :]


def truncate(content: bytes, rng: Random) -> bytes:
    """The end is gone."""
    return content[: rng.choice((_place(content, rng), max(0, len(content) - rng.randint(1, 16))))]


def behead(content: bytes, rng: Random) -> bytes:
    """The beginning is gone."""
    return content[rng.choice((_place(content, rng), rng.randint(1, 16))) :]


def swap_blocks(content: bytes, rng: Random) -> bytes:
    """Two blocks have changed places."""
    a, b, c, d = sorted(_place(content, rng) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def repeat_block(content: bytes, rng: Random) -> bytes:
    """A block is there twice."""
    a, b = sorted(_place(content, rng) for _ in range(2))
    return content[:b] + content[a:b] + content[b:]


def blank_block(content: bytes, rng: Random) -> bytes:
    """A block of the disk was never written."""
    a = _place(content, rng)
    size = min(len(content) - a, rng.choice((4, 16, 64, 512)))
    return content[:a] + bytes(size) + content[a + size :]


def extend(content: bytes, rng: Random) -> bytes:
    """Something stands behind the end."""
    return content + rng.choice((b"\0", b"\n", content, rng.randbytes(64), b"PAR1", b"ARROW1"))


def splice(content: bytes, other: bytes, rng: Random) -> bytes:
    """A part of another file stands inside, or its end follows."""
    a = _place(content, rng)
    b, c = sorted(_place(other, rng) for _ in range(2))
    return content[:a] + rng.choice((other[b:c], other[b:])) + (content[a:] if rng.random() < 0.5 else b"")


def _place(content: bytes, rng: Random) -> int:
    return rng.randrange(max(1, len(content)))


BYTE_MUTATIONS: tuple[ByteMutation, ...] = (
    flip_bit,
    flip_bit,
    flip_bit,
    flip_bits,
    set_byte,
    set_number,
    lengthen_text,
    change_count,
    insert_bytes,
    remove_bytes,
    truncate,
    behead,
    swap_blocks,
    repeat_block,
    blank_block,
    extend,
)
"""One that stands here several times is drawn more often."""
