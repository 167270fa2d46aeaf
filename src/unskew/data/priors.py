"""P(u) and P(i|u): how a user, and then an item of its profile, is chosen to be held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unskew.arrays import kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.types import Floats
from unskew.data.ids import require_codes_of_mapping
from unskew.data.times import to_python_value
from unskew.errors import ColumnError, InputError, option

if TYPE_CHECKING:
    from unskew.data.slice import Slice

MOST_HALF_LIVES = 300.0  # beyond 2^-300 all ages count as the same


@dataclass(frozen=True)
class Recency:
    """P(i|u) that favours items taken recently: it halves with every half-life of age.

    Attributes
    ----------
    half_life
        A timedelta, or a number: of days where the log has dates, else in the log's own unit.
    """

    half_life: float | timedelta

    def __str__(self) -> str:
        length = to_python_value(self.half_life)
        days = length / timedelta(days=1) if isinstance(length, timedelta) else length
        return f"recency:{float(days)!r}".removesuffix(".0")


UserPrior = Mapping[Any, float] | npt.ArrayLike | str | None
ItemPrior = Recency | str | None


def user_prior(snapshot: Slice, prior: UserPrior) -> tuple[Floats | None, str]:
    """P(u) as an array over all users of the log (None for uniform), and its name."""
    log = snapshot.log
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return None, "uniform"
    if isinstance(prior, str):
        return _check_shares(snapshot, _constant_per_user(snapshot, prior)), f"column {prior}"
    if isinstance(prior, Mapping):
        codes, numbers = require_codes_of_mapping(log.users, prior, option("p_user"))
        shares = np.full(len(log.users), np.nan)
        known = codes >= 0
        shares[codes[known]] = numbers[known]
        missing = np.isnan(shares) & (snapshot.sizes() > 0)
        if missing.any():
            first = log.users[int(np.argmax(missing))]
            raise InputError(
                f"{option('p_user')} has no number for {int(missing.sum())} of the users, such as {first!r}",
                remedy="give every user of the snapshot one",
            )
        return _check_shares(snapshot, np.where(np.isnan(shares), 0.0, shares)), "given"
    if hasattr(prior, "index") and hasattr(prior, "to_dict"):
        raise InputError(
            f"{option('p_user')} is a Series, whose order may not be that of log.users",
            remedy="give its to_dict() if the index is the user, or its to_numpy() if it is in that order",
        )
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{option('p_user')} must be numbers: {error}") from None
    if shares.shape != (len(log.users),):
        raise InputError(
            f"{option('p_user')} has shape {shares.shape}, but the log has {len(log.users)} users",
            remedy="give one number per user, in the order of log.users",
        )
    return _check_shares(snapshot, shares.copy()), "given"


def describe_item_prior(prior: ItemPrior) -> str:
    """What a P(i|u) is called in a policy."""
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return "uniform"
    return str(prior) if isinstance(prior, Recency) else f"column {prior}"


def item_prior(snapshot: Slice, prior: ItemPrior) -> tuple[Floats | None, str]:
    """P(i|u) as an array over the entries (None for uniform), and its name."""
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return None, "uniform"
    log, p = snapshot.log, snapshot.profiles
    if isinstance(prior, Recency):
        half_life = log.axis.duration(prior.half_life)
        time = snapshot.per_entry(log.time)
        rows, b = p.rows, np.ones(len(p.item))
        over_blocks(
            p.edges(),
            len(p.item),
            lambda k, lo, hi: kernels.fill_recency(lo, hi, rows, time, half_life, MOST_HALF_LIVES, b),
        )
        return b, str(prior)
    if isinstance(prior, str):
        values = snapshot.per_entry(log.column(prior))
        bad = ~(np.isfinite(values) & (values > 0))
        if bad.any():
            bad &= snapshot.mark_entries()  # what comes after the date does not matter
        if bad.any():
            entry = int(np.argmax(bad))
            n = "some" if log.is_part else int(bad.sum())
            where = "" if log.is_part else f" for item {log.items[int(p.item[entry])]!r}"
            raise ColumnError(
                f"column {prior!r} cannot be P(i|u): {n} values are not positive numbers, such as "
                f"{values[entry]}{where}",
                remedy="drop such rows from the log",
            )
        return values, f"column {prior}"
    raise InputError(
        f"{option('p_item')} is {prior!r}", remedy="give None, Recency(half_life) or the name of a column"
    )


def _constant_per_user(snapshot: Slice, column: str) -> Floats:
    values = snapshot.per_entry(snapshot.log.column(column))
    p = snapshot.profiles
    some = p.stop != p.start
    rows = np.flatnonzero(some)
    # the rows of one array, each up to its stop: reduceat over pairs of (start, stop)
    cuts = np.column_stack([p.start[rows], p.stop[rows]]).astype(np.int64).ravel()
    padded = np.append(values, np.nan)
    low = np.minimum.reduceat(padded, cuts)[::2]
    high = np.maximum.reduceat(padded, cuts)[::2]
    unknown = np.isnan(low)
    if unknown.any():
        user = snapshot.log.users[int(rows[np.argmax(unknown)])]
        raise ColumnError(f"column {column!r} cannot be P(u): user {user!r} has a row without a number")
    varying = low != high
    if varying.any():
        k = int(np.argmax(varying))
        user = snapshot.log.users[int(rows[k])]
        raise ColumnError(
            f"column {column!r} cannot be P(u): it must be the same in all rows of a user, "
            f"but user {user!r} has {low[k]:g} and {high[k]:g}"
        )
    shares = np.zeros(p.n_users)
    shares[rows] = low
    return shares


def _check_shares(snapshot: Slice, shares: Floats) -> Floats:
    here = snapshot.sizes() > 0
    bad = here & ~(np.isfinite(shares) & (shares >= 0))
    if bad.any():
        code = int(np.argmax(bad))
        raise InputError(
            f"P(u) must be a finite number that is not negative, but user {snapshot.log.users[code]!r} "
            f"has {shares[code]:g}"
        )
    most = float(shares[here].max(initial=0.0))
    if not most > 0:
        raise InputError(
            f"P(u) is zero for every user who holds anything at {snapshot.at}",
            remedy="give at least one a positive number",
        )
    scaled: Floats = np.where(here, shares, 0.0) / most  # so that the sum of huge numbers is finite
    return scaled
