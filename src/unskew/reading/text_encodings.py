"""Which encoding a text has, told from its first bytes: a mark, zeros, or what is no UTF-8."""

from __future__ import annotations

import codecs
from typing import Final

UTF_8: Final = "utf-8"

_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NAMES = {
    "iso8859-1": "latin-1",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-8": "UTF-8",
}


def find_encoding(head: bytes, *, whole: bool) -> str | None:
    """The encoding of a text that begins with `head` (or is that, if `whole`); None if it is no text.

    What is neither marked nor UTF-8 is taken for Latin-1, in which every byte is a letter, so that different ids
    stay different; or for its extension of Windows, where the bytes that this adds occur.

    >>> find_encoding("café".encode("utf-16"), whole=True), find_encoding("café".encode("latin-1"), whole=True)
    ('utf-16', 'latin-1')
    """
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is not None:
        return marked
    if b"\0" in head:
        return _find_wide(head)
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(head, final=whole)
    except UnicodeDecodeError:
        return _find_narrow(head)
    return UTF_8


def name_encoding(name: str) -> str:
    """An encoding as people call it."""
    return _NAMES.get(name, name)


def is_utf8(name: str) -> bool:
    """Whether text in this encoding need not be written anew."""
    return codecs.lookup(name).name in ("utf-8", "utf-8-sig", "ascii")


def _find_wide(head: bytes) -> str | None:
    """UTF-16 without a mark: of most characters one byte is zero, always the same one."""
    pairs = len(head) // 2
    for name, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        others = head[::2] if name == "utf-16-le" else head[1::2]
        if pairs >= 2 and zeros.count(0) >= 0.7 * pairs and others.count(0) == 0:
            return name
    return None


def _find_narrow(head: bytes) -> str | None:
    if any(byte < 32 and byte not in b"\t\n\r\f\x1a\x1b" for byte in set(head)):
        return None
    if any(0x80 <= byte < 0xA0 for byte in set(head)):
        try:
            head.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1"
        return "cp1252"
    return "latin-1"
