"""One name for each kind of score: on the log as it is or on a view of it, with item weights or without."""

from __future__ import annotations

AS_LOGGED, REWEIGHTED = "as logged", "re-weighted"


def name_kind(weighting: str, top: int | None = None, view: str = "all") -> str:
    """What a kind of score is called. Item weights re-weight; only the log as it is is "as logged".

    >>> name_kind("raw"), name_kind("weighted"), name_kind("weighted", view="outside"), name_kind("weighted", 20)
    ('as logged', 're-weighted', 'outside, re-weighted', 'top 20 items re-weighted')
    """
    weighted = weighting != "raw"
    label = f"top {top} items {REWEIGHTED}" if weighted and top is not None else REWEIGHTED if weighted else ""
    if view != "all":
        return f"{view}, {label}" if label else view
    return label or AS_LOGGED


def name_other_end(since: str) -> str:
    """What scores of the log without the excess since a date are called, beside those as logged."""
    return f"without what recommendations since {since} may have caused"
