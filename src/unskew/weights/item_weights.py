"""Fitted item weights: the weights themselves, and what applies them.

The figures of the fit are in its `report`, the words in `explanation`, the file in `weights_file`.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from unskew.arrays import distances
from unskew.arrays.types import Floats, Mask
from unskew.checks import require_instance
from unskew.data.held_out import SplitRule
from unskew.data.ids import Ids
from unskew.data.policy import HELD, Policy
from unskew.data.slice import Slice
from unskew.data.times import Label
from unskew.data.weighting import Weighting
from unskew.engines import open_population
from unskew.engines.population import is_at_spark, require_local
from unskew.errors import InputError, PolicyError, TimeError, UnskewWarning, option
from unskew.frames import show_as_table, to_native
from unskew.text import short_percent
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_report import FitReport, explain_fit
from unskew.weights.groups import GroupWeights, weigh_pairs
from unskew.weights.weights_file import read_weights, to_weights, write_weights

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot
    from unskew.engines.spark.population import SparkWeighting


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
        The items of the certificate.
    reference, at
        The two dates; that of the reference is None if it is not known.
    reference_after, after
        After which times things are held out up to these dates; None without a time split, or where that is not
        known.
    report
        The figures: how good the weights are, what was left out, how the fit ended.
    options, policy
        How they were fitted, and for which P(u), P(i|u), users and view.
    margins
        The weights of groups of pairs, one for each of the margins beyond items: the weight of a pair is that of
        its item times those of its groups.
    """

    items: pa.Array
    log_weights: Floats
    p_reference: Floats
    p_before: Floats
    p_after: Floats
    target: Floats
    vanished: Floats
    trapped: Mask
    reference: Label | None
    at: Label
    report: FitReport
    options: FitOptions = FitOptions()
    policy: Policy = Policy()
    frames: str | None = None
    after: Label | None = None
    reference_after: Label | None = None
    view_details: str = ""
    margins: tuple[GroupWeights, ...] = ()

    @property
    def weights(self) -> Floats:
        """``exp(log_weights)``; 0 for a dropped item and no other. Where it matters, use `log_weights`."""
        return to_weights(self.log_weights)

    @property
    def weight_range(self) -> tuple[float, float]:
        """Smallest and largest weight of the items that have one."""
        some = self.weights[self.log_weights > -np.inf]
        return float(some.min()), float(some.max())

    @property
    def status(self) -> str:
        """How the fit ended: ``solved``, ``certified`` or ``unfinished``."""
        return self.report.status

    @property
    def divergence(self) -> float:
        """D after weighting, in nats."""
        return self.report.divergence

    @property
    def bound(self) -> float:
        """How far a constant algorithm's score in [0, 1] can still be from its score at t0."""
        return self.report.bound

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of texts that a log must be read with for these weights: those of their margins."""
        return tuple(column for margin in self.options.margins for column in margin.columns)

    @property
    def explanation(self) -> str:
        """Why the fit ended where it did, in words."""
        return explain_fit(self.report, self.options)

    @property
    def trapped_items(self) -> list[Any]:
        """The ids of the items that prove `bound_least`."""
        ids: list[Any] = self.items.filter(pa.array(self.trapped)).to_pylist()
        return ids

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
        r = self.report
        return (
            f"ItemWeights({r.fitted} items at {self.at} to {self.reference}: "
            f"{r.status} in {r.passes} passes\n"
            f"  divergence {r.divergence_before:.4g} -> {r.divergence:.4g} nats\n"
            f"  bound      {r.bound_before:.4g} -> {r.bound:.4g} (least possible residual "
            f"{r.bound_least:.4g})\n"
            f"  excluded   {short_percent(r.users_excluded.mass)} of users, "
            f"{short_percent(r.new_items.mass)} in {r.new_items.count} new items, "
            f"{short_percent(r.vanished_items.mass)} in {r.vanished_items.count} vanished items)"
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

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """The same in the dataframe library that the log came in; see `unskew.frames.to_native`."""
        return to_native(self.to_arrow(), self.frames)

    def plot(self) -> Any:
        """How large the weights are, and how closely they match the reference date, as an altair chart."""
        from unskew.weights.mix_charts import plot_weights  # a drawing library is loaded when it draws

        return plot_weights(self)

    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON: what ``unskew weights --json`` prints."""
        r = self.report
        return {
            "reference": self.reference,
            "at": self.at,
            "after": self.after,
            "reference_after": self.reference_after,
            "method": self.options.method,
            "top": self.options.top,
            "items": r.fitted,
            "status": r.status,
            "converged": r.converged,
            "explanation": self.explanation,
            "divergence_before": r.divergence_before,
            "divergence_after": r.divergence,
            "bound_before": r.bound_before,
            "bound_after": r.bound,
            "bound_least": r.bound_least,
            "residual": r.residual,
            "worst_at_5": self.worst(5),
            "gap": r.gap,
            "weight_range": list(self.weight_range),
            "passes": r.passes,
            "seconds": r.seconds,
            "new_items": asdict(r.new_items),
            "vanished_items": asdict(r.vanished_items),
            "users_excluded": asdict(r.users_excluded),
            "users_excluded_reference": asdict(r.users_excluded_reference),
            "certificate": asdict(r.certificate),
            "margins": [margin.to_dict() for margin in r.margins],
            "tol": self.options.tol,
            "new_items_policy": self.options.new_items,
            "policy": self.policy.to_dict(),
        }

    def save(self, path: str | Path) -> None:
        """Write the weights as Parquet, all the rest in the metadata; the table alone to a ``.csv`` file."""
        write_weights(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> ItemWeights:
        """Read what `save` wrote."""
        return cls(**read_weights(Path(path)))

    @overload
    def apply(self, part: Slice, reference: Slice | None = None) -> Weighting: ...

    @overload
    def apply(self, part: SparkSnapshot, reference: SparkSnapshot | None = None) -> SparkWeighting: ...

    def apply(
        self, part: Slice | SparkSnapshot, reference: Slice | SparkSnapshot | None = None
    ) -> Weighting | SparkWeighting:
        """The weights on a slice of a log: who is evaluated, and a log-weight for each item of the log.

        An item that the weights do not know is new: it is dropped or keeps weight 1, as new items
        were when the weights were fitted. `reference` is the reference date, by default that of the same log;
        it matters only for ``users="both"``.
        """
        if not is_at_spark(part):
            require_instance(Slice, part, "a snapshot", "give the profiles at a date, such as log.at(date)")
        self._require_same_protocol(part)
        same = replace(self.policy, min_items=part.policy.min_items, users="all")  # users are chosen below
        part.policy.require_same(same, "the file of weights")
        if self.view_details != part.log.view_details:
            mine, theirs = self.view_details or "nothing more", part.log.view_details or "nothing more"
            raise PolicyError(
                f"the file of weights was made under another {part.policy.view!r} view of the log ({mine}; not "
                f"{theirs})",
                remedy="make it again with what is known here, or give what it was made with",
            )
        if not self.is_fitted_at(part):
            warnings.warn(
                f"the weights were fitted at {self.at} and are used at {part.at}: their bound does not hold "
                "there; fit them at that date",
                UnskewWarning,
                stacklevel=3,
            )
        ids = part.log.items
        codes = self._ids.match(ids.values)
        unknown = -np.inf if self.options.drops_new else 0.0
        theta = np.where(codes >= 0, self.log_weights[codes], unknown)
        if not (theta > -np.inf).any():
            raise InputError(
                f"the weights and the log share no item (the weights have {self._ids.examples()}, the log has "
                f"{ids.examples()})",
                remedy="are they ids of the same catalogue?",
            )
        everyone, cohort = open_population(part), None
        if self.policy.users == "both":
            if reference is None and self.reference is None:
                raise PolicyError("weights for the users of both dates need to know the reference date")
            reference = self._split_reference(part) if reference is None else reference
            cohort = everyone.also_in(open_population(reference).eligible(None, self.policy.min_items))
        held: Any = everyone.eligible(theta > -np.inf, self.policy.min_items, cohort)
        weighting: Weighting | SparkWeighting = held.weigh(theta, self.options.top)
        if not self.margins:
            return weighting
        require_local(part, "a margin")
        assert isinstance(weighting, Weighting)
        return weigh_pairs(weighting, self.options.margins, self.margins)

    def is_fitted_at(self, part: Slice | SparkSnapshot) -> bool:
        """Whether the weights were fitted at the date of this slice."""
        if self.at == part.at:
            return True
        try:
            return bool(part.log.axis.moment(self.at).tick == part.tick)
        except TimeError:
            return False

    def _split_reference(self, part: Slice | SparkSnapshot) -> Slice | SparkSnapshot:
        """What the weights were fitted to, of the log of a slice."""
        if not isinstance(part, Slice):
            return part.log.at(self.reference)
        rule = SplitRule(self.reference_after, self.policy.held == "last")
        return rule.split(part.log.at(self.reference)).pairs

    def _require_same_protocol(self, part: Slice | SparkSnapshot) -> None:
        """Refuse what is held out in another way or, at the date of the weights, since another time."""
        start = getattr(part, "after", None)
        ours, theirs = self.policy.held, part.policy.held
        if ours != theirs:
            last = option("leave_last_out", True)
            used = {"later": option("after", self.after), "last": last}.get(ours)
            wanted = {"later": option("after", start), "last": last}.get(theirs)
            remedies = [] if used is None else [f"use {used} here too"]
            remedies.append(f"fit them again with {wanted or 'the options used here'}")
            raise PolicyError(
                f"the weights were fitted to {HELD.get(ours, ours)}, not to {HELD.get(theirs, theirs)}",
                remedy=", or ".join(remedies),
            )
        if start is None or self.after is None or not self.is_fitted_at(part) or start == self.after:
            return
        axis = part.log.axis
        if axis.moment(start).tick != axis.moment(self.after).tick:
            raise PolicyError(
                f"the weights were fitted to interactions after {self.after}, not after {start}",
                remedy=f"fit them again with {option('after', start)}, or use {option('after', self.after)}",
            )

    @cached_property
    def _ids(self) -> Ids:
        return Ids.of(self.items)
