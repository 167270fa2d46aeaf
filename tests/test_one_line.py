"""What is printed is safe for a terminal: control characters are shown, values are cut, messages are one line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import unskew as us
from unskew.cli import main
from unskew.errors import ColumnError, InputError

HOSTILE = ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "a\nb", "\u202egnp.exe", "a\rb"]


@pytest.mark.parametrize("name", HOSTILE)
def test_control_characters_of_items_are_shown_escaped(tmp_path: Path, name: str) -> None:
    table = pa.table({"user": ["a", "a", "b"], "item": [name, "y", name], "time": [1, 1, 2]})
    pq.write_table(table, tmp_path / "log.parquet")
    names = pa.table({"item": [name, "y"], "name": [f"<{name}>", "why"]})
    pq.write_table(names, tmp_path / "names.parquet")
    for more in ([], ["--names", str(tmp_path / "names.parquet")]):
        command = ["drift", str(tmp_path / "log.parquet"), "--reference", "1", "--at", "2", *more]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0
        assert not set(result.output) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
        assert repr(name)[1:-1] in result.output


@pytest.mark.parametrize("name", HOSTILE)
def test_an_error_is_one_line_whatever_it_quotes(name: str) -> None:
    with pytest.raises(ColumnError) as caught:
        us.read_log({"user": [1], "item": [1], "time": [1]}, user=name)
    assert len(str(caught.value).splitlines()) == 1
    assert "\x1b" not in str(caught.value)


def test_an_error_quotes_at_most_200_characters_of_a_value() -> None:
    with pytest.raises(InputError) as caught:
        us.read_log({"user": [1], "item": [1], "time": [1]}, user="x" * 10_000)
    assert len(str(caught.value)) < 500
    assert "x" * 200 + "...'" in str(caught.value)
    assert "x" * 202 not in str(caught.value)


def test_an_error_lists_at_most_20_columns() -> None:
    table = {f"column {k}": [1] for k in range(500)}
    with pytest.raises(ColumnError, match="and 480 more"):
        us.read_log(table)
