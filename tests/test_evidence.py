"""The tables of evidence in the documentation are those of the results file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.verdicts import count
from tools.evidence import (
    PAGE,
    RESULTS,
    VERDICTS,
    VERDICTS_PAGE,
    fill,
    find_coverage,
    find_errors,
    make_decision_tables,
    make_tables,
    mean_with_error,
    merge,
)


def test_the_tables_of_the_documentation_are_those_of_the_results_file() -> None:
    page = PAGE.read_text()
    assert page.count("<!-- evidence:") == 5
    assert fill(page, make_tables(json.loads(RESULTS.read_text()))) == page


def test_the_tables_of_decisions_are_those_of_the_results_file() -> None:
    page = VERDICTS_PAGE.read_text()
    assert page.count("<!-- evidence:") == 2
    assert fill(page, make_decision_tables(json.loads(VERDICTS.read_text()))) == page


def test_coverage_is_about_the_mean_truth_of_all_logs() -> None:
    def row(replicate: int, value: float, truth: float, trusted: bool) -> list[Any]:
        return ["steady", replicate, "organic", "ease", value, value - 0.0196, value + 0.0196, truth, trusted]

    rows = [row(0, 0.21, 0.18, True), row(1, 0.23, 0.22, False), row(2, 0.22, 0.2, True)]  # mean truth 0.2
    bias, ratio, coverage, trusted, covered, near = find_coverage(rows)
    assert bias == "+10 %"
    assert ratio == "1.00"  # a standard error of 0.01, and so is the spread of 0.21, 0.22, 0.23
    assert coverage == "33 ±33 %"  # the first alone
    assert trusted == "67 % of 3"
    assert covered == "50 % of 2"
    assert near == "0 % of 1"  # the second, 4.5 % off, is not trusted


def test_decisions_are_counted_against_the_truth() -> None:
    def pair(truth: float, low: float, high: float, logged: tuple[float, float]) -> dict[str, Any]:
        scenarios = [
            ["as logged", 0.0, *logged, False],
            ["100% of the excess over knn", 0.0, 0.02, 0.05, False],
            ["125% of the excess over knn", 0.0, low, high, False],
        ]
        shared = {"world": "twins", "a": "v1", "b": "v2", "scenarios": scenarios}
        return {**shared, "truth": truth, "low": low, "high": high}

    rows = [
        pair(0.03, 0.01, 0.06, (0.02, 0.06)),  # decided and right
        pair(-0.03, 0.01, 0.06, (0.02, 0.06)),  # decided and wrong, outside the range
        pair(0.01, -0.01, 0.06, (0.02, 0.06)),  # undecided, and not large
    ]
    counts = count(rows, "verdict")
    assert (counts["pairs"], counts["covered"], counts["decided"], counts["wrong"]) == (3, 2, 2, 1)
    assert (counts["large"], counts["large_decided"], counts["equal_decided"]) == (2, 2, 2)
    assert count(rows, "up to 100 %")["decided"] == 3  # all from 0.02 on
    assert count(rows, "as logged")["covered"] == 1


def test_errors_are_means_over_recommenders_and_then_over_seeds() -> None:
    rows = [
        {"world": "w", "method": "m", "seed": 1, "recommender": "a", "error": -0.1},
        {"world": "w", "method": "m", "seed": 1, "recommender": "b", "error": 0.3},
        {"world": "w", "method": "m", "seed": 2, "recommender": "a", "error": 0.4},
        {"world": "w", "method": "m", "seed": 2, "recommender": "g1", "error": 9.0},  # a fixed list
        {"world": "w", "method": "other", "seed": 2, "recommender": "a", "error": 9.0},
    ]
    errors = find_errors(rows, "w", "m", lambda row: True)
    assert errors == pytest.approx([0.2, 0.4])
    assert mean_with_error(errors) == pytest.approx((0.3, 0.1))  # sd 0.1414 over the root of 2


def test_rows_of_another_run_replace_those_of_the_same_world_seed_and_method_alone() -> None:
    def row(world: str, seed: int, method: str, error: float, recommender: str = "ease") -> dict[str, Any]:
        return {"world": world, "seed": seed, "method": method, "recommender": recommender, "error": error}

    before = [
        row("paper", 400, "organic", 0.1),
        row("paper", 400, "organic", 0.2, "popular"),
        row("paper", 401, "organic", 0.3),
        row("steady", 400, "raw", 0.4),
    ]
    others = [row("steady", 400, "adjusted", 0.5), row("paper", 400, "organic", 0.6)]
    assert merge(before, others) == [
        row("paper", 400, "organic", 0.6),  # of the other run, which did not score popular
        row("paper", 401, "organic", 0.3),
        row("steady", 400, "raw", 0.4),
        row("steady", 400, "adjusted", 0.5),
    ]
    ranking = [{"world": "paper", "method": "organic", "tau": 0.1}]
    assert merge(ranking, [{"world": "paper", "method": "organic", "tau": 0.9}])[0]["tau"] == 0.9
