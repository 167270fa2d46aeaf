"""Making a world: people, then what is recommended to them, then the tables of both; and the closed loop.

In a closed loop, what wins an offline evaluation is put into production, and shapes the log of the next. Every
round scores all candidates on the log as it is, raw and weighted to the item mix of the first round, on its
organic view, and on the log of the same world in which nothing was ever recommended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from string import ascii_lowercase
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Mask
from unskew.checks import Seed, public, require_number, require_one_of, require_whole_number
from unskew.data.slice import Snapshot
from unskew.errors import InputError, PolicyError, option
from unskew.evaluation.evaluate_one import evaluate, rank_held_out
from unskew.progress import progress
from unskew.weights.fit_weights import fit_weights
from unskew.worlds.campaigns import Exposures, Service
from unskew.worlds.injection import inject
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.people import HOLDOUT, Events, draw_items, simulate_joiners, simulate_people
from unskew.worlds.recipe import CHOSEN_BY, Campaign, Loop, Recipe, as_tuple, is_list, resize
from unskew.worlds.world import ROUNDS, STOPPED, World, describe_world
from unskew.worlds.world_models import make_production


@public
def simulate(
    world: str | Recipe = "paper",
    *,
    users: int | None = None,
    items: int | None = None,
    seed: Seed = 0,
    base: Any = None,
    campaigns: Iterable[Campaign] | None = None,
    holdout: float | None = None,
    chosen_by: str | None = None,
) -> World:
    """A log with recommendations in it, and the same log without: a world whose truth is known.

    People join, and fill their profiles by taste and popularity; a recommender fitted on the log of the day sends
    them lists, of which they take some. What they do by themselves does not depend on what is recommended (apart
    from what they then have already), so that the world without recommendations is known exactly.

    Parameters
    ----------
    world
        The name of a world, such as ``paper`` (two campaigns) or ``closed-loop`` (what wins an evaluation is put
        into production); see `unskew.worlds.world_names` for all of them. Or a `Recipe`.
    users, items
        Another size.
    seed
        Of everything that is random.
    base
        A log, or anything that `read_log` reads: inject the campaigns into it instead of simulating people. The
        log as it was is the truth.
    campaigns
        Others than those of the world; their days are times of the `base`.
    holdout
        Share of the users who are never shown anything.
    chosen_by
        In a closed loop, the score that decides: ``raw``, ``weighted`` or ``organic``; see `Loop`.

    Examples
    --------
    >>> import unskew as us
    >>> world = us.simulate(users=500, items=200, seed=1)
    >>> world.campaigns
    [330, 430]
    >>> world.log
    Log(500 users, 200 items, 2661 interactions from 0 to 495)
    >>> len(us.views.organic(world.log)), len(world.truth)
    (2019, 2035)
    """
    name, recipe = _find_recipe(world)
    seed = require_whole_number(option("seed"), seed, "where the random numbers begin", 0)
    if campaigns is not None:
        recipe = replace(recipe, campaigns=as_tuple("campaigns", campaigns, Campaign), loop=None)
    if holdout is not None:
        recipe = replace(recipe, holdout=require_number(option("holdout"), holdout, "a share of the users", 0, 1))
    if chosen_by is not None:
        if recipe.loop is None:
            raise PolicyError(
                f"{option('chosen_by')} is about a closed loop, which the world {name!r} is not",
                remedy="leave it out",
            )
        recipe = replace(
            recipe, loop=replace(recipe.loop, chosen_by=require_one_of(option("chosen_by"), chosen_by, CHOSEN_BY))
        )
    if base is not None:
        if users is not None or items is not None:
            raise PolicyError(
                "a base log has users and items of its own",
                remedy=f"leave out {option('users')} and {option('items')}",
            )
        if recipe.loop is not None:
            raise PolicyError(
                "a closed loop cannot be injected into a log",
                remedy=f"give {option('campaigns')}, or another {option('world')}",
            )
        return inject(base, name, recipe, seed, given=campaigns is not None)
    return _simulate(name, resize(recipe, users, items), seed)


def _find_recipe(world: str | Recipe) -> tuple[str, Recipe]:
    if isinstance(world, Recipe):
        return "own", world
    require_one_of(option("world"), world, WORLDS)
    return world, WORLDS[world]


def _simulate(name: str, recipe: Recipe, seed: int) -> World:
    campaigns = _sort_campaigns(recipe)
    progress().stage(f"simulating {recipe.users} users")
    events, topics = simulate_people(recipe, seed)
    joiners = simulate_joiners(recipe, seed, campaigns)
    n_users = recipe.users
    if joiners is not None:
        topics = topics.add(joiners[1])
        n_users = topics.liked.shape[-2]
    holdout = np.zeros(n_users, dtype=bool)
    holdout[: recipe.users] = _draw_holdout(recipe, seed, events)
    service = Service(
        events,
        topics,
        n_users,
        recipe.items,
        holdout,
        seed,
        recipe.days - 1,
        anyway=recipe.anyway,
        items=draw_items(recipe, seed),
        joiners=None if joiners is None else joiners[0],
        make_model=partial(make_production, recipe=recipe, seed=seed),
    )
    stopped = service.events
    for campaign in campaigns:
        service.run(campaign, _day(campaign))
        if recipe.stopped_after is not None and _day(campaign) <= recipe.stopped_after:
            stopped = service.events
    rounds = run_loop(service, recipe.loop) if recipe.loop is not None else None
    tables = {
        "log": _make_table(service.events, service.mark_exposed()),
        "truth": _make_table(events),
        "exposures": _make_exposures_table(service.all_exposures()),
        "holdout": pa.table({"user": np.flatnonzero(holdout)}),
    }
    if rounds is not None:
        tables[ROUNDS] = rounds
    if recipe.stopped_after is not None:
        tables[STOPPED] = _make_table(stopped)
    return World(tables, describe_world(name, seed, recipe.to_dict()))


def _draw_holdout(recipe: Recipe, seed: int, events: Events) -> Mask:
    """Who is never shown anything: at random, or rather those who do much by themselves."""
    active = np.bincount(events.user, minlength=recipe.users).astype(np.float64) ** recipe.holdout_bias
    chance = recipe.holdout * active / active.mean()
    drawn: Mask = np.random.default_rng([seed, HOLDOUT]).random(recipe.users) < chance
    return drawn


def _sort_campaigns(recipe: Recipe) -> list[Campaign]:
    """The campaigns in the order of their days; none may come after the end."""
    last = recipe.days - 1
    for campaign in recipe.campaigns:
        if _day(campaign) > last:
            raise InputError(f"a campaign is on day {campaign.day}, but the world has days 0 to {last}")
    if recipe.loop is not None and recipe.loop.days[-1] > last:
        raise InputError(
            f"the last evaluation of the loop is on day {recipe.loop.days[-1]}, but the world has days 0 to {last}"
        )
    return sorted(recipe.campaigns, key=_day)


def _day(campaign: Campaign) -> int:
    return require_whole_number(option("day"), campaign.day, "days since the launch", 0)


def _make_table(events: Events, exposed: Any = None) -> pa.Table:
    order = np.lexsort((events.item, events.user, events.time))
    columns = {"user": events.user[order], "item": events.item[order], "time": events.time[order]}
    return pa.table(columns if exposed is None else {**columns, "exposed": exposed[order]})


def _make_exposures_table(shown: Exposures) -> pa.Table:
    order = np.lexsort((shown.position, shown.user, shown.campaign))
    names = ("user", "item", "time", "campaign", "position")
    return pa.table({name: getattr(shown, name)[order] for name in names})


_LENGTH = 5  # of a fixed list


def run_loop(service: Service, loop: Loop) -> pa.Table:
    """Run the rounds; the service then holds what they led to.

    Columns round, at, candidate, score_of ("raw", "weighted" or "organic"), score, rank (1 is best), chosen (it is
    put into production in this round), truth (its raw score had nothing been recommended).
    """
    if not (service.events.time <= loop.first).any():
        raise InputError(f"no user has an interaction by day {loop.first}", remedy="let the loop begin later")
    reference = service.events.snapshot(loop.first)
    specs = {name: _make_spec(name, reference, loop) for name in loop.candidates}
    rows: list[dict[str, Any]] = []
    for number, day in enumerate(loop.days):
        progress().stage(f"round {number + 1} of {loop.rounds}: scoring {len(specs)} candidates")
        now = service.events.snapshot(day)
        weights = fit_weights(now, reference)
        ranks = {name: rank_held_out(spec, now, metric=loop.metric) for name, spec in specs.items()}
        scores = {
            "raw": {name: r.score(loop.metric).value for name, r in ranks.items()},
            "weighted": {name: r.score(loop.metric, weights).value for name, r in ranks.items()},
            "organic": _score_all(specs, loop.metric, service.organic_view().snapshot(day), reference),
        }
        truth = _score_all(specs, loop.metric, service.organic.snapshot(day), None)
        winner = _rank(scores[loop.chosen_by])[0]
        if number == 0 and loop.incumbent is not None:
            winner = loop.incumbent
        for score_of, candidate_scores in scores.items():
            ranked = _rank(candidate_scores)
            rows += [
                {
                    "round": number,
                    "at": day,
                    "candidate": name,
                    "score_of": score_of,
                    "score": candidate_scores[name],
                    "rank": ranked.index(name) + 1,
                    "chosen": name == winner,
                    "truth": truth[name],
                }
                for name in specs
            ]
        service.run(replace(loop.campaign, day=day, recommender=specs[winner]), day)
    return pa.Table.from_pylist(rows)


def _score_all(specs: dict[str, str], metric: str, now: Snapshot, reference: Snapshot | None) -> dict[str, float]:
    weights = None if reference is None else fit_weights(now, reference)
    return {name: evaluate(spec, now, metric=metric, weights=weights).value for name, spec in specs.items()}


def _rank(scores: dict[str, float]) -> list[str]:
    """The candidates, best first; equals stay in the order in which they were named."""
    return sorted(scores, key=lambda name: -scores[name])


def _make_spec(name: str, reference: Snapshot, loop: Loop) -> str:
    """The spec of a candidate; the fixed lists share out the most popular items, like cards that are dealt."""
    if not is_list(name):
        return name
    lists = sorted(filter(is_list, loop.candidates), key=lambda c: ascii_lowercase.index(c[-1]))
    ids = reference.log.items.values.to_numpy()
    ranking = ids[np.lexsort((ids, -reference.counts()))]
    if len(ranking) < len(lists):
        raise InputError(
            f"{len(lists)} fixed lists need as many items, and on day {loop.first} users have {len(ranking)}",
            remedy="give more items or users",
        )
    items = ranking[lists.index(name) :: len(lists)][:_LENGTH]
    return "constant:" + ",".join(map(str, items.tolist()))
