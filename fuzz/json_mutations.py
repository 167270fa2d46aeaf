"""Damage to JSON that leaves it JSON: keys that are gone, values of other types, huge numbers, endless nesting."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

_DEEP = "@deep@"
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 2**63, 10**13, 10**30, 1.5, -0.0, 1e308, 1e-320),
    *(
        float("nan"),
        float("inf"),
        "",
        "a",
        "\x1b]0;x\x07",
        "subprocess:Popen?args=true",
        "../../etc/passwd",
        "x" * 9999,
    ),
    *([], {}, [None], {"a": 1}, [[]], _DEEP),
)


def change_json(text: str, rng: Random) -> str:
    """A text of JSON with one to three changes."""
    found = [json.loads(text)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _change(found, rng)
    written = json.dumps(found[0])
    depth = rng.choice((500, 100_000))
    return written.replace(
        f'"{_DEEP}"', rng.choice(("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth))
    )


def _change(root: list[Any], rng: Random) -> None:
    holder, key = rng.choice(_list_places(root))
    what = rng.random()
    if what < 0.6:
        holder[key] = deepcopy(rng.choice(_VALUES))  # a copy: a list must not be put into itself later
    elif what < 0.7 and isinstance(holder[key], int | float):
        holder[key] = rng.choice((-holder[key], holder[key] + 1, str(holder[key]), [holder[key]]))
    elif isinstance(holder, dict):
        value = holder.pop(key)
        if what > 0.85:
            holder[rng.choice((key + "_", key.upper(), "", "__class__"))] = value
    elif holder is not root:
        del holder[key]


def _list_places(holder: Any) -> list[tuple[Any, Any]]:
    """Every place in which a value stands, as what holds it and its key there."""
    keys = holder.keys() if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
    found = [(holder, key) for key in keys]
    return found + [place for key in keys for place in _list_places(holder[key])]
