"""A world with its history: the log, what was shown, the truth; and the folder that it is kept in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import unskew
from unskew.errors import FileError, InputError
from unskew.files import check_readable, read_metadata, read_parquet, write_parquet

_FILES = ("log", "exposures", "truth", "holdout")
_ABOUT = "world.json"
_ROUNDS = "rounds"


@dataclass(frozen=True, repr=False, eq=False)
class World:
    """A log whose truth is known. Made by `unskew.simulate`.

    Attributes
    ----------
    log
        Who took which item when; `exposed` is true where the user had been shown the item before.
    truth
        The same world in which nothing was recommended.
    exposures
        Who was shown which item when, by which campaign (from 0), at which place of its list (from 1).
    holdout
        The users who are never shown anything.
    about
        All parameters, the seed, the version: what `world.json` holds.
    rounds
        Of a closed loop: the scores of every candidate at every evaluation; else None.
    """

    log: pa.Table
    truth: pa.Table
    exposures: pa.Table
    holdout: pa.Table
    about: Mapping[str, Any] = field(default_factory=dict)
    rounds: pa.Table | None = None

    def __repr__(self) -> str:
        return (
            f"World({self.about.get('world')}: {len(self.log)} interactions after {len(self.exposures)} "
            f"exposures, {len(self.truth)} had nothing been recommended)"
        )

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
        names: list[str] = self.log.column_names[:3]
        return names

    def save(self, folder: str | Path) -> list[Path]:
        """Write log, exposures, truth, holdout (Parquet) and world.json into a folder; returns the paths.

        A world that is there already is replaced as a whole, once all of the new one is written. Anything that is
        not of a world is left alone; a file in the way that is not of one is an error.
        """
        target = Path(folder)
        _check(target)
        tables = {name: getattr(self, name) for name in (*_FILES, _ROUNDS)}
        tables = {name: table for name, table in tables.items() if table is not None}
        names = [*(f"{name}.parquet" for name in tables), _ABOUT]
        try:
            target.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=".unskew-", dir=target) as made:
                for name, table in tables.items():
                    write_parquet(Path(made) / f"{name}.parquet", table, _kind(name), {})
                told = json.dumps(self.about, indent=2) + "\n"
                (Path(made) / _ABOUT).write_text(told, encoding="utf-8")
                for name in (_ABOUT, f"{_ROUNDS}.parquet"):  # half of two worlds is none
                    (target / name).unlink(missing_ok=True)
                for name in names:
                    (Path(made) / name).replace(target / name)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"cannot write to {folder}: {error.strerror or error}") from error
        return [target / name for name in names]

    @classmethod
    def load(cls, folder: str | Path) -> World:
        """Read what `save` wrote.

        >>> import tempfile, unskew as us
        >>> world = us.simulate(users=100, items=50, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = world.save(folder)
        ...     us.World.load(folder).log.equals(world.log)
        True
        """
        source = Path(folder)
        about = _told(source)
        tables = {name: _plain(read_parquet(source / f"{name}.parquet")[0]) for name in _FILES}
        rounds = source / f"{_ROUNDS}.parquet"
        return cls(**tables, about=about, rounds=_plain(read_parquet(rounds)[0]) if rounds.exists() else None)


def _plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def _told(folder: Path) -> dict[str, Any]:
    path = folder / _ABOUT
    check_readable(path)
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise FileError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(about, dict) or "world" not in about:
        raise InputError(f"{path} does not describe a world: make one with 'unskew simulate'")
    return about


def _kind(name: str) -> str:
    return f"world {name}"


def _check(folder: Path) -> None:
    """Refuse to write over what is not ours, and where nothing can be written."""
    if (folder / _ABOUT).exists():
        _told(folder)
    for name in (*_FILES, _ROUNDS):
        path = folder / f"{name}.parquet"
        if path.exists() and _kind_of(path) != _kind(name):
            raise FileError(
                f"{folder} holds a file {path.name} that is not of a simulated world: it would be lost; "
                "give another folder"
            )
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise FileError(f"cannot write to {folder}: {there} is a file; give the name of a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise FileError(f"cannot write to {folder}: permission denied")


def _kind_of(path: Path) -> Any:
    """What unskew says the file is; None if it did not write it."""
    try:
        return read_metadata(pq.read_schema(path)).get("kind")
    except (pa.ArrowException, OSError, FileError):
        return None


def check_folder(folder: str | Path) -> None:
    """Fail before the work if a world could not be saved there."""
    _check(Path(folder))


def described(world: str, seed: int, parameters: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What world.json says."""
    return {"world": world, "seed": seed, "version": unskew.__version__, **more, "parameters": dict(parameters)}
