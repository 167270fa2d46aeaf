"""Parquet files for a Spark session: those of this machine are looked into here before Spark reads them.

Spark by itself leaves out files in folders within a folder and files whose names begin with ``_`` or ``.``, and
takes the columns of one file for those of all: what another lacks would be null. Here the files are those that are
read on one machine, and what they lack is refused in the same words. Of files of the cluster's own file system
(``hdfs://...``) nothing is known before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet

from unskew.data.ids import kind_of
from unskew.engines.spark_jobs import create_table, run_job
from unskew.errors import ColumnError, EngineError
from unskew.reading.formats import PARQUET, find_format
from unskew.reading.sources import STDIN_NAME, Part, Source, find_files, open_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNREAD = re.compile(r"[_.].*|.*:.*|.*\._COPYING_")  # names of files that Spark leaves out or cannot read
_GLOB_SIGNS = re.compile(r"([\\{}\[\]*?])")
_PATH = "the path of the file"  # a column for a moment


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
        What is known of each: of those of another machine no more than their names.
    places
        The files of this machine, each where `paths` has it; none if they are on another.
    """

    session: SparkSession
    paths: tuple[str, ...]
    parts: tuple[Part, ...]
    places: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """How to speak of them."""
        return _describe(self.parts, ()).name

    def read(self, asked: Mapping[str, Sequence[object]]) -> tuple[DataFrame, Source]:
        """A table of them, and what is known of it.

        Of columns that folders tell it has those that are asked for, by their roles.
        """
        frame = run_job(self.session, f"reading {self.name}", lambda: self.session.read.parquet(*self.paths))
        here = [name for part in self.parts for name in part.kinds]
        known = replace(_describe(self.parts, here or frame.columns), frame=frame)
        kinds: dict[str, str] = {}
        for role, name in ((role, name) for role, names in asked.items() for name in names):
            if isinstance(name, str) and known.is_in_folders(name):
                known = known.with_folders(name)
                kinds[name] = known.parts[0].kinds[name] if role in ("user", "item") else ""
        return self._add_told(frame, kinds) if kinds else frame, known

    def _add_told(self, frame: DataFrame, told: Mapping[str, str]) -> DataFrame:
        """The table with columns that the names of folders tell: what they are called, and of ids their kind.

        Spark's own way takes them before columns of the same name, and for other values: ``02`` for 2, and
        ``%C3%AB`` for two letters.
        """
        from pyspark.sql import functions as F  # noqa: N812

        folders = {
            os.path.normpath(place): part.folders for place, part in zip(self.places, self.parts, strict=True)
        }
        files = [_strip(one) for one in frame.inputFiles()]
        values = [folders[unquote(one)] for one in files]
        columns = {name: _read_told([one[name] for one in values], name, kind) for name, kind in told.items()}
        table = create_table(self.session, pa.table({_PATH: files, **columns}))
        path = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/")
        return frame.withColumn(_PATH, path).join(F.broadcast(table), _PATH).drop(_PATH)


def _strip(path: str) -> str:
    return re.sub("^file:/+", "/", path)


def _read_told(texts: Sequence[str], name: str, kind: str) -> pa.Array:
    """What names of folders say: as ids what one machine takes them for (`kind`), and all else must be clear."""
    if kind:
        return pa.array(list(map(int, texts)) if kind == "BIGINT" else texts)
    if all(re.fullmatch("-?[0-9]{1,18}", text) for text in texts):
        return pa.array(list(map(int, texts)))
    if all(re.fullmatch(r"-?[0-9]+\.[0-9]*", text) for text in texts):
        return pa.array(list(map(float, texts)))
    if all(text.lower() in ("true", "false") for text in texts):
        return pa.array([text.lower() == "true" for text in texts])
    try:
        return pa.array([date.fromisoformat(text) for text in texts])
    except ValueError:
        raise EngineError(
            f"on Spark, folders tell whole numbers, decimal numbers or dates, and {name!r} is {texts[0]!r}",
            remedy="write it into the files",
        ) from None


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
        return SparkFiles(session, tuple(there), parts=tuple(Part(path, "") for path in there))
    files = find_files(list(paths))
    for file in files:
        if file.name == STDIN_NAME or find_format(file) is not PARQUET:
            raise EngineError(
                f"on Spark only Parquet files are read, not {file.name}",
                remedy="convert it, or give read_log a Spark table of it",
            )
        if _UNREAD.fullmatch(file.path.name):
            raise EngineError(
                "Spark does not read files whose names begin with _ or ., end in ._COPYING_ or have a colon, such "
                f"as {file.name}",
                remedy="rename it, or name the others",
            )
    with open_source([file.path for file in files]) as source:
        parts = source.parts
    for file, part in zip(files, parts, strict=True):
        _refuse_nanoseconds(file.path, part)
    places = tuple(file.path.absolute() for file in files)
    literal = tuple("file://" + _GLOB_SIGNS.sub(r"\\\1", str(place)) for place in places)
    return SparkFiles(session, literal, parts, places)


def _refuse_nanoseconds(path: Path, part: Part) -> None:
    """Refuse what Spark does not read. What it writes itself (INT96) looks the same to Arrow, and is no fault."""
    schema = part.schema or pa.schema([])
    fields = [one.name for one in schema if pa.types.is_timestamp(one.type) and one.type.unit == "ns"]
    if not fields:
        return
    columns = parquet.ParquetFile(path).schema
    kinds = {columns.column(k).path: columns.column(k).physical_type for k in range(len(columns))}
    for name in fields:
        if kinds.get(name) == "INT64":
            raise EngineError(
                f"column {name!r} of {part.name} holds timestamps in nanoseconds, which Spark does not read",
                remedy="write them in microseconds",
            )


def require_one_type(source: Source, names: Sequence[str]) -> None:
    """Refuse columns of different types in different files, which Spark reads as those of one of them."""
    for name in names:
        types: dict[str, str] = {}
        for part in source.parts:
            if part.schema is not None and name in part.schema.names:
                types.setdefault(_name_type(part.schema.field(name).type), part.name)
        if len(types) > 1:
            told = " and ".join(f"{kind} in {file}" for kind, file in types.items())
            raise ColumnError(f"column {name!r} holds {told}", remedy="on Spark, make them one type")


def _name_type(kind: pa.DataType) -> str:
    """The type as Parquet has it, where Arrow has several for one."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return "text" if kind_of(kind) == "text" else str(kind)
