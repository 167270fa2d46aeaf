"""The parameters of a world: told and read back, and refused by name where they cannot be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import click
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew as us
from tests.tables import LAW
from unskew.cli.simulate_command import simulate as command
from unskew.errors import InputError, UnskewError
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.recipe import Campaign, Loop, Recipe, is_list, resize
from unskew.worlds.world_names import SUMMARIES

SHARE = st.floats(0, 1)
CAMPAIGNS = st.builds(
    Campaign,
    st.integers(0, 500) | st.dates().map(str),
    reach=SHARE,
    shown=st.integers(1, 20),
    acceptance=SHARE,
    catalogue=SHARE,
    excluded=st.integers(0, 9),
    delay=st.floats(0, 100),
)
RECIPES = st.builds(
    Recipe,
    users=st.integers(1, 10**6),
    items=st.integers(2, 10**6),
    zipf=st.floats(0, 3),
    affinity=st.tuples(SHARE, SHARE, SHARE),
    late=SHARE,
    anyway=st.none() | SHARE,
    campaigns=st.lists(CAMPAIGNS, max_size=3),
)


@LAW
@given(RECIPES)
def test_a_recipe_is_read_back_from_json_as_it_was(recipe: Recipe) -> None:
    told = recipe.to_dict()
    again = json.loads(json.dumps(told))
    assert again == told
    assert Recipe.from_dict(again) == recipe


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_a_named_world_is_read_back_from_json_as_it_was(world: str) -> None:
    assert Recipe.from_dict(json.loads(json.dumps(WORLDS[world].to_dict()))) == WORLDS[world]


def test_the_parameters_that_a_world_tells_make_the_same_world() -> None:
    world = us.simulate("growth", users=150, items=90, holdout=0.2, seed=4)
    assert Recipe.from_dict(world.about["parameters"]) == world.recipe
    again = us.simulate(world.recipe, seed=world.about["seed"])
    for name in ("log", "truth", "exposures", "holdout"):
        assert again.tables[name].equals(world.tables[name])


def test_numbers_of_numpy_are_told_as_plain_ones() -> None:
    campaign = Campaign(np.int64(20), reach=np.float32(0.5))  # type: ignore[arg-type]
    recipe = Recipe(users=np.int64(30), campaigns=(campaign,))  # type: ignore[arg-type]
    assert json.loads(json.dumps(recipe.to_dict()))["users"] == 30
    assert recipe.to_dict()["campaigns"][0]["day"] == 20
    assert Recipe(campaigns=(Campaign(date(2024, 5, 1)),)).to_dict()["campaigns"][0]["day"] == "2024-05-01"


@pytest.mark.parametrize(
    ("told", "part"),
    [
        ({"x": 1}, "'x'"),
        ({"campaigns": [{"day": 3, "foo": 1}]}, "'foo'"),
        ({"campaigns": [{}]}, "'day'"),
        ({"campaigns": 3}, "campaigns"),
        ({"campaigns": [3]}, "campaigns"),
        ({"loop": 3}, "loop"),
        ({"loop": {}}, "'candidates'"),
        ({"loop": {"candidates": ["popular"], "campaign": {"foo": 2}}}, "'foo'"),
        ({"users": "many"}, "users"),
    ],
)
def test_parameters_of_another_version_are_refused_by_name(told: dict[str, object], part: str) -> None:
    with pytest.raises(UnskewError, match=part):
        Recipe.from_dict(told)


POPEN = "subprocess:Popen?args=touch created"
NOT_SHIPPED = [POPEN, "os:system", "tests.worlds:Echo", "table:lists.csv", "popular:x", "constant", "list:ab"]


@pytest.mark.parametrize("spec", NOT_SHIPPED)
@pytest.mark.parametrize(
    "told",
    [
        lambda spec: {"campaigns": [{"day": 3}, {"day": 4, "recommender": spec}]},
        lambda spec: {"loop": {"candidates": ["list:a", spec]}},
        lambda spec: {"loop": {"candidates": ["list:a"], "incumbent": spec}},
        lambda spec: {"loop": {"candidates": ["list:a"], "campaign": {"day": 0, "recommender": spec}}},
    ],
    ids=["campaign", "candidate", "incumbent", "campaign of a loop"],
)
def test_a_recipe_from_a_file_names_only_what_is_shipped(
    told: Callable[[str], dict[str, object]], spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"{re.escape(repr(spec))} is not one"):
        Recipe.from_dict(told(spec))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "spec",
    ["constant:a,b", "popular", "knn?neighbours=7", "ease?l2=5", "als?factors=2", "bm25", "tfidf", "cosine?K=3"],
)
def test_what_is_shipped_may_be_named_in_a_file(spec: str) -> None:
    recipe = Recipe.from_dict({"campaigns": [{"day": 3, "recommender": spec}]})
    assert recipe.campaigns == (Campaign(3, recommender=spec),)


def test_in_python_a_campaign_may_name_any_class() -> None:
    campaign = Campaign(30, recommender="tests.worlds:Stranger")
    world = us.simulate(Recipe(users=20, items=20, topics=2, campaigns=(campaign,)))
    assert world.recipe.campaigns == (campaign,)


def test_another_size_keeps_the_rest_and_leaves_room_for_topics() -> None:
    recipe = resize(WORLDS["paper"], 100, 60)
    assert (recipe.users, recipe.items, recipe.topics) == (100, 60, 5)
    assert replace(recipe, users=34_448, items=35_741, topics=40) == WORLDS["paper"]
    assert resize(WORLDS["paper"]) == WORLDS["paper"]


def test_the_command_offers_every_world_in_the_same_words() -> None:
    [option] = [p for p in command.params if p.name == "world"]
    assert set(option.type.choices) == set(WORLDS) == set(SUMMARIES)  # type: ignore[attr-defined]
    names = ["-h", "--help"]  # which a command keeps for good
    context = click.Context(command, terminal_width=150, help_option_names=names)
    text = " ".join(context.get_help().split())
    for name, summary in SUMMARIES.items():
        assert f" {name} {summary} " in text


def test_a_fixed_list_has_a_letter() -> None:
    assert is_list("list:a")
    assert not any(map(is_list, ["list:", "list:A", "list:ab", "lists:a", "popular"]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("users", v) for v in (0, -1, 2.5, True, "3", None)],
        *[("items", v) for v in (1, 0, 10.0)],
        *[("days", v) for v in (1, 7.5)],
        *[("organic", v) for v in (0.5, 301.0, float("nan"))],
        *[("tail", v) for v in (0, -1.0, float("inf"))],
        *[("largest", v) for v in (0, 2.5)],
        *[("zipf", v) for v in (-0.1, 1000.0)],
        *[("head", v) for v in (0, -1, 1e300)],
        *[("topics", v) for v in (0, 1.5)],
        *[
            (name, v)
            for name in ("taste", "first", "late", "trickle", "births", "holdout")
            for v in (-0.1, 1.1, "a")
        ],
        *[(name, v) for name in ("adoption", "pace") for v in (-1, float("nan"))],
        *[("trend", v) for v in (-1, 1e4)],
        *[("anyway", v) for v in (-0.1, 2)],
        *[("affinity", v) for v in (1.0, (1.0, 0.5), (1.0, 0.5, 2.0), (1.0, 0.5, None))],
        *[("campaigns", v) for v in (3, (3,), Campaign(5), "ab")],
        ("loop", "raw"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UnskewError, match=name):
        Recipe(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("day", v) for v in (None, True, float("nan"), float("inf"))],
        *[("recommender", v) for v in ("zzz", "", None, 3, "knn?x=1")],
        *[(name, v) for name in ("reach", "acceptance", "catalogue") for v in (-0.1, 1.1, "a")],
        *[("shown", v) for v in (0, 2.5)],
        *[("excluded", v) for v in (-1, 2.5)],
        *[("delay", v) for v in (-1, float("inf"))],
    ],
)
def test_a_campaign_that_cannot_be_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UnskewError, match=r"recommender|no parameter" if name == "recommender" else name):
        Campaign(**{"day": 3, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("candidates", v) for v in ((), "popular", (3,), ("popular", "popular"), 3)],
        *[("first", v) for v in (-1, "x", 2.5)],
        *[("every", v) for v in (0, 2.5)],
        *[("rounds", v) for v in (0, 2.5)],
        ("incumbent", "knn"),
        ("chosen_by", "luck"),
        *[("metric", v) for v in ("luck@5", 3)],
        *[("campaign", v) for v in (None, 3)],
    ],
)
def test_a_loop_that_cannot_be_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UnskewError, match=name):
        Loop(**{"candidates": ("popular", "list:a"), name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_", "parts"),
    [
        ({"world": "moon"}, "world is 'moon'.*paper.*quiet"),
        ({"world": 3}, "world is 3"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"users": 0}, "users is 0"),
        ({"items": -3}, "items is -3"),
        ({"holdout": 2}, "holdout is 2"),
        ({"campaigns": [Campaign(501)]}, "day 501.*0 to 500"),
        ({"campaigns": [Campaign(-1)]}, "day is -1"),
        ({"campaigns": [Campaign(20.5)]}, r"day is 20\.5"),
        ({"campaigns": [Campaign("2024-01-01")]}, "day is '2024-01-01'"),
        ({"campaigns": Campaign(5)}, "give a list"),
        ({"chosen_by": "raw"}, "chosen_by.*'paper'"),
        ({"world": "closed-loop", "chosen_by": "luck"}, "chosen_by is 'luck'"),
        ({"world": Recipe(loop=Loop(("popular",), first=480))}, "day 655.*0 to 500"),
        (
            {"world": Recipe(users=3, days=5, adoption=1e9, loop=Loop(("popular",), first=0, rounds=1))},
            "begin later",
        ),
    ],
)
def test_simulate_says_what_is_wrong(given_: dict[str, object], parts: str) -> None:
    with pytest.raises(UnskewError, match=parts):
        us.simulate(**{"seed": 5, **given_})  # type: ignore[arg-type]


def test_a_loop_and_campaigns_cannot_be_in_one_world() -> None:
    with pytest.raises(UnskewError, match="not both"):
        Recipe(campaigns=(Campaign(5),), loop=Loop(("popular",)))
