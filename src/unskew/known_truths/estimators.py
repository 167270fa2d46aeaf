"""The methods that are held against known truths: a view of the log, and weights on the pairs that it holds out.

A new view or weighting is one line here, and a line in `ESTIMATORS` for each way to use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unskew.checks import require_instance
from unskew.data.log import Log
from unskew.data.slice import Snapshot, Weights
from unskew.errors import InputError, option
from unskew.known_truths.case import FACTS, Case
from unskew.methods import keep_users, require_method
from unskew.recommend.contract import Recommender
from unskew.text import did_you_mean
from unskew.views.knowledge import Knowledge
from unskew.weights.fit_weights import fit_weights
from unskew.weights.margins import Agreement

DRAWS = 3
"""How many draws of a view that has any are averaged."""


@dataclass(frozen=True)
class View:
    """A view of the log of a case."""

    name: str  # what results call it
    # The view from a case and the recommenders that are compared on it; if chance decides, several draws of it,
    # over which results are averaged.
    make: Callable[[Case, Mapping[str, Recommender]], Sequence[Log]]
    needs: tuple[str, ...] = ()  # what has to be known: some of `FACTS`
    # Whether scores of now are those of the reference date: profiles and models stay as they were.
    at_reference: bool = False


@dataclass(frozen=True)
class PairWeights:
    """How pairs are weighted."""

    name: str  # what results call it
    # The weights from the profiles of now and of the reference date, both of one view, and from the case.
    make: Callable[[Snapshot, Snapshot, Case], Weights]
    needs: tuple[str, ...] = ()  # what has to be known
    # Whether scores are meant to compare with those of the reference date as it was, so that nothing is weighted
    # there. Others are made anew for that date.
    targets_reference: bool = True
    # Whose truth answers the same question, if not the same weights on the truth.
    question: PairWeights | None = None

    @property
    def truth(self) -> PairWeights:
        """The weights under which the truth answers the same question."""
        return self if self.question is None else self.question

    def make_before(self, before: Snapshot, case: Case) -> Weights:
        """Those of the reference date itself."""
        return None if self.targets_reference else self.make(before, before, case)


@dataclass(frozen=True)
class Estimator:
    """A method as the yardstick scores it: a view of the log, and weights on what that holds out."""

    name: str
    view: View
    weights: PairWeights

    @property
    def needs(self) -> frozenset[str]:
        """What has to be known besides the log."""
        return frozenset([*self.view.needs, *self.weights.needs])

    @property
    def knows(self) -> str:
        """The same in words."""
        return " + ".join(fact for fact in FACTS if fact in self.needs) or "the log"


ALL = View("all", lambda case, _: [case.log])
ALL_AS_THEN = View("all", lambda case, _: [case.log], at_reference=True)
HELD_OUT_ALONE = View("hold-out", lambda case, _: [keep_users(case.log, case.holdout or ())], ("hold-out",))


def _take_view(
    view: str, *, production: str | None = None, dates: bool = False, group: bool = False, exposures: bool = False
) -> Callable[[Case, Mapping[str, Recommender]], list[Log]]:
    """A view made from these facts alone, tested as for a user; the true production unless another is named."""

    def make(case: Case, compared: Mapping[str, Recommender]) -> list[Log]:
        is_adjusted, model = view == "adjusted", None
        if view in ("thinned", "kept"):
            model = production or case.require_production()
        table = case.exposures if is_adjusted and case.shown else None
        campaigns, holdout = case.windows if dates else (), case.holdout if group else None
        known = Knowledge(exposures=table, campaigns=campaigns, holdout=holdout, production=model)
        return known.take(
            case.log if exposures and table is None else replace(case.log, exposed=None),
            draws=DRAWS,
            view=None if is_adjusted else view,  # by default, so that `organic` replaces what is impossible
            since=case.before.label,
            until=case.now.label,
            candidates=compared,
            seed=case.seed,
        )

    return make


ORGANIC = View("organic", _take_view("organic", exposures=True), ("exposures",))
ADJUSTED = View("adjusted", _take_view("adjusted", exposures=True), ("exposures",))
OUTSIDE = View("outside", _take_view("outside", dates=True), ("dates",))
THINNED_BY_DATES = View("thinned", _take_view("thinned", dates=True), ("dates", "production"))
THINNED_BY_DATES_ALONE = View("thinned", _take_view("thinned", production="auto", dates=True), ("dates",))
THINNED_BY_HOLDOUT = View("thinned", _take_view("thinned", group=True), ("production", "hold-out"))
THINNED_BY_HOLDOUT_ALONE = View("thinned", _take_view("thinned", production="auto", group=True), ("hold-out",))
KEPT = View("kept", _take_view("kept", group=True, exposures=True), ("production", "hold-out", "exposures"))

RAW = PairWeights("raw", lambda now, before, case: None)
WEIGHTED = PairWeights("weighted", lambda now, before, case: fit_weights(now, before))
AGREEING = PairWeights(
    "agreement",
    lambda now, before, case: fit_weights(now, before, margins=[Agreement(case.require_production())]),
    ("production",),
)
TOP = PairWeights("top 20", lambda now, before, case: fit_weights(now, before, top=20, method="descent"))


def _take(name: str, *, question: PairWeights | None = None) -> PairWeights:
    named = require_method(name)

    def make(now: Snapshot, before: Snapshot, case: Case) -> Weights:
        length = case.now.tick - case.before.tick  # of a time window, before either date
        after = now.log.axis.show(now.tick - length)
        return named.make(now, before, holdout=case.holdout, after=after)

    needs = ("hold-out",) if named.knows == "hold-out" else ()
    return PairWeights(name, make, needs, named.targets_reference, question)


HELD_OUT_USERS = _take("hold-out-users", question=RAW)
AS_THEN = PairWeights("fixed-snapshot", lambda now, before, case: None, question=WEIGHTED)
OTHERS = [
    _take(name)
    for name in (
        *("time-window", "one-step-ratio", "shrunken-ratio", "ips", "snips", "skew", "wtd", "wtd-h"),
        *("wtd-h-uniform", "popularity-strata", "down-sampling", "item-first"),
    )
]


def _score_both(name: str, view: View) -> tuple[Estimator, Estimator]:
    return Estimator(name, view, RAW), Estimator(f"{name} + weights", view, WEIGHTED)


ESTIMATORS: dict[str, Estimator] = {
    estimator.name: estimator
    for estimator in (
        Estimator("raw", ALL, RAW),
        Estimator("item weights", ALL, WEIGHTED),
        Estimator("top 20 weights", ALL, TOP),
        Estimator("fixed-snapshot", ALL_AS_THEN, AS_THEN),
        *(Estimator(weights.name, ALL, weights) for weights in OTHERS),
        Estimator("agreement weights", ALL, AGREEING),
        *_score_both("outside", OUTSIDE),
        *_score_both("thinned by dates", THINNED_BY_DATES),
        *_score_both("thinned by dates, auto", THINNED_BY_DATES_ALONE),
        Estimator("hold-out-users", ALL, HELD_OUT_USERS),
        Estimator("hold-out-alone", HELD_OUT_ALONE, RAW),
        *_score_both("thinned by hold-out", THINNED_BY_HOLDOUT),
        Estimator("thinned by hold-out, auto + weights", THINNED_BY_HOLDOUT_ALONE, WEIGHTED),
        *_score_both("organic", ORGANIC),
        *_score_both("adjusted", ADJUSTED),
        Estimator("organic, hold-out-users", ORGANIC, HELD_OUT_USERS),
        *_score_both("kept", KEPT),
    )
}
"""All methods by name, in the order in which results show them."""


def find_methods(methods: Iterable[str | Estimator] | str | None) -> list[Estimator]:
    """Methods by name, or made by hand; all of `ESTIMATORS` if none are given."""
    if methods is None:
        return list(ESTIMATORS.values())
    wanted: list[Any] = [methods] if isinstance(methods, str | Estimator) else list(methods)
    estimators = [_find_method(entry) for entry in wanted]
    if not estimators:
        raise InputError(f"{option('methods')} is empty", remedy="name some, or leave it out for all")
    for method in estimators:
        if sum(method.name == other.name for other in estimators) > 1:
            raise InputError(f"{option('methods')} has {method.name!r} twice", remedy="name each once")
    return estimators


def _find_method(method: Any) -> Estimator:
    if not isinstance(method, str):
        return require_instance(Estimator, method, "a method", "give its name, such as 'organic'")
    if method not in ESTIMATORS:
        known = ", ".join(map(repr, ESTIMATORS))
        meant = did_you_mean(method, ESTIMATORS) or "."
        raise InputError(f"there is no method {method!r}{meant} There are {known}")
    return ESTIMATORS[method]
