"""The excess: how much of what was taken in windows came from recommendations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import unskew as us
from tests.test_thinned import COOCCURRENCE, DATES
from tests.worlds import small
from unskew.cli import main
from unskew.views.production import Ranks, combine_ranks, list_family
from unskew.views.rates import (
    _STREAM,
    Tally,
    _find_strata,
    find_rates,
    measure_excess,
    measure_separation,
    resample_excess,
    split_blocks,
)
from unskew.views.strata import BEYOND, CELLS, KINDS, NEW, RANK_OF, add_up


def exposed_share(world: us.worlds.World, windows: list[tuple[int, int]]) -> float:
    """Of what users outside of the holdout group took in windows, the share that had been shown."""
    held = set(world.holdout["user"].to_pylist())
    marks = [
        row["exposed"]
        for row in world.tables["log"].to_pylist()
        if row["user"] not in held and any(start <= row["time"] < end for start, end in windows)
    ]
    return float(np.mean(marks))


@pytest.mark.parametrize(
    ("items", "ease"), [(1500, "ease?exact=false"), (1501, "ease?exact=false&max_items=1500")]
)
def test_ease_stands_for_production_over_the_1500_most_frequent_items(items: int, ease: str) -> None:
    rows = range(items)
    log = us.read_log({"user": [row % 40 for row in rows], "item": list(rows), "time": list(rows)})
    assert [name for name in list_family(log) if name.startswith("ease")] == [ease]


@pytest.mark.parametrize("holdout", [0.0, 0.25])
def test_the_excess_is_the_share_that_was_shown(holdout: float) -> None:
    world = small("paper", users=2000, items=600, seed=31, holdout=holdout)
    group: dict[str, Any] = {"holdout": world.holdout} if holdout else {}
    found = us.excess(world.log, COOCCURRENCE, campaigns=DATES, repeats=50, **group)
    true = exposed_share(world, [(330, 350), (430, 450)])
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx(true, abs=0.05 if holdout else 0.08)  # cross-fitted by dates
    assert found.production == COOCCURRENCE
    assert str(found).startswith(f"recommendations caused about {100 * found.value:.0f} %")
    ranked = [one for one in found.strata if one.name != "users without a profile"]
    assert sum(one.pairs for one in ranked) == found.pairs


def test_zero_lies_inside_where_nothing_was_recommended() -> None:
    covered = 0
    for seed in range(41, 49):
        world = small("quiet", users=1200, items=400, seed=seed, holdout=0.25)
        found = us.excess(world.log, COOCCURRENCE, campaigns="320:", holdout=world.holdout, repeats=50)
        covered += found.low <= 0 <= found.high
    assert covered >= 6  # of 8, at a level of 95 %: fewer happen about once in 200 times


def test_production_is_found() -> None:
    campaign = us.worlds.Campaign(330, recommender="knn?similarity=cosine&exact=false", catalogue=1.0, excluded=0)
    world = us.simulate("paper", users=2000, items=600, seed=51, campaigns=[campaign])
    found = us.excess(world.log, "auto", campaigns="330:350", repeats=20)
    assert found.production == next(iter(found.candidates)) == "knn?similarity=cosine"
    assert found.value == pytest.approx(exposed_share(world, [(330, 350)]), abs=0.12)
    view = us.views.thinned(world.log, "auto", campaigns="330:350")
    assert view.view_report is not None
    assert "the stand-in for production is knn (similarity cosine)" in view.view_report.notes[0]


def tally_of(suspect: dict[int, float], usual: dict[int, float], blocks: int = 4) -> Tally:
    """The same counts in every block, one person in each."""

    def spread(figures: dict[int, float]) -> Any:
        found = np.zeros((blocks, CELLS))
        for cell, value in figures.items():
            found[:, cell] = value
        return found

    people = np.ones((blocks, KINDS))
    return Tally(spread(suspect), np.zeros((blocks, CELLS)), people, spread(usual), people, False)


def test_differences_count_with_their_sign() -> None:
    top, far = int(np.flatnonzero(RANK_OF == 0)[1]), int(np.flatnonzero(RANK_OF == BEYOND)[1])
    new = int(np.flatnonzero(RANK_OF == NEW)[0])
    counted = tally_of({top: 8.0, far: 2.0, new: 5.0}, {top: 1.0, far: 3.0, new: 1.0})
    halves = split_blocks(4, 0)
    assert measure_excess([counted], halves) == pytest.approx(
        7 / 10
    )  # what is beyond has no excess; new users no rank
    # 2 p D - p^2 x of the first stratum, with p = 7/8, D = 7, x = 8
    assert measure_separation(counted, halves) == pytest.approx((2 * 7 / 8 * 7 - (7 / 8) ** 2 * 8) / 10)


@pytest.mark.parametrize("scaled", [False, True])
def test_many_samples_at_once_have_the_strata_of_each_alone(scaled: bool) -> None:
    rng = np.random.default_rng(5)
    pairs = rng.poisson(0.02, (3, 60, CELLS)).astype(float)
    people = rng.poisson(0.9, (2, 60, KINDS)).astype(float)
    counted = Tally(pairs[0], pairs[1], people[0], pairs[2], people[1], scaled)
    times = rng.poisson(1.0, (4, 3, 60)).astype(float)
    excess, suspect = _find_strata(counted, times)
    for place in np.ndindex(4, 3):
        rates = find_rates(counted, times[place])
        assert excess[place].tolist() == rates.excess.tolist()  # to the bit
        assert suspect[place].tolist() == add_up(rates.suspect).tolist()


def test_resampled_shares_are_those_of_each_sample_alone() -> None:
    rng = np.random.default_rng(6)
    pairs = rng.poisson(0.02, (2, 3, 40, CELLS)).astype(float)
    people = np.ones((40, KINDS))
    counted = [Tally(each[0], each[1], people, each[2], people, True) for each in pairs]
    halves = split_blocks(40, 0)
    stream = np.random.default_rng([3, _STREAM, 1])
    samples = [stream.multinomial(40, np.full(40, 1 / 40)).astype(float) for _ in range(30)]
    alone = [measure_excess(counted, halves, times) for times in samples]
    assert resample_excess(counted, halves, 30, 3).tolist() == alone


def test_chance_adds_up_to_nothing() -> None:
    """The plain sum of what is above the usual would be far above 0."""
    rng = np.random.default_rng(0)
    cells = np.flatnonzero(RANK_OF < NEW)[1::5]
    values, plain = [], []
    for _ in range(60):
        suspect, usual = np.zeros((40, CELLS)), np.zeros((40, CELLS))
        suspect[:, cells], usual[:, cells] = rng.poisson(0.05, (2, 40, len(cells)))
        people = np.ones((40, KINDS))
        counted = Tally(suspect, np.zeros((40, CELLS)), people, usual, people, False)
        values.append(measure_excess([counted], split_blocks(40, 1)))
        by_rank = np.bincount(RANK_OF, weights=(suspect - usual).sum(axis=0))
        plain.append(np.maximum(by_rank, 0).sum() / suspect.sum())
    error = np.std(values) / 60**0.5
    assert abs(np.mean(values)) < 3.5 * error
    assert np.mean(plain) > 7 * error


def test_two_models_together_give_the_better_rank() -> None:
    one, other = Ranks("a", np.array([0, 3, 5]), None), Ranks("b", np.array([0, 0, 2]), None)
    both = combine_ranks([one, other])
    assert both.production == "a + b"
    assert both.taken.tolist() == [0, 3, 2]


def test_intervals_follow_the_seed() -> None:
    log = small("paper").log
    first, again, other = (us.excess(log, "popular", campaigns=DATES, repeats=30, seed=seed) for seed in (0, 0, 1))
    assert first.to_dict() == again.to_dict()
    assert (first.low, first.high) != (other.low, other.high)


def test_windows_without_anyone_who_could_be_shown_something_are_refused() -> None:
    log = us.read_log({"user": [1, 2, 3], "item": [1, 2, 3], "time": [1, 2, 9]})
    with pytest.raises(
        us.EmptyError, match="users who had a profile when these windows began had no interactions"
    ):
        us.excess(log, "popular", campaigns="9:")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, arguments)


def test_the_command_prints_a_sentence_and_json(tmp_path: Path) -> None:
    world = small("paper", holdout=0.2)
    world.save(tmp_path)
    log, group = str(tmp_path / "log.parquet"), str(tmp_path / "holdout.parquet")
    given = [log, "--campaign", "330:350", "--campaign", "430:450", "--production", "popular", "--holdout", group]
    shown = run("excess", *given)
    assert shown.exit_code == 0, shown.output
    assert "of the interactions in these windows" in shown.stdout
    found = json.loads(run("excess", *given, "--json").stdout)
    here = us.excess(world.log, "popular", campaigns=DATES, holdout=world.holdout)
    assert found["value"] == pytest.approx(here.value)
    assert found["production"] == "popular"
    assert {"low", "high", "strata", "candidates", "sentence"} <= found.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--production", "popular"), "neither --campaign nor --holdout is given"),
        (("--production", "populr", "--campaign", "330:350"), "did you mean 'popular'"),
        (("--production", "popular", "--campaign", "350:330"), "ends at its start or before it"),
        (("--production", "popular", "--holdout", "nowhere.csv", "--campaign", "330:"), "nowhere.csv"),
        (("--production", "popular", "--campaign", "330:350", "--level", "2"), "between 0 and 1"),
        (("--production", "popular", "--campaign", "330:350", "--until", "200"), "check --campaign and --until"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    small("paper").save(tmp_path)
    done = run("excess", str(tmp_path / "log.parquet"), *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
