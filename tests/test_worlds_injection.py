"""Campaigns in a log of real people: the log as it was is the truth, in its own ids, names and times."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.dense import Event
from tests.scoring import events_of
from tests.tables import LAW
from tests.worlds import check_history, rows, taken
from unskew.errors import InputError, UnskewError
from unskew.worlds.people import Events
from unskew.worlds.recipe import Campaign, Recipe
from unskew.worlds.simulation import LearnedTastes

EASY: dict[str, Any] = {"catalogue": 1.0, "excluded": 0}
MIDNIGHT = 1_704_067_200  # 2024-01-01, in seconds


def columns(seed: int = 0, n: int = 500) -> dict[str, Any]:
    """Sixty users and thirty items over a hundred days; rows repeat."""
    rng = np.random.default_rng(seed)
    return {"user": rng.integers(0, 60, n), "item": rng.integers(0, 30, n), "time": rng.integers(0, 100, n)}


def base(**other: Any) -> pa.Table:
    """The same as a table, with other columns in place of its own."""
    return pa.table({**columns(), **other})


def folded(table: pa.Table) -> dict[Any, Any]:
    """When each user first took each item."""
    first: dict[Any, Any] = {}
    for user, item, time in rows(table):
        first[user, item] = min(time, first.get((user, item), time))
    return first


DAYS = columns()["time"].tolist()
SECONDS = [MIDNIGHT + 86_400 * day + 3 * k for k, day in enumerate(DAYS)]
STAMPS = pa.array(SECONDS).cast(pa.timestamp("s")).cast(pa.timestamp("us"))
TIMES: dict[str, tuple[pa.Array, dict[str, Any]]] = {
    "whole numbers": (pa.array(DAYS), {}),
    "decimal numbers": (pa.array([day + 0.25 for day in DAYS]), {}),
    "dates": (pa.array([date(2024, 1, 1) + timedelta(day) for day in DAYS]), {}),
    "datetimes": (STAMPS, {}),
    "datetimes with a zone": (STAMPS.cast(pa.timestamp("us", tz="Europe/Paris")), {}),
    "nanoseconds": (pa.array([s * 10**9 + k for k, s in enumerate(SECONDS)]).cast(pa.timestamp("ns")), {}),
    "epoch in seconds": (pa.array(SECONDS), {"time_unit": "s"}),
    "epoch in nanoseconds": (pa.array([s * 10**9 + 1 for s in SECONDS]), {"time_unit": "ns"}),
    "epoch in days": (pa.array([MIDNIGHT // 86_400 + day for day in DAYS]), {"time_unit": "day"}),
}


@pytest.mark.parametrize("kind", TIMES)
def test_the_truth_is_the_base_log_with_its_times_and_their_type(kind: str, tmp_path: Path) -> None:
    times, how = TIMES[kind]
    table = base(time=times)
    world = us.simulate(base=us.read_log(table, **how), seed=1, holdout=0.1)
    assert taken(world.tables["truth"]) == folded(table)
    for made in (world.tables["log"], world.tables["truth"], world.exposures):
        assert made.schema.field("time").type == times.type
    assert len(world.tables["log"]) > len(world.tables["truth"])
    assert len(world.campaigns) == 2
    check_history(world)
    world.save(tmp_path)
    again = us.worlds.World.load(tmp_path)
    assert again.about == world.about
    assert again.tables["log"].equals(world.tables["log"])
    assert again.about["time_unit"] == how.get("time_unit")
    for log in (us.read_log(tmp_path / "log.parquet", exposed="exposed", **how), again.log, world.log):
        assert len(us.views.organic(log)) < len(world.tables["log"])
        assert log.axis == world.truth.axis == us.read_log(table, **how).axis


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([f"n{k}" for k in range(60)]),
        pa.array([f"n{k}" for k in range(60)]).dictionary_encode(),
        pa.array(range(1000, 1060), type=pa.int16()),
        pa.array(range(2**63, 2**63 + 60), type=pa.uint64()),
        pa.array([k / 2 for k in range(60)]),
    ],
    ids=lambda ids: str(ids.type),
)
def test_ids_keep_their_type(ids: pa.Array) -> None:
    own = columns()
    table = base(user=ids.take(pa.array(own["user"])), item=ids.take(pa.array(own["item"])))
    world = us.simulate(base=table, seed=1, holdout=0.2)
    check_history(world)
    assert taken(world.tables["truth"]) == folded(table)
    for made in (world.tables["log"], world.tables["truth"], world.exposures):
        assert made.schema.field("user").type == made.schema.field("item").type == ids.type
    assert world.holdout.schema.field("user").type == ids.type
    assert 0 < len(world.holdout) < 30


def test_columns_keep_their_names() -> None:
    table = base().rename_columns(["member", "skill", "day"])
    world = us.simulate(base=us.read_log(table, user="member", item="skill", time="day"))
    assert world.tables["log"].column_names == ["member", "skill", "day", "exposed"]
    assert world.tables["truth"].column_names == ["member", "skill", "day"]
    assert world.exposures.column_names == ["member", "skill", "day", "campaign", "position"]
    assert world.holdout.column_names == ["member"]
    assert world.columns == ["member", "skill", "day"]
    assert (world.log.columns.user, world.truth.columns.item, world.log.columns.time) == ("member", "skill", "day")
    check_history(world)


@pytest.mark.parametrize("name", ["exposed", "campaign", "position"])
def test_a_column_called_like_one_that_is_added_is_refused(name: str) -> None:
    log = us.read_log(base().rename_columns(["user", name, "time"]), item=name)
    with pytest.raises(UnskewError, match=name):
        us.simulate(base=log)


def test_any_source_of_a_log_will_do(tmp_path: Path) -> None:
    table = base()
    wanted = us.simulate(base=table, seed=1)
    table.to_pandas().to_csv(tmp_path / "log.csv", index=False)
    for source in (table.to_pandas(), columns(), us.read_log(table), tmp_path / "log.csv"):
        world = us.simulate(base=source, seed=1)
        assert rows(world.tables["log"]) == rows(wanted.tables["log"])
    assert world.about["base"] == str(tmp_path / "log.csv")


def test_a_seed_gives_one_world_and_another_seed_another() -> None:
    one, again, other = (us.simulate(base=base(), seed=seed) for seed in (1, 1, 2))
    assert one.tables["log"].equals(again.tables["log"])
    assert not one.tables["log"].equals(other.tables["log"])
    assert one.tables["truth"].equals(other.tables["truth"])


@pytest.mark.parametrize("kind", ["whole numbers", "decimal numbers", "dates", "datetimes"])
def test_by_default_campaigns_are_as_far_into_the_log_as_in_the_named_world(kind: str) -> None:
    world = us.simulate(base=base(time=TIMES[kind][0]), seed=1)
    times = pd.Series(world.tables["truth"]["time"].to_pandas())
    first, last = times.min(), times.max()
    for campaign, day in zip(world.campaigns, (330, 430), strict=True):
        assert (campaign - first) / (last - first) == pytest.approx(day / 500, abs=0.01)
    assert [c["day"] for c in world.about["parameters"]["campaigns"]] == [
        c if isinstance(c, int | float) else c.isoformat() for c in world.campaigns
    ]


@pytest.mark.parametrize(
    ("kind", "day", "wanted"),
    [
        ("whole numbers", 50, 50),
        ("whole numbers", "50", 50),
        ("decimal numbers", 50.5, 50.5),
        ("dates", "2024-02-01", date(2024, 2, 1)),
        ("dates", date(2024, 2, 1), date(2024, 2, 1)),
        ("datetimes", "2024-02-01T12:00", datetime(2024, 2, 1, 12)),
        ("datetimes", datetime(2024, 2, 1, 12), datetime(2024, 2, 1, 12)),
        ("datetimes", "2024-02-01", datetime(2024, 2, 1, 23, 59, 59, 999_999)),
        ("datetimes with a zone", "2024-02-01T12:00+00:00", datetime(2024, 2, 1, 12, tzinfo=UTC)),
        ("epoch in seconds", "2024-02-01", MIDNIGHT + 32 * 86_400 - 1),
        ("epoch in seconds", MIDNIGHT + 5_000_000, MIDNIGHT + 5_000_000),
        ("epoch in days", "2024-02-01", MIDNIGHT // 86_400 + 31),
    ],
)
def test_a_campaign_is_at_a_time_of_the_log(kind: str, day: Any, wanted: Any) -> None:
    times, how = TIMES[kind]
    log = us.read_log(base(time=times), **how)
    campaign = Campaign(day, recommender="popular", **EASY)
    for world in (
        us.simulate(base=log, campaigns=[campaign]),
        us.simulate("quiet", base=log, campaigns=[campaign]),
    ):
        assert world.campaigns == [wanted]
        check_history(world)


def test_a_recipe_places_its_campaigns_by_its_own_days_or_by_dates() -> None:
    table = base(time=TIMES["dates"][0])
    campaigns = (Campaign(25, **EASY), Campaign("2024-02-01", **EASY))
    world = us.simulate(Recipe(days=51, campaigns=campaigns), base=table)
    assert world.campaigns == [date(2024, 2, 1), date(2024, 2, 19)]  # the middle of hundred days


@pytest.mark.parametrize("day", [-1, 100, 5000, "100"])
def test_a_campaign_outside_the_log_is_refused(day: Any) -> None:
    with pytest.raises(InputError, match="the log, which runs from 0 to 99"):
        us.simulate(base=base(), campaigns=[Campaign(day)])


@pytest.mark.parametrize("day", [-5, 600])
def test_a_day_of_a_recipe_outside_the_log_is_refused(day: int) -> None:
    with pytest.raises(InputError, match=f"a campaign at {day}"):
        us.simulate(Recipe(campaigns=(Campaign(day),)), base=base())


def test_ids_of_a_recommender_are_those_of_the_log() -> None:
    table = base()
    for wanted in ([7, 8], [0, 29]):
        spec = "constant:" + ",".join(map(str, wanted))
        world = us.simulate(base=table, campaigns=[Campaign(50, recommender=spec, **EASY)])
        assert set(world.exposures["item"].to_pylist()) == set(wanted)
        check_history(world)


def test_a_table_of_recommendations_is_followed(tmp_path: Path) -> None:
    ids = [f"u{user}" for user in columns()["user"]]
    users = sorted(set(ids))
    lists = pd.DataFrame({"user": users, "item": [k % 30 for k in range(len(users))], "rank": 1})
    lists.to_csv(tmp_path / "lists.csv", index=False)
    campaign = Campaign(99, recommender=f"table:{tmp_path}/lists.csv", **EASY)
    world = us.simulate(base=base(user=ids), campaigns=[campaign])
    held = taken(world.tables["truth"])
    wanted = {pair for pair in zip(lists["user"], lists["item"], strict=True) if pair not in held}
    assert {(user, item) for user, item, *_ in rows(world.exposures)} == wanted


def test_lists_do_not_depend_on_what_comes_after_the_campaign() -> None:
    table = base()
    early = [time <= 60 for time in table["time"].to_pylist()]
    campaign = Campaign(50, recommender="popular", acceptance=0.0, **EASY)
    both = [us.simulate(base=log, campaigns=[campaign]).exposures for log in (table, table.filter(early))]
    shown = [{(user, item): place for user, item, _, _, place in rows(found)} for found in both]
    assert shown[0] == shown[1]


def test_people_rather_take_what_is_close_to_their_history() -> None:
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(400), 8)
    item = rng.integers(0, 20, len(user)) + 20 * (user % 2)  # two kinds of people with twenty items each
    table = pa.table({"user": user, "item": item, "time": rng.integers(0, 100, len(user))})
    world = us.simulate(
        base=table, campaigns=[Campaign(90, recommender="popular", shown=40, acceptance=0.1, **EASY)]
    )
    truth, log = taken(world.tables["truth"]), taken(world.tables["log"])
    took: dict[bool, list[bool]] = {True: [], False: []}
    for pair in ((user, item) for user, item, *_ in rows(world.exposures)):
        if pair not in truth:
            took[pair[0] % 2 == pair[1] // 20].append(pair in log)
    assert np.mean(took[True]) > 3 * np.mean(took[False])
    assert np.mean(took[True] + took[False]) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(("n_users", "n_items"), [(12, 9), (9, 12), (1, 5), (6, 1), (60, 20)])
def test_affinity_is_the_cosine_in_the_space_of_the_decomposition(n_users: int, n_items: int) -> None:
    """So few that no dimension is left out; held against a dense decomposition."""
    rng = np.random.default_rng(3)
    held = rng.random((n_users, n_items)) < 0.4
    held[np.arange(n_users), np.arange(n_users) % n_items] = True
    user, item = np.nonzero(held)
    found = LearnedTastes.from_events(Events(user, item, np.zeros(len(user))), n_users, n_items)
    per_user, per_item = held.sum(axis=1), held.sum(axis=0)
    scaled = held / np.sqrt(np.outer(per_user + per_user.mean(), per_item + per_item.mean()))
    left, values, right = np.linalg.svd(scaled, full_matrices=False)
    users, items = left * values, right.T * values
    with np.errstate(invalid="ignore"):
        cosine = users @ items.T / np.linalg.norm(users, axis=1)[:, None] / np.linalg.norm(items, axis=1)
    pairs = np.indices((n_users, n_items)).reshape(2, -1)
    wanted = 0.05 + 0.95 * np.clip(np.nan_to_num(cosine), 0, 1)
    np.testing.assert_allclose(found.affinity(*pairs).reshape(n_users, n_items), wanted, atol=1e-6)


def test_people_who_have_nothing_to_do_with_the_rest_leave_room_for_tastes() -> None:
    """Two kinds of people, and a hundred who hold one item that nobody else has."""
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(200), 10)
    item = rng.integers(0, 40, len(user)) + 40 * (user % 2)
    user, item = np.concatenate([user, np.arange(200, 300)]), np.concatenate([item, np.arange(80, 180)])
    user, item = np.unique(np.stack([user, item]), axis=1)
    history = LearnedTastes.from_events(Events(user, item, np.zeros(len(user))), 300, 180)
    people, things = np.repeat(np.arange(200), 80), np.tile(np.arange(80), 200)
    liked = history.affinity(people, things)
    same = people % 2 == things // 40
    assert liked[same].mean() > 5 * liked[~same].mean()


def test_delays_are_days_of_the_calendar() -> None:
    log = us.read_log(base(time=TIMES["epoch in nanoseconds"][0]), time_unit="ns")
    campaign = Campaign("2024-02-09", recommender="popular", acceptance=0.5, delay=0.5, **EASY)
    world = us.simulate(base=log, campaigns=[campaign])
    truth = taken(world.tables["truth"])
    waited = [time - world.campaigns[0] for pair, time in taken(world.tables["log"]).items() if pair not in truth]
    assert np.mean(waited) / 86_400e9 == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("delay", [0.0, 1e-12])
def test_nanoseconds_are_not_rounded(delay: float) -> None:
    times = [1_700_000_000_000_000_001 + 1001 * k for k in range(500)]
    at = times[400] + 1
    campaign = Campaign(at, recommender="popular", acceptance=1.0, delay=delay, **EASY)
    world = us.simulate(base=base(time=times), campaigns=[campaign])
    check_history(world)
    truth = taken(world.tables["truth"])
    new = [time for pair, time in taken(world.tables["log"]).items() if pair not in truth]
    assert new
    assert min(new) == at
    assert world.campaigns == [at]


@LAW
@given(
    events_of(20),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["popular", "knn?neighbours=3"])), max_size=3),
    st.sampled_from([None, 1.0]),
    st.sampled_from([0.0, 0.5]),
)
def test_any_log_is_the_truth_of_what_is_injected(
    events: list[Event], when: list[tuple[int, str]], anyway: float | None, holdout: float
) -> None:
    user, item, time = (list(column) for column in zip(*events, strict=True))
    table = pa.table({"user": user, "item": item, "time": time})
    times = folded(table).values()
    inside = [(day, spec) for day, spec in when if min(times) <= day <= max(times)]
    campaigns = [Campaign(day, recommender=spec, acceptance=0.8, **EASY) for day, spec in inside]
    if min(times) == max(times):
        with pytest.raises(InputError, match="no time to recommend in"):
            us.simulate(base=table)
        return
    world = us.simulate(Recipe(anyway=anyway), base=table, holdout=holdout, campaigns=campaigns)
    assert taken(world.tables["truth"]) == folded(table)
    check_history(world)


@pytest.mark.parametrize(("users", "items"), [(1, 2), (1, 5), (2, 1), (2, 2), (3, 3), (5, 1)])
def test_a_tiny_log_will_do(users: int, items: int) -> None:
    pairs = [(user, item) for user in range(users) for item in range(items)]
    user, item = zip(*pairs, strict=True)
    table = pa.table({"user": user, "item": item, "time": list(range(len(pairs)))})
    world = us.simulate(base=table, seed=2)
    check_history(world)
    assert taken(world.tables["log"]).keys() == set(pairs)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"base": {"user": [1], "item": [1], "time": [3]}}, "no time to recommend in"),
        ({"users": 5}, "leave out users and items"),
        ({"items": 5}, "leave out users and items"),
        ({"world": "closed-loop"}, "closed loop cannot be injected"),
        ({"campaigns": [Campaign("2024-01-01")]}, "plain numbers"),
        ({"campaigns": [Campaign("soon")]}, "not a time"),
        ({"base": "nowhere.parquet"}, "nowhere"),
    ],
)
def test_what_cannot_be_injected_is_refused(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(UnskewError, match=said):
        us.simulate(**{"base": base(), **given_})


def test_a_log_with_removals_is_refused() -> None:
    table = base(gone=columns()["time"] + 5)
    with pytest.raises(UnskewError, match="removals"):
        us.simulate(base=us.read_log(table, removed="gone"))
