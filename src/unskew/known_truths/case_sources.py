"""Where cases come from: worlds by name, a real log with campaigns injected, or worlds that somebody has."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from unskew.checks import require_whole_number
from unskew.data.log import Log
from unskew.data.saved_log import fingerprint_log
from unskew.errors import InputError, PolicyError, option
from unskew.known_truths.case import Case, Showing, cut_log, find_reference
from unskew.known_truths.case_names import INJECTED, SUMMARIES
from unskew.reading.reader import read_log
from unskew.storage.files import hash_bytes
from unskew.text import did_you_mean, one_line
from unskew.worlds.named_worlds import PAPER, WORLDS
from unskew.worlds.recipe import Campaign, Recipe, resize
from unskew.worlds.simulation import simulate
from unskew.worlds.world import World

HELD_OUT = 0.15
"""Share of the users who are held out where anybody is."""

_WITH_HOLDOUT = (
    *("quiet", "always-on", "pre-empting", "steady", "steady-quiet", "new-items", "seasons", "moving-tastes"),
    *("content", "trending", "same-maker", "exploring", "sponsored", "position-bias", "active-users"),
    *("substitution", "spill-over"),
    *("joiners", "biased-holdout", "twins"),
)
_OTHERWISE_CALLED = {"always-on-for-all": "always-on"}


@dataclass(frozen=True)
class CaseSource(ABC):
    """A world of any seed, or of one."""

    label: str  # what results call it

    def choose_seeds(self, wanted: Sequence[int]) -> Sequence[int]:
        """The seeds that it is made with, if these are wanted: any."""
        return wanted

    @abstractmethod
    def make(self, seed: int) -> Case:
        """The case of a seed."""

    @abstractmethod
    def make_people(self, seed: int, items_of: int) -> Case | None:
        """Other people for the items of a seed, nothing recommended to them; None if there are none."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Everything but the seed that its cases depend on, ready for JSON."""

    def describe_people(self, needs: frozenset[str], items_of: int) -> dict[str, Any]:
        """Everything but the seed that its other people depend on, and what is known there of what is needed."""
        return self.describe()


@dataclass(frozen=True)
class SimulatedWorlds(CaseSource):
    """Worlds of a recipe."""

    recipe: Recipe  # what they are made from
    remembered: tuple[Showing, ...]  # campaigns that their owner knows of, whether there were any or not

    def make(self, seed: int) -> Case:
        """The world of a seed."""
        return Case.of(self.label, simulate(self.recipe, seed=seed), self.remembered)

    def make_people(self, seed: int, items_of: int) -> Case:
        """The same items with nothing recommended, or nothing since the reference date."""
        return Case.of(self.label, simulate(self._choose_people(items_of), seed=seed), self.remembered)

    def describe(self) -> dict[str, Any]:
        """The recipe, and what is remembered."""
        return {"recipe": self.recipe.to_dict(), "remembered": _describe(self.remembered)}

    def describe_people(self, needs: frozenset[str], items_of: int) -> dict[str, Any]:
        """The same without what was recommended; when that began decides about the reference date."""
        known: dict[str, Any] = {}
        if "production" in needs:
            known["production"] = sorted({showing.recommender for showing in self.remembered})
        if needs - {"production"}:
            known["remembered"] = _describe(self.remembered)
        return {
            "recipe": self._choose_people(items_of).to_dict(),
            "reference": find_reference(self.recipe.days, min(int(showing.day) for showing in self.remembered)),
            **known,
        }

    def _choose_people(self, items_of: int) -> Recipe:
        stop = self.recipe.stopped_after
        before = () if stop is None else tuple(c for c in self.recipe.campaigns if int(str(c.day)) <= stop)
        return replace(
            self.recipe,
            campaigns=before,
            loop=None,
            holdout=0.0,
            holdout_bias=0.0,
            anyway=None,
            item_seed=items_of if self.recipe.item_seed is None else self.recipe.item_seed,
        )


@dataclass(frozen=True)
class InjectedCampaigns(CaseSource):
    """The paper's campaigns in a real log, cut down to some of its users and items."""

    base: Log
    users: int
    items: int

    def make(self, seed: int) -> Case:
        """Other users of the log for each seed, and campaigns for them."""
        log, campaigns = self._cut(seed)
        world = simulate("paper", base=log, campaigns=campaigns, seed=seed)
        return Case.of(self.label, world, Showing.of_parameters(world.about["parameters"]))

    def make_people(self, seed: int, items_of: int) -> Case:
        """Other users of the log, nothing recommended to them."""
        log, campaigns = self._cut(seed)
        showings = [Showing(campaign.day, campaign.recommender, campaign.delay) for campaign in campaigns]
        return Case.of(self.label, simulate("quiet", base=log, seed=seed), showings)

    def describe(self) -> dict[str, Any]:
        """The log and the size to which it is cut."""
        return {"base": fingerprint_log(self.base), "users": self.users, "items": self.items}

    def _cut(self, seed: int) -> tuple[Log, list[Campaign]]:
        """Some of the log, and the campaigns of the paper as far into it as they are into a simulated world."""
        log = cut_log(self.base, self.users, self.items, seed)
        first, last = (tick.item() for tick in log.span)
        campaigns = []
        for campaign in PAPER.campaigns:
            tick = first + (last - first) * int(str(campaign.day)) / (PAPER.days - 1)
            day = log.axis.show(math.floor(tick) if log.time.dtype.kind == "i" else tick)
            campaigns.append(replace(campaign, day=day))
        return log, campaigns


@dataclass(frozen=True)
class OneWorld(CaseSource):
    """A world that somebody has made."""

    world: World

    def choose_seeds(self, wanted: Sequence[int]) -> Sequence[int]:
        """Its own."""
        return [int(self.world.about["seed"])]

    def make(self, seed: int) -> Case:
        """Itself."""
        return Case.of(self.label, self.world, self._showings)

    def make_people(self, seed: int, items_of: int) -> Case | None:
        """Those of its recipe, if it was not injected into a log."""
        return None if self._others is None else self._others.make_people(seed, items_of)

    def describe(self) -> dict[str, Any]:
        """What it was made from, and a check sum of what it holds."""
        tables = [self.world.tables[name] for name in sorted(self.world.tables)]
        content = hash_bytes(batch.serialize() for table in tables for batch in table.to_batches())
        return {"about": dict(self.world.about), "content": content}

    def describe_people(self, needs: frozenset[str], items_of: int) -> dict[str, Any]:
        """Those of its recipe."""
        return {} if self._others is None else self._others.describe_people(needs, items_of)

    @cached_property
    def _showings(self) -> tuple[Showing, ...]:
        return Showing.of_parameters(self.world.about["parameters"])

    @property
    def _others(self) -> SimulatedWorlds | None:
        if "base" in self.world.about:
            return None
        return SimulatedWorlds(self.label, self.world.recipe, self._showings)


AnyWorld = str | Path | World
"""The name of a world of the yardstick, a folder that ``unskew simulate`` wrote, or what `simulate` gave."""


def find_sources(
    worlds: AnyWorld | Iterable[AnyWorld] | None, *, base: Any, users: int, items: int
) -> list[CaseSource]:
    """The worlds that are asked for, by default all that have a name, and the injected one if there is a base."""
    require_whole_number(option("users"), users, "how many people there are")
    require_whole_number(option("items"), items, "how many items there are", 2)
    wanted: list[Any] = list(worlds) if isinstance(worlds, Iterable) and not isinstance(worlds, str) else [worlds]
    if worlds is None or not wanted:
        wanted = [*SUMMARIES, *([] if base is None else [INJECTED])]
    log = None if base is None else base if isinstance(base, Log) else read_log(base)
    sources = [_find_source(source, log, users, items) for source in wanted]
    for source in sources:
        if sum(source.label == other.label for other in sources) > 1:
            raise InputError(f"the world {source.label!r} is given twice", remedy="give each once")
    return sources


def _find_source(source: Any, base: Log | None, users: int, items: int) -> CaseSource:
    if isinstance(source, World):
        return _check_world(OneWorld(str(source.about.get("world")), source))
    if source == INJECTED:
        if base is None:
            raise PolicyError(
                f"the world {INJECTED!r} has campaigns in a real log", remedy=f"give that with {option('base')}"
            )
        return InjectedCampaigns(INJECTED, base, users, items)
    if isinstance(source, str) and source in SUMMARIES:
        return _name_worlds(source, users, items)
    if not isinstance(source, str | Path):
        raise InputError(
            f"{one_line(source)} is not a world", remedy="give a name, a folder, or what simulate gives"
        )
    if not Path(source).is_dir():
        meant = did_you_mean(str(source), [*SUMMARIES, INJECTED]) or "."
        known = ", ".join([*SUMMARIES, INJECTED])
        raise InputError(f"there is no world and no folder {str(source)!r}{meant} There are {known}")
    return _check_world(OneWorld(str(source), World.load(source)))


def _name_worlds(name: str, users: int, items: int) -> SimulatedWorlds:
    named_recipe = WORLDS[_OTHERWISE_CALLED.get(name, name)]
    recipe = resize(named_recipe, users, min(items, named_recipe.items))
    recipe = replace(recipe, holdout=HELD_OUT if name in _WITH_HOLDOUT else 0.0)
    # who owns a quiet world believes in the campaigns of the paper, or in production that is always on
    believed = WORLDS["steady"] if name == "steady-quiet" else PAPER
    remembered = recipe if recipe.campaigns or recipe.loop else believed
    return SimulatedWorlds(name, recipe, Showing.of_parameters(remembered.to_dict()))


def _check_world(source: OneWorld) -> OneWorld:
    """Refuse a world in which nothing was recommended: there is nothing to remove."""
    if len(source.world.exposures) == 0:
        raise InputError(
            f"nothing is recommended in the world {source.label}, so no score of it is biased",
            remedy="take the world 'quiet' to see that methods do no harm",
        )
    return source


def _describe(showings: Sequence[Showing]) -> list[list[Any]]:
    return [[showing.day, showing.recommender, showing.delay] for showing in showings]
