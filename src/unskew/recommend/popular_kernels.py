"""The loops of popularity, compiled with numba; see `unskew.recommend.candidates` for the rules."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import NamedTuple

from unskew.arrays.compiling import compiled
from unskew.arrays.types import Codes


class Popularity(NamedTuple):
    """Where each item stands.

    ``key[i]`` sorts the items: by how many hold them, most first, then by code. Once i is held out its key is
    ``held_key[i]``, and ``ahead[i]`` items stand ahead of it; -1 if it is then not recommended at all.
    """

    key: Codes
    held_key: Codes
    ahead: Codes


@compiled
def rank_by_popularity(lo, hi, pairs, profiles, popularity, k, out):
    """The rank of held-out items: those ahead of it, less those that the profile holds."""
    user, held = pairs.user, pairs.item
    start, stop, item = profiles.start, profiles.stop, profiles.item
    key, held_key, ahead = popularity.key, popularity.held_key, popularity.ahead
    for p in range(lo, hi):
        h = held[p]
        rank = ahead[h] + 1
        if rank <= 0:
            continue
        u = user[p]
        mine = held_key[h]
        for e in range(start[u], stop[u]):
            j = item[e]
            if j != h and key[j] < mine:
                rank -= 1
        if rank <= k:
            out[p] = rank


@compiled
def recommend_most_popular(lo, hi, profiles, best, k, mine, out):
    """The first k of `best` that are not in the profile; `mine` is scratch."""
    start, stop, item = profiles.start, profiles.stop, profiles.item
    for p in range(lo, hi):
        for e in range(start[p], stop[p]):
            mine[item[e]] = p + 1
        n = 0
        for i in best:
            if n == k:
                break
            if mine[i] != p + 1:
                out[p, n] = i
                n += 1
