"""Fitted item weights: what they are, how good they are, and the file they are kept in."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.arrays import distances
from unskew.errors import InputError, PolicyError, TimeError, UnskewWarning
from unskew.data.shares import Certificate, Share
from unskew.files import packed, read_parquet, unpacked, write_parquet
from unskew.frames import to_native
from unskew.data.ids import Ids
from unskew.data.population import cohort_of, taking_part
from unskew.data.priors import Policy
from unskew.arrays.sweep import Floats
from unskew.data.times import Label

if TYPE_CHECKING:
    from unskew.data.snapshot import Snapshot


@dataclass(frozen=True, repr=False, eq=False)
class ItemWeights:
    """Item weights that bring a snapshot's item marginal to that of a reference date.

    Arrays have one entry per item of the snapshot, in the order of `items`.

    Attributes
    ----------
    items
        The ids.
    log_weights
        Log of the weights, scaled so that ``sum_i T_i log w_i = 0``; -inf for a dropped item.
    p_reference
        P_t0(i), of the users evaluated there.
    p_before
        P_t1(i), unweighted, of all users.
    p_after
        The weighted marginal q of the users evaluated.
    target
        What was fitted: p_reference without vanished items, renormalised (with
        ``new_items="keep"``: scaled to leave new items their mass).
    vanished
        The probabilities at t0 of items that nobody holds now (they have no row here), largest first.
    trapped
        The items of the `certificate`.
    divergence_before, divergence_after
        D in nats: of the raw snapshot, and of the fitted target from q.
    bound_before, bound_after
        Total variation from the whole of P_t0: of the raw snapshot with all users and items, and of q.
        No constant algorithm's score in [0, 1] is off by more.
    residual
        Total variation between q and the fitted target.
    bound_least
        No weighting of these profiles has a smaller residual.
    gap
        ``D - min D`` is at most this, over every choice of P(i|u).
    status
        ``solved``: the residual is at most `tol` (with `top` or `items`: the gradient is);
        ``certified``: no weighting can do better by more than `tol`; ``unfinished``: neither.
    new_items, vanished_items
        Items of one date only: in no profile of those evaluated at the other.
    users_left_out, users_left_out_reference
        Users who hold something at t1 (at t0) and do not take part.
    """

    items: pa.Array
    log_weights: Floats
    p_reference: Floats
    p_before: Floats
    p_after: Floats
    target: Floats
    vanished: Floats
    trapped: npt.NDArray[np.bool_]
    reference: Label | None
    at: Label
    status: str
    divergence_before: float
    divergence_after: float
    bound_before: float
    bound_after: float
    residual: float
    bound_least: float
    gap: float
    certificate: Certificate
    passes: int
    history: tuple[float, ...]
    new_items: Share
    vanished_items: Share
    users_left_out: Share
    users_left_out_reference: Share
    method: str = "scaling"
    top: int | None = None
    fitted: int = 0
    restricted: bool = False
    tol: float = 0.0
    policy: Policy = Policy()
    new_items_policy: str = "drop"
    seconds: float = 0.0
    frames: str | None = None

    @property
    def weights(self) -> Floats:
        """``exp(log_weights)``; 0 for a dropped item and no other. Where it matters, use `log_weights`."""
        with np.errstate(over="ignore", under="ignore"):
            weights = np.clip(np.exp(self.log_weights), sys.float_info.min, sys.float_info.max)
        return np.where(self.log_weights > -np.inf, weights, 0.0)

    @property
    def divergence(self) -> float:
        """D after weighting, in nats."""
        return self.divergence_after

    @property
    def bound(self) -> float:
        """How far a constant algorithm's score in [0, 1] can still be from its score at t0."""
        return self.bound_after

    @property
    def converged(self) -> bool:
        """Whether the fit ended because there was nothing left to gain."""
        return self.status != "unfinished"

    @property
    def weight_range(self) -> tuple[float, float]:
        """Smallest and largest weight of the items that have one."""
        some = self.weights[self.log_weights > -np.inf]
        return float(some.min()), float(some.max())

    @property
    def trapped_items(self) -> list[Any]:
        """The ids of the items that prove `bound_least`."""
        ids: list[Any] = self.items.filter(pa.array(self.trapped)).to_pylist()
        return ids

    @property
    def explanation(self) -> str:
        """Why the fit ended where it did, in words."""
        if self.restricted and self.status == "solved" and self.residual > self.tol:
            return (
                f"the gradient of D over these {self.fitted} weights is at most {self.tol:g}: "
                "changing them a little gains nothing; more items would"
            )
        if self.status == "solved" and self.new_items_policy == "keep" and self.new_items.count:
            return (
                f"among the items of the reference date the weighted mix is that of then to within {self.tol:g}; "
                f"the {self.new_items.count} new items keep their mass, so that nothing is claimed for scores at "
                "that date beyond the bound"
            )
        if self.status == "solved" and self.vanished_items.mass > self.tol:
            gone = self.vanished_items
            return (
                f"among the items left the weighted mix is that of the reference date to within {self.tol:g}; "
                f"{gone.count} vanished items had {_percent(gone.mass)} of the mass then, "
                "which no weighting brings back"
            )
        if self.status == "solved":
            return f"the weighted item mix is that of the reference date to within {self.tol:g}"
        kept = self.new_items_policy == "keep" and self.new_items.count > 0
        if self.status == "certified" and (kept or self.vanished_items.count > 0):
            return self.certificate.explained("should get {} of the fitted mix")
        if self.status == "certified":
            return self.certificate.explanation
        return (
            f"the fit stopped after {self.passes} passes: TV is {self.residual:.2g}, and all that is known is "
            f"that no weighting gets below {self.bound_least:.2g}; give more passes or a larger tol"
        )

    def worst(self, k: int) -> float:
        """The most by which hit@k of a constant list can still differ from its score at t0."""
        if k < 1:
            raise InputError(f"worst(k) is about lists of k items; k is {k}")
        p = np.concatenate([self.p_reference, self.vanished])
        q = np.concatenate([self.p_after, np.zeros(len(self.vanished))])
        return distances.worst(p, q, k)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return (
            f"ItemWeights({self.fitted} items at {self.at} to {self.reference}: "
            f"{self.status} in {self.passes} passes\n"
            f"  divergence {self.divergence_before:.4g} -> {self.divergence_after:.4g} nats\n"
            f"  bound      {self.bound_before:.4g} -> {self.bound_after:.4g} (least possible residual "
            f"{self.bound_least:.4g})\n"
            f"  left out   {_percent(self.users_left_out.mass)} of users, "
            f"{_percent(self.new_items.mass)} in {self.new_items.count} new items, "
            f"{_percent(self.vanished_items.mass)} in {self.vanished_items.count} vanished items)"
        )

    def to_arrow(self) -> pa.Table:
        """Columns item, weight, log_weight, p_reference, p_before, p_after."""
        return pa.table(
            {
                "item": self.items,
                "weight": self.weights,
                "log_weight": self.log_weights,
                "p_reference": self.p_reference,
                "p_before": self.p_before,
                "p_after": self.p_after,
            }
        )

    def to_frame(self) -> Any:
        """The same in the dataframe library that the log came in; see `unskew.frames.to_native`."""
        return to_native(self.to_arrow(), self.frames)

    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON: what ``unskew weights --json`` prints."""
        return {
            "reference": self.reference,
            "at": self.at,
            "method": self.method,
            "top": self.top,
            "items": self.fitted,
            "status": self.status,
            "converged": self.converged,
            "explanation": self.explanation,
            "divergence_before": self.divergence_before,
            "divergence_after": self.divergence_after,
            "bound_before": self.bound_before,
            "bound_after": self.bound_after,
            "bound_least": self.bound_least,
            "residual": self.residual,
            "worst_at_5": self.worst(5),
            "gap": self.gap,
            "weight_range": list(self.weight_range),
            "passes": self.passes,
            "seconds": self.seconds,
            "new_items": asdict(self.new_items),
            "vanished_items": asdict(self.vanished_items),
            "users_left_out": asdict(self.users_left_out),
            "users_left_out_reference": asdict(self.users_left_out_reference),
            "certificate": asdict(self.certificate),
            "tol": self.tol,
            "new_items_policy": self.new_items_policy,
            "policy": self.policy.to_dict(),
        }

    def save(self, path: str | Path) -> None:
        """Write the weights as Parquet, all the rest in the schema's metadata."""
        told = {name: _told(getattr(self, name)) for name in _TOLD}
        arrays = {name: packed(getattr(self, name)) for name in _PACKED}
        write_parquet(Path(path), self.to_arrow(), "weights", {**told, **arrays})

    @classmethod
    def load(cls, path: str | Path) -> ItemWeights:
        """Read what `save` wrote."""
        table, told = read_parquet(Path(path))
        kind = told.get("kind")
        if kind != "weights":
            what = f"a {kind}" if kind else "something else"
            raise InputError(f"{path} holds {what}, not item weights: make them with 'unskew weights'")
        if any(name not in told for name in (*_TOLD, *_PACKED)):
            raise InputError(f"{path} was written by another version of unskew: fit the weights again")
        shares = ("new_items", "vanished_items", "users_left_out", "users_left_out_reference")
        values: dict[str, Any] = {name: told[name] for name in _TOLD}
        values |= {name: Share(**told[name]) for name in shares}
        values["certificate"] = Certificate(**told["certificate"])
        values["policy"] = Policy.from_dict(told["policy"])
        values["history"] = tuple(told["history"])
        values["trapped"] = unpacked(told["trapped"]).astype(bool)
        values |= {name: unpacked(told[name]) for name in ("target", "vanished")}

        def column(name: str) -> Floats:
            return np.asarray(table.column(name).to_numpy(), dtype=np.float64)

        return cls(
            items=table.column("item").combine_chunks(),
            log_weights=column("log_weight"),
            p_reference=column("p_reference"),
            p_before=column("p_before"),
            p_after=column("p_after"),
            **values,
        )

    def applied_to(self, snapshot: Snapshot, before: Snapshot | None = None) -> tuple[Snapshot, Floats]:
        """The snapshot of the users who take part under these weights, and a log-weight for each item.

        An item that the weights do not know is new: it is dropped or keeps weight 1, as new items
        were when the weights were fitted. `before` is the reference date, by default that of the same log;
        it matters only for ``users="both"``.
        """
        mine, theirs = replace(self.policy, min_items=1, users="all"), snapshot.policy
        theirs.require_same(mine, "the file of weights")
        if not self.is_of(snapshot):
            warnings.warn(
                f"the weights were fitted at {self.at} and are used at {snapshot.at}: their bound does not hold "
                "there; fit them at that date",
                UnskewWarning,
                stacklevel=3,
            )
        ids = snapshot.log.items
        codes = self._ids.codes(ids.values)
        unknown = -np.inf if self.new_items_policy == "drop" else 0.0
        theta = np.where(codes >= 0, self.log_weights[codes], unknown)
        if not (theta > -np.inf).any():
            raise InputError(
                f"the weights and the log share no item: the weights have {self._ids.examples()}, the log has "
                f"{ids.examples()}"
            )
        cohort = None
        if self.policy.users == "both":
            if before is None and self.reference is None:
                raise PolicyError("weights for the users of both dates need to know the reference date")
            before = snapshot.log.at(self.reference) if before is None else before
            cohort = cohort_of(before, snapshot, self.policy.min_items)
        part = taking_part(snapshot, theta > -np.inf, self.policy.min_items, cohort)
        return snapshot.restricted(part), theta

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether the weights were fitted at the date of this snapshot."""
        if self.at == snapshot.at:
            return True
        try:
            return bool(snapshot.log.axis.moment(self.at).tick == snapshot.tick)
        except TimeError:
            return False

    @cached_property
    def _ids(self) -> Ids:
        return Ids.of(self.items)


_PACKED = ("target", "vanished", "trapped")
_ARRAYS = ("items", "log_weights", "p_reference", "p_before", "p_after", *_PACKED)
_TOLD = tuple(f.name for f in fields(ItemWeights) if f.name not in (*_ARRAYS, "frames"))


def _told(value: Any) -> Any:
    if isinstance(value, Share | Certificate):
        return asdict(value)
    if isinstance(value, Policy):
        return value.to_dict()
    return value


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
