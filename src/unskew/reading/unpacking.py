"""Files whose bytes are not yet what can be read: packed, in an archive, from standard input, or not UTF-8.

Each becomes a file in a temporary folder, under the ending of its format. Text in UTF-8 that is packed with gzip
or zstd is left as it is, since DuckDB unpacks these itself.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import functools
import gzip
import lzma
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa

from unskew.errors import FileError, option
from unskew.reading.input_files import InputFile, list_names
from unskew.text import tell_damage

STANDARD_INPUT = "-"
HEAD = 2**20
"""How much of a file is looked at; no header is longer than this."""

_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz"}
_ENDINGS = (".gz", ".zst", ".bz2", ".xz", ".zip")
_READ_BY_DUCKDB = (".gz", ".zst")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_WORKBOOK = "xl/workbook.xml"
_TELLING_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    pa.ArrowException,
)
"""Errors whose message tells what is wrong with a file."""


def packing_of(path: Path) -> str | None:
    """How the bytes of a file are packed, as the ending of such files; None if they are not.

    A workbook is an archive as well, but one that is read as it is.
    """
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(_ZIP):
        return None if _is_workbook(path) else ".zip"
    return next((ending for magic, ending in _MAGIC.items() if head.startswith(magic)), None)


def strip_packing(name: str) -> str:
    """The name of a file without the ending that says how it is packed."""
    return name[: -len(Path(name).suffix)] if Path(name).suffix.lower() in _ENDINGS else name


def read_head(path: Path, name: str) -> tuple[bytes, bool]:
    """The first bytes of what a file holds, unpacked, and whether that is all."""
    with _report(name), open_unpacked(path) as stream:
        head = stream.read(HEAD + 1)
    return head[:HEAD], len(head) <= HEAD


@contextlib.contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked unless it is an archive."""
    packing = packing_of(path)
    if packing == ".zst":
        with pa.input_stream(str(path), compression="zstd") as stream:
            yield cast(BinaryIO, stream)
        return
    opener = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(packing or "", open)
    with opener(path, "rb") as file:  # type: ignore[operator]
        yield file


def unpack(file: InputFile, folder: Path) -> list[InputFile]:
    """What is to be read in place of a file: itself, or what was unpacked from it into `folder`."""
    with _report(file.name):
        packing = packing_of(file.path)
    read_by_duckdb = packing in _READ_BY_DUCKDB and file.path.suffix.lower() == packing
    if packing is None or (read_by_duckdb and _detect_encoding(file) is not None):
        return [file]
    if packing == ".zip":
        return _unpack_archive(file, folder)
    target = _make_place(folder, strip_packing(file.place.name))
    with _report(file.name), open_unpacked(file.path) as stream, target.open("wb") as out:
        shutil.copyfileobj(stream, out)
    return [replace(file, path=target, origin=file.place)]


def recode(file: InputFile, folder: Path) -> InputFile:
    """The same text in UTF-8: the file itself if that is what it is in."""
    encoding, notes = file.options.encoding, file.notes
    if encoding is None:
        encoding = _detect_encoding(file)
        if encoding is None:
            raise FileError(
                f"cannot read {file.name}: it is not text",
                remedy=f"say what it is with {option('format')}, or save it as CSV or Parquet",
            )
        if not is_utf8(encoding):
            notes = (*notes, f"in {name_encoding(encoding)}")
    if is_utf8(encoding):
        return file
    target = _make_place(folder, strip_packing(file.path.name))
    with _report(file.name), open_unpacked(file.path) as stream, target.open("wb") as out:
        _write_utf8(stream, out, encoding, file.name)
    return replace(file, path=target, notes=notes, origin=file.place)


@functools.cache
def copy_standard_input() -> Path:
    """A file with all of standard input, which can be read once only and may be asked for twice."""
    folder = tempfile.TemporaryDirectory(prefix="unskew-")
    _KEPT.append(folder)
    path = Path(folder.name) / "stdin"
    with path.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer, out)
    return path


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # until the end of the process


def _write_utf8(stream: BinaryIO, out: BinaryIO, encoding: str, name: str) -> None:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        while chunk := stream.read(HEAD):
            out.write(decoder.decode(chunk).encode())
        out.write(decoder.decode(b"", final=True).encode())
    except UnicodeError as error:
        raise FileError(
            f"cannot read {name} in {name_encoding(encoding)}: {error}",
            remedy=f"name another encoding with {option('encoding')}",
        ) from None


def _unpack_archive(file: InputFile, folder: Path) -> list[InputFile]:
    """The one file of an archive, or those that `table` names."""
    wanted = file.options.table
    with _report(file.name), zipfile.ZipFile(file.path) as archive:
        inside = [entry for entry in archive.infolist() if _is_content(entry)]
        chosen = inside if wanted is None else [entry for entry in inside if _is_called(entry.filename, wanted)]
        if not chosen or (wanted is None and len(chosen) > 1):
            content = f"{file.name} has {list_names([entry.filename for entry in inside]) or 'no file'} in it"
            remedy = f"choose with {option('table')}, whose value may be a pattern such as *.csv" if inside else ""
            raise FileError(
                content if wanted is None else f"{content}, and none is called {wanted!r}", remedy=remedy
            )
        unpacked = []
        for entry in chosen:
            if entry.flag_bits & 1:
                raise FileError(f"cannot read {file.name}: it has a password", remedy="unpack it first")
            target = _make_place(folder, Path(entry.filename).name)
            with archive.open(entry) as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out)
            options = replace(file.options, table=None)
            unpacked.append(InputFile(target, f"{file.name}/{entry.filename}", options, file.notes, file.place))
        return unpacked


def _detect_encoding(file: InputFile) -> str | None:
    head, whole = read_head(file.path, file.name)
    return find_encoding(head, whole=whole)


def _is_content(entry: zipfile.ZipInfo) -> bool:
    """Whether it is a file, one with a name, and none that only the system of a machine knows."""
    name = entry.filename
    return name != "" and not (entry.is_dir() or name.startswith("__MACOSX/") or Path(name).name.startswith("."))


def _is_called(name: str, wanted: str) -> bool:
    return wanted in (name, Path(name).name) or fnmatch(name, wanted) or fnmatch(Path(name).name, wanted)


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return _WORKBOOK in archive.namelist()
    except Exception:  # whatever damaged bytes lead to
        return path.suffix.lower() in (".xlsx", ".xlsm")


def _make_place(folder: Path, name: str) -> Path:
    """A new path in the folder whose last part is `name`."""
    return Path(tempfile.mkdtemp(dir=folder)) / (name or "file")


@contextlib.contextmanager
def _report(name: str) -> Iterator[None]:
    """What the libraries that unpack say against a file, in one line."""
    try:
        yield
    except FileError:
        raise
    except _TELLING_ERRORS as error:
        raise FileError(f"cannot read {name}: {tell_damage(error)}") from None
    except Exception as error:  # a library that expected other bytes: a place that is not there, an odd number
        raise FileError(f"cannot read {name}: it is damaged") from error


UTF_8: Final = "utf-8"

_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NAMES = {
    "iso8859-1": "latin-1",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-8": "UTF-8",
}


def find_encoding(head: bytes, *, whole: bool) -> str | None:
    """The encoding of a text that begins with `head` (or is that, if `whole`); None if it is no text.

    What is neither marked nor UTF-8 is taken for Latin-1, in which every byte is a letter, so that different ids
    stay different; or for its extension of Windows, where the bytes that this adds occur.

    >>> find_encoding("café".encode("utf-16"), whole=True), find_encoding("café".encode("latin-1"), whole=True)
    ('utf-16', 'latin-1')
    """
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is not None:
        return marked
    if b"\0" in head:
        return _find_wide(head)
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(head, final=whole)
    except UnicodeDecodeError:
        return _find_narrow(head)
    return UTF_8


def name_encoding(name: str) -> str:
    """An encoding as people call it."""
    return _NAMES.get(name, name)


def is_utf8(name: str) -> bool:
    """Whether text in this encoding need not be written anew."""
    return codecs.lookup(name).name in ("utf-8", "utf-8-sig", "ascii")


def _find_wide(head: bytes) -> str | None:
    """UTF-16 without a mark: of most characters one byte is zero, always the same one."""
    first, second, pairs = head[::2], head[1::2], len(head) // 2
    for name, zeros, others in (("utf-16-le", second, first), ("utf-16-be", first, second)):
        if pairs >= 2 and zeros.count(0) >= 0.7 * pairs and others.count(0) == 0:
            return name
    return None


def _find_narrow(head: bytes) -> str | None:
    if any(byte < 32 and byte not in b"\t\n\r\f\x1a\x1b" for byte in set(head)):
        return None
    if any(0x80 <= byte < 0xA0 for byte in set(head)):
        with contextlib.suppress(UnicodeDecodeError):
            head.decode("cp1252")
            return "cp1252"
    return "latin-1"
