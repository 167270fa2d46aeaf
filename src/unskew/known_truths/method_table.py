"""The methods that are held against known truths: a view of the log, and weights on the pairs that it holds out.

A new view or weighting is one line here, and a line in `METHODS` for each way to use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from unskew.checks import require_instance
from unskew.data.log import Log
from unskew.data.snapshot import Snapshot
from unskew.data.weighting import Weights
from unskew.errors import InputError, option
from unskew.known_truths.case import FACTS, Case
from unskew.text import did_you_mean
from unskew.views.organic import organic
from unskew.views.outside import outside
from unskew.weights.fit_weights import fit_weights

DRAWS = 3
"""How many draws of a view that has any are averaged."""


@dataclass(frozen=True)
class View:
    """A view of the log of a case.

    Attributes
    ----------
    name
        What results call it.
    make
        The view from a case and the number of the draw, from 0.
    needs
        What has to be known: some of `FACTS`.
    draws
        Over how many draws results are averaged; 1 for a view without any.
    """

    name: str
    make: Callable[[Case, int], Log]
    needs: tuple[str, ...] = ()
    draws: int = 1


@dataclass(frozen=True)
class PairWeights:
    """How pairs are weighted.

    Attributes
    ----------
    name
        What results call it.
    make
        The weights from the profiles of now and of the reference date, both of one view, and from the case.
    needs
        What has to be known.
    targets_reference
        Whether scores are meant to compare with those of the reference date as it was, so that nothing is weighted
        there. Others are made anew for that date.
    question
        Whose truth answers the same question, if not the same weights on the truth.
    """

    name: str
    make: Callable[[Snapshot, Snapshot, Case], Weights]
    needs: tuple[str, ...] = ()
    targets_reference: bool = True
    question: PairWeights | None = None

    @property
    def truth(self) -> PairWeights:
        """The weights under which the truth answers the same question."""
        return self if self.question is None else self.question

    def make_before(self, before: Snapshot, case: Case) -> Weights:
        """Those of the reference date itself."""
        return None if self.targets_reference else self.make(before, before, case)


@dataclass(frozen=True)
class Method:
    """A way to a score: a view, and weights on it."""

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


ALL = View("all", lambda case, draw: case.log)
ORGANIC = View("organic", lambda case, draw: organic(case.log), ("exposures",))
OUTSIDE = View("outside", lambda case, draw: outside(case.log, case.windows), ("dates",))

RAW = PairWeights("raw", lambda now, before, case: None)
WEIGHTED = PairWeights("weighted", lambda now, before, case: fit_weights(now, before))
TOP = PairWeights("top 20", lambda now, before, case: fit_weights(now, before, top=20, method="descent"))

METHODS: dict[str, Method] = {
    one.name: one
    for one in (
        Method("raw", ALL, RAW),
        Method("item weights", ALL, WEIGHTED),
        Method("top 20 weights", ALL, TOP),
        Method("outside", OUTSIDE, RAW),
        Method("outside + item weights", OUTSIDE, WEIGHTED),
        Method("organic", ORGANIC, RAW),
        Method("organic + item weights", ORGANIC, WEIGHTED),
    )
}
"""All methods by name, in the order in which results show them."""


def find_methods(given: Iterable[str | Method] | str | None) -> list[Method]:
    """Methods by name, or made by hand; all of `METHODS` if none are given."""
    if given is None:
        return list(METHODS.values())
    several: list[Any] = [given] if isinstance(given, str | Method) else list(given)
    found = [_find_method(one) for one in several]
    if not found:
        raise InputError(f"{option('methods')} is empty", remedy="name some, or leave it out for all")
    for method in found:
        if sum(method.name == other.name for other in found) > 1:
            raise InputError(f"{option('methods')} has {method.name!r} twice", remedy="name each once")
    return found


def _find_method(given: Any) -> Method:
    if not isinstance(given, str):
        return require_instance(Method, given, "a method", "give its name, such as 'organic'")
    if given not in METHODS:
        known = ", ".join(map(repr, METHODS))
        meant = did_you_mean(given, METHODS) or "."
        raise InputError(f"there is no method {given!r}{meant} There are {known}")
    return METHODS[given]
