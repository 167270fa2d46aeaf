"""What Python users expect of any library: objects that copy, warnings that point at their line, and the like."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import io
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tqdm import tqdm

import unskew as us
from unskew import methods, views, worlds
from unskew.data import Policy, Recency, Share
from unskew.errors import option
from unskew.evaluation import Report
from unskew.evaluation.pairs import all_pairs
from unskew.examining import examine
from unskew.known_truths import yardstick
from unskew.methods import METHODS, HoldOutUsers, NamedMethod, TimeWindow
from unskew.monitoring import Thresholds
from unskew.reading import mark_exposed
from unskew.recommend import Batch, FunctionRecommender, Traits
from unskew.weights import Agreement, FitOptions, find_bursts
from unskew.worlds import Campaign

ROOMS = "data evaluation weights views methods recommend worlds monitoring over_time examining known_truths"


def public_names() -> dict[str, Any]:
    """Everything that a stub lists, by name."""
    rooms = [us, *(importlib.import_module(f"unskew.{room}") for room in ROOMS.split())]
    return {name: getattr(room, name) for room in rooms for name in room.__all__}


@cache
def world() -> worlds.World:
    return us.simulate("paper", users=300, items=60, seed=2)


@cache
def log() -> us.Log:
    return world().log


@cache
def now() -> us.Snapshot:
    return log().at(480)


@cache
def weights() -> us.ItemWeights:
    return us.fit_weights(now(), log().at(300))


@cache
def report() -> Report:
    knowledge = us.Knowledge(campaigns=[(330, 355)], production="popular")
    found = us.report(log(), ["popular", "knn"], at=480, reference=300, refit=0, quick=True, knowledge=knowledge)
    assert found.verdicts
    return found


def first_ten(profile: list[Any], k: int) -> list[Any]:
    return [item for item in range(1, 20) if item not in profile][:k]


def used(method: methods.Method) -> methods.Method:
    """A method that keeps what it computed."""
    us.evaluate("popular", now(), weights=method)
    return method


def fitted(model: Any) -> Any:
    return model.fit(now().number_by_id())


def agreement() -> Agreement:
    found = Agreement("popular")
    us.fit_weights(now(), log().at(300), margins=[found])
    return found


def convergence_warning() -> us.ConvergenceWarning:
    with pytest.warns(us.ConvergenceWarning) as caught:
        us.fit_weights(now(), log().at(300), max_passes=2, tol=1e-12)
    found = caught[0].message
    assert isinstance(found, us.ConvergenceWarning)
    return found


OBJECTS: dict[str, Callable[[], Any]] = {
    "Agreement": agreement,
    "Batch": lambda: Batch.of(now()),
    "Burst": lambda: find_bursts(log()).bursts[0],
    "Bursts": lambda: find_bursts(log()),
    "Campaign": lambda: Campaign(10),
    "Certificate": lambda: weights().report.certificate,
    "Chance": lambda: us.drift(now(), log().at(300)).chance,
    "Change": lambda: report().changes[0],
    "Check": lambda: us.check(log(), ["popular"], at=480, reference=300, thresholds={"max_drift": 0.5}),
    "CheckedThreshold": lambda: OBJECTS["Check"]().thresholds[0],
    "Comparison": lambda: report().comparisons[0],
    "Constant": lambda: fitted(us.Constant([1, 2, 3])),
    "ConvergenceWarning": convergence_warning,
    "DownSampling": lambda: used(methods.DownSampling()),
    "Drift": lambda: us.drift(now(), log().at(300)),
    "EASE": lambda: fitted(us.EASE()),
    "Examination": lambda: examine({"user": [1, 2], "item": [1, 2], "time": [1, 2]}),
    "Excess": lambda: us.excess(log(), "popular", campaigns=[(330, 355)]),
    "FitOptions": lambda: FitOptions(margins=["kind", {1: "a"}]),
    "FitReport": lambda: weights().report,
    "FixedSnapshot": lambda: used(methods.FixedSnapshot(log().at(300))),
    "FunctionRecommender": lambda: fitted(FunctionRecommender(first_ten)),
    "HeldOutPairs": lambda: us.rank_held_out("popular", now()).selection.pairs,
    "HeldOutRanks": lambda: us.rank_held_out("popular", now(), weights=weights(), sample=100),
    "HoldOutUsers": lambda: used(HoldOutUsers(list(log().users)[:30])),
    "IPS": lambda: used(methods.IPS()),
    "ImplicitModel": lambda: fitted(us.ImplicitModel("als", factors=4)),
    "ItemFirst": lambda: used(methods.ItemFirst(log().at(300))),
    "ItemKNN": lambda: fitted(us.ItemKNN(5)),
    "ItemWeighting": lambda: used(methods.ItemWeighting(log().at(300))),
    "ItemWeights": weights,
    "Knowledge": lambda: us.Knowledge(campaigns=[(330, 355)]),
    "Log": log,
    "Marginal": lambda: now().marginal(),
    "MatrixModel": lambda: us.MatrixModel(NearestToNothing(), "predict"),
    "Metric": lambda: us.Metric("own", first_rank),
    "NamedMethod": lambda: next(method for method in METHODS.values() if isinstance(method, NamedMethod)),
    "NoMethod": lambda: used(methods.NoMethod()),
    "OneStepRatio": lambda: used(methods.OneStepRatio(log().at(300))),
    "Policy": Policy,
    "Popular": lambda: fitted(us.Popular()),
    "PopularityStrata": lambda: used(methods.PopularityStrata()),
    "Recency": lambda: Recency(30.0),
    "Recipe": us.Recipe,
    "Report": report,
    "Results": lambda: report().scores,
    "SKEW": lambda: used(methods.SKEW()),
    "SNIPS": lambda: used(methods.SNIPS()),
    "Score": lambda: report().scores[0],
    "Share": Share,
    "Snapshot": now,
    "Table": lambda: fitted(us.Table({"user": list(log().users), "items": [[1, 2]] * len(log().users)})),
    "TestSet": lambda: us.sample_pairs(now(), weights(), sample=50),
    "Thresholds": lambda: Thresholds(max_drift=0.5),
    "TimeWindow": lambda: used(TimeWindow(100)),
    "Timeline": lambda: us.timeline(log(), ["popular"], reference=300, every=60),
    "Traits": Traits,
    "UniformWTDH": lambda: used(methods.UniformWTDH()),
    "Verdict": lambda: report().verdicts[0],
    "WTD": lambda: used(methods.WTD(log().at(300))),
    "WTDH": lambda: used(methods.WTDH(log().at(300))),
    "Weighting": lambda: now().weigh(weights()),
    "Window": lambda: log().between(300, 480),
    "World": world,
    "Yardstick": lambda: yardstick(["always-on"], methods=["raw"], seeds=1, users=200, items=60),
}


class NearestToNothing:
    """A model fitted to a matrix."""

    def fit(self, matrix: Any) -> NearestToNothing:
        return self

    def predict(self, rows: Any) -> Any:
        return np.zeros(rows.shape)


def first_rank(rank: Any, grade: Any) -> Any:
    return rank == 1


def is_result(value: Any) -> bool:
    """Whether it is a class of which users hold objects; errors are tested by themselves."""
    is_protocol = inspect.isabstract(value) or getattr(value, "_is_protocol", False)
    return inspect.isclass(value) and not is_protocol and not issubclass(value, BaseException)


def test_every_public_class_is_copied_below() -> None:
    classes = {name for name, value in public_names().items() if is_result(value)}
    assert set(OBJECTS) - {"ConvergenceWarning"} == classes


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_object_pickles_and_copies(name: str) -> None:
    original = OBJECTS[name]()
    assert isinstance(original, public_names()[name])
    for again in (pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        assert type(again) is type(original)
        assert repr(again) == repr(original)


def every_error() -> list[Any]:
    return [value for value in vars(us.errors).values() if is_error(value)]


def is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


@pytest.mark.parametrize("kind", every_error())
def test_errors_show_options_as_python_has_them_and_pickle(kind: Any) -> None:
    more = (None,) if kind is us.ConvergenceWarning else ()
    error = kind(f"leave out {option('top')}, or use {option('method', 'descent')}", *more)
    assert repr(error) == f"{kind.__name__}(\"leave out top, or use method='descent'\")"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))


@pytest.mark.parametrize(
    ("function", "name", "mistyped", "meant"),
    [
        (us.report, "report", "refrence", "reference"),
        (us.evaluate, "evaluate", "sed", "seed"),
        (us.fit_weights, "fit_weights", "metod", "method"),
        (views.outside, "views.outside", "campaign", "campaigns"),
    ],
)
def test_a_mistyped_keyword_names_the_function_and_the_keyword_that_was_meant(
    function: Callable[..., Any], name: str, mistyped: str, meant: str
) -> None:
    with pytest.raises(TypeError) as caught:
        function(log(), **{mistyped: 1})
    assert str(caught.value) == f"unskew.{name}() has no option {mistyped!r}; did you mean {meant!r}?"


def test_every_public_function_knows_its_keywords() -> None:
    for name, function in public_names().items():
        if inspect.isfunction(function) and inspect.signature(function).parameters:
            with pytest.raises(TypeError, match=rf"^unskew\.(\w+\.)?{name}\(\) has no option 'fridge'"):
                function(fridge=1)


@pytest.mark.parametrize(
    ("kind", "mistyped", "meant"),
    [
        (us.Knowledge, "exposure", "exposures"),
        (us.ItemKNN, "neighbors", "neighbours"),
        (us.EASE, "l2_", "l2"),
        (us.Table, "itms", "items"),
        (us.MatrixModel, "score", "scores"),
        (us.Recipe, "user", "users"),
        (us.Metric, "dept", "depth"),
    ],
)
def test_a_mistyped_keyword_of_a_class_is_answered_too(kind: type, mistyped: str, meant: str) -> None:
    with pytest.raises(TypeError) as caught:
        kind(**{mistyped: 1})
    assert str(caught.value) == f"unskew.{kind.__name__}() has no option {mistyped!r}; did you mean {meant!r}?"
    assert meant in inspect.signature(kind).parameters


def lists(user: str = "user", items: Any = (1, 2), **more: Any) -> dict[str, Any]:
    return {user: [1, 2], "items": [list(items)] * 2, **more}


ONE = {"user": [1], "item": [1], "time": [1]}

WARN: dict[str, Callable[[], Any]] = {
    "read_log": lambda: us.read_log({"user_id": [1], "item_id": [1], "timestamp": [20130101]}),
    "read_log, spaces": lambda: us.read_log({"user": ["a", "a "], "item": [1, 1], "time": [1, 1]}),
    "Log.at": lambda: log().at(9999),
    "Table": lambda: us.Table({"member_id": [1], "items": [[1]]}),
    "evaluate": lambda: us.evaluate(us.Table(lists()), now()),
    "rank_held_out": lambda: us.rank_held_out(us.EASE(), now(), leave_out=2),
    "evaluate, unknown items": lambda: us.evaluate(["popular", us.Table(lists(items=[1, -5]))], now()),
    "fit_weights": lambda: us.fit_weights(now(), log().at(300), max_passes=2, tol=1e-12),
    "fit_weights, last": lambda: us.fit_weights(now(), log().at(300), leave_last_out=True),
    "evaluate, weights": lambda: us.evaluate("popular", log().at(470), weights=weights()),
    "sample_pairs": lambda: us.sample_pairs(log().at(470), weights()),
    "report": lambda: us.report(log(), ["popular", us.Table(lists())], at=480),
    "check": lambda: us.check(
        log(), ["popular"], at=480, reference=300, thresholds={"max_drift": 1.0}, max_passes=2, tol=1e-12
    ),
    "timeline": lambda: us.timeline(log(), [us.Table(lists())], reference=300, every=90),
    "outside": lambda: views.outside(log(), campaigns=[(9000, 9001)]),
    "take_view": lambda: views.take_view(log(), holdout=[*list(log().users)[:30], -7]),
    "excess": lambda: us.excess(log(), "popular", campaigns=[(330, 355)], holdout=[*list(log().users)[:30], -7]),
    "mark_exposed": lambda: mark_exposed(
        us.read_log(ONE), {"user": [1, 8, 9], "item": [1, 2, 3], "time": [1, 1, 1]}, within=3
    ),
}


@pytest.mark.parametrize("name", WARN)
def test_a_warning_points_at_the_line_that_called(name: str) -> None:
    call = WARN[name]
    with pytest.warns(us.UnskewWarning) as caught:
        call()
    first = call.__code__.co_firstlineno
    for warning in caught:
        assert warning.filename == __file__
        assert first <= warning.lineno <= first + 2


def test_a_warning_out_of_a_recommender_points_at_its_line() -> None:
    def recommend(profile: list[Any], k: int) -> list[Any]:
        log().at(9999)
        return []

    with pytest.warns(us.UnskewWarning) as caught:
        us.evaluate(FunctionRecommender(recommend), now(), sample=5)
    line = recommend.__code__.co_firstlineno + 1
    assert {(warning.filename, warning.lineno) for warning in caught} == {(__file__, line)}


def test_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="unskew")
    us.evaluate("popular", now())
    assert [record.getMessage() for record in caplog.records] == [
        "fitting popular",
        f"ranking popular: {len(all_pairs(now()))} pairs",
    ]
    assert {record.name for record in caplog.records} == {"unskew"}


def test_progress_calls_a_function_inside_the_block_alone() -> None:
    calls: list[tuple[str, int, int | None]] = []
    with us.show_progress(lambda *told: calls.append(told)):
        us.evaluate("popular", now())
    us.evaluate("popular", now())
    pairs = len(all_pairs(now()))
    assert calls == [
        ("fitting popular", 0, None),
        ("ranking popular", 0, pairs),
        ("ranking popular", pairs, pairs),
    ]


def test_progress_shows_a_bar_of_tqdm_for_each_piece_of_work() -> None:
    written = io.StringIO()
    with us.show_progress(functools.partial(tqdm, file=written, mininterval=0)):
        us.evaluate(["popular", "knn"], now())
    pairs = len(all_pairs(now()))
    for name in ("popular", "knn"):
        assert f"ranking {name}: 100%" in written.getvalue()
    assert f"{pairs}/{pairs}" in written.getvalue()
    assert not tqdm._instances


SEEDED: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda seed: us.evaluate("popular", now(), sample=50, seed=seed).value,
    "report": lambda seed: us.report(log(), ["popular"], at=480, sample=50, seed=seed).scores[0].value,
    "sample_pairs": lambda seed: us.sample_pairs(now(), sample=50, seed=seed).to_arrow(),
    "simulate": lambda seed: us.simulate(users=50, items=20, seed=seed).log.item.tolist(),
    "timeline": lambda seed: us.timeline(
        log(), ["popular"], reference=300, every=90, sample=50, seed=seed
    ).to_arrow(),
    "thinned": lambda seed: views.thinned(log(), "popular", campaigns=[(330, 360)], seed=seed).item.tolist(),
    "DownSampling": lambda seed: us.evaluate("popular", now(), weights=methods.DownSampling(seed=seed)).value,
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_may_be_a_generator_which_gives_the_next_number(name: str) -> None:
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    numbers = [int(same.integers(2**32)) for _ in range(2)]
    for number in numbers:
        assert SEEDED[name](rng) == SEEDED[name](number)
    assert numbers[0] != numbers[1]
