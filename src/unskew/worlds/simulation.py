"""Making a world: people, then what is recommended to them, then the tables of both; and the closed loop.

The people are simulated, or real ones: campaigns are injected into a real log, and the untouched log is the truth.
What its people like is learned from all they ever took, the future included: they like what is close to it.

In a closed loop, what wins an offline evaluation is put into production, and shapes the log of the next. Every
round scores all candidates on the log as it is, raw and weighted to the item mix of the first round, on its
organic view, and on the log of the same world in which nothing was ever recommended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import Seed, public, require_number, require_one_of, require_whole_number
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import PER_SECOND, TimeAxis
from unskew.errors import ColumnError, InputError, PolicyError, option
from unskew.evaluation.evaluate_one import evaluate, rank_held_out
from unskew.progress import progress
from unskew.reading.reader import read_log
from unskew.weights.fit_weights import fit_weights
from unskew.worlds.campaigns import Exposures, Service
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.people import HOLDOUT, Events, draw_items, simulate_joiners, simulate_people
from unskew.worlds.recipe import CHOSEN_BY, Campaign, Loop, Recipe, as_tuple, is_list, resize, to_json_types
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
    name = "own"
    if not isinstance(world, Recipe):
        require_one_of(option("world"), world, WORLDS)
        name, world = world, WORLDS[world]
    recipe = world
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
        return inject(base, name, recipe, seed, has_times=campaigns is not None)
    return _simulate(name, resize(recipe, users, items), seed)


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
    shown = service.all_exposures()
    tables = {
        "log": make_table(service.events, exposed=service.mark_exposed()),
        "truth": make_table(events),
        "exposures": make_table(shown, campaign=shown.campaign, position=shown.position),
        "holdout": pa.table({"user": np.flatnonzero(holdout)}),
    }
    if rounds is not None:
        tables[ROUNDS] = rounds
    if recipe.stopped_after is not None:
        tables[STOPPED] = make_table(stopped)
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
            raise InputError(
                f"a campaign is on day {campaign.day}, but the world has days 0 to {last}",
                remedy="give an earlier day, or make the world longer",
            )
    if recipe.loop is not None and recipe.loop.days[-1] > last:
        raise InputError(
            f"the last evaluation of the loop is on day {recipe.loop.days[-1]}, but the world has days "
            f"0 to {last}",
            remedy="give earlier days, or make the world longer",
        )
    return sorted(recipe.campaigns, key=_day)


def _day(campaign: Campaign) -> int:
    return require_whole_number(option("day"), campaign.day, "days since the launch", 0)


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


_ADDED = ("exposed", "campaign", "position")  # columns of the result


def inject(base: Any, name: str, recipe: Recipe, seed: int, *, has_times: bool) -> World:
    """Send the campaigns of a recipe to the users of a log, at times of the log or on days of a named world."""
    log = base if isinstance(base, Log) else read_log(base)
    _check_log(log)
    _check_campaigns(recipe)
    events = Events(log.entry_users(), log.item.astype(np.int64), np.asarray(log.time))
    holdout = np.random.default_rng([seed, HOLDOUT]).random(len(log.users)) < recipe.holdout
    first, last = events.time.min().item(), events.time.max().item()
    span = float(last) - float(first)
    if span <= 0:
        raise InputError(
            f"everything in {log.source} happened at {log.first}: there is no time to recommend in",
            remedy="take a log of several times",
        )
    day = log.axis.duration(1) if log.axis.is_calendar else span / (recipe.days - 1)
    days = None if has_times else recipe.days - 1
    campaigns = [(_find_tick(log, campaign, days), campaign) for campaign in recipe.campaigns]
    campaigns.sort(key=lambda pair: pair[0])
    progress().stage("learning the tastes of the log's users")
    tastes = LearnedTastes.from_events(events, len(log.users), len(log.items))
    service = Service(
        events,
        tastes,
        len(log.users),
        len(log.items),
        holdout,
        seed,
        last,
        ticks_per_day=day,
        anyway=recipe.anyway,
        ids=(log.users, log.items),
    )
    for tick, campaign in campaigns:
        service.run(campaign, tick)
    shown = service.all_exposures()
    time_unit = log.axis.unit if log.axis.kind == "epoch" else None  # with which the tables are to be read
    parameters = {
        "campaigns": [asdict(replace(campaign, day=log.axis.show(tick))) for tick, campaign in campaigns],
        "holdout": recipe.holdout,
        "anyway": recipe.anyway,
    }
    tables = {
        "log": make_table(service.events, log, exposed=service.mark_exposed()),
        "truth": make_table(events, log),
        "exposures": make_table(shown, log, campaign=shown.campaign, position=shown.position),
        "holdout": pa.table({log.columns.user: log.users.take(np.flatnonzero(holdout))}),
    }
    about = describe_world(name, seed, to_json_types(parameters), base=log.source, time_unit=time_unit)
    return World(tables, about)


def _check_log(log: Log) -> None:
    """Refuse a log whose result would not be a log of the same form."""
    if log.removed is not None:
        raise PolicyError(
            "campaigns cannot be injected into a log with removals", remedy=f"read it without {option('removed')}"
        )
    for name in (log.columns.user, log.columns.item, log.columns.time):
        if name in _ADDED:
            raise ColumnError(
                f"the base log has a column {name!r}, which the result needs for something else",
                remedy="rename it first",
            )


def _check_campaigns(recipe: Recipe) -> None:
    """Refuse what needs to know the topics of items, or to stop."""
    for campaign in recipe.campaigns:
        if campaign.needs_topics:
            raise PolicyError(
                "models of a world, spill-over and joiners need the topics of a simulated world",
                remedy=f"leave out {option('base')}, or give other {option('campaigns')}",
            )


def _find_tick(log: Log, campaign: Campaign, days: int | None) -> int | float:
    """The time of a campaign: one of the log, or its day as a share of the `days` of the named world."""
    first, last = (tick.item() for tick in log.span)
    if days is None or not isinstance(campaign.day, int | float):
        tick = log.axis.moment(campaign.day).tick
    else:
        tick = float(first) + (float(last) - float(first)) * float(campaign.day) / days
        tick = math.floor(tick) if log.time.dtype.kind == "i" else tick
    if not first <= tick <= last:
        raise InputError(
            f"a campaign at {campaign.day} is not in the log, which runs from {log.first} to {log.last}",
            remedy="give a time between these",
        )
    return tick


def make_table(rows: Events | Exposures, log: Log | None = None, **more: npt.NDArray[Any]) -> pa.Table:
    """The rows as a table; with a base log its ids and times in place of codes and ticks, under its names."""
    by = (rows.item, rows.user, rows.time)
    if isinstance(rows, Exposures):
        by = (rows.position, rows.user, rows.campaign)
    order = np.lexsort(by)
    columns = {"user": rows.user[order], "item": rows.item[order], "time": rows.time[order]}
    if log is not None:
        columns = {
            log.columns.user: log.users.take(columns["user"]),
            log.columns.item: log.items.take(columns["item"]),
            log.columns.time: _make_times(log.axis, columns["time"]),
        }
    return pa.table(columns | {name: values[order] for name, values in more.items()})


def _make_times(axis: TimeAxis, ticks: npt.NDArray[Any]) -> pa.Array:
    if axis.kind == "date":
        return pa.array(ticks.astype(np.int32), type=pa.int32()).cast(pa.date32())
    if axis.kind == "datetime":
        unit = axis.unit if axis.unit in PER_SECOND else "s"
        return pa.array(ticks.astype(np.int64)).cast(pa.timestamp(unit, tz=axis.zone))
    return pa.array(ticks)


_FACTORS = 24
_STEPS = 8  # of the power method: tastes need no more
_LEAST = 0.05  # affinity to what is far from one's history
_PAIRS_AT_A_TIME = 1_000_000


@dataclass(frozen=True)
class LearnedTastes:
    """Tastes of real people: the cosine between a user and an item."""

    # Rows of ``U S`` and ``V S`` of the decomposition, each of length 1.
    users: Floats
    items: Floats

    @classmethod
    def from_events(cls, events: Events, n_users: int, n_items: int) -> LearnedTastes:
        """Decompose who took what, ever; to the same bits on any number of threads."""
        taken = _scale_matrix(events, n_users, n_items)
        back = taken.T.tocsr()
        right = np.random.default_rng(0).standard_normal((n_items, min(_FACTORS, n_users, n_items)))
        for _ in range(_STEPS):
            left = _orthonormalise(taken @ right)
            right = back @ left
        squares, turn = _spectrum(right)
        return cls(
            _normalise_rows(_multiply(left, turn * np.sqrt(squares))), _normalise_rows(_multiply(right, turn))
        )

    def affinity(self, user: Codes, item: Codes, tick: int | float = 0) -> Floats:
        """The cosine, from a small least value for what is far away to 1."""
        cosine = np.empty(len(user))
        for at in range(0, len(user), _PAIRS_AT_A_TIME):
            part = slice(at, at + _PAIRS_AT_A_TIME)
            cosine[part] = np.einsum("nk,nk->n", self.users[user[part]], self.items[item[part]])
        return np.asarray(_LEAST + (1 - _LEAST) * np.clip(cosine, 0.0, 1.0), dtype=np.float64)


def _scale_matrix(events: Events, n_users: int, n_items: int) -> sparse.csr_array:
    per_user = np.bincount(events.user, minlength=n_users)
    per_item = np.bincount(events.item, minlength=n_items)
    size = (per_user + per_user.mean())[events.user] * (per_item + per_item.mean())[events.item]
    return sparse.csr_array((1 / np.sqrt(size), (events.user, events.item)), shape=(n_users, n_items))


def _orthonormalise(columns: Floats) -> Floats:
    """Columns of length 1 at right angles that span the same space."""
    squares, turn = _spectrum(columns)
    return _multiply(columns, turn / np.sqrt(squares))


def _spectrum(columns: Floats) -> tuple[Floats, Floats]:
    """Squared singular values that are not negligible, and their right vectors."""
    gram = np.einsum("nk,nl->kl", columns, columns)  # adds in a fixed order, which a matrix product does not
    squares, turn = np.linalg.eigh(gram)
    kept = squares > 1e-12 * squares[-1]
    return squares[kept], turn[:, kept]


def _multiply(columns: Floats, turn: Floats) -> Floats:
    return np.asarray(np.einsum("nk,kl->nl", columns, turn), dtype=np.float64)


def _normalise_rows(rows: Floats) -> Floats:
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(length > 0, length, 1.0), dtype=np.float64)
