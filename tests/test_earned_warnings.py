"""Warnings stay until they are earned: nothing is dropped by mistake, and `biased` is False only after tests.

Each test of a world reproduces something that went wrong: a log without recommendations whose scores fell by half,
a compared model that was production and kept its lead, a campaign outside the log that silenced every warning.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew as us
from tests.dense import columns
from unskew.cli import main
from unskew.data.view_report import RecommenderTest, ViewReport
from unskew.views.contrast import Contrast, set_up_contrast
from unskew.views.placebo import (
    LIMIT,
    InducedShare,
    Placebo,
    _correct,
    find_leftover_of,
    list_placebos,
    measure_induced_share,
)
from unskew.views.production import _STREAM, CANDIDATES, choose_production, rank_with_quiet, take_for_production
from unskew.views.rates import Tally, measure_excess, split_blocks
from unskew.views.strata import BEYOND, CELLS, KINDS, NEW, RANK_OF
from unskew.views.windows import WindowPairs
from unskew.worlds.recipe import Recipe

COOCCURRENCE = "knn?similarity=cooccurrence"
MODELS = ("popular", "knn", COOCCURRENCE, "ease?exact=false")
TESTED = ("knn", "knn?neighbours=30", COOCCURRENCE)
SINCE = "320:"
"""When production went on in the worlds that have one."""

QUIET = Recipe(users=2000, items=800, late=0.4, trickle=1.0)
SEEDS = (1, 2, 3, 4)


@functools.cache
def make_world(world: str | Recipe, **options: Any) -> us.worlds.World:
    """A world; made once."""
    return us.simulate(world, **options)


@functools.cache
def read_plain(world: us.worlds.World) -> us.Log:
    """Its log without marks of exposures."""
    return us.read_log(world.tables["log"].select(["user", "item", "time"]))


def quiet_log(seed: int) -> us.Log:
    return read_plain(make_world(QUIET, seed=seed))


def steady_world() -> us.worlds.World:
    return make_world("steady", users=4000, items=700, seed=2)


def report_of(log: us.Log) -> ViewReport:
    assert log.view_report is not None
    return log.view_report


def score(model: Any, log: us.Log) -> float:
    return float(us.evaluate(model, log.at(log.last)).value)


@pytest.fixture
def few_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins without EASE and ALS, which take most of the time and never win here."""
    defaults = choose_production.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "family", CANDIDATES[:4])


# A log in which nothing was recommended.


@functools.cache
def measure_quiet(seed: int) -> us.views.Excess:
    return us.excess(quiet_log(seed), COOCCURRENCE, campaigns=SINCE, repeats=50)


def test_the_interval_covers_nothing_if_nothing_was_recommended() -> None:
    shares = [measure_quiet(seed) for seed in SEEDS]
    assert sum(share.low <= 0 <= share.high for share in shares) >= 3
    assert all(abs(share.uncorrected) < 0.15 for share in shares)  # 0.3 if each time has a model of its own
    assert all(str(share).startswith("no sign of recommendations") for share in shares if share.low <= 0)


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_scores_of_a_log_without_recommendations_stay(seed: int) -> None:
    log = quiet_log(seed)
    view = us.views.take_view(log, campaigns=SINCE, production=COOCCURRENCE, since=300, candidates=MODELS[:3])
    report = report_of(view)
    assert view.view == "thinned"
    for model in MODELS[: 4 if seed == 1 else 2]:
        assert score(model, view) == pytest.approx(score(model, log), rel=0.03)
    assert any("no sign of recommendations" in note for note in report.notes)
    assert not report.trusted
    assert report.test == "it drops almost nothing, and so changes no score"


@pytest.mark.usefixtures("few_stand_ins")
def test_no_stand_in_is_taken_for_production_if_nothing_was_recommended() -> None:
    log = quiet_log(1)
    view = us.views.take_view(log, campaigns=SINCE, production="auto", since=300, test=False)
    for model in MODELS[:3]:
        assert score(model, view) == pytest.approx(score(model, log), rel=0.03)
    assert any("no sign of recommendations" in note for note in report_of(view).notes)


# A log in which something was.


def true_share(world: us.worlds.World, start: int) -> float:
    """Of the interactions since a day by users of before, the share that is not in the truth."""
    truth = set(zip(*(world.tables["truth"][name].to_pylist() for name in ("user", "item")), strict=True))
    rows = world.tables["log"].select(["user", "item", "time"]).to_pylist()
    before = {row["user"] for row in rows if row["time"] < start}
    late = [row for row in rows if row["time"] >= start and row["user"] in before]
    return float(np.mean([(row["user"], row["item"]) not in truth for row in late]))


@functools.cache
def thin_steady() -> us.Log:
    log = read_plain(steady_world())
    return us.views.take_view(log, campaigns=SINCE, production=COOCCURRENCE, since=300, candidates=TESTED)


@functools.cache
def measure_steady() -> us.views.Excess:
    return us.excess(read_plain(steady_world()), COOCCURRENCE, campaigns=SINCE, repeats=50)


def test_the_induced_share_is_the_true_one() -> None:
    share = measure_steady()
    assert share.value == pytest.approx(true_share(steady_world(), 320), abs=0.10)
    assert 0 < share.low < share.value < share.high
    assert share.placebo is not None
    assert share.placebo.is_passed


def test_thinned_scores_are_close_to_the_truth() -> None:
    world = steady_world()
    raw, thinned = [], []
    for model in MODELS:
        truth = score(model, world.truth)
        raw.append(abs(score(model, read_plain(world)) - truth))
        thinned.append(abs(score(model, thin_steady()) - truth))
    assert all(after < before for before, after in zip(raw, thinned, strict=True))
    assert np.mean(thinned) <= np.mean(raw) / 3


def test_not_more_is_dropped_than_recommendations_caused() -> None:
    report = report_of(thin_steady())
    log = read_plain(steady_world())
    share = measure_steady()
    window = int((log.time >= 320).sum())
    known = share.pairs
    assert report.dropped_pairs <= share.value * known + (window - known)
    assert report.dropped_pairs >= 0.7 * share.value * known


def test_a_warning_is_earned_recommender_by_recommender() -> None:
    view = thin_steady()
    report = report_of(view)
    assert report.trusted
    passed = {test.name for test in report.recommender_tests if test.passed}
    assert passed == {"knn", "knn?neighbours=30"}  # and not co-occurrence, which stands for production
    now = view.at(view.last)
    ranks = {model: us.rank_held_out(model, now) for model in ("knn", "knn?neighbours=30", "knn?neighbours=20")}
    scores = {model: each.score().biased for model, each in ranks.items()}
    assert scores == {
        "knn": False,
        "knn?neighbours=30": False,
        "knn?neighbours=20": True,
    }  # the last was not tested
    [tested] = us.compare(ranks["knn"], ranks["knn?neighbours=30"])
    [untested] = us.compare(ranks["knn"], ranks["knn?neighbours=20"])
    assert (tested.biased, untested.biased) == (False, True)
    for comparison in (tested, untested):
        assert "p assumes that nothing was recommended outside these windows" in str(comparison)


@pytest.mark.usefixtures("few_stand_ins")
def test_a_stand_in_that_auto_chose_is_trusted_for_nobody() -> None:
    """In `thin_steady`, which names what ran, two recommenders are trusted."""
    log = read_plain(steady_world())
    view = us.views.take_view(log, campaigns=SINCE, production="auto", since=300, candidates=TESTED)
    report = report_of(view)
    assert report.placebo is not None  # it was made from the same comparison
    assert report.placebo["passed"]
    assert not report.trusted
    assert not any(report.is_trusted_for(name) for name in TESTED)
    assert report.test == "not tested, because auto chose what stands for production: name what ran"


def test_a_change_is_freed_only_for_a_recommender_that_was_tested() -> None:
    tested, untested = (
        us.report(thin_steady(), model, at=490, reference=300).changes[0] for model in ("knn", "knn?neighbours=20")
    )
    assert (tested.biased, untested.biased) == (False, True)


# A compared model that was production.


@functools.cache
def twins() -> us.worlds.World:
    return make_world("twins", users=1200, items=350, seed=3)


def versions() -> dict[str, Any]:
    return {"v1": twins().content_model(0), "v2": twins().content_model(1)}


def lead(log: us.Log) -> float:
    v1, v2 = versions().values()
    return score(v1, log) - score(v2, log)


@pytest.mark.usefixtures("few_stand_ins")
def test_a_compared_model_that_was_production_loses_its_lead() -> None:
    log = read_plain(twins())
    known: dict[str, Any] = {"campaigns": SINCE, "production": "auto", "since": 300, "test": False}
    told, untold = (us.views.take_view(log, **known, candidates=some) for some in (versions(), {}))
    true = lead(twins().truth)
    assert any("the stand-in for production is content," in note for note in report_of(told).notes)
    assert abs(lead(told) - true) <= abs(lead(untold) - true) / 3
    assert lead(log) - true > 0.05  # what there is to remove


def test_a_view_made_with_the_wrong_model_is_not_trusted_for_the_right_one() -> None:
    v2 = versions()["v2"]
    log = read_plain(twins())
    view = us.views.take_view(log, campaigns=SINCE, production=v2, since=300, candidates=versions())
    report = report_of(view)
    assert not find_leftover_of(versions()["v1"], view, (), 301, 490)[0]
    assert not report.is_trusted_for("v1")
    answer = us.report(view, versions(), at=490, reference=300)
    assert {score.recommender for score in answer.scores if score.biased} >= {"v1"}
    assert all(comparison.biased for comparison in answer.comparisons)


def test_a_test_by_a_holdout_group_names_the_group() -> None:
    world = make_world("steady", users=600, items=250, seed=2, holdout=0.3)
    known: dict[str, Any] = {"holdout": world.holdout, "production": COOCCURRENCE, "view": "thinned", "since": 300}
    view = us.views.take_view(read_plain(world), **known)
    assert not report_of(view).trusted  # the group is too small to know the share
    assert "from the holdout group" in find_leftover_of(us.ItemKNN(), view, (), 301, 490, group=world.holdout)[1]


# Knowledge that has nothing to do with the log.

Run = Callable[..., Result]
DATED = ("--reference", "300", "--at", "490", "-r", "knn", "-r", "popular")
QUICK = (*DATED, "--quick")
"""Verdicts take most of the time, and are not what these tests look at."""
IRRELEVANT = {
    "a campaign after the log": ("--campaign", "1200:1210"),
    "exposures of other dates": ("--exposures", "later.parquet"),
    "a campaign before the others": ("--campaign", "10:12"),
}
WORDS = {
    "a campaign after the log": "p assumes that nothing was recommended outside these windows",
    "exposures of other dates": "p assumes that the exposure log has everything that was recommended",
    "a campaign before the others": "p assumes that nothing was recommended outside these windows",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("steady")
    world = make_world("steady", users=600, items=250, seed=2)
    pq.write_table(world.tables["log"].select(["user", "item", "time"]), place / "log.parquet")
    pq.write_table(shift(world.exposures, 1000), place / "later.parquet")
    return place


def shift(exposures: pa.Table, days: int) -> pa.Table:
    times = pa.array(exposures["time"].to_numpy() + days)
    return exposures.select(["user", "item"]).append_column("time", times)


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(folder)

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == 0, result.output
        return result

    return invoke


@pytest.mark.parametrize("name", IRRELEVANT)
def test_irrelevant_knowledge_silences_nothing_in_json(run: Run, name: str) -> None:
    answer = json.loads(run("evaluate", "log.parquet", *QUICK, *IRRELEVANT[name], "--json").stdout)
    assert answer["view"]["view"] in ("outside", "organic")
    assert not answer["view"]["trusted"]
    for kind in ("scores", "comparisons", "changes"):
        assert answer[kind]
        assert {row["biased"] for row in answer[kind]} == {True}
    assert all(row["caveat"].startswith(WORDS[name]) for row in answer["comparisons"])


@pytest.mark.parametrize("name", IRRELEVANT)
def test_irrelevant_knowledge_silences_nothing_in_print(run: Run, name: str) -> None:
    lines = run("evaluate", "log.parquet", *QUICK, *IRRELEVANT[name], "--details").stdout
    starred = [line.split()[0] for line in lines.splitlines() if " re-weighted " in line and "*" in line]
    assert starred == ["knn", "popular"]
    text = " ".join(lines.split())
    assert "* Not a fixed list: item weights do not remove from such a score" in text
    assert WORDS[name] in text
    assert "Not trusted: " in text


def test_irrelevant_knowledge_silences_nothing_on_the_page(run: Run, folder: Path) -> None:
    run("report", "log.parquet", *DATED, *IRRELEVANT["a campaign after the log"], "-o", "page.html")
    page = " ".join((folder / "page.html").read_text().split())
    assert "Whether knn and popular would score the same had nothing been recommended" in page


@pytest.mark.filterwarnings("ignore:the campaign 1200")
@pytest.mark.parametrize("name", IRRELEVANT)
def test_irrelevant_knowledge_silences_nothing_in_python(folder: Path, name: str) -> None:
    flag, value = IRRELEVANT[name]
    known: dict[str, Any] = {"campaigns": value} if flag == "--campaign" else {"exposures": folder / value}
    log = us.read_log(folder / "log.parquet")
    view = us.views.take_view(log, **known, since=300, until=490, candidates=["knn", "popular"])
    assert not report_of(view).trusted
    answer = us.report(view, ["knn", "popular"], at=490, reference=300)
    results: list[Any] = [*answer.scores, *answer.comparisons, *answer.changes]
    assert all(result.biased for result in results)
    assert all(WORDS[name] in str(comparison) for comparison in answer.comparisons)


@settings(max_examples=50, deadline=None)
@given(
    pairs=st.integers(1, 10**6),
    tested=st.booleans(),
    names=st.lists(st.sampled_from(["knn", "popular", "ease"]), unique=True),
    view=st.sampled_from(["outside", "organic", "thinned", "kept"]),
)
def test_a_view_that_drops_nothing_is_trusted_for_nobody(
    pairs: int, tested: bool, names: list[str], view: str
) -> None:
    tests = tuple(RecommenderTest(name, name, True, "") for name in names)
    for dropped in (0, pairs // 1000):
        report = ViewReport(view, "", pairs, dropped, 1, 0, tested=tested, recommender_tests=tests)
        assert not report.trusted
        assert not any(report.is_trusted_for(name) for name in ("knn", "popular", "ease"))
    more = ViewReport(view, "", pairs, pairs // 1000 + 1, 1, 0, tested=tested, recommender_tests=tests)
    assert [name for name in ("knn", "popular", "ease") if more.is_trusted_for(name)] == [
        name for name in ("knn", "popular", "ease") if tested and name in names
    ]


# Ranks of windows and quiet windows by the same models.


def many_events(seed: int, users: int = 80, items: int = 60, days: int = 60) -> list[tuple[str, str, int]]:
    """A history in which each user interacts with an item once, and new items keep appearing."""
    rng = np.random.default_rng(seed)
    first: dict[tuple[str, str], int] = {}
    for user in range(users):
        for _ in range(1 + rng.poisson(8)):
            day = int(rng.integers(0, days))
            item = int(min(items, 10 + items * day / days) * rng.random() ** 2)
            pair = (f"u{user:02}", f"i{item:02}")
            first[pair] = min(day, first.get(pair, day))
    return [(user, item, day) for (user, item), day in first.items()]


def contrast_of(log: us.Log, campaigns: str | list[str] = "40:") -> Contrast:
    return set_up_contrast(log, campaigns=campaigns)


def rank_popular(
    events: Sequence[tuple[str, str, int]],
    learned: set[str],
    start: int,
    user: str,
    item: str,
    now: int,
    exists: set[str],
) -> int:
    """The rank of an item among those that exist and the user lacks, by how many of the others have them."""
    counts: dict[str, int] = {}
    for other, its, day in events:
        if other in learned and day < start:
            counts[its] = counts.get(its, 0) + 1
    has = {its for who, its, day in events if who == user and day < now}
    order = [
        its for its in sorted(counts, key=lambda its: (-counts[its], its)) if its in exists and its not in has
    ]
    depth = max(1, min(200, len(counts) // 5))
    return order.index(item) + 1 if item in order[:depth] else 0


@pytest.mark.parametrize("seed", range(3))
def test_the_same_models_rank_windows_and_quiet_windows(seed: int) -> None:
    events = many_events(seed)
    log = us.read_log(columns(events))
    contrast = contrast_of(log, ["40:46", "46:50", "52:"])
    assert contrast.quiet is not None
    busy, quiet = rank_with_quiet(us.Popular(), contrast.taken, contrast.quiet, folds=3)
    folds = np.random.default_rng(_STREAM).integers(0, 3, len(log.users))
    fold = dict(zip(log.users.to_list(), folds.tolist(), strict=True))
    everything = {item for _, item, _ in events}

    def pairs_of(taken: WindowPairs) -> list[tuple[str, str, Any, bool]]:
        users = log.users.take(taken.user).to_pylist()
        items = log.items.take(log.item[taken.entry]).to_pylist()
        windows = [taken.windows[number] for number in taken.window]
        return list(zip(users, items, windows, taken.known.tolist(), strict=True))

    def rank(user: str, item: str, model: int, window: Any, exists: set[str]) -> int:
        others = {other for other in fold if fold[other] != fold[user]}
        return rank_popular(events, others, model, user, item, int(window.start), exists)

    expected = [
        rank(user, item, int(window.start), window, everything) if known else 0
        for user, item, window, known in pairs_of(contrast.taken)
    ]
    assert busy.tolist() == expected
    assert sum(each > 0 for each in expected) > 20
    count = len(contrast.windows)
    models = sorted({round(place) for place in np.linspace(0, count - 1, min(count, 4)).tolist()})
    assert len(quiet) == len(models)
    for row, number in zip(quiet.tolist(), models, strict=True):
        start = int(contrast.windows[number].start)
        assert row == [
            rank(user, item, start, window, {its for _, its, day in events if day < window.start}) if known else 0
            for user, item, window, known in pairs_of(contrast.quiet)
        ]
        assert any(row)


def test_induced_shares_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    log = us.read_log(columns(many_events(5, users=200)))
    shares = []
    for threads in ("1", "2"):
        monkeypatch.setenv("UNSKEW_THREADS", threads)
        shares.append(us.excess(log, COOCCURRENCE, campaigns="40:", repeats=20).to_dict())
    assert shares[0] == shares[1]


# Placebo campaigns.


def make_share(samples: np.ndarray, value: float) -> InducedShare:
    low, high = np.quantile(samples, [0.025, 0.975])
    return InducedShare(value, min(low, value), max(high, value), 0.95, value)


def make_placebo(value: float, low: float, high: float, values: tuple[float, ...] = ()) -> Placebo:
    return Placebo(value, low, high, 0.95, values or (value,), 1)


samples_near = st.builds(
    lambda middle, width, seed: middle + width * np.random.default_rng(seed).standard_normal(50),
    *(st.floats(-0.5, 0.5), st.floats(0, 0.04), st.integers(0, 99)),
)


@settings(max_examples=100, deadline=None)
@given(shares=samples_near, drifts=samples_near)
def test_a_placebo_is_taken_out_by_its_formula_in_each_sample(shares: np.ndarray, drifts: np.ndarray) -> None:
    share, drift = float(shares.mean()), float(drifts.mean())
    corrected = _correct(make_share(shares, share), shares, make_placebo(drift, drift, drift), drifts)
    assert corrected.value == pytest.approx(1 - (1 - share) / (1 - drift))
    assert corrected.uncorrected == share
    each = [1 - (1 - one) / (1 - other) for one, other in zip(shares, drifts, strict=True)]
    low, high = np.quantile(each, [0.025, 0.975])
    before = np.quantile(shares, [0.025, 0.975]) - share
    assert corrected.low == pytest.approx(corrected.value + min(low - corrected.value, before[0], 0))
    assert corrected.high == pytest.approx(corrected.value + max(high - corrected.value, before[1], 0))


def test_a_placebo_of_nothing_changes_nothing() -> None:
    shares = np.linspace(0.2, 0.4, 51)
    share = make_share(shares, 0.3)
    corrected = _correct(share, shares, make_placebo(0.0, 0.0, 0.0), np.zeros(51))
    limits = [(each.value, each.low, each.high) for each in (corrected, share)]
    assert limits[0] == pytest.approx(limits[1])


def test_campaigns_that_differ_widen_the_interval() -> None:
    shares = np.linspace(0.2, 0.4, 51)
    share = make_share(shares, 0.3)
    placebo = make_placebo(0.0, -0.06, 0.06, (-0.05, 0.0, 0.05))
    corrected = _correct(share, shares, placebo, np.zeros(51))
    half = math.hypot(share.high - 0.3, 1.96 * 0.05 / math.sqrt(3))
    assert (corrected.low, corrected.high) == pytest.approx((0.3 - half, 0.3 + half), abs=1e-4)


@pytest.mark.parametrize(
    ("low", "high", "passed", "words"),
    [
        (-0.05, 0.09, True, "placebo test passed"),
        (-0.05, LIMIT, False, "placebo test too noisy"),
        (-LIMIT, 0.05, False, "placebo test too noisy"),
        (0.02, 0.2, False, "placebo test too noisy"),
        (0.15, 0.3, False, "placebo test failed"),
        (-0.3, -0.15, False, "placebo test failed"),
    ],
)
def test_a_placebo_that_cannot_exclude_a_tenth_is_not_passed(
    low: float, high: float, passed: bool, words: str
) -> None:
    placebo = make_placebo((low + high) / 2, low, high)
    assert placebo.is_passed is passed
    assert str(placebo).startswith(words)
    assert placebo.to_dict()["passed"] is passed


def windows_of(contrast: Contrast) -> list[tuple[float, float]]:
    return [(window.start, window.end) for window in contrast.windows]


@pytest.mark.parametrize("campaigns", ["320:", "400:440", "420:430"])
def test_placebos_are_campaigns_of_the_same_kind_before_the_first_window(campaigns: str) -> None:
    contrast = contrast_of(quiet_log(1), campaigns)
    placebos = list_placebos(contrast)
    assert len(placebos) == 3
    first, length = contrast.windows[0].start, contrast.windows[0].end - contrast.windows[0].start
    windows = sorted(window for placebo in placebos for window in windows_of(placebo))
    assert all(end <= first for _, end in windows)
    assert all(end <= start for (_, end), (start, _) in pairwise(windows))
    [own_length] = {end - start for start, end in windows}
    assert own_length == pytest.approx(length, abs=1)
    assert len({len(placebo.windows) for placebo in placebos}) == 1
    for placebo in placebos:  # what is usual comes from before each
        assert placebo.quiet_windows
        assert all(quiet.end <= placebo.windows[0].start for quiet in placebo.quiet_windows)


def test_placebos_depend_neither_on_exposure_marks_nor_on_the_order_of_rows() -> None:
    table = make_world("steady", users=600, items=250, seed=2).tables["log"]
    order = np.random.default_rng(0).permutation(len(table))
    logs = [
        us.read_log(table, exposed="exposed"),
        us.read_log(table.select(["user", "item", "time"])),
        us.read_log(table.select(["user", "item", "time"]).take(pa.array(order))),
    ]
    windows = [[windows_of(placebo) for placebo in list_placebos(contrast_of(log, SINCE))] for log in logs]
    assert windows[0]
    assert windows[0] == windows[1] == windows[2]


def test_without_time_before_the_first_window_there_is_no_placebo_and_nothing_is_trusted() -> None:
    log = read_plain(make_world("steady", users=600, items=250, seed=2))
    early = us.views.take_view(log, campaigns="0:30", production="popular", view="thinned", candidates=["knn"])
    assert report_of(early).placebo is None
    assert not report_of(early).trusted
    assert not report_of(early).to_dict()["trusted"]


# Shares that count what is missing.


def tally_of(observed: dict[int, float], usual: dict[int, float], blocks: int = 4) -> Tally:
    """The same counts in every block, one person of each kind in each."""

    def spread(figures: dict[int, float]) -> Any:
        counts = np.zeros((blocks, CELLS))
        for stratum, value in figures.items():
            counts[:, int(np.flatnonzero(stratum == RANK_OF)[0])] = value
        return counts

    people = np.ones((blocks, KINDS))
    return Tally(spread(observed), np.zeros((blocks, CELLS)), people, spread(usual), people, True)


def test_a_two_sided_share_is_the_sum_of_all_differences() -> None:
    observed = {0: 8.0, 2: 1.0, 5: 2.0, BEYOND: 10.0, NEW: 7.0}
    usual = {0: 3.0, 2: 4.0, 5: 2.5, BEYOND: 10.0, NEW: 1.0}
    counted, halves = tally_of(observed, usual), split_blocks(4, 0)
    total = 8 + 1 + 2 + 10  # of users who had a profile
    assert measure_excess([counted], halves, two_sided=True) == pytest.approx((5 - 3 - 0.5) / total)
    assert measure_excess([counted], halves) == pytest.approx(5 / total)


def test_a_two_sided_share_is_negative_if_too_much_was_dropped() -> None:
    counted, halves = tally_of({0: 2.0, BEYOND: 5.0}, {0: 6.0, BEYOND: 10.0}), split_blocks(4, 0)
    # the usual rate is halved, so that what lies beyond agrees: 2 instead of 3
    assert measure_excess([counted], halves, two_sided=True) == pytest.approx((2 - 3) / 7)
    assert measure_excess([counted], halves) == 0.0


def test_the_share_of_a_contrast_is_that_of_its_tally_and_its_placebos() -> None:
    contrast = contrast_of(us.read_log(columns(many_events(5, users=200))))
    production = take_for_production(contrast, us.Popular())
    share = measure_induced_share(contrast, production, two_sided=True)
    halves = split_blocks(production.tallies[0].blocks, 0)
    assert share.uncorrected == measure_excess(production.tallies, halves, two_sided=True)
    assert share.placebo is not None
    values = []
    for placebo in list_placebos(contrast):
        counted = take_for_production(placebo, us.Popular()).tallies
        values.append(measure_excess(counted, split_blocks(counted[0].blocks, 0), two_sided=True))
    assert share.placebo.values == pytest.approx(tuple(values))
    assert share.placebo.value == pytest.approx(np.mean(values))
    assert share.placebo.reach > 1
    rest = (1 - np.mean(values)) ** share.placebo.reach
    assert share.value == pytest.approx(1 - (1 - share.uncorrected) / rest)


def test_trust_is_for_the_model_and_not_for_its_name() -> None:
    tests = (RecommenderTest("v2", "popular", True, ""),)
    report = ViewReport("thinned", "", 1000, 100, 1, 0, tested=True, recommender_tests=tests)
    assert report.is_trusted_for("v2", "popular")
    assert not report.is_trusted_for("v2", "ease")


def tiny_log(users: int, items: int, days: int) -> us.Log:
    rng = np.random.default_rng(7)
    size = min(items, days) // 2
    rows = [(user, int(item)) for user in range(users) for item in rng.choice(items, size, replace=False)]
    times = rng.integers(0, days, len(rows))
    columns = {"user": [user for user, _ in rows], "item": [item for _, item in rows], "time": times}
    return us.read_log(columns)


def test_a_log_with_too_few_ranked_interactions_tests_nothing() -> None:
    log = tiny_log(4, 400, 200)
    view = us.views.take_view(log, campaigns=["150:153"], since=140, candidates=["knn", "popular"])
    assert view.view_report is not None
    assert not view.view_report.trusted
    assert view.view_report.test.startswith("not tested")


def test_a_holdout_group_of_three_users_is_not_trusted() -> None:
    world = steady_world()
    group = world.log.users.to_list()[:3]
    view = us.views.take_view(
        read_plain(world),
        campaigns=["320:"],
        holdout=group,
        production="popular",
        candidates=["knn"],
    )
    assert view.view_report is not None
    assert not view.view_report.trusted


@pytest.mark.parametrize(
    ("campaign", "since", "until"),
    [("496:", 300, 499), ("330:350", 200, 300), ("330:350", 400, 360), ("330:350", 340, 340)],
)
def test_dates_at_the_edge_of_the_log_are_not_tested_and_do_not_fail(
    campaign: str, since: int, until: int
) -> None:
    log = tiny_log(60, 80, 500)
    view = us.views.take_view(
        log, campaigns=[campaign], view="outside", since=since, until=until, candidates=["popular"]
    )
    assert view.view_report is not None
    assert not view.view_report.trusted


def test_pushed_items_that_nobody_had_before_are_not_passed_over() -> None:
    rng = np.random.default_rng(3)
    rows = [
        (int(user), int(item), int(day))
        for day in range(100)
        for user, item in rng.integers(0, (300, 80), (60, 2))
    ]
    rows += [(int(user), 1000 + day, day) for day in range(50, 100) for user in rng.choice(300, 40, replace=False)]
    log = us.read_log(
        {name: [row[k] for row in rows] for k, name in enumerate(("user", "item", "time"))}, repeats=True
    )
    view = us.views.take_view(log, campaigns=["70:71"], since=49, candidates=["popular"])
    assert view.view_report is not None
    assert not view.view_report.trusted
    assert "items that nobody had before" in view.view_report.test


def test_a_share_without_repeats_claims_neither_sign_nor_its_absence() -> None:
    share = us.excess(steady_world().log, "popular", campaigns="320:", repeats=0)
    assert (
        str(share)
        == f"recommendations caused about {100 * share.value:.0f} % of the interactions in these windows"
    )


def test_the_model_that_stands_for_production_is_not_trusted() -> None:
    world = steady_world()
    view = us.views.take_view(
        read_plain(world),
        campaigns=["320:"],
        since=300,
        production="knn?similarity=cooccurrence",
        candidates=["knn?similarity=cooccurrence"],
    )
    assert view.view_report is not None
    assert not view.view_report.is_trusted_for("knn?similarity=cooccurrence")


@pytest.mark.usefixtures("few_stand_ins")
@pytest.mark.parametrize("name", ["steady-quiet", "exploring", "content"])
def test_a_start_date_alone_is_not_worse_than_the_log_as_it_is(name: str) -> None:
    world = make_world(name, users=1500, items=500, seed=2)
    view = us.views.take_view(read_plain(world), campaigns=[SINCE], since=300, test=False)
    models = MODELS[:3]
    truth, raw, thinned = ([score(model, log) for model in models] for log in (world.truth, world.log, view))

    def error(scores: list[float]) -> float:
        return float(np.mean(np.abs(np.divide(scores, truth) - 1)))

    assert view.view == "thinned"
    assert error(thinned) <= error(raw) + 0.02
