"""Nothing that is loaded runs code: a spec with a side effect, planted in every place of every kind of file."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unskew as us
from unskew.errors import UnskewError
from unskew.known_truths.case_sources import find_sources
from unskew.known_truths.yardstick_run import YardstickFolder
from unskew.over_time import Timeline
from unskew.recommend import recommender
from unskew.storage.tables import seal
from unskew.weights import Agreement
from unskew.worlds.recipe import Loop, Recipe

SPECS = ("planted:Model", "./planted.py:Model", "planted:make?path=effect")
PLANTED = """
from pathlib import Path
Path("effect").touch()
class Model:
    def fit(self, snapshot): return self
    def recommend(self, profiles, k): raise RuntimeError
def make(profile, k, path): raise RuntimeError
"""
Plant = Callable[[Path, Callable[[Any], Any]], None]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a module that leaves a trace where it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "planted.py").write_text(PLANTED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield tmp_path


def _each_text(value: Any, spec: str) -> Iterator[Any]:
    """The value with the spec in place of each of its texts and names, one at a time."""
    if isinstance(value, str):
        yield spec
    elif isinstance(value, list):
        for k, one in enumerate(value):
            yield from ([*value[:k], other, *value[k + 1 :]] for other in _each_text(one, spec))
        yield [*value, spec]
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from ({**value, key: other} for other in _each_text(one, spec))
            if one is None:
                yield {**value, key: spec}
        for key in ("recommender", "production", "candidates", "spec"):
            yield {**value, key: spec}


@cache
def _log() -> us.Log:
    return us.simulate(users=60, items=40, seed=1).log


def _make_weights() -> None:
    log = _log()
    us.fit_weights(log.at(480), log.at(300), margins=[Agreement("popular")]).save("file")


def _use_weights() -> None:
    us.ItemWeights.load("file")


def _make_marginal() -> None:
    _log().at(300).marginal().save("file")


def _use_marginal() -> None:
    us.Marginal.load("file")


GRID: dict[str, Any] = {"reference": 300, "start": 300, "end": 400, "every": 100}


def _make_timeline() -> None:
    us.timeline(_log(), "popular", **GRID, output="file")


def _use_timeline() -> None:
    Timeline.load("file")
    us.timeline(_log(), "popular", **GRID, output="file", resume=True)


def _make_log() -> None:
    _log().save("file")


def _use_log() -> None:
    us.read_log("file").at(480).marginal()


def _make_world() -> None:
    us.simulate(users=40, items=40, seed=1).save("file")


def _make_loop() -> None:
    us.simulate(Recipe(users=40, items=40, topics=3, loop=Loop(("list:a", "popular"), rounds=1))).save("file")


def _make_injected() -> None:
    us.simulate(base=_log()).save("file")


def _use_world() -> None:
    world = us.worlds.World.load("file")
    sources = find_sources([Path("file")], base=None, users=40, items=40)
    production = sources[0].make(1).production
    if production is not None:
        recommender(production)
    if "base" not in world.about:
        assert world.recipe is not None


KEY = {"seed": 1, "spec": "popular", "methods": ["raw"]}


def _make_case() -> None:
    found = {"rows": [{"world": "paper", "recommender": "popular", "value": 1.0}]}
    YardstickFolder(Path("file"), resume=True).write("paper", KEY, found)


def _use_case() -> None:
    found = YardstickFolder(Path("file"), resume=True).read("paper", KEY)
    assert found is None or isinstance(found, dict)


def _plant_in_table(change: Callable[[Any], Any]) -> None:
    table = pq.read_table("file")
    metadata = dict(table.schema.metadata)
    metadata[b"unskew"] = json.dumps(change(json.loads(metadata[b"unskew"]))).encode()
    pq.write_table(seal(table.replace_schema_metadata(metadata)), "file")


def _plant_in_log(change: Callable[[Any], Any]) -> None:
    with pa.OSFile("file") as file:
        batch = pa.ipc.open_file(file).get_batch(0)
    told = json.dumps(change(json.loads(batch.schema.metadata[b"unskew.log"]))).encode()
    metadata = {b"unskew.log": told, b"unskew.log.checksum": str(zlib.crc32(told)).encode()}
    batch = batch.replace_schema_metadata(metadata)
    with pa.OSFile("file", "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _plant_in_world(change: Callable[[Any], Any]) -> None:
    path = Path("file/world.json")
    told = change({k: v for k, v in json.loads(path.read_text()).items() if k != "checksums"})
    path.write_text(json.dumps(told))


def _plant_in_case(change: Callable[[Any], Any]) -> None:
    [path] = Path("file/cases").iterdir()
    told = change(json.loads(path.read_text()))
    told["checksum"] = zlib.crc32(json.dumps(told.get("found"), sort_keys=True).encode())
    path.write_text(json.dumps(told))


KINDS = {
    "weights": (_make_weights, _plant_in_table, _use_weights),
    "marginal": (_make_marginal, _plant_in_table, _use_marginal),
    "timeline": (_make_timeline, _plant_in_table, _use_timeline),
    "log": (_make_log, _plant_in_log, _use_log),
    "world": (_make_world, _plant_in_world, _use_world),
    "closed loop": (_make_loop, _plant_in_world, _use_world),
    "injected world": (_make_injected, _plant_in_world, _use_world),
    "yardstick": (_make_case, _plant_in_case, _use_case),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_any_file_is_imported(kind: str, here: Path) -> None:
    make, plant, use = KINDS[kind]
    make()
    use()  # as it is
    told: list[Any] = []

    def look(found: Any) -> Any:
        told.append(found)
        return found

    plant(look)
    keep = shutil.copytree if Path("file").is_dir() else shutil.copy
    keep("file", "kept")
    places = [list(_each_text(told[0], spec)) for spec in SPECS]
    planted = [places[k % len(SPECS)][k] for k in range(len(places[0]))]
    refused = 0
    for value in planted:
        if Path("file").is_dir():
            shutil.rmtree("file")
        keep("kept", "file")
        plant(lambda _, value=value: value)  # type: ignore[misc]
        try:
            use()
        except UnskewError:
            refused += 1
        assert not Path("effect").exists(), value
    assert refused > 0
    assert not [name for name in sys.modules if "planted" in name and "test" not in name]


def test_the_planted_module_would_leave_a_trace(here: Path) -> None:
    recommender(SPECS[1])
    assert Path("effect").exists()
    sys.modules.pop(str(here / "planted.py"), None)
