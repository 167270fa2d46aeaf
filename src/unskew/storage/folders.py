"""Folders that unskew writes: the whole of what belongs together is replaced in one step, or not at all.

What one command writes into a folder belongs together: tables of one world, a page and its figures. It is made in
a new folder beside the old one, and the two change places in one step where the system can do that. What else is
in the folder stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from unskew.errors import FileError
from unskew.storage.files import (
    claim_temporary,
    refuse_foreign_links,
    report_lookup,
    sweep,
    write_through,
    write_through_folder,
)

Owns = Callable[[str], bool]
"""Whether a path in a folder, such as ``world/log.parquet``, belongs to what is replaced."""

_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD: paths are meant as they are


@contextlib.contextmanager
def temporary_folder(beside: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """A folder of a name of its own beside a path, removed in the end; first what killed runs left of the kind."""
    sweep(beside)
    try:
        folder, handle = claim_temporary(beside, folder_mode=mode)
    except OSError as error:
        raise FileError(
            f"cannot make a folder in {beside.parent}: {error.strerror or error}",
            remedy="choose a folder that can be written to",
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


@contextlib.contextmanager
def replace_folder(folder: Path, *, owns: Owns, last: Sequence[str]) -> Iterator[Path]:
    """Give an empty folder; what is put into it takes the place of what `folder` has of its kind.

    A run that is killed leaves all of the old or all of the new, never a mix of both. Only where a folder cannot
    be renamed (it is the current directory or a mount point, the one above it cannot be written, the file system
    is a simple one) are its files replaced one by one: then `last` is removed first and put back in the end, so
    that no mix is taken for a whole.

    - `folder`: it need not exist; those above it are made.
    - `owns`: what is replaced; everything else in the folder stays.
    - `last`: the files that say that the others are there.
    """
    try:
        with report_lookup(folder):
            target = folder.resolve()
            refuse_foreign_links(folder)
        _refuse_root(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        stays = _must_stay(target)
        with temporary_folder((target if stays else target.parent) / target.name) as new:
            yield new
            written = _list_files(new)
            _keep_modes(new, target, written)
            if stays or not _take_place(new, target, owns):
                _move_into(new, target, written, owns, last)
            write_through_folder(target.parent)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write to {folder}: {error.strerror or error}") from error


def check_folder_writable(folder: Path) -> None:
    """Fail now rather than after an hour of work if a folder, which need not exist, cannot be written to."""
    with report_lookup(folder):
        existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        if folder.resolve() != folder.absolute() and folder.is_symlink() and not folder.exists():
            raise FileError(f"cannot write to {folder}: it is a link to nothing", remedy="give another folder")
        _refuse_root(folder.resolve())
        refuse_foreign_links(folder)
    if not existing.is_dir():
        raise FileError(f"cannot write to {folder}: {existing} is a file", remedy="give the name of a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise FileError(f"cannot write to {folder}: permission denied")


def _refuse_root(target: Path) -> None:
    if not target.name:
        raise FileError(f"cannot write to {target}: it is the root of the disk", remedy="name a folder in it")


def exchange(first: Path, second: Path) -> bool:
    """Let two folders change places in one step; False if the system cannot."""
    try:
        system = ctypes.CDLL(None, use_errno=True)
        paths = os.fsencode(first), os.fsencode(second)
        if sys.platform == "darwin":
            return bool(system.renamex_np(*paths, _EXCHANGE) == 0)
        return bool(system.renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0)
    except (OSError, AttributeError, TypeError):  # it has no such function
        return False


def _must_stay(target: Path) -> bool:
    if not target.exists():
        return False
    with contextlib.suppress(OSError):  # the current directory is gone
        if Path.cwd().resolve().is_relative_to(target):  # whoever stands in it would stand in the old one
            return True
    mounted = target.is_mount() or any(path.is_mount() for path in target.iterdir())
    return mounted or not os.access(target.parent, os.W_OK | os.X_OK)


def _take_place(new: Path, target: Path, owns: Owns) -> bool:
    """Put the new folder where the old one is; False if it has to be done file by file."""
    with contextlib.suppress(OSError):
        new.rename(target)  # there is nothing yet, or an empty folder
        return True
    try:
        if not any(owns(path.name) for path in target.iterdir()):
            return False  # there is nothing to lose, and what else is there may be much
        _carry_over(target, new, owns)
    except OSError:  # a folder of somebody else that cannot be read
        return False
    with _locked(target):  # or another run would take the old folder for one that was left
        if not exchange(new, target):
            return False
        _carry_over(new, target, owns)  # `new` is the old one now, into which something may just have been written
    return True


def _carry_over(source: Path, target: Path, owns: Owns, inside: str = "") -> None:
    """Have what is not ours in one folder in the other too; files as further names of the same file."""
    for entry in os.scandir(source / inside):
        path = f"{inside}/{entry.name}" if inside else entry.name
        if entry.is_dir(follow_symlinks=False):
            if not owns(path):
                (target / path).mkdir(parents=True, exist_ok=True)
            _carry_over(source, target, owns, path)
        elif not owns(path) and not os.path.lexists(target / path):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(entry.path, target / path, follow_symlinks=False)
            except OSError:  # the file system has no links
                shutil.copy2(entry.path, target / path, follow_symlinks=False)


def _move_into(new: Path, target: Path, written: Sequence[str], owns: Owns, last: Sequence[str]) -> None:
    """Replace what is ours file by file, while no other run does."""
    target.mkdir(exist_ok=True)
    with _locked(target):
        for path in [*last, *(path for path in _list_files(target) if owns(path) and path not in written)]:
            (target / path).unlink(missing_ok=True)
        for path in sorted(written, key=lambda path: (path in last, path)):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).replace(target / path)


def _list_files(folder: Path) -> list[str]:
    """The files in a folder, and in those in it, but for what is temporary."""
    inside = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    return [path.as_posix() for path in inside if not path.name.endswith(".tmp")]


def _keep_modes(new: Path, target: Path, written: Sequence[str]) -> None:
    """Give what is replaced the modes that it has; and wait until what is new is on the disk."""
    for path in [".", *written]:
        if (target / path).exists():
            (new / path).chmod(stat.S_IMODE((target / path).stat().st_mode))
    for path in written:
        write_through(new / path)
    for folder in [*(path for path in new.rglob("*") if path.is_dir()), new]:
        write_through_folder(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time go on, where the system has locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    while True:
        handle = os.open(folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), folder.stat()):  # else it was replaced while this waited
                yield
                return
        finally:
            os.close(handle)
