"""The recommenders that a yardstick scores: models, and two constant lists that every case has of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from unskew.errors import InputError
from unskew.files import hash_files
from unskew.known_truths.case import Case
from unskew.recommend.constant import Constant
from unskew.recommend.contract import Recommender, traits_of
from unskew.recommend.specs import AnyRecommenders, is_one_recommender, name_recommenders

PUSHED, UNPUSHED = "g1", "g2"
"""The five items that were recommended most, and the five most frequent of those recommended least."""

CONTESTANTS = {
    PUSHED: PUSHED,
    UNPUSHED: UNPUSHED,
    "popular": "popular",
    "cosine": "knn?neighbours=50",
    "co-occurrence": "knn?neighbours=200&similarity=cooccurrence",
    "ease": "ease?l2=500",
    "als": "als?factors=32",
}
"""Those that are scored if none are named, by the names that they have in results."""

_LENGTH = 5  # of the constant lists

Contestant = Recommender | str
"""A recommender, or the name of one of the two lists, which a case makes."""


def find_contestants(given: AnyRecommenders | None) -> dict[str, Contestant]:
    """Recommenders by the names that they have in results."""
    if given is None:
        given = CONTESTANTS
    if isinstance(given, Mapping):
        named: dict[Any, Any] = dict(given)
    else:
        several: list[Any] = [given] if is_one_recommender(given) else list(cast(Iterable[Any], given))
        named = {}
        for one in several:
            name = one if isinstance(one, str) else next(iter(name_recommenders([one])))
            if name in named:
                raise InputError(f"recommender {name!r} is given twice", remedy="give each once")
            named[name] = CONTESTANTS.get(name, one) if isinstance(one, str) else one
    lists = {name: one for name, one in named.items() if isinstance(one, str) and one in (PUSHED, UNPUSHED)}
    models = {name: one for name, one in named.items() if name not in lists}
    made = name_recommenders(models) if models or not lists else {}
    return {name: lists.get(name) or made[name] for name in named}


def describe_contestant(name: str, one: Contestant) -> str:
    """What it is, in words that tell it apart; one that was read from files with a check sum of them."""
    files = () if isinstance(one, str) else traits_of(one).files
    return f"{name}: {one}" + (f" ({hash_files(files)})" if files else "")


def is_constant(one: Contestant) -> bool:
    """Whether it is a list of items, which are others in a world of another seed."""
    return isinstance(one, str) or traits_of(one).constant


def make_contestants(contestants: Mapping[str, Contestant], case: Case) -> dict[str, Recommender]:
    """The recommenders, with the lists of a case."""
    if not any(isinstance(one, str) for one in contestants.values()):
        return {name: one for name, one in contestants.items() if not isinstance(one, str)}
    most, least = case.rank_by_showing()
    pushed = most[:_LENGTH]
    unpushed = [item for item in least if item not in pushed][:_LENGTH]
    if not unpushed:
        raise InputError(
            f"people held {len(most)} items at {case.before.label}, too few for the lists {PUSHED} and {UNPUSHED}",
            remedy="give more users or items, or name other recommenders",
        )
    lists = {PUSHED: Constant(pushed), UNPUSHED: Constant(unpushed)}
    return {name: lists[one] if isinstance(one, str) else one for name, one in contestants.items()}
