"""Which column of a table of recommendations holds what: named by its owner, or told by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from unskew.errors import ColumnError, missing_column
from unskew.reading.column_synonyms import OF_A_TABLE
from unskew.text import did_you_mean, enumerate_words

FORMS = (("items",), ("item", "rank"), ("item", "score"))
"""What says which items are in a list and in which order; the first that a table has."""

_HOW = "items (a ranked list), or item and rank, or item and score"


def choose_columns(have: Sequence[str], named: Mapping[str, str | None], where: str) -> dict[str, str]:
    """The column of each role: as named, else as its name says; a role that a table need not have may be missing.

    Parameters
    ----------
    have
        The columns of the table.
    named
        Roles and the columns that were named for them; None where nothing was said.
    where
        How to speak of the table.

    >>> choose_columns(["member_id", "sku", "pos", "day"], {}, "lists")
    {'user': 'member_id', 'date': 'day', 'item': 'sku', 'rank': 'pos'}
    """
    told = {role: _require(name, role, have, where) for role, name in named.items() if name is not None}
    columns = f"{where} has the columns {', '.join(map(repr, have))}"
    found = {role: name for role in ("user", "held_out", "date") if (name := _find(role, have, told, where))}
    if "user" not in found:
        raise ColumnError(
            columns,
            remedy=f"a table of recommendations needs 'user' ({how_to_name('user')}), and {_HOW}",
        )
    return found | _choose_form(have, told, where, columns)


def how_to_name(role: str) -> str:
    """How to say which column has a role; not as an option of the command, where it is one of the log."""
    return f"or name it, as in Table(..., {role}='COLUMN') or table:FILE?{role}=COLUMN"


def describe_guesses(chosen: Mapping[str, str], named: Mapping[str, str | None]) -> str:
    """Which columns were taken though nobody named them and their names are not the plain ones; or nothing."""
    guessed = [
        f"{column!r} as {role.replace('_', ' ')}"
        for role, column in chosen.items()
        if named.get(role) is None and column not in (role, "valid_from")
    ]
    return enumerate_words(guessed)


def _choose_form(have: Sequence[str], told: Mapping[str, str], where: str, columns: str) -> dict[str, str]:
    """The columns of items and of their order."""
    asked = [form for form in FORMS if set(told) & {"items", "item", "rank", "score"} <= set(form)]
    for plain in (True, False):
        forms = []
        for form in asked:
            names = [_find(role, have, told, where, plain=plain) for role in form]
            if all(names):
                forms.append({role: name for role, name in zip(form, names, strict=True) if name})
        if forms and "items" in forms[0] and len(forms) > 1:
            raise ColumnError(
                f"{columns}: the order of the items is not clear",
                remedy=f"give {_HOW}, or say which counts ({how_to_name('items')})",
            )
        if forms:
            return forms[0]
    raise ColumnError(columns, remedy=f"it needs {_HOW} ({how_to_name('item')})")


def _find(
    role: str, have: Sequence[str], told: Mapping[str, str], where: str, *, plain: bool = False
) -> str | None:
    """The column of a role: the one that was named, the one of its plain name, or the one that is called so."""
    if role in told:
        return told[role]
    if role in have:
        return role
    alike = [] if plain else [c for c in have if re.sub(r"[\W_]", "", c.lower()) in OF_A_TABLE[role]]
    alike = [c for c in alike if c not in told.values()]
    if len(alike) > 1:
        raise ColumnError(
            f"{where} has the columns {' and '.join(map(repr, alike))}, each of which could be {role!r}",
            remedy=f"say which is ({how_to_name(role)})",
        )
    return alike[0] if alike else None


def _require(name: str, role: str, have: Sequence[str], where: str) -> str:
    if not isinstance(name, str):
        raise ColumnError(f"{role}= of a table is {name!r}; it takes the name of a column, which is text")
    if name not in have:
        remedy = f"name another with {role}={did_you_mean(name, have)}"
        raise missing_column(where, name, have, remedy)
    return name
