"""Files that unskew writes and reads: whole or not at all, and named where something is wrong with them.

JSON may have been written by somebody else: it is read within limits, and as dataclasses whose fields fit their
types.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import glob
import hashlib
import json
import os
import secrets
import shutil
import stat
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from unskew.errors import FileError
from unskew.text import first_line, one_line, tell_damage

ARROW_MAGIC = b"ARROW1"
"""The bytes with which an Arrow file begins."""

Kind = TypeVar("Kind")

_MOST_DEEP = 20  # levels of JSON that we write
_MOST_BYTES = 2**28  # of a JSON file of ours
_MOST_LINKS = 1000  # places on the way to a file; links that lead to themselves are refused elsewhere


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` only if the block succeeds.

    A run that is killed leaves the old file or the new one, never half of either, and the next one removes the
    temporary file that it left. A file that is replaced keeps its mode.
    """
    check_writable(path)
    target = path.resolve()  # a link stays a link
    sweep(target)
    temporary, handle = None, None
    try:
        temporary, handle = claim_temporary(target)
        yield temporary
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        write_through(temporary)
        if os.name == "nt" and handle is not None:  # which renames no open file
            os.close(handle)
            handle = None
        temporary.replace(target)
        write_through_folder(target.parent)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if handle is not None:
            os.close(handle)
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_through(path: Path) -> None:
    """Wait until what was written is on the disk, so that a crash of the machine does not leave half of it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_through_folder(folder: Path) -> None:
    """Wait until names in a folder are on the disk; not every file system can."""
    with contextlib.suppress(OSError):
        write_through(folder)


def claim_temporary(target: Path, *, folder_mode: int | None = None) -> tuple[Path, int | None]:
    """Make a file beside `target`, or a folder of that mode, and lock it until the handle is closed.

    The lock tells `sweep` that the run is alive, in another container too, where its process has another number.
    The file can be read by nobody who cannot read the one that it will replace.
    """
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        if folder_mode is not None:
            temporary.mkdir(mode=folder_mode)
            if os.name == "nt":  # which opens no folder; `sweep` leaves them
                return temporary, None
            try:
                handle = os.open(temporary, os.O_RDONLY)
            except FileNotFoundError:  # another run took it for one that was left
                continue
        else:
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        if _lock(handle) is not False and temporary.exists():  # else the same
            return temporary, handle
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Whether the lock of an open file could be had; None if the file system has none.

    On Windows nobody can remove a file that is open, so that it needs no other lock.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def sweep(target: Path) -> None:
    """Remove temporary files and folders for this target that no run has locked: it was killed."""
    with contextlib.suppress(OSError):
        for left in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 16}.tmp"):
            with contextlib.suppress(OSError):
                _remove_unlocked(left)


def _remove_unlocked(left: Path) -> None:
    is_folder = left.is_dir()
    if left.is_symlink() or (os.name == "nt" and is_folder):
        return
    if os.name == "nt":
        left.unlink()
        return
    handle = os.open(left, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not _lock(handle):
            return
        if is_folder:
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    finally:
        os.close(handle)


def check_writable(path: Path) -> None:
    """Fail now rather than after an hour of work if `path` cannot be written."""
    _require_utf8(path)
    with report_lookup(path):
        exists, folder = path.exists(), path.resolve().parent
        refuse_foreign_links(path)
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder", remedy="give the name of a file")
    if exists and not path.is_file():
        raise FileError(f"cannot write {path}: it is not an ordinary file", remedy="give another name")
    if not folder.is_dir():
        raise FileError(f"cannot write {path}: the folder {path.parent} does not exist", remedy="make it first")
    if not os.access(folder, os.W_OK) or (exists and not os.access(path, os.W_OK)):
        raise FileError(f"cannot write {path}: permission denied")


def refuse_foreign_links(path: Path) -> None:
    """Refuse to write through a link of another user, who could let it lead anywhere; root is trusted."""
    if not hasattr(os, "geteuid"):  # Windows
        return
    places = [path.absolute(), *path.absolute().parents]
    for place in places:
        if not place.is_symlink() or len(places) > _MOST_LINKS:
            continue
        if place.lstat().st_uid not in (0, os.geteuid()):
            raise FileError(f"cannot write {path}: {place} is a link of another user", remedy="give another name")
        places.append(place.parent / place.readlink())


@contextlib.contextmanager
def report_lookup(path: Path) -> Iterator[None]:
    """Whatever goes wrong while a path is looked up is the fault of what it says."""
    try:
        yield
    except RuntimeError:  # of Path.resolve
        raise FileError(f"cannot write {path}: it is a link that leads to itself") from None
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"cannot write {path}: the current directory does not exist any more") from None
    except OSError as error:
        raise FileError(f"cannot write {shorten_path(path)}: {error.strerror or error}") from None


def damage_error(path: str | Path, what: object, remedy: str) -> FileError:
    """The error about a file that does not hold what it should."""
    return FileError(f"{path} is damaged ({what})", remedy=remedy)


@contextlib.contextmanager
def report_damage(path: str | Path, remedy: str) -> Iterator[None]:
    """Whatever goes wrong inside is the fault of the file."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        raise damage_error(path, tell_damage(error), remedy) from error


def hash_bytes(parts: Iterable[Any]) -> str:
    """A hash of some buffers, one after the other."""
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        total.update(part)
    return total.hexdigest()


def hash_files(paths: Iterable[Path]) -> str:
    """A hash of the bytes of some files, one after the other."""
    total = hashlib.blake2b(digest_size=16)
    for path in paths:
        check_readable(path)
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: total)
    return total.hexdigest()


def is_file(name: str) -> bool:
    """Whether a text, which need not be fit to be a path, names a file."""
    try:
        return Path(name).is_file()
    except OSError:  # the name is too long for a file system
        return False


def check_readable(path: Path) -> None:
    """Say plainly that a file is missing or must not be read."""
    _require_utf8(path)
    try:
        path.stat()
    except PermissionError:
        raise FileError(f"cannot read {shorten_path(path)}: permission denied") from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            raise FileError(f"cannot read {shorten_path(path)}: it is a link that leads to itself") from None
        raise FileError(f"there is no file {shorten_path(path)}") from None  # or nothing can have such a name
    if not os.access(path, os.R_OK) or (path.is_dir() and not os.access(path, os.X_OK)):
        raise FileError(f"cannot read {shorten_path(path)}: permission denied")


def _require_utf8(path: Path) -> None:
    """Refuse a name that libraries below cannot take."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FileError(f"the name {shorten_path(path)} is not in UTF-8", remedy="rename it") from None


def shorten_path(path: Path) -> str:
    """A path for a message, which somebody may have mistaken for the content of a file."""
    name = str(path)
    if len(name) <= 200 and "\n" not in name:
        return name
    return repr(name) if len(name) <= 200 else f"{name.partition(chr(10))[0][:200]!r}..."


def parse_json(text: str | bytes) -> Any:
    """What JSON says; a ValueError if it is none, if it has what JSON does not have, or is nested too deeply."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [content]
    for _ in range(_MOST_DEEP):
        nodes = (
            node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list)
        )
        level = [value for values in nodes for value in values]
    if level:
        raise ValueError("it is nested too deeply")
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def read_json(path: Path) -> Any:
    """What a JSON file says."""
    check_readable(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES // 2**20} MB")
        return parse_json(path.read_bytes())
    except (ValueError, OSError) as error:
        raise FileError(f"{path} cannot be read as JSON: {first_line(error)}", remedy="make it again") from None


def read_dataclass(kind: type[Kind], values: Any) -> Kind:
    """An object of a dataclass from what `dataclasses.asdict` and JSON made of it; a ValueError if it cannot be.

    Checked are numbers (finite ones), texts, flags, None, and dataclasses and tuples of these; a field that is
    declared as anything else takes any value.

    >>> @dataclasses.dataclass
    ... class Pair:
    ...     one: int
    ...     other: float | None = None
    >>> read_dataclass(Pair, {"one": 1})
    Pair(one=1, other=None)
    >>> read_dataclass(Pair, {"one": True})
    Traceback (most recent call last):
    ...
    ValueError: one is True
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{kind.__name__} is {one_line(values)}")
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    unknown = [name for name in values if name not in fields]
    if unknown:
        raise ValueError(f"{kind.__name__} has no {one_line(unknown[0])}")
    for name, field in fields.items():
        if field.default is field.default_factory is dataclasses.MISSING and name not in values:
            raise ValueError(f"{name} is missing")
    hints = typing.get_type_hints(kind)
    return kind(**{name: _convert(name, value, hints[name]) for name, value in values.items()})


def _convert(name: str, value: Any, declared: Any) -> Any:
    """The value, if it is one that a field of this type can have."""
    origin, inside = typing.get_origin(declared), typing.get_args(declared)
    if origin in (typing.Union, types.UnionType):
        for part in inside:
            with contextlib.suppress(ValueError):
                return _convert(name, value, part)
    elif origin is tuple and inside[1:] == (...,):
        if isinstance(value, list | tuple):
            return tuple(_convert(name, part, inside[0]) for part in value)
    elif dataclasses.is_dataclass(declared) and isinstance(declared, type):
        return read_dataclass(declared, value)
    elif _fits(value, declared):
        return value
    raise ValueError(f"{name} is {one_line(value)}")


def _fits(value: Any, declared: Any) -> bool:
    if isinstance(value, bool) and declared in (int, float):
        return False
    if declared is float:
        return isinstance(value, int | float) and abs(value) <= sys.float_info.max  # which NaN is not
    if declared in (int, str, bool):
        return isinstance(value, declared)
    return value is None if declared is types.NoneType else True
