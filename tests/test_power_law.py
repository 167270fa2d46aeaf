"""The exponent of a tail, against samples whose law is known."""

from __future__ import annotations

import numpy as np
import pytest

from unskew.reproduction.paper_figures import bin_users, fit_power_law


@pytest.mark.parametrize("exponent", [2.1, 2.5, 3.2])
def test_the_exponent_of_a_sample_is_found(exponent: float) -> None:
    draws = np.random.default_rng(3).zipf(exponent, 60_000)
    law = fit_power_law(*np.unique(draws, return_counts=True))
    n = law.share * draws.size
    assert law.exponent == pytest.approx(exponent, abs=4 * (exponent - 1) / np.sqrt(n) + 0.01)
    assert law.distance < 1.5 / np.sqrt(n)


def test_the_tail_starts_where_the_law_does() -> None:
    draws = np.random.default_rng(4).zipf(2.4, 400_000)
    draws = draws[draws >= 8]
    body = np.random.default_rng(5).integers(1, 8, 3 * draws.size)
    law = fit_power_law(*np.unique(np.concatenate([draws, body]), return_counts=True))
    assert 8 <= law.start <= 20
    assert law.exponent == pytest.approx(2.4, abs=0.15)
    assert law.share <= 0.25


def test_the_law_gives_back_the_number_of_users_in_the_tail() -> None:
    draws = np.random.default_rng(6).zipf(3.0, 5000)
    law = fit_power_law(*np.unique(draws, return_counts=True))
    assert law.expected_users(np.arange(law.start, 200_000), 1000).sum() == pytest.approx(1000, rel=1e-3)


def test_bins_hold_every_user_once_and_count_the_sizes_that_nobody_has() -> None:
    sizes, users = np.array([10, 11, 13, 40]), np.array([6, 3, 3, 1])
    middle, mean = bin_users(sizes, users, start=10, factor=1.5)
    assert mean[0] == pytest.approx(12 / 5)  # sizes 10 to 14
    assert middle[0] == pytest.approx(np.sqrt(10 * 14))
    assert mean[1:] == pytest.approx([1 / 8])  # 33 to 40, the largest size
