"""Running a function in a child process that may crash, hang or eat all memory.

The parent has imported everything and has started no thread, so that a child is a fork of a few milliseconds.
Little of unskew runs in the parent: what `warm_up` calls, and what all children can share.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import unskew as us
from fuzz.small_log import load_reading_loops, make_small_table, read_as_large, read_small_log
from fuzz.system_calls import Before, answer_calls, ask_before_writing

CPU_SECONDS = 120
"""Of a processor, so that a busy machine is not taken for a hang; no case needs a tenth of it."""

_WALL_SECONDS = 900
_MORE_MEMORY = 2 * 2**30  # beyond what the parent has


@dataclass(frozen=True)
class Ending:
    """How a child process ended.

    Attributes
    ----------
    code
        Its exit code; None if a signal ended it.
    signal
        The name of the signal that ended it, or ``hang``; empty if none did.
    answer
        What the function returned, through JSON; the remedy if unskew refused.
    out, err
        What it wrote.
    """

    code: int | None
    signal: str
    answer: Any
    out: str
    err: str


def run_in_child(
    function: Callable[[], Any], *, file_bytes: int | None = None, before: Before | None = None
) -> Ending:
    """Call a function in a child process and tell how that ended.

    An `UnskewError` ends it as a command would end: one line, exit code 2. `file_bytes` limits the size of files
    that it writes, as a full disk would. `before` is called here before each of its system calls that write.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as answer:
        done, waiting = socket.socketpair()
        process = os.fork()
        if not process:
            done.close()
            _be_the_child(function, out, err, answer, file_bytes, None if before is None else waiting)
        waiting.close()
        if before is not None:
            for listener in socket.recv_fds(done, 1, 1)[1]:  # none if the system has no such thing
                answer_calls(listener, before, _WALL_SECONDS)
                os.close(listener)
        hangs = not select.select([done], [], [], _WALL_SECONDS)[0]  # the socket is closed when the child ends
        done.close()
        if hangs:
            os.kill(process, signal.SIGKILL)
        status = os.waitpid(process, 0)[1]
        texts = [_read(file) for file in (out, err, answer)]
    killer = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    name = "" if killer is None else "hang" if hangs or killer == signal.SIGXCPU else signal.Signals(killer).name
    found = json.loads(texts[2]) if texts[2] else None
    return Ending(os.WEXITSTATUS(status) if killer is None else None, name, found, texts[0], texts[1])


def run_command(arguments: Sequence[str]) -> None:
    """Run unskew on a command line, in this process; ends with `SystemExit`."""
    from unskew.cli import main

    main(list(arguments), prog_name="unskew")


def run_json_command(*arguments: str | Path) -> Any:
    """Run a command with ``--json`` in this process and give what it printed; what it refuses ends the process."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        with contextlib.redirect_stdout(out):
            try:
                run_command([*map(str, arguments), "--json"])
            except SystemExit as ended:
                if ended.code:
                    raise
        out.seek(0)
        return json.load(out)


def warm_up() -> None:
    """Load the compiled loops once, for all children; without a thread, which a fork would lose."""
    os.environ["UNSKEW_THREADS"] = "1"
    _import_all()
    load_reading_loops()
    small = read_small_log()
    with read_as_large("sql"):
        other = us.read_log(
            make_small_table()
        )  # whose arrays cannot be written to, for which there are other loops
    for log in (small, other):
        now, then = log.at(90), log.at(50)
        us.drift(now, then)
        weights = us.fit_weights(now, then, tol=0.01)
        for recommender in ("popular", "constant:1,4", "knn"):
            us.evaluate(recommender, now, weights=weights)
    names = [(thread / "comm").read_text().strip() for thread in Path("/proc/self/task").glob("*")]
    others = [name for name in names[1:] if not name.startswith("jemalloc")]  # which knows about forks
    if others:
        raise RuntimeError(f"threads run before the first child is made: {', '.join(others)}")


def _import_all() -> None:
    """Import what commands import when they need it."""
    import importlib
    import pkgutil

    for module in pkgutil.walk_packages(us.__path__, "unskew."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _be_the_child(
    function: Callable[[], Any],
    out: IO[bytes],
    err: IO[bytes],
    answer: IO[bytes],
    file_bytes: int | None,
    watcher: socket.socket | None,
) -> None:
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        _limit(file_bytes)
        if watcher is not None:
            _be_watched(watcher)
        try:
            found = _call(function)
            code = 0
        except us.UnskewError as error:
            print(f"error: {error}", file=sys.stderr)
            code, found = 2, error.remedy
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
            found = _find_remedy(ended)
        answer.write(json.dumps(found).encode())
        answer.flush()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        with contextlib.suppress(OSError):
            traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(code)


def _be_watched(watcher: socket.socket) -> None:
    listener = ask_before_writing()
    socket.send_fds(watcher, [b"."], [listener])
    os.close(listener)


def _find_remedy(error: BaseException | None) -> str | None:
    """The remedy of the error with which a command ended; None if there was none, or if click refused."""
    while error is not None and not isinstance(error, us.UnskewError):
        error = error.__context__
    return None if error is None else error.remedy


def _call(function: Callable[[], Any]) -> Any:
    """What the function gives; afterwards there is room again, to tell."""
    try:
        return function()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _limit(file_bytes: int | None) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    most = (
        used + _MORE_MEMORY
    )  # of what is written to: V8, which draws charts, reserves a terabyte that it never uses
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if file_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then fails, as it does on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
