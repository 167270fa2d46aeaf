"""Files that unskew writes and reads: whole or not at all, and named where something is wrong with them."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from unskew.errors import FileError
from unskew.text import tell_damage

ARROW_MAGIC = b"ARROW1"
"""The bytes with which an Arrow file begins."""

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
        with contextlib.suppress(OSError):  # not every file system lets a folder be synchronised
            write_through(target.parent)
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
    """A hash of the bytes of some files."""
    return hash_bytes(_chunks(paths))


def _chunks(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        check_readable(path)
        with path.open("rb") as file:
            while chunk := file.read(2**20):
                yield chunk


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
