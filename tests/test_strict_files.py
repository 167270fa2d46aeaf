"""Files of ours that say of themselves that nothing happened to them: what they hold is checked all the same."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from tests.worlds import small
from unskew.errors import FileError, InputError, UnskewError
from unskew.reading import columnar_files
from unskew.storage.files import parse_json, read_json
from unskew.storage.tables import seal
from unskew.weights import Agreement

Told = dict[str, Any]


def _log() -> us.Log:
    return us.simulate(users=60, items=40, seed=1).log


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    folder, log = tmp_path_factory.mktemp("made"), _log()
    us.fit_weights(log.at(480), log.at(300), margins=[Agreement("popular")]).save(folder / "weights.parquet")
    log.at(300).marginal().save(folder / "marginal.parquet")
    return folder


def _rewrite(source: Path, target: Path, change: Callable[[pa.Table], pa.Table], told: Told | None = None) -> Path:
    """The file with another table or other words about it, and a checksum that fits."""
    table = pq.read_table(source)
    about = (
        table.schema.metadata if told is None else {**table.schema.metadata, b"unskew": json.dumps(told).encode()}
    )
    pq.write_table(seal(change(table.replace_schema_metadata(None)).replace_schema_metadata(about)), target)
    return target


def _put(name: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        column = pa.array([value] * len(table))
        return table.set_column(table.column_names.index(name), name, column)

    return change


SHARES = [
    (name, value) for name in ("p_reference", "p_before", "p_after") for value in (np.nan, np.inf, -0.1, 0.9)
]
WRONG_WEIGHTS: list[Callable[[pa.Table], pa.Table]] = [
    lambda table: table.slice(0, len(table) // 2),
    lambda table: table.slice(0, 0),
    lambda table: pa.concat_tables([table, table]),
    lambda table: table.drop(["weight"]),
    lambda table: table.drop(["log_weight"]),
    _put("item", 7),
    _put("item", None),
    _put("weight", 1.5),
    _put("weight", "much"),
    *(_put("log_weight", value) for value in (np.nan, np.inf, -np.inf, None, "x", 1)),
    *(_put(name, value) for name, value in SHARES),
]


@pytest.mark.parametrize("change", WRONG_WEIGHTS)
def test_weights_that_no_fit_gives_are_refused(
    change: Callable[[pa.Table], pa.Table], made: Path, tmp_path: Path
) -> None:
    path = _rewrite(made / "weights.parquet", tmp_path / "w.parquet", change)
    with pytest.raises(FileError, match=r"w\.parquet is damaged \(.+\): make one with fit_weights"):
        us.ItemWeights.load(path)


@pytest.mark.parametrize(
    "change", [lambda table: table.slice(0, len(table) // 2), lambda table: table.slice(0, 0)]
)
def test_half_a_marginal_is_refused(change: Callable[[pa.Table], pa.Table], made: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sum to|at least one item"):
        us.Marginal.load(_rewrite(made / "marginal.parquet", tmp_path / "m.parquet", change))


VALUES: tuple[Any, ...] = (None, "x", -1, [], {}, True, 10**30, [[1]])


def _each(value: Any) -> Iterator[Any]:
    """Another value in each place, and each place left out."""
    if isinstance(value, dict):
        for k, (name, one) in enumerate(value.items()):
            yield {other: v for other, v in value.items() if other != name}
            yield {**value, name: VALUES[k % len(VALUES)]}
            yield from ({**value, name: other} for other in _each(one))
    elif isinstance(value, list) and value:
        yield from ([other, *value[1:]] for other in _each(value[0]))
        yield []


@pytest.mark.parametrize(("name", "kind"), [("weights", us.ItemWeights), ("marginal", us.Marginal)])
def test_whatever_is_said_about_a_table_is_taken_or_refused(
    name: str, kind: Any, made: Path, tmp_path: Path
) -> None:
    source = made / f"{name}.parquet"
    told = json.loads(pq.read_schema(source).metadata[b"unskew"])
    refused = 0
    for other in _each(told):
        path = _rewrite(source, tmp_path / "x.parquet", lambda table: table, other)
        try:
            found = kind.load(path)
            assert repr(found)
            assert getattr(found, "explanation", "-")
        except UnskewError:
            refused += 1
    assert refused > 5


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, "[NaN]", "[Infinity]", "[1", "\xff"]
)
def test_json_that_is_no_json_or_too_deep_is_a_value_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_json(text)
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileError, match=r"x\.json cannot be read as JSON"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told["parameters"].update(items=10**13), "at most 1000000000"),
        (lambda told: told["parameters"].update(users="many"), "users is 'many'"),
        (lambda told: told["parameters"].update(trend=float("1e400")), "not a number of JSON"),
        (lambda told: told["parameters"].update(campaigns=[[[]]]), "campaigns has"),
        (lambda told: told["parameters"].update(campaigns=[{}]), "a campaign has no 'day'"),
        (lambda told: told.update(seed=-1), "seed is -1"),
        (lambda told: told.update(seed=True), "seed is True"),
        (lambda told: told.update(time_unit="weeks"), "time_unit"),
        (lambda told: told.update(parameters=[1]), "does not describe a world"),
        (lambda told: told["parameters"].update(zipf=2), "not those that were written"),
        (lambda told: told["checksums"].update(log=1), "not those that were written"),
    ],
)
def test_a_world_that_nobody_made_is_refused(change: Callable[[Told], Any], message: str, tmp_path: Path) -> None:
    small().save(tmp_path)
    told = json.loads((tmp_path / "world.json").read_text())
    change(told)
    (tmp_path / "world.json").write_text(json.dumps(told))
    with pytest.raises(UnskewError, match=message) as caught:
        us.worlds.World.load(tmp_path)
    assert len(str(caught.value)) < 500


def test_tables_of_another_world_are_refused(tmp_path: Path) -> None:
    small().save(tmp_path / "one")
    small(seed=9).save(tmp_path / "other")
    (tmp_path / "other" / "truth.parquet").replace(tmp_path / "one" / "truth.parquet")
    with pytest.raises(FileError, match=r"its tables and world\.json are not those that were written"):
        us.worlds.World.load(tmp_path / "one")


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(0, 0),
        lambda table: table.rename_columns(["a", *table.column_names[1:]]),
        lambda table: table.set_column(0, table.column_names[0], table.column(0).cast(pa.string())),
        lambda table: table.set_column(1, table.column_names[1], pa.nulls(len(table), pa.int64())),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(
    change: Callable[[pa.Table], pa.Table], tmp_path: Path
) -> None:
    small().save(tmp_path)
    told = json.loads((tmp_path / "world.json").read_text())
    del told["checksums"]  # as older versions wrote it
    (tmp_path / "world.json").write_text(json.dumps(told))
    us.worlds.World.load(tmp_path)
    _rewrite(tmp_path / "truth.parquet", tmp_path / "truth.parquet", change)
    with pytest.raises(FileError, match=r"is damaged \(.*(truth|log)"):
        us.worlds.World.load(tmp_path)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("rows", [3, 100_001])
def test_a_length_that_leads_past_its_page_is_refused_as_arrow_refuses_it(
    tmp_path: Path, compression: str, dictionary: bool, rows: int
) -> None:
    items = [f"item-{k % 1000:04}" for k in range(rows - 1)] + ["item-zz"]
    table = pa.table({"user": ["u"] * rows, "item": items, "time": range(rows)})
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, compression=compression, use_dictionary=dictionary, data_page_size=2**30)
    content = path.read_bytes()
    assert us.read_log(path).items.to_list() == sorted(set(items))
    place = content.rfind(b"item-zz", 0, len(content) - 1000) if rows > 3 else content.find(b"item-zz")
    for at in range(place - 5, place):  # the length stands before the text, or before what a packer makes of it
        changed = bytearray(content)
        changed[at] ^= 15  # 7 becomes 8
        path.write_bytes(changed)
        try:
            read = pq.read_table(path).column("item").to_pylist()
        except (OSError, pa.ArrowException):
            with pytest.raises(UnskewError):
                us.read_log(path)
        else:
            with contextlib.suppress(UnskewError):  # DuckDB may refuse what Arrow takes
                assert us.read_log(path).items.to_list() == sorted(set(read))


def test_the_checksum_of_a_page_is_verified(tmp_path: Path) -> None:
    rows = 120_000
    table = pa.table(
        {"user": ["ann"] * rows, "item": [f"item-{k % 99}" for k in range(rows)], "time": range(rows)}
    )
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, compression="none", write_page_checksum=True)
    assert len(us.read_log(path).users) == 1
    path.write_bytes(path.read_bytes().replace(b"ann", b"bob", 1))
    with pytest.raises(FileError, match=r"cannot read .*(CRC|checksum)"):
        us.read_log(path)


@pytest.mark.parametrize("is_back", [True, False], ids=["back to its own header", "beyond 64 bits"])
@pytest.mark.parametrize("number", [0, 1], ids=["first page", "second page"])
def test_a_page_of_impossible_length_is_refused_at_once(is_back: bool, number: int, tmp_path: Path) -> None:
    """A header of 37 bytes leads back to itself for ever if it says that its page is -37 bytes long."""
    rows = 100_001
    table = pa.table({"user": ["u"] * rows, "item": [f"i{k % 50}" for k in range(rows)], "time": range(rows)})
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False, data_page_size=50_000)
    content = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
    for _ in range(number):
        header, end = columnar_files._read_header(memoryview(content), start)
        start = end + header[3]
    place = start + 7  # after the kind of the page, its length unpacked, and a byte for each of these fields
    assert content[start] == content[start + 2] == content[place - 1] == 0x15  # three integers of 32 bits
    _, end = columnar_files._read_header(memoryview(content), start)
    length = bytes([0x80 | (2 * (end - start) - 1), 0x80, 0]) if is_back else b"\xff" * 100
    content[place : place + len(length)] = length
    path.write_bytes(content)
    command = [sys.executable, "-m", "unskew", "drift", str(path), "--reference", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot read {path}: ")
    assert done.stderr.count("\n") == 1
    if number:  # of the first page Arrow has read a row before
        assert done.stderr.endswith(": the header of a page is damaged\n")
