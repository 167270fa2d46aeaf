"""The yardstick: every method against worlds whose truth is known.

Worlds are in `case_sources`, methods in `estimators`, the work on one world of one seed is in `scored_case`.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import unskew
from unskew.checks import public, require_whole_number
from unskew.drawing.page import is_page
from unskew.errors import FileError, InputError, Interruption, PolicyError, option
from unskew.evaluation.held_out_ranks import AnyMetric
from unskew.evaluation.metric import Metric, UserMetric, distinct_metrics
from unskew.known_truths.case import Case
from unskew.known_truths.case_names import POPULATION, REPORTING
from unskew.known_truths.case_sources import AnyWorld, CaseSource, find_sources
from unskew.known_truths.estimators import DRAWS, Estimator, PairWeights, find_methods
from unskew.known_truths.scored_case import (
    Contestant,
    Lists,
    ScoredCase,
    describe_contestant,
    find_contestants,
    find_lists,
    make_contestants,
    score_methods,
    score_truths,
)
from unskew.known_truths.yardstick_page import save_yardstick
from unskew.known_truths.yardstick_result import MEASURES, PAGE, ROWS, WRITTEN, Row, Yardstick
from unskew.progress import progress
from unskew.recommend.contract import traits_of
from unskew.recommend.specs import AnyRecommenders
from unskew.storage.files import damage_error, hash_bytes, read_json, replace_file, report_damage
from unskew.storage.folders import check_folder_writable
from unskew.text import count, to_json_value

CaseName = tuple[str, int]  # a world and its seed


@public
def yardstick(
    worlds: AnyWorld | Iterable[AnyWorld] | None = None,
    *,
    seeds: int | Iterable[int] = REPORTING,
    methods: Iterable[str | Estimator] | str | None = None,
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
    >>> from unskew.known_truths import yardstick
    >>> result = yardstick("paper", seeds=1, users=300, items=100, methods=["raw", "organic"],
    ...                       recommenders=["g1", "popular"], truth_seeds=0)
    >>> result
    Yardstick(paper: 2 methods, seeds 1)
    >>> result.rows.column_names[:4]
    ['world', 'seed', 'method', 'knows']
    """
    spec = YardstickSpec(  # checks everything that can be checked before the work
        metrics=_read_metrics(metric),
        methods=find_methods(methods),
        contestants=find_contestants(recommenders),
        seeds=_read_seeds(seeds),
        folds=require_whole_number(option("folds"), folds, "how many parts the pairs are dealt into", 2),
        truth_seeds=require_whole_number(option("truth_seeds"), truth_seeds, "a number of worlds", 0, POPULATION),
        sources=find_sources(worlds, base=base, users=users, items=items),
    )
    folder = YardstickFolder.of(output, resume=resume)
    result = _Run(spec, folder).finish()
    if folder.path is not None:
        save_yardstick(result, folder.path)
    return result


class _Run:
    """The work on all worlds and seeds, one after the other."""

    def __init__(self, spec: YardstickSpec, folder: YardstickFolder) -> None:
        self.spec = spec
        self.folder = folder
        self.cases = [(source, seed) for source in spec.sources for seed in source.choose_seeds(spec.seeds)]
        self.questions = {method.name: method.weights.truth.name for method in spec.methods}
        self.populations = self._find_populations()
        with_specials = sum(1 for source, seed in self.cases if spec.specials and self._has_people(source, seed))
        self.total = len(self.cases) + (len(self.populations) + with_specials) * spec.truth_seeds
        self.done = self.computed = 0

    def finish(self) -> Yardstick:
        """Do what is missing. What is done is in the folder then, whatever stops the rest."""
        rows: list[Row] = []
        rankings: list[Row] = []
        profiles: list[tuple[str, Row]] = []
        lists: dict[CaseName, Lists] = {}
        try:
            for source, seed in self.cases:
                scores = self._score_case(source, seed)
                rows += scores["rows"]
                rankings += scores["ranking"]
                profiles.append((source.label, scores["profile"]))
                lists[source.label, seed] = scores["lists"]
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
        scores = {"rows": rows, "ranking": ranking, "profile": asdict(case.profile)}
        return self._end(source.label, key, scores | {"lists": lists if readable else {}})

    def _has_people(self, source: CaseSource, seed: int) -> bool:
        return bool(self.spec.truth_key(source, 0, seed)["source"])

    def _find_populations(self) -> dict[str, list[tuple[CaseSource, int]]]:
        populations: dict[str, list[tuple[CaseSource, int]]] = {}
        for source, seed in self.cases:
            if self.spec.learners and self._has_people(source, seed):
                kind = hash_key(self.spec.truth_key(source, self.spec.population_seeds(seed).start, seed))
                populations.setdefault(kind, []).append((source, seed))
        return populations

    def _mean_truths(self, lists: Mapping[CaseName, Lists]) -> dict[tuple[CaseName, str, str, str], float]:
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
            rows: list[Row] = []
            if lists is None or lists or case.models:  # else v1 and v2 are in other worlds
                contestants = self.spec.learners if lists is None else self.spec.specials
                rows = score_truths(self._score(case, contestants, lists or {}), self.spec.questions)
            known = self._end("truth", key, {"rows": rows})
        return list(known["rows"])

    def _score(self, case: Case, contestants: Mapping[str, Contestant], lists: Lists) -> ScoredCase:
        models = make_contestants(contestants, case, lists)
        return ScoredCase(case, models, self.spec.metrics, folds=self.spec.folds)

    def _check_case(self, scores: dict[str, Any]) -> None:
        """Make tables of one case, as will be done with all of them."""
        wanted = set(ROWS.names) - {"covered", "mean_truth"}  # which are added later
        if any(wanted - row.keys() for row in scores["rows"]):
            raise ValueError("a row lacks a column")
        if any((row["low"] is None) != (row["high"] is None) for row in scores["rows"]):
            raise ValueError("an interval has only one end")
        profiles = [("", {name: scores["profile"][name] for name in MEASURES})]
        if not isinstance(scores["lists"], dict):
            raise ValueError("the lists have no names")
        Yardstick.of([self._add_coverage(row, {}) for row in scores["rows"]], scores["ranking"], profiles, 0)

    def _begin(self, text: str, name: str, key: Mapping[str, Any], check: Check) -> dict[str, Any] | None:
        self.done += 1
        known = self.folder.read(name, key, check)
        progress().step(self.done, self.total, text + (", done before" if known is not None else ""))
        return known

    def _end(self, name: str, key: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = to_json_value(values)
        self.folder.write(name, key, plain)
        self.computed += 1
        return plain

    def _describe_folder(self) -> list[str]:
        """What an interrupted run leaves behind, in words; nothing if there is no folder."""
        if self.folder.path is None or self.done < 2:
            return []
        place = f"{self.done - 1} of {count(self.total, 'case')} are in {self.folder.path}"
        return [f"{place}; use {option('resume', True)} to do the rest"]


def _check_truths(values: dict[str, Any]) -> None:
    """Use truths of other people as they will be used."""
    for row in values["rows"]:
        names = [row[name] for name in ("weighting", "recommender", "metric")]
        if not all(isinstance(name, str) for name in names) or not math.isfinite(row["truth"]):
            raise ValueError("a truth is no number, or of nothing")


_FORMAT = 3  # of the files of single cases


@dataclass(frozen=True)
class YardstickSpec:
    """Worlds, methods, recommenders and metrics."""

    sources: list[CaseSource]  # the worlds
    seeds: tuple[int, ...]  # of the worlds that can be made with any
    # What is scored, and how.
    methods: list[Estimator]
    contestants: dict[str, Contestant]
    metrics: list[Metric]
    folds: int  # in how many folds recommenders are cross-fitted that cannot take a pair out of their model
    truth_seeds: int  # how many other worlds the mean truth is taken over

    def population_seeds(self, seed: int) -> range:
        """Seeds of the other people whose mean truth the intervals of a world of a seed are compared with."""
        return range(POPULATION * (seed + 1), POPULATION * (seed + 1) + self.truth_seeds)

    @property
    def learners(self) -> dict[str, Contestant]:
        """The recommenders that are the same in all worlds."""
        models = {name: entry for name, entry in self.contestants.items() if not isinstance(entry, str)}
        return {name: model for name, model in models.items() if not traits_of(model).constant}

    @property
    def specials(self) -> dict[str, Contestant]:
        """The recommenders that a case makes: its constant lists and content models."""
        return {name: contestant for name, contestant in self.contestants.items() if isinstance(contestant, str)}

    @property
    def questions(self) -> list[PairWeights]:
        """The weights under which truths are asked for."""
        return list(dict.fromkeys(method.weights.truth for method in self.methods))

    def case_key(self, source: CaseSource, seed: int) -> dict[str, Any]:
        """Everything that the rows of a case depend on."""
        methods = [[method.name, method.view.name, method.weights.name, DRAWS] for method in self.methods]
        return self._key(seed, source.describe(), self.contestants, methods)

    def truth_key(
        self, source: CaseSource, seed: int, items_of: int, lists: Lists | None = None
    ) -> dict[str, Any]:
        """Everything that the truths of other people depend on, for learners or, with lists, for specials."""
        questions = [question.name for question in self.questions]
        needs = frozenset(fact for question in self.questions for fact in question.needs)
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
            "recommenders": [describe_contestant(name, contestant) for name, contestant in contestants.items()],
            "metrics": [metric.name for metric in self.metrics],
            "folds": self.folds,
            "asked": list(asked),
        }


def hash_key(key: Mapping[str, Any]) -> str:
    """A short text that is the same only for the same key."""
    return hash_bytes([json.dumps(key, sort_keys=True, default=str).encode()])[:12]


def _read_metrics(names: AnyMetric | Iterable[AnyMetric]) -> list[Metric]:
    metrics = distinct_metrics(names)
    wrong = next((metric for metric in metrics if isinstance(metric, UserMetric)), None)
    if wrong is not None:
        raise PolicyError(
            f"{wrong.name} is about all held-out items of a user at once, and cannot be weighted",
            remedy="use a metric of single items, such as hit@5",
        )
    return metrics


def _read_seeds(values: int | Iterable[int]) -> tuple[int, ...]:
    wanted = list(values) if isinstance(values, Iterable) else [values]
    seeds = tuple(require_whole_number(option("seeds"), seed, "where random numbers begin", 0) for seed in wanted)
    if not seeds:
        raise InputError(f"{option('seeds')} is empty", remedy="give some")
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise InputError(f"{option('seeds')} has {seed} twice", remedy="give each once")
    return seeds


CASES = "cases"

Check = Callable[[dict[str, Any]], object]
"""Raises something if a case is not what it should be."""

_KIND = "yardstick case"
_COMPUTE_AGAIN = "remove it, and the case is computed again"


@dataclass(frozen=True)
class YardstickFolder:
    """Where a yardstick is written, or nowhere."""

    path: Path | None  # the folder
    resume: bool  # whether what it holds of the same kind is taken as it is

    @classmethod
    def of(cls, output: str | Path | None, *, resume: bool) -> YardstickFolder:
        """Check that it can be written to; nothing is made yet."""
        if output is None:
            if resume:
                raise PolicyError(
                    f"{option('resume')} continues what is in a folder", remedy=f"give it with {option('output')}"
                )
            return cls(None, resume)
        path = Path(output)
        if not str(output):
            raise FileError("the name of the folder is empty", remedy="say where to write")
        check_folder_writable(path)
        others = [name for name in WRITTEN if (path / name).exists()]
        if (path / CASES).is_dir():
            others = [PAGE] if PAGE in others and not is_page(path / PAGE) else []
        if others:
            raise FileError(
                f"{path} holds a file {others[0]} that is not of a yardstick and would be lost",
                remedy="give another folder",
            )
        return cls(path, resume)

    def read(self, name: str, key: Mapping[str, Any], check: Check = dict) -> dict[str, Any] | None:
        """What was found under this key before, if the run goes on; None if there is nothing.

        `check` does with it what will be done with it later; what it raises is the fault of the file.
        """
        path = self._find(name, key)
        if path is None or not self.resume or not path.exists():
            return None
        try:
            entries = read_json(path)
        except FileError as error:
            raise damage_error(path, error.message, _COMPUTE_AGAIN) from None
        names = {"kind": _KIND, "key": json.loads(json.dumps(key, default=str))}
        if not isinstance(entries, dict) or names != {name: entries.get(name) for name in names}:
            raise damage_error(path, "it is not of the case that its name says", _COMPUTE_AGAIN)
        if entries.get("checksum") != _sum_up(entries.get("found")):
            raise damage_error(path, "it does not hold what unskew wrote", _COMPUTE_AGAIN)
        with report_damage(path, _COMPUTE_AGAIN):
            check(entries["found"])
            return dict(entries["found"])

    def write(self, name: str, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Keep what was found; whole or not at all."""
        path = self._find(name, key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"cannot make the folder {path.parent}: {error.strerror or error}",
                remedy="choose a folder that can be written to",
            ) from None
        with replace_file(path) as temporary:
            entries = {"kind": _KIND, "key": key, "found": values, "checksum": _sum_up(values)}
            text = json.dumps(entries, default=str, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    def _find(self, name: str, key: Mapping[str, Any]) -> Path | None:
        if self.path is None:
            return None
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)[-60:]
        return self.path / CASES / f"{safe}-{key['seed']}-{hash_key(key)}.json"


def _sum_up(values: Any) -> int:
    return zlib.crc32(json.dumps(values, sort_keys=True, default=str).encode())
