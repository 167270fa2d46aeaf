"""Verdicts on a page and in a notebook: the answer first, in words that ask a product manager for something."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unskew as us
from tests.browser import open_browser, visit
from unskew.drawing.page import SIGNS
from unskew.evaluation.changes import Part
from unskew.evaluation.report import Report
from unskew.evaluation.verdict import Decision, Scenario, Verdict, decide, describe_reason
from unskew.show.report_page import ReportPage
from unskew.show.report_words import split_words
from unskew.show.verdict_sections import (
    CAMPAIGNS,
    EXPOSURES,
    FEWER,
    FOLDS,
    FULL_CHECK,
    HOLDOUT,
    LATER,
    MORE_USERS,
    REFERENCE,
    RUNNER,
    TONES,
    answer_in_a_word,
    ask_question,
    list_facts,
    list_requests,
    make_card,
    verdict_sections,
)

COMMAND = "unskew evaluate log.csv --reference 300 -r knn"
STEPS = (
    f"{COMMAND} --exposures shown.parquet",
    f"{COMMAND} --holdout never_shown.csv --production auto",
    f"{COMMAND} --campaign START:END",
)
BETTER, WORSE = (0.04, 0.06), (-0.04, -0.06)
UNDECIDED, EVEN = (0.05, -0.005), (0.001, -0.001)
HOSTILE = "</script><img src=x onerror=alert(2)>"


@dataclass(frozen=True)
class Ready:
    """Verdicts that are there already."""

    verdicts: list[Verdict]
    log: Any = None

    def find(self) -> list[Verdict]:
        return self.verdicts


def _verdict(
    differences: tuple[float, ...] = UNDECIDED, name: str = "knn", trusted: float | None = None, **more: Any
) -> Verdict:
    """A verdict whose first scenario is as logged; each interval reaches 1 point to both sides."""

    def scenario(label: str, value: float, share: float | None, known: bool) -> Scenario:
        part = Part(value, value - 0.01, value + 0.01)
        relative = Part(*(figure / 0.15 for figure in (part.value, part.low, part.high)))
        caused = None if share is None else Part(share, share, share)
        return Scenario(label, "all", part, relative, caused, None, known, 0.001)

    scenarios = [scenario("as logged", differences[0], None, False)]
    scenarios += [
        scenario(f"{k}% of the excess over ease", value, 0.4, False) for k, value in enumerate(differences)
    ]
    if trusted is not None:
        scenarios.append(scenario("the view organic", trusted, 0.3, True))
    decision, low, high = decide(scenarios, 0.95)
    verdict = Verdict(
        recommender=name,
        baseline="popular",
        metric="hit@5",
        decision=decision,
        low=low,
        high=high,
        scenarios=tuple(scenarios),
        reason=describe_reason(scenarios, decision, 300, 0.4),
        next_steps=STEPS if decision == "undecided" else (),
        score=0.2502,
        score_baseline=0.1538,
        users=1499,
        since=300,
    )
    return replace(verdict, **more)


@pytest.fixture(scope="module")
def log() -> us.Log:
    rng = np.random.default_rng(3)
    time, user = rng.integers(0, 491, 2500), rng.integers(0, 300, 2500)
    item = np.where((time > 330) & (rng.random(2500) < 0.4), rng.integers(0, 4, 2500), rng.zipf(1.3, 2500) % 40)
    time[-1] = 490
    segment = np.where(user < 150, "new", "old")
    table = {"user": user.tolist(), "item": item.tolist(), "time": time.tolist(), "group": segment.tolist()}
    return us.read_log(table, labels=["group"])


@pytest.fixture(scope="module")
def plain(log: us.Log) -> Report:
    return us.report(log, "knn", baseline="popular", at=490, reference=300, refit=0, by="group")


def _page(report: Report, *verdicts: Verdict) -> str:
    return ReportPage(report=replace(report, verdict_plan=Ready(list(verdicts)))).render()


def _rows(chart: Any) -> list[dict[str, Any]]:
    """All rows that a chart draws."""
    spec = chart.to_dict()
    layers = [spec, *spec.get("layer", ())]
    named = [row for rows in spec.get("datasets", {}).values() for row in rows]
    return named + [row for layer in layers for row in layer.get("data", {}).get("values", ())]


def _words(page: str) -> str:
    """What a reader reads, in the order of the page."""
    markup = re.sub(r"(?s)<(script|style).*?</\1>", " ", page)
    markup = re.sub(r"</?(a|span|bdi|b|strong)\b[^>]*>", "", markup)
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", markup)).replace("\u00a0", " ").split())


def test_the_question_the_answer_and_the_range_come_before_anything_else(plain: Report) -> None:
    text = _words(_page(plain, _verdict()))
    parts = [
        "Did knn beat popular?",
        "? Undecided",
        "knn may be up to 1.5 points behind popular or up to 6.0 points ahead (hit@5), if nothing was recommended",
        "v1: popular 15.38 %",
        "v2: knn 25.02 %",
        "relative lift +33.3 %",
        "users 1 499",
        "What would settle it",
        "Contents",
        "From the score then to the score now",
    ]
    text = text.replace("The verdict What the change comes from", "Contents")  # where links to all sections stand
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("differences", "decision", "answer"),
    [
        (BETTER, "better", "Yes, if nothing was recommended before 300"),
        (WORSE, "worse", "No, popular is ahead, if nothing was recommended before 300"),
        (EVEN, "no clear difference", "No clear difference, if nothing was recommended before 300"),
        (UNDECIDED, "undecided", "Undecided"),
    ],
)
def test_each_decision_has_its_own_words_sign_and_tone(
    differences: tuple[float, ...], decision: Decision, answer: str
) -> None:
    verdict = _verdict(differences)
    assert verdict.decision == decision
    status = answer_in_a_word(verdict)
    assert status.text == answer
    assert status.tone == TONES[decision]
    assert len(set(TONES.values())) == len(set(SIGNS.values())) == 4  # told apart without colour


def test_a_verdict_that_somebody_vouches_for_has_no_condition() -> None:
    assert answer_in_a_word(_verdict(BETTER, conditional=False)).text == "Yes"


def test_options_of_commands_stand_in_the_boxes_of_those_who_run_them_alone(plain: Report) -> None:
    noted = replace(plain, notes=("a note about --folds", "a plain note"))
    page = _page(noted, _verdict())
    assert "--exposures shown.parquet" in page
    assert "A note about --folds" in _words(page)
    rest = re.sub(r'(?s)<section[^>]* class="runner">.*?</section>', " ", page)
    rest = re.sub(r'(?s)<section id="made">.*?</section>', " ", rest)
    assert re.findall(r"(?<![\w-])--[a-z]\w+", _words(rest)) == []
    assert "A plain note" in _words(rest)


def test_an_undecided_page_asks_for_things_that_people_have(plain: Report) -> None:
    text = _words(_page(plain, _verdict()))
    for request in (EXPOSURES, HOLDOUT, CAMPAIGNS):
        assert request in text
    assert "+5.0 points that the log shows are no proof of a gain" in text
    assert RUNNER in text


def test_a_decided_page_asks_for_nothing(plain: Report) -> None:
    text = _words(_page(plain, _verdict(BETTER)))
    assert "What would settle it" not in text
    assert EXPOSURES not in text


@pytest.mark.parametrize(
    ("more", "request_text"),
    [
        ({"next_steps": (f"{COMMAND} --campaign 330:350 --campaign 430:450",)}, CAMPAIGNS),
        ({"next_steps": (f"{COMMAND} --campaign 330:350",), "reason": "This was a quick look"}, FULL_CHECK),
        ({"next_steps": (f"{COMMAND} --folds 5",)}, FOLDS),
        ({"next_steps": (f"{COMMAND} --after 2024-08-01",)}, LATER),
        ({"next_steps": ("unskew evaluate log.csv -r knn --reference 300",), "since": None}, REFERENCE),
        ({"next_steps": ("unskew evaluate log.csv -r knn --reference 300",)}, FULL_CHECK),
        ({"next_steps": (), "low": 0.01, "high": 0.02}, FEWER),
        ({"next_steps": ()}, MORE_USERS),
    ],
)
def test_every_next_step_is_something_to_bring(more: dict[str, Any], request_text: str) -> None:
    assert list_requests([_verdict(UNDECIDED, **more)]) == [request_text]


def test_the_chart_has_the_range_its_scenarios_and_a_line_at_zero() -> None:
    verdict = _verdict()
    chart = make_card(verdict).chart
    rows = _rows(chart)
    bars = [row for row in rows if "tone" in row]
    assert [(row["low"], row["high"]) for row in bars] == [pytest.approx((100 * verdict.low, 100 * verdict.high))]
    cases = [row["value"] for row in rows if "case" in row]
    assert cases == pytest.approx([100 * scenario.difference.value for scenario in verdict.scenarios])
    assert {"zero": 0.0} in rows


def test_zero_is_in_sight_if_the_range_is_far_from_it() -> None:
    low, high = make_card(_verdict(BETTER)).chart.to_dict()["layer"][1]["encoding"]["x"]["scale"]["domain"]
    assert low < 0
    assert high > 7


def test_scenarios_that_do_not_count_are_marked_beside_trusted_knowledge() -> None:
    verdict = _verdict(UNDECIDED, trusted=-0.03)
    card = make_card(verdict)
    counted = [row["case"] for row in _rows(card.chart) if row.get("counts")]
    assert counted == ["30 % caused by recommendations (the view organic)"]
    assert "Rings do not count" in card.caption
    lift = next(fact for fact in list_facts(verdict) if fact.name == "relative lift")
    assert lift.value == "−20.0 %"  # of what is trusted, not of the log as it is


def test_a_verdict_without_an_interval_has_no_chart() -> None:
    card = make_card(_verdict(low=math.nan, high=math.nan))
    assert card.chart is None
    assert "has no range" in card.text


def test_several_verdicts_share_one_chart_and_one_table(plain: Report) -> None:
    verdicts = [_verdict(BETTER, "ease"), _verdict(WORSE, "als"), _verdict(UNDECIDED, "knn"), _verdict(EVEN, "b")]
    ready = replace(plain, verdict_plan=Ready(verdicts))
    summary = verdict_sections(ready)[0]
    assert ask_question(verdicts) == "Which of 4 recommenders beat popular?"
    assert summary.table is not None
    assert [row[0] for row in summary.table[1:]] == ["▲ better", "▼ worse", "? undecided", "= no clear difference"]
    assert summary.text == (
        "Better: ease. Worse: als. No clear difference: b. Undecided: knn. "
        "This holds if nothing was recommended before 300."
    )


def test_every_condition_stands_beside_the_answer() -> None:
    verdict = _verdict(BETTER, needs_complete_exposures=True)
    assert answer_in_a_word(verdict).text == (
        "Yes, if nothing was recommended before 300 and the exposure log is complete"
    )


def test_the_algorithm_is_credited_only_if_the_verdict_supports_it(plain: Report) -> None:
    change = replace(
        plain.changes[0],
        item_mix=Part(0.0, 0.0, 0.0),
        users_excluded=Part(0.0, 0.0, 0.0),
        algorithm=Part(0.1, 0.09, 0.11),
        unexplained=Part(0.0, 0.0, 0.0),
    )
    claim = "of what moved is the algorithm"
    assert claim in split_words(change, _verdict(BETTER))
    for verdict in (_verdict(UNDECIDED), _verdict(EVEN), None):
        assert claim not in split_words(change, verdict)
    assert "Recommendations may have caused it" in split_words(change, _verdict(UNDECIDED))


@pytest.mark.parametrize("differences", [BETTER, UNDECIDED])
def test_item_weights_alone_never_debias_and_no_weight_is_shown(
    plain: Report, differences: tuple[float, ...]
) -> None:
    text = _words(_page(plain, _verdict(differences)))
    assert "debiased" not in text.lower()
    assert " raw" not in text.lower()
    assert "half as often" not in text
    assert not re.search(r"\de\+\d\d", text)
    assert "knn is better" not in text


def test_segments_are_drawn_beside_the_score_of_all(plain: Report) -> None:
    page = ReportPage(report=replace(plain, verdict_plan=Ready([])))
    place = [section.anchor for section in page.sections()].index("segments")
    section = page.sections()[place + 1]
    rows = [row for row in _rows(section.chart) if "name" in row]
    assert {row["name"] for row in rows} == {"all", "group=new", "group=old"}
    now = [score for score in plain.scores if (f"{score.recommender}, hit@5", score.at) == (section.title, 490)]
    assert now
    by_segment = {score.segment or "all": score.value for score in now if score.weighting == "raw"}
    shown = {row["name"]: row["value"] for row in rows if row["kind"] == "as logged"}
    assert shown == pytest.approx(by_segment)


def test_a_notebook_shows_the_verdict_first_and_nothing_that_runs(plain: Report) -> None:
    verdict = _verdict(name=HOSTILE)
    shown = replace(plain, verdict_plan=Ready([verdict]))._repr_html_()
    assert shown.index("Undecided") < shown.index("What the change comes from")
    for markup in (shown, verdict._repr_html_()):
        assert "Did &lt;/script&gt;" in markup
        assert "<img" not in markup
        assert "<script" not in markup
        assert "<svg" in markup
    assert "15.38 %" in verdict._repr_html_()


def test_a_page_of_one_recommender_says_why_it_has_no_verdict(log: us.Log) -> None:
    page = ReportPage(report=us.report(log, "knn", at=490, reference=300, refit=0)).render()
    assert "There is no verdict, since nothing is compared" in _words(page)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.mark.parametrize(("width", "dark"), [(1000, False), (1000, True), (390, False)])
def test_the_verdict_is_on_the_first_screen(
    plain: Report, browser: Any, tmp_path: Path, width: int, dark: bool
) -> None:
    path = tmp_path / "page.html"
    replace(plain, verdict_plan=Ready([_verdict()])).save(path)
    with visit(browser, path, width=width, dark=dark) as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for place in (".status", ".verdict .chart svg"):
            box = page.locator(place).nth(0).bounding_box()
            assert box["y"] + box["height"] < 900
        if width == 1000:
            assert page.locator(".facts").nth(0).bounding_box()["y"] < 700
            assert page.locator("text=What would settle it").nth(0).bounding_box()["y"] < 900
        seen.require_quiet()


def test_several_verdicts_fit_on_a_phone(plain: Report, browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    verdicts = [_verdict(BETTER, "ease"), _verdict(UNDECIDED, "knn?similarity=cooccurrence&neighbours=50")]
    replace(plain, verdict_plan=Ready([*verdicts, _verdict(EVEN, "b")])).save(path)
    with visit(browser, path, width=390) as seen:
        table = seen.page.locator(".verdict .scroll")
        assert table.evaluate("e => e.scrollWidth - e.clientWidth") == 0
        assert "+3.0 to +7.0" in table.inner_text().replace("\N{NO-BREAK SPACE}", " ")
        seen.require_quiet()
