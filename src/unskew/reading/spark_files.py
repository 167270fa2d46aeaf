"""Parquet files for a Spark session: those of this machine are looked into here before Spark reads them.

Spark by itself leaves out files in folders within a folder and files whose names begin with ``_`` or ``.``, and
takes the columns of one file for those of all: what another lacks would be null. Here the files are those that are
read on one machine, and what they lack is refused in the same words. Of files of the cluster's own file system
(``hdfs://...``) nothing is known before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unskew.engines.spark_session import translate_errors
from unskew.errors import ColumnError, EngineError
from unskew.reading.formats import PARQUET, find_format
from unskew.reading.sources import STDIN_NAME, Part, Source, find_files, open_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNREAD = re.compile(r"[_.].*|.*:.*")  # names of files that Spark leaves out or cannot read
_GLOB_SIGNS = re.compile(r"([\\{}\[\]*?])")


@dataclass(frozen=True, eq=False)
class SparkFiles:
    """Parquet files that a session is to read.

    Attributes
    ----------
    session
        Which.
    paths
        As Spark takes them.
    parts
        What is known of the files of this machine; none of others.
    base
        The folder that holds those that are called ``name=value``, if the files lie in such.
    """

    session: SparkSession
    paths: tuple[str, ...]
    parts: tuple[Part, ...]
    base: str | None = None

    @property
    def name(self) -> str:
        """How to speak of them."""
        names = [part.name for part in self.parts] or list(self.paths)
        return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")

    def read(self, asked: Sequence[object] = ()) -> tuple[DataFrame, Source]:
        """A table of them, and what is known of it; columns that folders tell are there if they are asked for."""
        known = _describe(self.parts, [name for part in self.parts for name in part.kinds])
        told = [name for name in dict.fromkeys(asked) if isinstance(name, str) and known.is_in_folders(name)]
        reader = self.session.read
        if self.parts and told and self.base is not None:
            reader = reader.option("basePath", self.base)
        with translate_errors(f"reading {self.name}"):
            frame = reader.parquet(*self.paths)
        if not self.parts:
            return frame, describe_table(self.name, frame)
        for name in told:
            known = known.with_folders(name)
        return frame, known


def describe_table(name: str, frame: DataFrame) -> Source:
    """What is known of a Spark table: no more than what its columns are called."""
    return replace(_describe([Part(name, "")], frame.columns), frame=frame)


def _describe(parts: Sequence[Part], columns: Sequence[str]) -> Source:
    nowhere: Any = None  # there is no DuckDB in it
    return Source(nowhere, "", tuple(parts), tuple(dict.fromkeys(columns)))


def open_parquet(paths: Sequence[str | Path], session: SparkSession) -> SparkFiles:
    """Parquet files; paths are of this machine or, as ``hdfs://...``, of a file system of the cluster."""
    there = [str(path) for path in paths if "://" in str(path)]
    if there:
        here = [str(path) for path in paths if "://" not in str(path)]
        if here:
            raise EngineError(f"{there[0]} is on the cluster and {here[0]} is not", remedy="read one or the other")
        return SparkFiles(session, tuple(there), ())
    files = find_files(list(paths))
    for file in files:
        if file.name == STDIN_NAME or find_format(file) is not PARQUET:
            raise EngineError(
                f"on Spark only Parquet files are read, not {file.name}",
                remedy="convert it, or give read_log a Spark table of it",
            )
        if _UNREAD.fullmatch(file.path.name):
            raise EngineError(
                f"Spark does not read files whose names begin with _ or . or have a colon, such as {file.name}",
                remedy="rename it, or name the others",
            )
    with open_source([file.path for file in files]) as source:
        parts = source.parts
    for part in parts:
        _refuse_nanoseconds(part)
    places = [file.path.absolute() for file in files]
    bases = {_find_base(place) for place in places}
    literal = tuple("file://" + _GLOB_SIGNS.sub(r"\\\1", str(place)) for place in places)
    return SparkFiles(session, literal, parts, f"file://{bases.pop()}" if len(bases) == 1 else None)


def _find_base(place: Path) -> Path:
    """The folder that holds the first of those called ``name=value``; without any, the file's own."""
    named = next((k for k, part in enumerate(place.parts[:-1]) if "=" in part), len(place.parts) - 1)
    return Path(*place.parts[:named])


def _refuse_nanoseconds(part: Part) -> None:
    for field in part.schema or ():
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            raise EngineError(
                f"column {field.name!r} of {part.name} holds timestamps in nanoseconds, which Spark does not read",
                remedy="write them in microseconds",
            )


def require_one_type(source: Source, names: Sequence[str]) -> None:
    """Refuse columns of different types in different files, which Spark reads as those of one of them."""
    for name in names:
        types: dict[pa.DataType, str] = {}
        for part in source.parts:
            if part.schema is not None and name in part.schema.names:
                types.setdefault(part.schema.field(name).type, part.name)
        if len(types) > 1:
            told = " and ".join(f"{kind} in {file}" for kind, file in types.items())
            raise ColumnError(f"column {name!r} holds {told}", remedy="on Spark, make them one type")


def refuse_changed_folders(frame: DataFrame, source: Source, names: Sequence[str]) -> None:
    """Refuse ids that the names of folders tell as texts and that Spark takes for something else, as 2 for 02."""
    for name in names:
        kind = frame.schema[name].dataType.simpleString() if name in frame.columns else "string"
        first = source.parts[0]
        if name in first.folders and first.kinds.get(name) == "VARCHAR" and kind != "string":
            raise EngineError(
                f"the ids {name!r} are the names of folders, which Spark takes for {kind}",
                remedy="write them into the files",
            )
