"""What lies on other machines, and tables that arrive in batches.

Files at ``s3://``, ``gs://``, ``abfss://`` and ``https://`` addresses, and globs of buckets, are copied into the
folder for temporary files and read there like any other file, with the same checks. pyarrow looks for credentials
where the tools of each provider do: in the environment, in a profile, or in the role of the machine.

Arrow streams, datasets and queries of databases can be read once. So the columns that are needed are copied into a
temporary table of DuckDB, batch by batch, which goes to the disk if it exceeds the memory limit.
"""

from __future__ import annotations

import contextlib
import fnmatch
import importlib
import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb
import pyarrow as pa

from unskew.errors import FileError, InputError, option
from unskew.progress import progress
from unskew.reading.connection import quote_name, without_categoricals
from unskew.reading.input_files import InputFile
from unskew.text import SECRETS, hide_secrets

_GLOB = re.compile(r"[*\[]")  # a question mark begins the parameters of an address
_REFUSED = re.compile(r"(?i)access.?denied|forbidden|authenticat|\b40[13]\b|credential|no response body")
_CHUNK = 2**22
_PATIENCE = 60  # seconds without a byte
_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login",
    "gcs": "set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login",
    "abfs": "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run az login",
    "abfss": "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run az login",
}


@dataclass(frozen=True)
class RemoteFile:
    """A file of a bucket or of a web server."""

    address: str  # how to speak of it
    path: str  # its place in the file system; on the web its whole address
    system: Any = None  # the file system; None on the web

    def fetch(self, folder: Path, file: InputFile) -> InputFile:
        """Copy it into a folder; `file` is read from there."""
        scheme, _, path = (self.address if self.system is None else self.path).rpartition("://")
        parts = [part for part in PurePosixPath(unquote(path)).parts if part not in ("/", "..")]
        copy = folder.joinpath("remote", scheme, *parts)  # with its folders, whose names may be columns
        copy.parent.mkdir(parents=True, exist_ok=True)
        progress().stage(f"copying {self.address}")
        try:
            with self._open() as stream, copy.open("wb") as out:
                shutil.copyfileobj(stream, out, _CHUNK)
        except Exception as error:
            raise _explain_file_error(error, self.address) from None
        return replace(file, path=copy, remote=None)

    def _open(self) -> Any:
        if self.system is None:
            return urllib.request.urlopen(self.path, timeout=_PATIENCE)
        return self.system.open_input_stream(self.path, compression=None)  # unpacking is for later


def find_remote(address: str) -> list[RemoteFile]:
    """The files meant by an address: one, those that match a glob, or all of a folder."""
    shown, scheme = hide_secrets(address), address.partition("://")[0].lower()
    path, _, parameters = address.partition("?")
    is_glob = _GLOB.search(path) is not None
    if scheme in ("http", "https"):
        if is_glob:
            raise FileError(f"{shown} is a pattern, and a web server lists no files", remedy="name each file")
        return [RemoteFile(shown, address)]
    base = _GLOB.split(path)[0].rsplit("/", 1)[0] if is_glob else path
    if not base.partition("://")[2].strip("/"):
        raise FileError(f"{shown} names no bucket", remedy=f"write {scheme}://BUCKET/PATH")
    import pyarrow.fs as pafs

    try:
        system, root = pafs.FileSystem.from_uri(base + (f"?{parameters}" if parameters else ""))
        [info] = system.get_file_info([root])
        if info.type == pafs.FileType.File:
            return [RemoteFile(shown, root, system)]
        selector = pafs.FileSelector(root, recursive=True, allow_not_found=True)
        paths = sorted(info.path for info in system.get_file_info(selector) if info.type == pafs.FileType.File)
    except Exception as error:
        raise _explain_file_error(error, shown) from None
    if is_glob:
        pattern = re.compile(_translate_glob(root + path[len(base) :]))
        paths = [path for path in paths if pattern.fullmatch(path)]
    if not paths:
        raise FileError(f"there is no file at {shown}", remedy="check the bucket and the path")
    return [RemoteFile(f"{scheme}://{path}", path, system) for path in paths]


def _translate_glob(pattern: str) -> str:
    """A regular expression: a star stays within a folder, two stars do not."""
    deep = {"**/": "(?:.*/)?", "**": ".*"}
    return "".join(
        deep.get(part) or fnmatch.translate(part)[4:-3].replace(".*", "[^/]*")
        for part in re.split(r"(\*\*/?)", pattern)
    )


def _explain_file_error(error: BaseException, address: str) -> FileError:
    """What a file system says, in one line, and how to log in if that is missing."""
    text = " ".join(str(error).split())
    scheme = address.partition("://")[0].lower()
    if scheme in _CREDENTIALS and _REFUSED.search(text):
        return FileError(f"cannot read {address}: access denied", remedy=_CREDENTIALS[scheme])
    if re.search(r"(?i)\b404\b|not.?found|no.?such|does not exist", text):
        return FileError(f"cannot read {address}: there is no such file", remedy="check the bucket and the path")
    return FileError(f"cannot read {address}: {text[:300]}")


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
    """A table that can be read once, in batches."""

    name: str  # how to speak of it
    schema: pa.Schema  # its columns and their types
    # Gives the batches, of some columns if it can choose them.
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
        return BatchStream(
            "the dataset",
            source.schema,
            lambda columns: source.scanner(columns=list(columns), batch_size=_BATCH).to_reader(),
        )
    if isinstance(source, pa.RecordBatchReader):
        return BatchStream("the stream", source.schema, lambda _: source)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(source)
        except (pa.ArrowException, TypeError, ValueError):  # a column alone is a stream, too, and no table
            return None
        return BatchStream("the stream", reader.schema, lambda _: reader)
    if callable(getattr(source, "fetch_record_batch", None)):  # a cursor of ADBC
        cursor_reader = source.fetch_record_batch()
        return BatchStream("the cursor", cursor_reader.schema, lambda _: cursor_reader)
    return None


def _decode_categories(reader: pa.RecordBatchReader, columns: Sequence[str]) -> pa.RecordBatchReader:
    """The same with categories as values, since each batch may have others."""
    if not any(pa.types.is_dictionary(reader.schema.field(name).type) for name in columns):
        return reader

    def decode(table: pa.Table) -> pa.Table:
        return without_categoricals(table.select(list(columns)))

    batches = (batch for each in reader for batch in decode(pa.Table.from_batches([each])).to_batches())
    return pa.RecordBatchReader.from_batches(decode(reader.schema.empty_table()).schema, batches)


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
        raise _explain_query_error(error, name, uri) from None  # the error itself may have the password

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
    return module.connect  # type: ignore[no-any-return]


def _pass_on(reader: pa.RecordBatchReader, name: str, uri: str) -> Iterator[pa.RecordBatch]:
    """The batches, with errors in one line: a connection may be lost between two of them."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except Exception as error:
            raise _explain_query_error(error, name, uri) from None
        yield batch


def _explain_query_error(error: BaseException, name: str, uri: str) -> FileError:
    """What a driver says, in one line and without secrets."""
    text = " ".join(str(error).split())
    reason = re.search(r"(?:FATAL|ERROR):\s+(.*?)(?= LINE \d+:| SQLSTATE| Query was:| Is the server|$)", text)
    message = _without_secrets(reason[1] if reason else text.partition(" Is the server")[0], uri)[:300]
    return FileError(f"cannot read {name}: {message}", remedy=_advise(message))


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
        "password|authentication": "check the user and the password; libpq also takes them from PGPASSWORD and "
        "~/.pgpass",
        "does not exist": "check the names in the query",
        "syntax error": "check the query",
        "refused": "check the host and the port, and that the server runs",
        "terminat|closed the connection": "the connection was lost: run it again",
    }
    return next((text for words, text in advice.items() if re.search(words, reason)), "")


def _close(resource: Any) -> None:
    """Close a cursor or a connection, which may be lost already."""
    with contextlib.suppress(Exception):
        resource.close()
