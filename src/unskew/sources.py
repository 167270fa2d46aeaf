"""Where a log comes from: files of several formats, or a dataframe, as one DuckDB relation.

This module finds the files, tells their formats and turns a library's complaint into one line that
names the file. What the columns mean is left to `unskew.read`.
"""

from __future__ import annotations

import contextlib
import glob
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from unskew import frames
from unskew.errors import FileError, InputError
from unskew.files import check_readable, first_line
from unskew.sweep import threads

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
_READERS = {
    "parquet": "read_parquet([{files}], union_by_name=true)",
    "csv": "read_csv([{files}], all_varchar=true, header=true, union_by_name=true)",
    "json": "read_json([{files}], union_by_name=true)",
}


@dataclass(frozen=True)
class Source:
    """Something to read a log from.

    Attributes
    ----------
    parts
        One SQL relation per file (or one for a frame), in order.
    names
        How to speak of each part.
    formats
        ``parquet``, ``csv``, ``json``, ``arrow`` or ``frame`` of each part.
    columns
        The columns that all parts have together.
    library
        The dataframe library it came in, None for files.
    """

    connection: duckdb.DuckDBPyConnection
    relation: str
    parts: tuple[str, ...]
    names: tuple[str, ...]
    formats: tuple[str, ...]
    columns: tuple[str, ...]
    schema: pa.Schema | None
    library: str | None = None
    frame: Any = None

    def narrowed(self, columns: Sequence[str]) -> Source:
        """The same with these columns alone; a frame is converted only now, and only these of it."""
        if self.frame is None:
            return self
        table = frames.to_arrow(self.frame, list(columns))
        plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
        self.connection.register("frame", pa.table(plain, names=table.column_names))
        return replace(self, schema=table.schema, frame=None)

    @property
    def name(self) -> str:
        """How to speak of the whole."""
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} and {len(self.names) - 1} more"

    @property
    def is_text(self) -> bool:
        """Whether values come as text whose type is still to be found out."""
        return "csv" in self.formats

    @property
    def costly(self) -> bool:
        """Whether reading it twice means parsing it twice."""
        return any(f in ("csv", "json") for f in self.formats)

    def zone(self, column: str) -> str | None:
        """The time zone of a column, where the source tells it."""
        if self.schema is None or column not in self.schema.names:
            return None
        kind = self.schema.field(column).type
        return kind.tz if pa.types.is_timestamp(kind) else None

    def is_categorical(self, column: str) -> bool:
        """Whether the column came as a categorical."""
        if self.schema is None or column not in self.schema.names:
            return False
        return bool(pa.types.is_dictionary(self.schema.field(column).type))

    def first_row(self, condition: str, show: str) -> tuple[str, Any]:
        """Where the first row with `condition` is (counting from 1), and the value of `show` there."""
        for part, name in zip(self.parts, self.names, strict=True):
            found = self.connection.execute(
                f"SELECT n, v FROM (SELECT row_number() OVER () AS n, {show} AS v, {condition} AS bad "
                f"FROM {part}) WHERE bad ORDER BY n LIMIT 1"
            ).fetchone()
            if found:
                return f"row {found[0]} of {name}", found[1]
        return f"a row of {self.name}", None


def quoted(name: str) -> str:
    """A column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text constant for SQL."""
    return "'" + value.replace("'", "''") + "'"


@contextlib.contextmanager
def opened(source: Any) -> Iterator[Source]:
    """Open a source for reading; what DuckDB says against it becomes a `FileError`."""
    spill = tempfile.mkdtemp(prefix="unskew-")
    connection = duckdb.connect(config={"threads": threads(), "temp_directory": spill})
    try:
        connection.execute("SET enable_progress_bar=false")
        with translated(_speak(source)):
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
        raise FileError(f"cannot read {name}: {first_line(error)}") from error


def expand(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files meant by a path, a glob, a folder of Parquet files, or a list of these."""
    if not isinstance(source, str | Path):
        return [path for one in source for path in expand(one)]
    path = Path(source)
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.suffix in (".parquet", ".pq") and p.is_file())
        if not found:
            raise FileError(f"the folder {path} has no Parquet file in it")
        return found
    if path.exists() or not glob.has_magic(str(source)):
        check_readable(path)
        return [path]
    found = sorted(Path(p) for p in glob.glob(str(source), recursive=True))
    if not found:
        raise FileError(f"no file matches {source}")
    return found


def _speak(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else "the log"


def _open(connection: duckdb.DuckDBPyConnection, source: Any) -> Source:
    if isinstance(source, Mapping):
        try:
            source = pa.table(dict(source))
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
            raise InputError(f"the columns cannot be read as a table: {first_line(error)}") from None
    if isinstance(source, str | Path) or (
        isinstance(source, list | tuple) and all(isinstance(s, str | Path) for s in source)
    ):
        return _open_files(connection, expand(source))
    if not frames.is_frame(source):
        raise InputError(
            f"cannot read a log from a {type(source).__name__}: give a path, a list of paths or a dataframe"
        )
    return Source(
        connection,
        "frame",
        ("frame",),
        ("the table",),
        ("frame",),
        tuple(frames.column_names(source)),
        None,
        frames.library_of(source),
        source,
    )


def _open_files(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> Source:
    if not files:
        raise InputError("the list of files is empty")
    formats = tuple(_format(path) for path in files)
    parts = []
    for k, (path, kind) in enumerate(zip(files, formats, strict=True)):
        with translated(str(path)):
            parts.append(_relation(connection, [path], kind, f"part_{k}"))
            connection.execute(f"DESCRIBE SELECT * FROM {parts[-1]}")
    relation = parts[0]
    if len(files) > 1:
        if len(set(formats)) == 1 and formats[0] in _READERS:
            relation = _relation(connection, files, formats[0], "all_parts")
        else:
            relation = "(" + " UNION ALL BY NAME ".join(f"SELECT * FROM {p}" for p in parts) + ")"
    names = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()]
    schema = pq.read_schema(files[0]) if formats[0] == "parquet" else None
    return Source(
        connection,
        relation,
        tuple(parts),
        tuple(str(f) for f in files),
        formats,
        tuple(names),
        schema,
    )


def _relation(connection: duckdb.DuckDBPyConnection, files: list[Path], kind: str, name: str) -> str:
    if kind == "arrow":
        connection.register(name, pa.ipc.open_file(pa.memory_map(str(files[0]))).read_all())
        return name
    return _READERS[kind].format(files=", ".join(text(str(f)) for f in files))


def _format(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    named = _FORMATS.get(suffixes[-1]) if suffixes else None
    with path.open("rb") as file:
        head = file.read(6)
    if path.stat().st_size == 0:
        raise FileError(f"{path} is empty")
    real = "parquet" if head.startswith(b"PAR1") else "arrow" if head == b"ARROW1" else None
    if named in ("parquet", "arrow") and real != named:
        title = "a Parquet" if named == "parquet" else "an Arrow"
        raise FileError(f"{path} is named like {title} file, but is none: rename it to what it is")
    if named is None and real is None:
        known = ", ".join(_FORMATS)
        raise FileError(f"cannot tell the format of {path}: give it one of the endings {known} (also .gz)")
    return named or real or ""
