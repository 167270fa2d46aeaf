"""Damage to text files as people and programs do it: separators, quotes, encodings, line ends, long cells."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

TextMutation = Callable[[bytes, Random], bytes]

_ODD = (
    b'"',
    b"'",
    b",",
    b";",
    b"\t",
    b"|",
    b"\0",
    b"\r",
    b"\n",
    b"\r\n",
    b"\\",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b" ",
)
_CELLS = (
    *(
        "",
        "NULL",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "-0",
        "0",
        "007",
        "1e3",
        "1.5",
        "9223372036854775808",
        "true",
        "[]",
    ),
    *("{}", "=1+1", "\u202eabc", "\x1b[31m", "a\u0301", "\U0001f600", "1970-01-01", "2024-02-30", "24:00", "١٢"),
    *("9007199254740993", "-9223372036854775809", "0x10", "1_000", "é", "\u2028", "9" * 400, "a" * 70_000),
)


def insert_mark(content: bytes, rng: Random) -> bytes:
    """A character that has a meaning, where it has none."""
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.choice(_ODD) + content[place:]


def change_cell(content: bytes, rng: Random) -> bytes:
    """Another value in one place."""
    for mark in rng.sample((b",", b":", b"\t"), 3):
        parts = content.split(mark)
        if len(parts) > 2:
            parts[rng.randrange(len(parts))] = rng.choice(_CELLS).encode()
            return mark.join(parts)
    return rng.choice(_CELLS).encode()


def change_separator(content: bytes, rng: Random) -> bytes:
    """Another separator everywhere, or in one line."""
    old, new = b",", rng.choice((b";", b"\t", b"|", b":", b" ", b",,"))
    if rng.random() < 0.5:
        return content.replace(old, new)
    return _change_line(content, rng, lambda line: line.replace(old, new))


def change_line(content: bytes, rng: Random) -> bytes:
    """A line that is empty, doubled, cut, quoted or commented out."""
    return _change_line(
        content,
        rng,
        rng.choice(
            (
                lambda line: b"",
                lambda line: line + b"\n" + line,
                lambda line: line[: len(line) // 2],
                lambda line: b'"' + line + b'"',
                lambda line: b"#" + line,
                lambda line: line + b"," + line,
                lambda line: b"\n\n" + line,
            )
        ),
    )


def change_line_ends(content: bytes, rng: Random) -> bytes:
    """The line ends of another system, or of two."""
    new = rng.choice((b"\r\n", b"\r", b"\n\r", b"\x0b", b"\x85"))
    return content.replace(b"\n", new) if rng.random() < 0.5 else content.replace(b"\n", new, 3)


def change_encoding(content: bytes, rng: Random) -> bytes:
    """The same text in another encoding."""
    text = content.decode(errors="replace")
    encoding = rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1252", "utf-7", "cp037"))
    return text.encode(encoding, errors="replace")


def _change_line(content: bytes, rng: Random, change: Callable[[bytes], bytes]) -> bytes:
    lines = content.split(b"\n")
    place = rng.randrange(len(lines))
    lines[place] = change(lines[place])
    return b"\n".join(lines)


TEXT_MUTATIONS: tuple[TextMutation, ...] = (
    insert_mark,
    insert_mark,
    change_cell,
    change_cell,
    change_separator,
    change_line,
    change_line_ends,
    change_encoding,
)
