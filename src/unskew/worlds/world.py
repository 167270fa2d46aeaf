"""A world with its history: what happened, what was shown, the truth; and the folder that it is kept in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import unskew
from unskew.data.log import Log
from unskew.errors import FileError, InputError, function, render
from unskew.files import check_readable, read_metadata, read_parquet, write_parquet
from unskew.reading.reader import read_log
from unskew.worlds.recipe import Recipe, check_recommenders

_TABLES = ("log", "exposures", "truth", "holdout")
_ROUNDS = "rounds"
_ABOUT = "world.json"


@dataclass(frozen=True, repr=False, eq=False)
class World:
    """A log whose truth is known. Made by `unskew.simulate`.

    Attributes
    ----------
    tables
        The history as Arrow tables, by name: log, exposures, truth, holdout and, of a closed loop, rounds.
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
        return self.tables.get(_ROUNDS)

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
            raise InputError(f"this world was injected into {self.about['base']}: it has campaigns, but no recipe")
        try:
            return Recipe.from_dict(self.about["parameters"], from_file=False)  # a file was checked when loaded
        except InputError as error:  # what is wrong there is no option of whoever reads it
            raise type(error)(f"{_ABOUT}: {render(error.message)}", remedy=error.remedy) from None

    def save(self, folder: str | Path) -> list[Path]:
        """Write the tables (Parquet) and world.json into a folder; returns the paths.

        A world that is there already is replaced as a whole, once all of the new one is written. Other files are
        left alone; one that is in the way and does not belong to a world is an error.
        """
        target = Path(folder)
        check_folder(target)
        tables = {name: self.tables[name] for name in (*_TABLES, _ROUNDS) if name in self.tables}
        names = [*(f"{name}.parquet" for name in tables), _ABOUT]
        try:
            target.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=".unskew-", dir=target) as temporary:
                for name, table in tables.items():
                    write_parquet(Path(temporary) / f"{name}.parquet", table, _kind(name), {})
                about = json.dumps(self.about, indent=2) + "\n"
                (Path(temporary) / _ABOUT).write_text(about, encoding="utf-8")
                for name in (_ABOUT, f"{_ROUNDS}.parquet"):  # a killed run must not leave a mix of two worlds
                    (target / name).unlink(missing_ok=True)
                for name in names:
                    (Path(temporary) / name).replace(target / name)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"cannot write to {folder}: {error.strerror or error}") from error
        return [target / name for name in names]

    @classmethod
    def load(cls, folder: str | Path) -> World:
        """Read what `save` wrote.

        The file world.json may name only recommenders that unskew ships, since it may come from somebody else.

        >>> import tempfile, unskew as us
        >>> world = us.simulate(users=100, items=50, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = world.save(folder)
        ...     us.World.load(folder).tables["log"].equals(world.tables["log"])
        True
        """
        source = Path(folder)
        about = _read_about(source)
        try:
            check_recommenders(about)
        except InputError as error:
            raise error.with_context(str(source / _ABOUT)) from None
        names = [*_TABLES, *([_ROUNDS] if (source / f"{_ROUNDS}.parquet").exists() else [])]
        tables = {name: read_parquet(source / f"{name}.parquet")[0] for name in names}
        return cls({name: table.replace_schema_metadata(None) for name, table in tables.items()}, about)

    def _read(self, name: str, exposed: str | None = None) -> Log:
        unit = self.about.get("time_unit")  # of a base log whose times are whole numbers
        return read_log(self.tables[name], *self.columns, exposed=exposed, time_unit=unit)


def check_folder(folder: str | Path) -> None:
    """Refuse a folder where a world cannot be written, or would replace files of somebody else."""
    folder = Path(folder)
    if (folder / _ABOUT).exists():
        _read_about(folder)
    for name in (*_TABLES, _ROUNDS):
        path = folder / f"{name}.parquet"
        if path.exists() and _read_kind(path) != _kind(name):
            raise FileError(
                f"{folder} holds a file {path.name} that is not of a simulated world and would be lost",
                remedy="give another folder",
            )
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise FileError(f"cannot write to {folder}: {there} is a file", remedy="give the name of a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise FileError(f"cannot write to {folder}: permission denied")


def describe_world(world: str, seed: int, parameters: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What world.json holds."""
    return {"world": world, "seed": seed, "version": unskew.__version__, **more, "parameters": dict(parameters)}


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / _ABOUT
    check_readable(path)
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise FileError(f"{path} cannot be read as JSON: {error}") from None
    known = isinstance(about, dict) and {"world", "seed", "parameters"} <= about.keys()
    if not known or not isinstance(about["parameters"], dict):
        raise InputError(f"{path} does not describe a world", remedy=f"make one with {function('simulate')}")
    return dict(about)


def _kind(name: str) -> str:
    """What unskew writes into the metadata of a table of a world."""
    return f"world {name}"


def _read_kind(path: Path) -> Any:
    """What unskew says the file is; None if it did not write it."""
    try:
        return read_metadata(pq.read_schema(path)).get("kind")
    except (pa.ArrowException, OSError, FileError):
        return None
