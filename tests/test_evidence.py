"""The tables of evidence in the documentation are those of the results file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.coverage_of_views import COLUMNS, QUIET, TRUTH
from benchmarks.verdicts import ALONE, count, find_range
from tools.evidence import (
    COVERAGE,
    COVERAGE_PAGE,
    KNOWN,
    PAGE,
    README,
    RESULTS,
    STEADY,
    VERDICTS,
    fill,
    find_coverage,
    find_errors,
    find_trust,
    make_coverage_tables,
    make_decision_tables,
    make_readme_tables,
    make_tables,
    mean_with_error,
    merge,
    pool_ranking,
    read_readme_tables,
)


def test_the_tables_of_the_documentation_are_those_of_the_results_file() -> None:
    page = PAGE.read_text()
    assert page.count("<!-- evidence:") == 7
    assert fill(page, make_tables(json.loads(RESULTS.read_text()))) == page


def test_the_figures_of_the_readme_are_those_of_the_results_files() -> None:
    page = README.read_text()
    assert page.count("<!-- evidence:") == 2
    assert fill(page, read_readme_tables()) == page


def test_the_readme_has_the_world_in_the_middle_and_the_worst_and_counts_small_logs() -> None:
    rows = [
        {"world": world, "seed": 0, "method": method, "recommender": "knn", "error": sign * 0.01 * place}
        for method, sign in zip(KNOWN.values(), (1, -1, 1, -1), strict=True)
        for place, world in enumerate(STEADY)
    ]
    small = {"users": 9, "rule": "verdict", "knows": "nothing", "protocol": "leave-one-out"}
    figures = {"pairs": 50, "covered": 48, "decided": 9, "wrong": 1}
    counts = [{**small, **figures, "world": world} for world in ("steady", "content", "on-before")]
    counts += [
        {**counts[0], "users": 4000},
        {**counts[0], "rule": "as logged"},
        {**counts[0], "knows": "exposures"},
    ]
    tables = make_readme_tables(rows, counts)
    table = tables["what you know"].splitlines()
    assert [line.split(" | ", 1)[1] for line in table[2:]] == ["6 % | 12 % (`twins`) |"] * 4
    sentence = " ".join(tables["verdicts"].split())
    assert "100 pairs of models on logs of 9 users: 96 ranges have the truth" in sentence
    assert "18 are decided, 2 of these with the wrong sign" in sentence


def test_the_tables_of_decisions_are_those_of_the_results_file() -> None:
    page = PAGE.read_text()
    assert fill(page, make_decision_tables(json.loads(VERDICTS.read_text()))) == page


def test_the_tables_of_coverage_are_those_of_the_results_file() -> None:
    page = COVERAGE_PAGE.read_text()
    assert page.count("<!-- evidence:") == 3
    assert fill(page, make_coverage_tables(json.loads(COVERAGE.read_text()))) == page


def score_log(replicate: int, value: float, trusted: bool, view: str = "organic") -> dict[str, Any]:
    limits = [value - 0.0196, value + 0.0196, value - 0.0392, value + 0.0392]
    row = ["steady", 800, replicate, view, "ease", value, *limits, trusted]
    return dict(zip(COLUMNS, row, strict=True))


def test_coverage_is_about_the_mean_truth_of_all_logs() -> None:
    scores = [score_log(0, 0.21, True), score_log(1, 0.23, False), score_log(2, 0.22, True)]
    truths = [score_log(replicate, value, False, TRUTH) for replicate, value in enumerate([0.18, 0.22, 0.2])]
    logs, bias, ratio, coverage, refits, refitted_ratio, refitted = find_coverage(
        scores, truths
    )  # the mean truth is 0.2
    assert (logs, bias) == ("3", "+10 %")
    assert ratio == "1.00"  # a standard error of 0.01, and so is the spread of 0.21, 0.22, 0.23
    assert coverage == "33±33"  # the first alone
    assert (refits, refitted_ratio, refitted) == ("3", "2.00", "100±0")
    scores[0] |= {"refitted_low": None, "refitted_high": None}
    assert find_coverage(scores, truths) == [logs, bias, ratio, coverage, "2", "2.00", "100±0"]
    trusted, near = find_trust(scores, truths)
    assert trusted == "2 of 3, 1 covered"
    assert near == "0 of 1"  # the second, 4.5 % off, is not trusted


def test_coverage_without_recommendations_has_a_line_for_each_recommender() -> None:
    rows = [list(score_log(k, value, False, TRUTH).values()) for k, value in enumerate([0.18, 0.2, 0.25])]
    table = make_coverage_tables([[QUIET, *row[1:]] for row in rows])["coverage without recommendations"]
    # the mean is 0.21, the spread 0.036; 0.03 and 0.04 are beyond 0.0196, the latter beyond 0.0392 too
    assert table.splitlines()[2:] == ["| ease | 3 | +0 % | 33±33 (0.28) | 67±33 (0.55) |"]


def test_what_trust_is_worth_is_measured_on_larger_logs() -> None:
    small = [list(score_log(0, 0.2, False, TRUTH).values())]
    truths = [score_log(replicate, value, False, TRUTH) for replicate, value in enumerate([0.19, 0.21])]
    scores = [score_log(0, 0.215, True), score_log(1, 0.23, True)]  # the mean truth is 0.2, limits 0.0196 around
    large = [list((row | {"users": 3000}).values()) for row in truths + scores]
    other = [["content", *row[1:]] for row in large]
    other[-1][-1] = False
    other[-2][5] = 0.205  # near the truth
    table = make_coverage_tables([*small, *large, *other])["coverage of trusted scores"]
    assert table.splitlines()[2:] == ["| organic | 4 | 50 % | 3 of 4 | 67 % | 8 % | 1 of 1 |"]


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
    assert [count(rows, rule)["width"] for rule in ("verdict", "as logged")] == pytest.approx([0.17, 0.12])


def test_a_view_alone_has_the_range_of_its_scenario() -> None:
    scenarios = [
        ["as logged", 0.0, -0.1, 0.1, False],
        ["without what was shown", 0.0, -0.2, 0.2, False],
        ["the view adjusted", 0.0, -0.3, 0.3, False],
    ]
    row = {"scenarios": scenarios, "low": -0.3, "high": 0.3}
    assert [find_range(row, rule) for rule in ALONE] == [(-0.3, 0.3), (-0.2, 0.2)]
    fallen_back = {**row, "scenarios": [scenarios[0], ["the view organic", 0.0, -0.4, 0.4, False]]}
    assert [find_range(fallen_back, rule) for rule in ALONE] == [(-0.4, 0.4)] * 2


def test_widths_are_compared_on_logs_in_which_they_were_measured() -> None:
    def row(knows: str, rule: str = "verdict", **more: Any) -> dict[str, Any]:
        counts = {"pairs": 4, "covered": 4, "decided": 2, "wrong": 0, "large": 2, "large_decided": 1, "equal": 0}
        log = {"world": "steady", "users": 1000, "protocol": "leave-one-out", "knows": knows, "rule": rule}
        return {**log, **counts, "equal_decided": 0, **more}

    rows = [row("nothing", width=0.4), row("nothing"), row("exposures", width=0.1), row("nothing", width=0.2)]
    table = make_decision_tables([*rows, row("nothing", "as logged", width=9.0)])["widths"]
    assert table.splitlines()[2:] == [
        "| other worlds, nothing, verdict | 8 | 7.5 points | 100 | 50 | 0 |  |",
        "| other worlds, exposures, verdict | 4 | 2.5 points | 100 | 50 | 0 |  |",
    ]


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


def test_means_over_other_seeds_are_pooled_and_those_of_a_part_of_the_seeds_stay() -> None:
    values = {400: 0.4, 401: 0.6, 402: 0.8}

    def rank(*seeds: int) -> dict[str, Any]:
        tau, error = mean_with_error([values[seed] for seed in seeds])
        shared = {"world": "steady", "method": "raw", "knows": "the log", "seeds": len(seeds)}
        means = {"tau": tau, "regret_share": 0.0, "trusted": None, "placebo": None}
        errors = {"tau_se": error if len(seeds) > 1 else None, "regret_share_se": 0.0, "placebo_se": None}
        return {**shared, **means, **errors}

    def pool(before: tuple[int, ...], now: tuple[int, ...]) -> list[dict[str, Any]]:
        rows, others = (
            [{"world": "steady", "method": "raw", "seed": seed} for seed in seeds] for seeds in (before, now)
        )
        return pool_ranking({"rows": rows, "ranking": [rank(*before)]}, others, [rank(*now)])

    assert pool((400, 401), (402,)) == [pytest.approx(rank(400, 401, 402), abs=1e-5)]
    assert pool((400, 401), (400, 401, 402)) == [rank(400, 401, 402)]
    assert pool((400, 401, 402), (402,)) == []
