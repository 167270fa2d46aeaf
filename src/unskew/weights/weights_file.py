"""The file of fitted weights: one row an item, the rest in the metadata.

The columns are what others join: item, weight, log_weight, p_reference, p_before, p_after. How the weights were
made is JSON in the metadata, and the arrays that are not of everybody's concern are a second Arrow table there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Floats
from unskew.data.policy import Policy
from unskew.data.times import require_label
from unskew.errors import function
from unskew.files import report_damage
from unskew.frames import as_array
from unskew.table_files import (
    read_arrays,
    read_parquet,
    require_entries,
    require_format,
    require_kind,
    write_table,
)
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_report import FitReport
from unskew.weights.groups import GroupWeights, ItemGroups

if TYPE_CHECKING:
    from unskew.weights.item_weights import ItemWeights

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


def write_weights(weights: ItemWeights, path: Path) -> None:
    """Write the weights as Parquet; the table alone as CSV to a ``.csv`` file."""
    about = {
        "reference": weights.reference,
        "at": weights.at,
        "after": weights.after,
        "reference_after": weights.reference_after,
        "report": weights.report.to_dict(),
        "options": weights.options.to_dict() | {"items": None},
        "policy": weights.policy.to_dict(),
        "view_details": weights.view_details,
        "margins": [margin.to_dict() for margin in weights.margins],
    }
    arrays = {name: pa.array(getattr(weights, name), type=kind) for name, kind in _ARRAYS.items()}
    if weights.options.items is not None:
        arrays[_CHOSEN] = as_array(list(weights.options.items))
    for k, margin in enumerate(weights.options.margins):
        if isinstance(margin, ItemGroups):
            arrays[_GROUPED.format(k)] = as_array(list(margin.mapping))
            arrays[_GROUPS.format(k)] = as_array([str(group) for group in margin.mapping.values()])
    write_table(path, weights.to_arrow(), _KIND, about, arrays)


def read_weights(path: Path) -> dict[str, Any]:
    """The fields of what `write_weights` wrote."""
    table, about = read_parquet(path)
    remedy = f"make one with {function('fit_weights')}"
    require_kind(path, about, _KIND, remedy)
    require_format(path, about, remedy)
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
                about["options"] | {"items": _read_chosen(arrays)},
                [_read_groups(arrays, k) for k in range(len(about["options"].get("margins", ())))],
            ),
            "policy": Policy.from_dict(about["policy"]),
            "view_details": str(about.get("view_details", "")),
            "margins": _read_margins(about),
        }
        _check(fields, column("weight"))
        return fields


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


def _read_chosen(arrays: dict[str, pa.Array]) -> list[Any] | None:
    return arrays[_CHOSEN].to_pylist() if _CHOSEN in arrays else None


def _read_margins(about: dict[str, Any]) -> tuple[GroupWeights, ...]:
    """The weights of the groups of each margin that the options name."""
    found = tuple(GroupWeights.from_dict(margin) for margin in about.get("margins", ()))
    if len(found) != len(about["options"].get("margins", ())):
        raise ValueError("it names other margins than it has weights for")
    return found


def _read_groups(arrays: dict[str, pa.Array], k: int) -> dict[Any, Any] | None:
    """The mapping of the margin of that number, if it has one."""
    items = arrays.get(_GROUPED.format(k))
    return (
        None if items is None else dict(zip(items.to_pylist(), arrays[_GROUPS.format(k)].to_pylist(), strict=True))
    )
