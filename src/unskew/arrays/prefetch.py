"""Asking for numbers before they are needed, so that a loop over scattered places does not wait for memory."""

from __future__ import annotations

from typing import Any

import numba
import numba.core.cgutils
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

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
