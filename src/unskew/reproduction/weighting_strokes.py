"""The weightings that figures compare: what each is called, and the line that stands for it."""

from __future__ import annotations

from collections.abc import Iterable

from unskew.drawing.theme import BLUE, NAVY, VERMILION, Stroke

RAW, ALL = "raw", "all items"
"""The names of no weights and of all of them; those between are called by their number p."""

RAW_COLOUR, WEIGHTED_COLOUR = VERMILION, BLUE
_LIGHT, _DARK = (104, 155, 203), (21, 84, 148)  # few weights, many weights


def weighting_name(weighting: str, top: int | None) -> str:
    """What a weighting is called: raw, p = 20, all items."""
    if weighting == RAW:
        return RAW
    return ALL if top is None else f"p = {top}"


def weighting_strokes(names: Iterable[str]) -> dict[str, Stroke]:
    """The line of each weighting: raw dashed, darker the more weights there are, all items thick."""
    some = [name for name in names if name not in (RAW, ALL)]
    strokes = {RAW: Stroke(RAW_COLOUR, (6, 3), 2.2)} if RAW in names else {}
    for k, name in enumerate(some):
        part = k / max(1, len(some) - 1)
        rgb = (round(a + part * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
        strokes[name] = Stroke("#" + "".join(f"{v:02x}" for v in rgb), width=1.7)
    if ALL in names:
        strokes[ALL] = Stroke(NAVY, width=3.2)
    return strokes
