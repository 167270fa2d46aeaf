"""The adjusted view: exposed interactions are kept as often as they would have happened without recommendations.

Exposures say which pairs of a user and an item were shown, and when. All other pairs tell what people do by
themselves: how often a pair that was not shown yet becomes an interaction, by its ranks under several models, the
number of users who have the item, and the size and age of the profile. A pair that was shown at time s would have
become an interaction until the end T with probability

    p = 1 - exp(-hazard * (T - s))          hazard from a Poisson regression on pairs not shown yet

and did become one with probability q, from a second regression on the pairs that were shown. An exposed
interaction is kept with probability p / q. This needs that not everybody is shown everything: if the hazard of
shown pairs is too uncertain, nothing is adjusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import Seed, public, require_instance
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import Moment, TimeWindow
from unskew.errors import EmptyError, InputError
from unskew.progress import progress
from unskew.reading.exposures import Showings, find_showings, mark_exposed
from unskew.recommend.calls import fit, lists_for
from unskew.recommend.contract import Batch, Recommender, traits_of
from unskew.recommend.specs import AnyRecommender, recommender
from unskew.text import count, percent
from unskew.views.poisson import PoissonRates, fit_poisson
from unskew.views.production import CANDIDATES, DEPTH, is_alike, is_auto, is_cheap, list_family
from unskew.views.thinning import Thinning
from unskew.views.windows import (
    MOST_WINDOWS,
    ShortWindow,
    cut_windows,
    label_before,
    tick_after,
    tick_before,
)

_FAMILY = tuple(spec for spec in CANDIDATES if spec != "als")
_FINER = 3  # profiles are looked at so many times between two fits of the models
_USERS = 1500  # whose pairs stand for all that were not shown, over all windows
_TOP = 30  # of each list, all of whose pairs count
_OTHERS = 60  # pairs of each user that stand for all further ones
_MOST = 50_000  # interactions, and pairs that were shown, to learn from
_LEAST = 50  # interactions without an exposure from which a hazard can be learned
_BINS = 20  # of probabilities, within which pairs are drawn evenly
_CELLS = 4_000_000  # of lists in memory at a time
_MOST_ERROR = 0.25  # of the logarithm of the hazard of a shown pair
_TINY = 1e-9
_YOUNG = 0.01  # of the time that the log covers: profiles that are younger are alike
_ROUNDS = 100
_STREAM = 0xAD35  # of random numbers


@public
def adjusted(
    log: Log,
    exposures: Any,
    *,
    within: Any = None,
    production: AnyRecommender | None = None,
    until: Any = None,
    seed: Seed = 0,
    draw: int = 0,
) -> Log:
    """The log with exposed interactions kept as often as they would have happened anyway: a view, itself a log.

    The organic view drops every interaction that followed an exposure, also of what users would have found by
    themselves, and so favours models that are unlike production. Here these are kept in the right number, which
    pairs that were not shown tell.

    Parameters
    ----------
    log
        A log without exposure marks.
    exposures, within
        Who was shown what when, and how long that counts, as for `mark_exposed`.
    production
        What made the recommendations, if that is known: pairs are compared by its ranks too.
    until
        The log is used up to this time.
    seed, draw
        Which of the exposed interactions are kept is drawn; another number is another draw.

    Examples
    --------
    >>> import unskew as us
    >>> world = us.simulate("steady", users=400, items=150, seed=1)
    >>> log = us.read_log(world.tables["log"].drop_columns("exposed"))
    >>> view = us.views.adjusted(log, world.exposures)
    >>> len(us.views.organic(world.log)) < len(view) < len(log)
    True
    """
    require_instance(Log, log, "a log", "read one with read_log")
    showings = find_showings(log, exposures)
    marked = mark_exposed(log, exposures, within=within)
    models = () if production is None or is_auto(production) else (production,)
    return plan_adjusted(marked, showings, candidates=models, until=until).draw(seed, draw)


def plan_adjusted(
    log: Log, showings: Showings, *, candidates: Iterable[AnyRecommender] = (), until: Any = None
) -> Thinning:
    """What `adjusted` draws from; `candidates` are models whose ranks count besides those of unskew's family."""
    assert log.exposed is not None
    models = list_family(log, _FAMILY)
    for model in map(recommender, candidates):
        traits = traits_of(model)
        if traits.external or traits.constant or not is_cheap(model, log):
            continue
        if not is_alike(model, models.values()):
            models[str(model)] = model
    last = log.span[1].item() if until is None else min(log.moment(until).tick, log.span[1].item())
    study = _Study(log, showings, list(models.values()), last)
    learned = study.learn()
    everybody = np.ones(len(log.users))
    rates = learned.fit(everybody)
    error = float(np.median(rates.hazard.find_errors(learned.shown)))
    if not error <= _MOST_ERROR:  # nor if it is not a number
        doubt = "unknown" if math.isnan(error) else f"uncertain by {percent(math.expm1(error), 0)}"
        raise InputError(
            f"too few users interacted with items like those shown without being shown them (what they do by "
            f"themselves is {doubt})",
            remedy="the organic view needs none, and a holdout group tells it",
        )
    keep = learned.find_keep(rates)

    def resample(rng: np.random.Generator) -> Floats:
        users = len(everybody)
        times = rng.multinomial(users, np.full(users, 1 / users)).astype(np.float64)
        return learned.find_keep(learned.fit(times, rates), times)

    edges = np.quantile(keep, np.linspace(0, 1, _BINS + 1)[1:-1]) if len(keep) else np.empty(0)
    besides = log.exposed & (log.time <= last)
    besides[learned.entry] = False
    again = None if log.repeats is None or log.repeats.exposed is None else ~log.repeats.exposed
    notes = [
        f"{percent(float(keep.mean()) if len(keep) else 0.0, 0)} of {count(len(keep), 'exposed interaction')} "
        f"would have happened anyway, as {count(int(learned.cases.sum()), 'interaction')} with others tell"
    ]
    if besides.any():
        notes.append(f"{count(int(besides.sum()), 'exposed interaction')} of users without a profile: dropped")
    return Thinning(
        log=log,
        entry=learned.entry,
        cell=np.searchsorted(edges, keep),
        keep=keep,
        rates=None,
        view="adjusted",
        reason="exposures are known",
        induced=None,
        tested=False,
        notes=tuple(notes),
        besides=besides,
        again=again,
        resample=resample,
    )


@dataclass(frozen=True)
class _Rates:
    """The hazard of pairs not shown yet; and how many shown pairs became interactions, exposed or others later."""

    hazard: PoissonRates
    accepted: PoissonRates
    later: PoissonRates

    def find_anyway(self, features: Floats, left: Floats) -> Floats:
        """The probability that a shown pair would be an interaction, beyond those that became one unexposed."""
        probability: Floats = -np.expm1(-self.hazard.predict(features) * left) - self.later.predict(features)
        return probability


def _scale(keep: Floats, share: float) -> Floats:
    """Probabilities scaled until their mean is a share, never beyond 1."""
    wanted = min(max(share, 0.0), 1.0) * len(keep)
    for _ in range(_ROUNDS):
        total = keep.sum()
        if total <= 0 or abs(total - wanted) <= _TINY * wanted:
            break
        keep = np.minimum(keep * wanted / total, 1.0)
    return keep


@dataclass(frozen=True)
class _Learned:
    """What regressions learn from and what they are asked about: features, a row for each pair."""

    # Pairs that were not shown yet: how many interactions each row stands for, and how much time.
    unshown: Floats
    cases: Floats
    exposure: Floats
    # Pairs that were shown: whether they became exposed interactions, or others later.
    shown: Floats
    accepted: Floats
    later: Floats
    # Exposed interactions: their place in the log, and the time from the first showing to the end.
    marked: Floats
    entry: Codes
    left: Floats
    shown_left: Floats  # the same time for the pairs that were shown
    # Whose pairs they are.
    unshown_user: Codes
    shown_user: Codes

    def fit(self, times: Floats, start: _Rates | None = None) -> _Rates:
        """Learn from all users, each as many times as given."""
        unshown, shown = times[self.unshown_user], times[self.shown_user]

        def learn(features: Floats, events: Floats, time: Floats, name: str) -> PoissonRates:
            return fit_poisson(features, events, time, start=None if start is None else getattr(start, name))

        return _Rates(
            learn(self.unshown, self.cases * unshown, self.exposure * unshown, "hazard"),
            learn(self.shown, self.accepted * shown, shown, "accepted"),
            learn(self.shown, self.later * shown, shown, "later"),
        )

    def find_keep(self, rates: _Rates, times: Floats | None = None) -> Floats:
        """With which probability each exposed interaction is kept."""
        chance = np.maximum(np.minimum(rates.accepted.predict(self.marked), 1.0), _TINY)
        share = rates.find_anyway(self.marked, self.left) / chance
        once = np.ones(len(self.shown)) if times is None else times[self.shown_user]
        anyway = (once * rates.find_anyway(self.shown, self.shown_left)).sum()
        return _scale(np.clip(share, 0.0, 1.0), float(anyway / max((once * self.accepted).sum(), _TINY)))


class _Study:
    """Pairs of users and items over time: what was shown, what was interacted with, and their features."""

    def __init__(self, log: Log, showings: Showings, models: Sequence[Recommender], last: int | float) -> None:
        assert log.exposed is not None
        place = np.empty(len(log.items), dtype=np.int64)
        place[log.items.order()] = np.arange(len(log.items))
        self.log, self.models, self.last, self.exposed = log.numbered_by_id, models, last, log.exposed
        self.stop = tick_after(log, last)
        self.n_items, self.span = len(log.items), max(float(log.span[1] - log.span[0]), 1.0)
        self.user, self.item = self.log.entry_users(), self.log.item.astype(np.int64)
        in_time = showings.time <= last
        self.shown = _Times(
            showings.user[in_time] * self.n_items + place[showings.item[in_time]], showings.time[in_time]
        )
        self.had = _Times(self.user * self.n_items + self.item, self.log.time)
        self.joined = np.full(len(log.users), np.inf)
        np.minimum.at(self.joined, self.user, self.log.time.astype(np.float64))
        self.rng = np.random.default_rng(_STREAM)

    def learn(self) -> _Learned:
        """Go through the time since the first showing, window by window."""
        if not len(self.shown.pair):
            raise EmptyError(
                f"nothing was shown up to {self.log.axis.show(self.last)}",
                remedy="check the times of the exposures",
            )
        first = self.shown.time.min().item()
        span = (TimeWindow(first, np.inf, ""),)
        windows = cut_windows(self.log, span, self.last, most=_FINER * MOST_WINDOWS)
        samples = max(1, round(_USERS / len(windows)))
        cases = self._choose((self.log.time >= first) & (self.log.time <= self.last) & ~self.exposed)
        shown = self._choose(np.ones(len(self.shown.pair), dtype=np.bool_))
        marked = np.flatnonzero(self.exposed & (self.log.time <= self.last))
        shown_at = self.shown.find(self.had.own[marked])
        parts: list[tuple[Any, ...]] = []
        progress().stage("learning what people do without being shown it")
        for number, window in enumerate(windows):
            tick = tick_before(self.log, window.start)
            if tick < self.log.span[0]:
                continue
            now = Snapshot.of(self.log, Moment(tick, label_before(self.log, window.start)))
            if number % _FINER == 0 or not parts:  # profiles change faster than what models learn
                for model in self.models:
                    fit(model, now)
            sizes = now.sizes()
            parts.append(self._learn_window(now, sizes, window, samples, cases, shown, marked, shown_at))
        columns = [np.concatenate([part[k] for part in parts]) for k in range(12)] if parts else []
        if not parts or columns[1].sum() < _LEAST:
            raise InputError(
                f"fewer than {_LEAST} interactions since the first exposure were not shown before",
                remedy="the organic view needs none",
            )
        return _Learned(*columns)

    def _choose(self, which: Mask) -> tuple[Codes, float]:
        """Some places, and how many places each of them stands for."""
        places = np.flatnonzero(which)
        if len(places) <= _MOST:
            return places, 1.0
        return np.sort(self.rng.choice(places, _MOST, replace=False)), len(places) / _MOST

    def _learn_window(
        self,
        now: Snapshot,
        sizes: Codes,
        window: ShortWindow,
        samples: int,
        cases: tuple[Codes, float],
        shown: tuple[Codes, float],
        marked: Codes,
        shown_at: Floats,
    ) -> tuple[Any, ...]:
        """The rows of one window, as the fields of `_Learned`."""
        known, counts = np.flatnonzero(sizes > 0), now.counts()
        end = min(window.end, self.stop)

        def select(places: Codes, user: Codes, time: Any) -> Codes:
            chosen: Codes = places[(time >= window.start) & (time < window.end) & (sizes[user] > 0)]
            return chosen

        entries = cases[0]
        entries = select(entries, self.user[entries], self.log.time[entries])
        entries = entries[self.shown.find(self.had.own[entries]) > self.log.time[entries]]
        pairs = shown[0]
        pairs = select(pairs, self.shown.pair[pairs] // self.n_items, self.shown.time[pairs])
        at = np.flatnonzero((shown_at >= window.start) & (shown_at < window.end))
        at = at[sizes[self.user[marked[at]]] > 0]
        sample = np.sort(self.rng.choice(known, min(samples, len(known)), replace=False))
        wanted = [self.user[entries], self.shown.pair[pairs] // self.n_items, self.user[marked[at]]]
        ranked = _Ranked.of(self.models, now, np.unique(np.concatenate([sample, *wanted])))
        risk, stands_for = ranked.list_candidates(sample, counts, self.rng)
        is_lacking = self.had.find(risk) >= window.start
        risk, stands_for = risk[is_lacking], stands_for[is_lacking]
        shown_time = self.shown.find(risk)
        unshown = shown_time > window.start
        risk, stands_for, shown_time = risk[unshown], stands_for[unshown], shown_time[unshown]
        until = np.minimum(np.minimum(shown_time, self.had.find(risk)), end)
        time = (until - window.start) / self.span * stands_for * len(known) / len(sample)

        def describe(pair: Codes) -> Floats:
            user = pair // self.n_items
            age = (window.start - self.joined[user]) / self.span
            return _describe_pairs(
                ranked.find_ranks(pair), now.counts()[pair % self.n_items], sizes[user], age, len(known)
            )

        shown_pairs = self.shown.pair[pairs]
        interacted = self.had.find(shown_pairs)
        is_exposed = self.had.look_up(shown_pairs, self.exposed)
        is_later = (interacted >= self.shown.time[pairs]) & (interacted <= self.last)
        return (
            describe(np.concatenate([self.had.own[entries], risk])),
            np.concatenate([np.full(len(entries), cases[1]), np.zeros(len(risk))]),
            np.concatenate([np.zeros(len(entries)), time]),
            describe(shown_pairs),
            (is_later & is_exposed).astype(np.float64),
            (is_later & ~is_exposed).astype(np.float64),
            describe(self.had.own[marked[at]]),
            marked[at],
            (self.stop - shown_at[at]) / self.span,
            (self.stop - self.shown.time[pairs]) / self.span,
            np.concatenate([self.user[entries], risk // self.n_items]),
            shown_pairs // self.n_items,
        )


class _Times:
    """When something happened to each of some pairs; `own` are the pairs as they were given, `pair` sorted."""

    def __init__(self, pair: Codes, time: Any) -> None:
        self.own = pair
        self.order = np.lexsort((time, pair))
        first = np.ones(len(pair), dtype=np.bool_)
        first[1:] = pair[self.order][1:] != pair[self.order][:-1]
        self.order = self.order[first]
        self.pair, self.time = pair[self.order], time[self.order]

    def _find_places(self, pair: Codes) -> tuple[Codes, Mask]:
        places = np.minimum(np.searchsorted(self.pair, pair), len(self.pair) - 1)
        return places, self.pair[places] == pair

    def find(self, pair: Codes) -> Floats:
        """The first time of each pair; infinite for never."""
        places, has = self._find_places(pair)
        return np.where(has, self.time[places], np.inf)

    def look_up(self, pair: Codes, values: Mask) -> Mask:
        """What values, in the order in which the pairs were given, say of these pairs; False for none."""
        places, has = self._find_places(pair)
        return has & values[self.order[places]]


@dataclass(frozen=True)
class _Ranked:
    """The lists of several models for some users: for each model the sorted pairs, with their ranks."""

    pairs: tuple[Codes, ...]
    ranks: tuple[Codes, ...]
    n_items: int

    @classmethod
    def of(cls, models: Sequence[Recommender], now: Snapshot, users: Codes) -> _Ranked:
        """Ask each model for the lists of all these users."""
        n_items = len(now.log.items)
        depth = min(DEPTH, n_items)
        several = []
        for model in models:
            step = max(1, _CELLS // depth)
            blocks = []
            for at in range(0, len(users), step):
                block = users[at : at + step]
                lists, _ = lists_for(
                    model, now, Batch.of(now, block), depth, np.full(len(block), -1, dtype=np.int64)
                )
                row, column = np.nonzero(lists >= 0)
                blocks.append((block[row] * n_items + lists[row, column], column + 1))
            pair, rank = (np.concatenate(part) for part in zip(*blocks, strict=True))
            order = np.argsort(pair)
            several.append((pair[order], rank[order]))
        pairs, ranks = zip(*several, strict=True)
        return cls(pairs, ranks, n_items)

    def find_ranks(self, pair: Codes) -> Codes:
        """The rank of each pair under each model, from 1; 0 if it is not in the list."""
        ranks = np.zeros((len(self.pairs), len(pair)), dtype=np.int64)
        for row, (known, rank) in enumerate(zip(self.pairs, self.ranks, strict=True)):
            if len(known):  # models of few interactions recommend nothing
                places = np.minimum(np.searchsorted(known, pair), len(known) - 1)
                ranks[row] = np.where(known[places] == pair, rank[places], 0)
        return ranks

    def list_candidates(self, users: Codes, counts: Codes, rng: np.random.Generator) -> tuple[Codes, Floats]:
        """Pairs of some users that may become interactions, and how many pairs each of them stands for.

        The tops of all lists stand for themselves; of all other items that anybody has, a few are drawn.
        """
        tops = [
            known[(rank <= _TOP) & np.isin(known // self.n_items, users)]
            for known, rank in zip(self.pairs, self.ranks, strict=True)
        ]
        top = np.unique(np.concatenate(tops))
        existing = np.flatnonzero(counts > 0)
        drawn = np.unique(
            np.repeat(users, _OTHERS) * self.n_items
            + existing[rng.integers(0, len(existing), len(users) * _OTHERS)]
        )
        drawn = drawn[~np.isin(drawn, top)]
        number = np.bincount(np.searchsorted(users, drawn // self.n_items), minlength=len(users))
        above = np.bincount(np.searchsorted(users, top // self.n_items), minlength=len(users))
        each = (len(existing) - above) / np.maximum(number, 1)
        weight = each[np.searchsorted(users, drawn // self.n_items)]
        return np.concatenate([top, drawn]), np.concatenate([np.ones(len(top)), weight])


def _describe_pairs(ranks: Codes, holders: Codes, size: Codes, age: Floats, users: int) -> Floats:
    """The features of pairs: ranks under each model, how popular the item is, how large and old the profile.

    Ages are shares of the time that the log covers.
    """
    popularity = np.log((holders + 1) / users)
    activity, tenure = np.log1p(size), np.log(np.maximum(age, 0.0) + _YOUNG)
    columns = [
        *(popularity, popularity**2, activity, activity**2, tenure, tenure**2),
        *(popularity * activity, activity * tenure),
    ]
    for rank in ranks:
        distance = np.log(np.where(rank > 0, rank, 2 * DEPTH))
        columns += [distance, distance**2, distance * activity, rank == 0, rank == 1, (rank == 2) | (rank == 3)]
    return np.column_stack(columns).astype(np.float64)
