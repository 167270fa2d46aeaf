"""Tables that arrive in batches: Arrow streams, datasets and queries of databases.

A stream can be read once. So the columns that are needed are copied into a temporary table of DuckDB, batch by
batch, which goes to the disk if it exceeds the memory limit.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb
import pyarrow as pa

from unskew.errors import FileError, InputError, option
from unskew.reading.connection import quote_name
from unskew.text import SECRETS, hide_secrets

_BATCH = 100_000  # rows of a dataset at a time
_DRIVERS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "snowflake": "snowflake",
    "grpc": "flightsql",
    "grpc+tls": "flightsql",
    "flightsql": "flightsql",
}
"""The ADBC driver of a scheme, if it is not called like it."""


@dataclass(frozen=True)
class BatchStream:
    """A table that can be read once, in batches.

    Attributes
    ----------
    name
        How to speak of it.
    schema
        Its columns and their types.
    read
        Gives the batches, of some columns if it can choose them.
    """

    name: str
    schema: pa.Schema
    read: Callable[[Sequence[str]], pa.RecordBatchReader]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.schema.names)

    def copy_into(self, connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str]) -> None:
        """Read these columns, once, into a temporary table of a database."""
        connection.register("incoming", _decode_categories(self.read(columns), columns))
        chosen = ", ".join(map(quote_name, columns))
        connection.execute(f"CREATE TEMP TABLE {quote_name(table)} AS SELECT {chosen} FROM incoming")
        connection.unregister("incoming")


def as_stream(source: Any) -> BatchStream | None:
    """What can be read in batches alone: a dataset or reader of Arrow, or any object that exports a stream."""
    module = type(source).__module__
    if module.startswith("pyarrow.") and hasattr(source, "scanner"):
        return BatchStream("the dataset", source.schema, lambda columns: _scan(source, columns))
    if isinstance(source, pa.RecordBatchReader):
        return BatchStream("the stream", source.schema, lambda _: source)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(source)
        except (pa.ArrowException, TypeError, ValueError):  # a column alone is a stream, too, and no table
            return None
        return BatchStream("the stream", reader.schema, lambda _: reader)
    return None


def _scan(dataset: Any, columns: Sequence[str]) -> pa.RecordBatchReader:
    return dataset.scanner(columns=list(columns), batch_size=_BATCH).to_reader()


def _decode_categories(reader: pa.RecordBatchReader, columns: Sequence[str]) -> pa.RecordBatchReader:
    """The same with categories as values, since each batch may have others."""
    fields = [reader.schema.field(name) for name in columns]
    if not any(pa.types.is_dictionary(field.type) for field in fields):
        return reader
    plain = pa.schema(
        [
            pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in fields
        ]
    )

    def decode() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            arrays = [batch.column(name) for name in columns]
            yield pa.record_batch(
                [a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for a in arrays], schema=plain
            )

    return pa.RecordBatchReader.from_batches(plain, decode())


def open_query(uri: str, query: str | None, stack: ExitStack) -> BatchStream:
    """The result of a query, through the ADBC driver of the database; `stack` closes the connection."""
    name = hide_secrets(uri)
    if query is None or not query.strip():
        raise InputError(
            f"{name} is a database, and it is not said what to read from it",
            remedy=f"give a query: {option('query', 'select user_id, item_id, created_at from events')}",
        )
    connect = _find_driver(uri, name)
    try:
        connection = connect(uri)
        stack.callback(_close, connection)
        cursor = connection.cursor()
        stack.callback(_close, cursor)
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        if not reader.schema.names:
            raise InputError(f"the query of {name} returns no columns", remedy="begin it with SELECT")
    except InputError:
        raise
    except Exception as error:
        raise _explain(error, name, uri) from None  # the error itself may have the password

    def read(_: Sequence[str]) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(reader.schema, _pass_on(reader, name, uri))

    return BatchStream(name, reader.schema, read)


def _find_driver(uri: str, name: str) -> Callable[[str], Any]:
    scheme = uri.partition("://")[0].lower()
    driver = _DRIVERS.get(scheme, scheme)
    try:
        module = importlib.import_module(f"adbc_driver_{driver}.dbapi")
    except ImportError:
        package = f"unskew[{driver}]" if driver == "postgresql" else f"adbc-driver-{driver}"
        package = package.replace("postgresql", "postgres")
        raise FileError(
            f"cannot read {name}: the ADBC driver of {driver} is not installed",
            remedy=f"pip install '{package}', or save the result of the query as a Parquet file",
        ) from None
    connect: Callable[[str], Any] = module.connect
    return connect


def _pass_on(reader: pa.RecordBatchReader, name: str, uri: str) -> Iterator[pa.RecordBatch]:
    """The batches, with errors in one line: a connection may be lost between two of them."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except Exception as error:
            raise _explain(error, name, uri) from None
        yield batch


def _explain(error: BaseException, name: str, uri: str) -> FileError:
    """What a driver says, in one line and without secrets."""
    text = " ".join(str(error).split())
    reason = re.search(r"(?:FATAL|ERROR):\s+(.*?)(?= LINE \d+:| SQLSTATE| Query was:| Is the server|$)", text)
    said = _without_secrets(reason[1] if reason else text.partition(" Is the server")[0], uri)[:300]
    return FileError(f"cannot read {name}: {said}", remedy=_advise(said))


def _without_secrets(text: str, uri: str) -> str:
    try:
        password = urlsplit(uri).password
    except ValueError:
        password = None
    for secret in (uri, *(filter(None, (password, password and unquote(password))))):
        text = text.replace(secret, "..." if secret != uri else hide_secrets(uri))
    return SECRETS.sub(r"\1...", text)


def _advise(reason: str) -> str:
    advice = {
        "password": "check the user and the password; libpq also takes them from PGPASSWORD and ~/.pgpass",
        "authentication": "check the user and the password; libpq also takes them from PGPASSWORD and ~/.pgpass",
        "does not exist": "check the names in the query",
        "syntax error": "check the query",
        "refused": "check the host and the port, and that the server runs",
        "terminat": "the connection was lost: run it again",
        "closed the connection": "the connection was lost: run it again",
    }
    return next((text for words, text in advice.items() if words in reason), "")


def _close(resource: Any) -> None:
    """Close a cursor or a connection, which may be lost already."""
    try:
        resource.close()
    except Exception:
        return
