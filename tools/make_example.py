"""The log that ships with unskew: simulated people, and a recommender that is switched on on 1 March 2024.

    python -m tools.make_example

Production shows a fifth of the users a list every ten days, made with the co-occurrence neighbours of their items,
and people accept some of what they are shown. `make_world` also has the same people without recommendations: the
truth with which the documentation compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import unskew as us
from unskew.reading.input_files import EXAMPLE, EXAMPLE_EXPOSURES
from unskew.worlds.named_worlds import WORLDS
from unskew.worlds.world import World

FOLDER = Path(us.__file__).parent / "reading"
SEED = 1
LAUNCH = np.datetime64("2023-04-16")
"""Day 0; production starts on day 320, which is 1 March 2024."""

TRUTH = {"knn": -0.0294, "ease": 0.0688}
"""Differences of hit@5 to popular had nothing been recommended, weighted from the last day to 29 February 2024."""


def make_world() -> World:
    """The world of the example: `steady` with fewer people, who accept less of what they are shown."""
    steady = WORLDS["steady"]
    campaigns = tuple(replace(campaign, acceptance=0.02) for campaign in steady.campaigns)
    return us.simulate(replace(steady, users=4000, items=3000, campaigns=campaigns), seed=SEED)


def make_tables(world: World) -> Mapping[str, pa.Table]:
    """The two files, by name, with dates instead of days."""
    columns = ["user", "item", "time"]
    tables = {EXAMPLE: world.tables["log"], EXAMPLE_EXPOSURES: world.exposures}
    return {name: add_dates(table.select(columns)) for name, table in tables.items()}


def add_dates(table: pa.Table) -> pa.Table:
    """The table with its days counted from the launch."""
    days = LAUNCH + table.column("time").to_numpy().astype("timedelta64[D]")
    return table.set_column(table.column_names.index("time"), "time", pa.array(days))


if __name__ == "__main__":
    for name, table in make_tables(make_world()).items():
        pq.write_table(table, FOLDER / f"{name}.parquet", compression="zstd")
