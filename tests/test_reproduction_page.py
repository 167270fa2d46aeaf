"""The page of the reproduction: everything on it once, nothing from outside, no text that becomes markup."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from tests import reproducing as made
from unskew.reproduction.beyond_figures import draw_cost
from unskew.reproduction.experiment import changes_table, claims_table, write_reproduction_page
from unskew.reproduction.figure import Figure
from unskew.reproduction.paper_figures import draw_sizes
from unskew.reproduction.study import Claim

CLAIMS = [
    Claim("the score of g1 rises", "more than 25 %", "+27.4 %", "+24.0 % .. +29.1 %", True),
    Claim("p <= 20 & g2", "no", "yes", "2 of 5", False),
]
CHANGES = pa.Table.from_pylist(
    [
        {"seed": seed, "algorithm": g, "weighting": w, "change": change + 0.01 * seed}
        for g, change in (("g1", 0.25), ("g2", -0.33))
        for w in ("raw", "p = 5", "all items")
        for seed in (2, 0, 1)
    ]
)


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    return [draw_sizes(made.sizes_table()), draw_cost(made.cost_table())]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, figures: list[Figure]) -> str:
    path = tmp_path_factory.mktemp("page") / "index.html"
    about = ["Chosen: a <b>world</b>.", "Follows: the rest."]
    write_reproduction_page(path, "Lead & <i>more</i>", figures, CLAIMS, about, CHANGES)
    assert [p.name for p in path.parent.iterdir()] == ["index.html"]
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outside(page: str) -> str:
    return re.sub(r"<script type=[^>]*>.*?</script>", "", page, flags=re.DOTALL).replace("\xa0", " ")


def test_each_figure_stands_there_once_with_its_number_sentence_and_files(
    outside: str, page: str, figures: list[Figure]
) -> None:
    assert outside.count("<figure>") == outside.count("</figcaption>") == len(figures)
    for figure in figures:
        assert outside.count(f"<strong>Figure {figure.number}.</strong> {figure.sentence}") == 1
        assert outside.count(f'aria-label="{figure.sentence}"') == 1
        for kind in ("png", "svg", "parquet"):
            assert outside.count(f'href="{figure.name}.{kind}"') == 1
        assert page.count(f'"text":"{figure.title}"') == 1


def test_the_page_loads_nothing_and_embeds_the_chart_library_once(page: str, outside: str) -> None:
    assert not re.search(r"https?:|src\s*=|url\(|<link|@import", outside)
    assert page.count("window.vegaEmbed=") == 1
    assert outside.count("<script") == 0


def test_claims_stand_before_the_figures_and_other_seeds_after_them(outside: str) -> None:
    order = [
        "What the paper claims",
        "What was chosen",
        "The figures of the paper",
        "Figure 2.",
        "Beyond the paper",
        "Figure 7.",
        "The same for other seeds",
    ]
    places = [outside.index(words) for words in order]
    assert places == sorted(places)


def test_text_is_escaped(outside: str) -> None:
    assert "Lead &amp; &lt;i&gt;more&lt;/i&gt;" in outside
    assert "a &lt;b&gt;world&lt;/b&gt;" in outside
    assert "p &lt;= 20 &amp; g2" in outside


def test_claims_say_whether_they_hold() -> None:
    head, first, second = claims_table(CLAIMS)
    assert head == ["claim", "paper", "ours", "over the seeds", "holds"]
    assert (first[-1], second[-1]) == ("yes", "no")


def test_changes_have_a_column_for_each_seed_and_their_range() -> None:
    rows = changes_table(CHANGES)
    assert rows[0] == ["algorithm", "weighting", "seed 0", "seed 1", "seed 2", "least .. largest"]
    assert rows[1] == ["g1", "raw", "+25.0 %", "+26.0 %", "+27.0 %", "+25.0 % .. +27.0 %"]
    assert rows[-1] == ["g2", "all items", "−33.0 %", "−32.0 %", "−31.0 %", "−33.0 % .. −31.0 %"]


def test_a_change_that_is_not_known_is_left_empty() -> None:
    rows = changes_table(CHANGES.slice(1))
    assert rows[1] == ["g1", "raw", "+25.0 %", "+26.0 %", "", "+25.0 % .. +26.0 %"]
