"""How weights are fitted: one set of options for every fit, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from unskew.errors import PolicyError, option
from unskew.options import check_options

SUBSET_SOLVERS = ("descent", "lbfgs")
"""Those that can fit the weights of some items alone."""

_MAX_PASSES = {"scaling": 500, "descent": 2000, "lbfgs": 2000}


class SharedFitKeywords(TypedDict, total=False):
    """The options that fits of all and of some items share, by name; see `FitOptions`."""

    method: str
    tol: float
    max_passes: int | None
    new_items: str | None
    min_items: int
    users: str


SHARED_OPTIONS = tuple(SharedFitKeywords.__annotations__)


class FitKeywords(SharedFitKeywords, total=False):
    """All options by name, as functions take them; see `FitOptions`."""

    top: int | None
    items: Iterable[Any] | None
    margins: Iterable[Any]


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How weights are fitted.

    Attributes
    ----------
    top
        Fit only the p items of largest change, as in the paper; others keep weight 1. Needs
        ``method="descent"`` or ``"lbfgs"``.
    items
        Fit only these items, say those of a campaign; like `top`.
    method
        ``scaling`` (all items at once; the default), ``descent`` (the paper's) or ``lbfgs``.
    tol
        In score units: stop when the total variation from the target is at most this, or at most this
        above what any weighting of the profiles can reach (and, while passes are left, D within 30 times this
        of its least).
    max_passes
        Stop after this many passes over the data. By default 500 for scaling, 2000 for the others.
    new_items
        ``drop`` (the default): items that the reference does not have get weight 0, and a user left with
        nothing is left out. ``keep``: they keep their present mass, and nothing is claimed about t0. With `top` or
        `items` they keep weight 1 unless ``drop`` is asked for.
    min_items
        Only users with at least this many items are evaluated, at both dates; items that are dropped count. Scores
        under the weights must have the same `min_items`.
    users
        ``all``, or ``both``: only users who have a profile at both dates.
    margins
        Further margins to match besides that of the items, for ``method="scaling"``: the name of a column of
        texts read with ``read_log(labels=...)`` (a category, a price band; the group of a row, which may change
        over time), a mapping {item: group}, or `Agreement` with a model of production. Kept as a tuple of
        `Margin`.

    Examples
    --------
    >>> from unskew.weights import FitOptions
    >>> FitOptions(top=20, method="descent").is_subset
    True
    >>> FitOptions(top=20)
    Traceback (most recent call last):
    ...
    unskew.errors.PolicyError: scaling fits all items at once; ... use method='descent' or method='lbfgs', ...
    """

    top: int | None = None
    items: tuple[Any, ...] | None = None
    method: str = "scaling"
    tol: float = 1e-4
    max_passes: int | None = None
    new_items: str | None = None
    min_items: int = 1
    users: str = "all"
    margins: Sequence[Any] = ()

    def __post_init__(self) -> None:
        check_options(self, "method")
        if self.top is not None and self.items is not None:
            raise PolicyError(f"give {option('top')} or {option('items')}, not both")
        check_options(self, "top")
        if self.items is not None:
            object.__setattr__(self, "items", _list_items(self.items))
        if self.method == "scaling" and self.is_subset:
            raise PolicyError(
                "scaling fits all items at once; on a subset it would not minimise D",
                remedy=f"for the weights of some items alone use {option('method', 'descent')} or "
                f"{option('method', 'lbfgs')}, or leave out {option('top')} and {option('items')}",
            )
        check_options(self, "tol", "max_passes", "new_items", "min_items", "users")
        if self.margins != ():
            from unskew.weights.margins import read_margins  # which most fits do not need

            object.__setattr__(self, "margins", read_margins(self.margins))
        if self.margins and self.method != "scaling":
            raise PolicyError(
                f"what {option('margins')} names is fitted together with the weights of all items",
                remedy=f"use {option('method', 'scaling')}, or leave out {option('margins')}",
            )

    @classmethod
    def of(cls, options: FitOptions | None, changes: FitKeywords) -> FitOptions:
        """Given options, with some of them changed."""
        if options is not None and not isinstance(options, FitOptions):
            raise PolicyError(f"options is a {type(options).__name__}; give FitOptions(...)")
        values: dict[str, Any] = {**changes}
        return replace(cls() if options is None else options, **values)

    @property
    def is_subset(self) -> bool:
        """Whether the weights of some items alone are fitted."""
        return self.top is not None or self.items is not None

    @property
    def drops_new(self) -> bool:
        """Whether items that the reference lacks are dropped."""
        return self.new_items == "drop" or (self.new_items is None and not self.is_subset)

    @property
    def keeps_new_mass(self) -> bool:
        """Whether the target leaves new items the mass that they have."""
        return self.new_items == "keep" and not self.is_subset

    @property
    def pass_limit(self) -> int:
        """After how many passes a fit gives up."""
        return _MAX_PASSES[self.method] if self.max_passes is None else self.max_passes

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, if the ids of `items` are."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return values | {
            "items": None if self.items is None else list(self.items),
            "margins": [margin.to_dict() for margin in self.margins],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], groups: Sequence[Mapping[Any, Any] | None] = ()) -> FitOptions:
        """What `to_dict` gave; refuses names that it does not know. `groups` has the mappings of margins."""
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise PolicyError(f"there is no option {unknown[0]!r} for fitting weights", remedy="leave it out")
        margins = values.get("margins", ())
        if not margins:
            return cls(**{**values, "margins": ()})
        from unskew.weights.margins import load_margin

        mappings = [*groups, *[None] * (len(margins) - len(groups))]
        loaded = tuple(load_margin(margin, mapping) for margin, mapping in zip(margins, mappings, strict=True))
        return cls(**{**values, "margins": loaded})


def _list_items(items: Any) -> tuple[Any, ...]:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise PolicyError(f"{option('items')} is {items!r}", remedy="give a list of item ids")
    listed = items.to_pylist() if isinstance(items, pa.Array | pa.ChunkedArray) else list(items)
    return tuple(item.item() if isinstance(item, np.generic) else item for item in listed)
