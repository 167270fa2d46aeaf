"""Compiled loops on disk."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

_KERNEL = """
from unskew.arrays.compiling import compiled

@compiled
def add(pair):
    return pair.one + pair.other
"""
_PAIR = """
from typing import NamedTuple

class Pair(NamedTuple):
    one: float
    other: float
"""


def write_module(folder: Path, name: str, text: str) -> Any:
    """A module of that text, imported anew."""
    (folder / f"{name}.py").write_text(text)
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def load_kernel() -> Any:
    """The kernel as another process would meet it: from the same file, with what is on disk."""
    sys.modules.pop("cached_kernel", None)
    return importlib.import_module("cached_kernel").add


def test_a_cache_that_knows_a_type_which_has_moved_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "cached_kernel.py").write_text(_KERNEL)
    old = write_module(tmp_path, "old_home_of_pair", _PAIR)
    assert load_kernel()(old.Pair(1.0, 2.0)) == 3.0

    again = load_kernel()
    assert again(old.Pair(1.0, 2.0)) == 3.0
    assert sum(again.stats.cache_hits.values()) == 1

    write_module(tmp_path, "old_home_of_pair", "")
    new = write_module(tmp_path, "new_home_of_pair", _PAIR)
    assert load_kernel()(new.Pair(3.0, 4.0)) == 7.0

    once_more = load_kernel()
    assert once_more(new.Pair(3.0, 4.0)) == 7.0
    assert sum(once_more.stats.cache_hits.values()) == 1
