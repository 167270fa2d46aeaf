"""Tables like those of the reproduction, made up, and a reader of the drawings made from them."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

CAMPAIGNS = (330, 430)
DAYS = range(300, 501)
BOTH, SECOND, NEVER = "recommended in both campaigns", "recommended in the second only", "never recommended"
DRAWS = 20_000


def _pushed(day: int, campaigns: tuple[int, ...] = CAMPAIGNS) -> float:
    """How much of the effect of the campaigns has come in: 0 at first, 1 in the end."""
    return sum(1 - math.exp(-(day - c) / 9) for c in campaigns if day > c) / 2


def items_table() -> pa.Table:
    """P_t(i): four items pushed twice, one pushed once, four never."""
    rows = []
    shape = [(17, 0.0172, 0.5), (4, 0.0155, 0.62), (230, 0.0118, 0.4), (31, 0.0071, 1.1)]
    for item, p, gain in shape:
        rows += [{"at": t, "item": item, "group": BOTH, "probability": p * (1 + gain * _pushed(t))} for t in DAYS]
    rows += [
        {
            "at": t,
            "item": 88,
            "group": SECOND,
            "probability": 0.0064 * (1 - 0.12 * _pushed(t, (330,)) + 0.9 * _pushed(t, (430,))),
        }
        for t in DAYS
    ]
    for item, p in [(2, 0.0201), (9, 0.0148), (12, 0.0145), (40, 0.0093)]:
        rows += [{"at": t, "item": item, "group": NEVER, "probability": p * (1 - 0.3 * _pushed(t))} for t in DAYS]
    return pa.Table.from_pylist(rows)


def sizes_table(seed: int = 0) -> pa.Table:
    """Sizes of the profiles of 34 448 users."""
    draws = np.random.default_rng(seed).zipf(2.45, 34_448)
    sizes, users = np.unique(
        np.minimum(draws + np.random.default_rng(1).poisson(1.2, draws.size), 400), return_counts=True
    )
    return pa.table({"items": sizes.astype(np.int64), "users": users.astype(np.int64)})


def score_rows(start: float, change: float, seed: int = 0) -> list[dict[str, Any]]:
    """A score that follows the campaigns, exact and drawn."""
    random = np.random.default_rng(seed)
    rows = []
    for day in DAYS:
        exact = start * (1 + change * _pushed(day) / _pushed(500) + 0.004 * math.sin(day / 11) * (day - 300) / 200)
        value = random.binomial(DRAWS, exact) / DRAWS
        half = 1.96 * math.sqrt(value * (1 - value) / DRAWS)
        rows.append({"at": day, "value": value, "low": value - half, "high": value + half, "exact": exact})
    return rows


def score_table(start: float = 0.0732, change: float = 0.27) -> pa.Table:
    """The raw score of a constant algorithm."""
    return pa.Table.from_pylist(score_rows(start, change))


def weighted_table(start: float = 0.0732, change: float = 0.27, stable_from: int = 20) -> pa.Table:
    """The same under weights; from `stable_from` weights on it hardly moves."""
    kinds = {"raw": change}
    for p in (5, 10, 20, 50, 100):
        kinds[f"p = {p}"] = change * (0.012 * 20 / p if p >= stable_from else min(0.8, 0.45 * stable_from / p / 4))
    kinds["all items"] = change * 0.0005
    rows = []
    for k, (name, moved) in enumerate(kinds.items()):
        rows += [{"weighting": name, **row} for row in score_rows(start, moved, seed=k)]
    return pa.Table.from_pylist(rows)


def cost_table() -> pa.Table:
    """Passes, seconds, D and the bound of three methods."""
    rows: list[dict[str, Any]] = []
    for p in (5, 10, 20, 50, 100, 200, 500):
        for method, slow in (("descent", 1.0), ("lbfgs", 0.45)):
            rows.append(
                {
                    "p": p,
                    "method": method,
                    "items": str(p),
                    "passes": int(40 * slow * p**0.5),
                    "seconds": 0.02 * slow * p**0.55,
                    "divergence": 0.31 * p**-0.55 * (1.0 if method == "lbfgs" else 1.04),
                    "bound": 0.21 * p**-0.33,
                    "least_bound": None,
                }
            )
    rows.append(
        {
            "p": 20_538,
            "method": "scaling",
            "items": "all items",
            "passes": 21,
            "seconds": 0.061,
            "divergence": 0.00021,
            "bound": 0.00071,
            "least_bound": 0.00063,
        }
    )
    return pa.Table.from_pylist(rows)


TRUE = {("popular", "hit@5"): 0.0622, ("knn", "hit@5"): 0.1882, ("als", "hit@5"): 0.0659}
SEEN = {
    "popular": {"raw": 0.71, "item weights": 1.02, "organic view": 0.97, "organic view + item weights": 1.005},
    "knn": {"raw": 2.95, "item weights": 2.66, "organic view": 1.03, "organic view + item weights": 1.0},
    "als": {"raw": 1.47, "item weights": 1.76, "organic view": 0.95, "organic view + item weights": 0.98},
}


def algorithms_table() -> pa.Table:
    """Estimates of three algorithms against the truths of two questions."""
    rows = []
    for question, factor in (("comparable with day 300", 1.04), ("free of the campaigns", 1.0)):
        for metric, part in (("hit@5", 1.0), ("mrr@10", 0.61)):
            for name, seen in SEEN.items():
                truth = TRUE[name, "hit@5"] * part * factor
                for estimate, off in {**seen, "truth": 1.0}.items():
                    value = truth * off
                    half = 0.0 if estimate == "truth" else 1.96 * math.sqrt(value * (1 - value) / 15_000)
                    rows.append(
                        {
                            "recommender": name,
                            "metric": metric,
                            "question": question,
                            "estimate": estimate,
                            "value": value,
                            "low": value - half,
                            "high": value + half,
                        }
                    )
    return pa.Table.from_pylist(rows)


TRUTHS = {"knn cosine": 0.222, "ease": 0.246, "als": 0.172, "popular": 0.0622, "knn bm25": 0.201}


def loop_table(rounds: int = 8) -> pa.Table:
    """Candidates that are put into production, and that profit from it in the raw score."""
    rows: list[dict[str, Any]] = []
    for chosen_by in ("raw score", "weighted score"):
        gain = dict.fromkeys(TRUTHS, 0.0)
        shown = "knn cosine"
        for r in range(rounds):
            for weighting in ("raw", "weighted"):
                score = {c: t * (1 + gain[c] * (1.0 if weighting == "raw" else 0.08)) for c, t in TRUTHS.items()}
                order = sorted(score, key=lambda c: -score[c])
                rows += [
                    {
                        "chosen_by": chosen_by,
                        "round": r,
                        "at": 300 + 25 * r,
                        "candidate": c,
                        "weighting": weighting,
                        "score": score[c],
                        "rank": order.index(c) + 1,
                        "in_production": c == shown,
                        "truth": TRUTHS[c],
                    }
                    for c in TRUTHS
                ]
                if f"{weighting} score" == chosen_by:
                    best = order[0]
            gain = {
                c: g + (0.18 * (0.4 + 0.6 * (g == 0)) if c == shown else 0.03 if c.startswith("knn") else -0.02)
                for c, g in gain.items()
            }
            shown = best
    return pa.Table.from_pylist(rows)


@dataclass(frozen=True)
class Word:
    """A text of a drawing and the box in which it stands."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def covers(self, other: Word, slack: float = 1.0) -> bool:
        """Whether two texts lie on one another."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > slack and down > slack


def words(svg: str) -> tuple[list[Word], tuple[float, float]]:
    """The texts of a drawing, with about the box that each takes, and the size of the drawing."""
    root = ET.fromstring(svg)
    box = [float(v) for v in root.attrib["viewBox"].split()]
    found: list[Word] = []
    _walk(root, 0.0, 0.0, found)
    return found, (box[2], box[3])


def _letter(letter: str) -> float:
    """About the width of a letter of Helvetica, as a part of its size."""
    narrow = {"ijl'|": 0.22, "ft.,:;! \xa0": 0.28, "r()-": 0.33, "mM%@": 0.86, "w+=−": 0.65}
    known = next((width for letters, width in narrow.items() if letter in letters), None)
    return known or (0.68 if letter.isupper() else 0.55)


def _walk(node: ET.Element, x: float, y: float, found: list[Word]) -> None:
    moved = re.match(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)(\s*rotate\(-90\))?", node.attrib.get("transform", ""))
    upright = False
    if moved:
        x, y, upright = x + float(moved[1]), y + float(moved[2]), bool(moved[3])
    if node.tag.endswith("}text"):
        size = float(node.attrib.get("font-size", "11px").removesuffix("px"))
        lines = ["".join(part.itertext()) for part in node] or [node.text or ""]
        for k, line in enumerate(lines):
            wide = size * sum(_letter(letter) for letter in line)
            start = {"start": 0.0, "middle": -wide / 2, "end": -wide}[node.attrib.get("text-anchor", "start")]
            if line.strip() and float(node.attrib.get("opacity", 1)) > 0:
                low = y + k * (size + 3)
                if upright:
                    found.append(Word(line, x - 0.75 * size, y - start - wide, x, y - start))
                else:
                    found.append(Word(line, x + start, low - 0.75 * size, x + start + wide, low))
        return
    for child in node:
        _walk(child, x, y, found)
