"""Evaluating a recommender: rank the held-out items once, then score them under any weights and quality.

Ranks are the one expensive step. `rank_held_out` computes them; `HeldOutRanks.score` is then a few sweeps over
arrays. What is uncertain about a score is in `unskew.evaluation.intervals`, what differs between two in `unskew.evaluation.comparison`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.errors import EmptyError, InputError, PolicyError
from unskew.data.shares import Share
from unskew.evaluation.pairs import HoldOut, Later, all_pairs, draw, entry_shares, number_of_draws, pairs_of
from unskew.evaluation.intervals import Interval, critical
from unskew.evaluation.estimates import mean_of_draws, mean_of_users, summed
from unskew.evaluation.quality import Quality
from unskew.evaluation.quality import qualities as named_qualities
from unskew.evaluation.quality import quality as named_quality
from unskew.evaluation.ranking import rank_pairs
from unskew.recommend.contract import Codes, Recommender
from unskew.recommend.checks import whole_number
from unskew.recommend.specs import recommender as named_recommender
from unskew.weights.item_weights import ItemWeights
from unskew.evaluation.score import Score
from unskew.data.snapshot import Snapshot
from unskew.arrays.sweep import Floats

AnyQuality = str | Quality | Callable[..., npt.ArrayLike]
AnyRecommender = str | Recommender | Callable[..., Any]
AnyWeights = ItemWeights | Mapping[Any, float] | None


def evaluate(
    recommender: AnyRecommender,
    snapshot: Snapshot,
    *,
    weights: AnyWeights = None,
    quality: AnyQuality = "hit@5",
    sample: int | None = None,
    seed: int = 0,
    leave_out: int = 1,
    after: Any = None,
    level: float = 0.95,
) -> Score:
    """The score of a recommender at a date: ``L = sum_ui P(u) P(i|u,w) l(g(u minus i), i)``.

    Parameters
    ----------
    recommender
        Anything with ``fit`` and ``recommend``, a function from a list of ids and k to a list of ids, or a spec
        such as ``"popular"`` or ``"knn?neighbours=50"``.
    snapshot
        The profiles; each item of each profile is held out in turn.
    weights
        Item weights from `fit_weights`, or a mapping from item to weight (1 for an item that it does not name);
        None for the raw score. With `after`, fit them to what is held out: ``log.between(after, snapshot)``.
    quality
        ``hit@5``, ``mrr@10``, ``ndcg@10``, ``rbp@100``, or a `Quality` of one's own.
    sample
        Draw so many pairs (users by P(u) with repetition, then one item each) instead of taking all.
    seed
        Of the draws.
    leave_out
        How many items of a profile are taken out at a time.
    after
        A time: the recommender is fitted then, sees the profiles of then, and has to find what its users took
        later, up to the snapshot. Nothing later leaks. Who had no profile then is left out, and reported.
    level
        Of the interval.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("cid", "z")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> round(us.evaluate("popular", log.at(1), quality="hit@1").value, 4)
    0.8333
    """
    critical(level)  # refuse it before the work, not after
    ranks = rank_held_out(
        recommender,
        snapshot,
        qualities=[named_quality(quality)],
        weights=[weights],
        sample=sample,
        seed=seed,
        leave_out=leave_out,
        after=after,
    )
    return ranks.score(quality, weights, level=level)


def rank_held_out(
    recommender: AnyRecommender,
    snapshot: Snapshot,
    *,
    qualities: AnyQuality | Iterable[AnyQuality] = ("hit@5",),
    weights: AnyWeights | Sequence[AnyWeights] = None,
    sample: int | None = None,
    seed: int = 0,
    leave_out: int = 1,
    after: Any = None,
) -> HeldOutRanks:
    """Fit a recommender and rank every held-out item; the result can be scored again and again.

    Parameters are those of `evaluate`; `qualities` decide how deep the lists must be (``"rank<=1,5,10"`` stands
    for several), and with `sample` the `weights`, one or several, decide which pairs are drawn.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("cid", "z")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> ranks = us.rank_held_out("constant:x,y", log.at(1), qualities="rank<=1,2")
    >>> [(s.quality, round(s.value, 3)) for s in ranks.scores("rank<=1,2")]
    [('hit@1', 0.5), ('hit@2', 0.833)]
    """
    _check(sample, seed, leave_out, after)
    wanted = named_qualities(qualities)
    whole = snapshot
    model = named_recommender(recommender)
    held = HoldOut(snapshot, leave_out, seed)
    if after is not None:
        split = Later.of(snapshot, after)
        whole, snapshot = split.whole, split.pairs
        held = HoldOut(split.known, 1, seed)
    several = weights if isinstance(weights, Sequence) else [weights]
    parts = [weighted(snapshot, w) for w in several]  # refuses weights of another policy before the work
    if sample is None:
        pairs = all_pairs(snapshot)
    else:
        drawn = [draw(part, theta, sample, seed) for part, theta in parts]
        pairs = pairs_of(snapshot, np.unique(np.concatenate(drawn)))
    depth = max(q.depth for q in wanted)
    ranks, grades = rank_pairs(model, held, pairs, depth, with_grades=any(q.needs_grades for q in wanted))
    return HeldOutRanks(
        str(model), snapshot, whole, held, pairs.entry, pairs.user, ranks, grades, depth, sample, seed
    )


@dataclass(frozen=True, repr=False, eq=False)
class HeldOutRanks:
    """The rank of each held-out item under one recommender, from 1; 0 if it was not among the best `depth`.

    Attributes
    ----------
    recommender
        Its name.
    snapshot, whole
        The profiles that items are held out from, and the same with those who could not take part.
    entries, users, ranks
        Where each pair is in ``snapshot.profiles.item``, whose it is, and the rank.
    grades
        The number that the recommender gives to the held-out item, or None.
    sample, seed
        Number and seed of the draws; None for every pair.
    """

    recommender: str
    snapshot: Snapshot
    whole: Snapshot
    held: HoldOut
    entries: Codes
    users: Codes
    ranks: Codes
    grades: Floats | None
    depth: int
    sample: int | None = None
    seed: int = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return (
            f"HeldOutRanks({self.recommender} at {self.snapshot.at}: {len(self)} pairs, down to rank {self.depth})"
        )

    def values(self, quality: AnyQuality) -> Floats:
        """The quality of each pair."""
        wanted = named_quality(quality)
        if wanted.depth > self.depth:
            raise PolicyError(
                f"ranks were computed down to {self.depth}, but {wanted.name} looks down to {wanted.depth}: name "
                "it in qualities= of rank_held_out"
            )
        return wanted(self.ranks, self.grades)

    def user_sums(self, quality: AnyQuality, weights: AnyWeights) -> tuple[Floats, Floats]:
        """For each user of the log: its mass, and its mass times quality. Both sum over all pairs."""
        self._require_all()
        return self._user_sums(named_quality(quality), self._shares(*weighted(self.snapshot, weights)))

    def score(
        self,
        quality: AnyQuality = "hit@5",
        weights: AnyWeights = None,
        *,
        level: float = 0.95,
    ) -> Score:
        """The score under a quality and weights. Cheap: nothing is ranked again."""
        wanted = named_quality(quality)
        part, theta = weighted(self.snapshot, weights)
        if self.sample is not None:
            return self._sampled(wanted, part, theta, weights, level)
        shares = self._shares(part, theta)
        mass, total = self._user_sums(wanted, shares)
        mean = mean_of_users(wanted, mass, total, level)
        return self._score(wanted, weights, part, *mean, shares, int(np.count_nonzero(mass)))

    def scores(
        self,
        qualities: AnyQuality | Iterable[AnyQuality],
        weights: AnyWeights = None,
        *,
        level: float = 0.95,
    ) -> list[Score]:
        """The scores under several qualities, such as ``"rank<=1,5,10"`` or ``["hit@5", "mrr@10"]``."""
        return [self.score(q, weights, level=level) for q in named_qualities(qualities)]

    def by_segment(
        self,
        labels: str | npt.NDArray[Any],
        quality: AnyQuality = "hit@5",
        weights: AnyWeights = None,
        *,
        level: float = 0.95,
    ) -> list[Score]:
        """Scores of each segment, in the order of their names; one without any mass has none.

        Within a segment the pairs keep their weights relative to each other.

        Parameters
        ----------
        labels
            The name of a column read with ``read_log(labels=...)``, or an array with a label for each place of
            ``snapshot.profiles.item``.
        quality, weights, level
            As for `evaluate`.
        """
        self._require_all()
        wanted = named_quality(quality)
        part, theta = weighted(self.snapshot, weights)
        shares, values = self._shares(part, theta), self.values(wanted)
        names, order, ends = self._segments(labels)
        found = []
        for name, own in zip(names, np.split(order, ends[:-1]), strict=True):
            _, user = np.unique(self.users[own], return_inverse=True)
            mass = summed(user, shares[own], 0)
            if mass.sum() <= 0:
                continue
            mean = mean_of_users(wanted, mass, summed(user, shares[own] * values[own], 0), level)
            users = int(np.count_nonzero(mass))
            score = self._score(wanted, weights, part, *mean, shares[own], users, places=own)
            found.append(replace(score, segment=str(name)))
        return found

    def _segments(self, labels: str | npt.NDArray[Any]) -> tuple[list[Any], Codes, Codes]:
        """The names of the segments; the pairs in their order, and where each segment ends."""
        names: npt.NDArray[Any] | None = None
        if isinstance(labels, str):
            column = self.snapshot.log.label(labels)
            names = column.values.to_numpy(zero_copy_only=False)
            labels = self.snapshot.per_entry(column.codes)
        labels = np.asarray(labels)
        if labels.shape != self.snapshot.profiles.item.shape:
            raise InputError(
                f"labels have shape {labels.shape}; give one for each of the {len(self.snapshot.profiles.item)} "
                "places of snapshot.profiles.item"
            )
        found, codes = np.unique(labels[self.entries], return_inverse=True)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(found)))
        return (found if names is None else names[found]).tolist(), order, ends

    def _require_all(self) -> None:
        if self.sample is not None:
            raise PolicyError("this needs every pair, but only a sample was ranked: leave out sample")

    def _shares(self, part: Snapshot, theta: Floats) -> Floats:
        """The probability of each pair that was ranked."""
        shares = entry_shares(part, theta)
        return shares if len(shares) == len(self.entries) else shares[self.entries]

    def _user_sums(self, wanted: Quality, shares: Floats) -> tuple[Floats, Floats]:
        n = len(self.snapshot.log.users)
        return summed(self.users, shares, n), summed(self.users, shares * self.values(wanted), n)

    def _sampled(self, wanted: Quality, part: Snapshot, theta: Floats, weights: AnyWeights, level: float) -> Score:
        assert self.sample is not None
        drawn = draw(part, theta, self.sample, self.seed)
        place = np.searchsorted(self.entries, drawn)
        place = np.minimum(place, len(self.entries) - 1)
        if (self.entries[place] != drawn).any():
            raise PolicyError("these weights were not named when the sample was drawn: give them in weights=")
        values = self.values(wanted)[place]
        value, interval = mean_of_draws(wanted, values, level)
        shares = np.bincount(place, minlength=len(self.entries)) / len(drawn)
        users = len(np.unique(self.users[place]))
        return self._score(wanted, weights, part, value, interval, shares, users, len(drawn))

    def _score(
        self,
        wanted: Quality,
        weights: AnyWeights,
        part: Snapshot,
        value: float,
        interval: Interval,
        shares: Floats,
        users: int,
        pairs: int | None = None,
        places: Codes | slice = slice(None),
    ) -> Score:
        by_item = np.bincount(self.snapshot.profiles.item[self.entries[places]].view(np.int32), weights=shares)
        squares = float((shares * shares).sum())
        return Score(
            recommender=self.recommender,
            quality=wanted.name,
            view=self.snapshot.policy.view,
            weighting="raw" if weights is None else "weighted",
            top=getattr(weights, "top", None),
            at=self.snapshot.at,
            value=value,
            low=interval.low,
            high=interval.high,
            pairs=int(np.count_nonzero(shares)) if pairs is None else pairs,
            users=users,
            level=interval.level,
            method=interval.method,
            effective_pairs=float(shares.sum()) ** 2 / squares if squares > 0 else math.nan,
            largest_item=float(by_item.max() / shares.sum()),
            users_left_out=users_left_out(self.whole, part),
        )


def weighted(snapshot: Snapshot, weights: AnyWeights) -> tuple[Snapshot, Floats]:
    """The snapshot of the users who take part, and a log-weight for each item; somebody does."""
    part, theta = snapshot.weighted(weights)
    if not part.shares().any():
        raise EmptyError(
            f"nobody takes part at {snapshot.at} under these weights: no user holds enough of the items that they "
            "know; fit them to this snapshot"
        )
    return part, theta


def users_left_out(whole: Snapshot, part: Snapshot) -> Share:
    """Who has something to hold out and takes no part."""
    out = (whole.sizes() > 0) & (part.sizes() == 0)
    return Share(int(out.sum()), float(whole.shares()[out].sum()))


def _check(sample: int | None, seed: int, leave_out: int, after: Any) -> None:
    if sample is not None:
        number_of_draws("sample", sample)
    whole_number("seed", seed, "where the draws begin", 0)
    whole_number("leave_out", leave_out, "how many items to take out of a profile")
    if after is not None and leave_out > 1:
        raise PolicyError("leave_out is about items taken out of a profile; with after= none is taken out")
