"""Files that unskew writes: whole or not at all, with what they are told in their metadata."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from unskew.errors import FileError

_KEY = b"unskew"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` only if the block succeeds.

    A run that is killed leaves the old file or the new one, never half of either.
    """
    check_writable(path)
    target = path.resolve()  # a link stays a link
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        temporary.replace(target)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Fail now rather than after an hour of work if `path` cannot be written."""
    folder = path.resolve().parent
    try:
        there = path.exists()
    except OSError as error:
        raise FileError(f"cannot write {shortened(path)}: {error.strerror}") from None
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; give the name of a file")
    if there and not path.is_file():
        raise FileError(f"cannot write {path}: it is not an ordinary file, and would be replaced by one")
    if not folder.is_dir():
        raise FileError(f"cannot write {path}: the folder {path.parent} does not exist")
    if not os.access(folder, os.W_OK) or (there and not os.access(path, os.W_OK)):
        raise FileError(f"cannot write {path}: permission denied")


def write_parquet(path: Path, table: pa.Table, kind: str, about: dict[str, Any]) -> None:
    """Write a table whose metadata say what it is (`kind`) and how it was made (`about`)."""
    told = json.dumps({"kind": kind, "format": 1, **about}, allow_nan=False)
    table = table.replace_schema_metadata({_KEY: told.encode()})
    with replacing(path) as temporary:
        pq.write_table(table, temporary)


def read_parquet(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """A table and its metadata; the metadata are empty for a file that unskew did not write."""
    check_readable(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder: give the name of a file")
    try:
        table = pq.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} is not a Parquet file that can be read: {first_line(error)}") from None
    return table, told_by(table.schema)


def told_by(schema: pa.Schema) -> dict[str, Any]:
    """What unskew wrote about the table that has this schema."""
    raw = (schema.metadata or {}).get(_KEY)
    if raw is None:
        return {}
    try:
        result = json.loads(raw)
    except ValueError as error:
        raise FileError(f"what unskew wrote about this file is damaged: {error}") from None
    return result if isinstance(result, dict) else {}


def packed(values: npt.ArrayLike) -> str:
    """An array of numbers as text, for metadata; to the last bit."""
    return base64.b64encode(zlib.compress(np.asarray(values, dtype=np.float64).tobytes())).decode()


def unpacked(text: str) -> npt.NDArray[np.float64]:
    """What `packed` packed."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.float64)


def check_sum_of(files: Iterable[Path]) -> str:
    """A check sum of the bytes of some files."""
    total = 0
    for path in files:
        check_readable(path)
        with path.open("rb") as file:
            while chunk := file.read(2**20):
                total = zlib.crc32(chunk, total)
    return f"{total:08x}"


def check_readable(path: Path) -> None:
    """Say plainly that a file is missing or must not be read."""
    try:
        there = path.exists()
    except OSError:  # a name longer than names can be
        there = False
    if not there:
        raise FileError(f"there is no file {shortened(path)}")
    if not os.access(path, os.R_OK):
        raise FileError(f"cannot read {path}: permission denied")


def first_line(error: BaseException) -> str:
    """The first line of a library's message."""
    return str(error).strip().split("\n")[0]


def shortened(path: Path) -> str:
    """A path for a message, which somebody may have mistaken for the content of a file."""
    name = str(path).split("\n")[0]
    return name if name == str(path) and len(name) <= 200 else f"{name[:200]!r}..."
