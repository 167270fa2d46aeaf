"""A world with its history: what happened, what was shown, the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

import unskew
from unskew.data.log import Log
from unskew.errors import InputError, render
from unskew.reading.reader import read_log
from unskew.worlds.recipe import Recipe
from unskew.worlds.world_files import ABOUT, ROUNDS, STOPPED, read_world, write_world
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
            raise InputError(f"this world was injected into {self.about['base']}: it has campaigns, but no recipe")
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
        ...     us.World.load(folder).tables["log"].equals(world.tables["log"])
        True
        """
        return cls(*read_world(Path(folder)))

    def _read(self, name: str, exposed: str | None = None) -> Log:
        unit = self.about.get("time_unit")  # of a base log whose times are whole numbers
        return read_log(self.tables[name], *self.columns, exposed=exposed, time_unit=unit)


def describe_world(world: str, seed: int, parameters: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What world.json holds."""
    return {"world": world, "seed": seed, "version": unskew.__version__, **more, "parameters": dict(parameters)}
