"""The page of a report in a real browser: charts, boxes to tick, sorting and searching; and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unskew as us
from tests import reproducing
from tests.browser import Visit, open_browser, visit
from unskew.drawing.page import NUMBER, SHARE, TEXT, Column, Listing, Section, write_page
from unskew.drawing.theme import DARK, INK
from unskew.pages.log_page import profile_section
from unskew.reproduction.beyond_figures import draw_algorithms, draw_cost
from unskew.reproduction.paper_figures import draw_items, draw_score, draw_sizes, draw_weighted_score

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "{{7*7}}",
    "\u202etxt.exe\u202c \u200fabc",
    "x" * 400,
    "javascript:alert(3)",
    '" onmouseover="alert(4)',
)
ITEMS = 100_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def weights() -> us.ItemWeights:
    return _fit(_hostile_log())


def _hostile_log() -> us.Log:
    """A log whose items have names that want to be more than text; some of them are pushed from 330 on."""
    rng = np.random.default_rng(3)
    names = [HOSTILE[k] if k < len(HOSTILE) else f"item {k}" for k in range(40)]
    time = rng.integers(0, 491, 2500)
    liked = rng.zipf(1.3, 2500) % 40
    item = np.where((time > 330) & (rng.random(2500) < 0.4), rng.integers(0, 4, 2500), liked)
    user = rng.integers(0, 300, 2500)
    time[-1] = 490
    return us.read_log({"user": user.tolist(), "item": [names[k] for k in item], "time": time.tolist()})


def _fit(log: us.Log) -> us.ItemWeights:
    return us.fit_weights(log.at(490), log.at(300))


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it, made of hostile names: of items, and of a recommender."""
    log = _hostile_log()
    recommenders = {HOSTILE[1]: "popular", HOSTILE[4]: "knn", "plain": us.Constant(list(HOSTILE[:2]))}
    found = us.report(log, recommenders, at=490, reference=300, metric=["hit@5", "mrr@10"], refit=10, quick=True)
    items = log.items.values.to_pylist()
    made = us.timeline(log, recommenders, reference=300, end=490, every=38, items=items[:8])
    path = tmp_path_factory.mktemp("page") / "report.html"
    found.save(path, timeline=made, campaigns=["330:350", "430:450"], names={items[3]: HOSTILE[1]})
    return path


@pytest.fixture(scope="module")
def seen(browser: Any, page_path: Path) -> Iterator[Visit]:
    with visit(browser, page_path) as found:
        yield found


def _lines(seen: Visit, chart: str) -> int:
    return int(seen.page.locator(f"{chart} .mark-line.role-mark path").count())


def test_every_chart_is_drawn_and_says_what_it_shows(seen: Visit) -> None:
    charts = seen.page.locator(".chart")
    assert charts.count() >= 8
    for k in range(charts.count()):
        assert charts.nth(k).locator("svg path").count() > 0
        assert len(charts.nth(k).get_attribute("aria-label")) > 10
    assert seen.page.locator(".failed").count() == 0
    seen.require_quiet()


def test_names_stay_text_wherever_they_stand(seen: Visit) -> None:
    page = seen.page
    assert page.locator("img").count() == 0
    assert page.evaluate("[...document.scripts].filter(s => s.text.startsWith('alert')).length") == 0
    assert page.locator("[onerror], [onmouseover]").count() == 0
    text = page.locator("body").inner_text()
    assert HOSTILE[1][:47] in text  # as it is written, on the page
    assert "49" not in page.locator(".listing tbody").inner_text().split()  # {{7*7}} was not computed
    assert (
        page.evaluate("document.documentElement.scrollWidth") <= 1000
    )  # a long name does not push the page apart
    page.locator(".chart").nth(0).locator(".mark-symbol path").nth(0).hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert page.locator("#vg-tooltip-element script, #vg-tooltip-element img").count() == 0
    seen.require_quiet()


def test_lines_are_switched_off_and_on_by_mouse_and_by_keyboard(seen: Visit) -> None:
    page, chart = seen.page, "#" + seen.page.locator("[data-for]").nth(0).get_attribute("data-for")
    boxes = page.locator(f"[data-for={chart[1:]}] input")
    before = _lines(seen, chart)
    boxes.nth(0).uncheck()
    page.wait_for_function(
        "([chart, n]) => document.querySelectorAll(chart + ' .mark-line.role-mark path').length < n",
        arg=[chart, before],
    )
    fewer = _lines(seen, chart)
    assert fewer == before * 2 / 3  # one of three recommenders
    boxes.nth(0).focus()
    page.keyboard.press("Space")
    page.wait_for_function(
        "([chart, n]) => document.querySelectorAll(chart + ' .mark-line.role-mark path').length === n",
        arg=[chart, before],
    )
    seen.require_quiet()


def _share(cell: str) -> float:
    return float(cell.removeprefix("<").rstrip(" %"))


def _column(seen: Visit, k: int) -> list[str]:
    rows = seen.page.locator(".listing tbody tr:not(.gap)")
    return [rows.nth(n).locator("td").nth(k).inner_text() for n in range(min(rows.count(), 12))]


def test_items_are_sorted_and_searched(seen: Visit) -> None:
    page = seen.page
    heads = page.locator(".listing th")
    titles = [heads.nth(k).inner_text().strip(" ↑↓") for k in range(heads.count())]
    now = titles.index("share before")
    heads.nth(now).locator("button").click()
    shown = [float(cell.rstrip(" %")) for cell in _column(seen, now)]
    assert heads.nth(now).get_attribute("aria-sort") == "descending"
    assert shown == sorted(shown, reverse=True)
    heads.nth(now).locator("button").press("Enter")
    shown = [float(cell.rstrip(" %")) for cell in _column(seen, now)]
    assert heads.nth(now).get_attribute("aria-sort") == "ascending"
    assert shown == sorted(shown)
    page.locator(".listing input").fill("ITEM 1")
    found = _column(seen, 0)
    assert found
    assert all("item 1" in name for name in found)
    page.locator(".listing input").fill("no such thing")
    assert _column(seen, 0) == []
    assert page.locator(".found").inner_text().startswith("0 of")
    page.locator(".listing input").fill("")
    seen.require_quiet()


def test_the_table_shows_the_shares_before_and_after_and_the_target(seen: Visit, weights: us.ItemWeights) -> None:
    page = seen.page
    rows = {row["item"]: row for row in weights.to_arrow().to_pylist()}
    page.locator(".listing input").fill("item 2")
    shown = list(zip(*(_column(seen, k) for k in (0, 2, 3, 4)), strict=True))
    assert shown
    for name, before, target, after in shown:
        expected = rows[name]
        assert _share(before) == pytest.approx(100 * expected["p_before"], rel=6e-3, abs=1e-4)
        assert _share(target) == pytest.approx(100 * expected["p_reference"], rel=6e-3, abs=1e-4)
        assert _share(after) == pytest.approx(100 * expected["p_after"], rel=6e-3, abs=1e-4)
    page.locator(".listing input").fill("")


def test_the_page_can_be_read_in_the_dark_and_on_a_phone(browser: Any, page_path: Path) -> None:
    with visit(browser, page_path, width=400, dark=True) as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        widths = page.evaluate(
            "[...document.querySelectorAll('.adapts svg')].map(s => s.getBoundingClientRect().width)"
        )
        assert max(widths) <= 400
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == _rgb(DARK["white"])
        label = page.locator(f'.adapts svg text[fill="{INK}"]').nth(0)
        assert label.evaluate("e => getComputedStyle(e).fill") == _rgb(DARK[INK])
        seen.require_quiet()


def test_the_page_on_paper_is_light_and_whole(browser: Any, page_path: Path) -> None:
    with visit(browser, page_path, dark=True) as seen:
        page = seen.page
        page.emulate_media(media="print")
        ink = page.locator(f'.adapts svg text[fill="{INK}"]').nth(0).evaluate("e => getComputedStyle(e).fill")
        assert ink == _rgb(INK)
        assert page.evaluate("getComputedStyle(document.querySelector('.listing .window')).overflowY") == "visible"
        assert page.pdf().startswith(b"%PDF")


def test_dates_stand_apart_on_a_chart_whatever_the_zone_of_the_reader(browser: Any, tmp_path: Path) -> None:
    times = [f"2024-{month:02}-01" for month in range(1, 10)]
    log = us.read_log({"user": ["a", "a", "b"] * 3, "item": [1, 2, 1, 3, 1, 2, 4, 5, 6], "time": times})
    made = us.timeline(log, "popular", reference="2024-03-01", end="2024-09-01", every="1mo", items=[1])
    path = tmp_path / "dated.html"
    sections = [
        *made.page_sections(campaigns="2024-04-01:2024-05-15"),
        profile_section(log.at("2024-03-01"), log.at("2024-09-01")),
    ]
    write_page(path, "t", "", sections)
    with visit(browser, path, zone="America/Los_Angeles") as seen:
        chart = seen.page.locator(".chart").nth(0)
        places = chart.locator(".mark-symbol path").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().x)"
        )
        assert len({round(place) for place in places}) == 7  # one for each date
        assert "May" in chart.inner_text()
        boxes, bars = seen.page.locator("[data-for=chart-4] input"), seen.page.locator("#chart-4 .mark-rect path")
        before = bars.count()
        boxes.nth(0).uncheck()
        seen.page.wait_for_function(
            "n => document.querySelectorAll('#chart-4 .mark-rect path').length < n", arg=before
        )
        seen.require_quiet()


def test_the_figures_of_the_reproduction_are_drawn_by_the_same_page(browser: Any, tmp_path: Path) -> None:
    figures = [
        draw_items(reproducing.items_table(), reproducing.CAMPAIGNS),
        draw_sizes(reproducing.sizes_table()),
        draw_score(reproducing.score_table(), reproducing.CAMPAIGNS),
        draw_weighted_score(reproducing.weighted_table(), reproducing.CAMPAIGNS),
        draw_cost(reproducing.cost_table()),
        draw_algorithms(reproducing.algorithms_table()),
    ]
    path = tmp_path / "figures.html"
    write_page(path, "t", "", [Section("", "", figure.chart, caption=figure.sentence) for figure in figures])
    with visit(browser, path) as seen:
        assert seen.page.locator(".failed").count() == 0
        assert seen.page.locator(".chart svg").count() == len(figures)
        seen.require_quiet()


def test_the_command_is_copied_or_selected(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, "t", "", [Section("made", "", code="unskew report 'a b.csv' && x")])
    with visit(browser, path) as seen:
        seen.page.locator(".copy").click()
        seen.page.wait_for_function("() => document.querySelector('.copied').textContent !== ''")
        assert seen.page.locator("code").inner_text() == "unskew report 'a b.csv' && x"
        seen.require_quiet()


def test_a_hundred_thousand_items_scroll_sort_and_are_found(browser: Any, tmp_path: Path) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(ITEMS))
    columns = [
        Column("item", "", TEXT, [HOSTILE[k] if k < len(HOSTILE) else f"item {k:06}" for k in range(ITEMS)]),
        Column("share", "", SHARE, shares.tolist()),
        Column("weight", "", NUMBER, [None if k % 7 == 0 else float(k) for k in range(ITEMS)]),
    ]
    path = tmp_path / "items.html"
    write_page(path, "t", "", [Section("items", "", listing=Listing("items", columns, "Search:"), code="x")])
    with visit(browser, path) as seen:
        page = seen.page
        rows = page.locator(".listing tbody tr:not(.gap)")
        assert rows.count() < 100  # what is not in sight is not in the document
        assert page.locator(".found").inner_text().replace("\u00a0", "") == f"{ITEMS}inall".replace(
            "inall", " in all"
        )
        page.evaluate("document.querySelector('.window').scrollTop = 31 * 60000")
        page.wait_for_function("() => document.querySelector('.listing tbody').innerText.includes('item 060000')")
        page.evaluate("document.querySelector('.window').scrollTop = 1e9")
        page.wait_for_function(
            f"() => document.querySelector('.listing tbody').innerText.includes('item {ITEMS - 1:06}')"
        )
        page.locator(".listing th").nth(1).locator("button").click()
        assert page.locator(".window").evaluate("e => e.scrollTop") == 0
        best = float(rows.nth(0).locator("td").nth(1).inner_text().rstrip(" %"))
        assert best == pytest.approx(100 * shares.max(), rel=6e-3)
        page.locator(".listing input").fill("059 ")
        page.locator(".listing input").fill("item 05912")
        assert rows.count() == 10
        seen.require_quiet()


def _rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[k : k + 2], 16) for k in (1, 3, 5)))
