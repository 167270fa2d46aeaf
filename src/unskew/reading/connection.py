"""The DuckDB connection that reads: names and texts in SQL, errors in one line, and limits of memory and disk.

DuckDB gets half of the memory; batches, ids and the log share the rest. `MemoryGuard` keeps all of it within the
limit. Limits hold for every table that is read within `limit_reading`, the log and what is read beside it; what
nobody has said there is taken from the environment: ``UNSKEW_MEMORY_LIMIT`` and ``UNSKEW_TEMP_DIR``.
"""

from __future__ import annotations

import contextlib
import contextvars
import glob
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from unskew.errors import EngineError, FileError, InputError, UnskewError, option
from unskew.storage.files import shorten_path
from unskew.storage.folders import temporary_folder
from unskew.text import first_line, tell_damage

_REASONS = (
    (r"CSV Error on Line: (\d+)", "line {}"),
    (r"Expected Number of Columns: (\d+) Found: (\d+)", "expected {} columns, found {}"),
    (
        r"(unterminated quote)",
        "a quote is opened and not closed, at least not within 32 MB: if quotes are plain characters there, say "
        f"{option('quote', 'none')}",
    ),
    (r"(not utf-8 encoded)", f"it is not UTF-8: name its encoding, as in {option('encoding', 'latin-1')}"),
    (r"Maximum line size of (\d+) bytes exceeded", "it is longer than {} bytes"),
    (r"(state machine reached an invalid state)", "its quotes or its line ends are not those of a CSV file"),
)

_BYTES = {unit: 1024.0**k for k, unit in enumerate(("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"))}


def without_categoricals(table: pa.Table) -> pa.Table:
    """A table with values in place of categories; Arrow's own cast can do that for plain types alone."""

    def decode(column: pa.ChunkedArray) -> pa.ChunkedArray:
        if not pa.types.is_dictionary(column.type):
            return column
        parts = [part.dictionary.take(part.indices) for part in column.chunks]
        return pa.chunked_array(parts, column.type.value_type)

    return pa.table([decode(column) for column in table.columns], names=table.column_names)


def quote_name(name: str) -> str:
    """A column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """A text constant for SQL."""
    return "'" + value.replace("'", "''") + "'"


def quote_paths(files: Sequence[Path]) -> str:
    """A list of paths for SQL, in which a star is a star."""
    return "[" + ", ".join(quote_text(glob.escape(str(f))) for f in files) + "]"


def fetch_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """The first row that a query gives."""
    return tuple(connection.execute(query).fetchall()[0])


def find_types(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """The type of each column of a table, or of a query, as DuckDB calls it."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE {query}").fetchall()}


def find_memory_limit(connection: duckdb.DuckDBPyConnection) -> float:
    """How many bytes DuckDB may use before it writes to the disk: by default most of the memory there is."""
    number, unit = fetch_row(connection, "SELECT current_setting('memory_limit')")[0].split()
    return float(number) * _BYTES[unit]


def run_interruptibly(work: Callable[[], object], stops: Sequence[Callable[[], None]] = ()) -> None:
    """Do some work in a thread, so that an interrupt is heard at once while a library is busy.

    Then `stops` are called, and the thread gets a moment to end: a library that does not listen is left, and
    `is_busy` says so.
    """
    raised: list[BaseException] = []
    done = (
        threading.Event()
    )  # Thread.join takes a thread for ended that it was waiting for when it was interrupted

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)
        finally:
            done.set()

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    try:
        while not done.wait(0.1):
            pass
    except BaseException:  # a signal
        for stop in stops:
            with contextlib.suppress(duckdb.Error):  # it is busy
                stop()
        if not done.wait(0.5):
            _left.append(done)
        raise
    if raised:
        raise raised.pop()


_left: list[threading.Event] = []


def is_busy() -> bool:
    """Whether a library still works that was interrupted: Python cannot end in order around it."""
    return not all(done.is_set() for done in _left)


def close_unless_busy(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; one that still works is left to the thread in which it does."""
    try:
        connection.close()
    except duckdb.Error:
        if not is_busy():
            raise


@contextlib.contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn an error of DuckDB or Arrow into one line about the file called `name`."""
    try:
        yield
    except FileError:
        raise
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise FileError(
            f"cannot read {name}: there is too little memory for it",
            remedy=f"allow more with {option('memory_limit')}, or more room on the disk with {option('temp_dir')}",
        ) from error
    except duckdb.Error as error:
        raise FileError(f"cannot read {name}: {_explain(error)}") from error
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the system, not of DuckDB through a stream of Arrow
            raise
        raise FileError(f"cannot read {name}: {first_line(error)}") from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of an interrupt
            raise KeyboardInterrupt from None
        raise


@contextlib.contextmanager
def report_unreadable(name: str) -> Iterator[None]:
    """Turn whatever damaged bytes lead a library to into one line about the file called `name`."""
    try:
        yield
    except (UnskewError, MemoryError):
        raise
    except Exception as error:
        raise FileError(f"cannot read {name}: {tell_damage(error)}") from error


def _explain(error: duckdb.Error) -> str:
    message = str(error)
    matches = [(re.search(pattern, message), shown) for pattern, shown in _REASONS]
    reasons = ": ".join(shown.format(*match.groups()) for match, shown in matches if match)
    return reasons or re.sub(r"^[A-Z][A-Za-z ]+ Error: ", "", first_line(error))


_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([KMGT])(i?)B", re.IGNORECASE)
_LEAST = 50 * 10**6  # with less, DuckDB cannot even begin
_MOST = 10**15
_MARGIN = 64 * 10**6  # for libraries that are loaded while reading, and for what is taken between two looks
_PAUSE = 0.01  # seconds between two looks
_OPTIONS = (option("memory_limit"), option("temp_dir"))
_VARIABLES = ("UNSKEW_MEMORY_LIMIT", "UNSKEW_TEMP_DIR")


@dataclass(frozen=True)
class ReadingLimits:
    """What reading may use."""

    memory: int | None = None  # in bytes; None for four fifths of that of the machine
    temp_dir: str | None = None  # a folder for what does not fit; None for that of the system

    def with_changes(self, memory_limit: Any, temp_dir: Any, names: tuple[str, str] = _OPTIONS) -> ReadingLimits:
        """The same with what is given; None leaves it as it is. `names` say what was given, in messages."""
        return ReadingLimits(
            self.memory if memory_limit is None else _check_size(memory_limit, names[0]),
            self.temp_dir if temp_dir is None else _check_folder(temp_dir, names[1]),
        )

    @contextlib.contextmanager
    def settings(self) -> Iterator[dict[str, Any]]:
        """Settings for a connection; the folder that they name is removed in the end."""
        memory = {} if self.memory is None else {"memory_limit": f"{max(_LEAST, self.memory // 2)}B"}
        place = Path(self.temp_dir or tempfile.gettempdir())
        with contextlib.ExitStack() as stack:
            try:
                spill = stack.enter_context(temporary_folder(place / "unskew-spill", mode=0o700))
            except FileError:
                remedy = f"name another folder with {option('temp_dir')}"
                raise FileError(f"cannot write temporary files to {place}", remedy=remedy) from None
            yield {**memory, "temp_directory": str(spill)}


class MemoryGuard:
    """Keeps what the process takes in addition, from now on, within a limit; without one it allows all.

    Mapped files do not count: the system takes their memory back when it is needed.
    """

    def __init__(self, limit: int | None = None) -> None:
        now = None if limit is None else _measure_memory()
        self._most = None if limit is None or now is None else now + limit + _MARGIN
        self.limit = limit
        self._is_exceeded = False

    def require(self, size: int = 0) -> None:
        """Refuse to take so many more bytes if that would exceed the limit."""
        if self._is_exceeded or not self._allows(size):
            raise MemoryError

    @contextlib.contextmanager
    def watch(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call `stop` once the limit is exceeded; what it interrupts becomes a MemoryError."""
        if self._most is None:
            yield
            return
        done = threading.Event()

        def look() -> None:
            while not done.wait(_PAUSE):
                if not self._is_exceeded and not self._allows(0):
                    self._is_exceeded = True
                if self._is_exceeded:
                    stop()

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        except BaseException:
            if self._is_exceeded:
                raise MemoryError from None
            raise
        finally:
            done.set()
            watcher.join()

    def _allows(self, size: int) -> bool:
        if self._most is None or (_measure_memory() or 0) + size <= self._most:
            return True
        pa.default_memory_pool().release_unused()
        return (_measure_memory() or 0) + size <= self._most


def _measure_memory() -> int | None:
    """The memory of this process in bytes, mapped files apart; None if the system does not say."""
    try:
        _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
    except OSError:
        return None
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def open_spill_folder(connection: duckdb.DuckDBPyConnection) -> Iterator[Path]:
    """A folder for rows, where DuckDB puts what does not fit; removed in the end."""
    (place,) = fetch_row(connection, "SELECT current_setting('temp_directory')")
    with temporary_folder(Path(place) / "rows") as folder:
        yield folder


_limits: ContextVar[ReadingLimits | None] = ContextVar("limits", default=None)


def reading_limits(memory_limit: Any = None, temp_dir: Any = None) -> ReadingLimits:
    """The limits that hold here, with changes."""
    limits = _limits.get()
    if limits is None:
        memory, folder = (os.environ.get(name) or None for name in _VARIABLES)
        limits = ReadingLimits().with_changes(memory, folder, _VARIABLES)
    return limits.with_changes(memory_limit, temp_dir)


def refuse_limits_on_spark(memory_limit: Any, temp_dir: Any, *, by_option: bool = False) -> None:
    """Refuse limits where the workers of a cluster read, which have their own; the environment is not asked.

    `by_option` says whether settings of Spark are given by an option, as on the command line.
    """
    for name, value, setting, example in (
        ("memory_limit", memory_limit, "spark.executor.memory", "8g"),
        ("temp_dir", temp_dir, "spark.local.dir", "/scratch"),
    ):
        if value is not None:
            by_flag = f"give {option('spark_conf', f'{setting}={example}')} instead"
            raise EngineError(
                f"{option(name)} is about reading on this machine, and on Spark its workers read",
                remedy=by_flag if by_option else f"set {setting} of its session instead",
            )


@contextlib.contextmanager
def limit_reading(memory_limit: Any = None, temp_dir: Any = None) -> Iterator[None]:
    """Whatever is read inside keeps to these limits."""
    before = _limits.set(reading_limits(memory_limit, temp_dir))
    try:
        yield
    finally:
        _limits.reset(before)


def _check_size(size_text: Any, name: str) -> int:
    """A size in bytes.

    >>> _check_size("1.5 gib", "the limit")
    1610612736
    """
    match = _SIZE.fullmatch(size_text.strip()) if isinstance(size_text, str) else None
    if match is None:
        raise InputError(f"{name} is {size_text!r}", remedy="give a size such as 4GB or 500MB")
    number, unit, binary = match[1], match[2].upper(), match[3].lower()
    size = int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(unit) + 1))
    if size < _LEAST:
        raise InputError(f"{name} is {size_text!r}", remedy="give at least 50MB")
    if size > _MOST:
        raise InputError(f"{name} is {size_text!r}", remedy="give at most 1000TB")
    return size


def _check_folder(folder: Any, name: str) -> str:
    path = Path(folder)
    shown = shorten_path(path)
    try:
        path.stat()
    except PermissionError:
        raise FileError(f"{name} is {shown}: permission denied", remedy="give another folder") from None
    except (OSError, ValueError):  # there is nothing of the name, or nothing can have it
        raise FileError(f"{name} is {shown}, which does not exist", remedy="make it first") from None
    if not path.is_dir():
        raise FileError(f"{name} is {shown}, which is no folder", remedy="give the name of a folder")
    if not os.access(path, os.W_OK | os.X_OK):
        raise FileError(f"{name} is {shown}: permission denied", remedy="give another folder")
    return str(path.resolve())
