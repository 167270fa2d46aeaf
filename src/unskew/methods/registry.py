"""Methods by name: what each needs to be told, and how to make it from what is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from unskew.checks import public
from unskew.data.slice import Snapshot
from unskew.errors import InputError, option
from unskew.methods.down_sampling import DownSampling
from unskew.methods.fitted_weights import ItemWeighting
from unskew.methods.fixed_snapshot import FixedSnapshot
from unskew.methods.holdout_users import HoldOutUsers
from unskew.methods.ips import IPS, SNIPS
from unskew.methods.item_first import ItemFirst
from unskew.methods.method import Method, NoMethod
from unskew.methods.one_step_ratio import OneStepRatio
from unskew.methods.popularity_strata import PopularityStrata
from unskew.methods.skew import SKEW
from unskew.methods.time_window import TimeWindow
from unskew.methods.wtd import WTD, WTDH, UniformWTDH
from unskew.text import did_you_mean, enumerate_words
from unskew.weights.alignment import Reference


@dataclass(frozen=True)
class NamedMethod:
    """A method under the name that it has in tables.

    Attributes
    ----------
    name
        Its name; of several forms of one method each has its own.
    method
        Its class.
    options
        What makes it this form.
    """

    name: str
    method: type[Method]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def knows(self) -> str:
        """What one must know to use it; see `Method`."""
        return self.method.knows

    @property
    def targets_reference(self) -> bool:
        """Whether it aims at the item mix of the reference date; see `Method`."""
        return self.method.targets_reference

    @property
    def paper(self) -> str:
        """Where it comes from."""
        return self.method.paper

    @property
    def needs(self) -> tuple[str, ...]:
        """What has to be given to make it, by name."""
        parameters = (f for f in fields(self.method) if f.init and f.name not in self.options)
        return tuple(f.name for f in parameters if f.default is MISSING and f.default_factory is MISSING)

    def make(self, now: Snapshot, reference: Reference | None = None, **known: Any) -> Method:
        """The method for a date, from what is known; what it has no use for is passed over.

        Parameters
        ----------
        now
            The profiles that are to be scored.
        reference
            The date to compare with, as for `fit_weights`.
        **known
            ``holdout`` (ids of users), ``after`` (a time, by default that of the reference date), and any option
            of the method by its name.
        """
        date = getattr(reference, "at", None)
        facts = {"reference": reference, "after": date, **known, **self.options}
        takes = {f.name for f in fields(self.method) if f.init}
        values = {name: value for name, value in facts.items() if name in takes and value is not None}
        missing = [option(name) for name in self.needs if name not in values]
        if missing:
            raise InputError(
                f"the method {self.name!r} at {now.at} needs {enumerate_words(missing)}", remedy="give it by name"
            )
        return self.method(**values)


_NAMED = (
    *(NamedMethod(kind.name, kind) for kind in (NoMethod, FixedSnapshot, TimeWindow, OneStepRatio)),
    NamedMethod("shrunken-ratio", OneStepRatio, {"power": 0.5}),
    *(NamedMethod(kind.name, kind) for kind in (IPS, SNIPS, SKEW, WTD, WTDH, UniformWTDH)),
    *(NamedMethod(kind.name, kind) for kind in (PopularityStrata, DownSampling, ItemFirst, HoldOutUsers)),
    NamedMethod("hold-out-alone", HoldOutUsers, {"alone": True}),
    NamedMethod("top-20", ItemWeighting, {"top": 20}),
    NamedMethod(ItemWeighting.name, ItemWeighting),
)

METHODS: Mapping[str, NamedMethod] = {named.name: named for named in _NAMED}
"""Every method by its name."""


@public
def require_method(name: str) -> NamedMethod:
    """The method of this name."""
    if name not in METHODS:
        raise InputError(
            f"there is no method {name!r}{did_you_mean(name, METHODS)}", remedy=f"one of {', '.join(METHODS)}"
        )
    return METHODS[name]
