"""An item marginal P_t(i), computed once at the reference date and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Floats
from unskew.data.policy import Policy
from unskew.data.times import Label, require_label
from unskew.errors import ColumnError, InputError, function
from unskew.frames import numbers_by_id, show_as_table, to_native
from unskew.storage.files import report_damage
from unskew.storage.tables import read_parquet, require_kind, write_table


@dataclass(frozen=True, repr=False, eq=False)
class Marginal:
    """The probability of each item at a date, and how it was computed.

    With this file the old log is not needed any more to weight a later one.

    Attributes
    ----------
    items, probabilities
        Ids, and their probabilities (positive, sum 1).
    at
        The date, as it was asked for; None where that is not known.
    policy
        How P(u), P(i|u) and the users were chosen; None for numbers that came from elsewhere.
    after
        Of what users took after a time: that time.
    """

    items: pa.Array
    probabilities: Floats
    at: Label | None = None
    policy: Policy | None = None
    frames: str | None = None
    after: Label | None = None

    def __post_init__(self) -> None:
        p = self.probabilities
        if len(p) == 0:
            raise InputError("a marginal needs at least one item")
        bad = ~(np.isfinite(p) & (p >= 0))
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"the probability of item {self.items[k].as_py()!r} is {p[k]}, but must be a number of at least 0"
            )
        if pa.types.is_nested(self.items.type):
            raise InputError(f"items cannot be {self.items.type}: an id must be one number or one text")
        if len(self.items.unique()) < len(self.items):
            twice = self.items.value_counts()
            k = int(np.argmax(twice.field("counts").to_numpy()))
            raise InputError(
                f"the marginal names item {twice.field('values')[k].as_py()!r} more than once",
                remedy="add up its probabilities",
            )
        total = float(p.sum())
        if abs(total - 1) > 1e-6:
            raise InputError(f"the probabilities of the marginal sum to {total:.6g}; they must sum to 1")

    @classmethod
    def of(cls, source: Mapping[Any, float] | Any) -> Marginal:
        """From a mapping {item: probability} or a frame with columns item and probability.

        >>> import unskew as us
        >>> us.Marginal.of({"x": 0.75, "y": 0.25}).to_dict()
        {'x': 0.75, 'y': 0.25}
        """
        items, numbers = numbers_by_id(source, "item", "probability", "the reference")
        try:
            probabilities = numbers.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ColumnError(f"the reference: probabilities must be numbers ({error})") from None
        return cls(items, probabilities)

    @classmethod
    def load(cls, path: str | Path) -> Marginal:
        """Read what `save` wrote, or any Parquet file with columns item and probability."""
        table, about = read_parquet(Path(path))
        if not about:
            return cls.of(table)
        remedy = f"make one with {function('Snapshot.marginal')}"
        require_kind(Path(path), about, "marginal", remedy)
        plain = cls.of(table)
        with report_damage(path, remedy):
            policy = None if about.get("policy") is None else Policy.from_dict(about["policy"])
            at, after = (require_label(name, about.get(name)) for name in ("at", "after"))
        return cls(plain.items, plain.probabilities, at, policy, after=after)

    def save(self, path: str | Path) -> None:
        """Write item and probability as Parquet, with date and policy in the metadata; or a ``.csv`` file."""
        about: dict[str, Any] = {"at": self.at, "after": self.after}
        if self.policy is not None:
            about["policy"] = self.policy.to_dict()
        write_table(Path(path), self.to_arrow(), "marginal", about)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __repr__(self) -> str:
        when = f" at {self.at}" if self.at is not None else ""
        return f"Marginal({len(self)} items{when})"

    def to_arrow(self) -> pa.Table:
        """Columns item and probability."""
        return pa.table({"item": self.items, "probability": self.probabilities})

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """Columns item and probability, in the dataframe library that the log came in."""
        return to_native(self.to_arrow(), self.frames)

    def to_dict(self) -> dict[Any, float]:
        """The probability of each item."""
        return dict(zip(self.items.to_pylist(), self.probabilities.tolist(), strict=True))
