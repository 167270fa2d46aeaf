"""The closed loop: every round scored again from the tables, and who stays in production."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import unskew as us
from tests.worlds import check_history, rows
from unskew.errors import InputError
from unskew.worlds.recipe import Campaign, Loop, Recipe

SHORT = Campaign(0, shown=5, acceptance=0.2, catalogue=1.0, excluded=0, delay=1.0)  # over before the next round
LISTS = ("list:a", "list:b", "list:c")


@pytest.fixture(scope="module")
def loop() -> us.worlds.World:
    """The named world, small."""
    return us.simulate("closed-loop", users=600, items=300, seed=1)


@pytest.fixture(scope="module", params=["raw", "weighted", "organic"])
def race(request: pytest.FixtureRequest) -> us.worlds.World:
    """Lists against one that learns; each score decides once."""
    contest = Loop((*LISTS, "popular"), 200, 40, 4, "list:c", request.param, "mrr@5", SHORT)
    return us.simulate(Recipe(users=400, items=150, topics=8, late=0.2, holdout=0.1, loop=contest), seed=2)


def rounds_of(world: us.worlds.World) -> list[dict[str, Any]]:
    assert world.rounds is not None
    told: list[dict[str, Any]] = world.rounds.to_pylist()
    return told


def chosen(world: us.worlds.World) -> list[str]:
    """What is in production, round after round."""
    return [row["candidate"] for row in rounds_of(world) if row["chosen"] and row["score_of"] == "raw"]


def test_every_round_ranks_every_candidate_by_every_score_and_chooses_one(race: us.worlds.World) -> None:
    told = rounds_of(race)
    assert [row["at"] for row in told[:: 3 * 4]] == [200, 240, 280, 320]
    for number in range(4):
        for score_of in ("raw", "weighted", "organic"):
            group = [row for row in told if (row["round"], row["score_of"]) == (number, score_of)]
            assert [row["candidate"] for row in group] == [*LISTS, "popular"]
            assert sorted(row["rank"] for row in group) == [1, 2, 3, 4]
            by_rank = sorted(group, key=lambda row: row["rank"])
            assert [row["score"] for row in by_rank] == sorted((row["score"] for row in group), reverse=True)
            assert [row["candidate"] for row in group if row["chosen"]] == [chosen(race)[number]]
    assert len(told) == 4 * 3 * 4


def test_the_best_by_the_score_that_decides_goes_into_production(race: us.worlds.World) -> None:
    decides = race.about["parameters"]["loop"]["chosen_by"]
    best = [row["candidate"] for row in rounds_of(race) if row["score_of"] == decides and row["rank"] == 1]
    assert chosen(race) == ["list:c", *best[1:]]


def _spec(candidate: str, log: pa.Table) -> str:
    """The fixed lists by hand: the popular items of the first evaluation dealt like cards, five each."""
    if candidate not in LISTS:
        return candidate
    counts = Counter(log["item"].to_pylist())
    ranking = sorted(counts, key=lambda item: (-counts[item], item))
    return "constant:" + ",".join(map(str, ranking[LISTS.index(candidate) :: len(LISTS)][:5]))


def _until(world: us.worlds.World, day: int) -> list[tuple[Any, ...]]:
    """The log as it was when it was evaluated: what the list of that day leads to had not come yet."""
    today = {(user, item) for user, item, time, *_ in rows(world.exposures) if time == day}
    return [row for row in rows(world.tables["log"]) if row[2] < day or (row[2] == day and row[:2] not in today)]


def _table(found: list[tuple[Any, ...]]) -> pa.Table:
    user, item, time, *_ = zip(*found, strict=True)
    return pa.table({"user": user, "item": item, "time": time})


def _now(table: pa.Table) -> us.Snapshot:
    log = us.read_log(table)
    return log.at(log.last)


def test_scores_and_truth_are_those_of_the_log_up_to_the_day(race: us.worlds.World) -> None:
    first = _table(_until(race, 200))
    reference = _now(first)
    for day in (200, 240, 280, 320):
        seen = _until(race, day)
        now = {"all": _now(_table(seen)), "organic": _now(_table([row for row in seen if not row[3]]))}
        weights = {view: us.fit_weights(at, reference) for view, at in now.items()}
        quiet = _now(_table([row for row in rows(race.tables["truth"]) if row[2] <= day]))
        for row in (row for row in rounds_of(race) if row["at"] == day):
            spec = _spec(row["candidate"], first)
            view = "organic" if row["score_of"] == "organic" else "all"
            weighting = None if row["score_of"] == "raw" else weights[view]
            score = us.evaluate(spec, now[view], weights=weighting, metric="mrr@5")
            assert row["score"] == pytest.approx(score.value, abs=1e-12)
            assert row["truth"] == pytest.approx(us.evaluate(spec, quiet, metric="mrr@5").value, abs=1e-12)


def test_what_is_in_production_is_what_is_shown(race: us.worlds.World) -> None:
    check_history(race)
    first = _table(_until(race, 200))
    for number, candidate in enumerate(chosen(race)):
        shown = {item for _, item, _, campaign, _ in rows(race.exposures) if campaign == number}
        if candidate in LISTS:
            assert shown == {int(item) for item in _spec(candidate, first).split(":")[1].split(",")}
    assert race.campaigns == [200, 240, 280, 320]


def test_when_the_raw_score_decides_a_weak_list_keeps_its_place(loop: us.worlds.World) -> None:
    check_history(loop)
    assert loop.campaigns == list(range(300, 476, 25))
    assert chosen(loop) == ["list:e"] * 8
    start, *_, last = [r for r in rounds_of(loop) if r["candidate"] == "list:e" and r["score_of"] == "raw"]
    assert start["rank"] > 1
    assert last["rank"] == 1
    assert last["score"] > 2 * start["score"]
    assert last["truth"] == pytest.approx(start["truth"], abs=0.02)


def test_weighted_scores_of_fixed_lists_stay_within_the_bound(loop: us.worlds.World) -> None:
    first = rounds_of(loop)[0]["at"]
    reference = _now(_table(_until(loop, first)))
    start = {r["candidate"]: r["score"] for r in rounds_of(loop) if r["round"] == 0 and r["score_of"] == "raw"}
    for row in rounds_of(loop):
        if row["score_of"] == "weighted":
            assert row["score"] == pytest.approx(start[row["candidate"]], abs=2e-3)
            if row["round"] == 7 and row["candidate"] == "list:e":
                weights = us.fit_weights(_now(_table(_until(loop, row["at"]))), reference)
                assert abs(row["score"] - start["list:e"]) <= weights.bound + 1e-9


def test_when_the_weighted_score_decides_the_best_list_wins() -> None:
    fair = us.simulate("closed-loop", users=600, items=300, seed=1, chosen_by="weighted")
    assert chosen(fair) == ["list:e"] + ["list:a"] * 7
    assert fair.about["parameters"]["loop"]["chosen_by"] == "weighted"


def test_without_an_incumbent_the_first_winner_is_in_production() -> None:
    contest = Loop(LISTS, first=100, every=10, rounds=1)
    world = us.simulate(Recipe(users=200, items=100, loop=contest), seed=1)
    assert chosen(world) == ["list:a"]


def test_only_a_loop_has_rounds_and_campaigns_take_its_place() -> None:
    assert us.simulate(users=50, items=50).rounds is None
    world = us.simulate("closed-loop", users=50, items=50, campaigns=[Campaign(100)])
    assert world.rounds is None
    assert world.about["parameters"]["loop"] is None


def test_fixed_lists_want_as_many_items() -> None:
    with pytest.raises(InputError, match=r"5 fixed lists.*give more items"):
        us.simulate("closed-loop", users=30, items=3)
