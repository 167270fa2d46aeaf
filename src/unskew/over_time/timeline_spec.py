"""What a timeline was asked for: checked before the work, and told in its file so that it can be resumed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.errors import InputError, PolicyError
from unskew.evaluation.evaluate import AnyQuality, AnyRecommender
from unskew.files import check_sum_of, check_writable
from unskew.over_time.date_grid import label_of
from unskew.evaluation.pairs import number_of_draws
from unskew.data.ids import require_mapping_codes
from unskew.evaluation.intervals import critical
from unskew.data.log import Log
from unskew.data.marginal import Marginal
from unskew.data.priors import ItemPrior, UserPrior
from unskew.evaluation.quality import Quality
from unskew.evaluation.quality import qualities as named_qualities
from unskew.recommend.contract import Codes, Recommender
from unskew.recommend.checks import one_of, whole_number
from unskew.recommend.specs import recommender as named_recommender
from unskew.weights.alignment import Reference
from unskew.data.snapshot import Snapshot
from unskew.data.times import Label, Moment, plain

TOP_METHODS = ("descent", "lbfgs")
"""By which the weights of some items alone can be fitted."""

Recommenders = AnyRecommender | Iterable[AnyRecommender] | Mapping[str, AnyRecommender]


@dataclass(frozen=True)
class Asked:
    """All but the dates.

    Attributes
    ----------
    reference
        Where a date was given, the snapshot there.
    models
        The recommenders by the names that they have in the table.
    tops
        For how many items weights are fitted, besides those of all.
    method
        By which these are.
    items, codes
        The items whose probability is recorded.
    """

    log: Log
    reference: Reference
    models: Mapping[str, Recommender]
    qualities: list[Quality]
    tops: list[int]
    method: str
    items: pa.Array
    codes: Codes
    sample: int | None
    seed: int
    level: float
    tol: float
    p_user: UserPrior
    p_item: ItemPrior

    @classmethod
    def of(
        cls,
        log: Log,
        recommenders: Recommenders,
        *,
        reference: Any,
        qualities: AnyQuality | Iterable[AnyQuality],
        top: int | Iterable[int],
        method: str,
        items: Iterable[Any],
        sample: int | None,
        seed: int,
        level: float,
        tol: float,
        p_user: UserPrior,
        p_item: ItemPrior,
    ) -> Asked:
        """Check everything that can be checked before the work."""
        if not isinstance(log, Log):
            raise InputError(f"{log!r} is not a log: read one with read_log")
        critical(level)
        if not isinstance(tol, int | float | np.number) or not 0 <= tol < np.inf:
            raise InputError(f"tol is {tol!r}; it must be a finite number that is not negative")
        one_of("method", method, TOP_METHODS)
        if sample is not None:
            number_of_draws("sample", sample)
        whole_number("seed", seed, "where the draws begin", 0)
        if isinstance(plain(reference), str | int | float | date):
            reference = log.at(reference, p_user=p_user, p_item=p_item)
        codes = _codes(log, items)
        return cls(
            log=log,
            reference=reference,
            models=_models(recommenders),
            qualities=_qualities(qualities),
            tops=_tops(top),
            method=method,
            items=log.items.take(codes),
            codes=codes,
            sample=None if sample is None else int(sample),
            seed=int(seed),
            level=float(level),
            tol=float(tol),
            p_user=p_user,
            p_item=p_item,
        )

    @property
    def first(self) -> Label:
        """The reference date, which must be one of this log."""
        at: Label | None = getattr(self.reference, "at", None)  # also of another log, or of a saved marginal
        if at is None:
            if not isinstance(self.reference, Marginal):
                Marginal.of(self.reference)  # refuses what is no reference
            raise PolicyError("the reference has no date: say where the grid begins with start (--from)")
        try:
            before = self.log.axis.moment(at).tick < self.log.axis.moment(self.log.first).tick
        except InputError:
            raise PolicyError(
                f"the date of the reference, {at}, is not a time of this log, which runs from {self.log.first} to "
                f"{self.log.last}: say where the grid begins with start (--from)"
            ) from None
        if before:
            raise PolicyError(
                f"the date of the reference, {at}, is before the log begins: it runs from {self.log.first} to "
                f"{self.log.last}; say where the grid begins with start (--from)"
            )
        return at

    def snapshot(self, moment: Moment) -> Snapshot:
        """The profiles at a date of the grid."""
        return Snapshot.of(self.log, moment).with_priors(self.p_user, self.p_item)

    def seed_at(self, moment: Moment) -> int:
        """The seed of the draws of a date: independent of those of other dates, and always the same."""
        tick = moment.tick
        number = int(np.float64(tick).view(np.uint64)) if isinstance(tick, float) else int(tick) % 2**64
        return int(np.random.SeedSequence([self.seed, number]).generate_state(1, np.uint64)[0])

    def names(self, view: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """What the rows and the probabilities of one date are called, in their order: all before the numbers."""
        weightings = [("raw", None), ("weighted", None), *(("weighted", top) for top in self.tops)]
        rows = [
            (name, quality.name, view, *weighting)
            for name in self.models
            for quality in self.qualities
            for weighting in weightings
        ]
        return rows, [(item, *weighting) for item in self.items.to_pylist() for weighting in weightings]

    def options(self, moment: Moment) -> dict[str, Any]:
        """Everything that the numbers depend on, ready for JSON; the policy is that at `moment`."""
        policy = self.snapshot(moment).policy
        marginal = self.reference.marginal() if isinstance(self.reference, Snapshot) else self.reference
        marginal = marginal if isinstance(marginal, Marginal) else Marginal.of(marginal)
        return {
            "log": _fingerprint(self.log),
            "view": policy.view,
            "p_user": _described(self.log, policy.p_user, self.p_user),
            "p_item": policy.p_item,
            "reference": f"{self._reference_at()} ({len(marginal)} items, {_check_sum(marginal.probabilities)})",
            "recommenders": [_told(name, model) for name, model in self.models.items()],
            "qualities": [quality.name for quality in self.qualities],
            "top": self.tops,
            "method": self.method if self.tops else None,
            "items": [str(item) for item in self.items.to_pylist()],
            "sample": self.sample,
            "seed": None if self.sample is None else self.seed,
            "level": self.level,
            "tol": self.tol,
        }

    def _reference_at(self) -> Label | None:
        """The reference date, of this log in the one form that it has on a grid."""
        before = self.reference
        if isinstance(before, Snapshot) and before.log is self.log:
            return label_of(self.log.axis, before.tick)
        return getattr(before, "at", None)


@dataclass(frozen=True)
class Files:
    """Where rows and probabilities are written, if anywhere."""

    rows: Path | None
    probabilities: Path | None

    @classmethod
    def of(
        cls, output: str | Path | None, probabilities: str | Path | None, *, resume: bool, items: bool
    ) -> Files:
        """Check that they can be written, and that nothing is missing to go on with them."""
        if probabilities is not None and not items:
            raise PolicyError("a file of probabilities needs items (--items): say whose")
        if probabilities is not None and output is None:
            raise PolicyError("a file of probabilities goes beside one of the rows: name it as output (-o)")
        if resume and output is None:
            raise PolicyError("resume (--resume) goes on with a file: name it as output (-o)")
        if resume and items and probabilities is None:
            raise PolicyError(
                "resume (--resume) with items needs the file of their probabilities: name it as probabilities "
                "(--probabilities)"
            )
        files = [None if path is None else Path(path) for path in (output, probabilities)]
        for path in files:
            if path is not None:
                check_writable(path)
        if files[0] is not None and files[1] is not None and files[0].resolve() == files[1].resolve():
            raise PolicyError(f"rows and probabilities cannot both be written to {files[0]}: name two files")
        return cls(*files)


def _models(given: Recommenders) -> dict[str, Recommender]:
    if isinstance(given, Mapping):
        wrong = [name for name in given if not isinstance(name, str)]
        if wrong:
            raise InputError(f"the name of a recommender must be text, not {wrong[0]!r}")
        named = [(name, named_recommender(one)) for name, one in given.items()]
    else:
        alone = isinstance(given, str | Recommender) or callable(given)
        several: list[Any] = list(given) if isinstance(given, Iterable) and not alone else [given]
        named = [(str(model), model) for model in map(named_recommender, several)]
    if not named:
        raise InputError("no recommender was given: name at least one, such as popular")
    models = dict(named)
    for name in models:
        if sum(name == other for other, _ in named) > 1:
            raise InputError(f"recommender {name!r} is given twice: give each once, or names with a mapping")
    return models


def _qualities(given: AnyQuality | Iterable[AnyQuality]) -> list[Quality]:
    wanted = named_qualities(given)
    names = [quality.name for quality in wanted]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"quality {name!r} is given twice: give each once")
    return wanted


def _tops(given: int | Iterable[int]) -> list[int]:
    several = given if isinstance(given, Iterable) else [given]
    tops = [whole_number("top", top, "how many items to weight") for top in several]
    for top in tops:
        if tops.count(top) > 1:
            raise InputError(f"top {top} is given twice: give each once")
    return tops


def _codes(log: Log, items: Iterable[Any]) -> Codes:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InputError(f"items: {items!r} is not a list of items: put it into one")
    wanted = items.to_pylist() if isinstance(items, pa.Array) else list(items)
    codes = log.items.codes(wanted)
    for item, code in zip(wanted, codes, strict=True):
        if code < 0:
            raise InputError(f"items: the log has no item {item!r} (it has {log.items.examples()})")
        if np.count_nonzero(codes == code) > 1:
            raise InputError(f"items: {item!r} is given twice: give each once")
    return codes


def _fingerprint(log: Log) -> dict[str, Any]:
    arrays = [log.start, log.item, log.time, log.removed, *(log.extra[name] for name in sorted(log.extra))]
    ids = zlib.crc32(pa.record_batch([log.users.values], names=["user"]).serialize())
    ids = zlib.crc32(pa.record_batch([log.items.values], names=["item"]).serialize(), ids)
    return {
        "users": len(log.users),
        "items": len(log.items),
        "interactions": len(log),
        "first": log.first,
        "last": log.last,
        "sum": (ids + sum(int(_check_sum(a), 16) for a in arrays if a is not None)) % 2**32,
    }


def _told(name: str, model: Recommender) -> str:
    """A recommender in words; one that was read from a file with a check sum of that."""
    files = getattr(model, "files", ())
    told = str(model) + (f" ({check_sum_of(files)})" if files else "")
    return told if name == str(model) else f"{name}: {told}"


def _described(log: Log, name: str, prior: UserPrior) -> str:
    """P(u) in words; of one that was given by hand, with a check sum of its numbers."""
    if name != "given":
        return name
    numbers = np.asarray(prior, dtype=np.float64) if not isinstance(prior, Mapping) else np.zeros(len(log.users))
    if isinstance(prior, Mapping):
        codes, values = require_mapping_codes(log.users, prior, "p_user")
        numbers[codes[codes >= 0]] = values[codes >= 0]
    return f"given ({_check_sum(numbers)})"


def _check_sum(numbers: npt.NDArray[Any]) -> str:
    return f"{zlib.crc32(np.ascontiguousarray(numbers).data):08x}"
