"""Numbers as the sentences and labels of the reproduction write them, with a typographic minus."""

from __future__ import annotations

from collections.abc import Sequence

from unskew.text import percent, thousands

METHOD_NAMES = {"lbfgs": "L-BFGS"}
"""Methods that a text calls otherwise than a table."""


def format_percent(share: float, digits: int = 1) -> str:
    """A share, such as 12.3 % or −4.0 %; zero has no sign."""
    return _set_sign(percent(share, digits))


def format_change(share: float, digits: int = 1) -> str:
    """A change with its sign, such as +12.3 %; zero has none."""
    return _set_sign(f"{100 * share:+.{digits}f} %")


def _set_sign(text: str) -> str:
    return text.lstrip("+-") if float(text.removesuffix(" %")) == 0 else text.replace("-", "−")


def format_number(number: float) -> str:
    """A number with three digits that count: 0.00123, 12.3, 1 230."""
    if number == 0:
        return "0"
    if abs(number) >= 1000:
        return thousands(round(number))
    text = f"{number:.3g}"
    return text if "e" not in text else f"{number:.1e}"


def describe_change(change: float, digits: int = 1) -> str:
    """A change as a verb: rose by 3.0 %, fell by 2.0 %, changed by less than 0.05 %."""
    if round(100 * abs(change), digits) == 0:
        return f"changed by less than {0.5 * 10**-digits:.{digits + 1}f} %"
    return f"{'rose' if change > 0 else 'fell'} by {format_percent(abs(change), digits)}"


def describe_changes(changes: Sequence[float], digits: int = 0) -> str:
    """The same for several: rose by 3 to 7 %, fell by 2 to 5 %, or changed by −2 % to +3 %."""
    if len({round(100 * c, digits) for c in changes}) == 1:
        return describe_change(changes[0], digits)
    low, high = min(changes), max(changes)
    if low >= 0 or high <= 0:
        least, most = sorted((abs(low), abs(high)))
        return f"{'rose' if high > 0 else 'fell'} by {100 * least:.{digits}f} to {format_percent(most, digits)}"
    return f"changed by {format_change(low, digits)} to {format_change(high, digits)}"
