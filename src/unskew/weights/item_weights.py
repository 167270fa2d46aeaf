"""Fitted item weights: the weights themselves, what applies them, and their file.

The figures of the fit are in its `report`, the words in `explanation`.
"""

from __future__ import annotations

import sys
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
from unskew.data.slice import Slice, Weighting
from unskew.data.times import Label, require_label
from unskew.engines.population import is_at_spark, open_population, require_local
from unskew.errors import InputError, PolicyError, TimeError, function, option, warn
from unskew.frames import as_array, show_as_table, to_native
from unskew.storage.files import report_damage
from unskew.storage.tables import (
    read_arrays,
    read_parquet,
    require_entries,
    require_kind,
    write_table,
)
from unskew.text import short_percent
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_report import FitReport, explain_fit

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot
    from unskew.engines.spark.population import SparkWeighting
    from unskew.weights.margins import GroupWeights


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
        kept = self.weights[self.log_weights > -np.inf]
        return float(kept.min()), float(kept.max())

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
            raise InputError(f"worst(k) is about lists of k items; k is {k}", remedy="give at least 1")
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
        about = {
            "reference": self.reference,
            "at": self.at,
            "after": self.after,
            "reference_after": self.reference_after,
            "report": self.report.to_dict(),
            "options": self.options.to_dict() | {"items": None},
            "policy": self.policy.to_dict(),
            "view_details": self.view_details,
            "margins": [margin.to_dict() for margin in self.margins],
        }
        arrays = {name: pa.array(getattr(self, name), type=kind) for name, kind in _ARRAYS.items()}
        if self.options.items is not None:
            arrays[_CHOSEN] = as_array(list(self.options.items))
        for k, margin in enumerate(self.options.margins):
            mapping = getattr(margin, "mapping", None)  # of `ItemGroups` alone
            if mapping is not None:
                arrays[_GROUPED.format(k)] = as_array(list(mapping))
                arrays[_GROUPS.format(k)] = as_array([str(group) for group in mapping.values()])
        write_table(Path(path), self.to_arrow(), _KIND, about, arrays)

    @classmethod
    def load(cls, path: str | Path) -> ItemWeights:
        """Read what `save` wrote."""
        path = Path(path)
        table, about = read_parquet(path)
        remedy = f"make one with {function('fit_weights')}"
        require_kind(path, about, _KIND, remedy)
        arrays = read_arrays(table.schema)
        require_entries(path, about | arrays, (*_ABOUT, *_ARRAYS), remedy)

        def column(name: str) -> Floats:
            if table.column(name).type != pa.float64():
                raise ValueError(f"{name} holds {table.column(name).type}")
            return np.asarray(table.column(name).to_numpy(), dtype=np.float64)

        with report_damage(path, remedy):
            fields = {
                "items": table.column("item").combine_chunks(),
                "log_weights": column("log_weight"),
                "p_reference": column("p_reference"),
                "p_before": column("p_before"),
                "p_after": column("p_after"),
                **{name: arrays[name].to_numpy(zero_copy_only=False) for name in _ARRAYS},
                **{name: require_label(name, about.get(name)) for name in _TIMES},
                "report": FitReport.from_dict(about["report"]),
                "options": FitOptions.from_dict(
                    about["options"] | {"items": arrays[_CHOSEN].to_pylist() if _CHOSEN in arrays else None},
                    [_read_groups(arrays, k) for k in range(len(about["options"].get("margins", ())))],
                ),
                "policy": Policy.from_dict(about["policy"]),
                "view_details": str(about.get("view_details", "")),
                "margins": _read_margins(about),
            }
            _check(fields, column("weight"))
            return cls(**fields)

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
            fitted, asked = (details or "nothing more" for details in (self.view_details, part.log.view_details))
            raise PolicyError(
                f"the file of weights was made under another {part.policy.view!r} view of the log ({fitted}; not "
                f"{asked})",
                remedy="make it again with what is known here, or give what it was made with",
            )
        if not self.is_fitted_at(part):
            warn(
                f"the weights were fitted at {self.at} and are used at {part.at}: their bound does not hold "
                "there; fit them at that date"
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
                raise PolicyError(
                    "weights for the users of both dates need to know the reference date",
                    remedy=f"give {option('reference')}",
                )
            reference = self._split_reference(part) if reference is None else reference
            cohort = everyone.also_in(open_population(reference).eligible(None, self.policy.min_items))
        held: Any = everyone.eligible(theta > -np.inf, self.policy.min_items, cohort)
        weighting: Weighting | SparkWeighting = held.weigh(theta, self.options.top)
        if not self.margins:
            return weighting
        from unskew.weights.margins import weigh_pairs

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
        start = part.after
        fitted, asked = self.policy.held, part.policy.held
        if fitted != asked:
            last = option("leave_last_out", True)
            used = {"later": option("after", self.after), "last": last}.get(fitted)
            wanted = {"later": option("after", start), "last": last}.get(asked)
            remedies = [] if used is None else [f"use {used} here too"]
            remedies.append(f"fit them again with {wanted or 'the options used here'}")
            raise PolicyError(
                f"the weights were fitted to {HELD.get(fitted, fitted)}, not to {HELD.get(asked, asked)}",
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


_KIND = "weights"
_TIMES = ("reference", "at", "after", "reference_after")
_ABOUT = ("reference", "at", "report", "options", "policy")
_ARRAYS = {"target": pa.float64(), "vanished": pa.float64(), "trapped": pa.bool_()}
_CHOSEN = "chosen"  # items that the options name: ids of any type, which JSON may not have
_GROUPED, _GROUPS = "margin {} items", "margin {} groups"  # likewise the mapping of a margin


def to_weights(log_weights: Floats) -> Floats:
    """``exp(log_weights)``; 0 for a dropped item and no other."""
    with np.errstate(over="ignore", under="ignore"):
        weights = np.clip(np.exp(log_weights), sys.float_info.min, sys.float_info.max)
    return np.where(log_weights > -np.inf, weights, 0.0)


def _check(fields: dict[str, Any], weights: Floats) -> None:
    """Refuse numbers that no fit gives."""
    items, theta = fields["items"], fields["log_weights"]
    if not len(items):
        raise ValueError("it holds no items")
    if fields["at"] is None or items.null_count or len(items.unique()) < len(items):
        raise ValueError("it does not name each item once")
    if np.isnan(theta).any() or (theta == np.inf).any() or not (theta > -np.inf).any():
        raise ValueError("log_weight is not a number for each item")
    if not np.allclose(weights, to_weights(theta), rtol=1e-9, atol=0):
        raise ValueError("weight and log_weight are not of the same weights")
    for name in ("p_reference", "p_before", "p_after", "target", "vanished"):
        p = fields[name]
        if p.dtype != np.float64 or not np.isfinite(p).all() or (p < 0).any() or p.sum() > 1 + 1e-6:
            raise ValueError(f"{name} does not hold probabilities")
        if len(p) != len(items) and name != "vanished":
            raise ValueError(f"{name} has {len(p)} values for {len(items)} items")
    if abs(fields["p_after"].sum() - 1) > 1e-6:
        raise ValueError("p_after does not sum to 1")
    if fields["trapped"].dtype != np.bool_ or len(fields["trapped"]) != len(items):
        raise ValueError("trapped is not true or false for each item")


def _read_margins(about: dict[str, Any]) -> tuple[GroupWeights, ...]:
    """The weights of the groups of each margin that the options name."""
    margins = about.get("margins", ())
    if len(margins) != len(about["options"].get("margins", ())):
        raise ValueError("it names other margins than it has weights for")
    if not margins:
        return ()
    from unskew.weights.margins import GroupWeights

    return tuple(GroupWeights.from_dict(margin) for margin in margins)


def _read_groups(arrays: dict[str, pa.Array], k: int) -> dict[Any, Any] | None:
    """The mapping of the margin of that number, if it has one."""
    items = arrays.get(_GROUPED.format(k))
    return (
        None if items is None else dict(zip(items.to_pylist(), arrays[_GROUPS.format(k)].to_pylist(), strict=True))
    )
