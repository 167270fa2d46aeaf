"""Where a log comes from: files of several formats, or a dataframe, as one DuckDB relation.

This module finds the files and opens each as its format says. What the columns mean is left to
`unskew.reading.reader`.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import duckdb
import numpy as np
import pyarrow as pa

from unskew import frames
from unskew.arrays.blocks import threads
from unskew.errors import FileError, InputError, option
from unskew.reading.connection import (
    MemoryGuard,
    ReadingLimits,
    close_unless_busy,
    fetch_row,
    find_types,
    quote_name,
    quote_text,
    reading_limits,
    report_unreadable,
    translate_errors,
    without_categoricals,
)
from unskew.reading.formats import FORMATS, Format, find_ending, find_format
from unskew.reading.input_files import (
    FileOptions,
    InputFile,
    find_example,
    is_database,
    is_remote,
    split_parameters,
    take_file_options,
)
from unskew.reading.unpacking import STANDARD_INPUT, copy_standard_input, recode, unpack
from unskew.storage.files import check_readable, shorten_path
from unskew.text import hide_secrets

if TYPE_CHECKING:
    from unskew.reading.remote import BatchStream

_ELSEWHERE = re.compile(r"(?i)(https?|ftps?|s3[an]?|gs|gcs|r2|az|azure|abfss?|wasbs?|adl|hf|hdfs|dbfs|sftp|ssh):/")
_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")
_ALONE = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
"""DuckDB may fetch and load extensions by itself, and with them read files of other machines; here it may not."""
_DOUBTING = "statistics_propagation,filter_pushdown,join_filter_pushdown,compressed_materialization"
"""What DuckDB leaves out so that it believes no statistics of a Parquet file: they may be wrong."""


_SMALL = 10_000  # rows of a table that needs neither threads nor the disk

STDIN_NAME = "standard input"
"""How to speak of it."""


@dataclass(frozen=True)
class Part:
    """One file, or the one frame."""

    name: str  # how to speak of it
    relation: str  # what SQL calls it
    format: Format | None = None  # None for a frame
    # What it has in common with files that can be read in the same scan; None if it is read by itself.
    form: Hashable | None = None
    # The type of each of its columns; empty for a frame, which is not converted yet.
    kinds: Mapping[str, str] = field(default_factory=dict)
    schema: pa.Schema | None = None  # its Arrow schema, if it has one: this tells zones and categoricals
    # What it was taken for, if it does not make that clear by itself: "tab-separated text without a header".
    read_as: str = ""
    file: InputFile | None = None  # None for a frame

    @property
    def folders(self) -> dict[str, str]:
        """What its folders say, if they are called ``name=value``, as in ``date=2024-03-01``."""
        folders = [] if self.file is None else self.file.place.parts[:-1]
        named = (folder.partition("=") for folder in folders)
        return {unquote(name): unquote(value) for name, _, value in named if name and value}


@dataclass(frozen=True)
class Source:
    """Something to read a log from."""

    connection: duckdb.DuckDBPyConnection
    relation: str  # all parts together, for SQL
    parts: tuple[Part, ...]
    columns: tuple[str, ...]  # the columns that the parts have together
    library: str | None = None  # the dataframe library it came in, None for files
    frame: Any = None
    memory: MemoryGuard = field(default_factory=MemoryGuard)  # what keeps reading it within its limit
    # What is still to be read in batches, once it is known which columns are needed.
    stream: BatchStream | None = None

    def narrow(self, columns: Sequence[str]) -> Source:
        """The same with these columns alone: only they are checked and, of a frame, converted."""
        if self.stream is not None:
            self.stream.copy_into(self.connection, self.relation, columns)
            return replace(self, columns=tuple(columns), stream=None)
        if self.frame is None:
            for part in self.parts:
                if part.file is not None and part.format is not None and part.format.check_columns is not None:
                    part.format.check_columns(part.file.path, part.name, columns, self.memory.require)
            return self
        table = frames.to_arrow(self.frame, list(columns))
        self.connection.register("frame", without_categoricals(table))
        return replace(self, parts=(replace(self.parts[0], schema=table.schema),), frame=None)

    def is_in_folders(self, name: str) -> bool:
        """Whether no file has a column of that name, but all lie in a folder that is called so: ``name=value``."""
        return name not in self.columns and all(name in part.folders for part in self.parts)

    def with_folders(self, name: str) -> Source:
        """The same with a column that the names of folders tell: whole numbers if all are, else text."""
        values = [part.folders[name] for part in self.parts]
        kind = "BIGINT" if all(re.fullmatch("0|-?[1-9][0-9]{0,17}", value) for value in values) else "VARCHAR"
        parts = tuple(
            replace(
                part,
                relation=f"(SELECT *, {quote_text(value)}::{kind} AS {quote_name(name)} FROM {part.relation})",
                kinds={**part.kinds, name: kind},
            )
            for part, value in zip(self.parts, values, strict=True)
        )
        return replace(self, relation=_unite(parts), parts=parts, columns=(*self.columns, name))

    @property
    def name(self) -> str:
        """How to speak of the whole."""
        return self.parts[0].name + (f" and {len(self.parts) - 1} more" if len(self.parts) > 1 else "")

    @property
    def has_no_names(self) -> bool:
        """Whether its columns are called by numbers, since no file names them."""
        if self.frame is not None or self.stream is not None:
            return False
        names = [list(part.kinds) for part in self.parts]
        return all(part and part == [str(k + 1) for k in range(len(part))] for part in names)

    def sample(self, rows: int = 1000) -> list[tuple[str, ...]]:
        """The first rows of the first file as texts, empty where there is no value or no such column."""
        query = f"SELECT COLUMNS(*)::VARCHAR FROM {self.parts[0].relation} LIMIT {rows}"
        values = self.connection.execute(query).fetchall()
        texts = (["" if value is None else str(value) for value in row] for row in values)
        return [(*row, *[""] * (len(self.columns) - len(row))) for row in texts]  # its columns come first

    @property
    def read_as(self) -> str:
        """What its files were taken for, where they do not make that clear by themselves."""
        first_names = {part.read_as: part.name for part in reversed(self.parts) if part.read_as}
        return "; ".join(f"{name}: read as {words}" for words, name in reversed(first_names.items()))

    @property
    def is_text(self) -> bool:
        """Whether values come as text whose type is still to be found out.

        Values that know their types become text as well where they stand beside those of another format.
        """
        formats = self._formats
        untyped = any(format_.typed_by == "nothing" for format_ in formats)
        return untyped or (self.is_typed_by_value and len(formats) > 1)

    @property
    def is_typed_by_value(self) -> bool:
        """Whether some values know their types, and their columns do not."""
        return any(format_.typed_by == "value" for format_ in self._formats)

    @property
    def parse_once(self) -> bool:
        """Whether reading it twice means parsing it twice."""
        return any(format_.parse_once for format_ in self._formats)

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
            rows = self.connection.execute(
                f"SELECT n, v FROM (SELECT row_number() OVER () AS n, {show} AS v, {condition} AS bad "
                f"FROM {part.relation}) WHERE bad ORDER BY n LIMIT 1"
            ).fetchall()
            if rows:
                return f"row {rows[0][0]} of {part.name}", rows[0][1]
        return f"a row of {self.name}", None

    @property
    def _formats(self) -> set[Format]:
        return {part.format for part in self.parts if part.format is not None}

    def _arrow_type(self, column: str) -> pa.DataType | None:
        schemas = (part.schema for part in self.parts if part.schema is not None)
        return next((schema.field(column).type for schema in schemas if column in schema.names), None)


@contextlib.contextmanager
def open_source(
    source: Any,
    options: FileOptions | None = None,
    *,
    query: str | None = None,
    limits: ReadingLimits | None = None,
) -> Iterator[Source]:
    """Open a source for reading; what DuckDB says against it becomes a `FileError`.

    `query` says what to read from a database.
    """
    if query is not None and not is_database(source):
        raise InputError(
            f"{option('query')} is about a database, and {_name_source(source)} is none",
            remedy="give the address of a database, such as postgresql://localhost/shop",
        )
    with contextlib.ExitStack() as stack:
        limits, config = limits or reading_limits(), {**_ALONE, "threads": threads()}
        settings = {"temp_directory": ""}
        if limits == ReadingLimits() and _is_small_table(source):
            connection = _database_of_small_tables().cursor()
        else:
            settings = stack.enter_context(limits.settings())
            connection = duckdb.connect(config={**config, **settings})
        stack.callback(close_unless_busy, connection)
        (has_bar,) = fetch_row(connection, "SELECT current_setting('enable_progress_bar')")
        if has_bar:  # in a notebook without ipywidgets there is none, and DuckDB refuses to set it
            connection.execute("SET enable_progress_bar=false")
        connection.execute(f"SET disabled_optimizers='{_DOUBTING}'")
        connection.execute("SET TimeZone='UTC'")  # and not that of the machine
        memory = MemoryGuard(limits.memory)
        name = _name_source(source)
        with translate_errors(name), memory.watch(connection.interrupt):
            folder = Path(settings["temp_directory"])
            if is_database(source):
                from unskew.reading.remote import open_query

                opened = _open_stream(connection, open_query(source, query, stack))
            else:
                opened = _open(connection, source, options or FileOptions(), folder)
            yield replace(opened, memory=memory)


def _name_source(source: Any) -> str:
    return hide_secrets(str(source)) if isinstance(source, str | Path) else "the log"


def _is_small_table(source: Any) -> bool:
    """Whether it is an Arrow table or a dict of columns with few rows: these never have to go to the disk.

    A list of paths is none: what is unpacked needs a folder, and what is read a limit.
    """
    if names_files(source):
        return False
    column = next(iter(source.values()), None) if isinstance(source, Mapping) else source
    return isinstance(column, list | np.ndarray | pa.Array | pa.ChunkedArray | pa.Table) and len(column) < _SMALL


@functools.cache
def _database_of_small_tables() -> duckdb.DuckDBPyConnection:
    """A database that stays open, since opening it takes longer than reading such a table.

    It has no threads of its own, so that a process that forks may have it.
    """
    database = duckdb.connect(config={**_ALONE, "threads": 1, "temp_directory": ""})
    with contextlib.suppress(duckdb.Error):  # older versions have neither the setting nor the threads
        database.execute("SET async_threads = 0")
    return database


def names_files(source: Any) -> bool:
    """Whether it is a path or a list of paths."""
    if isinstance(source, str | Path):
        return True
    return isinstance(source, list | tuple) and all(isinstance(path, str | Path) for path in source)


def expand(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The local files meant by a path, a glob, a folder, or a list of these; none for standard input."""
    if not isinstance(source, str | Path):
        return [path for part in source for path in expand(part)]
    if is_remote(source) or is_database(source):
        return []
    return [file.path for file in find_files(source) if file.name != STDIN_NAME]


def find_files(source: str | Path | Sequence[str | Path], options: FileOptions | None = None) -> list[InputFile]:
    """The same with how each is to be read, which a path may say after a question mark.

    Of a folder these are its Parquet files; if it has none, its files of the one format that it has instead.
    """
    options = options or FileOptions()
    if not isinstance(source, str | Path):
        return [file for part in source for file in find_files(part, options)]
    if str(source) == "":
        raise FileError("the name of a file is empty", remedy="is a shell variable unset?")
    if str(source) == STANDARD_INPUT:
        return [InputFile(Path(STANDARD_INPUT), STDIN_NAME, options)]
    if is_database(source):
        raise FileError(
            f"{hide_secrets(str(source))} is a database, and stands where files are read",
            remedy="save the result of a query as a Parquet or CSV file",
        )
    if is_remote(source):
        return _find_remote_files(str(source), options)
    if _ELSEWHERE.match(str(source)) or (_ADDRESS.match(str(source)) and not Path(source).exists()):
        raise FileError(
            f"{shorten_path(Path(source))} is not on this machine",
            remedy="give an s3://, gs://, abfss:// or https:// address of files or the postgresql:// address of a "
            "database, as text, or copy the file here first",
        )
    built_in = find_example(source)
    if built_in is not None:
        return [InputFile(built_in, str(source), options)]
    text, parameters = split_parameters(str(source))
    options = options.update(take_file_options(parameters, str(source)))
    paths = _expand_path(Path(text) if parameters else Path(source))
    return [InputFile(_spell_out(path), str(path), options) for path in paths]


def _spell_out(path: Path) -> Path:
    """A path in which folders called ``~`` or ``file:`` are that: to DuckDB and Arrow they are something else."""
    first = str(path).split("/")[0]
    return path.absolute() if first.startswith("~") or ":" in first else path


def _expand_path(path: Path) -> list[Path]:
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError:  # the name is too long for a file system
        is_folder = exists = False
    if is_folder:
        check_readable(path)
        files = _choose_format(sorted(file for file in path.rglob("*") if file.is_file()), path)
    elif not exists and glob.has_magic(str(path)):
        files = sorted(p for p in map(Path, glob.glob(str(path), recursive=True)) if p.is_file())
        if not files:
            raise FileError(f"no file matches {shorten_path(path)}")
    else:
        files = [path]
    for file in files:
        check_readable(file)
    return files


def _find_remote_files(address: str, options: FileOptions) -> list[InputFile]:
    """The files meant by the address of a bucket or of a web server; fetched when they are opened."""
    from unskew.reading.remote import find_remote

    files = {Path(file.path): file for file in find_remote(address)}
    chosen = _choose_format(list(files), address) if len(files) > 1 and "*" not in address else list(files)
    return [InputFile(path, files[path].address, options, remote=files[path]) for path in chosen]


def _choose_format(inside: Sequence[Path], folder: str | Path) -> list[Path]:
    """The files of one format in a folder: those of Parquet, or of the only format that there is."""
    by_format = [[path for path in inside if find_ending(path) in form.endings] for form in FORMATS]
    lists = [paths for paths in by_format if paths]  # Parquet first, as in `FORMATS`
    if len(lists) == 1 or by_format[0]:
        return lists[0]
    content = "files of several formats, and none of Parquet" if lists else "no Parquet file"
    raise FileError(f"the folder {folder} has {content} in it", remedy=f"name the files, as in {folder}/*.csv")


def _open(connection: duckdb.DuckDBPyConnection, source: Any, options: FileOptions, folder: Path) -> Source:
    if isinstance(source, Mapping):
        source = frames.from_columns(source)
    if names_files(source):
        files = [_fetch(file, folder) for file in find_files(source, options)]
        return _open_files(connection, [unpacked for file in files for unpacked in unpack(file, folder)], folder)
    if options.explicit():
        raise InputError(
            f"{option(next(iter(options.explicit())))} says how to read a file, and this is a table",
            remedy="leave it out",
        )
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if not frames.is_frame(source):
        from unskew.reading.remote import as_stream

        stream = as_stream(source)
        if stream is not None:
            return _open_stream(connection, stream)
        raise InputError(
            f"cannot read a log from a {type(source).__name__}",
            remedy="give a path, a list of paths, a dataframe or an Arrow stream",
        )
    columns = tuple(frames.column_names(source))
    part = Part("the table", "frame")
    return Source(connection, "frame", (part,), columns, frames.library_of(source), source)


def _open_stream(connection: duckdb.DuckDBPyConnection, stream: BatchStream) -> Source:
    """A table that arrives in batches; its schema tells zones and categories."""
    part = Part(stream.name, "stream", schema=stream.schema)
    return Source(connection, part.relation, (part,), stream.columns, stream=stream)


def _fetch(file: InputFile, folder: Path) -> InputFile:
    """The file itself, or the one that holds what came on standard input or from another machine."""
    if file.remote is not None:
        return file.remote.fetch(folder, file)
    return replace(file, path=copy_standard_input()) if file.name == STDIN_NAME else file


def _open_files(connection: duckdb.DuckDBPyConnection, files: list[InputFile], folder: Path) -> Source:
    if not files:
        raise InputError("the list of files is empty")
    parts = tuple(_open_file(connection, file, k, folder) for k, file in enumerate(files))
    relation = parts[0].relation if len(parts) == 1 else _join(connection, parts)
    columns = dict.fromkeys(column for part in parts for column in part.kinds)
    return Source(connection, relation, parts, tuple(columns))


def _open_file(connection: duckdb.DuckDBPyConnection, file: InputFile, number: int, folder: Path) -> Part:
    format_ = find_format(file)
    if not format_.magic:
        file = recode(file, folder)
    form = format_.form_of(file)
    with translate_errors(file.name):
        content = format_.open_files(connection, [file], form)
        relation = _name_relation(connection, content, f"part_{number}")
        kinds = find_types(connection, f"SELECT * FROM {relation}")
    schema = content.schema if isinstance(content, pa.Table) else None
    if format_.read_schema is not None:
        with report_unreadable(file.name):
            schema = format_.read_schema(file.path)
    description = getattr(form, "read_as", " ".join([format_.name, *file.notes]) if file.notes else "")
    return Part(file.name, relation, format_, form, kinds, schema, description, file)


def _join(connection: duckdb.DuckDBPyConnection, parts: tuple[Part, ...]) -> str:
    """Files of one form in one scan, which DuckDB does in parallel; else one after the other."""
    format_, form = parts[0].format, parts[0].form
    alike = all((part.format, part.form) == (format_, form) for part in parts)
    if format_ is not None and form is not None and alike:
        files = [part.file for part in parts if part.file is not None]
        return _name_relation(connection, format_.open_files(connection, files, form), "together")
    return _unite(parts)


def _unite(parts: Sequence[Part]) -> str:
    """SQL for the rows of one part after the other."""
    return "(" + " UNION ALL BY NAME ".join(map(_select_text_for_json, parts)) + ")"


def _name_relation(connection: duckdb.DuckDBPyConnection, content: str | pa.Table, name: str) -> str:
    """What SQL calls the content of files; an Arrow table is given this name."""
    if isinstance(content, str):
        return content
    connection.register(name, without_categoricals(content))
    return name


def _select_text_for_json(part: Part) -> str:
    """JSON beside another format becomes text, whose type is found out as that of CSV."""
    texts = [f"{quote_name(c)} ->> '$' AS {quote_name(c)}" for c, kind in part.kinds.items() if kind == "JSON"]
    replaced = f" REPLACE ({', '.join(texts)})" if texts else ""
    return f"SELECT *{replaced} FROM {part.relation}"
