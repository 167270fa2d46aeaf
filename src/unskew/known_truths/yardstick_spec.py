"""What a yardstick is asked for: checked before the work, and what its files are told apart by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import unskew
from unskew.checks import require_whole_number
from unskew.errors import InputError, PolicyError, option
from unskew.evaluation.held_out_ranks import AnyMetric
from unskew.evaluation.metric import Metric, UserMetric, distinct_metrics
from unskew.files import hash_bytes
from unskew.known_truths.case_names import POPULATION
from unskew.known_truths.case_sources import AnyWorld, CaseSource, find_sources
from unskew.known_truths.method_table import DRAWS, Method, PairWeights, find_methods
from unskew.known_truths.scored_case import (
    Contestant,
    Lists,
    describe_contestant,
    find_contestants,
    is_constant,
)
from unskew.recommend.specs import AnyRecommenders

_MOST_WORLDS = POPULATION
_FORMAT = 3  # of the files of single cases


@dataclass(frozen=True)
class YardstickSpec:
    """Worlds, methods, recommenders and metrics.

    Attributes
    ----------
    sources
        The worlds.
    seeds
        Of the worlds that can be made with any.
    methods, contestants, metrics
        What is scored, and how.
    folds
        In how many folds recommenders are cross-fitted that cannot take a pair out of their model.
    truth_seeds
        How many other worlds the mean truth is taken over.
    """

    sources: list[CaseSource]
    seeds: tuple[int, ...]
    methods: list[Method]
    contestants: dict[str, Contestant]
    metrics: list[Metric]
    folds: int
    truth_seeds: int

    @classmethod
    def of(
        cls,
        worlds: AnyWorld | Iterable[AnyWorld] | None,
        *,
        seeds: int | Iterable[int],
        methods: Iterable[str | Method] | str | None,
        recommenders: AnyRecommenders | None,
        metrics: AnyMetric | Iterable[AnyMetric],
        users: int,
        items: int,
        folds: int,
        truth_seeds: int,
        base: Any,
    ) -> YardstickSpec:
        """Check everything that can be checked before the work."""
        wanted = distinct_metrics(metrics)
        for metric in wanted:
            if isinstance(metric, UserMetric):
                raise PolicyError(
                    f"{metric.name} is about all held-out items of a user at once, and cannot be weighted",
                    remedy="use a metric of single items, such as hit@5",
                )
        return cls(
            methods=find_methods(methods),
            contestants=find_contestants(recommenders),
            metrics=wanted,
            seeds=_read_seeds(seeds),
            folds=require_whole_number(option("folds"), folds, "how many parts the pairs are dealt into", 2),
            truth_seeds=require_whole_number(
                option("truth_seeds"), truth_seeds, "a number of worlds", 0, _MOST_WORLDS
            ),
            sources=find_sources(worlds, base=base, users=users, items=items),
        )

    def population_seeds(self, seed: int) -> range:
        """Seeds of the other people whose mean truth the intervals of a world of a seed are compared with."""
        return range(POPULATION * (seed + 1), POPULATION * (seed + 1) + self.truth_seeds)

    @property
    def learners(self) -> dict[str, Contestant]:
        """The recommenders that are the same in all worlds."""
        return {
            name: one
            for name, one in self.contestants.items()
            if not isinstance(one, str) and not is_constant(one)
        }

    @property
    def specials(self) -> dict[str, Contestant]:
        """The recommenders that a case makes: its constant lists and content models."""
        return {name: one for name, one in self.contestants.items() if isinstance(one, str)}

    @property
    def questions(self) -> list[PairWeights]:
        """The weights under which truths are asked for."""
        return list(dict.fromkeys(method.weights.truth for method in self.methods))

    def case_key(self, source: CaseSource, seed: int) -> dict[str, Any]:
        """Everything that the rows of a case depend on."""
        methods = [[one.name, one.view.name, one.weights.name, DRAWS] for one in self.methods]
        return self._key(seed, source.describe(), self.contestants, methods)

    def truth_key(
        self, source: CaseSource, seed: int, items_of: int, lists: Lists | None = None
    ) -> dict[str, Any]:
        """Everything that the truths of other people depend on, for learners or, with lists, for specials."""
        questions = [one.name for one in self.questions]
        needs = frozenset(fact for one in self.questions for fact in one.needs)
        people = source.describe_people(needs, items_of)
        if lists is None:
            return self._key(seed, people, self.learners, questions)
        return self._key(seed, people, self.specials, questions) | {"world": source.label, "lists": dict(lists)}

    def _key(
        self, seed: int, source: Any, contestants: Mapping[str, Contestant], asked: Sequence[Any]
    ) -> dict[str, Any]:
        return {
            "version": unskew.__version__,
            "format": _FORMAT,
            "source": source,
            "seed": seed,
            "recommenders": [describe_contestant(name, one) for name, one in contestants.items()],
            "metrics": [metric.name for metric in self.metrics],
            "folds": self.folds,
            "asked": list(asked),
        }


def hash_key(key: Mapping[str, Any]) -> str:
    """A short text that is the same only for the same key."""
    return hash_bytes([json.dumps(key, sort_keys=True, default=str).encode()])[:12]


def _read_seeds(given: int | Iterable[int]) -> tuple[int, ...]:
    several = list(given) if isinstance(given, Iterable) else [given]
    seeds = tuple(require_whole_number(option("seeds"), one, "where random numbers begin", 0) for one in several)
    if not seeds:
        raise InputError(f"{option('seeds')} is empty", remedy="give some")
    for one in seeds:
        if seeds.count(one) > 1:
            raise InputError(f"{option('seeds')} has {one} twice", remedy="give each once")
    return seeds
