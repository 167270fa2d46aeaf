"""How results reach what shows them: the room `show` lies above results, and is loaded when one is shown.

A result knows the name of its presenter and nothing else, so that no figure depends on how it looks, and that a
drawing library is loaded only when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def find_presenter(module: str, name: str) -> Callable[..., Any]:
    """A function or a class of the room `show`.

    >>> find_presenter("verdict_text", "list_verdict_lines").__name__
    'list_verdict_lines'
    """
    presenter: Callable[..., Any] = getattr(import_module(f"unskew.show.{module}"), name)
    return presenter
