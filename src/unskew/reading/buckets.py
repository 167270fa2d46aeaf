"""Files of other machines: ``s3://``, ``gs://``, ``abfss://`` and ``https://`` addresses, and globs of buckets.

They are copied into the folder for temporary files and read there like any other file, with the same checks.
pyarrow's file systems look for credentials where the tools of each provider do: in the environment, in a profile,
or in the role of the machine.
"""

from __future__ import annotations

import fnmatch
import re
import shutil
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from unskew.errors import FileError
from unskew.progress import progress
from unskew.reading.input_files import InputFile
from unskew.text import hide_secrets

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
    """A file of a bucket or of a web server.

    Attributes
    ----------
    address
        How to speak of it.
    path
        Its place in the file system; on the web its whole address.
    system
        The file system; None on the web.
    """

    address: str
    path: str
    system: Any = None

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
            raise _explain(error, self.address) from None
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
        raise _explain(error, shown) from None
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


def _explain(error: BaseException, address: str) -> FileError:
    """What a file system says, in one line, and how to log in if that is missing."""
    text = " ".join(str(error).split())
    scheme = address.partition("://")[0].lower()
    if scheme in _CREDENTIALS and _REFUSED.search(text):
        return FileError(f"cannot read {address}: access denied", remedy=_CREDENTIALS[scheme])
    if re.search(r"(?i)\b404\b|not.?found|no.?such|does not exist", text):
        return FileError(f"cannot read {address}: there is no such file", remedy="check the bucket and the path")
    return FileError(f"cannot read {address}: {text[:300]}")
