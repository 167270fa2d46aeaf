"""`us.report`: what the steps give one by one, as one object."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unskew as us
from tests.dense import columns, random_events
from unskew.arrays.types import Codes
from unskew.data import Recency
from unskew.data.held_out import HeldOutSplit, SplitRule
from unskew.errors import ColumnError, EmptyError, InputError, PolicyError
from unskew.evaluation import HeldOutRanks, Score, explain_change
from unskew.evaluation.bootstrap import bootstrap, replace_interval
from unskew.evaluation.changes import CUTS
from unskew.evaluation.pairs import PairSelection
from unskew.recommend.contract import Batch
from unskew.weights import FitOptions

BEFORE, NOW = 4, 9
MODELS = ["constant:i0,i1", "popular", "knn?neighbours=3"]
METRICS = ["hit@2", "mrr@3"]


def table(seed: int = 0, users: int = 60) -> dict[str, list[Any]]:
    """A history of people of two lands, some unknown."""
    found = columns(random_events(np.random.default_rng(seed), users))
    lands = ("de", "fr", None)
    return found | {"land": [lands[int(user[1:]) % 3] if user != "end" else "de" for user in found["user"]]}


@pytest.fixture(scope="module")
def log() -> us.Log:
    return us.read_log(table(), labels=["land"])


def ranked(
    models: list[str], snapshot: us.Snapshot, weights: us.ItemWeights | None = None, **options: Any
) -> list[HeldOutRanks]:
    named = [None] if weights is None else [None, weights]
    return [us.rank_held_out(m, snapshot, metric=METRICS, weights=named, **options) for m in models]


def scores_by_hand(
    log: us.Log, weights: us.ItemWeights | None, *, then: bool, level: float = 0.95, **options: Any
) -> list[Score]:
    """Every score by a call of its own, in the order in which a report has them."""
    found = []
    for model in MODELS:
        for metric in METRICS:
            how: dict[str, Any] = {"metric": metric, "level": level, **options}
            if then:
                found.append(us.evaluate(model, log.at(BEFORE), **how))
            found.append(us.evaluate(model, log.at(NOW), **how))
            if weights is not None:
                found.append(us.evaluate(model, log.at(NOW), weights=weights, **how))
    return found


def assert_same_scores(found: list[Score], expected: list[Score]) -> None:
    """All the same but sums over the pairs of all weightings, which may be added in another order."""
    sums = ("effective_pairs", "largest_item", "empty_profiles", "empty_lists")
    for one, other in zip(found, expected, strict=True):
        assert replace(one, **{name: getattr(other, name) for name in sums}) == other
        for name in sums:
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-12)


def assert_same_fit(one: us.ItemWeights | None, other: us.ItemWeights) -> None:
    assert one is not None
    assert np.array_equal(one.log_weights, other.log_weights)
    assert replace(one.report, seconds=0.0) == replace(other.report, seconds=0.0)
    assert (one.options, one.policy, one.reference, one.at) == (
        other.options,
        other.policy,
        other.reference,
        other.at,
    )


# the numbers


@pytest.mark.parametrize("options", [{}, {"leave_out": 2}, {"sample": 150, "seed": 3}, {"level": 0.8}])
@pytest.mark.filterwarnings("ignore:.*leave_out")
def test_it_has_what_the_steps_give_one_by_one(log: us.Log, options: dict[str, Any]) -> None:
    found = us.report(log, MODELS, at=NOW, reference=BEFORE, metric=METRICS, quick=True, **options)
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    assert_same_fit(found.weights, weights)
    assert_same_scores(found.scores, scores_by_hand(log, weights, then=True, **options))
    level = options.get("level", 0.95)
    rest = {name: value for name, value in options.items() if name != "level"}
    here, there = ranked(MODELS, now, weights, **rest), ranked(MODELS, before, **rest)
    assert found.changes == [
        explain_change(one, other, weights, metric=metric, level=level, seed=options.get("seed", 0))
        for one, other in zip(here, there, strict=True)
        for metric in METRICS
    ]
    assert list(map(repr, found.comparisons)) == [  # what is not comparable has NaN, which equals nothing
        repr(comparison)
        for metric in METRICS
        for w in (None, weights)
        for comparison in us.compare(*here, metric=metric, weights=w, level=level)
    ]
    assert (found.at, found.reference, found.bound_holds) == (NOW, BEFORE, True)


def test_without_a_reference_there_are_raw_scores_and_comparisons(log: us.Log) -> None:
    found = us.report(log, MODELS, at=NOW, metric=METRICS)
    assert found.scores == scores_by_hand(log, None, then=False)
    assert [(c.a, c.b, c.weighting) for c in found.comparisons[:3]] == [
        (MODELS[0], MODELS[1], "raw"),
        (MODELS[0], MODELS[2], "raw"),
        (MODELS[1], MODELS[2], "raw"),
    ]
    assert (found.changes, found.weights, found.reference, found.bound_holds) == ([], None, None, True)


def test_one_recommender_is_compared_with_none_and_needs_no_list(log: us.Log) -> None:
    found = us.report(log, "popular", at=NOW, reference=BEFORE)
    assert [(s.recommender, s.metric, s.at, s.weighting) for s in found.scores] == [
        ("popular", "hit@5", BEFORE, "raw"),
        ("popular", "hit@5", NOW, "raw"),
        ("popular", "hit@5", NOW, "weighted"),
    ]
    assert (len(found.changes), found.comparisons) == (1, [])


@pytest.mark.parametrize("kind", ["marginal", "mapping", "frame"])
def test_a_reference_without_profiles_gives_weights_and_no_change(log: us.Log, kind: str) -> None:
    mix = log.at(BEFORE).marginal()
    reference = {"marginal": mix, "mapping": mix.to_dict(), "frame": mix.to_frame()}[kind]
    found = us.report(log, MODELS, at=NOW, reference=reference, metric=METRICS)
    weights = us.fit_weights(log.at(NOW), reference)
    assert_same_fit(found.weights, weights)
    assert found.scores == scores_by_hand(log, weights, then=False)
    assert (found.changes, found.reference) == ([], BEFORE if kind == "marginal" else None)


def test_a_reference_may_be_a_snapshot_of_this_log_or_of_another(log: us.Log) -> None:
    expected = us.report(log, MODELS, at=NOW, reference=BEFORE)
    early = {name: [v for v, t in zip(values, table()["time"], strict=True) if t <= BEFORE]
             for name, values in table().items()}  # fmt: skip
    for snapshot in (log.at(BEFORE), us.read_log(early).at(BEFORE)):
        found = us.report(log, MODELS, at=NOW, reference=snapshot)
        assert [c.unexplained.value for c in found.changes] == pytest.approx(
            [c.unexplained.value for c in expected.changes], abs=1e-12
        )
        assert [s.value for s in found.scores] == pytest.approx([s.value for s in expected.scores], abs=1e-12)


def test_weights_fitted_before_are_used_in_place_of_a_reference(log: us.Log) -> None:
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE), top=3, method="descent")
    found = us.report(log, MODELS, at=NOW, weights=weights, metric=METRICS)
    assert found.weights is weights
    assert found.scores == scores_by_hand(log, weights, then=False)
    assert {s.top for s in found.scores if s.weighting == "weighted"} == {3}
    assert (found.changes, found.reference, found.bound_holds) == ([], BEFORE, True)


@pytest.mark.filterwarnings("ignore:.*fitted at 9 and are used at 8")
def test_the_bound_of_weights_of_another_date_does_not_hold(log: us.Log) -> None:
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE))
    assert not us.report(log, "popular", at=8, weights=weights).bound_holds
    with pytest.warns(us.UnskewWarning, match="their bound does not hold there"):
        us.report(log, "popular", at=8, weights=weights)


@pytest.mark.parametrize(
    "fit",
    [
        {"top": 3, "method": "lbfgs"},
        {"items": ["i0", "i2"], "method": "descent"},
        {"users": "both", "min_items": 2, "tol": 1e-6},
        {"new_items": "keep", "max_passes": 300},
    ],
)
def test_weights_are_fitted_by_the_options_given_whole_or_by_name(log: us.Log, fit: dict[str, Any]) -> None:
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE), **fit)
    asked: dict[str, Any] = {"at": NOW, "reference": BEFORE, "metric": METRICS, "quick": True}
    by_name = us.report(log, MODELS, **asked, **fit)
    whole = us.report(log, MODELS, **asked, options=FitOptions(**fit))
    for found in (by_name, whole):
        assert_same_fit(found.weights, weights)
        least = fit.get("min_items", 1)
        assert found.min_items == least
        assert found.scores == scores_by_hand(log, weights, then=True, min_items=least)
        here, there = (ranked(MODELS[:1], log.at(t), min_items=least)[0] for t in (NOW, BEFORE))
        assert found.changes[0] == explain_change(here, there, weights, metric=METRICS[0])


def test_priors_are_those_of_both_dates(log: us.Log) -> None:
    priors: dict[str, Any] = {
        "p_user": {user: 1.0 + k % 3 for k, user in enumerate(log.users)},
        "p_item": Recency(2),
    }
    now, before = log.at(NOW, **priors), log.at(BEFORE, **priors)
    weights = us.fit_weights(now, before)
    found = us.report(log, "popular", at=NOW, reference=BEFORE, **priors)
    assert_same_fit(found.weights, weights)
    assert found.scores == [
        us.evaluate("popular", snapshot, weights=w)
        for snapshot, w in ((before, None), (now, None), (now, weights))
    ]


def test_a_mapping_gives_recommenders_names(log: us.Log) -> None:
    named = {"short": "constant:i0", "long": us.Constant(["i0", "i1", "i2"])}
    found = us.report(log, named, at=NOW, reference=BEFORE, refit=2)
    assert [s.recommender for s in found.scores] == ["short"] * 3 + ["long"] * 3
    assert [c.recommender for c in found.changes] == ["short", "long"]
    assert {(c.a, c.b) for c in found.comparisons} == {("short", "long")}
    assert found.scores[3].value == us.evaluate("constant:i0,i1,i2", log.at(BEFORE)).value


def test_every_recommender_is_fitted_once_at_each_date(log: us.Log) -> None:
    class Counted:
        """Popular, and how often it was fitted and asked."""

        def __init__(self) -> None:
            self.model, self.fitted = us.Popular(), [0]

        def fit(self, snapshot: us.Snapshot, /) -> Self:
            self.fitted.append(int(snapshot.tick))
            self.model.fit(snapshot)
            return self

        def recommend(self, profiles: Batch, k: int, /) -> Codes:
            return self.model.recommend(profiles, k)

    model = Counted()
    options: dict[str, Any] = {"at": NOW, "reference": BEFORE, "metric": METRICS, "by": "land", "refit": 2}
    us.report(log, model, quick=True, **options)
    assert sorted(model.fitted) == [0, BEFORE, NOW]
    model = Counted()
    us.report(log, model, **options)
    assert sorted(model.fitted) == [0, BEFORE, NOW, *[NOW] * CUTS]


# a time split, segments, weights fitted again


def test_after_holds_out_what_came_later_and_the_same_time_before_the_reference(log: us.Log) -> None:
    found = us.report(log, MODELS, at=NOW, after=7, reference=BEFORE, metric=METRICS, quick=True)
    now, before = log.at(NOW), log.at(BEFORE)
    here, there = SplitRule(7).split(now).pairs, SplitRule(2).split(before).pairs
    weights = us.fit_weights(here, there)
    assert_same_fit(found.weights, weights)
    assert weights.policy.held == "later"
    expected = []
    for model in MODELS:
        for metric in METRICS:
            expected.append(us.evaluate(model, before, after=2, metric=metric))
            expected += [us.evaluate(model, now, after=7, metric=metric, weights=w) for w in (None, weights)]
    assert found.scores == expected
    ranks = ranked(MODELS, now, weights, after=7), ranked(MODELS, before, after=2)
    assert found.changes == [
        explain_change(one, other, weights, metric=metric)
        for one, other in zip(*ranks, strict=True)
        for metric in METRICS
    ]


def test_after_alone_and_with_a_marginal_of_what_was_taken_later(log: us.Log) -> None:
    now = log.at(NOW)
    assert us.report(log, "popular", at=NOW, after=7).scores == [us.evaluate("popular", now, after=7)]
    mix = log.between(2, BEFORE, known=True).marginal()
    found = us.report(log, "popular", at=NOW, after=7, reference=mix)
    weights = us.fit_weights(SplitRule(7).split(now).pairs, mix)
    assert found.scores == [us.evaluate("popular", now, after=7, weights=w) for w in (None, weights)]
    assert found.changes == []


def test_after_must_leave_as_much_time_before_the_reference(log: us.Log) -> None:
    early = "3 is so long before 9 that the same length of time before 4 would begin .*: choose a later after"
    with pytest.raises(InputError, match=early):
        us.report(log, "popular", at=NOW, after=3, reference=BEFORE)


def test_by_adds_the_score_of_each_segment(log: us.Log) -> None:
    found = us.report(log, MODELS[:2], at=NOW, reference=BEFORE, metric=METRICS, by="land")
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE))
    expected = []
    for model in MODELS[:2]:
        [ranks] = ranked([model], log.at(NOW))
        for metric in METRICS:
            expected += [
                replace(score, segment=f"land={score.segment}")
                for w in (None, weights)
                for score in ranks.by_segment("land", metric, w)
            ]
    assert [s for s in found.scores if s.segment is not None] == expected
    assert {s.segment for s in expected} == {"land=de", "land=fr", "land=(none)"}
    plain = us.report(log, MODELS[:2], at=NOW, reference=BEFORE, metric=METRICS)
    assert [s for s in found.scores if s.segment is None] == plain.scores
    assert (found.changes, found.comparisons) == (plain.changes, plain.comparisons)


def test_refit_gives_the_intervals_of_a_bootstrap_and_changes_nothing_else(log: us.Log) -> None:
    options: dict[str, Any] = {"at": NOW, "reference": BEFORE, "metric": METRICS, "by": "land", "seed": 5}
    options["quick"] = True
    found, plain = us.report(log, MODELS, refit=6, **options), us.report(log, MODELS, **options)
    now, before = log.at(NOW), log.at(BEFORE)
    weights = us.fit_weights(now, before)
    here, there = ranked(MODELS, now, weights), ranked(MODELS, before)
    again = bootstrap(here, before, weights, METRICS, reference_ranks=there, repeats=6, seed=5)
    for score, as_given in zip(found.scores, plain.scores, strict=True):
        if score.weighting == "weighted" and score.segment is None:
            repeats = again.of(here[MODELS.index(score.recommender)], score.metric)["weighted"]
            assert score == replace_interval(as_given, repeats)
            assert score.method == "bootstrap"
        else:
            assert score == as_given
    assert found.changes == [
        explain_change(one, other, weights, metric=metric, refit=6, seed=5)
        for one, other in zip(here, there, strict=True)
        for metric in METRICS
    ]
    assert {c.repeats for c in plain.changes} == {50}
    assert found.comparisons == plain.comparisons
    assert_same_fit(found.weights, weights)


def test_refit_to_a_marginal_says_that_the_target_is_taken_as_known(log: us.Log) -> None:
    found = us.report(log, "popular", at=NOW, reference=log.at(BEFORE).marginal(), refit=3)
    assert [s.method for s in found.scores] == ["users", "bootstrap, target known"]
    assert found.changes == []


def test_refit_after_a_time_split_draws_from_what_is_held_out(log: us.Log) -> None:
    found = us.report(log, MODELS[:1], at=NOW, after=7, reference=BEFORE, refit=4)
    assert {s.method for s in found.scores if s.weighting == "weighted"} == {"bootstrap"}
    assert [c.method for c in found.changes] == ["bootstrap"]


# how it is shown


def test_it_is_ready_for_json_with_everything_in_it(log: us.Log) -> None:
    found = us.report(log, MODELS, at=NOW, reference=BEFORE, by="land", refit=2)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(told) == [
        "at",
        "reference",
        "bound_holds",
        "protocol",
        "after",
        "reference_after",
        "min_items",
        "verdicts",
        "scores",
        "changes",
        "comparisons",
        "weights",
        "notes",
        "view",
        "cost",
    ]
    assert told["scores"] == json.loads(json.dumps([s.to_dict() for s in found.scores]))
    assert [c["from"] for c in told["changes"]] == [c.reference for c in found.changes]
    assert [c["p_holm"] for c in told["comparisons"]] == [c.p_holm for c in found.comparisons]
    assert found.weights is not None
    assert told["weights"]["bound_after"] == found.weights.bound
    assert us.report(log, "popular", at=NOW).to_dict()["weights"] is None


@pytest.mark.parametrize("library", [pd, pl, pa])
def test_the_frame_has_a_row_for_each_score_in_the_library_of_the_log(library: Any) -> None:
    source = pa.table(table()) if library is pa else library.DataFrame(table())
    log = us.read_log(source, labels=["land"])
    found = us.report(log, MODELS, at=NOW, reference=BEFORE, by="land")
    frame = found.to_frame()
    assert isinstance(frame, pa.Table if library is pa else library.DataFrame)
    arrow = found.to_arrow()
    shares = ("users_excluded", "users_without_profile", "users_below_min_items")
    flat = {f"{name}_{part}" for name in shares for part in ("count", "mass")}
    assert set(arrow.column_names) == {"segment", *flat, *found.scores[0].to_dict()} - set(shares)
    assert arrow.column_names[0] == "segment"
    assert len(frame) == len(arrow) == len(found.scores)
    for row, score in zip(arrow.to_pylist(), found.scores, strict=True):
        folded = {name: {part: row.pop(f"{name}_{part}") for part in ("count", "mass")} for name in shares}
        assert row | folded == {"segment": None, **score.to_dict()}
    values = frame["value"].to_pylist() if library is pa else list(frame["value"])
    assert values == [score.value for score in found.scores]


def test_it_can_be_read_by_people(log: us.Log) -> None:
    shown = repr(us.report(log, MODELS[:2], at=NOW, reference=BEFORE)).split("\n")
    assert shown[0] == "Report(at 9, compared with 4"
    assert len(shown) == 1 + 6 + 2 + 2
    assert shown[1].startswith("  Score(constant:i0,i1, hit@5 at 4, raw: 0.")
    assert "the score " in shown[7]
    assert " from the item mix, " in shown[7]
    assert shown[-1].startswith("  constant:i0,i1 minus popular, hit@5, re-weighted: ")
    assert shown[-1].endswith(" (Holm); p does not account for bias in the log, which exposures would remove)")
    assert all(len(line) < 400 and line.isprintable() for line in shown)
    assert repr(us.report(log, "popular", at=NOW)).startswith("Report(at 9\n  Score(popular, hit@5 at 9, raw: ")


# what is refused


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"refit": 5}, "refit fits weights again: it needs reference"),
    ({"refit": 1, "reference": BEFORE}, "refit is 1, but a bootstrap needs at least 2"),
    ({"refit": -1, "reference": BEFORE}, "refit is -1, but must be a whole number of at least 0"),
    ({"refit": 5, "reference": BEFORE, "sample": 50}, "refit needs every pair: leave out sample"),
    ({"by": "land", "sample": 50}, "by needs every pair: leave out sample"),
    (
        {"leave_out": 2, "after": 7},
        "leave_out holds out several items of a profile at a time, but after does not hold out from profiles",
    ),
    ({"leave_out": 0}, "leave_out is 0"),
    ({"sample": 0}, "sample is 0"),
    ({"seed": -1}, "seed is -1"),
    ({"top": 3, "method": "descent"}, "top is about fitting weights: it needs reference"),
    ({"users": "both"}, "users is about fitting weights: it needs reference"),
    ({"options": FitOptions()}, "options is about fitting weights: it needs reference"),
    ({"options": {"tol": 1}, "reference": BEFORE}, "options is a dict"),
    ({"top": 3, "reference": BEFORE}, "scaling fits all items at once"),
    ({"weights": {"i0": 2.0}}, "weights must be fitted weights, not {'i0': 2.0}"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_options_that_contradict_are_refused_before_anything_is_fitted(
    log: us.Log, options: dict[str, Any], message: str
) -> None:
    class Untouched:
        def fit(self, snapshot: us.Snapshot, /) -> Self:
            raise AssertionError("this comes too late")

        def recommend(self, profiles: Batch, k: int, /) -> Codes:
            raise AssertionError("this comes too late")

    with pytest.raises(PolicyError, match=f"^{message}"):
        us.report(log, Untouched(), at=NOW, **options)


def test_a_reference_and_weights_are_one_too_many(log: us.Log) -> None:
    weights = us.fit_weights(log.at(NOW), log.at(BEFORE))
    with pytest.raises(PolicyError, match="give reference or weights, not both"):
        us.report(log, "popular", at=NOW, reference=BEFORE, weights=weights)
    with pytest.raises(PolicyError, match="tol is about fitting weights: it needs reference"):
        us.report(log, "popular", at=NOW, weights=weights, tol=1e-3)


def test_what_is_no_log_no_column_no_date_and_no_recommender_is_refused(log: us.Log) -> None:
    with pytest.raises(InputError, match="is not a log: read one with read_log"):
        us.report(table(), "popular", at=NOW)  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="no labels 'city' were read with the log"):
        us.report(log, "popular", at=NOW, by="city")
    with pytest.raises(EmptyError, match="nothing had happened yet at -1"):
        us.report(log, "popular", at=NOW, reference=-1)
    with pytest.raises(InputError, match="no recommender was given"):
        us.report(log, [], at=NOW)
    with pytest.raises(InputError, match="recommender 'popular' is given twice"):
        us.report(log, ["popular", "popular"], at=NOW)
    with pytest.raises(InputError, match="metric 'hit@5' is given twice"):
        us.report(log, "popular", at=NOW, metric=["hit@5", "hit@5"])
    with pytest.raises(InputError, match="level of an interval must lie between 0 and 1"):
        us.report(log, "popular", at=NOW, level=95)
    with pytest.raises(InputError, match="reference is a list: give a snapshot"):
        us.report(log, "popular", at=NOW, reference=[1])
    with pytest.raises(TypeError, match="speed"):
        us.report(log, "popular", at=NOW, speed=3)  # type: ignore[call-arg]


def test_pairs_are_chosen_once_for_all_recommenders(log: us.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[Any] = []
    of = PairSelection.of_split.__func__  # type: ignore[attr-defined]

    def count(cls: type[PairSelection], split: HeldOutSplit, *given: Any, **options: Any) -> PairSelection:
        chosen.append(split.pairs.at)
        made: PairSelection = of(cls, split, *given, **options)
        return made

    monkeypatch.setattr(PairSelection, "of_split", classmethod(count))
    us.report(log, MODELS, at=NOW, reference=BEFORE, metric=METRICS, sample=40)
    assert sorted(chosen) == [BEFORE, NOW, *[NOW] * CUTS]
