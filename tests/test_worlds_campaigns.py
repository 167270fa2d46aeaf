"""Campaigns: who is shown what, what they take of it, and when."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW
from tests.worlds import Pair, check_history, fewer, first_shown, rows, small, taken
from unskew.errors import UnskewError
from unskew.recommend import Batch, recommender
from unskew.worlds import campaigns as service
from unskew.worlds.named_worlds import PAPER, WORLDS
from unskew.worlds.people import Events, simulate_people
from unskew.worlds.recipe import Campaign, Recipe, resize

EASY: dict[str, Any] = {"recommender": "popular", "catalogue": 1.0, "excluded": 0}


@pytest.mark.parametrize("world", sorted(set(WORLDS) - {"closed-loop"}))  # which has tests of its own
def test_what_is_recommended_adds_to_the_truth_and_only_hastens_it(world: str) -> None:
    made = small(world, holdout=0.2, campaigns=fewer(world))
    check_history(made)
    shown = len(made.exposures) > 0
    assert shown == (world not in ("quiet", "steady-quiet"))
    assert (len(made.tables["log"]) > len(made.tables["truth"])) == shown


@LAW
@given(
    st.integers(1, 40),
    st.integers(2, 30),
    st.lists(
        st.builds(
            Campaign,
            st.integers(0, 29),
            recommender=st.sampled_from(["popular", "knn?neighbours=5"]),
            reach=st.sampled_from([0.0, 0.5, 1.0]),
            shown=st.integers(1, 6),
            acceptance=st.sampled_from([0.0, 0.4, 1.0]),
            catalogue=st.sampled_from([0.0, 1.0]),
            excluded=st.integers(0, 3),
            delay=st.sampled_from([0.0, 3.0, 1e6]),
        ),
        max_size=4,
    ),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([None, 0.0, 1.0]),
)
def test_any_campaigns_leave_a_history(
    users: int, items: int, campaigns: list[Campaign], holdout: float, anyway: float | None
) -> None:
    recipe = Recipe(users=users, items=items, days=30, holdout=holdout, anyway=anyway, campaigns=tuple(campaigns))
    world = us.simulate(recipe, seed=users)
    check_history(world)
    assert set(world.campaigns) <= {campaign.day for campaign in campaigns}
    assert max(world.tables["log"]["time"].to_pylist()) < 30


def test_a_row_is_exposed_where_a_join_with_the_exposures_finds_it() -> None:
    world = small("pre-empting", holdout=0.1)
    log, exposures = world.tables["log"], world.exposures  # noqa: F841  (DuckDB reads them by name)
    query = """
        select log.user, log.item, log.time, coalesce(min(e.time) <= log.time, false) as exposed
        from log left join exposures e on e.user = log.user and e.item = log.item
        group by log.user, log.item, log.time order by log.time, log.user, log.item
    """
    joined = duckdb.sql(query)
    assert joined is not None
    assert rows(world.tables["log"]) == joined.fetchall()


def test_what_was_taken_before_it_was_shown_is_not_exposed() -> None:
    user, item, time = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([4, 6, 5, 5])
    none = np.zeros(4, dtype=np.int64)
    shown = service.Exposures(np.array([0, 0, 1, 0]), np.array([0, 1, 0, 1]), np.array([5, 5, 5, 9]), none, none)
    assert service.mark_exposed(Events(user, item, time), shown, 2).tolist() == [False, True, True, False]


def test_the_organic_view_has_exactly_the_rows_that_were_not_exposed() -> None:
    world = small("paper")
    log = us.views.organic(world.log)
    wanted = sorted((user, item) for user, item, _, exposed in rows(world.tables["log"]) if not exposed)
    found = log.at(log.last)
    assert sorted((user, item) for user in log.users for item in found.profile(user)) == wanted


def test_rows_come_in_the_order_of_time() -> None:
    world = small()
    for table in (world.tables["log"], world.tables["truth"]):
        keys = [(time, user, item) for user, item, time, *_ in rows(table)]
        assert keys == sorted(keys)
    keys = [(campaign, user, place) for user, _, _, campaign, place in rows(world.exposures)]
    assert keys == sorted(keys)


def _lists_by_hand(world: us.worlds.World, campaign: Campaign) -> dict[int, list[int]]:
    """What the first campaign shows to each user, from the truth up to its day."""
    n_items, day = world.about["parameters"]["items"], campaign.day
    truth = world.tables["truth"]
    log = us.read_log(truth.filter([time <= day for time in truth["time"].to_pylist()]))
    now = log.at(day).number_by_id()
    log = now.log
    counts = Counter(item for user in log.users for item in now.profile(user))
    ranking = sorted(counts, key=lambda item: (-counts[item], item))
    allowed = set(ranking[: max(round(campaign.catalogue * n_items), 20)])
    allowed -= set(ranking[campaign.excluded - 1 :: campaign.excluded]) if campaign.excluded else set()
    model = recommender(campaign.recommender).fit(now)
    lists = {}
    for code, user in enumerate(log.users):
        own = log.items.codes(now.profile(user))
        batch = Batch(np.array([code]), np.array([0, len(own)]), own, len(log.items))
        found = model.recommend(batch, min(12 * campaign.shown, len(log.items)))[0]
        ids = [item for item in log.items.take(found[found >= 0]).to_pylist() if item in allowed]
        lists[user] = [item for item in ids if item not in now.profile(user)][: campaign.shown]
    return {user: shown for user, shown in lists.items() if shown}


@pytest.mark.parametrize(
    "campaign",
    [
        Campaign(330),
        Campaign(60, catalogue=0.3, excluded=7, shown=4),
        Campaign(200, recommender="popular", excluded=1),
        Campaign(100, recommender="popular", excluded=3, catalogue=0.1, shown=30),
        Campaign(120, recommender="knn?neighbours=9", shown=3, **{k: EASY[k] for k in ("catalogue", "excluded")}),
    ],
    ids=str,
)
def test_everyone_is_shown_what_the_recommender_gives_on_the_log_of_the_day(campaign: Campaign) -> None:
    world = us.simulate(users=300, items=200, seed=6, campaigns=[campaign])
    shown = defaultdict(list)
    for user, item, time, *_ in rows(world.exposures):
        shown[user].append(item)
        assert time == campaign.day
    assert dict(shown) == _lists_by_hand(world, campaign)


def test_what_is_excluded_at_the_first_campaign_stays_so() -> None:
    campaigns = [Campaign(100, catalogue=1.0, excluded=4), Campaign(400, catalogue=1.0, excluded=4)]
    world = us.simulate(users=400, items=100, seed=1, campaigns=campaigns)
    counts = Counter(item for _, item, time in rows(world.tables["truth"]) if time <= 100)
    ranking = sorted(counts, key=lambda item: (-counts[item], item))
    out = set(ranking[3::4])
    assert out
    assert out.isdisjoint(world.exposures["item"].to_pylist())


def test_reach_is_the_share_of_those_with_a_profile_and_drawn_anew_each_time() -> None:
    often = [Campaign(day, reach=0.3, shown=1, **EASY) for day in (300, 400)]
    world = us.simulate(users=3000, items=300, seed=2, campaigns=often)
    there = {user for user, _, time in rows(world.tables["truth"]) if time <= 300}
    first, second = ({u for u, _, _, c, _ in rows(world.exposures) if c == k} for k in (0, 1))
    assert first <= there
    assert len(first) / len(there) == pytest.approx(0.3, abs=0.03)
    assert len(first & second) / len(first) == pytest.approx(0.3, abs=0.06)


def test_a_share_of_the_users_is_held_out_the_same_whatever_is_recommended() -> None:
    worlds = [small(world, users=3000, holdout=0.2) for world in ("paper", "quiet")]
    assert len(worlds[0].holdout) / 3000 == pytest.approx(0.2, abs=0.025)
    assert worlds[0].holdout.equals(worlds[1].holdout)
    assert len(small(holdout=1.0).exposures) == 0
    assert len(small(holdout=0.0).holdout) == 0


def _accepted(world: us.worlds.World) -> tuple[list[Pair], list[bool]]:
    """What was shown of what would not have come anyway, and whether it was taken."""
    log, truth = taken(world.tables["log"]), taken(world.tables["truth"])
    pairs = [(user, item) for user, item, *_ in rows(world.exposures) if (user, item) not in truth]
    return pairs, [pair in log for pair in pairs]


def test_people_take_the_share_of_their_list_that_was_asked_for_and_rather_what_they_like() -> None:
    recipe = resize(PAPER, 6000, 600)
    campaign = Campaign(400, acceptance=0.1, shown=10, **EASY)
    pairs, accepted = _accepted(us.simulate(recipe, seed=4, campaigns=[campaign]))
    assert np.mean(accepted) == pytest.approx(0.1, abs=0.004)  # sixty thousand draws
    _, topics = simulate_people(recipe, 4)
    user, item = np.array(pairs).T
    liked, took = topics.affinity(user, item), np.array(accepted)
    share = [took[liked == value].mean() for value in recipe.affinity]
    assert share[0] > share[1] > 3 * share[2]
    assert share[1] / share[0] == pytest.approx(recipe.affinity[1] / recipe.affinity[0], abs=0.1)


def test_who_likes_nothing_takes_nothing_and_who_takes_all_takes_all() -> None:
    nothing = us.simulate(Recipe(users=200, items=100, affinity=(0, 0, 0), campaigns=(Campaign(300),)))
    assert len(nothing.exposures) > 0
    assert len(nothing.tables["log"]) == len(nothing.tables["truth"])
    flat = Recipe(users=200, items=100, affinity=(1, 1, 1), campaigns=(Campaign(300, acceptance=1.0),))
    assert all(_accepted(us.simulate(flat))[1])


@pytest.mark.parametrize("anyway", [0.0, 0.6, 1.0])
def test_what_would_have_come_anyway_is_hastened_as_often_as_asked_for(anyway: float) -> None:
    recipe = Recipe(users=3000, items=100, organic=6.0, trickle=1.0, anyway=anyway)
    world = us.simulate(recipe, seed=3, campaigns=[Campaign(200, delay=0.0, **EASY)])
    log, truth = taken(world.tables["log"]), taken(world.tables["truth"])
    hastened = [log[pair] < truth[pair] for pair in first_shown(world) if pair in truth]
    assert len(hastened) > 500
    assert np.mean(hastened) == pytest.approx(anyway, abs=0.06)


def test_what_is_accepted_comes_after_a_short_random_delay() -> None:
    world = us.simulate(users=4000, items=400, seed=1, campaigns=[Campaign(300, acceptance=0.5, delay=4.0)])
    log, truth = taken(world.tables["log"]), taken(world.tables["truth"])
    waited = np.array([log[pair] - 300 for pair in log if pair not in truth])
    assert waited.min() == 0
    assert waited.mean() == pytest.approx(1 / np.expm1(1 / 4), abs=0.15)  # whole days of an exponential time
    assert np.quantile(waited, 0.99) <= 20


def test_what_would_be_taken_after_the_end_is_not_taken_on_the_last_day_instead() -> None:
    world = us.simulate(users=4000, items=400, seed=1, campaigns=[Campaign(499, acceptance=0.5, delay=100.0)])
    more = len(world.tables["log"]) - len(world.tables["truth"])
    expected = 0.5 * -np.expm1(-2 / 100) * len(world.exposures)  # within two whole days of an exponential time
    assert more == pytest.approx(expected, rel=0.2)


def test_nothing_comes_after_the_last_day() -> None:
    world = small(campaigns=(Campaign(500, acceptance=0.5, **EASY),))
    check_history(world)
    assert len(world.tables["log"]) > len(world.tables["truth"])
    assert max(world.tables["log"]["time"].to_pylist()) == 500


def test_campaigns_may_be_named_in_any_order() -> None:
    both = (Campaign(400, reach=0.5), Campaign(200, shown=3))
    assert small(campaigns=both).tables["log"].equals(small(campaigns=both[::-1]).tables["log"])
    two = small(campaigns=(Campaign(300), Campaign(300)))
    assert set(two.exposures["campaign"].to_pylist()) == {0, 1}
    check_history(two)


def test_a_campaign_before_anyone_is_there_shows_nothing_and_keeps_its_number() -> None:
    recipe = Recipe(users=3, items=60, days=200, adoption=1e9, campaigns=(Campaign(0), Campaign(199, **EASY)))
    world = us.simulate(recipe, seed=1)
    assert min(world.tables["truth"]["time"].to_pylist()) > 0
    assert set(world.exposures["campaign"].to_pylist()) == {1}


def test_a_later_campaign_learns_from_what_an_earlier_one_led_to() -> None:
    pushing = Campaign(300, recommender="constant:7", reach=1.0, acceptance=1.0, catalogue=1.0, excluded=0)
    asking = Campaign(400, recommender="popular", shown=1, catalogue=1.0, excluded=0)
    world = us.simulate(Recipe(users=500, items=300, late=0.5), seed=2, campaigns=[pushing, asking])
    second = {item for _, item, _, campaign, _ in rows(world.exposures) if campaign == 1}
    assert 7 in second
    alone = us.simulate(Recipe(users=500, items=300, late=0.5), seed=2, campaigns=[asking])
    assert 7 not in alone.exposures["item"].to_pylist()


def test_a_constant_list_skips_what_a_user_holds_and_closes_ranks() -> None:
    constant = Campaign(300, recommender="constant:1,2,3", shown=2, catalogue=1.0, excluded=0)
    world = us.simulate(users=400, items=30, seed=1, campaigns=[constant])
    check_history(world)
    held = defaultdict(set)
    for user, item, time in rows(world.tables["truth"]):
        if time <= 300:
            held[user].add(item)
    shown = defaultdict(list)
    for user, item, *_ in rows(world.exposures):
        shown[user].append(item)
    for user, mine in held.items():
        assert shown[user] == [item for item in (1, 2, 3) if item not in mine][:2]


@pytest.mark.parametrize(
    ("name", "said"), [("Echo", "which is in the profile"), ("Stutter", "twice"), ("Failing", "no idea")]
)
def test_a_recommender_that_breaks_the_rules_is_named(name: str, said: str) -> None:
    with pytest.raises(UnskewError, match=said) as caught:
        small(campaigns=(Campaign(300, recommender=f"tests.worlds:{name}"),))
    assert name in str(caught.value)


def test_long_lists_are_made_for_fewer_users_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> us.worlds.World:
        return us.simulate(users=300, items=150, campaigns=[Campaign(300, shown=20, catalogue=1.0)])

    usual = made()
    monkeypatch.setattr(service, "_CELLS", 2500)
    assert made().exposures.equals(usual.exposures)
    monkeypatch.setattr(service, "_CELLS", 1)
    assert made().tables["log"].equals(usual.tables["log"])
