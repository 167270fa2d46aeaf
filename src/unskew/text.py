"""Words and numbers as people read them: close matches, counts, percentages, lists."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONG_QUOTE = re.compile(r"(?<!\w)(?:'(?:[^'\\]|\\.){201,}'|\"(?:[^\"\\]|\\.){201,}\")(?!\w)")
_NEARLY_ZERO = 5e-4  # of a score: 0.05 points


def escape_controls(text: str) -> str:
    r"""The text with characters that steer a terminal or turn the direction of writing shown as escapes.

    >>> print(escape_controls("a\x1b[2Jb\nc"))
    a\x1b[2Jb\nc
    """
    return _CONTROLS.sub(lambda match: repr(match[0])[1:-1], text)


def show_name(name: object, most: int = 48) -> str:
    r"""A name from the data as a label: one line, nothing in it steers anything, cut short if it is long.

    >>> show_name("a\u202eb"), len(show_name("x" * 400))
    ('a\\u202eb', 48)
    """
    text = escape_controls(str(name))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def show_range(low: float, high: float) -> tuple[str, str]:
    """The limits of a range in points, so exact that a limit beside 0 does not look like 0.

    >>> show_range(-0.0271, 0.0318), show_range(0.0003, 0.0098)
    (('−2.7', '+3.2'), ('+0.03', '+0.98'))
    """
    decimals = 2 if min(abs(low), abs(high)) < _NEARLY_ZERO else 1
    first, last = (f"{100 * limit:+z.{decimals}f}".replace("-", "−") for limit in (low, high))
    return first, last


def shorten_spec(spec: str) -> str:
    """A recommender as sentences name it; how held-out pairs are ranked is no part of its name.

    >>> shorten_spec("knn?similarity=bm25&exact=false"), shorten_spec("ease?exact=false"), shorten_spec("popular")
    ('knn (similarity bm25)', 'ease', 'popular')
    """
    name, _, parameters = spec.partition("?")
    kept = [part.replace("=", " ") for part in parameters.split("&") if part not in ("", "exact=false")]
    return f"{name} ({', '.join(kept)})" if kept else name


def shorten_quotes(text: str) -> str:
    """The text with at most 200 characters of each value that it quotes.

    >>> len(shorten_quotes(repr("x" * 5000)))
    205
    """
    return _LONG_QUOTE.sub(lambda match: match[0][:201] + "..." + match[0][-1], text)


def shorten_line(text: str, most: int) -> str:
    """The beginning and the end of a text that is longer than `most`.

    >>> shorten_line("from the beginning to the end", 15)
    'from th ... end'
    """
    if len(text) <= most:
        return text
    end = (most - 5) // 3
    return f"{text[: most - 5 - end]} ... {text[-end:]}"


def closest(given: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The one of the known names that somebody who wrote `given` most likely meant.

    >>> closest("neighbors", ["similarity", "neighbours"])
    'neighbours'
    """
    matches = difflib.get_close_matches(given, list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def did_you_mean(given: str, known: Iterable[str], form: str = "{!r}") -> str:
    """``; did you mean 'x'?``, to be put behind a message; empty if nothing known is close."""
    name = closest(given, known)
    return f"; did you mean {form.format(name)}?" if name else ""


def percent(share: float, digits: int = 2) -> str:
    """A share in percent: 12.30 %."""
    return f"{100 * share:.{digits}f} %"


def short_percent(share: float) -> str:
    """A share in percent with three digits that count: 12.3 %, 0.0123 %."""
    return f"{100 * share:.3g} %"


def show_points(value: float, low: float, high: float) -> str:
    """A difference of scores in percentage points, with its interval: +8.73 points [+8.18, +9.28]."""
    return f"{100 * value:+z.2f} points [{100 * low:+z.2f}, {100 * high:+z.2f}]"


def thousands(n: int) -> str:
    """A count with its thousands apart: 34 448."""
    return f"{n:,}".replace(",", " ")


def count(n: int, what: str) -> str:
    """``1 date``, ``2 dates``."""
    return f"{n} {what}{'s' * (n != 1)}"


def group_rows(
    rows: Iterable[Mapping[str, Any]], names: Sequence[str]
) -> list[tuple[tuple[Any, ...], list[dict[str, Any]]]]:
    """The rows that share the values of some columns, in the order in which these first come."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(groups.items())


def with_article(noun: str) -> str:
    """``a Parquet file``, ``an Arrow file``."""
    return f"{'an' if noun[0] in 'AEIOaeio' else 'a'} {noun}"


def enumerate_words(parts: Sequence[str]) -> str:
    """a, b and c."""
    if len(parts) <= 1:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def one_line(value: object, most: int = 60) -> str:
    """A value as Python shows it, cut short if it is long: a table is not shown in a message.

    >>> one_line("x" * 100, 10)
    "'xxxxxx..."
    """
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def to_json_value(value: Any) -> Any:
    """The same as JSON can hold it: a number that it does not have, NaN or infinity, becomes null.

    >>> to_json_value({"p": float("nan"), "low": (1.5, float("inf"))})
    {'p': None, 'low': [1.5, None]}
    """
    if isinstance(value, Mapping):
        return {key: to_json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def first_line(error: BaseException) -> str:
    """The first line of a library's message."""
    return str(error).strip().split("\n")[0]


def tell_damage(error: BaseException) -> str:
    """The same of a library that could not read some bytes, and may say nothing about it."""
    return first_line(error) or "it is damaged"


SECRETS = re.compile(
    r"(?i)(?<![\w-])((?=[\w-]++=)[\w-]*(?:password|passwd|pwd|token|secret[\w-]*|sig(?:nature)?|x-amz-[\w-]+)=)"
    r"[^&\s'\"]*"
)
"""Parts of an address that nobody should see. A word is looked at once, however long it is."""

_LOGIN = re.compile(r"(:/{1,3}[^\s/:@'\"?#]*):[^\s/'\"?#]*@")


def hide_secrets(text: str) -> str:
    """A text without the passwords and tokens of addresses in it, for messages, reports and commands.

    >>> hide_secrets("cannot read postgresql://ann:s3cret@localhost/shop?sslmode=disable")
    'cannot read postgresql://ann@localhost/shop?sslmode=disable'
    >>> hide_secrets("table:https://host/lists.csv?signature=s3cret")
    'table:https://host/lists.csv?signature=...'
    """
    return SECRETS.sub(r"\1...", _LOGIN.sub(r"\1@", text))
