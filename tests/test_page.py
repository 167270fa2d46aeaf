"""The page that charts and tables are put on: what stands on it cannot become markup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unskew.drawing.page import Section, is_page, write_page
from unskew.errors import InputError


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


@pytest.mark.parametrize("address", ["javascript:alert(1)", "JaVaScRiPt:x", "http://x/y", "//x", "../x", "data:x"])
def test_a_page_links_to_files_beside_it_alone(address: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a page cannot link to"):
        write_page(tmp_path / "page.html", "t", "l", [Section("a", "b", links=[("more", address)])])
    write_page(tmp_path / "page.html", "t", "l", [Section("a", "b", links=[("more", "data/rows-1.parquet")])])
    assert is_page(tmp_path / "page.html")
