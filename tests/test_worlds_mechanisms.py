"""What is new in the steady worlds: each mechanism does what its name says, beside a formula or a plain count."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unskew as us
from tests.described_worlds import describe_worlds
from tests.worlds import check_history, fewer, rows, small, taken
from unskew.errors import UnskewError
from unskew.recommend import Batch
from unskew.worlds.named_worlds import STEADY, WORLDS
from unskew.worlds.people import draw_items, simulate_people
from unskew.worlds.recipe import Campaign, Recipe, resize
from unskew.worlds.world_models import MakerModel, TrendingModel, make_content_model, make_production

NEW = sorted(name for name, recipe in WORLDS.items() if recipe.trickle == 1.0 and recipe.organic == STEADY.organic
             and name != "pre-empting")  # fmt: skip
EASY: dict[str, Any] = {"recommender": "popular", "catalogue": 1.0, "excluded": 0}
FLAT = Recipe(users=5000, items=200, topics=10, affinity=(1.0, 1.0, 1.0), trickle=1.0)
TINY: dict[str, Any] = {"users": 200, "items": 100}

# of days, users and items of all tables, computed before these mechanisms were added
UNCHANGED = {
    "paper": 663_782_468,
    "quiet": 1_818_836_174,
    "always-on": 1_113_981_767,
    "few-items": 1_213_402_563,
    "growth": 1_183_494_066,
    "pre-empting": 518_661_313,
    "candidate": 578_202_984,
    "long-campaigns": 1_249_088_417,
    "closed-loop": 3_602_088_786,
}


def checksum(world: us.worlds.World) -> int:
    """Of the whole numbers of all tables."""
    total = 0
    for name in ("log", "truth", "exposures", "holdout"):
        for column in world.tables[name].columns:
            total = zlib.crc32(np.asarray(column.to_numpy(), dtype="<i8").tobytes(), total)
    return total


@pytest.mark.parametrize("name", sorted(UNCHANGED))
def test_earlier_worlds_are_what_they_were(name: str) -> None:
    assert checksum(us.simulate(name, users=150, items=90, seed=7, holdout=0.2)) == UNCHANGED[name]


@pytest.mark.parametrize("name", NEW)
def test_a_seed_gives_the_same_steady_world_to_the_bit(name: str) -> None:
    recipe = replace(resize(WORLDS[name], **TINY), campaigns=fewer(name))
    first, again, other = (us.simulate(recipe, seed=seed) for seed in (3, 3, 4))
    assert checksum(first) == checksum(again) != checksum(other)


@pytest.mark.parametrize("name", ["steady", "steady-campaigns", "content", "new-items"])
def test_steady_worlds_are_as_active_after_the_reference_date_as_before(name: str) -> None:
    [row] = describe_worlds(name, seeds=[1], users=1500, items=500)
    assert 0.7 < row["organic_after"] / row["organic_before"] < 1.35
    assert 0.2 < row["exposed_share"] < 0.6
    assert 0.15 < row["induced_share"] < 0.5


def test_acceptance_falls_with_the_position_as_the_formula_says() -> None:
    campaign = Campaign(300, acceptance=0.15, shown=5, delay=0.0, position_bias=1.0, **EASY)
    world = us.simulate(replace(FLAT, campaigns=(campaign,)), seed=1)
    log, truth = taken(world.tables["log"]), taken(world.tables["truth"])
    accepted = defaultdict(list)
    for user, item, _, _, position in rows(world.exposures):
        if (user, item) not in truth:
            accepted[position].append((user, item) in log)
    mean = np.mean([1 / position for position in range(1, 6)])
    for position in range(1, 6):
        expected = 0.15 / position / mean
        assert np.mean(accepted[position]) == pytest.approx(expected, abs=4 * np.sqrt(expected / 4000))


def test_acceptance_grows_with_activity_as_the_formula_says() -> None:
    campaign = Campaign(300, acceptance=0.05, shown=5, delay=0.0, activity_bias=0.5, **EASY)
    world = us.simulate(replace(FLAT, campaigns=(campaign,)), seed=1)
    log, truth = taken(world.tables["log"]), taken(world.tables["truth"])
    sizes = Counter(user for (user, _), time in truth.items() if time <= 300)
    shown = [(user, item) for user, item, *_ in rows(world.exposures)]
    root = np.sqrt([sizes[user] for user, _ in shown])
    chance = 0.05 * root / root.mean()
    new = np.array([pair not in truth for pair in shown])
    accepted = np.array([pair in log for pair in shown])
    for low, high in ((1, 2), (2, 4), (4, 40)):
        chosen = new & (root**2 >= low) & (root**2 < high)
        assert accepted[chosen].mean() == pytest.approx(chance[chosen].mean(), rel=0.2)


def test_a_substitute_replaces_one_later_interaction_each() -> None:
    campaign = Campaign(200, acceptance=0.2, shown=5, delay=0.0, substitution=1.0, **EASY)
    world = us.simulate(replace(FLAT, organic=8.0, campaigns=(campaign,)), seed=1)
    log, truth = taken(world.tables["log"]), taken(world.tables["truth"])
    gained = Counter(user for user, item in log if (user, item) not in truth)
    lost = Counter(user for user, item in truth if (user, item) not in log)
    later = Counter(pair[0] for pair, time in truth.items() if time > 200 and log.get(pair, time) == time)
    assert sum(gained.values()) > 2000
    assert lost == Counter({user: min(gained[user], later[user]) for user in gained if later[user]})
    enough = [user for user in gained if later[user] >= gained[user]]
    assert len(enough) > 1000
    assert all(
        sum(pair[0] == user for pair in log) == sum(pair[0] == user for pair in truth) for user in enough[:20]
    )


def test_accepted_recommendations_lead_to_others_of_their_topic() -> None:
    campaign = Campaign(200, acceptance=0.1, shown=5, spill_over=1.0, **EASY)
    recipe = replace(FLAT, campaigns=(campaign,))
    world = us.simulate(recipe, seed=1)
    topic = draw_items(recipe, 1).topic
    truth, log = taken(world.tables["truth"]), taken(world.tables["log"])
    shown = {(user, item) for user, item, *_ in rows(world.exposures)}
    accepted = defaultdict(list)
    for (user, item), time in log.items():
        if (user, item) in shown and time >= 200:
            accepted[user, topic[item]].append(time)
    new = [(pair, time) for pair, time in log.items() if pair not in truth and pair not in shown]
    for (user, item), time in new:
        assert min(accepted[user, topic[item]]) <= time
    causes = sum(pair in shown and pair not in truth for pair in log)
    assert 0.5 < len(new) / causes < 1.0  # what users have already does not count


def test_joiners_come_for_what_is_shown_and_are_not_in_the_truth() -> None:
    campaigns = (Campaign(200, joiners=0.02, **EASY), Campaign(300, joiners=0.04, **EASY))
    world = us.simulate(replace(FLAT, users=500, holdout=0.2, campaigns=campaigns), seed=1)
    assert set(world.tables["truth"]["user"].to_pylist()) == set(range(500))
    frame = world.tables["log"].to_pandas()
    joiners = frame[frame["user"] >= 500]
    assert set(joiners["user"]) == set(range(500, 530))
    assert max(world.holdout["user"].to_pylist()) < 500
    shown = {campaign: set() for campaign in (0, 1)}  # type: ignore[var-annotated]
    for _, item, _, campaign, _ in rows(world.exposures):
        shown[campaign].add(item)
    for user, own in joiners.groupby("user"):
        campaign = int(user >= 510)
        first = own["time"].min()
        assert first >= (200, 300)[campaign]
        assert set(own[own["time"] == first]["item"]) & shown[campaign]
    check_history(world)


def test_exploration_fills_a_share_of_each_list_at_random() -> None:
    recipe = replace(FLAT, users=2000)
    plain, mixed = (
        us.simulate(recipe, seed=1, campaigns=[Campaign(300, shown=5, explore=share, **EASY)])
        for share in (0.0, 0.4)
    )
    check_history(mixed)
    known = {(user, place): item for user, item, _, _, place in rows(plain.exposures)}
    changed = [(user, item) for user, item, _, _, place in rows(mixed.exposures) if known[user, place] != item]
    assert len(changed) / len(known) == pytest.approx(0.4, abs=0.02)
    counts = np.bincount([item for _, item in changed], minlength=200)
    assert np.sort(counts)[20:].min() > 0.4 * counts.mean()  # nearly every item, few users have most of them


def test_sponsored_items_are_at_the_top_of_every_list() -> None:
    world = us.simulate(replace(FLAT, users=800), seed=1, campaigns=[Campaign(300, shown=5, sponsored=2, **EASY)])
    check_history(world)
    held = [(user, item) for user, item, time in rows(world.tables["truth"]) if time <= 300]
    counts = Counter(item for _, item in held)
    ranking = sorted(counts, key=lambda item: (-counts[item], item))
    sponsors = ranking[6::7][:10]
    have = set(held)
    lists = defaultdict(list)
    for user, item, *_ in rows(world.exposures):
        lists[user].append(item)
    for user, items in lists.items():
        lacking = [item for item in sponsors if (user, item) not in have]
        assert items[:2] == lacking[:2]
        usual = [item for item in ranking if (user, item) not in have and item not in lacking[:2]]
        assert items[2:] == usual[:3]


def _observe(recipe: Recipe, seed: int) -> tuple[pd.DataFrame, Any]:
    events, _ = simulate_people(recipe, seed)
    return pd.DataFrame({"item": events.item, "day": events.time}), draw_items(recipe, seed)


def _expect(frame: pd.DataFrame, weight: Any, chosen: Any) -> float:
    """The mean share that the chosen items have of all demand, by day; both functions of a day."""
    shares = {day: weight(day)[chosen(day)].sum() / weight(day).sum() for day in frame["day"].unique()}
    return float(frame["day"].map(shares).mean())


def test_new_items_are_in_demand_until_their_novelty_fades() -> None:
    recipe = replace(FLAT, items=400, taste=0.0, births=0.5, birth_every=7, novelty=5.0, fade=20.0)
    frame, items = _observe(recipe, 1)
    assert set(items.born % 7) == {0}
    assert len(set(items.born)) > 40
    age = frame["day"] - items.born[frame["item"]]

    def weight(day: int, novelty: float = 5.0) -> Any:
        factor = np.where(items.born > 0, 1 + novelty * np.exp(-(day - items.born) / 20.0), 1.0)
        return np.where(items.born <= day, items.weight * factor, 0.0)

    late = frame[frame["day"] > 100]
    seen = (age[frame["day"] > 100] <= 14) & (items.born[late["item"]] > 0)
    expected = _expect(late, weight, lambda day: (items.born > 0) & (day - items.born <= 14))
    plain = _expect(late, lambda day: weight(day, 0.0), lambda day: (items.born > 0) & (day - items.born <= 14))
    assert seen.mean() == pytest.approx(expected, rel=0.1)
    assert seen.mean() > 2 * plain


def test_demand_for_topics_goes_up_and_down() -> None:
    recipe = replace(FLAT, taste=0.0, season=1.0, period=100.0)
    frame, items = _observe(recipe, 2)

    def weight(day: int) -> Any:
        return items.weight * np.exp(np.sin(2 * np.pi * (day / 100 + items.phase[items.topic])))

    for topic in range(3):
        share = [
            (items.topic[part["item"]] == topic).mean()
            for _, part in frame.groupby(((frame["day"] / 100 + items.phase[topic]) % 1 < 0.5).to_numpy())
        ]
        assert share[1] > 2 * share[0]  # the first half of a period is above
    high = np.sin(2 * np.pi * (frame["day"] / 100 + items.phase[items.topic[frame["item"]]])) > 0
    expected = _expect(frame, weight, lambda day: np.sin(2 * np.pi * (day / 100 + items.phase[items.topic])) > 0)
    assert high.mean() == pytest.approx(expected, abs=0.02)


def test_a_season_may_fall_into_the_window_of_a_campaign() -> None:
    recipe = replace(FLAT, users=20_000, taste=0.0, peak=1.5, peak_days=(330, 350))
    frame, items = _observe(recipe, 1)
    assert items.peaking.sum() == 2
    peaking = items.peaking[items.topic[frame["item"]]]
    mass = items.weight[items.peaking[items.topic]].sum() / items.weight.sum()
    inside = frame["day"].between(330, 349).to_numpy()
    expected = mass * np.exp(1.5) / (mass * np.exp(1.5) + 1 - mass)
    assert peaking[inside].mean() == pytest.approx(expected, abs=0.03)
    assert peaking[~inside].mean() == pytest.approx(mass, abs=0.02)
    assert WORLDS["season-in-window"].peak_days == (330, 350)


def test_tastes_move_with_nothing_recommended() -> None:
    recipe = replace(FLAT, users=2000, organic=6.0, taste=1.0, first=1.0, restless=0.1, adoption=1.0)
    events, topics = simulate_people(recipe, 1)
    liked = topics.liked_at(events.user, events.time)
    assert (topics.of_item[events.item] == liked[:, 0]).mean() > 0.99  # whoever has nothing gets something
    everyone = np.arange(2000)
    moved = (topics.liked_at(everyone, 0) != topics.liked_at(everyone, 500)).any(axis=1).mean()
    assert moved == pytest.approx(1 - 0.9**19, abs=0.06)  # some come back to what they liked
    trend = simulate_people(replace(recipe, users=8000, restless=0.2, trend=2.0), 1)[1]
    slope = draw_items(replace(recipe, users=8000), 1).slope
    means = [slope[trend.liked_at(np.arange(8000), day)[:, 0]].mean() for day in (0, 250, 500)]
    assert means[0] < means[1] - 0.1 < means[2] - 0.3


def test_a_holdout_group_may_be_drawn_by_activity() -> None:
    world = us.simulate(replace(FLAT, holdout=0.05, holdout_bias=1.0), seed=1)
    sizes = world.tables["truth"].to_pandas().groupby("user").size()
    chance = np.minimum(0.05 * sizes / sizes.mean(), 1)
    held = sizes[world.holdout["user"].to_pylist()]
    assert len(held) == pytest.approx(chance.sum(), rel=0.15)
    assert held.mean() == pytest.approx((sizes * chance).sum() / chance.sum(), rel=0.2)
    assert held.mean() > 1.5 * sizes.mean()


@pytest.mark.parametrize("name", ["on-before", "replaced"])
def test_what_stops_at_the_reference_date_is_the_log_until_then(name: str, tmp_path: Path) -> None:
    world = small(name, campaigns=fewer(name))
    log, stopped, truth = (taken(world.tables[table]) for table in ("log", "stopped", "truth"))
    until = [{pair: time for pair, time in table.items() if time <= 300} for table in (log, stopped, truth)]
    assert until[0] == until[1] != until[2]
    assert len(truth) < len(stopped) < len(log)
    early = [campaign for campaign in world.recipe.campaigns if int(str(campaign.day)) <= 300]
    alone = us.simulate(replace(world.recipe, campaigns=tuple(early)), seed=3)
    assert taken(alone.tables["log"]) == stopped
    world.save(tmp_path)
    again = us.worlds.World.load(tmp_path)
    assert again.tables["stopped"].equals(world.tables["stopped"])
    assert again.stopped is not None
    assert len(again.stopped) == len(stopped)
    assert small("quiet").stopped is None


def test_a_content_model_recommends_what_is_closest_to_the_profile(tmp_path: Path) -> None:
    world = small("twins", campaigns=fewer("twins"))
    now = world.truth.at(500).number_by_id()
    model = world.content_model().fit(now)
    batch = Batch.of(now)
    lists = model.recommend(batch, 7)
    ids = np.array(now.log.items.to_list())
    for place in range(0, len(batch), 25):
        profile = batch.profile(place)
        mean = model.features[ids[profile]].mean(axis=0)
        score = model.features[ids] @ mean
        score[profile] = -np.inf
        assert sorted(score[lists[place]]) == pytest.approx(sorted(np.sort(score)[-7:]))
    world.save(tmp_path)
    again = us.worlds.World.load(tmp_path)
    for twin in (0, 1):
        assert np.array_equal(again.content_model(twin).features, world.content_model(twin).features)
    assert not np.array_equal(world.content_model(0).features, world.content_model(1).features)
    spec = world.recipe.campaigns[0].recommender
    assert spec == str(world.content_model()) == "content"
    assert us.evaluate(model, world.truth.at(500)).value > us.evaluate("constant:1", world.truth.at(500)).value


def test_trending_production_shows_what_was_interacted_with_most_in_the_last_two_weeks() -> None:
    world = small("trending", campaigns=fewer("trending"))
    now = world.truth.at(300).number_by_id()
    lists = TrendingModel().fit(now).recommend(Batch.of(now), 5)
    table = world.tables["truth"]
    days, items = table["time"].to_numpy(), np.array(table["item"].to_pylist())
    counts = Counter(items[(days > 300 - 14) & (days <= 300)].tolist())
    ids = now.log.items.to_list()
    for place in range(0, len(lists), 20):
        profile = {ids[code] for code in Batch.of(now).profile(place)}
        best = sorted((count for item, count in counts.items() if item not in profile), reverse=True)[:5]
        assert [counts[ids[code]] for code in lists[place] if code >= 0] == best


def test_same_maker_production_shows_nothing_of_other_makers() -> None:
    world = small("same-maker", campaigns=fewer("same-maker"))
    model = make_production("same-maker", world.recipe, 3)
    assert isinstance(model, MakerModel)
    now = world.truth.at(300).number_by_id()
    batch, ids = Batch.of(now), np.array(now.log.items.to_list())
    lists = model.fit(now).recommend(batch, 4)
    for place in range(0, len(batch), 20):
        profile = ids[batch.profile(place)]
        owned = Counter(model.maker[profile].tolist())
        shown = ids[lists[place][lists[place] >= 0]]
        assert not set(shown) & set(profile)
        frequencies = [owned[maker] for maker in model.maker[shown].tolist()]
        assert 0 not in frequencies
        assert frequencies == sorted(frequencies, reverse=True)
    exposures = world.exposures.to_pylist()
    assert {(row["user"], row["item"]) for row in exposures}
    assert len(set(model.maker.tolist())) > 5


def test_twins_are_equally_good_in_expectation() -> None:
    differences = []
    for seed in range(20):
        recipe = replace(STEADY, users=300, items=120, topics=10)
        truth = us.simulate(recipe, seed=seed).truth
        scores = [us.evaluate(make_content_model(recipe, seed, k), truth.at(truth.last)).value for k in (0, 1)]
        differences.append(scores[1] - scores[0])
    error = np.std(differences, ddof=1) / np.sqrt(20)
    assert abs(np.mean(differences)) < 3 * error
    assert 0 < error < 0.02


def test_other_people_may_be_drawn_for_the_same_items() -> None:
    recipe = replace(WORLDS["new-items"], users=300, items=120, topics=10, trend=1.0, campaigns=())
    mine, others = draw_items(recipe, 5), draw_items(replace(recipe, item_seed=5), 77)
    for name in ("weight", "topic", "slope", "born", "phase", "peaking"):
        assert np.array_equal(getattr(mine, name), getattr(others, name))
    world, same = us.simulate(recipe, seed=5), us.simulate(replace(recipe, item_seed=5), seed=5)
    assert world.tables["truth"].equals(same.tables["truth"])
    people = us.simulate(replace(recipe, item_seed=5), seed=77)
    assert not people.tables["truth"].equals(world.tables["truth"])
    assert np.array_equal(people.content_model().features, world.content_model().features)
    counts = [
        Counter(made.tables["truth"]["item"].to_pylist()) for made in (world, people, us.simulate(recipe, seed=77))
    ]
    table = np.array([[count[item] for item in range(120)] for count in counts])
    correlation = np.corrcoef(table)
    assert correlation[0, 1] > 0.8
    assert correlation[0, 2] < 0.4


@pytest.mark.parametrize("name", ["content", "trending", "same-maker", "spill-over", "joiners"])
def test_what_needs_topics_cannot_be_injected_into_a_log(name: str) -> None:
    with pytest.raises(UnskewError, match="topics of a simulated world"):
        us.simulate(name, base=small("quiet").truth)


def test_other_mechanisms_can_be_injected_into_a_log() -> None:
    campaign = Campaign(
        350, explore=0.2, sponsored=1, position_bias=1.0, activity_bias=0.5, substitution=0.5, **EASY
    )
    made = us.simulate(base=small("quiet").truth, campaigns=[campaign])
    assert len(made.exposures) > 0
    assert us.simulate(base=small("quiet").truth, campaigns=[campaign]).exposures.equals(made.exposures)
