"""Recommenders by name, as a command line gives them: ``knn?neighbours=50``, ``./mine.py:Model``.

A spec is a name, then what it is made from after a colon, then parameters after a question mark. What the
parameters must be is told by the constructor of the recommender, in `unskew.recommend.parameters`.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa

from unskew.data.ids import ids_of_texts
from unskew.data.snapshot import Snapshot
from unskew.errors import InputError, UnskewError
from unskew.recommend.constant import Constant
from unskew.recommend.contract import Recommender
from unskew.recommend.function import FunctionRecommender
from unskew.recommend.imports import file_of, import_object
from unskew.recommend.named import is_nameless, with_name
from unskew.recommend.parameters import parsed, typed
from unskew.recommend.table import Table
from unskew.text import closest, first_line

AnyRecommender = str | Recommender | Callable[..., Any]
AnyRecommenders = AnyRecommender | Iterable[AnyRecommender] | Mapping[str, AnyRecommender]

_OWN = {"popular": ("popular", "Popular"), "knn": ("knn", "ItemKNN"), "ease": ("ease", "EASE")}
_IMPLICIT = ("als", "bm25", "tfidf", "cosine")
KNOWN = {
    "constant": "constant:a,b,c",
    "popular": "popular",
    "knn": "knn?neighbours=50&similarity=cosine",
    "ease": "ease?l2=500",
    "als": "als?factors=64",
    "bm25": "bm25?K=50",
    "tfidf": "tfidf?K=50",
    "cosine": "cosine?K=50",
    "table": "table:recommendations.parquet",
}
"""The names, and an example of each."""


def recommender(spec: Any) -> Recommender:
    """The recommender that is meant by a spec, or by whatever else can be one.

    Parameters
    ----------
    spec
        One of

        - ``constant:a,b,c``: always these items (with quotes around an id that has a comma);
        - ``popular``, ``knn?neighbours=50&similarity=cosine``, ``ease?l2=500``: those of unskew, with the
          parameters of `Popular`, `ItemKNN`, `EASE`;
        - ``als?factors=64``, ``bm25?K=50``, ``tfidf``, ``cosine``: those of the library `implicit`; see
          `ImplicitModel`;
        - ``table:recommendations.parquet``: made elsewhere; see `Table`;
        - ``./mine.py:Class?name=value``: a class, an object or a function ``f(profile, k)`` in a Python file;
        - ``package.module:Class?name=value``: the same in a module that Python finds, in the current directory
          first;
        - an object with ``fit`` and ``recommend``, a class of such objects, a model of `implicit`, or a function.

    Returns
    -------
    Recommender
        Its ``str`` is the text of the spec.

    Examples
    --------
    >>> from unskew.recommend import recommender
    >>> print(recommender("knn?neighbours=20"))
    knn?neighbours=20
    >>> recommender("knn?neighbors=20")
    Traceback (most recent call last):
    ...
    unskew.errors.InputError: knn has no parameter 'neighbors'; did you mean 'neighbours'? It has neighbours, ...
    """
    if not isinstance(spec, str):
        made = _made(spec, getattr(spec, "__name__", type(spec).__name__), {})
        return with_name(made, type(made).__name__) if is_nameless(made) else made
    return with_name(_from_text(spec.strip()), spec.strip())


def named_recommenders(given: AnyRecommenders) -> dict[str, Recommender]:
    """One or several recommenders by the names that rows have for them, each of which must come once."""
    if isinstance(given, Mapping):
        wrong = [name for name in given if not isinstance(name, str)]
        if wrong:
            raise InputError(f"the name of a recommender must be text, not {wrong[0]!r}")
        named = [(name, recommender(one)) for name, one in given.items()]
    else:
        alone = isinstance(given, str | Recommender) or callable(given)
        several: list[Any] = list(given) if isinstance(given, Iterable) and not alone else [given]
        named = [(str(model), model) for model in map(recommender, several)]
    if not named:
        raise InputError("no recommender was given: name at least one, such as popular")
    models = dict(named)
    for name in models:
        if sum(name == other for other, _ in named) > 1:
            raise InputError(f"recommender {name!r} is given twice: give each once, or names with a mapping")
    return models


def require_shipped(spec: str) -> None:
    """Refuse a spec that a file names, unless it is of a recommender that unskew ships.

    Other specs import modules and call what is in them, which a file from elsewhere must not decide.

    >>> require_shipped("knn?neighbours=20")
    """
    head, colon, _ = spec.strip().partition("?")[0].partition(":")
    if not (head == "constant" and colon) and not (head in (*_OWN, *_IMPLICIT) and not colon):
        shipped = ", ".join(["constant:...", *_OWN, *_IMPLICIT])
        raise InputError(
            f"{spec!r} is not one of the recommenders that a file may name ({shipped})",
            remedy="other recommenders can be given in Python or on the command line",
        )


def _from_text(spec: str) -> Recommender:
    head, colon, rest = spec.partition(":")
    if head == "constant":
        return ConstantOfTexts(_items(rest, spec))
    if head == "table":
        if not rest:
            raise InputError(f"{spec!r} must name a file, as in {KNOWN['table']}")
        return Table(rest)
    name, given = parsed(spec)
    if name in _OWN:
        module, attribute = _OWN[name]
        kind = getattr(importlib.import_module(f"unskew.recommend.{module}"), attribute)
        own: Recommender = kind(**typed(kind, given, name))
        return own
    if name in _IMPLICIT:
        from unskew.recommend.implicit_models import ImplicitModel, model_class

        return ImplicitModel(name, **typed(model_class(name), given, name))
    if (":" in name or name.endswith(".py")) and head not in KNOWN:
        own = _made(import_object(name), name, given)
        file = file_of(name)
        return own if file is None else with_name(own, spec, files=(file,))
    if colon and head in KNOWN:
        raise InputError(f"{spec!r}: {head} takes nothing after a colon; write it as in {KNOWN[head]}")
    close = closest(name, KNOWN)
    meant = f"; did you mean {close!r}?" if close else "."
    raise InputError(
        f"there is no recommender {name!r}{meant} There are {', '.join(KNOWN.values())}, ./file.py:Class and "
        "package.module:Class"
    )


def _items(text: str, spec: str) -> list[str]:
    items = [item.strip() for row in csv.reader([text], skipinitialspace=True) for item in row]
    if not items or "" in items:
        raise InputError(f"{spec!r} must name its items, as in {KNOWN['constant']}")
    return items


class ConstantOfTexts(Constant):
    """A constant list written as text: its ids get the type of the log when it is fitted."""

    def fit(self, snapshot: Snapshot, /) -> Self:
        """Look the items up; nothing is learned."""
        ids = snapshot.log.items
        texts = list(self.items)
        codes = ids.codes(ids_of_texts(pa.array(texts, type=pa.string()), ids))
        for text, code in zip(texts, codes, strict=True):
            if code < 0:
                raise InputError(f"{self}: the log has no item {text!r} (it has {ids.examples()})")
        if len(np.unique(codes)) < len(codes):
            raise InputError(f"{self} has an item twice")
        object.__setattr__(self, "_codes", codes)
        object.__setattr__(self, "_n_items", len(ids))
        return self


def _made(target: Any, name: str, given: dict[str, str]) -> Recommender:
    """A recommender from a class, an object or a function."""
    if isinstance(target, type):
        values = typed(target, given, name)
        try:
            target, given = target(**values), {}
        except UnskewError:
            raise
        except Exception as error:
            raise InputError(f"{name} cannot be made: {type(error).__name__}: {first_line(error)}") from error
    if any(kind.__module__.split(".")[0] == "implicit" for kind in type(target).__mro__):
        from unskew.recommend.implicit_models import ImplicitModel

        target = ImplicitModel(target)
    if isinstance(target, Recommender):
        if given:
            raise InputError(f"{name} is an object already: it takes no parameters")
        return target
    if hasattr(target, "fit"):
        raise InputError(
            f"{name} is a {type(target).__name__}, which has fit but not recommend",
            remedy="if it is fitted to a matrix of users by items, wrap it in unskew.MatrixModel",
        )
    if callable(target):
        more = typed(target, given, name, skip=2)
        return FunctionRecommender(partial(target, **more) if more else target, name=name)
    what = "None" if target is None else f"a {type(target).__name__}"
    raise InputError(
        f"{name} is {what}, which is no recommender: give an object with fit and recommend, a function "
        f"f(profile, k), or a spec such as {KNOWN['knn']}"
    )
