"""What people do by themselves: how many there are, when they come, how much they take, and of what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.worlds import check_history, fewer, rows, small, taken
from unskew.errors import UnskewError
from unskew.worlds.named_worlds import PAPER, WORLDS
from unskew.worlds.people import profile_sizes, simulate_people
from unskew.worlds.recipe import Recipe, resize

KNN = "knn?neighbours=200&similarity=cooccurrence"


@pytest.fixture(scope="module")
def full() -> us.worlds.World:
    """The world of the paper's size."""
    return us.simulate()


@pytest.fixture(scope="module")
def truth(full: us.worlds.World) -> pd.DataFrame:
    """What its people take by themselves."""
    frame: pd.DataFrame = full.tables["truth"].to_pandas()
    return frame


def mix(frame: pd.DataFrame, day: int) -> pd.Series[float]:
    """P(i) at a day: each user counts the same, and so does each item of its profile."""
    held = frame[frame["time"] <= day]
    share = 1 / held.groupby("user")["item"].transform("size")
    return share.groupby(held["item"]).sum() / held["user"].nunique()


def total_variation(frame: pd.DataFrame, before: int, now: int) -> float:
    return float(mix(frame, before).sub(mix(frame, now), fill_value=0).abs().sum() / 2)


def test_the_default_world_has_the_sizes_of_the_paper(full: us.worlds.World) -> None:
    log = full.tables["log"].to_pandas()
    assert log["user"].nunique() == 34_448
    assert log["item"].max() < 35_741
    assert (log["time"].min(), log["time"].max()) == (0, 500)
    assert len(log) / 34_448 == pytest.approx(5.33, abs=0.05)
    assert full.campaigns == [330, 430]


def test_the_rows_of_the_default_world_are_a_history(full: us.worlds.World) -> None:
    check_history(full)


def test_people_take_as_much_as_was_asked_for_with_a_power_law_tail(truth: pd.DataFrame) -> None:
    sizes = truth.groupby("user").size()
    assert sizes.mean() == pytest.approx(PAPER.organic, abs=0.01)
    assert sizes.max() <= PAPER.largest
    slope = -np.log((sizes > 100).mean() / (sizes > 20).mean()) / np.log(100 / 20)
    assert slope == pytest.approx(PAPER.tail, abs=0.2)


def test_popularity_follows_zipf(truth: pd.DataFrame) -> None:
    counts = np.sort(truth.groupby("item").size().to_numpy())[::-1]
    ranks = np.arange(10, 1000)
    slope = np.polyfit(np.log(ranks + PAPER.head), np.log(counts[ranks]), 1)[0]
    assert slope == pytest.approx(-PAPER.zipf, abs=0.15)  # a little flatter: nobody takes an item twice


def test_the_default_world_is_roughly_static_from_day_300_on_but_for_the_campaigns(
    full: us.worlds.World, truth: pd.DataFrame
) -> None:
    joined = truth.groupby("user")["time"].min()
    assert (joined > 300).mean() < 0.01
    assert (truth["time"] <= 300).mean() > 0.9
    by_itself = total_variation(truth, 300, 500)
    assert by_itself < 0.03
    assert total_variation(truth, 100, 300) > 3 * by_itself
    assert total_variation(full.tables["log"].to_pandas(), 300, 500) > 5 * by_itself


def test_there_is_something_to_find_for_a_personalised_recommender(full: us.worlds.World) -> None:
    now = full.truth.at(500)
    knn, popular = (us.evaluate(spec, now, metric="hit@5", sample=8000, seed=1) for spec in (KNN, "popular"))
    assert knn.value > 1.2 * popular.value


def test_without_tastes_there_is_nothing_to_find() -> None:
    found = []
    for taste in (0.9, 0.0):
        recipe = Recipe(users=2000, items=600, topics=30, taste=taste)
        now = us.simulate(recipe, seed=1).log.at(500)
        found.append(us.evaluate(KNN, now, metric="hit@5").value / us.evaluate("popular", now).value)
    assert found[0] > 1 > found[1]


def test_a_seed_gives_one_world_and_another_seed_another() -> None:
    first, again, other = (us.simulate(users=400, items=200, seed=seed) for seed in (3, 3, 4))
    for name in ("log", "truth", "exposures", "holdout"):
        assert first.tables[name].equals(again.tables[name])
    assert first.about == again.about
    assert not first.tables["truth"].equals(other.tables["truth"])
    assert not first.tables["log"].equals(other.tables["log"])


@pytest.mark.parametrize(
    ("world", "holdout"), [("paper", 0.0), ("paper", 0.3), ("always-on", 0.2), ("closed-loop", 0.2)]
)
def test_the_truth_is_the_quiet_world_whatever_is_recommended(world: str, holdout: float) -> None:
    quiet = small("quiet").tables["log"]
    assert small(world, holdout=holdout).tables["truth"].equals(quiet.drop(["exposed"]))
    assert not any(quiet["exposed"].to_pylist())


@pytest.mark.parametrize("world", sorted(set(WORLDS) - {"quiet", "steady-quiet", "closed-loop"}))
def test_the_truth_of_a_world_of_its_own_people_does_not_depend_on_campaigns(world: str) -> None:
    with_them, without = small(world, campaigns=fewer(world)), small(world, campaigns=())
    assert len(with_them.exposures) > 0
    assert with_them.tables["truth"].equals(without.tables["log"].drop(["exposed"]))
    assert with_them.tables["truth"].equals(without.tables["truth"])


def test_everyone_has_something_and_takes_the_first_on_the_day_of_joining() -> None:
    recipe = replace(PAPER, users=300, items=200, campaigns=(), late=0.3)
    events, _ = simulate_people(resize(recipe), 5)
    assert len(np.unique(events.user)) == 300
    assert events.time.min() >= 0
    assert events.time.max() <= 500


def test_nobody_takes_what_is_not_there_yet() -> None:
    recipe = Recipe(users=4000, items=200, topics=5, days=100, births=1.0, adoption=5.0)
    frame = us.simulate(recipe, seed=2).tables["log"].to_pandas()
    for day in (20, 50, 80):  # items appear evenly
        assert frame[frame["time"] <= day]["item"].nunique() == pytest.approx(2 * day, abs=25)


@pytest.mark.parametrize("births", [0.1, 1.0])
def test_nobody_is_lost_where_items_are_born_late(births: float) -> None:
    log = us.simulate(Recipe(users=400, items=80, days=30, births=births), seed=2).tables["log"]
    assert set(log["user"].to_pylist()) == set(range(400))


def test_in_a_growing_world_users_and_items_come_late() -> None:
    def late(world: str) -> tuple[float, int]:
        frame = small(world, users=4000, items=1000).tables["truth"].to_pandas()
        items = frame.groupby("item")["time"].agg(["min", "size"])
        new = items[(items["min"] > 250) & (items["size"] >= 4)]
        return (frame.groupby("user")["time"].min() > 300).mean(), len(new)

    (users, items), (usual_users, usual_items) = late("growth"), late("quiet")
    assert users == pytest.approx(0.2, abs=0.03)  # two fifths of the half who join evenly
    assert usual_users < 0.01
    assert items > usual_items == 0


def test_in_a_growing_world_tastes_change() -> None:
    def moved(recipe: Recipe) -> float:
        events, topics = simulate_people(resize(recipe, 8000, 480), 1)
        joined = np.zeros(8000, dtype=np.int64)
        joined[events.user[::-1]] = events.time[::-1]
        groups = [topics.liked[joined < 30, 0], topics.liked[joined > 250, 0]]
        early, late = (np.bincount(liked, minlength=40) / len(liked) for liked in groups)
        return float(np.abs(early - late).sum() / 2)

    calm = replace(WORLDS["growth"], trend=0.0)
    assert moved(WORLDS["growth"]) > 2 * moved(calm)


def test_the_named_worlds_are_what_they_say() -> None:
    few, always = small("few-items"), small("always-on")
    assert few.about["parameters"]["items"] == 200
    assert set(few.tables["log"]["item"].to_pylist()) <= set(range(200))
    assert always.campaigns == list(range(320, 491, 10))
    assert small("quiet").campaigns == []


def test_in_the_preempting_world_much_of_what_is_shown_would_have_come_anyway() -> None:
    def anyway(world: str) -> float:
        made = small(world, users=3000, items=1500)
        truth = taken(made.tables["truth"])
        return float(np.mean([(user, item) in truth for user, item, *_ in rows(made.exposures)]))

    assert anyway("pre-empting") > max(0.02, 5 * anyway("paper"))


@settings(max_examples=30, deadline=None, database=None)
@given(st.floats(1.0, 8.0), st.floats(0.5, 30.0), st.integers(1, 400))
def test_profile_sizes_have_the_mean_that_was_asked_for_and_keep_their_bounds(
    mean: float, tail: float, most: int
) -> None:
    at = (np.arange(4000) + 0.5) / 4000
    sizes = profile_sizes(at, mean, tail, most)
    assert sizes.min() >= 1
    assert sizes.max() <= most
    assert (np.diff(sizes) >= 0).all()
    assert sizes.mean() == pytest.approx(min(mean, most), abs=0.05)


@pytest.mark.parametrize("tail", [1.2, 1.8, 3.0])
def test_profile_sizes_have_the_tail_that_was_asked_for(tail: float) -> None:
    at: npt.NDArray[np.float64] = (np.arange(2_000_000) + 0.5) / 2_000_000
    sizes = profile_sizes(at, 4.0, tail, 10**6)
    slope = -np.log((sizes > 400).mean() / (sizes > 100).mean()) / np.log(4)
    assert slope == pytest.approx(tail, rel=0.07)


@pytest.mark.parametrize("world", sorted(WORLDS))
@pytest.mark.parametrize(("users", "items"), [(1, 40), (2, 2), (40, 7)])
def test_every_world_can_be_tiny(world: str, users: int, items: int) -> None:
    if world == "closed-loop":  # five lists want five items
        with pytest.raises(UnskewError, match="give more items"):
            us.simulate(world, users=users, items=4)
        return
    made = us.simulate(world, users=users, items=items, seed=1, campaigns=fewer(world))
    assert set(made.tables["truth"]["user"].to_pylist()) == set(range(users))
    check_history(made)
