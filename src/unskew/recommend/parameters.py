"""Parameters of specs: values from text, and classes imported from files and packages."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from unskew.errors import InputError
from unskew.text import did_you_mean, first_line


def import_object(name: str) -> Any:
    """What a name stands for: ``package.module:Class``, or ``./file.py:Class`` (see `file_of`)."""
    path = file_of(name)
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise InputError(f"{name!r} must be written as package.module:Class or ./file.py:Class")
    target: Any = _import_module(where, name) if path is None else _import_file(path, name)
    called = target.__name__ if path is None else path.name
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise InputError(
                f"{name}: {called!r} has no {part!r}", remedy=f"check the name{did_you_mean(part, dir(target))}"
            )
        target = getattr(target, part)
        called = getattr(target, "__name__", part)
    return target


def file_of(name: str) -> Path | None:
    """The Python file that a name is of, or None if it is of a module.

    >>> file_of("models/mine.py:Model").name
    'mine.py'
    >>> file_of("mine.models:Model")
    """
    where = name.rpartition(":")[0]
    return Path(where).expanduser().absolute() if where.endswith(".py") else None


def _import_module(module: str, name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            raise InputError(
                f"{name}: there is no module {error.name!r}, neither installed nor in the current directory",
                remedy="install it, or name a file, as in ./mine.py:Model",
            ) from None
        raise InputError(
            f"{name}: the module {module!r} was found, but it cannot be imported: {error}",
            remedy="install what it imports",
        ) from error
    except Exception as error:
        fault = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(
            f"{name}: the module {module!r} was found, but importing it failed: {fault}",
            remedy="correct the module",
        ) from error


def _import_file(path: Path, name: str) -> ModuleType:
    if not path.is_file():
        beside = [other.name for other in path.parent.glob("*.py")]
        raise InputError(
            f"{name}: there is no file {str(path)!r}", remedy=f"check the path{did_you_mean(path.name, beside)}"
        )
    try:
        return _run_file(path, path.read_bytes())
    except (Exception, SystemExit) as error:
        fault = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(
            f"{name}: importing the file {str(path)!r} failed: {fault}", remedy="correct the file"
        ) from error


@cache
def _run_file(path: Path, source: bytes) -> ModuleType:
    """Run a file as a module, once unless it has changed since.

    The module has the path as its name, so that it stands in for no other. What lies beside the file can be
    imported, but after what is installed: a file may have the name of the library that it is about.
    """
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    importlib.invalidate_caches()
    module = ModuleType(str(path))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, path, "exec"), vars(module))
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", types.NoneType: "none"}
_HOW_TO_NAME = "write NAME=SPEC, as in v2=knn?neighbours=20"
_TRIED = (types.NoneType, bool, int, float)  # in this order, where several are allowed


def split_name(spec: str) -> tuple[str | None, str]:
    """The name that a text gives to a recommender, None if it gives none, and the spec behind it.

    A ``=`` before any ``:`` or ``?`` ends the name.

    >>> split_name("als=table:lists.csv"), split_name("knn?neighbours=20"), split_name("constant:a=b")
    (('als', 'table:lists.csv'), (None, 'knn?neighbours=20'), (None, 'constant:a=b'))
    """
    text = spec.strip()
    head = re.split("[:?]", text, maxsplit=1)[0]
    if "=" not in head:
        return None, text
    name, _, rest = (part.strip() for part in text.partition("="))
    if not name:
        raise InputError(f"{text!r} has no name before the =", remedy=_HOW_TO_NAME)
    if not rest:
        raise InputError(f"{text!r} has no recommender after the =", remedy=_HOW_TO_NAME)
    return name, rest


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """The name and the parameters of a spec.

    >>> parse_spec("knn?neighbours=50&similarity=cosine")
    ('knn', {'neighbours': '50', 'similarity': 'cosine'})
    """
    name, _, query = spec.partition("?")
    parameters: dict[str, str] = {}
    for part in query.split("&") if query else []:
        key, equals, value = (unquote(text.strip()) for text in part.partition("="))
        if not key or not equals:
            raise InputError(
                f"{spec!r}: cannot read {part!r}",
                remedy=f"write parameters as in {name}?name=value&other=2",
            )
        if key in parameters:
            raise InputError(f"{spec!r} gives {key!r} twice", remedy="give it once")
        parameters[key] = value
    return name.strip(), parameters


def format_spec(name: str, /, **parameters: Any) -> str:
    """A recommender as it is written on the command line.

    >>> format_spec("knn", neighbours=50, k1=1.2, exact=False)
    'knn?neighbours=50&k1=1.2&exact=false'
    >>> format_spec("als", regularization=0.012345678)  # the whole number: another one is another model
    'als?regularization=0.012345678'
    """
    query = "&".join(f"{key}={_format(value)}" for key, value in parameters.items())
    return f"{name}?{query}" if query else name


def _format(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


def convert_parameters(
    target: Callable[..., Any], texts: Mapping[str, str], name: str, *, skip: int = 0
) -> dict[str, Any]:
    """The parameters in the types that the signature of `target` asks for; its first `skip` cannot be given."""
    signature = _signature(target)
    if signature is None:
        return {key: _guess(text) for key, text in texts.items()}
    parameters = list(signature.parameters.values())[skip:]
    valid = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_more = any(p.kind is p.VAR_KEYWORD for p in parameters)
    hints = _hints(target)
    values = {}
    for key, text in texts.items():
        if key not in valid and not takes_more:
            raise unknown_parameter(key, list(valid), name)
        parameter = valid.get(key)
        values[key] = _convert(text, _type_of(parameter, hints), f"{name}: {key}={text}")
    needed = [p.name for p in valid.values() if p.default is p.empty and p.name not in texts]
    if needed:
        raise InputError(f"{name} needs the parameter {needed[0]!r}, as in {name}?{needed[0]}=...")
    return values


def _signature(target: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):  # compiled code does not always tell
        return None


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    function: Any = target
    if isinstance(target, type):
        function = next(vars(kind)["__init__"] for kind in target.__mro__ if "__init__" in vars(kind))
    try:
        return typing.get_type_hints(function)
    except Exception:  # names that exist for type checkers alone
        return {}


def _type_of(parameter: inspect.Parameter | None, hints: Mapping[str, Any]) -> Any:
    """The type of a parameter: as annotated, or that of its default."""
    if parameter is None:
        return Any
    if parameter.name in hints:
        return hints[parameter.name]
    kind = type(parameter.default)
    return kind if kind in (bool, int, float, str) else Any


def _convert(text: str, wanted: Any, where: str) -> Any:
    several = typing.get_origin(wanted) in (typing.Union, types.UnionType)
    options = typing.get_args(wanted) if several else (wanted,)
    choices = [c for o in options if typing.get_origin(o) is typing.Literal for c in typing.get_args(o)]
    for choice in choices:
        if str(choice) == text:
            return choice
    for kind in _TRIED:
        if kind in options:
            try:
                return _read_as(text, kind)
            except ValueError:
                continue
    if str in options:
        return text
    if not choices and not set(options) <= set(_TRIED):
        return _guess(text)
    allowed = [*map(str, choices), *(_KINDS[kind] for kind in _TRIED if kind in options)]
    raise InputError(f"{where} must be {' or '.join(allowed)}")


def _read_as(text: str, kind: Any) -> Any:
    lowered = text.lower()
    if kind is types.NoneType:
        if lowered in ("none", "null", ""):
            return None
    elif kind is bool:
        if lowered in _TRUE + _FALSE:
            return lowered in _TRUE
    else:
        return kind(text)
    raise ValueError(text)


def _guess(text: str) -> Any:
    """The plainest value that is written like this."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (types.NoneType, int, float):
        try:
            return _read_as(text, kind)
        except ValueError:
            continue
    return text


def unknown_parameter(key: str, valid: list[str], name: str) -> InputError:
    """The error about a parameter that `name` does not have; `valid` are those that it has."""
    if not valid:
        return InputError(f"{name} has no parameter {key!r}; it has none at all")
    meant = did_you_mean(key, valid)
    return InputError(f"{name} has no parameter {key!r}{meant}{' It' if meant else '; it'} has {', '.join(valid)}")
