"""Saying that the loops are being compiled, the one time that it happens."""

from __future__ import annotations

from numba.core.event import Event, Listener, register

from unskew.progress import progress


class _Announcer(Listener):
    """Tells the first compilation of one of our kernels; loading from the cache is none."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Event) -> None:
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self._told and getattr(function, "__module__", "").startswith("unskew."):
            self._told = True
            progress().compiling()

    def on_end(self, event: Event) -> None:
        pass


def announce() -> None:
    """Begin to listen to numba."""
    register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
