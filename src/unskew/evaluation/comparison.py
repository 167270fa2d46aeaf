"""Comparing recommenders at one date, pair by pair on the same held-out items.

Only users (or draws) on whom the two differ tell anything about the difference; see `interval_formulas`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from unskew.checks import require_instance
from unskew.data.view_report import NO_VIEW
from unskew.data.weighting import Weighting, Weights
from unskew.errors import PolicyError
from unskew.evaluation.held_out_ranks import AnyQuality, HeldOutRanks
from unskew.evaluation.independent_units import Difference, Units, require_same_pairs
from unskew.evaluation.intervals import holm
from unskew.evaluation.left_out import MEANINGS
from unskew.evaluation.quality import qualities as named_qualities
from unskew.evaluation.results import Results, flatten
from unskew.text import to_json_value


@dataclass(frozen=True)
class Comparison:
    """The difference of two recommenders on the same held-out pairs: ``a - b``.

    Attributes
    ----------
    low, high
        The interval of the difference at `level`; by users, or by draws where pairs were sampled.
    p, p_holm
        p-value of no difference, and the same corrected for all comparisons made together.
    comparable
        Whether the same of a held-out pair was left out of both: otherwise one of them is flattered, and there
        is no difference, interval or p-value (NaN).
    left_out
        What was left out of the one and of the other; see `Score`.
    biased
        Whether the bias of the log can be in the difference. Neither interval nor p-value knows of it, and under
        item weights the order of two algorithms can be the reverse of the true one.
    caveat
        What the p-value takes for granted under this view of the log, in a clause.
    """

    a: str
    b: str
    quality: str
    weighting: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    level: float = 0.95
    comparable: bool = True
    left_out: tuple[str, str] = ("profile", "profile")
    biased: bool = True
    caveat: str = NO_VIEW

    def __str__(self) -> str:
        if not self.comparable:
            return self._explain_difference()
        p = "< 0.0001" if self.p_holm < 0.0001 else f"= {self.p_holm:.2g}"
        return (
            f"{self.a} minus {self.b}, {self.quality}, {self.weighting}: {self.difference:+z.4f} "
            f"[{self.low:+z.4f}, {self.high:+z.4f}], p {p} (Holm)"
        ) + ("" if self.is_about_lists else f"; {self.caveat}")

    @property
    def is_about_lists(self) -> bool:
        """Whether two fixed lists are compared under weights that match the reference date: no view is needed."""
        return not self.biased and self.caveat == NO_VIEW

    def _explain_difference(self) -> str:
        told = "; ".join(f"{n}: {MEANINGS[kind]}" for n, kind in zip((self.a, self.b), self.left_out, strict=True))
        use = (
            "use the same folds for both"
            if "elsewhere" not in self.left_out
            else "use a time split, and lists with dates"
        )
        return f"{self.a} and {self.b}, {self.quality}, {self.weighting}: not comparable ({told}); {use}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        told: dict[str, Any] = to_json_value(asdict(self))
        return told

    def to_row(self) -> dict[str, Any]:
        """The same as columns of a table."""
        return flatten(self.to_dict())


def compare(
    *ranks: HeldOutRanks,
    quality: AnyQuality | Iterable[AnyQuality] = "hit@5",
    weights: Weights = None,
    level: float = 0.95,
) -> Results[Comparison]:
    """Compare recommenders pair by pair on the same held-out items, with Holm's correction across all.

    Parameters
    ----------
    *ranks
        From `rank_held_out`, of the same snapshot and the same pairs.
    quality, weights, level
        As for `evaluate`, one quality or several. The weights are taken as given.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("cid", "x"), ("cid", "z"), ("dan", "y")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> ranks = [us.rank_held_out(f"constant:{item}", log.at(1), qualities=["hit@1"]) for item in "xz"]
    >>> us.compare(*ranks, quality="hit@1")[0].difference
    0.375
    """
    if len(ranks) < 2:
        raise PolicyError("compare needs the ranks of at least two recommenders")
    for other in ranks:
        require_instance(HeldOutRanks, other, "the ranks of a recommender", "give what rank_held_out gives")
        require_same_pairs(ranks[0], other)
    wanted = named_qualities(quality)
    if len(wanted) > 1:
        each = (compare(*ranks, quality=one, weights=weights, level=level) for one in wanted)
        return Results([comparison for some in each for comparison in some], ranks[0].snapshot.log.frames)
    [quality] = wanted
    weighting = ranks[0].weigh(quality, weights)
    units = [Units.of(r, quality, weights) for r in ranks]
    view = ranks[0].snapshot.log.view_report
    caveat = NO_VIEW if view is None else view.caveat
    found = []
    for i, j in combinations(range(len(ranks)), 2):
        biased = any(ranks[k].may_be_biased(weighting) for k in (i, j))
        if ranks[i].left_out != ranks[j].left_out:
            found.append(_refuse(ranks[i], ranks[j], ranks[0].quality(quality).name, weighting, level))
            continue
        difference = Difference.of(units[i], units[j], (units[i].numbers(), units[j].numbers()))
        interval = difference.interval(level)
        found.append(
            Comparison(
                a=ranks[i].recommender,
                b=ranks[j].recommender,
                quality=ranks[0].quality(quality).name,
                weighting=weighting.name,
                difference=difference.value,
                low=interval.low,
                high=interval.high,
                p=difference.p_value(),
                p_holm=math.nan,
                level=level,
                left_out=(ranks[i].left_out.kind, ranks[j].left_out.kind),
                biased=biased,
                caveat=caveat,
            )
        )
    corrected = holm([c.p for c in found])
    told = [replace(c, p_holm=float(p)) for c, p in zip(found, corrected, strict=True)]
    return Results(told, ranks[0].snapshot.log.frames)


def _refuse(
    one: HeldOutRanks, other: HeldOutRanks, quality: str, weighting: Weighting, level: float
) -> Comparison:
    """A comparison that says why there is none."""
    nothing = math.nan
    return Comparison(
        a=one.recommender,
        b=other.recommender,
        quality=quality,
        weighting=weighting.name,
        difference=nothing,
        low=nothing,
        high=nothing,
        p=nothing,
        p_holm=nothing,
        level=level,
        comparable=False,
        left_out=(one.left_out.kind, other.left_out.kind),
    )
