"""A simulated world, in memory and in files."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import unskew
from unskew.checks import require_whole_number
from unskew.data.log import Log
from unskew.data.times import check_time_unit
from unskew.errors import FileError, InputError, UnskewError, function, render
from unskew.reading.reader import read_log
from unskew.storage.files import damage_error, read_json, report_damage
from unskew.storage.folders import check_folder_writable, replace_folder
from unskew.storage.tables import read_metadata, read_parquet, sum_table, write_parquet
from unskew.text import one_line
from unskew.worlds.recipe import Recipe, check_recommenders, read_campaigns, to_json_types
from unskew.worlds.world_models import ContentModel, make_content_model


@dataclass(frozen=True, repr=False, eq=False)
class World:
    """A log whose truth is known. Made by `unskew.simulate`.

    Attributes
    ----------
    tables
        The history as Arrow tables, by name: log, exposures, truth, holdout; of a closed loop, rounds; of a world
        in which something was recommended before the reference date, stopped.
    about
        All parameters, the seed, the version: what `world.json` holds.
    """

    tables: Mapping[str, pa.Table]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"World({self.about.get('world')}: {len(self.tables['log'])} interactions after "
            f"{len(self.exposures)} exposures, {len(self.tables['truth'])} had nothing been recommended)"
        )

    @cached_property
    def log(self) -> Log:
        """Who took which item when; rows are exposed where the user had been shown the item before."""
        return self._read("log", exposed="exposed")

    @cached_property
    def truth(self) -> Log:
        """The log of the same world in which nothing was recommended."""
        return self._read("truth")

    @cached_property
    def stopped(self) -> Log | None:
        """The log had recommendations stopped after the recipe's ``stopped_after``; None if it has no such day."""
        return self._read(STOPPED) if STOPPED in self.tables else None

    @property
    def exposures(self) -> pa.Table:
        """Who was shown which item when, by which campaign (from 0), at which place of its list (from 1)."""
        return self.tables["exposures"]

    @property
    def holdout(self) -> pa.Table:
        """The users who are never shown anything."""
        return self.tables["holdout"]

    @property
    def rounds(self) -> pa.Table | None:
        """Of a closed loop: the scores of every candidate at every evaluation; else None."""
        return self.tables.get(ROUNDS)

    @property
    def campaigns(self) -> list[Any]:
        """The times of the campaigns."""
        times = self.exposures.column(self.columns[2]).unique().sort()
        if times.type == pa.timestamp("ns"):  # which a datetime of Python cannot hold
            return list(times.to_numpy())
        return list(times.to_pylist())

    @property
    def columns(self) -> list[str]:
        """What the columns of users, items and times are called."""
        names: list[str] = self.tables["log"].column_names[:3]
        return names

    @cached_property
    def recipe(self) -> Recipe:
        """What it was made from, if it was not injected into a log."""
        if "base" in self.about:
            raise InputError(
                f"this world was injected into {self.about['base']}: it has campaigns, but no recipe",
                remedy="take a world that was made from a recipe",
            )
        try:
            return Recipe.from_dict(self.about["parameters"], from_file=False)  # a file was checked when loaded
        except InputError as error:  # what is wrong there is no option of whoever reads it
            raise type(error)(f"{ABOUT}: {render(error.message)}", remedy=error.remedy) from None

    def content_model(self, twin: int = 0) -> ContentModel:
        """A recommender that knows the topics of the items, with noise; its twins differ in the noise alone.

        Twin 0 is what campaigns call ``content``, and twin 1 ``content-twin``. In expectation none is better.

        >>> import unskew as us
        >>> world = us.simulate("twins", users=300, items=120, seed=1)
        >>> print(world.content_model(), world.content_model(twin=1))
        content content-twin
        """
        return make_content_model(self.recipe, int(self.about["seed"]), twin)

    def save(self, folder: str | Path) -> list[Path]:
        """Write the tables (Parquet) and world.json into a folder; returns the paths.

        A world that is there already is replaced as a whole, in one step, once all of the new one is written.
        Other files are left alone; one that is in the way and does not belong to a world is an error.
        """
        return write_world(self.tables, self.about, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> World:
        """Read what `save` wrote.

        The file world.json may name only recommenders that unskew ships, since it may come from somebody else.

        >>> import tempfile, unskew as us
        >>> world = us.simulate(users=100, items=50, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = world.save(folder)
        ...     us.worlds.World.load(folder).tables["log"].equals(world.tables["log"])
        True
        """
        return cls(*read_world(Path(folder)))

    def _read(self, name: str, exposed: str | None = None) -> Log:
        unit = self.about.get("time_unit")  # of a base log whose times are whole numbers
        return read_log(self.tables[name], *self.columns, exposed=exposed, time_unit=unit)


def describe_world(world: str, seed: int, parameters: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What world.json holds."""
    return {"world": world, "seed": seed, "version": unskew.__version__, **more, "parameters": dict(parameters)}


TABLES = ("log", "exposures", "truth", "holdout")
ROUNDS, STOPPED = "rounds", "stopped"
_SOMETIMES = (ROUNDS, STOPPED)  # tables that not every world has
ABOUT = "world.json"

_SUMS = "checksums"  # an entry of world.json
_ENTRIES = {"world", "seed", "version", "parameters", "base", "time_unit", _SUMS}
_MAKE_AGAIN = "make it again"
_COLUMNS = {
    "log": ("exposed",),
    "exposures": ("campaign", "position"),
    "truth": (),
    STOPPED: (),
    ROUNDS: ("round", "at", "candidate", "score_of", "score", "rank", "chosen", "truth"),
}
"""The columns of tables, behind those of users, items and times where they have these."""


def write_world(tables: Mapping[str, pa.Table], about: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the tables as Parquet, and world.json; returns the paths."""
    check_folder(folder)
    chosen = {name: tables[name] for name in (*TABLES, *_SOMETIMES) if name in tables}
    with replace_folder(folder, owns=own_names().__contains__, last=[ABOUT]) as new:
        for name, table in chosen.items():
            write_parquet(new / f"{name}.parquet", table, _kind(name), {})
        entries = {**about, _SUMS: _sum_up(chosen, about)}
        (new / ABOUT).write_text(json.dumps(entries, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return [folder / name for name in (*(f"{name}.parquet" for name in chosen), ABOUT)]


def read_world(folder: Path) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables and the rest of what `write_world` wrote."""
    about = _read_about(folder)
    try:
        check_recommenders(about)
        parameters = _check_about(about)
    except UnskewError as error:  # what is wrong there is no option of whoever reads it
        raise type(error)(f"{folder / ABOUT}: {render(error.message)}", remedy=error.remedy) from None
    sums = about.pop(_SUMS, None)  # files of older versions have none
    known = sums if isinstance(sums, dict) else None
    more = [
        name
        for name in _SOMETIMES
        if (name in known if known is not None else (folder / f"{name}.parquet").exists())
    ]
    tables = {name: _read_table(folder, name) for name in (*TABLES, *more)}
    if sums is not None and sums != _sum_up(tables, about):
        raise damage_error(folder, "its tables and world.json are not those that were written", _MAKE_AGAIN)
    with report_damage(folder, _MAKE_AGAIN):
        _check_tables(tables)
    return tables, {**about, "parameters": parameters}


def check_folder(folder: str | Path) -> None:
    """Refuse a folder where a world cannot be written, or would replace files of somebody else."""
    folder = Path(folder)
    check_folder_writable(folder)
    if (folder / ABOUT).exists():
        _read_about(folder)
    for name in (*TABLES, *_SOMETIMES):
        path = folder / f"{name}.parquet"
        if path.exists() and _read_kind(path) != _kind(name):
            raise FileError(
                f"{folder} holds a file {path.name} that is not of a simulated world and would be lost",
                remedy="give another folder",
            )


def own_names() -> frozenset[str]:
    """What the files of a world are called."""
    return frozenset([*(f"{name}.parquet" for name in (*TABLES, *_SOMETIMES)), ABOUT])


def _sum_up(tables: Mapping[str, pa.Table], about: Mapping[str, Any]) -> dict[str, int]:
    text = json.dumps(dict(about), sort_keys=True).encode()
    return {**{name: sum_table(table) for name, table in tables.items()}, "about": zlib.crc32(text)}


def _read_about(folder: Path) -> dict[str, Any]:
    about = read_json(folder / ABOUT)
    known = isinstance(about, dict) and {"world", "seed", "parameters"} <= about.keys()
    if not known or not isinstance(about["parameters"], dict):
        raise InputError(
            f"{folder / ABOUT} does not describe a world", remedy=f"make one with {function('simulate')}"
        )
    return dict(about)


def _check_about(about: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, those included that have their defaults; refuses what no world has."""
    unknown = sorted(set(about) - _ENTRIES)
    if unknown:
        raise InputError(f"it has {one_line(unknown[0])}, which no world has", remedy=_MAKE_AGAIN)
    for name in ("world", "version", "base"):
        if not isinstance(about.get(name, ""), str):
            raise InputError(f"{name} is {about[name]!r}", remedy="it must be text")
    require_whole_number("seed", about["seed"], "where the random numbers begin", 0)
    check_time_unit(about.get("time_unit"))
    if "base" not in about:
        return Recipe.from_dict(about["parameters"]).to_dict()
    campaigns = [asdict(campaign) for campaign in read_campaigns(about["parameters"].get("campaigns"))]
    return to_json_types({**about["parameters"], "campaigns": campaigns})


def _read_table(folder: Path, name: str) -> pa.Table:
    path = folder / f"{name}.parquet"
    table, metadata = read_parquet(path)
    if metadata and metadata.get("kind") != _kind(name):
        raise damage_error(path, "it is another table than its name says", _MAKE_AGAIN)
    return table.replace_schema_metadata(None)


def _check_tables(tables: Mapping[str, pa.Table]) -> None:
    names = tables["log"].column_names[:3]
    kinds = tables["log"].schema.types[:3]
    for name, more in _COLUMNS.items():
        if name not in tables:
            continue
        wanted = [*(names if name != ROUNDS else []), *more]
        if tables[name].column_names[: len(wanted)] != wanted:
            raise ValueError(f"the columns of {name} must be {', '.join(wanted)}")
        if name != ROUNDS and tables[name].schema.types[:3] != kinds:
            raise ValueError(f"{name} has columns of other types than log")
    if tables["holdout"].column_names != names[:1] or tables["holdout"].schema.types != kinds[:1]:
        raise ValueError("holdout must be one column of users")
    if not pa.types.is_boolean(tables["log"].schema.types[3]):
        raise ValueError("exposed must be true or false")
    for name in ("log", "truth", STOPPED):
        if name in tables and len(tables[name]) == 0:
            raise ValueError(f"{name} has no rows")
    for name, table in tables.items():
        empty = [column for column in table.column_names if table.column(column).null_count]
        if empty:
            raise ValueError(f"column {empty[0]} of {name} has no value in some row")


def _kind(name: str) -> str:
    return f"world {name}"


def _read_kind(path: Path) -> Any:
    """What unskew says the file is; None if it did not write it."""
    try:
        return read_metadata(pq.read_schema(path.absolute())).get("kind")
    except (pa.ArrowException, OSError, FileError):
        return None
