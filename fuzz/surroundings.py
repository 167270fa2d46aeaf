"""Unkind surroundings: a full disk, an install that can only be read, two processes on one file, many threads."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import unskew as us
from fuzz.child_process import Ending, run_in_child
from fuzz.kill_points import Writer, list_writers, read_state
from fuzz.random_options import find_leftover
from fuzz.verdicts import Verdict, find_fault

_NEW_MOUNTS = 0x00020000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18


def run_surrounding_case(work: Path, rng: Random) -> Verdict:
    """A writer on a full disk, or two of them on one file."""
    writer = rng.choice(list_writers())
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    draw = rng.random()
    if draw < 0.4:
        return _run_limited(writer, work, rng.choice((0, 1, 100, 400, 1000)))
    if draw < 0.8:
        return _run_on_small_disk(writer, work, rng.choice((4, 8, 12, 16)))
    return _run_twice(writer, work)


def _run_limited(writer: Writer, work: Path, size: int) -> Verdict:
    """Files may not become larger than this."""
    _require_done(run_in_child(lambda: writer.write(work, 0)))
    old = read_state(work / writer.written)
    ending = run_in_child(lambda: writer.write(work, 1), file_bytes=size)
    return _judge_failure("disk full", writer, work, old, ending, f"files of at most {size} bytes")


def _judge_failure(group: str, writer: Writer, work: Path, old: str, ending: Ending, about: str) -> Verdict:
    about = f"{writer.name}, {about}"
    fault = find_fault(ending)
    if fault:
        return Verdict(group, fault, True, f"{about}: {ending.err[-2000:]}")
    if ending.code == 0:
        return Verdict(group, "written", detail=about)
    if writer.resumes:  # a part of the new may be there, from which it goes on
        _require_done(run_in_child(lambda: writer.write(work, 1)))
    elif read_state(work / writer.written) != old:
        return Verdict(group, "the old is lost", True, about)
    left = find_leftover(work)
    return Verdict(group, "left behind" if left else "refused", bool(left), f"{about}: {left}")


def _run_on_small_disk(writer: Writer, work: Path, pages: int) -> Verdict:
    """A disk of a few kilobytes, where one may be mounted; seen by the child alone."""
    ending = run_in_child(lambda: _write_on_small_disk(writer, work, pages))
    if ending.answer == "no disk":
        return _run_limited(writer, work, pages * 100)
    fault = find_fault(ending) or ending.answer[0]
    if fault:
        return Verdict("disk full", fault, True, f"{writer.name}, a disk of {pages} pages: {ending.err[-2000:]}")
    return Verdict("disk full", ending.answer[1])


def _write_on_small_disk(writer: Writer, work: Path, pages: int) -> Any:
    """What is wrong after a writer met a full disk, and what it did."""
    if not _mount_small_disk(work, pages):
        return "no disk"
    try:
        writer.write(work, 0)
    except us.UnskewError:
        return [find_leftover(work), "refused"]
    old = read_state(work / writer.written)
    try:
        writer.write(work, 1)
    except us.UnskewError:
        lost = "" if writer.resumes or read_state(work / writer.written) == old else "the old is lost"
        return [lost or find_leftover(work), "refused"]
    return ["", "written"]


def _mount_small_disk(folder: Path, pages: int) -> bool:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(
            libc.unshare(_NEW_MOUNTS) == 0
            and libc.mount(b"none", b"/", None, _PRIVATE | _RECURSIVE, None) == 0
            and libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={pages * 4}k".encode()) == 0
        )
    except (OSError, AttributeError):
        return False


def _run_twice(writer: Writer, work: Path) -> Verdict:
    """Two processes write to one place again and again; in the end it holds what one of them wrote."""
    states = []
    for k in (0, 1, 0):  # what resumes keeps what the other left, so that the order matters
        _require_done(run_in_child(lambda k=k: writer.write(work, k)))  # type: ignore[misc]
        states.append(read_state(work / writer.written))
    ending = run_in_child(lambda: _write_together(writer, work))
    fault = find_fault(ending)
    if fault or ending.code:
        return Verdict("two processes", fault or "refused", True, f"{writer.name}: {ending.err[-2000:]}")
    found = read_state(work / writer.written)
    if found not in states:
        return Verdict("two processes", "a mixture", True, writer.name)
    left = find_leftover(work)
    return Verdict("two processes", "left behind" if left else "one of them", bool(left), f"{writer.name}: {left}")


def _write_together(writer: Writer, work: Path) -> None:
    other = os.fork()
    code = 1
    try:
        for _ in range(5):
            writer.write(work, 1 if other else 0)
        code = 0
    finally:
        if not other:
            os._exit(code)
        if os.waitpid(other, 0)[1]:
            raise RuntimeError("the other process failed")


def compare_threads() -> list[Verdict]:
    """A log that is large enough for threads gives the same bits with 1, 2 and 16 of them."""
    answers = [run_in_child(lambda n=n: _compute(n)) for n in (1, 2, 16)]  # type: ignore[misc]
    return list(_judge_threads(answers))


def _judge_threads(answers: list[Ending]) -> Iterator[Verdict]:
    for threads, ending in zip((1, 2, 16), answers, strict=True):
        fault = find_fault(ending)
        if fault or ending.code:
            yield Verdict("threads", fault or "refused", True, f"{threads} threads: {ending.err[-2000:]}")
        elif ending.answer != answers[0].answer:
            yield Verdict(
                "threads", "other bits", True, f"{threads} threads: {ending.answer}, {answers[0].answer}"
            )
        else:
            yield Verdict("threads", "same bits")


def _compute(threads: int) -> Any:
    os.environ["UNSKEW_THREADS"] = str(threads)
    rng = np.random.default_rng(1)
    n = 80_000
    rows = {"user": rng.integers(0, 4000, n), "item": (900 * rng.random(n) ** 3).astype(int), "time": np.arange(n)}
    log = us.read_log(rows)
    now, then = log.at(n), log.at(n // 2)
    weights = us.fit_weights(now, then, tol=1e-5)
    scores = [us.evaluate(spec, now, weights=weights, sample=2000).value for spec in ("popular", "knn")]
    return [
        value.hex() for value in (*scores, weights.bound, weights.divergence, *weights.log_weights[:50].tolist())
    ]


def run_without_home(work: Path) -> Verdict:
    """An install that can only be read, no HOME, and no place for compiled loops but a private one."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    package, scratch = work / "install" / "unskew", work / "scratch"
    shutil.copytree(Path(us.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (work / "log.csv").write_text("user,item,time\n1,a,1\n1,b,1\n2,b,2\n2,a,3\n")
    scratch.mkdir()
    _set_modes(work / "install", 0o555, 0o444)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "unskew",
            "drift",
            str(work / "log.csv"),
            "--reference",
            "1",
            "--at",
            "3",
            "--json",
        ],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(work / "install"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(scratch),
            **({} if os.geteuid() == 0 else {"HOME": "/nonexistent"}),
        },
        preexec_fn=partial(_make_read_only, work, scratch) if os.geteuid() == 0 else None,
        capture_output=True,
        text=True,
        check=False,
    )
    _set_modes(work / "install", 0o755, 0o644)
    fault = find_fault(Ending(done.returncode, "", None, done.stdout, done.stderr))
    fault = fault or ("" if done.returncode == 0 else "refused")
    return Verdict("no HOME", fault or "done", bool(fault), done.stderr[-2000:])


def _set_modes(folder: Path, of_folders: int, of_files: int) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(of_folders if path.is_dir() else of_files)


def _make_read_only(work: Path, scratch: Path) -> None:
    """Have this process, which is root's, see a disk that it cannot write to, but for one folder."""
    libc = ctypes.CDLL(None)
    again = _REMOUNT | _BIND | _READ_ONLY
    libc.unshare(_NEW_MOUNTS)
    libc.mount(b"none", b"/", None, _PRIVATE | _RECURSIVE, None)
    for folder in (work, Path.home()):
        libc.mount(bytes(folder), bytes(folder), None, _BIND | _RECURSIVE, None)
        libc.mount(None, bytes(folder), None, again, None)
    libc.mount(b"tmpfs", bytes(scratch), b"tmpfs", 0, b"size=64m")


def _require_done(ending: Ending) -> None:
    if ending.code:
        raise RuntimeError(f"a writer does not write: {ending.signal} {ending.err}")
