"""Which model stands for production, the ranks that it gave to interactions in short windows, and their counts.

With a holdout group, both groups live at the same time, and one model fitted just before each window ranks them.
Quiet windows are earlier, when there was less data to learn from: a model of that time ranks what people do by
themselves lower than a later one, which would look like recommendations. So the same models rank the interactions
of both (`rank_with_quiet`). Each model is fitted to the users of other folds, since it has seen the future of
those in quiet windows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from unskew.arrays.types import Codes, Mask
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import Moment
from unskew.errors import UnskewError
from unskew.progress import progress
from unskew.recommend.calls import LogSize, estimate_cost, fit, lists_for
from unskew.recommend.contract import Batch, PreparedLists, Recommender, is_valid_at, traits_of
from unskew.recommend.specs import AnyRecommender, recommender
from unskew.text import enumerate_words, percent, shorten_spec
from unskew.views.contrast import Contrast
from unskew.views.rates import Rates, Tally, deal_blocks, find_rates, measure_separation, split_blocks, tally
from unskew.views.strata import BEYOND, RANK_OF, ItemPush, Stratified, find_edges, stratify
from unskew.views.windows import ShortWindow, WindowPairs, label_before, tick_before

DEPTH = 200
"""How far lists are looked through."""

FOLDS = 5
"""Into how many folds users are dealt; each is ranked by models fitted to the others."""

MODELS = 4
"""How many of the models of the windows also rank quiet windows."""

_PART = 5  # of the items is looked through where they are few, so that something is left beyond
_CELLS = 4_000_000  # of lists in memory at a time
_STREAM = 0xF01D  # of random numbers


def rank_taken(model: Recommender, taken: WindowPairs, *, may_lack_lists: bool = False) -> Codes:
    """The rank of each pair in the list for the profile just before its window, from 1; 0 if it is not there.

    Lists are looked through up to `DEPTH`, or a fifth of the items that anyone has. Users who had no profile have
    no list. With `may_lack_lists`, a model with external lists may have none for some windows.
    """
    ranks = np.zeros(len(taken), dtype=np.int64)
    for number, before, places in _windows(taken):
        now = _date_lists(model, before, taken.windows[number])
        if may_lack_lists and is_valid_at(model, now.log.axis, now.tick) is False:
            continue
        fit(model, now)
        ranks[places] = _rank_pairs(model, now, taken, places, _find_depth(now))
    return ranks


def rank_with_quiet(
    model: Recommender, taken: WindowPairs, quiet: WindowPairs, folds: int = FOLDS
) -> tuple[Codes, Codes]:
    """Ranks of pairs, and of quiet pairs: a row for each model that ranked these.

    A model with external lists cannot be fitted to other users, so that its lists of each time count.
    """
    if traits_of(model).external:
        return rank_taken(model, taken), rank_taken(model, quiet, may_lack_lists=True)[None, :]
    chosen = _spread(len(taken.windows), MODELS).tolist()
    ranks = np.zeros(len(taken), dtype=np.int64)
    quiet_ranks = np.zeros((len(chosen), len(quiet)), dtype=np.int64)
    fold = np.random.default_rng(_STREAM).integers(0, folds, len(taken.log.users))
    for number in range(folds):
        in_fold = fold == number
        others = taken.log.keep_entries(~in_fold[taken.log.entry_users()])
        windows = {place: (before, places) for place, before, places in _windows(taken, in_fold)}
        for place, window in enumerate(taken.windows):
            if place not in windows and place not in chosen:
                continue
            learned = _profiles_of(others, window)
            if learned is None:
                continue
            fit(model, learned)
            depth = _find_depth(learned)
            if place in windows:
                before, places = windows[place]
                ranks[places] = _rank_pairs(model, before, taken, places, depth)
            if place in chosen:
                row = quiet_ranks[chosen.index(place)]
                for k, before, places in _windows(quiet, in_fold):
                    exists = _mark_existing(before.log, quiet.windows[k])
                    row[places] = _rank_pairs(model, before, quiet, places, depth, exists)
    return ranks, quiet_ranks


def _windows(taken: WindowPairs, users: Mask | None = None) -> Iterator[tuple[int, Snapshot, Codes]]:
    """The windows with pairs of users who had a profile: number, profiles just before it, and the pairs."""
    for number in range(len(taken.windows)):
        places = np.flatnonzero((taken.window == number) & taken.known)
        if users is not None:
            places = places[users[taken.user[places]]]
        before = taken.profiles_before(number)
        if before is not None and len(places):
            yield number, before.number_by_id(), places


def _spread(number: int, most: int) -> Codes:
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def _profiles_of(log: Log, window: ShortWindow) -> Snapshot | None:
    tick = tick_before(log, window.start)
    if not (log.time <= tick).any():
        return None
    return Snapshot.of(log, Moment(tick, label_before(log, window.start))).number_by_id()


def _mark_existing(log: Log, window: ShortWindow) -> Mask:
    """Items that somebody had before a window: a model of that time knows no others."""
    exists = np.zeros(len(log.items), dtype=np.bool_)
    exists[log.item[log.time < window.start]] = True
    return exists


def _date_lists(model: Recommender, before: Snapshot, window: ShortWindow) -> Snapshot:
    """The profiles just before a window, with the date whose external lists count.

    That is the start of the window or, if there are none yet, its end.
    """
    if not isinstance(model, PreparedLists):
        return before
    log = before.log
    start, end = window.start, tick_before(log, window.end)
    tick = end if model.is_valid_at(log.axis, start) is False else start
    return replace(before, tick=tick, at=log.axis.show(tick))


def _find_depth(learned: Snapshot) -> int:
    return max(1, min(DEPTH, learned.n_items // _PART))


def _rank_pairs(
    model: Recommender, now: Snapshot, taken: WindowPairs, places: Codes, depth: int, exists: Mask | None = None
) -> Codes:
    """The rank of items in the lists of users, made once for each user; among items that exist, if given."""
    user, item = taken.user[places], now.log.item[taken.entry[places]].astype(np.int64)
    longest = depth if exists is None or exists.all() else min(2 * depth, len(now.log.items))
    order = np.argsort(user, kind="stable")
    users, first = np.unique(user[order], return_index=True)
    ends = np.append(first, len(user))
    ranks = np.zeros(len(user), dtype=np.int64)
    step = max(1, _CELLS // longest)
    progress().begin(f"making lists by {model}", len(users), "users")
    for at in range(0, len(users), step):
        part = users[at : at + step]
        nothing = np.full(len(part), -1, dtype=np.int64)
        lists, _ = lists_for(model, now, Batch.of(now, part), longest, nothing)
        pairs = order[ends[at] : ends[at + len(part)]]
        ranks[pairs] = _places_in(lists[np.searchsorted(part, user[pairs])], item[pairs], exists)
        progress().advance(len(part))
    return np.where(ranks > depth, 0, ranks)


def _places_in(lists: Codes, item: Codes, exists: Mask | None = None) -> Codes:
    """The place of an item in each list, from 1; 0 if it is not there. A -1 is a place without item."""
    counts = np.ones(lists.shape, dtype=bool)
    if exists is not None:
        counts &= exists[lists] | (lists == -1)
    matches = counts & (lists == item[:, None])
    place = np.cumsum(counts, axis=1)[np.arange(len(lists)), matches.argmax(axis=1)]
    ranks: Codes = np.where(matches.any(axis=1), place, 0)
    return ranks


_TASTE = "knn"
"""The second model, of what users like: neighbours by cosine, which say least about popularity."""


@dataclass(frozen=True)
class Ranks:
    """The ranks that production gave to interactions in the windows and in quiet ones; from 1, 0 for none."""

    production: str  # the name of the model
    taken: Codes  # of each pair of the windows
    quiet: Codes | None  # of each quiet pair, a row for each model that ranked it; None with a holdout group
    external: bool = False  # whether its lists are external


@dataclass(frozen=True)
class RankedContrast:
    """The interactions of each cell, and their counts."""

    contrast: Contrast
    production: str  # the name of the model of production
    pairs: Stratified  # the cells of ``contrast.taken``
    tally: Tally  # pairs and people, counted by blocks of users
    notes: tuple[str, ...]  # what should be known about the lists of the model

    @property
    def rates(self) -> Rates:
        """Pairs of each cell, and how many are usual."""
        return find_rates(self.tally)


def find_ranks(contrast: Contrast, model: Recommender, *, folds: int = FOLDS) -> Ranks:
    """Ask a model of production for the ranks of all pairs."""
    external = traits_of(model).external
    if contrast.quiet is None:
        return Ranks(str(model), rank_taken(model, contrast.taken), None, external)
    return Ranks(str(model), *rank_with_quiet(model, contrast.taken, contrast.quiet, folds), external)


def combine_ranks(several: Sequence[Ranks]) -> Ranks:
    """The best rank that any of several models gives, as if each of them had made some of the lists."""

    def best(ranks: Sequence[Codes]) -> Codes:
        far = np.iinfo(np.int64).max
        lowest = np.min([np.where(rank > 0, rank, far) for rank in ranks], axis=0)
        return np.where(lowest == far, 0, lowest)

    quiet = [ranks.quiet for ranks in several if ranks.quiet is not None]
    return Ranks(
        " + ".join(ranks.production for ranks in several),
        best([ranks.taken for ranks in several]),
        best(quiet) if quiet else None,
        any(ranks.external for ranks in several),
    )


def count_ranked(contrast: Contrast, ranks: Ranks, *, by_taste: bool = True, seed: int = 0) -> RankedContrast:
    """Find the cells of what was taken, and count.

    With `by_taste` a model of taste is asked too, where a holdout group is compared over the same time: the
    tastes of another time are others.
    """
    taken, quiet = contrast.taken, contrast.quiet
    pushed = ItemPush.measure(taken, contrast.suspect)
    push = pushed.of(taken)
    tastes = np.zeros_like(ranks.taken)
    quiet_pairs: list[Stratified] = []
    if quiet is None or ranks.quiet is None:
        assert contrast.holdout is not None
        edges = find_edges(push[contrast.holdout[taken.user]])
        if by_taste:
            tastes = rank_taken(recommender(_TASTE), taken)
    else:
        quiet_push = pushed.of(quiet)
        edges = find_edges(quiet_push)
        no_taste = np.zeros(len(quiet), dtype=np.int64)
        quiet_pairs = [stratify(quiet, row, no_taste, quiet_push, edges) for row in ranks.quiet]
    pairs = stratify(taken, ranks.taken, tastes, push, edges)
    block = deal_blocks(len(contrast.log.users), contrast.holdout, seed)
    counted = tally(pairs, contrast.suspect, quiet_pairs, contrast.holdout, block)
    return RankedContrast(
        contrast, ranks.production, pairs, counted, _find_missing_lists(contrast, ranks, counted)
    )


def _find_missing_lists(contrast: Contrast, ranks: Ranks, counted: Tally) -> tuple[str, ...]:
    """What is to be said if lists external are missing where nothing was shown."""
    if not ranks.external or counted.quiet_pairs[:, RANK_OF < BEYOND].any():
        return ()
    whom = "in quiet windows" if contrast.holdout is None else "for the holdout group"
    return (
        f"{ranks.production} has no lists {whom}, or no interactions with their items there: all interactions "
        "with items of its lists in the windows count as recommended",
    )


AUTO = "auto"
"""What to write for the stand-in that explains most."""

CANDIDATES = (
    "popular",
    "knn?similarity=cooccurrence",
    "knn?similarity=cosine",
    "knn?similarity=bm25&exact=false",
    "ease?exact=false",
    "als",
)
"""The models that compete, besides those that are compared."""

_MOST_ITEMS = 1500  # that EASE models when it stands for production: it takes their number to the power of three
_MOST_SECONDS = 3.0  # for one fit, of which there is one for each window and fold
_WORTH = 0.01  # by which two models together must be better than the better one

FEW_WINDOWS = 4
"""Windows of each kind that are enough to compare models, or to test one."""

FEW_FOLDS = 2
"""Folds of users that are enough to compare models, or to test one."""


@dataclass(frozen=True)
class Production:
    """What stands for production."""

    models: tuple[Recommender, ...]  # the model, or the two whose best rank counts
    ranks: Ranks  # their ranks of the pairs of a contrast
    # How much of the interactions in the windows their strata tell apart, from 0 to 1; 0 or less if nothing.
    explains: float
    # If several models competed: the same for each, on the few windows on which all of them were tried.
    candidates: Mapping[str, float] = field(default_factory=dict)
    tallies: tuple[Tally, ...] = ()  # the counts of the best candidates, or of the one model that was named
    folds: int = FOLDS  # into how many folds users are dealt if models are cross-fitted

    @property
    def is_silent(self) -> bool:
        """Whether no candidate explains anything."""
        return self.explains <= 0 and all(share <= 0 for share in self.candidates.values())

    def notes(self) -> list[str]:
        """What should be said about it."""
        if self.is_silent:
            return [f"no sign of recommendations: {self._explain_nothing()} of the interactions in the windows"]
        production = shorten_spec(self.ranks.production)
        share = f"explains {percent(self.explains, 0)} of the interactions in the windows"
        if not self.candidates:
            return [f"production is modelled by {production}, which {share}"]
        others = [f"{shorten_spec(name)} {percent(max(share, 0.0), 0)}" for name, share in self.candidates.items()]
        return [
            f"the stand-in for production is {production}, which {share} "
            f"(tried on a few windows: {enumerate_words(others)}); if you know what ran, give that"
        ]

    def _explain_nothing(self) -> str:
        number = len(self.candidates)
        return f"none of {number} stand-ins explains any" if number else f"{self.ranks.production} explains none"

    def count(self, contrast: Contrast, seed: int = 0) -> Tally:
        """The counts of another contrast, ranked by the same models."""
        ranks = [find_ranks(contrast, model, folds=self.folds) for model in self.models]
        return _count(contrast, combine_ranks(ranks), seed)


def is_auto(production: Any) -> bool:
    """Whether a stand-in for production is to be chosen."""
    return isinstance(production, str) and production.strip() == AUTO


def choose_production(
    contrast: Contrast,
    production: AnyRecommender,
    candidates: Iterable[AnyRecommender] = (),
    seed: int = 0,
    *,
    family: Sequence[str] = CANDIDATES,
) -> Production:
    """Rank all pairs by the model of production, or by the stand-in that explains most.

    `candidates` are models that compete besides the `family` of unskew: the ones that are compared.
    """
    if not is_auto(production):
        return take_for_production(contrast, recommender(production), seed=seed)
    few = contrast.take_some(FEW_WINDOWS)
    models = _list_candidates(contrast, family, candidates)
    ranked: dict[str, Ranks] = {}
    for name, model in list(models.items()):
        try:
            ranked[name] = find_ranks(few, model, folds=FEW_FOLDS)
        except UnskewError:  # a model that is compared need not know users to whom it was not fitted
            if name in map(str, map(recommender, family)):
                raise
            del models[name]
    shares = {name: _explain(_count(few, ranks, seed), seed) for name, ranks in ranked.items()}
    best = sorted(shares, key=lambda name: -shares[name])[:2]
    finalists: list[tuple[str, ...]] = [(name,) for name in best]
    both = combine_ranks([ranked[name] for name in best])
    together = _explain(_count(few, both, seed), seed)
    if together > shares[best[0]] + _WORTH:
        shares[both.production] = together
        finalists.insert(0, tuple(best))
    full = {name: find_ranks(contrast, models[name]) for name in best}
    last = [(names, combine_ranks([full[name] for name in names])) for names in finalists]
    counted = [(_count(contrast, ranks, seed), names, ranks) for names, ranks in last]
    counted.sort(key=lambda row: -_explain(row[0], seed))
    tally, names, ranks = counted[0]
    return Production(
        tuple(models[name] for name in names),
        ranks,
        _explain(tally, seed),
        dict(sorted(shares.items(), key=lambda row: -row[1])),
        tuple(row[0] for row in counted),
    )


def take_for_production(
    contrast: Contrast, model: Recommender, *, folds: int = FOLDS, seed: int = 0
) -> Production:
    """One model that stands for production."""
    ranks = find_ranks(contrast, model, folds=folds)
    counted = _count(contrast, ranks, seed)
    return Production((model,), ranks, _explain(counted, seed), tallies=(counted,), folds=folds)


def is_cheap(model: Recommender, log: Log) -> bool:
    """Whether a model can be fitted once for each window and fold, by a count of the work."""
    size = LogSize(len(log.items), len(log), float((np.diff(log.start.astype(np.int64)).astype(float) ** 2).sum()))
    return estimate_cost([model], size).fit <= _MOST_SECONDS


def _explain(counted: Tally, seed: int) -> float:
    """How much of the interactions in the windows the strata of a model tell apart."""
    return measure_separation(counted, split_blocks(counted.blocks, seed))


def _count(contrast: Contrast, ranks: Ranks, seed: int) -> Tally:
    return count_ranked(contrast, ranks, by_taste=False, seed=seed).tally


def _list_candidates(
    contrast: Contrast, family: Sequence[str], compared: Iterable[AnyRecommender]
) -> dict[str, Recommender]:
    """The models that compete, by name: those that are installed and that the log is not too large for.

    Models that are compared compete as well, unless everybody gets the same list from them or their lists are
    external and may lack the dates of the windows.
    """
    models = list_family(contrast.log, family)
    for model in map(recommender, compared):
        traits = traits_of(model)
        if not traits.external and not traits.constant and not is_alike(model, models.values()):
            models[str(model)] = model
    return {name: model for name, model in models.items() if is_cheap(model, contrast.log)}


def list_family(log: Log, family: Sequence[str] = CANDIDATES) -> dict[str, Recommender]:
    """The models of unskew that may stand for production, by name: installed, and not too slow for the log."""
    specs = [spec for spec in family if spec != "als" or find_spec("implicit") is not None]
    if len(log.items) > _MOST_ITEMS:
        specs = [f"{spec}&max_items={_MOST_ITEMS}" if spec.startswith("ease?") else spec for spec in specs]
    models = {str(model): model for model in map(recommender, specs)}
    return {name: model for name, model in models.items() if is_cheap(model, log)}


def is_alike(model: Recommender, others: Iterable[Recommender]) -> bool:
    """Whether a model is among others, whatever its name; how it removes a held-out pair makes no difference.

    >>> is_alike(recommender("knn"), [recommender("knn?similarity=cosine&exact=false")])
    True
    >>> is_alike(recommender("knn?neighbours=20"), [recommender("knn")])
    False
    """
    return _identify(model) in map(_identify, others)


def _identify(model: Recommender) -> tuple[type, str]:
    """The kind of a model and all its parameters, those that have their defaults included."""
    unnamed = getattr(model, "recommender", model)
    return type(unnamed), re.sub("[?&]exact=false", "", str(unnamed))
