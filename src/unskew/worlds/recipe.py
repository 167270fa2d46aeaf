"""What a world is made of, in Python and in JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from datetime import date
from numbers import Integral, Real
from string import ascii_lowercase
from typing import Any

from unskew.checks import public_class, require_number, require_one_of, require_whole_number
from unskew.errors import InputError, PolicyError, option
from unskew.evaluation.metric import metric as named_metric
from unskew.recommend import recommender
from unskew.recommend.specs import require_shipped
from unskew.text import one_line

MOST = 10**9
"""Users, items or days of a world, whatever a file says."""

CONTENT = ("content", "content-twin")
"""What a campaign calls the content models of its world: v1, and its twin v2."""


WORLD_MODELS = (*CONTENT, "trending", "same-maker")
"""Productions that only a simulated world has; see `unskew.worlds.world_models`."""


def is_world_model(spec: Any) -> bool:
    """Whether a campaign's recommender is a model of its world, and no spec."""
    return isinstance(spec, str) and spec in WORLD_MODELS


@dataclass(frozen=True)
class Campaign:
    """Recommendations sent on one day, made by a recommender fitted on the log of that day.

    Attributes
    ----------
    day
        When; in days since the launch, or a date of the base log.
    recommender
        The spec of what makes the lists.
    reach
        Share of the users with a profile who get one.
    shown
        Length of a list; less where fewer of the first ``12 * shown`` that the recommender gives may be shown.
    acceptance
        Share of its list that a user takes, on average. Each item is taken with this probability times how much
        the user likes it, compared with the rest of its list, but at most with 1: large shares come out smaller.
    catalogue
        Share of all items that can be recommended: those that most users hold on that day; at least 20 items.
    excluded
        One in so many of these (by popularity at the first campaign) is not recommended; 0 for none.
    delay
        Days until a recommended item is taken, on average.
    explore
        Share of the places of each list that are filled with random items of the catalogue.
    sponsored
        So many places at the top of each list go to sponsored items: ten of the catalogue, every seventh by
        popularity at the first campaign.
    position_bias
        Acceptance falls with the position in the list like ``position ** -position_bias``.
    activity_bias
        Acceptance grows with the size of the user's profile like ``size ** activity_bias``.
    substitution
        Probability that an accepted recommendation replaces what the user would have interacted with next.
    spill_over
        Probability that an accepted recommendation leads to an interaction with another item of its topic, which
        was not recommended.
    joiners
        Users who join because of the campaign, as a share of all users; they are not in the truth.
    """

    day: int | float | str | date
    recommender: str = "knn?neighbours=200&similarity=cooccurrence&exact=false"
    reach: float = 1.0
    shown: int = 10
    acceptance: float = 0.067
    catalogue: float = 0.04
    excluded: int = 60
    delay: float = 4.0
    explore: float = 0.0
    sponsored: int = 0
    position_bias: float = 0.0
    activity_bias: float = 0.0
    substitution: float = 0.0
    spill_over: float = 0.0
    joiners: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "day", _check_day(self.day))
        if not isinstance(self.recommender, str):
            raise InputError(
                f"recommender is {one_line(self.recommender, 200)}",
                remedy="give the text of a spec, such as 'popular'",
            )
        if not is_world_model(self.recommender):
            recommender(self.recommender)
        require_number(option("reach"), self.reach, "a share of the users", 0, 1)
        require_whole_number(option("shown"), self.shown, "the length of a list", most=MOST)
        require_number(option("acceptance"), self.acceptance, "a probability", 0, 1)
        require_number("catalogue", self.catalogue, "a share of the items", 0, 1)
        require_whole_number("excluded", self.excluded, "one in so many items", 0)
        require_number("delay", self.delay, "a number of days", 0, MOST)
        require_whole_number("sponsored", self.sponsored, "a number of places", 0, MOST)
        for name in ("position_bias", "activity_bias"):
            require_number(name, getattr(self, name), "an exponent", 0, 10)
        for name in ("explore", "substitution", "spill_over", "joiners"):
            require_number(name, getattr(self, name), "a share", 0, 1)

    @property
    def needs_topics(self) -> bool:
        """Whether it works only for items whose topics are known, those of a simulated world."""
        return is_world_model(self.recommender) or self.spill_over > 0 or self.joiners > 0


def _check_day(day: Any) -> Any:
    """A number as Python has it; a date as it is."""
    is_number = isinstance(day, Real)
    if day is None or isinstance(day, bool) or (is_number and not math.isfinite(day)):
        raise InputError(
            f"day is {one_line(day, 200)}", remedy="give a day such as 330, or a time of the base log"
        )
    if is_number:
        return int(day) if isinstance(day, Integral) else float(day)
    return day


CHOSEN_BY = ("raw", "weighted", "organic")


@dataclass(frozen=True)
class Loop:
    """The winner of each offline evaluation goes into production and shapes the log of the next."""

    # Specs; ``list:a`` stands for a fixed list of popular items, and other letters for other such lists.
    candidates: tuple[str, ...]
    # The day of the first evaluation, the days between two, and how many there are.
    first: int = 300
    every: int = 25
    rounds: int = 8
    # What is in production before the first evaluation has an effect; None for the winner of the first.
    incumbent: str | None = None
    # The score that decides: ``raw``; ``weighted`` to the item mix of the first day; or ``organic``, weighted as
    # well, on the log without what had been shown.
    chosen_by: str = "raw"
    metric: str = "hit@5"  # what the score is of
    # How the winner recommends; its day and recommender are those of the round.
    campaign: Campaign = Campaign(0, shown=5, acceptance=0.06, catalogue=1.0, excluded=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", as_tuple("candidates", self.candidates, str))
        if not self.candidates:
            raise InputError("candidates is empty", remedy="name what competes")
        for place, spec in enumerate(self.candidates):
            if spec in self.candidates[:place]:
                raise InputError(f"candidates has {spec!r} twice", remedy="name each once")
            if not is_list(spec):
                recommender(spec)
        if not isinstance(self.metric, str):
            raise InputError(f"metric is {one_line(self.metric, 200)}", remedy="give its name, such as 'hit@5'")
        named_metric(self.metric)
        require_one_of(option("chosen_by"), self.chosen_by, CHOSEN_BY)
        if self.incumbent is not None:
            require_one_of("incumbent", self.incumbent, self.candidates)
        require_whole_number("first", self.first, "days since the launch", 0, MOST)
        require_whole_number("every", self.every, "a number of days", most=MOST)
        require_whole_number("rounds", self.rounds, "a number of evaluations", most=10_000)
        if not isinstance(self.campaign, Campaign):
            raise InputError(
                f"campaign is {one_line(self.campaign, 200)}", remedy="give one such as Campaign(0, shown=5)"
            )

    @property
    def days(self) -> list[int]:
        """When the evaluations are."""
        return [self.first + k * self.every for k in range(self.rounds)]


@public_class
@dataclass(frozen=True)
class Recipe:
    """All parameters of a world; together with a seed they determine it.

    Attributes
    ----------
    users, items, days
        How many people there are, how many items they can take, and how many days the log covers.
    organic
        Items that a user takes without recommendations until the end, on average.
    tail, largest
        Exponent of the tail of profile sizes (``P(size > n)`` falls like ``n ** -tail``), and the largest size,
        which is never more than a quarter of the items.
    zipf, head
        The k-th most popular item, from 0 on, is taken in proportion to ``(k + head) ** -zipf``.
    topics, taste, first
        Number of topics that items belong to, the share of what a user takes from its own two, and the share of
        that from the one it likes most.
    affinity
        How much a user likes a recommended item of the topic it likes most, of the other one, and of any other.
    adoption
        Days after the launch by which 63 % of those who join early have joined.
    late
        Share of the users who join evenly over the whole time instead.
    pace, trickle
        Days within which most of a profile is filled, and the share of it that comes evenly over time instead.
    births
        Share of the items that come into being evenly over the whole time; the others are there at the launch.
    birth_every
        New items appear every so many days.
    novelty, fade
        New items are in demand: the weight of an item that appears after the launch has the factor
        ``1 + novelty * exp(-age / fade)``, its age in days.
    trend
        How far the tastes of those who join last differ from those of the first; 0 for not at all.
    restless
        Share of the users whose liked topics are drawn anew in each twentieth of the time, following the trend.
    season, period
        Demand for a topic goes up and down: its factor is ``exp(season * sin(2 pi (day / period + phase)))``, the
        phase drawn for each topic.
    peak, peak_days
        Demand for a fifth of the topics has the factor ``exp(peak)`` from the first of two days until the second.
    anyway
        Probability that users take what they are shown and would have taken later anyway; None for `acceptance`.
    holdout
        Share of the users who are never shown anything.
    holdout_bias
        The chance to be in the holdout group grows with the user's activity like ``items ** holdout_bias``; 0 for
        a random group.
    noise
        How noisy the topic information of the content models is; see `unskew.worlds.world_models`.
    campaigns
        What is recommended when; a recommender that is always on is many small campaigns.
    loop
        What decides the campaigns on the way, or None.
    stopped_after
        Also tell what would have happened had nothing been recommended after this day: the table ``stopped``.
    item_seed
        Seed of the items, if other people are to be drawn for the items of another world; None for the world's.
    """

    users: int = 34_448
    items: int = 35_741
    days: int = 501
    organic: float = 4.07
    tail: float = 1.8
    largest: int = 300
    zipf: float = 1.0
    head: float = 8.0
    topics: int = 40
    taste: float = 0.8
    first: float = 0.75
    affinity: tuple[float, float, float] = (1.0, 0.7, 0.14)
    adoption: float = 60.0
    late: float = 0.0
    pace: float = 40.0
    trickle: float = 0.15
    births: float = 0.0
    birth_every: int = 1
    novelty: float = 0.0
    fade: float = 30.0
    trend: float = 0.0
    restless: float = 0.0
    season: float = 0.0
    period: float = 120.0
    peak: float = 0.0
    peak_days: tuple[int, int] = (0, 0)
    anyway: float | None = None
    holdout: float = 0.0
    holdout_bias: float = 0.0
    noise: float = 1.0
    campaigns: tuple[Campaign, ...] = ()
    loop: Loop | None = None
    stopped_after: int | None = None
    item_seed: int | None = None

    def __post_init__(self) -> None:
        require_whole_number(option("users"), self.users, "how many people there are", most=MOST)
        require_whole_number(option("items"), self.items, "how many items there are", 2, MOST)
        require_whole_number("days", self.days, "how many days the log covers", 2, MOST)
        require_whole_number("largest", self.largest, "the largest profile", most=MOST)
        require_whole_number("topics", self.topics, "a number of topics", most=MOST)
        require_number("organic", self.organic, "items a user, not more than the largest profile", 1, self.largest)
        require_number("tail", self.tail, "the exponent of profile sizes", 0.1)
        require_number("zipf", self.zipf, "the exponent of popularity", 0, 10)
        require_number("head", self.head, "how flat the top of popularity is", 0.01, 1e6)
        require_number("trend", self.trend, "how far tastes move", 0, 100)
        for name in ("adoption", "pace"):
            require_number(name, getattr(self, name), "a number of days", 0)
        object.__setattr__(self, "affinity", as_tuple("affinity", self.affinity))
        if len(self.affinity) != 3:
            raise InputError(
                f"affinity is {one_line(self.affinity, 200)}",
                remedy="give three numbers, for two topics and all others",
            )
        for value in self.affinity:
            require_number("affinity", value, "how much a user likes an item", 0, 1)
        for name in ("taste", "first", "late", "trickle", "births", "restless", "holdout"):
            require_number(option(name), getattr(self, name), "a share", 0, 1)
        require_whole_number("birth_every", self.birth_every, "a number of days", most=MOST)
        for name in ("novelty", "noise"):
            require_number(name, getattr(self, name), "a factor", 0, 20)
        for name in ("season", "peak"):
            require_number(name, getattr(self, name), "the logarithm of a factor", 0, 2)
        for name in ("fade", "period"):
            require_number(name, getattr(self, name), "a number of days", 1e-3, MOST)
        require_number("holdout_bias", self.holdout_bias, "an exponent", 0, 10)
        object.__setattr__(self, "peak_days", as_tuple("peak_days", self.peak_days))
        if len(self.peak_days) != 2:
            raise InputError(
                f"peak_days is {one_line(self.peak_days, 200)}", remedy="give two days, such as (330, 350)"
            )
        for day in self.peak_days:
            require_whole_number("peak_days", day, "a day since the launch", 0, MOST)
        for name in ("stopped_after", "item_seed"):
            if getattr(self, name) is not None:
                require_whole_number(name, getattr(self, name), "a day or a seed", 0)
        if self.anyway is not None:
            require_number("anyway", self.anyway, "a probability", 0, 1)
        object.__setattr__(self, "campaigns", as_tuple("campaigns", self.campaigns, Campaign))
        if self.loop is not None and not isinstance(self.loop, Loop):
            raise InputError(f"loop is {one_line(self.loop, 200)}", remedy="give one such as Loop(candidates)")
        if self.loop is not None and self.campaigns:
            raise PolicyError(
                "a closed loop decides its campaigns by itself", remedy="give campaigns or a loop, not both"
            )

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON has them."""
        return to_json_types(asdict(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, from_file: bool = True) -> Recipe:
        """What `to_dict` gave. What comes from a file may name only recommenders that unskew ships."""
        fields = read_fields(cls, values, "a world")
        if from_file:
            check_recommenders(values)
        fields["campaigns"] = read_campaigns(values.get("campaigns", ()))
        if values.get("loop") is not None:
            loop = read_fields(Loop, values["loop"], "a closed loop")
            if "campaign" in loop:
                [loop["campaign"]] = read_campaigns([loop["campaign"]], None)
            fields["loop"] = Loop(**loop)
        return cls(**fields)


def read_campaigns(values: Any, kind: type[Any] | None = Mapping) -> tuple[Campaign, ...]:
    """Campaigns from their parameters."""
    campaigns = as_tuple("campaigns", values, kind)
    return tuple(Campaign(**read_fields(Campaign, campaign, "a campaign")) for campaign in campaigns)


def check_recommenders(values: Any) -> None:
    """Refuse parameters of a world from a file if they name a recommender that unskew does not ship.

    A spec may name any function of any module, which is called as soon as the recommender is made.
    """
    if isinstance(values, Mapping):
        specs = [values.get("recommender"), values.get("incumbent"), *_as_list(values.get("candidates"))]
        for spec in specs:
            if isinstance(spec, str) and not is_list(spec) and not is_world_model(spec):
                require_shipped(spec)
    for value in values.values() if isinstance(values, Mapping) else _as_list(values):
        check_recommenders(value)


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else []


def is_list(candidate: str) -> bool:
    """Whether a candidate of a loop is one of the fixed lists of popular items: ``list:a`` to ``list:z``."""
    head, _, letter = candidate.partition(":")
    return head == "list" and len(letter) == 1 and letter in ascii_lowercase


def resize(recipe: Recipe, users: int | None = None, items: int | None = None) -> Recipe:
    """The same world with another number of users and items, and not more topics than there is room for."""
    users, items = recipe.users if users is None else users, recipe.items if items is None else items
    recipe = replace(recipe, users=users, items=items)
    return replace(recipe, topics=max(1, min(recipe.topics, recipe.items // 12)))


def read_fields(kind: type[Any], values: Any, noun: str) -> dict[str, Any]:
    """Values for the fields of a class; an error if it has no such field, or needs one that is missing."""
    if not isinstance(values, Mapping):
        raise InputError(f"{noun} is described by {one_line(values, 200)}", remedy="give its parameters by name")
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for name in values:
        if name not in known:
            raise InputError(f"{noun} has no parameter {name!r}", remedy="use the version of unskew that wrote it")
    for name, needed in known.items():
        if needed and name not in values:
            raise InputError(f"{noun} has no {name!r}, which it needs", remedy="add it")
    return dict(values)


def as_tuple(name: str, values: Any, kind: type[Any] | None = None) -> tuple[Any, ...]:
    """Several values, all of one kind."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {one_line(values, 200)}", remedy="give a list")
    several = tuple(values)
    for value in several:
        if kind is not None and not isinstance(value, kind):
            raise InputError(f"{name} has {one_line(value, 200)}, but each must be a {kind.__name__}")
    return several


def to_json_types(values: dict[str, Any]) -> dict[str, Any]:
    """The values as JSON would give them back: lists for tuples, plain numbers for those of numpy."""
    result: dict[str, Any] = json.loads(json.dumps(values, default=_convert))
    return result


def _convert(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
