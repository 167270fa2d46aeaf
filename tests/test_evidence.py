"""The tables of evidence in the documentation are those of the results file."""

from __future__ import annotations

import json

import pytest
from tools.evidence import PAGE, RESULTS, fill, find_errors, make_tables, mean_with_error


def test_the_tables_of_the_documentation_are_those_of_the_results_file() -> None:
    page = PAGE.read_text()
    assert page.count("<!-- evidence:") == 5
    assert fill(page, make_tables(json.loads(RESULTS.read_text()))) == page


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
