"""The tastes of real people, from all they ever took, the future included: they like what is close to it.

Users and items are put into a space of few dimensions by a singular value decomposition of who took what::

    S_ui = 1 / sqrt((n_u + mean n) (n_i + mean n))    where u took i, else 0

with n the number of items of a user, or of users of an item. Without the means, every few users and items that
have nothing to do with the rest would be a dimension of their own, and no dimension be left for tastes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from unskew.arrays.types import Codes, Floats
from unskew.worlds.people import Events

_FACTORS = 24
_STEPS = 8  # of the power method: tastes need no more
_LEAST = 0.05  # affinity to what is far from one's history
_BLOCK = 1_000_000  # pairs at a time


@dataclass(frozen=True)
class LearnedTastes:
    """Tastes of real people: the cosine between a user and an item.

    Attributes
    ----------
    users, items
        Rows of ``U S`` and ``V S`` of the decomposition, each of length 1.
    """

    users: Floats
    items: Floats

    @classmethod
    def from_events(cls, events: Events, n_users: int, n_items: int) -> LearnedTastes:
        """Decompose who took what, ever; to the same bits on any number of threads."""
        taken = _scale_matrix(events, n_users, n_items)
        back = taken.T.tocsr()
        right = np.random.default_rng(0).standard_normal((n_items, min(_FACTORS, n_users, n_items)))
        for _ in range(_STEPS):
            left = _orthonormalise(taken @ right)
            right = back @ left
        squares, turn = _spectrum(right)
        return cls(
            _normalise_rows(_multiply(left, turn * np.sqrt(squares))), _normalise_rows(_multiply(right, turn))
        )

    def affinity(self, user: Codes, item: Codes, tick: int | float = 0) -> Floats:
        """The cosine, from a small least value for what is far away to 1."""
        cosine = np.empty(len(user))
        for at in range(0, len(user), _BLOCK):
            part = slice(at, at + _BLOCK)
            cosine[part] = np.einsum("nk,nk->n", self.users[user[part]], self.items[item[part]])
        return np.asarray(_LEAST + (1 - _LEAST) * np.clip(cosine, 0.0, 1.0), dtype=np.float64)


def _scale_matrix(events: Events, n_users: int, n_items: int) -> sparse.csr_array:
    per_user = np.bincount(events.user, minlength=n_users)
    per_item = np.bincount(events.item, minlength=n_items)
    size = (per_user + per_user.mean())[events.user] * (per_item + per_item.mean())[events.item]
    return sparse.csr_array((1 / np.sqrt(size), (events.user, events.item)), shape=(n_users, n_items))


def _orthonormalise(columns: Floats) -> Floats:
    """Columns of length 1 at right angles that span the same space."""
    squares, turn = _spectrum(columns)
    return _multiply(columns, turn / np.sqrt(squares))


def _spectrum(columns: Floats) -> tuple[Floats, Floats]:
    """Squared singular values that are not negligible, and their right vectors."""
    gram = np.einsum("nk,nl->kl", columns, columns)  # adds in a fixed order, which a matrix product does not
    squares, turn = np.linalg.eigh(gram)
    kept = squares > 1e-12 * squares[-1]
    return squares[kept], turn[:, kept]


def _multiply(columns: Floats, turn: Floats) -> Floats:
    return np.asarray(np.einsum("nk,kl->nl", columns, turn), dtype=np.float64)


def _normalise_rows(rows: Floats) -> Floats:
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(length > 0, length, 1.0), dtype=np.float64)
