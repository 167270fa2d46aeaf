"""The log that ships with unskew, so that every example of the documentation runs as printed.

It is simulated: 4 000 users, 2 867 items, and a recommender that is switched on on 1 March 2024.
``python -m tools.make_example`` makes the files.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unskew.data.log import Log

LOG, EXPOSURES = "example", "example-exposures"


def example_log() -> Log:
    """The built-in log: 4 000 users, 2 867 items, 500 days, a recommender that is switched on on 2024-03-01.

    It is simulated. ``read_log("example")`` and ``unskew evaluate example`` read the same log, and
    ``"example-exposures"``, wherever exposures are read, is who was shown what when. A file in the working
    directory that has one of these names is read instead.

    Examples
    --------
    >>> import unskew as us
    >>> us.example_log()
    Log(4000 users, 2867 items, 26606 interactions from 2023-04-16 to 2024-08-28)
    """
    from unskew.reading.reader import read_log

    return replace(read_log(_locate(LOG), repeats=True), source=LOG)


def find_example(source: str | Path) -> Path | None:
    """The built-in file of that name; None if there is none, or a file in the working directory has it."""
    name = str(source)
    return _locate(name) if name in (LOG, EXPOSURES) and not Path(name).exists() else None


def _locate(name: str) -> Path:
    return Path(str(files("unskew.reading").joinpath(f"{name}.parquet")))
