"""The reproduction measures what the paper says: lists, scores, claims, against plain computations."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import unskew as us
from unskew.errors import InputError
from unskew.over_time import Timeline
from unskew.reproduction.experiment import Reproduction, reproduce
from unskew.reproduction.paper_figures import items_table, weighted_table
from unskew.reproduction.study import Changes, Study, judge_claims
from unskew.worlds.world import World

SMALL = {"users": 2500, "items": 1500, "seed": 3}
RACES = (300, 150)


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.of(us.simulate(**SMALL))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def daily(study: Study) -> Timeline:
    """Scores of every hundredth day."""
    return study.score_daily(every=100)


@pytest.fixture(scope="module")
def made(study: Study) -> Reproduction:
    return reproduce(study.world, seeds=2, every=100, races=RACES)


def _profiles(world: World, day: int) -> dict[int, list[int]]:
    rows = [row for row in world.tables["log"].to_pylist() if row["time"] <= day]
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row["user"], []).append(row["item"])
    return found


def _mix(world: World, day: int) -> dict[int, float]:
    held = _profiles(world, day)
    mix: Counter[int] = Counter()
    for items in held.values():
        for item in items:
            mix[item] += 1 / (len(items) * len(held))  # type: ignore[assignment]
    return dict(mix)


def test_g1_is_what_was_recommended_most_and_g2_what_is_most_frequent_of_the_rest(study: Study) -> None:
    shown = Counter(row["item"] for row in study.world.exposures.to_pylist() if 320 <= row["time"] <= 480)
    fifth = sorted(shown.values(), reverse=True)[4]
    assert all(shown[item] >= fifth for item in study.g1)
    assert len(set(study.g1)) == 5
    mix = _mix(study.world, 300)
    never = {item: p for item, p in mix.items() if item not in shown}
    fifth_mass = sorted(never.values(), reverse=True)[4]
    assert all(never[item] >= fifth_mass - 1e-15 for item in study.g2)
    assert len(set(study.g2)) == 5


def test_a_raw_change_is_that_of_the_mass_of_the_list(study: Study) -> None:
    found = Changes.of(study)
    for name, items in (("g1", study.g1), ("g2", study.g2)):
        then, now = (sum(_mix(study.world, day).get(item, 0.0) for item in items) for day in (300, 500))
        assert found.before[name] == pytest.approx(then, rel=1e-12)
        assert found.found[name]["raw"] == pytest.approx(now / then - 1, rel=1e-9)


def test_a_weighted_change_is_that_of_the_score_that_evaluate_gives(study: Study) -> None:
    found = Changes.of(study)
    before, now = study.log.at(300), study.log.at(500)
    for key, weights in (
        ("20", us.fit_weights(now, before, top=20, method="descent")),
        ("all", us.fit_weights(now, before, tol=1e-5)),
    ):
        for name, spec in study.constants().items():
            then = us.evaluate(spec, before).value
            score = us.evaluate(spec, now, weights=weights).value
            assert found.found[name][key] == pytest.approx(score / then - 1, abs=1e-9)


def test_the_exact_scores_of_the_curves_are_those_of_evaluate(study: Study, daily: Timeline) -> None:
    table = weighted_table(daily, study, "g1").to_pylist()
    assert {row["weighting"] for row in table} == {"raw", "all items", *(f"p = {p}" for p in study.tops)}
    for row in (row for row in table if row["weighting"] == "raw"):
        exact = us.evaluate(study.constants()["g1"], study.log.at(row["at"])).value
        assert row["exact"] == pytest.approx(exact, rel=1e-12)
        assert abs(row["value"] - exact) < 5 * np.sqrt(exact / 20_000)  # 20 000 draws of a rare hit


def test_the_curves_reach_what_the_claims_say_though_by_another_method(study: Study, daily: Timeline) -> None:
    found = Changes.of(study)
    for name in ("g1", "g2"):
        table = weighted_table(daily, study, name).to_pylist()
        last = {row["weighting"]: row["exact"] for row in table if row["at"] == 500}
        for key, change in found.found[name].items():
            label = {"raw": "raw", "all": "all items"}.get(key, f"p = {key}")
            assert last[label] / found.before[name] - 1 == pytest.approx(change, abs=0.02)


def test_the_items_of_figure_1_are_of_the_group_they_are_said_to_be_of(study: Study) -> None:
    groups = study.group_items()
    by_campaign: dict[int, set[int]] = {0: set(), 1: set()}
    for row in study.world.exposures.to_pylist():
        by_campaign[row["campaign"]].add(row["item"])
    for item, group in groups.items():
        said = {"recommended in both campaigns": (True, True), "never recommended": (False, False)}
        assert tuple(item in by_campaign[k] for k in (0, 1)) == said.get(group, (False, True))
    table = items_table(study.score_daily(every=200, items=groups), groups).to_pylist()
    mix = _mix(study.world, 500)
    for row in (row for row in table if row["at"] == 500):
        assert row["probability"] == pytest.approx(mix[row["item"]], rel=1e-12)


def test_every_figure_is_made_and_written_with_its_data(made: Reproduction, tmp_path: Path) -> None:
    page = made.save(tmp_path)
    assert [figure.number for figure in made.figures] == list(range(1, 11))
    for figure in made.figures:
        assert {path.suffix for path in tmp_path.glob(f"{figure.name}.*")} == {".png", ".svg", ".parquet"}
        assert pq.read_table(tmp_path / f"{figure.name}.parquet").num_rows == len(figure.table)
        assert figure.sentence.replace("'", "&#39;")[:40] in page.read_text()
    told = json.loads((tmp_path / "claims.json").read_text())
    assert set(told) == {"g1", "g2"}
    assert set(told["g1"]) == {"raw", "top", "all"}
    assert told["g2"]["top"]["20"] == made.changes[0].found["g2"]["20"]


def test_both_truths_of_figure_8_are_of_the_world_without_recommendations(made: Reproduction) -> None:
    truth = made.world.truth
    weights = us.fit_weights(truth.at(500), truth.at(300))
    rows = {
        (row["question"], row["estimate"]): row["value"]
        for row in made.figures[7].table.to_pylist()
        if row["recommender"] == "popular" and row["metric"] == "hit@5"
    }
    free = us.evaluate("popular", truth.at(500), sample=20_000, seed=3).value
    comparable = us.evaluate("popular", truth.at(500), weights=weights, sample=20_000, seed=3).value
    assert rows["free of the campaigns", "truth"] == free
    assert rows["comparable with day 300", "truth"] == comparable


def test_a_claim_that_fails_in_one_world_does_not_hold(study: Study) -> None:
    good = Changes.of(study)
    own = {name: dict(values) for name, values in good.found.items()}
    own["g1"]["raw"], own["g2"]["raw"] = 0.3, -0.3
    own["g1"]["20"], own["g2"]["20"] = 0.01, -0.25
    for key in ("5", "10"):
        own["g2"][key] = -0.29
    top = max((key for key in own["g2"] if key.isdigit()), key=int)
    own["g2"][top] = 0.0
    own["g1"]["all"] = own["g2"]["all"] = 0.0
    fine = Changes(0, own, good.before, 1e-3)
    assert all(claim.holds for claim in judge_claims([fine]))
    for name, key, value in (
        ("g1", "raw", 0.2),
        ("g2", "raw", -0.2),
        ("g1", "20", 0.1),
        ("g2", "20", -0.1),
        ("g2", top, -0.2),
        ("g1", "all", 0.021),
        ("g2", "all", 0.5),
    ):
        worse = {n: dict(values) for n, values in own.items()}
        worse[name][key] = value
        bad = Changes(1, worse, good.before, 1e-3)
        assert not all(claim.holds for claim in judge_claims([fine, bad])), (name, key)


def test_a_world_in_which_nothing_is_recommended_is_refused() -> None:
    with pytest.raises(InputError, match="nothing was recommended"):
        Study.of(us.simulate("quiet", users=200, items=100))


def test_an_injected_world_is_refused() -> None:
    injected = us.simulate(base=us.simulate("quiet", users=200, items=100).log)
    with pytest.raises(InputError, match="injected into a log"):
        reproduce(injected)


@pytest.mark.parametrize("seed", range(5))
def test_the_claims_of_the_paper_hold_in_a_world_of_its_size(seed: int) -> None:
    found = Changes.of(Study.of(us.simulate(seed=seed)))
    g1, g2 = found.found["g1"], found.found["g2"]
    assert g1["raw"] >= 0.25
    assert -0.38 <= g2["raw"] <= -0.28
    assert abs(g1["20"]) <= abs(g1["raw"]) / 5
    assert min(g2[p] / g2["raw"] for p in ("5", "10", "20")) >= 0.6
    assert abs(g2["500"]) <= abs(g2["raw"]) / 5
    for name, own in found.found.items():
        assert abs(own["all"]) * found.before[name] <= found.bound
        assert abs(own["all"]) < 0.02
