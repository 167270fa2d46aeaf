"""A score: its value, how sure it is, and what stands behind it; its name; and lists of results as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from unskew.data.columns import restore_dates
from unskew.data.policy import Share
from unskew.data.times import Label
from unskew.frames import show_as_table, to_native
from unskew.text import to_json_value


class GivesRow(Protocol):
    """A result that can be a row of a table."""

    def to_row(self) -> dict[str, Any]:
        """Its columns: numbers and texts."""


Result = TypeVar("Result", bound=GivesRow)


class Results(list[Result]):
    """A list of scores, changes or comparisons, which can be had as a table; in all else a list.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": ["a", "a", "b"], "item": [1, 2, 1], "time": [3, 4, 5]})
    >>> scores = us.evaluate("constant:1", log.at(5), metric=["hit@1", "mrr@10"])
    >>> scores.to_arrow().select(["metric", "value"]).to_pylist()
    [{'metric': 'hit@1', 'value': 0.75}, {'metric': 'mrr@10', 'value': 0.75}]
    """

    def __init__(self, results: Iterable[Result] = (), frames: str | None = None) -> None:
        super().__init__(results)
        self.frames = frames

    def to_arrow(self) -> pa.Table:
        """One row each; a figure with an interval has columns such as item_mix, item_mix_low, item_mix_high."""
        return pa.Table.from_pylist([result.to_row() for result in self])

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """One row each, in the dataframe library that the log came in; dates are dates."""
        return to_native(restore_dates(self.to_arrow(), ["at", "from", "to"]), self.frames)


def flatten(row: Mapping[str, Any], parts: Sequence[str] = ()) -> dict[str, Any]:
    """What a result tells as columns: a nested figure has one for each thing that it tells.

    `parts` are figures with an interval, of which there may be none.

    >>> flatten({"rest": {"value": 1.0, "low": 0.5, "high": 2.0}, "users": {"count": 3}, "algorithm": None},
    ...         parts=["rest", "algorithm"])
    {'rest': 1.0, 'rest_low': 0.5, 'rest_high': 2.0, 'users_count': 3, 'algorithm': None, 'algorithm_low': None, \
'algorithm_high': None}
    """
    flat: dict[str, Any] = {}
    for name, value in row.items():
        nested = dict.fromkeys(("value", "low", "high")) if name in parts and value is None else value
        if isinstance(nested, Mapping):
            flat |= {name if key == "value" else f"{name}_{key}": figure for key, figure in nested.items()}
        else:
            flat[name] = nested
    return flat


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


@dataclass(frozen=True)
class Score:
    """The metric of a recommender at a date.

    Attributes
    ----------
    recommender, metric, view, weighting, top, at
        What was scored, how and when; `weighting` is ``raw`` or ``weighted``, `top` the number of fitted weights
        if not all.
    value, low, high
        The score and its interval at `level`.
    pairs, users
        How many held-out pairs and users it rests on.
    method
        How the interval was made: ``users`` (users are the independent units), ``draws`` (of a sample),
        ``bootstrap`` (users resampled at both dates, weights fitted again each time), ``jackknife`` (groups of
        users left out, recommenders fitted again each time).
    too_few_hits
        Whether it rests on fewer than 5 effective hits: so many hits of equal size would tell as much. Its
        interval is conservative then.
    biased
        Whether what recommendations and promotions did to the log can still be in it: of all scores under the view
        ``all`` but those of constant lists under weights that match the reference date, or of users who were never
        shown anything. No interval knows of it.
    effective_pairs
        ``(sum p)^2 / sum p^2`` over the pairs: how many equally weighted pairs would tell as much.
    largest_item
        The largest share of one item among the held-out ones.
    users_excluded
        Whom the weights leave out, of the users who can be evaluated.
    users_without_profile
        After a time split: users with interactions later, but no profile then; with the last items held out:
        users with no other item. They are in no score.
    users_below_min_items
        Users who are excluded from all scores of the date because they have fewer than `min_items` items.
    empty_profiles
        The share of the score's mass on pairs that leave an empty profile: the item was the only one of its user.
    empty_lists
        The share of its mass on pairs for which the recommender returned nothing, and so scores 0; None for one
        that ranks held-out items by itself and does not say (no method ``empty_lists``).
    exact
        Whether what the recommender has learned is free of the held-out pair; None where nobody knows.
    held_out
        What was left out: ``exact`` (the pair left the model too, or there is no model), ``folds`` (it was fitted
        without the fold of the pair, one of `folds`), ``profile`` (the model still contains the pair, and the
        score is too high), ``time`` (it is older than the pair) or ``external``. Compare scores of one kind
        only.
    draws, spread
        Over how many draws of a view in which chance decides this is the mean, and their standard deviation.
    segment
        The value of the column by which scores were split, None for all.
    """

    recommender: str
    metric: str
    view: str
    weighting: str
    top: int | None
    at: Label
    value: float
    low: float
    high: float
    pairs: int
    users: int
    level: float = 0.95
    method: str = "users"
    too_few_hits: bool = False
    biased: bool = True
    effective_pairs: float = 0.0
    largest_item: float = 0.0
    users_excluded: Share = Share()
    users_without_profile: Share = Share()
    users_below_min_items: Share = Share()
    empty_profiles: float = 0.0
    empty_lists: float | None = 0.0
    exact: bool | None = False
    held_out: str = "profile"
    folds: int | None = None
    draws: int = 1
    spread: float = 0.0
    segment: str | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high."""
        return self.low, self.high

    def __repr__(self) -> str:
        where = "" if self.segment is None else f", {self.segment}"
        return (
            f"Score({self.recommender}, {self.metric} at {self.at}, {self.weighting}{where}: {self.value:.4f} "
            f"[{self.low:.4f}, {self.high:.4f}], {self.pairs} pairs of {self.users} users"
            f"{', too few hits' if self.too_few_hits else ''})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: a row of what ``unskew evaluate --json`` prints."""
        row: dict[str, Any] = to_json_value(asdict(self))
        if self.segment is None:
            del row["segment"]
        return row

    def to_row(self) -> dict[str, Any]:
        """The same as columns of a table."""
        return {"segment": None, **flatten(self.to_dict())}
