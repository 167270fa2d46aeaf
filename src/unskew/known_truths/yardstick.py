"""The yardstick: every method against worlds whose truth is known.

Worlds are in `case_sources`, methods in `method_table`, the work on one world of one seed is in `scored_case`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unskew.errors import Interruption, option
from unskew.evaluation.held_out_ranks import AnyMetric
from unskew.known_truths.case import Case
from unskew.known_truths.case_names import REPORTING
from unskew.known_truths.case_sources import AnyWorld, CaseSource
from unskew.known_truths.method_table import Method
from unskew.known_truths.scored_case import (
    Contestant,
    Lists,
    ScoredCase,
    find_lists,
    make_contestants,
    score_methods,
    score_truths,
)
from unskew.known_truths.world_profile import MEASURES
from unskew.known_truths.yardstick_page import save_yardstick
from unskew.known_truths.yardstick_result import ROWS, Check, Yardstick, YardstickFolder
from unskew.known_truths.yardstick_spec import YardstickSpec, hash_key
from unskew.progress import progress
from unskew.recommend.specs import AnyRecommenders
from unskew.text import count, to_json_value

Row = dict[str, Any]
CaseName = tuple[str, int]  # a world and its seed


def yardstick(
    worlds: AnyWorld | Iterable[AnyWorld] | None = None,
    *,
    seeds: int | Iterable[int] = REPORTING,
    methods: Iterable[str | Method] | str | None = None,
    recommenders: AnyRecommenders | None = None,
    metric: AnyMetric | Iterable[AnyMetric] = "hit@5",
    users: int = 6000,
    items: int = 2000,
    folds: int = 5,
    truth_seeds: int = 10,
    base: Any = None,
    output: str | Path | None = None,
    resume: bool = False,
) -> Yardstick:
    """Every method of removing bias, held against worlds whose truth is known.

    Parameters
    ----------
    worlds
        Names of worlds of the yardstick (`unskew.known_truths.case` has them; by default all), folders that
        ``unskew simulate`` wrote, or what `simulate` gave. The world ``injected`` is a real `base` with campaigns.
    seeds
        Of the worlds that have a name. Choose methods and parameters on 100 to 104; 200 to 204, the default, are
        there to report.
    methods
        Names of methods, by default all; a world is spared those that need to know more than anyone does there.
    recommenders
        As for `evaluate`; ``g1`` and ``g2`` are the five items that each world recommended most, and the five most
        frequent of those that it recommended least. By default these, popularity, two neighbourhood models, EASE
        and ALS.
    metric
        One or several, of single items.
    users, items
        The size of the worlds; a `base` is cut down to it.
    folds
        A recommender that cannot take a held-out pair out of its model is cross-fitted in this many folds.
    truth_seeds
        How many draws of other people, for the same items, the mean truth is taken over.
    base
        A real log, or anything that `read_log` reads, to inject campaigns into.
    output
        A folder for the page, the tables and one file for each world and seed that is done.
    resume
        Take what `output` holds of the same worlds, methods and options, and compute the rest. A run that was
        stopped and resumed gives the same numbers as one that was not.

    Examples
    --------
    >>> import unskew as us
    >>> found = us.yardstick("paper", seeds=1, users=300, items=100, methods=["raw", "organic"],
    ...                      recommenders=["g1", "popular"], truth_seeds=0)
    >>> found
    Yardstick(paper: 2 methods, seeds 1)
    >>> found.rows.column_names[:4]
    ['world', 'seed', 'method', 'knows']
    """
    spec = YardstickSpec.of(
        worlds,
        seeds=seeds,
        methods=methods,
        recommenders=recommenders,
        metrics=metric,
        users=users,
        items=items,
        folds=folds,
        truth_seeds=truth_seeds,
        base=base,
    )
    folder = YardstickFolder.of(output, resume=resume)
    found = _Run(spec, folder).finish()
    if folder.path is not None:
        save_yardstick(found, folder.path)
    return found


class _Run:
    """The work on all worlds and seeds, one after the other."""

    def __init__(self, spec: YardstickSpec, folder: YardstickFolder) -> None:
        self.spec = spec
        self.folder = folder
        self.cases = [(source, seed) for source in spec.sources for seed in source.choose_seeds(spec.seeds)]
        self.questions = {method.name: method.weights.truth.name for method in spec.methods}
        self.populations = self._find_populations()
        own = sum(1 for source, seed in self.cases if spec.specials and self._has_people(source, seed))
        self.total = len(self.cases) + (len(self.populations) + own) * spec.truth_seeds
        self.done = self.computed = 0

    def finish(self) -> Yardstick:
        """Do what is missing. What is done is in the folder then, whatever stops the rest."""
        rows: list[Row] = []
        rankings: list[Row] = []
        profiles: list[tuple[str, Row]] = []
        lists: dict[CaseName, Lists] = {}
        try:
            for source, seed in self.cases:
                found = self._score_case(source, seed)
                rows += found["rows"]
                rankings += found["ranking"]
                profiles.append((source.label, found["profile"]))
                lists[source.label, seed] = found["lists"]
            means = self._mean_truths(lists)
        except KeyboardInterrupt:
            raise Interruption(*self._describe_folder()) from None
        covered = [self._add_coverage(row, means) for row in rows]
        return Yardstick.of(covered, rankings, profiles, self.computed)

    def _score_case(self, source: CaseSource, seed: int) -> dict[str, Any]:
        key = self.spec.case_key(source, seed)
        known = self._begin(f"{source.label}, seed {seed}", source.label, key, self._check_case)
        if known is not None:
            return known
        case = source.make(seed)
        lists = find_lists(self.spec.contestants, case)
        scored = self._score(case, self.spec.contestants, lists)
        rows, ranking = score_methods(scored, self.spec.methods)
        assert case.profile is not None
        readable = all(isinstance(item, int | str) for items in lists.values() for item in items)
        found = {"rows": rows, "ranking": ranking, "profile": case.profile.to_row()}
        return self._end(source.label, key, found | {"lists": lists if readable else {}})

    def _has_people(self, source: CaseSource, seed: int) -> bool:
        return bool(self.spec.truth_key(source, 0, seed)["source"])

    def _find_populations(self) -> dict[str, list[tuple[CaseSource, int]]]:
        """The cases of which there are other people, by what tells the kinds of people apart."""
        populations: dict[str, list[tuple[CaseSource, int]]] = {}
        for source, seed in self.cases:
            if self.spec.learners and self._has_people(source, seed):
                kind = hash_key(self.spec.truth_key(source, self.spec.population_seeds(seed).start, seed))
                populations.setdefault(kind, []).append((source, seed))
        return populations

    def _mean_truths(self, lists: Mapping[CaseName, Lists]) -> dict[tuple[CaseName, str, str, str], float]:
        """The mean truth by case, weighting, recommender and metric."""
        truths: dict[tuple[CaseName, str, str, str], list[float]] = {}

        def add(cases: Iterable[tuple[CaseSource, int]], rows: Iterable[Row]) -> None:
            for row in rows:
                for source, seed in cases:
                    name = ((source.label, seed), row["weighting"], row["recommender"], row["metric"])
                    truths.setdefault(name, []).append(row["truth"])

        for cases in self.populations.values():
            source, items_of = cases[0]
            for seed in self.spec.population_seeds(items_of):
                add(cases, self._score_population(source, seed, items_of))
        for source, items_of in self.cases:
            if not self.spec.specials or not self._has_people(source, items_of):
                continue
            for seed in self.spec.population_seeds(items_of):
                kept = lists[source.label, items_of]
                add([(source, items_of)], self._score_population(source, seed, items_of, kept))
        return {name: float(np.mean(values)) for name, values in truths.items()}

    def _add_coverage(self, row: Row, means: Mapping[tuple[CaseName, str, str, str], float]) -> Row:
        """The row with the mean truth of other people of its kind, and whether its interval covers that."""
        case = (row["world"], row["seed"])
        mean = means.get((case, self.questions[row["method"]], row["recommender"], row["metric"]))
        covered = None if mean is None or row["low"] is None else row["low"] <= mean <= row["high"]
        return row | {"covered": covered, "mean_truth": mean}

    def _score_population(
        self, source: CaseSource, seed: int, items_of: int, lists: Lists | None = None
    ) -> list[Row]:
        """True scores of other people: of learners or, with the lists of a case, of what a case makes."""
        key = self.spec.truth_key(source, seed, items_of, lists)
        known = self._begin(f"truth of {source.label}, seed {seed}", "truth", key, _check_truths)
        if known is None:
            case = source.make_people(seed, items_of)
            assert case is not None
            contestants = self.spec.learners if lists is None else self.spec.specials
            if lists is not None and not lists and not case.models:  # v1 and v2 are in other worlds
                rows: list[Row] = []
            else:
                rows = score_truths(self._score(case, contestants, lists or {}), self.spec.questions)
            known = self._end("truth", key, {"rows": rows})
        found: list[Row] = known["rows"]
        return found

    def _score(self, case: Case, contestants: Mapping[str, Contestant], lists: Lists) -> ScoredCase:
        models = make_contestants(contestants, case, lists)
        return ScoredCase(case, models, self.spec.metrics, folds=self.spec.folds)

    def _check_case(self, found: dict[str, Any]) -> None:
        """Make tables of one case, as will be done with all of them."""
        wanted = set(ROWS.names) - {"covered", "mean_truth"}  # which are added later
        if any(wanted - row.keys() for row in found["rows"]):
            raise ValueError("a row lacks a column")
        if any((row["low"] is None) != (row["high"] is None) for row in found["rows"]):
            raise ValueError("an interval has only one end")
        profiles = [("", {name: found["profile"][name] for name in MEASURES})]
        if not isinstance(found["lists"], dict):
            raise ValueError("the lists have no names")
        Yardstick.of([self._add_coverage(row, {}) for row in found["rows"]], found["ranking"], profiles, 0)

    def _begin(self, text: str, name: str, key: Mapping[str, Any], check: Check) -> dict[str, Any] | None:
        self.done += 1
        known = self.folder.read(name, key, check)
        progress().step(self.done, self.total, text + (", done before" if known is not None else ""))
        return known

    def _end(self, name: str, key: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = to_json_value(found)
        self.folder.write(name, key, plain)
        self.computed += 1
        return plain

    def _describe_folder(self) -> list[str]:
        """What an interrupted run leaves behind, in words; nothing if there is no folder."""
        finished = self.done - 1
        if self.folder.path is None or finished < 1:
            return []
        return [
            f"{finished} of {count(self.total, 'case')} are in {self.folder.path}; use {option('resume', True)} "
            "to do the rest"
        ]


def _check_truths(found: dict[str, Any]) -> None:
    """Use truths of other people as they will be used."""
    for row in found["rows"]:
        names = [row[name] for name in ("weighting", "recommender", "metric")]
        if not all(isinstance(name, str) for name in names) or not math.isfinite(row["truth"]):
            raise ValueError("a truth is no number, or of nothing")
