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
from unskew.evaluation.held_out_ranks import AnyQuality
from unskew.known_truths.case import Case
from unskew.known_truths.case_names import REPORTING
from unskew.known_truths.case_sources import AnyWorld, CaseSource
from unskew.known_truths.contestants import Contestant, make_contestants
from unskew.known_truths.method_table import Method
from unskew.known_truths.scored_case import ScoredCase, score_methods, score_truths
from unskew.known_truths.yardstick_files import Check, YardstickFolder
from unskew.known_truths.yardstick_page import save_yardstick
from unskew.known_truths.yardstick_result import ROWS, Yardstick
from unskew.known_truths.yardstick_spec import YardstickSpec, hash_key
from unskew.progress import progress
from unskew.recommend.specs import AnyRecommenders
from unskew.text import count, to_json_value

Row = dict[str, Any]


def yardstick(
    worlds: AnyWorld | Iterable[AnyWorld] | None = None,
    *,
    seeds: int | Iterable[int] = REPORTING,
    methods: Iterable[str | Method] | str | None = None,
    recommenders: AnyRecommenders | None = None,
    qualities: AnyQuality | Iterable[AnyQuality] = "hit@5",
    users: int = 6000,
    items: int = 2000,
    folds: int = 5,
    truth_seeds: int = 20,
    base: Any = None,
    output: str | Path | None = None,
    resume: bool = False,
) -> Yardstick:
    """Every method of removing bias, held against worlds whose truth is known.

    Parameters
    ----------
    worlds
        Names of worlds of the yardstick (`unskew.known_truths.case_names` has them; by default all), folders that
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
    qualities
        One or several, of single items.
    users, items
        The size of the worlds; a `base` is cut down to it.
    folds
        A recommender that cannot take a held-out pair out of its model is cross-fitted in this many folds.
    truth_seeds
        How many worlds with other seeds the mean truth is taken over, against which intervals are held.
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
        qualities=qualities,
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
        self.kinds = {source.label: self._find_kind(source) for source in spec.sources}
        self.populations = self._find_populations()
        self.total = len(self.cases) + len(self.populations) * spec.truth_seeds
        self.done = self.computed = 0

    def finish(self) -> Yardstick:
        """Do what is missing. What is done is in the folder then, whatever stops the rest."""
        rows: list[Row] = []
        rankings: list[Row] = []
        try:
            for source, seed in self.cases:
                found = self._score_case(source, seed)
                rows += found["rows"]
                rankings += found["ranking"]
            means = self._mean_truths()
        except KeyboardInterrupt:
            raise Interruption(*self._describe_folder()) from None
        return Yardstick.of([self._add_coverage(row, means) for row in rows], rankings, self.computed)

    def _score_case(self, source: CaseSource, seed: int) -> dict[str, Any]:
        key = self.spec.case_key(source, seed)
        known = self._begin(f"{source.label}, seed {seed}", source.label, key, self._check_case)
        if known is not None:
            return known
        case = source.make(seed)
        rows, ranking = score_methods(self._score(case, self.spec.contestants), self.spec.methods)
        return self._end(source.label, key, {"rows": rows, "ranking": ranking})

    def _find_populations(self) -> dict[str, CaseSource]:
        """Worlds of which there are other people, each kind of people once, by what tells the kinds apart."""
        kinds = ((self.kinds[source.label], source) for source in reversed(self.spec.sources))
        return {kind: source for kind, source in kinds if kind is not None and self.spec.learners}

    def _find_kind(self, source: CaseSource) -> str | None:
        """What tells the kind of people of a world apart; None if there are no others."""
        key = self.spec.truth_key(source, 0)
        return hash_key(key) if key["source"] else None

    def _mean_truths(self) -> dict[tuple[str, str, str, str], float]:
        """The mean truth by kind of people, weighting, recommender and quality."""
        truths: dict[tuple[str, str, str, str], list[float]] = {}
        for kind, source in self.populations.items():
            for seed in self.spec.population_seeds:
                for row in self._score_population(source, seed):
                    name = (kind, row["weighting"], row["recommender"], row["quality"])
                    truths.setdefault(name, []).append(row["truth"])
        return {name: float(np.mean(values)) for name, values in truths.items()}

    def _add_coverage(self, row: Row, means: Mapping[tuple[str, str, str, str], float]) -> Row:
        """The row with the mean truth of other people of its kind, and whether its interval covers that."""
        kind = self.kinds[row["world"]] or ""
        mean = means.get((kind, self.questions[row["method"]], row["recommender"], row["quality"]))
        covered = None if mean is None or row["low"] is None else row["low"] <= mean <= row["high"]
        return row | {"covered": covered, "mean_truth": mean}

    def _score_population(self, source: CaseSource, seed: int) -> list[Row]:
        key = self.spec.truth_key(source, seed)
        known = self._begin(f"truth of {source.label}, seed {seed}", "truth", key, _check_truths)
        if known is None:
            case = source.make_people(seed)
            assert case is not None
            rows = score_truths(self._score(case, self.spec.learners), self.spec.questions)
            known = self._end("truth", key, {"rows": rows})
        found: list[Row] = known["rows"]
        return found

    def _score(self, case: Case, contestants: Mapping[str, Contestant]) -> ScoredCase:
        models = make_contestants(contestants, case)
        return ScoredCase(case, models, self.spec.qualities, folds=self.spec.folds)

    def _check_case(self, found: dict[str, Any]) -> None:
        """Make tables of one case, as will be done with all of them."""
        wanted = set(ROWS.names) - {"covered", "mean_truth"}  # which are added later
        if any(wanted - row.keys() for row in found["rows"]):
            raise ValueError("a row lacks a column")
        Yardstick.of([self._add_coverage(row, {}) for row in found["rows"]], found["ranking"], 0)

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
        names = [row[name] for name in ("weighting", "recommender", "quality")]
        if not all(isinstance(name, str) for name in names) or not math.isfinite(row["truth"]):
            raise ValueError("a truth is no number, or of nothing")
