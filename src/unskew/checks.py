"""Checks of options that several parts of the package share: numbers and names."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Collection
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

from unskew.errors import InputError, PolicyError
from unskew.text import did_you_mean, one_line

Kind = TypeVar("Kind")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Seed = Any
"""Where random draws begin: a whole number, or a `numpy.random.Generator`, from which one is drawn."""

MOST_DRAWS = 100_000_000
"""Of one sample: more are taken for a mistake."""

MOST_REPEATS = 100_000
"""Of one bootstrap."""


def require_whole_number(name: str, value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """`value` as an integer of at least `least`, and at most `most`: beyond that it is taken for a mistake."""
    if most is not None and isinstance(value, Integral) and int(value) > most:
        raise PolicyError(f"{name} is {one_line(value, 200)}, but must be at most {most} ({what})")
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise PolicyError(
            f"{name} is {one_line(value, 200)}, but must be a whole number of at least {least} ({what})"
        )
    return int(value)


def require_number(name: str, value: Any, what: str, low: float, high: float = math.inf) -> float:
    """`value` as a finite number between `low` and `high`."""
    known = isinstance(value, Real) and not isinstance(value, bool)
    if not known or not math.isfinite(value) or not low <= value <= high:
        upper = "" if high == math.inf else f" and at most {high:g}"
        raise PolicyError(
            f"{name} is {one_line(value, 200)}, but must be a finite number of at least {low:g}{upper} ({what})"
        )
    return float(value)


def require_one_of(name: str, value: Any, known: Collection[str]) -> str:
    """`value`, which must be one of the `known` names."""
    if not isinstance(value, str) or value not in known:
        raise PolicyError(f"{name} is {one_line(value, 200)}, but must be one of {', '.join(known)}")
    return value


def require_bool(name: str, value: Any) -> bool:
    """`value`, which must be one of the two."""
    if not isinstance(value, bool):
        raise PolicyError(f"{name} is {one_line(value, 200)}, but must be true or false")
    return value


def require_repeats(name: str, value: Any) -> int:
    """How many samples a bootstrap draws: none, or enough to show a spread."""
    repeats = require_whole_number(name, value, "how many samples of users a bootstrap draws", 0, MOST_REPEATS)
    if repeats == 1:
        raise PolicyError(f"{name} is 1, but a bootstrap needs at least 2 samples of users")
    return repeats


def require_sample_size(name: str, value: Any) -> int:
    """How many pairs to draw, as an integer that memory has room for."""
    return require_whole_number(name, value, "how many pairs to draw", most=MOST_DRAWS)


def require_instance(kind: type[Kind], value: Any, what: str, remedy: str) -> Kind:
    """`value`, which must be of a class: `what` says of which, and `remedy` how to come by one.

    >>> require_instance(int, "x", "a number", "count")
    Traceback (most recent call last):
    ...
    unskew.errors.InputError: 'x' (of type str) is not a number: count
    """
    if not isinstance(value, kind):
        raise InputError(f"{one_line(value)} (of type {type(value).__name__}) is not {what}", remedy=remedy)
    return value


def draw_seed(seed: Seed) -> Any:
    """A seed as a whole number; of a generator the next one."""
    return int(seed.integers(2**32)) if hasattr(seed, "integers") else seed


def public(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a public function: an unknown keyword is answered with its own name and the likely keyword.

    A generator of random numbers as its seed is replaced by a number.
    """

    @functools.wraps(function)
    def call(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        _refuse_unknown(function, keywords, known())
        if "seed" in keywords:
            keywords["seed"] = draw_seed(keywords["seed"])
        return function(*args, **keywords)

    @functools.cache
    def known() -> list[str]:
        """The keywords, those of the options that it passes on among them."""
        names: list[str] = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                passed_on = re.findall(r"\w+", parameter.annotation)[-1]  # Unpack[FitKeywords]
                names += function.__globals__[passed_on].__annotations__
            else:
                names.append(parameter.name)
        return names

    return call


def public_class(kind: type[Kind]) -> type[Kind]:
    """Decorate a public class: an unknown keyword is answered as by a public function."""
    start: Callable[..., None] = kind.__init__
    known = tuple(inspect.signature(kind).parameters)

    @functools.wraps(start)
    def init(self: Kind, *args: Any, **keywords: Any) -> None:
        _refuse_unknown(kind, keywords, known)
        start(self, *args, **keywords)

    setattr(kind, "__init__", init)  # noqa: B010 (to mypy a method is not assigned)
    return kind


def _refuse_unknown(called: Callable[..., Any], keywords: Collection[str], known: Collection[str]) -> None:
    for name in keywords:
        if name not in known:
            raise TypeError(f"{_public_name(called)}() has no option {name!r}{did_you_mean(name, known)}")


def _public_name(function: Callable[..., Any]) -> str:
    """Where users find a function: ``unskew.report``, ``unskew.views.organic``."""
    import unskew

    package, room = function.__module__.split(".")[:2]
    return (
        ".".join([package] if function.__name__ in unskew.__all__ else [package, room]) + f".{function.__name__}"
    )
