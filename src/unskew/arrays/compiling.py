"""How loops are compiled, and saying so the one time that it happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, register

from unskew.progress import progress

Kernel = Callable[..., Any]


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

    def _forget(self) -> None:
        try:
            self.flush()  # type: ignore[no-untyped-call]
        except OSError:  # the folder cannot be written
            self.disable()  # type: ignore[no-untyped-call]


def compiled(function: Kernel) -> Kernel:
    """Compile without the interpreter lock and keep the result on disk."""
    return _keep_on_disk(numba.njit(nogil=True, error_model="numpy")(function))


def compiled_for_sums(function: Kernel) -> Kernel:
    """The same for long sums of numbers, which may be added in the order that is fastest."""
    return _keep_on_disk(numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})(function))


def _keep_on_disk(kernel: Any) -> Kernel:
    """What ``cache=True`` does, with a cache of our own."""
    if hasattr(kernel, "enable_caching"):  # a plain function where NUMBA_DISABLE_JIT is set
        kernel._cache = _KernelCache(kernel.py_func)  # type: ignore[no-untyped-call]
    result: Kernel = kernel
    return result


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


def _listen() -> None:
    register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


_listen()
