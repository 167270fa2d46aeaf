"""Names and texts inside SQL, and what DuckDB says against a file, in one line."""

from __future__ import annotations

import contextlib
import contextvars
import glob
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from unskew.errors import FileError, option
from unskew.text import first_line

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


def quote_name(name: str) -> str:
    """A column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """A text constant for SQL."""
    return "'" + value.replace("'", "''") + "'"


def quote_paths(files: Sequence[Path]) -> str:
    """A list of paths for SQL, in which a star is a star."""
    return "[" + ", ".join(quote_text(glob.escape(str(f))) for f in files) + "]"


def find_types(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """The type of each column of a table, or of a query, as DuckDB calls it."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE {query}").fetchall()}


def find_memory_limit(connection: duckdb.DuckDBPyConnection) -> float:
    """How many bytes DuckDB may use before it writes to the disk: by default most of the memory there is."""
    told = str(connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])
    number, unit = told.split()
    return float(number) * _BYTES[unit]


def run_interruptibly(work: Callable[[], object], stops: Sequence[Callable[[], None]] = ()) -> None:
    """Do some work in a thread, so that an interrupt is heard at once while a library is busy.

    Then `stops` are called, and the thread gets a moment to end: a library that does not listen is left.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    except KeyboardInterrupt:
        for stop in stops:
            stop()
        thread.join(0.5)
        raise
    if raised:
        raise raised[0]


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
    except pa.ArrowException as error:
        raise FileError(f"cannot read {name}: {first_line(error)}") from error
    except OSError as error:  # of DuckDB, through a stream of Arrow, unless the system gave it a number
        if error.errno is not None:
            raise
        raise FileError(f"cannot read {name}: {first_line(error)}") from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of an interrupt
            raise KeyboardInterrupt from None
        raise


def _explain(error: duckdb.Error) -> str:
    message = str(error)
    found = [(re.search(pattern, message), shown) for pattern, shown in _REASONS]
    told = [shown.format(*match.groups()) for match, shown in found if match]
    return ": ".join(told) if told else re.sub(r"^[A-Z][A-Za-z ]+ Error: ", "", first_line(error))
