"""Of which recommenders there is no score at a date: lists external may not be valid then, or not say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unskew.data.times import TimeAxis
from unskew.recommend.contract import Recommender, is_valid_at


def describe_unscored(
    models: Mapping[str, Recommender], axis: TimeAxis, date: Any, *, now: Any = None, undated: bool = False
) -> Iterator[str]:
    """What cannot be scored at a date, and why.

    Parameters
    ----------
    models
        The recommenders by name.
    axis
        The times of the log.
    date
        What has a label `at` and a `tick`: a snapshot.
    now
        If the date is one that scores are compared with: the label of the date of the others.
    undated
        Whether lists that do not say from when they are count as valid then.
    """
    for name, model in models.items():
        valid = is_valid_at(model, axis, date.tick)
        if valid is False:
            change = "" if now is None else ", and no change since then"
            yield f"no lists of {name} are valid at {date.at}: there is no score of it at that date{change}"
        elif valid is None and now is not None and not undated:
            yield (
                f"{name} does not say from when its lists are valid: it is scored at {now} alone, and there is no "
                f"change since {date.at}. Give it a column of dates, or one date (valid_from; in a spec "
                "?from=DATE)"
            )
