"""What ``unskew evaluate`` found, as tables and sentences for people and as JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.evaluation.comparison import Change, Comparison
    from unskew.weights.item_weights import ItemWeights
    from unskew.evaluation.score import Score

_INTERVALS = {
    "users": "users are the independent units, weights and models taken as given",
    "wilson": "hits of a sample, about the score of all pairs",
    "draws": "draws of a sample, about the score of all pairs",
    "bootstrap": "weighted: users drawn again at both dates, weights fitted again",
    "bootstrap, target known": "weighted: users drawn again, weights fitted again, the target taken as known",
}
"""What the intervals of each method are about."""


@dataclass(frozen=True)
class Findings:
    """All that a run found."""

    scores: list[Score]
    changes: list[Change]
    comparisons: list[Comparison]
    weights: ItemWeights | None
    bounded: bool = True  # whether the bound of the weights is about these scores

    def to_dict(self) -> dict[str, Any]:
        return {
            "scores": [s.to_dict() for s in self.scores],
            "changes": [c.to_dict() for c in self.changes],
            "comparisons": [c.to_dict() for c in self.comparisons],
            "weights": None if self.weights is None else self.weights.to_dict(),
        }

    def show(self) -> None:
        from unskew.cli.printing import number, percent, print_line, print_table

        split = any(s.segment for s in self.scores)

        def about(s: Score) -> list[str]:
            segment = [s.segment or "all"] if split else []
            return [*segment, str(s.at), s.weighting if s.top is None else f"top {s.top}"]

        names = [*(["segment"] if split else []), "at", "weighting"]
        rows = [
            [s.recommender, s.quality, *about(s), f"{s.value:z.4f}", f"{s.low:z.4f}", f"{s.high:z.4f}"]
            for s in self.scores
        ]
        print_table(["recommender", "quality", *names, "score", "low", "high"], rows, left=2 + len(names))
        behind = [
            [
                *about(s),
                number(s.pairs),
                number(round(s.effective_pairs)),
                percent(s.largest_item),
                percent(s.users_left_out.mass),
            ]
            for s in self.scores
        ]
        head = [*names, "pairs", "effective", "largest item", "users left out"]
        print_table(head, [list(row) for row in dict.fromkeys(map(tuple, behind))], left=len(names))
        told = [meant for method, meant in _INTERVALS.items() if any(s.method == method for s in self.scores)]
        print_line(f"Intervals of {100 * self.scores[0].level:g} %: {'; '.join(told)}.")
        for change in self.changes:
            print_line(f"{change}.")
        if self.weights is not None and self.bounded:
            print_line(
                f"Weights: {self.weights.status}, the score of a constant algorithm is within "
                f"{self.weights.bound_after:.4f} of its score at {self.weights.reference} "
                f"({self.weights.bound_before:.4f} before){_left_out(self.weights)}. Item weights alone do not "
                "repair personalised algorithms: what they leave unexplained can still be bias."
            )
        for c in self.comparisons:
            print_line(
                f"{c.a} minus {c.b}, {c.quality}, {c.weighting}: {c.difference:+z.4f} "
                f"[{c.low:+z.4f}, {c.high:+z.4f}], p {_p(c.p_holm)} (Holm)"
            )


def _left_out(weights: ItemWeights) -> str:
    """At whose cost the bound was bought: it is about the users who are left, at both dates."""
    from unskew.cli.printing import percent

    now, then = weights.users_left_out, weights.users_left_out_reference
    if now.count + then.count == 0:
        return ""
    return f", with {percent(now.mass)} of the users left out now and {percent(then.mass)} then"


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"= {value:.2g}"
