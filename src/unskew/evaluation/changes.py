"""The change of a score since the reference date, split into what it comes from; the parts add up to it exactly.

What runs now (v2, the *recommender*) is scored at t1, what ran then (v1, the *baseline*; without one v2 itself) at
t0. Users *stay* at a date if the weights evaluate them. With `TERMS` each part is a sum of scores with signs, so
that a value, its bootstrap repetitions and the influence of a user on it are all made by the same table. What more
data adds is measured on a log that is cut to the size that it had at t0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unskew.arrays.profiles import all_entries, all_users
from unskew.arrays.types import Codes, Floats
from unskew.checks import Seed, public, require_instance, require_repeats
from unskew.data.held_out import HeldOutSplit
from unskew.data.log import Log
from unskew.data.policy import find_users
from unskew.data.times import Label
from unskew.errors import PolicyError, option
from unskew.evaluation.bootstrap import Repetitions, bootstrap_if_possible, find_evaluated_users
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.intervals import Estimate, Units, combine_scores, number_users
from unskew.evaluation.pairs import require_same_min_items
from unskew.evaluation.score import flatten
from unskew.text import to_json_value
from unskew.weights.item_weights import ItemWeights

CUTS = 3
"""How often profiles are cut at random: the mean is taken, and how far the cuts differ widens its interval."""


def cut_to_size(now: HeldOutSplit, then: HeldOutSplit, *, seed: Sequence[int], both: bool = False) -> Log | None:
    """The log of `now` with no more users and no longer profiles than there were `then`; None if it has no more.

    As many users as had a profile then are drawn (with `both`, those who had one first), and of their profiles the
    k-th largest is cut to the size of the k-th largest then, its items drawn at random. Only what a recommender
    may see is cut: items that are held out by time, or as the last, all stay.
    """
    known, rng = now.known, np.random.default_rng(seed)
    sizes, sizes_then = known.sizes(), np.sort(then.known.sizes())[::-1]
    turn = rng.permutation(len(sizes)) + len(sizes) * (sizes == 0)
    if both:
        turn[find_users(then.known, then.known.sizes() > 0, known) & (sizes > 0)] -= len(sizes)
    drawn = np.sort(np.argsort(turn)[: min(np.count_nonzero(sizes), np.count_nonzero(sizes_then))])
    drawn = drawn[np.argsort(-sizes[drawn], kind="stable")]
    limits = np.zeros_like(sizes)
    limits[drawn] = np.minimum(sizes[drawn], sizes_then[: len(drawn)])
    if np.array_equal(limits, sizes):
        return None
    entries, users = all_entries(known.profiles), all_users(known.profiles)
    shuffled = np.lexsort((rng.random(len(entries)), users))  # each user's entries stay in a row
    place = np.arange(len(entries)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keep = limits[known.log.entry_users()] > 0
    keep[known.per_entry(np.arange(len(known.log)))[entries[shuffled[place >= limits[users]]]]] = False
    return known.log.keep_entries(keep)


_SHARED: dict[str, dict[str, int]] = {
    "change": {"all_now": 1, "all_then": -1},
    "users_excluded": {"all_now": 1, "stay_now": -1, "all_then": -1, "stay_then": 1},
    "item_mix": {"stay_now": 1, "weighted": -1},
    "unexplained": {"reduced": 1, "stay_then": -1},
}
TERMS = {
    False: {**_SHARED, "more_data": {"weighted": 1, "reduced": -1}},
    True: {
        **_SHARED,
        "more_data": {"baseline_weighted": 1, "reduced": -1},
        "algorithm": {"weighted": 1, "baseline_weighted": -1},
        "item_mix_baseline": {"baseline_stay_now": 1, "baseline_weighted": -1},
    },
}
"""The scores that each part is made of, with their signs; the key says whether a baseline is scored now too."""


PARTS = ("change", "users_excluded", "item_mix", "more_data", "algorithm", "unexplained", "item_mix_baseline")
"""The figures of a change that have an interval."""
CUT_PARTS = ("more_data", "unexplained")
"""Those that differ with which profiles are cut, and how."""
_IN_JSON = {"reference": "from", "at": "to", "score_reference": "score_from", "score": "score_to"}


@dataclass(frozen=True)
class Part:
    """A part of a change, with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:+z.2f} [{100 * self.low:+z.2f}, {100 * self.high:+z.2f}]"


NOTHING = Part(math.nan, math.nan, math.nan)


@dataclass(frozen=True, kw_only=True)
class Change:
    """The change of a score since the reference date, and what it comes from.

    Attributes
    ----------
    recommender, baseline
        What was scored at `at`, and what ran at `reference` if that was another one, else None.
    metric, reference, at
        What was measured, and the two dates.
    score_reference, score
        The raw scores of all users then and now.
    change
        ``score - score_reference``, the sum of the parts.
    users_excluded
        What the users add whom the weights leave out: raw of all minus raw of those who stay, now, minus the same
        then.
    item_mix
        Raw minus weighted, of the users who stay now: what the item mix explains, new items among it.
    more_data
        What longer profiles and more users add: weighted now minus the same fitted and scored on profiles cut to
        the size that they had then (`cut_to_size`), with weights fitted to these; of the baseline (of the
        recommender, without one that is scored now). 0 for lists, which learn nothing, and where there is no more
        data now; None where it was not measured (`quick`, `explain_change`), and is part of `unexplained`.
    algorithm
        The recommender minus the baseline, both now and both weighted; None without a baseline, or where it
        cannot be scored now (a table of lists).
    unexplained
        What is left: weighted now, on the cut profiles, minus raw then, of whom `more_data` is about. Where
        `algorithm` is None and there is a baseline it holds both. For a constant list it is 0 by construction, up
        to the bound; for another algorithm it can still be bias.
    item_mix_baseline
        What the item mix explains if it is measured on the baseline: the order of the parts is a choice.
    bound
        By how much the score of a constant list can still be off under these weights, in units of the metric;
        None if the metric has no limits.
    bound_holds
        Whether `unexplained` is about a constant list, so that the bound is about it.
    comparable
        Whether the same of a held-out pair was left out of both; otherwise there are no figures (NaN).
    held_out
        What was left out of the recommender now, and of the baseline then; see `Score`.
    method
        How the intervals were made. ``bootstrap``: users of both dates were drawn together `repeats` times, and
        the weights fitted again each time. ``users`` or, of samples, ``draws``: weights taken as given.
        Scores on cut profiles are not repeated: `more_data` and `unexplained` take weights as given if there are
        any, and are means over three cuts, whose spread widens the intervals.
    view
        Which view of the log was scored.
    biased
        Whether what recommendations did to the log can still be in it; see `Score`.
    """

    recommender: str
    baseline: str | None
    metric: str
    reference: Label | None
    at: Label
    score_reference: float
    score: float
    change: Part
    users_excluded: Part
    item_mix: Part
    more_data: Part | None = None
    algorithm: Part | None
    unexplained: Part
    item_mix_baseline: Part | None = None
    bound: float | None = None
    bound_holds: bool = False
    comparable: bool = True
    held_out: tuple[str, str] = ("exact", "exact")
    level: float = 0.95
    method: str = "bootstrap"
    repeats: int = 0
    view: str = "all"
    biased: bool = True

    @property
    def is_within_bound(self) -> bool:
        """Whether `unexplained` is no larger than what item weights can still be off by: the data cannot tell."""
        return self.bound is not None and abs(self.unexplained.value) <= self.bound

    @property
    def beyond_mix(self) -> Part:
        """What is unexplained and what more data adds, together; intervals as if they were independent."""
        rest, data = self.unexplained, self.more_data
        if data is None or data == Part(0.0, 0.0, 0.0):
            return rest
        value = rest.value + data.value
        low = math.hypot(rest.value - rest.low, data.value - data.low)
        high = math.hypot(rest.high - rest.value, data.high - data.value)
        return Part(value, value - low, value + high)

    @property
    def algorithm_words(self) -> str:
        """What `algorithm` is: not that alone if one of two may have seen the held-out items."""
        is_sure = self.held_out[0] == self.held_out[1]
        return "the algorithm" if is_sure else "the algorithm or from held-out items that its lists may have seen"

    @property
    def more_data_words(self) -> str:
        """Where `more_data` comes from: in a log with bias, recommendations may have added to the data."""
        return "from more data (which recommendations may have added)" if self.biased else "from more data"

    def parts(self) -> dict[str, Part]:
        """The change and its parts by name, in words, without those that there are not."""
        is_joint = self.baseline is not None and self.algorithm is None
        parts = {
            "change": self.change,
            "users excluded": self.users_excluded,
            "item mix": self.item_mix,
            "more data": self.more_data,
            "algorithm": self.algorithm,
            "algorithm and unexplained" if is_joint else "unexplained": self.unexplained,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def __str__(self) -> str:
        whose = self.recommender
        if self.baseline is not None:
            whose = f"{self.recommender} at {self.at} against {self.baseline} at {self.reference}"
        if not self.comparable:
            kinds = " and ".join(self.held_out)
            return (
                f"{whose}, {self.metric}: not comparable, since different things were held out from the two "
                f"({kinds}); use the same folds for both"
            )
        view = "" if self.view == "all" else f" (view {self.view})"
        return f"{whose}, {self.metric}{view}: {self._describe_parts()}{self._describe_doubt()}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {_IN_JSON.get(name, name): to_json_value(value) for name, value in asdict(self).items()}

    def to_row(self) -> dict[str, Any]:
        """The same as columns of a table, the parts as item_mix, item_mix_low, item_mix_high and so on."""
        return flatten(self.to_dict(), PARTS)

    def _describe_parts(self) -> str:
        size = f"{100 * abs(self.change.value):.2f}"
        direction = "rose" if self.change.value > 0 else "fell"
        moved = "the score did not change" if size == "0.00" else f"the score {direction} by {size} points"
        low, high = 100 * self.change.low, 100 * self.change.high
        parts = [f"{100 * self.item_mix.value:+z.2f} from the item mix"]
        if self.users_excluded != Part(0.0, 0.0, 0.0):
            parts.insert(0, f"{100 * self.users_excluded.value:+z.2f} from users excluded")
        if self.more_data is not None and self.more_data != Part(0.0, 0.0, 0.0):
            parts.append(f"{100 * self.more_data.value:+z.2f} {self.more_data_words}")
        if self.algorithm is not None:
            parts.append(f"{self.algorithm} from {self.algorithm_words}")
        rest = f"{self.unexplained} unexplained"
        if self.baseline is not None and self.algorithm is None:
            reason = f"{self.baseline} has no lists that are valid now"
            rest = f"{self.unexplained} from the algorithm and all else ({reason})"
        unknown = ""
        if self.held_out[0] != self.held_out[1]:
            unknown = ". What made the external lists may have seen the held-out items: that is not known"
        return f"{moved} [{low:+z.2f}, {high:+z.2f}]: {', '.join(parts)}, {rest}{unknown}"

    def _describe_doubt(self) -> str:
        if self.bound is None:
            return ""
        if round(100 * self.unexplained.value, 2) == 0:
            if self.bound_holds:
                return f". Nothing is left to explain, up to {100 * max(self.bound, 1e-4):.2f} points"
            if round(100 * self.bound, 2) == 0:
                return ""
        off = f"{100 * self.bound:.2f} points"
        would = "the same users at both dates or a later reference date would"
        if self.biased and self.view == "all":
            would = "the same users at both dates, a later reference date or exposures would"
        if self.is_within_bound:
            unknown = "more than what is unexplained: whether anything is left, the data cannot tell"
            return f". Item weights can still be off by {off}, {unknown}; {would}"
        if self.bound_holds:
            return f". Item weights can still be off by {off}"
        bias = "bias of the log, which exposures would remove"
        if self.view != "all":
            bias = f"bias that the view {self.view} does not remove"
        return f". What is unexplained can be {bias}" * self.biased


@dataclass(frozen=True)
class Split:
    """Whose change is split: ranks of one recommender now, and of what ran then at both dates."""

    # Ranks of the recommender at t1, and of the baseline (or of the recommender itself) at t0.
    now: HeldOutRanks
    then: HeldOutRanks
    # Ranks of the baseline at t1, if it is another recommender and can be scored there.
    baseline: HeldOutRanks | None = None
    # Ranks at t1 of whom `unexplained` is about, fitted and scored on profiles cut to the size of t0, and the
    # weights of these; what it has on whole profiles if there is nothing to cut; None if it was not measured.
    reduced: tuple[HeldOutRanks, ItemWeights] | None = None

    @property
    def scored(self) -> HeldOutRanks:
        """Whom `more_data` and `unexplained` are about, at t1: the baseline if it is scored there."""
        return self.now if self.baseline is None else self.baseline

    @property
    def is_cut(self) -> bool:
        """Whether there is a score on cut profiles, other than that on whole ones."""
        return self.reduced is not None and self.reduced[0] is not self.scored

    @property
    def is_comparable(self) -> bool:
        """Whether the same was left out of both, as far as anybody knows."""
        now, then = self.now.held_out, self.then.held_out
        return now == then or "external" in (now.kind, then.kind)


@public
def explain_change(
    now: HeldOutRanks,
    reference: HeldOutRanks,
    weights: ItemWeights,
    *,
    baseline: HeldOutRanks | None = None,
    metric: AnyMetric = "hit@5",
    refit: int | None = None,
    seed: Seed = 0,
    level: float = 0.95,
) -> Change:
    """Split the change of a score since the reference date into its parts.

    Parameters
    ----------
    now
        Ranks of what runs now, at t1.
    reference
        Ranks at t0 of what ran then: the same recommender, or another one (the baseline).
    weights
        From `fit_weights`, of t1 to t0.
    baseline
        Ranks at t1 of what ran at t0, if it is another recommender; None if it cannot be scored now.
    metric, level
        As for `evaluate`.
    refit, seed
        How often users of both dates are drawn together and weights fitted again for the intervals, by default
        50 times; 0 to take the weights as given, as is always done with samples (whose draws are paired in their
        order) and where users are too few to be drawn.
    """
    if not isinstance(weights, ItemWeights):
        raise PolicyError(f"the split of a change needs fitted weights, not {weights!r}")
    if refit is not None:
        require_repeats(option("refit"), refit)
    for ranks in (now, reference, *(() if baseline is None else (baseline,))):
        require_instance(HeldOutRanks, ranks, "the ranks of a recommender", "give what rank_held_out gives")
    wanted = now.metric(metric)
    now.weigh(wanted, weights)  # refuses a metric that takes none before the work
    require_same_min_items(weights, reference.snapshot.policy.min_items)
    if (now.sample is None) != (reference.sample is None):
        raise PolicyError(
            "one date was sampled and the other not", remedy=f"rank both with {option('sample')}, or neither"
        )
    again = bootstrap_if_possible(
        [now] if baseline is None else [now, baseline],
        reference.snapshot,
        weights,
        [wanted],
        reference_ranks=[reference],
        repeats=refit,
        seed=seed,
    )
    return explain_split(Split(now, reference, baseline), weights, wanted, level, again)


def explain_split(
    split: Split,
    weights: ItemWeights,
    metric: AnyMetric,
    level: float,
    again: Repetitions | None = None,
) -> Change:
    """One change, with intervals from repetitions or, without any, with the weights taken as given."""
    now, then = split.now, split.then
    wanted = now.metric(metric)
    units = _find_units(split, weights, wanted)
    repeats = None if again is None else _find_repeats(split, again, wanted.name)
    places = number_users(now.snapshot, then.snapshot) if now.sample is None else None
    parts: dict[str, Part] = {}
    for name, signs in TERMS[split.baseline is not None].items():
        parts[name] = _find_part(signs, units, repeats, places, level) if split.is_comparable else NOTHING
    other = split.baseline is not None or now.recommender != then.recommender
    limits = wanted.highest - wanted.lowest
    return Change(
        recommender=now.recommender,
        baseline=then.recommender if other else None,
        metric=wanted.name,
        reference=then.snapshot.at,
        at=now.snapshot.at,
        score_reference=units["all_then"].value,
        score=units["all_now"].value,
        change=parts["change"],
        users_excluded=parts["users_excluded"],
        item_mix=parts["item_mix"],
        more_data=None if split.reduced is None else parts["more_data"],
        algorithm=parts.get("algorithm"),
        unexplained=parts["unexplained"],
        item_mix_baseline=parts.get("item_mix_baseline"),
        bound=weights.bound * limits if math.isfinite(limits) and weights.is_fitted_at(now.snapshot) else None,
        bound_holds=then.constant and (not other or split.baseline is not None),
        comparable=split.is_comparable,
        held_out=(now.held_out.kind, then.held_out.kind),
        level=level,
        method=units["all_now"].method if again is None else "bootstrap",
        repeats=0 if again is None else len(again),
        view=now.snapshot.policy.view,
        biased=not all(ranks.is_debiased for ranks in (now, split.baseline) if ranks is not None),
    )


def _find_part(
    signs: Mapping[str, int],
    units: Mapping[str, Units],
    repeats: Mapping[str, Floats] | None,
    places: tuple[Codes, Codes] | None,
    level: float,
) -> Part:
    value = sum(sign * units[name].value for name, sign in signs.items())
    if repeats is not None and signs.keys() <= repeats.keys():
        together = np.sum([sign * repeats[name] for name, sign in signs.items()], axis=0)
        interval = Estimate.from_repeats(value, together, level)
        if interval.low < interval.high:
            return Part(value, interval.low, interval.high)
    # weights as given, as on cut profiles, or nothing was found in any repetition
    signed = [(sign, units[name], name.endswith("_then")) for name, sign in signs.items()]
    if len({id(each) for _, each, _ in signed}) == 1:
        return Part(0.0, 0.0, 0.0)  # of a recommender and itself
    interval = combine_scores(signed, places, level)
    return Part(value, interval.low, interval.high)


def _find_repeats(split: Split, again: Repetitions, metric: str) -> dict[str, Floats]:
    now, then = again.of(split.now, metric), again.of(split.then, metric)
    scores = {f"{name}_now": now[name] for name in ("all", "stay")} | {"weighted": now["weighted"]}
    scores |= {f"{name}_then": then[name] for name in ("all", "stay")}
    if split.baseline is not None:
        baseline = again.of(split.baseline, metric)
        scores |= {"baseline_stay_now": baseline["stay"], "baseline_weighted": baseline["weighted"]}
    return scores if split.is_cut else scores | {"reduced": again.of(split.scored, metric)["weighted"]}


def _find_units(split: Split, weights: ItemWeights, metric: AnyMetric) -> dict[str, Units]:
    now, then = split.now, split.then
    stay_now, stay_then = find_evaluated_users(
        weights, weights.apply(now.snapshot, then.snapshot), now.snapshot, then.snapshot
    )
    raw, raw_then = now.units(metric, None), then.units(metric, None)
    units = {
        "all_now": raw,
        "stay_now": raw.of_users(stay_now),
        "weighted": now.units(metric, weights),
        "all_then": raw_then,
        "stay_then": raw_then.of_users(stay_then),
    }
    if split.baseline is not None and split.baseline.recommender == now.recommender:
        units |= {"baseline_stay_now": units["stay_now"], "baseline_weighted": units["weighted"]}
    elif split.baseline is not None:
        units["baseline_stay_now"] = split.baseline.units(metric, None).of_users(stay_now)
        units["baseline_weighted"] = split.baseline.units(metric, weights)
    units["reduced"] = units["weighted" if split.baseline is None else "baseline_weighted"]
    if split.reduced is not None and split.is_cut:
        ranks, fitted = split.reduced  # who was there then, the cut log does not know
        units["reduced"] = ranks.units(metric, fitted.apply(ranks.snapshot, then.snapshot))
    return units
