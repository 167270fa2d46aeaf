"""Recommenders by name: from the text of a spec to a recommender, and back to a name."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from unskew.checks import public
from unskew.errors import InputError, PolicyError, UnskewError, option
from unskew.recommend.calls import is_nameless, with_name
from unskew.recommend.contract import Recommender
from unskew.recommend.parameters import convert_parameters, file_of, import_object, parse_spec, split_name
from unskew.storage.files import is_file
from unskew.text import did_you_mean, first_line, one_line, with_article

if TYPE_CHECKING:
    from unskew.recommend.table import Table

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

SHIPPED = ("constant", *_OWN, *_IMPLICIT)
"""Those that neither run code nor read files of somebody else."""


@public
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
        - ``table:recommendations.parquet``, ``table:lists/?user=member&item=sku&date=day``: external; see
          `Table`, of which ``valid_from`` is written ``from``;
        - ``./mine.py:Class?name=value``: a class, an object or a function ``f(profile, k)`` in a Python file;
        - ``package.module:Class?name=value``: the same in a module that Python finds, in the current directory
          first;
        - ``NAME=SPEC``: any of these under another name, such as ``als=table:lists.csv``;
        - an object with ``fit`` and ``recommend``, a class of such objects, a model of `implicit`, or a function.

    Returns
    -------
    Recommender
        Its ``str`` is its name, or the text of the spec if it has none.

    Examples
    --------
    >>> from unskew.recommend import recommender
    >>> print(recommender("knn?neighbours=20"))
    knn?neighbours=20
    >>> print(recommender("v2=knn?neighbours=20"))
    v2
    >>> recommender("knn?neighbors=20")
    Traceback (most recent call last):
    ...
    unskew.errors.InputError: knn has no parameter 'neighbors'; did you mean 'neighbours'? It has neighbours, ...
    """
    if not isinstance(spec, str):
        model = _make_recommender(spec, getattr(spec, "__name__", type(spec).__name__), {})
        return with_name(model, type(model).__name__) if is_nameless(model) else model
    name, text = split_name(spec)
    return with_name(_make_from_text(text), text if name is None else name)


def require_shipped(spec: str) -> None:
    """Refuse every spec but those of recommenders that unskew ships, before anything is imported or read.

    For specs that come from a file: whoever wrote it must not decide what runs here.

    >>> require_shipped("knn?neighbours=20")
    >>> require_shipped("subprocess:Popen?args=ls")
    Traceback (most recent call last):
    ...
    unskew.errors.InputError: the recommender 'subprocess:Popen?args=ls' is not one that unskew ships, ...
    """
    if not isinstance(spec, str) or not is_shipped(spec):
        raise InputError(
            f"the recommender {spec!r} is not one that unskew ships, and a file may name no other",
            remedy=f"use one of {', '.join(KNOWN[shipped] for shipped in SHIPPED)}",
        )


def require_allowed(spec: str, *, allow_code: bool, where: str) -> None:
    """Refuse a spec of a configuration file that runs code of somebody else, unless the user has allowed that.

    - `spec`: what the file names: a recommender that unskew ships, or a table, is always allowed.
    - `allow_code`: what the person who runs the command says about it; never what a file says.
    - `where`: the file and the place in it, for the message.

    Examples
    --------
    >>> require_allowed("table:lists.parquet", allow_code=False, where="unskew.toml")
    >>> require_allowed("./mine.py:Model", allow_code=True, where="unskew.toml")
    >>> require_allowed("./mine.py:Model", allow_code=False, where="unskew.toml")
    Traceback (most recent call last):
    ...
    unskew.errors.PolicyError: unskew.toml names the recommender './mine.py:Model', which runs code that ...
    """
    if allow_code or not isinstance(spec, str):
        return
    if split_name(spec)[1].partition(":")[0] == "table" or is_shipped(spec):
        return
    raise PolicyError(
        f"{where} names the recommender {spec!r}, which runs code that unskew does not ship",
        remedy=f"if you trust that code, use {option('allow_code', True)}",
    )


def is_shipped(spec: str) -> bool:
    """Whether a spec names a recommender that unskew ships, with any parameters."""
    kind = split_name(spec)[1].partition("?")[0].strip()
    return kind.startswith("constant:") or (kind in SHIPPED and kind != "constant")


def is_one_recommender(spec: Any) -> bool:
    """Whether this is a recommender or a spec, or wants to be one, and not several in a list or mapping."""
    return isinstance(spec, str | Recommender) or callable(spec) or not isinstance(spec, Iterable)


def name_recommenders(recommenders: AnyRecommenders) -> dict[str, Recommender]:
    """One or several recommenders by the names that they have in results, each of which must come once."""
    specs: list[Any] = []
    if isinstance(recommenders, Mapping):
        wrong = [name for name in recommenders if not isinstance(name, str)]
        if wrong:
            raise InputError(f"the name of a recommender must be text, not {wrong[0]!r}")
        named = [(name, recommender(spec)) for name, spec in recommenders.items()]
    else:
        specs = [recommenders] if is_one_recommender(recommenders) else list(cast(Iterable[Any], recommenders))
        named = [_name_recommender(spec) for spec in specs]
    if not named:
        raise InputError("no recommender was given", remedy="name at least one, such as popular")
    models = dict(named)
    for name in models:
        if sum(name == other for other, _ in named) > 1:
            by_text = all(isinstance(spec, str) for spec in specs)
            rename = "NAME=SPEC" if by_text else "a mapping"
            raise InputError(
                f"recommender {name!r} is given twice", remedy=f"give each once, or other names with {rename}"
            )
    return models


def _name_recommender(spec: AnyRecommender) -> tuple[str, Recommender]:
    """The name of a recommender in results, and the recommender under its own."""
    name, text = split_name(spec) if isinstance(spec, str) else (None, "")
    if name is None:
        model = recommender(spec)
        return str(model), model
    return name, with_name(_make_from_text(text), text)


def _make_from_text(spec: str) -> Recommender:
    head, colon, rest = spec.partition(":")
    if head == "constant":
        from unskew.recommend.constant import ConstantOfTexts

        return ConstantOfTexts(_read_items(rest, spec))
    if head == "table":
        if not rest:
            raise InputError(f"{spec!r} must name a file, as in {KNOWN['table']}")
        return _make_table(rest, spec)
    name, parameters = parse_spec(spec)
    if name in _OWN:
        module, attribute = _OWN[name]
        kind = getattr(importlib.import_module(f"unskew.recommend.{module}"), attribute)
        model: Recommender = kind(**convert_parameters(kind, parameters, name))
        return model
    if name in _IMPLICIT:
        from unskew.recommend.implicit_models import ImplicitModel, model_class

        return ImplicitModel(name, **convert_parameters(model_class(name), parameters, name))
    if (":" in name or name.endswith(".py")) and head not in KNOWN:
        imported = _make_recommender(import_object(name), name, parameters)
        file = file_of(name)
        return imported if file is None else with_name(imported, spec, files=(file,))
    if colon and head in KNOWN:
        raise InputError(f"{spec!r}: {head} takes nothing after a colon", remedy=f"write it as in {KNOWN[head]}")
    if is_file(name):
        raise InputError(
            f"{name!r} is a file, and no recommender", remedy=f"for lists external write table:{name}"
        )
    meant = did_you_mean(name, KNOWN) or "."
    known = ", ".join(KNOWN.values())
    raise InputError(
        f"there is no recommender {name!r}{meant} There are {known}, ./file.py:Class and package.module:Class"
    )


def _make_table(text: str, spec: str) -> Table:
    """A table of a path, and the parameters after the last question mark, if that is not part of a glob."""
    from unskew.recommend.table import Table

    path, mark, query = text.rpartition("?")
    if not mark or "=" not in query or is_file(text):
        return Table(text)
    parameters = parse_spec(f"{KNOWN['table']}?{query}")[1]
    if "from" in parameters:  # which Python keeps for itself
        if "valid_from" in parameters:
            raise InputError(
                f"{spec!r} gives 'from' and 'valid_from', which are the same", remedy="leave out one of them"
            )
        parameters["valid_from"] = parameters.pop("from")
    return Table(path, **convert_parameters(Table, parameters, "table", skip=1))


def _read_items(text: str, spec: str) -> list[str]:
    try:
        items = [item.strip() for row in csv.reader([text], skipinitialspace=True) for item in row]
    except csv.Error as error:
        raise InputError(
            f"{spec!r} cannot be read: {first_line(error)}", remedy=f"write it as in {KNOWN['constant']}"
        ) from None
    if not items or "" in items:
        raise InputError(f"{spec!r} must name its items, as in {KNOWN['constant']}")
    return items


def _make_recommender(target: Any, name: str, parameters: dict[str, str]) -> Recommender:
    """Make a recommender from a class, an object or a function."""
    if isinstance(target, type):
        _require_methods(target, f"{name} is a class that")
        values = convert_parameters(target, parameters, name)
        try:
            target, parameters = target(**values), {}
        except UnskewError:
            raise
        except Exception as error:
            raise InputError(
                f"{name} cannot be made: {type(error).__name__}: {first_line(error)}",
                remedy="check its parameters",
            ) from error
    if any(kind.__module__.split(".")[0] == "implicit" for kind in type(target).__mro__):
        from unskew.recommend.implicit_models import ImplicitModel

        target = ImplicitModel(target)
    if isinstance(target, Recommender):
        if parameters:
            raise InputError(f"{name} is an object already: it takes no parameters", remedy="leave them out")
        return target
    if hasattr(target, "fit"):
        _require_methods(target, f"{name} is {with_article(type(target).__name__)}, which")
    if callable(target):
        from unskew.recommend.function import FunctionRecommender

        more = convert_parameters(target, parameters, name, skip=2)
        return FunctionRecommender(partial(target, **more) if more else target, name=name)
    if isinstance(target, list | tuple | Mapping):
        shown = one_line(target)
        raise InputError(f"{shown} is a list of recommenders, where one is asked for", remedy="give one")
    kind = type(target).__name__
    named = "" if name == kind else f"{name} is {'None' if target is None else with_article(kind)}, which "
    raise InputError(
        f"{named or f'{target!r} '}is not a recommender",
        remedy="give an object with fit and recommend, a function f(profile, k), or a spec such as "
        f"{KNOWN['knn']}",
    )


def _require_methods(target: Any, subject: str) -> None:
    """Refuse what lacks a method of recommenders; a class before it is called, which may do anything."""
    missing = [method for method in ("fit", "recommend") if not callable(getattr(target, method, None))]
    if missing == ["recommend"]:
        raise InputError(
            f"{subject} has fit but not recommend",
            remedy="if it is fitted to a matrix of users by items, wrap it in unskew.MatrixModel",
        )
    if missing:
        raise InputError(
            f"{subject} has no {' and no '.join(missing)}",
            remedy="give a class with fit and recommend, an object, or a function f(profile, k)",
        )
