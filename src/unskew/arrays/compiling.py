"""How loops are compiled, and saying so the one time that it happens; and how they ask for numbers ahead."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numba
import numba.core.cgutils
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, register
from numba.extending import intrinsic

from unskew.arrays import IS_CONFIGURED
from unskew.errors import warn
from unskew.progress import progress

Kernel = Callable[..., Any]

if not IS_CONFIGURED:
    numba.core.config._config_fname = ""  # or it reads the settings of the working directory when it compiles


class _KernelCache(FunctionCache):
    """Compiled loops on disk. What cannot be loaded any more is compiled again.

    Numba looks whether the file of a kernel has changed, and not whether the types of its arguments still are
    where they were: a cache that knows a NamedTuple of another module fails to load once that has moved.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever unpickling raises; the cache only saves time
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception:  # the disk is full, the folder is gone, the index is damaged
            self._forget()

    def _forget(self) -> None:
        try:
            self.flush()  # type: ignore[no-untyped-call]
        except OSError:  # the folder cannot be written
            self.disable()  # type: ignore[no-untyped-call]


def compiled(function: Kernel, **options: Any) -> Kernel:
    """Compile without the interpreter lock and keep the result on disk: ``cache=True``, with our own cache."""
    kernel: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    cache = _make_cache(function) if hasattr(kernel, "enable_caching") else None  # else NUMBA_DISABLE_JIT is set
    if cache is not None:
        kernel._cache = cache
    return cast(Kernel, kernel)


compiled_for_sums = functools.partial(compiled, fastmath={"reassoc", "contract"})
"""The same for long sums of numbers, which may be added in the order that is fastest."""


def _make_cache(function: Kernel) -> _KernelCache | None:
    """A cache where Numba has a place for it that nobody else can write, else in a private folder, else none."""
    with contextlib.suppress(RuntimeError, OSError):  # neither beside the file nor in the home of the user
        cache = _KernelCache(function)  # type: ignore[no-untyped-call]
        if is_private(cache.cache_path):
            return cache
        if not _REFUSED:
            warn(
                f"compiled loops in {cache.cache_path} are not used, since another user could have written them: "
                "they are kept in a private folder"
            )
        _REFUSED.append(cache.cache_path)
    folder = _private_folder()
    if folder is None:
        return None
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        cache = _KernelCache(function)  # type: ignore[no-untyped-call]
        return cache if is_private(cache.cache_path) else None
    except (RuntimeError, OSError):
        return None
    finally:
        config.CACHE_DIR = before


_REFUSED: list[str] = []  # so that it is said once


@functools.cache
def is_private(folder: str) -> bool:
    """Whether a folder of compiled loops, they themselves and all folders above can be written by nobody but this
    user and root. Windows has no such modes; there folders of a user are private.
    """
    if not hasattr(os, "getuid"):
        return True
    path = Path(folder).absolute()
    loops = (file for file in path.iterdir() if file.suffix in (".nbi", ".nbc"))
    above = {*path.parents, *path.resolve().parents}
    return all(_is_kept(place, is_above=place in above) for place in {path, path.resolve(), *above, *loops})


def _is_kept(path: Path, *, is_above: bool) -> bool:
    """Whether a path belongs to this user or root and nobody else can write it, or replace what is in it."""
    status = path.lstat()
    if status.st_uid not in (0, os.getuid()):
        return False
    is_sticky = bool(status.st_mode & stat.S_ISVTX)  # others can add to such a folder, and replace nothing
    if stat.S_ISLNK(status.st_mode) or (is_above and is_sticky):
        return True
    shared = status.st_mode & 0o020 and not _is_own_group(status.st_gid)
    return not shared and not status.st_mode & 0o002


def _is_own_group(number: int) -> bool:
    """Whether a group has this user alone, as every user has one on many systems."""
    import grp
    import pwd

    try:
        name, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


@functools.cache
def _private_folder() -> Path | None:
    """A folder for compiled loops that belongs to this user alone; None, said once, if there can be none.

    What is in it is run, so a folder that somebody else may write to is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"unskew-compiled-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == user and not status.st_mode & 0o077
        if is_own and is_private(str(folder)) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    except OSError:
        pass
    warn(
        "compiled loops cannot be kept, since no folder for them can be written: every run compiles them again, "
        "which takes some seconds; set NUMBA_CACHE_DIR to a folder of your own"
    )
    return None


class _Announcer(Listener):
    """Tells the first compilation of one of our kernels; loading from the cache is none."""

    def __init__(self) -> None:
        self._announced = False

    def on_start(self, event: Event) -> None:
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self._announced and getattr(function, "__module__", "").startswith("unskew."):
            self._announced = True
            progress().compiling()

    def on_end(self, event: Event) -> None:
        pass


register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


cgutils: Any = numba.core.cgutils  # whose types are incomplete
config: Any = numba.config

AHEAD = 128
"""How many entries ahead a loop asks: further than a processor looks by itself."""

MANY_ITEMS = 60_000
"""From so many on, weights and sums leave the cache of a core, and asking ahead is worth what it costs."""


def look_ahead(n_items: int) -> int | None:
    """How many entries ahead a loop over profiles of so many items asks; None for not at all."""
    return AHEAD if n_items >= MANY_ITEMS else None


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Begin to load ``array[index]``; a hint, which changes nothing.

    The number is put into the second cache and not into the first, which is small and full of what comes sooner:
    in passes over 600 000 items that took a fifth less time.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        values = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, values, [arguments[1]])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        to_read, second_cache, data = number(0), number(2), number(1)
        builder.call(hint, [builder.bitcast(place, byte), to_read, second_cache, data])
        return context.get_dummy_value()

    return types.void(array, index), generate


def _do_nothing(array: Any, index: Any) -> None:
    pass


prefetch: Any = _do_nothing if config.DISABLE_JIT else intrinsic(_prefetch)
