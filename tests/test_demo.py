"""The demonstration and its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import unskew as us
from unskew import demo
from unskew.report.page import Section, write_page
from unskew.simulate import campaign_world


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo")
    demo.run(path, users=1500, items=400, seed=2)
    return path


def test_it_writes_the_log_the_weights_the_picture_and_the_page(folder: Path) -> None:
    assert {p.name for p in folder.iterdir()} == {"log.parquet", "weights.parquet", "scores.png", "index.html"}
    assert (folder / "scores.png").read_bytes().startswith(b"\x89PNG")
    assert us.ItemWeights.load(folder / "weights.parquet").converged


def test_the_page_needs_no_network_and_embeds_the_chart_library_once(folder: Path) -> None:
    page = (folder / "index.html").read_text()
    outside = re.sub(r"<script type=.module.>.*?</script>", "", page, flags=re.DOTALL)
    assert len(outside) < len(page) / 10
    assert not re.search(r"(src|href|url)\s*[=(]", outside)
    assert page.count("window.vegaEmbed=") == 1
    assert page.count('class="chart"') == 2


def test_raw_scores_move_and_weighted_ones_stay_within_the_bound() -> None:
    world = campaign_world(1500, 400, seed=2)
    found = demo.investigate(us.read_log(world.table), world)
    agrees, disagrees = found.change.values()
    assert agrees[1] > 1.2 * agrees[0]
    assert disagrees[1] < 0.9 * disagrees[0]
    for then, _, weighted in found.change.values():
        assert abs(weighted - then) <= found.weights.bound + 1e-12


def test_text_on_a_page_cannot_become_markup(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    section = Section("<b>", "a </script> b", None, [["<i>"], ["&"]])
    write_page(path, "<title>", "<script>alert(1)</script>", [section])
    page = path.read_text()
    assert "<script>alert" not in page
    assert "&lt;i&gt;" in page


def test_chart_data_on_a_page_cannot_end_its_script(tmp_path: Path) -> None:
    class Chart:
        def to_json(self, indent: None) -> str:
            return json.dumps({"title": "</script><b>"})

    path = tmp_path / "page.html"
    write_page(path, "t", "l", [Section("s", "x", Chart())])
    assert "</script><b>" not in path.read_text()
