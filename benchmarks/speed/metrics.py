"""Metrics: the means of hit@5, mrr@10 and ndcg@10 over ranks, beside ranx and pytrec_eval."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.frame.comparison import Comparison
from benchmarks.frame.contenders import Contender, in_process, with_library
from unskew.arrays.types import Codes
from unskew.evaluation.metric import metric
from unskew.text import thousands

SIZES = (100_000,)
LIBRARIES = ("ranx", "pytrec_eval-terrier")
K = 10
TOLERANCE = 1e-12
NAMES = {"hit@5": "hit_rate@5", "mrr@10": "mrr@10", "ndcg@10": "ndcg@10"}
"""Our names, and those of ranx."""

_JOB = f"""\
The means of {", ".join(NAMES)}, each query having one relevant item among {K}. unskew starts from the rank of that
item, ranx and pytrec_eval from their own objects, which are made of lists before and not counted: they take any
number of relevant items. numpy is the formula of each metric written down for the ranks."""


def comparisons(sizes: Sequence[int] = SIZES) -> Iterator[Comparison]:
    """One for each number of queries."""
    for size in sizes:
        ranks = draw_ranks(size)
        yield Comparison(
            f"{thousands(size)} queries",
            _JOB,
            [
                in_process("unskew", partial(_score, [metric(name) for name in NAMES], ranks)),
                in_process("numpy", partial(_score_plainly, ranks)),
                with_library("ranx", "ranx", partial(_use_ranx, ranks)),
                with_library("pytrec_eval", "pytrec_eval", partial(_use_trec_eval, ranks)),
            ],
            yardstick="unskew",
            agreement=f"all means, to {TOLERANCE:g}",
            differ=_differ,
        )


def draw_ranks(queries: int) -> Codes:
    """A rank for each query; 0, not found, for about a third."""
    return np.random.default_rng(0).integers(-K // 2, K + 1, queries).clip(min=0)


def _score(metrics: Sequence[Any], ranks: Codes) -> list[float]:
    return [float(q(ranks).mean()) for q in metrics]


def _score_plainly(ranks: Codes) -> list[float]:
    found = ranks > 0
    safe = np.maximum(ranks, 1)
    return [
        float(np.mean(found & (ranks <= 5))),
        float(np.mean(np.where(found, 1.0 / safe, 0.0))),
        float(np.mean(np.where(found, 1.0 / np.log2(safe + 1.0), 0.0))),
    ]


def _make_lists(ranks: Codes) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """What is relevant to each query, and a list of items that has it at its rank."""
    relevant = {f"q{n}": {"held out": 1} for n in range(len(ranks))}
    lists = {
        f"q{n}": {("held out" if place + 1 == rank else f"item {place}"): float(K - place) for place in range(K)}
        for n, rank in enumerate(ranks.tolist())
    }
    return relevant, lists


def _use_ranx(ranks: Codes, ranx: Any) -> Contender:
    relevant, lists = _make_lists(ranks)
    truth, run, names = ranx.Qrels(relevant), ranx.Run(lists), list(NAMES.values())

    def evaluate() -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ranx.evaluate(truth, run, names)
        return [float(found[name]) for name in names]

    return in_process("ranx", evaluate)


def _use_trec_eval(ranks: Codes, trec: Any) -> Contender:
    relevant, lists = _make_lists(ranks)
    judge = trec.RelevanceEvaluator(relevant, {"success.5", "recip_rank", "ndcg_cut.10"})

    def evaluate() -> list[float]:
        found = list(judge.evaluate(lists).values())
        names = ("success_5", "recip_rank", "ndcg_cut_10")
        return [float(np.mean([row[name] for row in found])) for name in names]

    return in_process("pytrec_eval", evaluate)


def _differ(ours: Any, theirs: Any) -> str | None:
    off = float(np.max(np.abs(np.subtract(ours, theirs))))
    return None if off <= TOLERANCE else f"a mean is off by {off:.1e}"
