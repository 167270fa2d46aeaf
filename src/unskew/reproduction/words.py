"""How figures speak: numbers in words that follow from the data, and the lines that stand for weightings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unskew.drawing.theme import NAVY, RAW, Stroke

BASE = "raw"
ALL = "all items"
NAMES = {"lbfgs": "L-BFGS"}
"""What is called otherwise in a text than in a table."""
_LIGHT, _DARK = (104, 155, 203), (21, 84, 148)  # few weights, many weights


def weighting_strokes(names: Iterable[str]) -> dict[str, Stroke]:
    """The look of each weighting: raw dashed, the more weights the darker, all items thick."""
    some = [name for name in names if name not in (BASE, ALL)]
    strokes = {BASE: Stroke(RAW, (6, 3), 2.2)} if BASE in names else {}
    for k, name in enumerate(some):
        part = k / max(1, len(some) - 1)
        rgb = (round(a + part * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
        strokes[name] = Stroke("#" + "".join(f"{v:02x}" for v in rgb), width=1.7)
    if ALL in names:
        strokes[ALL] = Stroke(NAVY, width=3.2)
    return strokes


def weighting_name(weighting: str, top: int | None) -> str:
    """What a weighting is called: raw, p = 20, all items."""
    if weighting == BASE:
        return BASE
    return ALL if top is None else f"p = {top}"


def percent(share: float, digits: int = 1) -> str:
    """A share, such as 12.3 %."""
    text = f"{100 * share:.{digits}f}"
    return f"{_plain(text)} %"


def signed(share: float, digits: int = 1) -> str:
    """A change with its sign, such as +12.3 %; nothing is neither more nor less."""
    text = _plain(f"{100 * share:+.{digits}f}")
    return f"{text} %"


def _plain(text: str) -> str:
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def moved(change: float, digits: int = 1) -> str:
    """A change as a verb: rose by 3.0 %, fell by 2.0 %, did not change."""
    if round(100 * abs(change), digits) == 0:
        return f"changed by less than {0.5 * 10**-digits:.{digits + 1}f} %"
    return f"{'rose' if change > 0 else 'fell'} by {percent(abs(change), digits)}"


def moved_all(changes: Sequence[float], digits: int = 0) -> str:
    """The same for several: rose by 3 to 7 %, fell by 2 to 5 %, or changed by −2 % to +3 %."""
    if len({round(100 * c, digits) for c in changes}) == 1:
        return moved(changes[0], digits)
    low, high = min(changes), max(changes)
    if low >= 0 or high <= 0:
        least, most = sorted((abs(low), abs(high)))
        return f"{'rose' if high > 0 else 'fell'} by {100 * least:.{digits}f} to {percent(most, digits)}"
    return f"changed by {signed(low, digits)} to {signed(high, digits)}"


def few(number: float) -> str:
    """A number with three digits that count: 0.00123, 12.3, 1 230."""
    if number == 0:
        return "0"
    if abs(number) >= 1000:
        return counted(round(number))
    text = f"{number:.3g}"
    return text if "e" not in text else f"{number:.1e}"


def counted(number: int) -> str:
    """A whole number, its thousands apart: 34 448."""
    return f"{number:,}".replace(",", " ")


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    if len(parts) <= 1:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
