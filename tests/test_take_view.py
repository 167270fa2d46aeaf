"""The best view that knowledge allows: which is taken, what is refused, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest

import unskew as us
from unskew.errors import PolicyError, UnskewError

PRODUCTION = "knn?neighbours=20&similarity=cooccurrence&exact=false"
SHORT = ["330:350", "430:450"]
EXPOSURES = "exposures"
HOLDOUT = "holdout"


@pytest.fixture(scope="module")
def world() -> us.worlds.World:
    return us.simulate("steady", users=600, items=120, seed=11, holdout=0.3)


@pytest.fixture(scope="module")
def log(world: us.worlds.World) -> us.Log:
    return us.read_log(world.tables["log"].select(["user", "item", "time"]))


def fill_in(world: us.worlds.World, known: dict[str, Any]) -> dict[str, Any]:
    tables = {"exposures": world.exposures, "holdout": world.holdout}
    return {name: tables.get(name, value) for name, value in known.items()}


@pytest.mark.parametrize(
    ("known", "view"),
    [
        ({}, "all"),
        ({"production": PRODUCTION}, "all"),
        ({"holdout": HOLDOUT}, "all"),
        ({"campaigns": SHORT}, "outside"),
        ({"campaigns": SHORT, "production": PRODUCTION}, "thinned"),
        ({"campaigns": "320:", "production": PRODUCTION}, "thinned"),
        ({"campaigns": "320:"}, "thinned"),
        ({"campaigns": SHORT, "holdout": HOLDOUT}, "outside"),
        ({"holdout": HOLDOUT, "production": PRODUCTION}, "thinned"),
        ({"exposures": EXPOSURES}, "adjusted"),
        ({"exposures": EXPOSURES, "campaigns": SHORT}, "adjusted"),
        ({"exposures": EXPOSURES, "production": PRODUCTION}, "adjusted"),
        ({"exposures": EXPOSURES, "holdout": HOLDOUT}, "adjusted"),
        ({"exposures": EXPOSURES, "holdout": HOLDOUT, "production": PRODUCTION}, "kept"),
    ],
)
def test_the_best_view_that_knowledge_allows_is_taken(
    world: us.worlds.World, log: us.Log, known: dict[str, Any], view: str
) -> None:
    found = us.views.take_view(log, **fill_in(world, known), since=300, until=480)
    assert found.view == view
    assert found.view_report is not None
    assert (found.view_report.view, found.view_report.reason != "") == (view, True)
    assert found.view_report.dropped_pairs == len(log) - len(found)
    assert len(found) == len(log) if view == "all" else len(found) < len(log) or view == "thinned"
    if view != "kept":
        assert found.view_report.advice


@pytest.mark.parametrize(
    ("known", "view", "missing"),
    [
        ({}, "organic", "exposures: give exposures or exposed"),
        ({}, "adjusted", "to know who was shown what when, on a local log without removals: give exposures"),
        ({"holdout": HOLDOUT, "production": PRODUCTION}, "kept", "exposures: give exposures or exposed"),
        ({}, "outside", "to know when something was recommended: give campaigns"),
        ({"campaigns": SHORT}, "thinned", "a model of production: give production"),
        ({"production": PRODUCTION}, "thinned", "a holdout group, or to know when"),
        ({"exposures": EXPOSURES, "production": PRODUCTION}, "kept", "a holdout group: give holdout"),
        ({}, "thined", "must be one of all, organic, adjusted, outside, thinned, kept"),
    ],
)
def test_a_view_for_which_something_is_missing_is_refused(
    world: us.worlds.World, log: us.Log, known: dict[str, Any], view: str, missing: str
) -> None:
    with pytest.raises(UnskewError) as caught:
        us.views.take_view(log, **fill_in(world, known), view=view, since=300, until=480)
    assert missing in str(caught.value)


def test_a_view_can_be_insisted_on(world: us.worlds.World, log: us.Log) -> None:
    known: dict[str, Any] = {"exposures": world.exposures, "campaigns": SHORT, "since": 300, "until": 480}
    views = {view: us.views.take_view(log, view=view, **known) for view in ("all", "organic", "outside")}
    assert {name: view.view for name, view in views.items()} == {name: name for name in views}
    assert len(views["all"]) == len(log)
    assert {view.view_report.reason for view in views.values() if view.view_report} == {"it was asked for"}


def test_kept_without_a_model_of_production_is_organic_and_says_so(world: us.worlds.World, log: us.Log) -> None:
    found = us.views.take_view(log, exposures=world.exposures, holdout=world.holdout, view="kept")
    assert found.view == "organic"
    assert found.view_report is not None
    assert found.view_report.reason == "kept was asked for, which needs a model of production"


def test_before_anything_was_recommended_a_view_leaves_nothing_out(world: us.worlds.World, log: us.Log) -> None:
    found = us.views.take_view(log, holdout=world.holdout, production=PRODUCTION, since=300, until=300)
    assert (found.view, len(found)) == ("thinned", len(log))
    later = us.views.take_view(log, campaigns="400:", production=PRODUCTION, view="thinned", until=300)
    assert len(later) == len(log)


def test_within_without_exposures_is_refused(log: us.Log) -> None:
    with pytest.raises(PolicyError, match="within is how long an exposure counts: give exposures"):
        us.views.take_view(log, within=3)


def test_several_draws_are_made_only_where_chance_decides(world: us.worlds.World, log: us.Log) -> None:
    draws = us.Knowledge(holdout=world.holdout, production=PRODUCTION).take(
        log, draws=3, since=300, until=480, seed=5
    )
    assert [draw.view for draw in draws] == ["thinned"] * 3
    assert len({tuple(draw.item.tolist()) for draw in draws}) == 3
    assert len(us.Knowledge(campaigns=SHORT).take(log, draws=3)) == 1
    again = us.Knowledge(holdout=world.holdout, production=PRODUCTION).take(
        log, draws=3, since=300, until=480, seed=5
    )
    assert [draw.item.tolist() for draw in again] == [draw.item.tolist() for draw in draws]
