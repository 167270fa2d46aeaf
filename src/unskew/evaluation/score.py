"""A score: its value, how sure it is, and what stands behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from unskew.data.policy import Share
from unskew.data.times import Label
from unskew.evaluation.results import flatten
from unskew.text import to_json_value


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
        ``bootstrap`` (users resampled at both dates, weights fitted again each time).
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
        After a time split: users who took something later, but had no profile then; with the last items held out:
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
