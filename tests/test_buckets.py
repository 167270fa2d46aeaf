"""Logs from buckets and web servers, all on loopback addresses: an S3 server of moto, and a plain one."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import unskew as us
from unskew.reading import remote


@pytest.fixture(scope="module")
def s3() -> Iterator[None]:
    """A server with the bucket `shop`, which the environment names."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
                patch.setenv("AWS_ACCESS_KEY_ID", "key")
                patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
                patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
                patch.setenv("AWS_REGION", "us-east-1")
                _fill(pafs.S3FileSystem(endpoint_override=f"http://127.0.0.1:{port}", allow_bucket_creation=True))
                yield
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError("the S3 server did not start")


def _fill(system: pafs.FileSystem) -> None:
    system.create_dir("shop")
    for day in (1, 2):
        with system.open_output_stream(f"shop/events/date=2024-03-0{day}/part.parquet") as out:
            pq.write_table(
                pa.table({"user": [1, 2, day], "item": [1, 2, 3], "time": [day, day + 1, day + 2]}), out
            )
    with system.open_output_stream("shop/events/_SUCCESS") as out:
        out.write(b"")
    with system.open_output_stream("shop/log.csv.gz", compression="gzip") as out:
        out.write(b"user,item,time\na,x,1\nb,y,2\n")


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize(
    "address",
    ["s3://shop/events", "s3://shop/events/", "s3://shop/events/*/part.parquet", "s3://shop/**/*.parquet"],
)
def test_folders_and_globs_give_all_their_files(address: str) -> None:
    log = us.read_log(address)
    assert (len(log.users), len(log.items), len(log)) == (2, 3, 4)
    assert log.source == "s3://shop/events/date=2024-03-01/part.parquet and 1 more"


@pytest.mark.usefixtures("s3")
def test_folder_names_and_packed_text_are_read_as_on_the_disk() -> None:
    assert str(us.read_log("s3://shop/events", time="date").axis.show(19784)) == "2024-03-02"
    assert sorted(us.read_log("s3://shop/log.csv.gz").users) == ["a", "b"]
    assert len(us.read_log(["s3://shop/events/date=2024-03-01/part.parquet"])) == 3


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://shop/nothing.csv", "there is no file at s3://shop/nothing.csv: check the bucket and the path"),
        ("s3://shop/*.parquet", "there is no file at"),
        ("s3://nowhere/a.csv", "there is no file at"),
        ("s3://", "names no bucket: write s3://BUCKET/PATH"),
        ("hdfs://shop/a.csv", "is not on this machine: give an s3://"),
    ],
)
def test_what_is_not_there_is_one_line(address: str, said: str) -> None:
    with pytest.raises(us.FileError, match=said) as caught:
        us.read_log(address)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("s3")
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    us.read_log("s3://shop/events", temp_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


class Refusing(http.server.BaseHTTPRequestHandler):
    """A server that lets nobody in."""

    def do_HEAD(self) -> None:
        self.send_error(403)

    do_GET = do_HEAD  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serve(handler: Any) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def test_missing_credentials_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(Refusing) as address:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        with pytest.raises(us.FileError, match="access denied: set AWS_ACCESS_KEY_ID"):
            us.read_log("s3://shop/log.csv")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_files_of_a_web_server(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,time\na,x,1\nb,y,2\n")
    with serve(functools.partial(Quiet, directory=tmp_path)) as address:
        assert us.read_log(f"{address}/log.csv?signature=hush").source == f"{address}/log.csv?signature=..."
        with pytest.raises(us.FileError, match="there is no such file"):
            us.read_log(f"{address}/nothing.csv")
        with pytest.raises(us.FileError, match="a web server lists no files: name each file"):
            us.read_log(f"{address}/*.csv")


def test_a_local_path_never_touches_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("somebody asked the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(remote, "find_remote", refuse)
    (tmp_path / "log.csv").write_text("user,item,time\na,https://127.0.0.1/x,1\n")
    assert list(us.read_log(tmp_path / "log.csv").items) == ["https://127.0.0.1/x"]
