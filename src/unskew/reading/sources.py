"""Where a log comes from: files of several formats, or a dataframe, as one DuckDB relation.

This module finds the files, tells their formats and turns a library's complaint into one line that
names the file. What the columns mean is left to `unskew.reading.reader`.
"""

from __future__ import annotations

import contextlib
import glob
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from unskew import frames
from unskew.arrays.blocks import threads
from unskew.data.saved_log import is_saved_log
from unskew.errors import FileError, InputError
from unskew.files import check_readable, shorten_path
from unskew.reading.text_files import CsvForm, json_relation, paths, reason
from unskew.text import first_line

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class Part:
    """One file, or the one frame.

    Attributes
    ----------
    name
        How to speak of it.
    format
        ``parquet``, ``csv``, ``json``, ``arrow`` or ``frame``.
    relation
        What SQL calls it.
    kinds
        The type of each of its columns; empty for a frame, which is not converted yet.
    schema
        Its Arrow schema, where it has one: this tells zones and categoricals.
    """

    name: str
    format: str
    relation: str
    kinds: Mapping[str, str] = field(default_factory=dict)
    schema: pa.Schema | None = None


@dataclass(frozen=True)
class Source:
    """Something to read a log from.

    Attributes
    ----------
    relation
        All parts together, for SQL.
    columns
        The columns that the parts have together.
    library
        The dataframe library it came in, None for files.
    """

    connection: duckdb.DuckDBPyConnection
    relation: str
    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    library: str | None = None
    frame: Any = None

    def narrowed(self, columns: Sequence[str]) -> Source:
        """The same with these columns alone; a frame is converted only now, and only these of it."""
        if self.frame is None:
            return self
        table = frames.to_arrow(self.frame, list(columns))
        self.connection.register("frame", _without_categoricals(table))
        return replace(self, parts=(replace(self.parts[0], schema=table.schema),), frame=None)

    @property
    def name(self) -> str:
        """How to speak of the whole."""
        return self.parts[0].name + (f" and {len(self.parts) - 1} more" if len(self.parts) > 1 else "")

    @property
    def is_text(self) -> bool:
        """Whether values come as text whose type is still to be found out."""
        formats = {part.format for part in self.parts}
        return "csv" in formats or ("json" in formats and len(formats) > 1)

    @property
    def costly(self) -> bool:
        """Whether reading it twice means parsing it twice."""
        return any(part.format in ("csv", "json") for part in self.parts)

    def zone(self, column: str) -> str | None:
        """The time zone of a column, where the source tells it."""
        kind = self._arrow_type(column)
        return kind.tz if kind is not None and pa.types.is_timestamp(kind) else None

    def is_categorical(self, column: str) -> bool:
        """Whether the column came as a categorical."""
        kind = self._arrow_type(column)
        return kind is not None and bool(pa.types.is_dictionary(kind))

    def first_row(self, condition: str, show: str) -> tuple[str, Any]:
        """Where the first row with `condition` is (counting from 1), and the value of `show` there."""
        for part in self.parts:
            found = self.connection.execute(
                f"SELECT n, v FROM (SELECT row_number() OVER () AS n, {show} AS v, {condition} AS bad "
                f"FROM {part.relation}) WHERE bad ORDER BY n LIMIT 1"
            ).fetchall()
            if found:
                return f"row {found[0][0]} of {part.name}", found[0][1]
        return f"a row of {self.name}", None

    def _arrow_type(self, column: str) -> pa.DataType | None:
        schemas = (part.schema for part in self.parts if part.schema is not None)
        schema = next((s for s in schemas if column in s.names), None)
        return None if schema is None else schema.field(column).type


def quoted(name: str) -> str:
    """A column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def opened(source: Any) -> Iterator[Source]:
    """Open a source for reading; what DuckDB says against it becomes a `FileError`."""
    spill = tempfile.mkdtemp(prefix="unskew-")
    connection = duckdb.connect(config={"threads": threads(), "temp_directory": spill})
    try:
        connection.execute("SET enable_progress_bar=false")
        connection.execute("SET TimeZone='UTC'")  # and not that of the machine
        with translated(str(source) if isinstance(source, str | Path) else "the log"):
            yield _open(connection, source)
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


@contextlib.contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn an error of DuckDB into one line about the file."""
    try:
        yield
    except duckdb.Error as error:
        raise FileError(f"cannot read {name}: {reason(error)}") from error


def expand(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files meant by a path, a glob, a folder of Parquet files, or a list of these."""
    if not isinstance(source, str | Path):
        return [path for one in source for path in expand(one)]
    path = Path(source)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError:  # a name longer than names can be
        is_folder = exists = False
    if is_folder:
        found = sorted(p for p in path.rglob("*") if p.suffix in (".parquet", ".pq") and p.is_file())
        if not found:
            raise FileError(f"the folder {path} has no Parquet file in it: name the files, as in {path / '*.csv'}")
    elif not exists and glob.has_magic(str(source)):
        found = sorted(p for p in map(Path, glob.glob(str(source), recursive=True)) if p.is_file())
        if not found:
            raise FileError(f"no file matches {shorten_path(path)}")
    else:
        found = [path]
    for one in found:
        check_readable(one)
    return found


def _open(connection: duckdb.DuckDBPyConnection, source: Any) -> Source:
    if isinstance(source, Mapping):
        source = frames.from_columns(source)
    if isinstance(source, str | Path) or (
        isinstance(source, list | tuple) and all(isinstance(s, str | Path) for s in source)
    ):
        return _open_files(connection, expand(source))
    if not frames.is_frame(source):
        raise InputError(
            f"cannot read a log from a {type(source).__name__}: give a path, a list of paths or a dataframe"
        )
    columns = tuple(frames.column_names(source))
    part = Part("the table", "frame", "frame")
    return Source(connection, "frame", (part,), columns, frames.library_of(source), source)


def _open_files(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> Source:
    if not files:
        raise InputError("the list of files is empty")
    parts = tuple(_part(connection, path, k) for k, path in enumerate(files))
    together = parts[0].relation if len(parts) == 1 else _together(connection, parts, files)
    columns = dict.fromkeys(column for part in parts for column in part.kinds)
    return Source(connection, together, parts, tuple(columns))


def _part(connection: duckdb.DuckDBPyConnection, path: Path, number: int) -> Part:
    kind = _format(path)
    schema = None
    with translated(str(path)):
        if kind == "arrow":
            table = _arrow_table(path)
            schema, relation = table.schema, f"part_{number}"
            connection.register(relation, _without_categoricals(table))
        else:
            relation = _relation(connection, kind, [path])
        described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    if kind == "parquet":
        schema = pq.read_schema(path)
    return Part(str(path), kind, relation, {row[0]: row[1] for row in described}, schema)


def _together(connection: duckdb.DuckDBPyConnection, parts: tuple[Part, ...], files: list[Path]) -> str:
    """Files of one form in one scan, which DuckDB does in parallel; else one after the other."""
    kind = parts[0].format
    alike = kind != "arrow" and all(part.format == kind for part in parts)
    if alike and (kind != "csv" or len({CsvForm.of(path) for path in files}) == 1):
        return _relation(connection, kind, files)
    return "(" + " UNION ALL BY NAME ".join(map(_json_as_text, parts)) + ")"


def _json_as_text(part: Part) -> str:
    """JSON beside another format becomes text, whose type is found out as that of CSV."""
    texts = [f"{quoted(c)} ->> '$' AS {quoted(c)}" for c, kind in part.kinds.items() if kind == "JSON"]
    replaced = f" REPLACE ({', '.join(texts)})" if texts else ""
    return f"SELECT *{replaced} FROM {part.relation}"


def _relation(connection: duckdb.DuckDBPyConnection, kind: str, files: list[Path]) -> str:
    if kind == "csv":
        return CsvForm.of(files[0]).relation(files)
    if kind == "json":
        return json_relation(connection, files)
    return f"read_parquet({paths(files)}, union_by_name=true)"


def _arrow_table(path: Path) -> pa.Table:
    if is_saved_log(path):
        raise InputError(f"{path} is a saved log: give it alone, since it cannot be joined with other files")
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot read {path}: {first_line(error)}") from None


def _without_categoricals(table: pa.Table) -> pa.Table:
    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return pa.table(plain, names=table.column_names)


def _format(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    named = _FORMATS.get(suffixes[-1]) if suffixes else None
    with path.open("rb") as file:
        head = file.read(6)
    if not head:
        raise FileError(f"{path} is empty")
    real = "parquet" if head.startswith(b"PAR1") else "arrow" if head == b"ARROW1" else None
    if named in ("parquet", "arrow") and real != named:
        title = "a Parquet" if named == "parquet" else "an Arrow"
        raise FileError(f"{path} is named like {title} file, but is none: rename it to what it is")
    if named in ("csv", "json") and real:
        raise FileError(f"{path} is named like a text file, but is {real.title()}: rename it to what it is")
    if named is None and real is None:
        known = ", ".join(_FORMATS)
        raise FileError(f"cannot tell the format of {path}: give it one of the endings {known} (also .gz)")
    return named or real or ""
