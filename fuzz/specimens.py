"""One small whole file of every kind that unskew reads, and how to tell what unskew makes of it.

A specimen is a folder with everything that unskew needs; one file in it is damaged. A kind of file that is added
joins by a function here that lists its specimens: tests fail as long as a format or a kind of file has none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

import unskew as us
from fuzz import confirmations, examinations
from fuzz.file_formats import WAYS, Way
from fuzz.plain_columns import Columns
from fuzz.small_log import ITEMS, TIMES, USERS, N, list_pairs, make_small_table, read_small_log
from unskew.known_truths import yardstick

Shape = Literal["table", "text", "own table", "saved log", "json"]


@dataclass(frozen=True)
class Specimen:
    """A whole file, and what unskew makes of it.

    Attributes
    ----------
    name
        What it is called in findings.
    folder
        What its folder is called; the same for specimens that differ only in what is damaged.
    covers
        The format or the kind of file that it stands for.
    file
        What is damaged, inside of the folder.
    make
        Writes the folder.
    examine
        What unskew makes of the folder, damaged or not.
    shape
        What the file is made of, which says how it can be damaged.
    way
        How the file is written, if it is a table of somebody else's.
    confirm
        What another reader says against the answer, from the columns of the damaged file. None for files of
        unskew's own: they are as they were written, or refused.
    columns
        The columns that the other reader needs; None for all.
    """

    name: str
    folder: str
    covers: str
    file: str
    make: Callable[[Path], None]
    examine: Callable[[Path], Any]
    shape: Shape
    way: Way | None = None
    confirm: Callable[[Columns, Any], str] | None = None
    columns: tuple[str, ...] | None = None


def _list_log_tables() -> dict[str, pa.Table]:
    """Logs with several types of ids and times."""
    days = [date(2024, 1, 1) + timedelta(days=t) for t in TIMES]
    moments = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=7 * t, microseconds=t) for t in TIMES]
    texts = {"user": [f"user {u}" for u in USERS], "item": [f"ïtem,{i}" for i in ITEMS]}
    return {
        "integers": make_small_table().append_column("price", pa.array([n / 4 for n in range(N)])),
        "texts": pa.table({**texts, "time": pa.array(days, type=pa.date32())}),
        "moments": pa.table(
            {
                "user": pa.array(USERS, type=pa.uint32()),
                "item": pa.array(texts["item"]).dictionary_encode(),
                "time": pa.array(moments, type=pa.timestamp("us", "Europe/Paris")),
            }
        ),
        "decimals": pa.table(
            {
                "user": pa.array([float(u) for u in USERS]),
                "item": pa.array([i * 2**40 for i in ITEMS]),
                "time": pa.array([t / 8 for t in TIMES]),
            }
        ),
    }


def _write_table(folder: Path, file: str, way: Way, table: pa.Table) -> None:
    folder.mkdir(parents=True)
    (folder / file).write_bytes(way.pack(table))


def _list_logs() -> Iterator[Specimen]:
    for way in WAYS:
        for name, table in _list_log_tables().items():
            file = f"events{way.ending}"
            yield Specimen(
                f"log {way.ending} {name}",
                f"log{way.ending} {name}",
                way.format,
                file,
                partial(_write_table, file=file, way=way, table=table),
                partial(_examine_file, file=file),
                "table",
                way,
                confirmations.confirm_log,
                ("user", "item", "time"),
            )


def _examine_file(folder: Path, file: str, **columns: str) -> Any:
    return examinations.examine_log(folder / file, **columns)


def _list_tables_beside_logs() -> Iterator[Specimen]:
    """What is known besides the log, in a format with types and in one of text."""
    users = sorted(set(USERS))
    lists = [(u, (u * 3 + r * 5) % 12, r) for u in users[:-1] for r in range(1, 6)]
    later = pa.array([t + n % 7 - 3 for n, t in enumerate(TIMES)])
    tables: dict[str, tuple[pa.Table, Any, Any]] = {
        "exposures": (
            make_small_table().set_column(2, "time", later).slice(0, 40),
            examinations.examine_exposures,
            confirmations.confirm_exposures,
        ),
        "hold-out": (pa.table({"user": users[::3]}), examinations.examine_holdout, confirmations.confirm_holdout),
        "lists": (
            pa.table(dict(zip(("user", "item", "rank"), map(list, zip(*lists, strict=True)), strict=True))),
            examinations.examine_lists,
            confirmations.confirm_lists,
        ),
        "names": (
            pa.table({"item": list(range(11)), "title": [f"the item {i}" for i in range(11)]}),
            examinations.examine_names,
            confirmations.confirm_names,
        ),
    }
    for name, (table, examine, confirm) in tables.items():
        for way in (way for way in WAYS if way.ending in (".parquet", ".csv", ".jsonl")):
            file = f"{name}{way.ending}"
            yield Specimen(
                f"{name} {way.ending}",
                f"{name}{way.ending}",
                name,
                file,
                partial(_write_table, file=file, way=way, table=table),
                partial(examine, file=file),
                "table",
                way,
                partial(confirm, log=list_pairs()),
            )


def _make_saved_log(folder: Path, *, dated: bool) -> None:
    folder.mkdir(parents=True)
    table = {"user": USERS, "item": ITEMS, "time": TIMES, "shown": [n % 4 == 0 for n in range(N)]}
    options: dict[str, Any] = {"exposed": "shown"}
    if dated:
        days = [date(2024, 1, 1) + timedelta(days=t) for t in TIMES]
        gone = [None if n % 3 else day + timedelta(days=9) for n, day in enumerate(days)]
        more = {
            "time": days,
            "gone": gone,
            "price": [n / 4 for n in range(N)],
            "kind": [str(n % 3) for n in range(N)],
        }
        table, options = {**table, **more}, {"removed": "gone", "columns": ["price"], "labels": ["kind"]}
    us.read_log(table, **options).save(folder / "saved.arrow")


def _make_weights(folder: Path, *, chosen: bool) -> None:
    folder.mkdir(parents=True)
    log = read_small_log()
    options: dict[str, Any] = {"items": [0, 1, 2], "method": "descent"} if chosen else {}
    us.fit_weights(log.at(90), log.at(50), **options).save(folder / "weights.parquet")


def _make_marginal(folder: Path) -> None:
    folder.mkdir(parents=True)
    read_small_log().at(50).marginal().save(folder / "marginal.parquet")


def _make_timeline(folder: Path) -> None:
    folder.mkdir(parents=True)
    files: dict[str, Any] = {
        "output": folder / "timeline.parquet",
        "probabilities": folder / "probabilities.parquet",
    }
    us.timeline(read_small_log(), "popular", **examinations.TIMELINE, end=60, **files)


def _make_sample(folder: Path) -> None:
    folder.mkdir(parents=True)
    log = read_small_log()
    us.sample_pairs(log.at(90), sample=60, seed=1).save(folder / "sample.parquet")


def _make_world(folder: Path, *, name: str) -> None:
    folder.mkdir(parents=True)
    us.simulate(name, users=60, items=30, seed=1).save(folder / "world")


def _make_yardstick(folder: Path) -> None:
    folder.mkdir(parents=True)
    yardstick(["quiet"], **examinations.YARDSTICK, output=folder / "yardstick")


def _list_own_files() -> Iterator[Specimen]:
    """What unskew writes and reads again."""
    for dated in (False, True):
        yield Specimen(
            f"saved log{' dated' * dated}",
            f"saved log {dated:d}",
            "saved log",
            "saved.arrow",
            partial(_make_saved_log, dated=dated),
            lambda folder: examinations.examine_saved_log(folder / "saved.arrow"),
            "saved log",
        )
    for chosen in (False, True):
        yield Specimen(
            f"weights{' of some items' * chosen}",
            f"weights {chosen:d}",
            "weights",
            "weights.parquet",
            partial(_make_weights, chosen=chosen),
            examinations.examine_weights,
            "own table",
        )
    yield Specimen(
        "marginal",
        "marginal",
        "marginal",
        "marginal.parquet",
        _make_marginal,
        examinations.examine_marginal,
        "own table",
    )
    for kind in ("timeline", "probabilities"):
        yield Specimen(
            kind, "timeline", kind, f"{kind}.parquet", _make_timeline, examinations.examine_timeline, "own table"
        )
    yield Specimen(  # unskew reads it as it reads any other table
        "sample",
        "sample",
        "sample",
        "sample.parquet",
        _make_sample,
        partial(_examine_file, file="sample.parquet", time="probability"),
        "table",
        WAYS[0],
        partial(confirmations.confirm_log, time="probability"),
        ("user", "item", "probability"),
    )


def _list_folders() -> Iterator[Specimen]:
    """Folders of several files, of which one is damaged."""
    tables = {"paper": ("log", "exposures", "truth", "holdout"), "closed-loop": ("rounds",)}
    for name, files in tables.items():
        for file in [*(f"{file}.parquet" for file in files), "world.json"]:
            yield Specimen(
                f"world {name} {file}",
                f"world {name}",
                "world",
                f"world/{file}",
                partial(_make_world, name=name),
                examinations.examine_world,
                "json" if file.endswith("json") else "own table",
            )
    for case in ("quiet", "truth"):
        yield Specimen(
            f"yardstick {case}",
            "yardstick",
            "yardstick",
            f"yardstick/cases/{case}*.json",
            _make_yardstick,
            examinations.examine_yardstick,
            "json",
        )


def _make_configuration(folder: Path) -> None:
    folder.mkdir(parents=True)
    pq.write_table(make_small_table(), folder / "log.parquet")
    (folder / "unskew.toml").write_text('log = "log.parquet"\nreference = 50\nat = 90\n')


def _list_configurations() -> Iterator[Specimen]:
    yield Specimen(
        "configuration",
        "configuration",
        "configuration",
        "unskew.toml",
        _make_configuration,
        examinations.examine_configuration,
        "text",
        Way(
            "configuration",
            ".toml",
            lambda _: b"",
            lambda content, _: tomllib.loads(content.decode()),
            is_text=True,
        ),
        confirmations.confirm_configuration,
    )


def list_specimens() -> list[Specimen]:
    """Every specimen there is."""
    tables = [*_list_logs(), *_list_tables_beside_logs()]
    return [*tables, *_list_own_files(), *_list_folders(), *_list_configurations()]
