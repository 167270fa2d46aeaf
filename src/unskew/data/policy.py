"""How users and items were chosen: who is evaluated, at which level, and the arrays of P(u) and P(i|u)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from unskew.arrays import kernels
from unskew.arrays.blocks import over_blocks
from unskew.arrays.types import Floats, Mask
from unskew.data.ids import require_codes_of_mapping
from unskew.data.times import to_python_value
from unskew.errors import ColumnError, InputError, PolicyError, option
from unskew.storage.files import read_dataclass
from unskew.text import enumerate_words, one_line

if TYPE_CHECKING:
    from unskew.data.slice import Slice


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    known: Any = level
    if not isinstance(known, Real) or not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, not {level!r}")


def critical_value(level: float, n: float | None = None) -> float:
    """How many standard errors an interval has on each side; `n` units gave the error, None if it is known.

    >>> [round(critical_value(0.95, n), 3) for n in (None, 1000, 10)]
    [1.96, 1.962, 2.262]
    """
    check_level(level)
    upper = 0.5 + level / 2
    return float(ndtri(upper) if n is None else stdtrit(n - 1, upper))


@dataclass(frozen=True)
class Share:
    """How many, and how much of the probability."""

    count: int = 0
    mass: float = 0.0

    @classmethod
    def of(cls, mask: Mask, shares: Floats) -> Self:
        """Those that are marked, and what they have of `shares`."""
        return cls(int(mask.sum()), float(shares[mask].sum()))


def eligible_users(part: Slice, keep: Mask | None, min_items: int, cohort: Mask | None = None) -> Mask:
    """The users with P(u) > 0, `min_items` items and one item to keep (None for all); of the cohort, if any.

    Items that are not kept count for `min_items`: raw and weighted scores rest on the same users, but for those
    who have no item to keep.
    """
    eligible: Mask = part.sizes() >= max(min_items, 1)
    if keep is not None:
        eligible &= part.kept_sizes(keep) > 0
    eligible &= part.shares() > 0
    return eligible if cohort is None else eligible & cohort


def find_users(part: Slice, mask: Mask, other: Slice) -> Mask:
    """Which users of `other` are in the `mask` of `part`; the two may come from different logs."""
    if part.log.users is other.log.users:
        return mask
    codes = part.log.users.codes(other.log.users.values)
    return np.where(codes >= 0, mask[codes], False)


USERS = ("all", "both")
"""Who may be eligible: all users, or those who exist at both dates."""

HELD = {
    "profiles": "whole profiles",
    "window": "interactions between two times",
    "later": "interactions of users after a time at which they had a profile",
    "last": "the last items of profiles",
}
"""What items are held out from, in words."""

_PROTOCOLS = {"profiles": "leave-one-out", "later": "time split", "last": "leave-last-out"}


@dataclass(frozen=True)
class Policy:
    """How a marginal was made. Two marginals can be compared only under the same policy.

    Attributes
    ----------
    p_user, p_item
        How P(u) and P(i|u) were chosen, in words.
    min_items
        Only users with at least this many items were eligible.
    users
        ``all``, or ``both`` for the users who exist at both dates.
    view
        Which view of the log was used.
    held
        What items are held out from: whole ``profiles``; a ``window`` of what anyone took; what users took
        ``later`` than a time at which they had a profile; or the ``last`` item of each profile.
    """

    p_user: str = "uniform"
    p_item: str = "uniform"
    min_items: int = 1
    users: str = "all"
    view: str = "all"
    held: str = "profiles"

    @property
    def protocol(self) -> str:
        """How items are held out: ``leave-one-out``, ``time split`` or ``leave-last-out``; or ``window``."""
        return _PROTOCOLS.get(self.held, self.held)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """What `to_dict` gave; a ValueError if it cannot be."""
        policy = read_dataclass(cls, {f.name: values[f.name] for f in fields(cls) if f.name in values})
        for name, known in (("users", USERS), ("held", HELD)):
            if getattr(policy, name) not in known:
                raise ValueError(f"{name} is {one_line(getattr(policy, name))}")
        if policy.min_items < 1:
            raise ValueError(f"at least {policy.min_items} items")
        return policy

    def require_same(self, other: Policy, what: str) -> None:
        """Refuse a reference that was made under another policy than this one."""
        names = [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]
        if names:
            other_words, own_words = (
                enumerate_words([_describe(name, getattr(policy, name)) for name in names])
                for policy in (other, self)
            )
            raise PolicyError(
                f"{what} was made with {other_words}, not {own_words}",
                remedy="make it again with the options used here, or use the options it was made with",
            )


def _describe(name: str, value: Any) -> str:
    """One choice in words, as whoever made it would write it."""
    if name == "view":
        return f"the {value!r} view of the log"
    if name == "held":
        return HELD[value]
    if value == "given":
        return f"numbers given for {option(name)}"
    return option(name, value.removeprefix("column ") if isinstance(value, str) else value)


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


def _is_uniform(prior: Any) -> bool:
    return prior is None or (isinstance(prior, str) and prior == "uniform")


def user_prior(snapshot: Slice, prior: UserPrior) -> tuple[Floats | None, str]:
    """P(u) as an array over all users of the log (None for uniform), and its name."""
    log = snapshot.log
    if _is_uniform(prior):
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
    if _is_uniform(prior):
        return "uniform"
    return str(prior) if isinstance(prior, Recency) else f"column {prior}"


def item_prior(snapshot: Slice, prior: ItemPrior) -> tuple[Floats | None, str]:
    """P(i|u) as an array over the entries (None for uniform), and its name."""
    if _is_uniform(prior):
        return None, "uniform"
    log, p = snapshot.log, snapshot.profiles
    if isinstance(prior, Recency):
        half_life = log.axis.duration(prior.half_life)
        time = snapshot.per_entry(log.time)
        ages, b = (p.rows, time, half_life, MOST_HALF_LIVES), np.ones(len(p.item))
        over_blocks(p.edges, len(p.item), lambda _, lo, hi: kernels.fill_recency(lo, hi, *ages, b))
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
    holds_any = p.stop != p.start
    rows = np.flatnonzero(holds_any)
    # the rows of one array, each up to its stop: reduceat over pairs of (start, stop)
    cuts = np.column_stack([p.start[rows], p.stop[rows]]).astype(np.int64).ravel()
    padded = np.append(values, np.nan)
    low = np.minimum.reduceat(padded, cuts)[::2]
    high = np.maximum.reduceat(padded, cuts)[::2]
    unknown = np.isnan(low)
    if unknown.any():
        user = snapshot.log.users[int(rows[np.argmax(unknown)])]
        raise ColumnError(
            f"column {column!r} cannot be P(u): user {user!r} has a row without a number",
            remedy=f"fill it in, or name another column with {option('p_user')}",
        )
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
    return np.asarray(np.where(here, shares, 0.0) / most)  # so that the sum of huge numbers is finite
