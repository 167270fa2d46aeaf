"""Classes, objects and functions outside unskew, by name: ``package.module:Class`` or ``./file.py:Class``."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from unskew.errors import InputError
from unskew.text import did_you_mean, first_line


def import_object(name: str) -> Any:
    """What a name stands for: ``package.module:Class``, or ``./file.py:Class`` (see `file_of`)."""
    path = file_of(name)
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise InputError(f"{name!r} must be written as package.module:Class or ./file.py:Class")
    found: Any = _import_module(where, name) if path is None else _import_file(path, name)
    called = found.__name__ if path is None else path.name
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(f"{name}: {called!r} has no {part!r}{did_you_mean(part, dir(found))}")
        found = getattr(found, part)
        called = getattr(found, "__name__", part)
    return found


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
        raise InputError(f"{name}: the module {module!r} was found, but it cannot be imported: {error}") from error
    except Exception as error:
        told = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(f"{name}: the module {module!r} was found, but importing it failed: {told}") from error


def _import_file(path: Path, name: str) -> ModuleType:
    if not path.is_file():
        beside = [other.name for other in path.parent.glob("*.py")]
        raise InputError(f"{name}: there is no file {str(path)!r}{did_you_mean(path.name, beside)}")
    try:
        return _run_file(path, path.read_bytes())
    except (Exception, SystemExit) as error:
        told = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(f"{name}: importing the file {str(path)!r} failed: {told}") from error


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
