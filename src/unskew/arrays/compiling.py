"""How loops are compiled, and saying so the one time that it happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.event import Event, Listener, register

from unskew.progress import progress

Kernel = Callable[..., Any]


def compiled(function: Kernel) -> Kernel:
    """Compile without the interpreter lock and keep the result on disk."""
    result: Kernel = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return result


def compiled_for_sums(function: Kernel) -> Kernel:
    """The same for long sums of numbers, which may be added in the order that is fastest."""
    result: Kernel = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})(
        function
    )
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
