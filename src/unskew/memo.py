"""What an object has computed for others, kept as long as they exist."""

from __future__ import annotations

from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memo(WeakKeyDictionary[Key, Value]):
    """Values by object; a copy or a pickle of its owner begins with none.

    >>> import copy
    >>> memo = Memo()
    >>> memo[Memo] = 1
    >>> len(memo), len(copy.deepcopy(memo))
    (1, 0)
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def __deepcopy__(self, memo: Any) -> Self:
        return type(self)()
