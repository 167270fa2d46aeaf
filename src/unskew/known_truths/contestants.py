"""The recommenders that a yardstick scores: models, and those that every case has of its own.

These are two constant lists and, if a content model is in production, that model and its twin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from unskew.errors import InputError
from unskew.files import hash_files
from unskew.known_truths.case import VERSIONS, Case
from unskew.recommend.constant import Constant
from unskew.recommend.contract import Recommender, traits_of
from unskew.recommend.parameters import split_name
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
    **{name: name for name in VERSIONS},
}
"""Those that are scored if none are named, by the names that they have in results."""

_LENGTH = 5  # of the constant lists

Contestant = Recommender | str
"""A recommender, or the name of one that a case makes: a list or a content model."""

Lists = Mapping[str, Sequence[Any]]
"""The items of the constant lists of a case, by name."""


def find_contestants(given: AnyRecommenders | None) -> dict[str, Contestant]:
    """Recommenders by the names that they have in results."""
    if given is None:
        given = CONTESTANTS
    if isinstance(given, Mapping):
        named: dict[Any, Any] = dict(given)
    else:
        several: list[Any] = [given] if is_one_recommender(given) else list(cast(Iterable[Any], given))
        named = {}
        for contestant in several:
            if isinstance(contestant, str):
                label, spec = split_name(contestant)
                name, model = label or spec, CONTESTANTS.get(spec, spec)
            else:
                name, model = next(iter(name_recommenders([contestant]))), contestant
            if name in named:
                raise InputError(
                    f"recommender {name!r} is given twice", remedy="give each once, or other names with NAME=SPEC"
                )
            named[name] = model
    special = (PUSHED, UNPUSHED, *VERSIONS)
    labels = {name: one for name, one in named.items() if isinstance(one, str) and one in special}
    models = {name: one for name, one in named.items() if name not in labels}
    made = name_recommenders(models) if models or not labels else {}
    return {name: labels.get(name) or made[name] for name in named}


def describe_contestant(name: str, one: Contestant) -> str:
    """What it is, in words that tell it apart; one that was read from files with a check sum of them."""
    files = () if isinstance(one, str) else traits_of(one).files
    return f"{name}: {one}" + (f" ({hash_files(files)})" if files else "")


def is_constant(one: Contestant) -> bool:
    """Whether it is a list of items that somebody named, which need not be in a world of other people."""
    return not isinstance(one, str) and traits_of(one).constant


def find_lists(contestants: Mapping[str, Contestant], case: Case) -> dict[str, list[Any]]:
    """The items of the constant lists of a case, of those lists that are scored."""
    wanted = [one for one in contestants.values() if isinstance(one, str) and one not in VERSIONS]
    if not wanted:
        return {}
    most, least = case.rank_by_showing()
    pushed = most[:_LENGTH]
    unpushed = [item for item in least if item not in pushed][:_LENGTH]
    if not unpushed:
        raise InputError(
            f"people had {len(most)} items at {case.before.label}, too few for the lists {PUSHED} and {UNPUSHED}",
            remedy="give more users or items, or name other recommenders",
        )
    return {name: items for name, items in {PUSHED: pushed, UNPUSHED: unpushed}.items() if name in wanted}


def make_contestants(contestants: Mapping[str, Contestant], case: Case, lists: Lists) -> dict[str, Recommender]:
    """The recommenders, with constant lists and, if one of them is in production, the content models of a case."""
    special: dict[str, Recommender] = dict(case.models)
    for name, items in lists.items():
        known = case.truth.items.codes(items) >= 0  # nobody among other people may have an item of the list
        special[name] = Constant([item for item, has in zip(items, known, strict=True) if has] or items)
    made = {
        name: special[one] if isinstance(one, str) else one
        for name, one in contestants.items()
        if not isinstance(one, str) or one in special
    }
    if contestants and not made:
        raise InputError(
            f"no content model is in production in the world {case.label!r}, so that there is no "
            f"{' and no '.join(contestants)}",
            remedy="name other recommenders, or take the world 'twins'",
        )
    return made
