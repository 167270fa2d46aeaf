"""Stopping a process before each system call that writes, without a compiler and without root.

Libraries write in C++ and in Rust, where Python sees nothing, but every byte goes through the kernel: a filter of
seccomp stops the calls that write and asks this process, which then lets them go on. Linux only.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import select
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_X86 = {
    **{"open": 2, "openat": 257, "creat": 85, "write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296},
    **{"sendfile": 40, "copy_file_range": 326, "truncate": 76, "ftruncate": 77, "fsync": 74, "fdatasync": 75},
    **{"rename": 82, "renameat": 264, "renameat2": 316, "unlink": 87, "unlinkat": 263, "rmdir": 84},
    **{"mkdir": 83, "mkdirat": 258, "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "chmod": 90},
    **{"fchmod": 91, "fchmodat": 268, "seccomp": 317},
}
_ARM = {
    **{"openat": 56, "write": 64, "pwrite64": 68, "writev": 66, "pwritev": 70, "sendfile": 71},
    **{"copy_file_range": 285, "truncate": 45, "ftruncate": 46, "fsync": 82, "fdatasync": 83, "renameat": 38},
    **{"renameat2": 276, "unlinkat": 35, "mkdirat": 34, "linkat": 37, "symlinkat": 36, "fchmod": 52},
    **{"fchmodat": 53, "seccomp": 277},
}
_NUMBERS = {"x86_64": _X86, "aarch64": _ARM}.get(platform.machine(), {})
_NAMES = {number: name for name, number in _NUMBERS.items() if name != "seccomp"}

_PATHS = {  # which arguments are paths; of the others the first is a number of an open file
    **dict.fromkeys(("open", "creat", "truncate", "rename", "unlink", "rmdir", "mkdir", "chmod"), (0,)),
    **dict.fromkeys(("openat", "unlinkat", "mkdirat", "fchmodat"), (1,)),
    **{"link": (1,), "symlink": (1,), "linkat": (3,), "symlinkat": (2,), "renameat": (1,), "renameat2": (1,)},
}
_OPEN_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NO_NEW_PRIVILEGES, _SET_FILTER, _NEW_LISTENER = 38, 1, 8
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of the language of filters
_ASK, _ALLOW = 0x7FC00000, 0x7FFF0000
_RECEIVE, _SEND, _GO_ON = 0xC0502100, 0xC0182101, 1
_QUESTION, _ANSWER = "QIIiIQ6Q", "QqiI"
_HERE = 2**32 - 100  # AT_FDCWD


@dataclass(frozen=True)
class Call:
    """A system call that is about to be made.

    Attributes
    ----------
    process
        Whose call it is.
    path
        What it changes.
    half, place
        Of a write: the first half of its bytes and where in the file they go; None and 0 of other calls.
    """

    name: str
    process: int
    path: Path
    half: bytes | None = None
    place: int = 0


def ask_before_writing() -> int:
    """Have this process stop before each call that writes; gives the file through which another answers."""
    if not _NUMBERS:
        raise RuntimeError(f"the system calls of {platform.machine()} are not known: run the campaign elsewhere")
    steps = [(_LOAD, 0, 0, 0)]
    for number in _NAMES:
        steps += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ASK)]
    code = b"".join(struct.pack("HBBI", *step) for step in [*steps, (_RETURN, 0, 0, _ALLOW)])
    text = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    listener = int(libc.syscall(_NUMBERS["seccomp"], _SET_FILTER, _NEW_LISTENER, program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "this system does not let calls be watched")
    return listener


Before = Callable[[Call], None]
"""What is done before a call is made; it may kill the process."""


def answer_calls(listener: int, before: Before, seconds: float) -> None:
    """Hand each call to `before` and let it be made afterwards, until the process ends or hangs."""
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    while events := waiting.poll(1000 * seconds):
        if not events[0][1] & select.POLLIN:
            return
        with suppress(FileNotFoundError):  # it was killed while it waited
            question = bytearray(struct.calcsize(_QUESTION))
            fcntl.ioctl(listener, _RECEIVE, question)
            identity, process, _, number, _, _, *arguments = struct.unpack(_QUESTION, question)
            call = _describe(process, _NAMES[number], arguments)
            if call is not None:
                before(call)
            fcntl.ioctl(listener, _SEND, bytearray(struct.pack(_ANSWER, identity, 0, 0, _GO_ON)))


def _describe(process: int, name: str, arguments: list[int]) -> Call | None:
    """A call; None if it writes nothing, or nothing on a disk."""
    flags = {"open": arguments[1], "openat": arguments[2]}.get(name, os.O_CREAT)
    if not flags & _OPEN_TO_WRITE:
        return None
    places = _PATHS.get(name)
    if places is None:
        handle = arguments[2 if name == "copy_file_range" else 0] & 0xFFFFFFFF
        path = Path(f"/proc/{process}/fd/{handle}").readlink()
        if name not in ("write", "pwrite64"):
            return Call(name, process, path)
        half = _read_memory(process, arguments[1], arguments[2] // 2)
        place = int(Path(f"/proc/{process}/fdinfo/{handle}").read_text().split()[1])
        return Call(name, process, path, half, arguments[3] if name == "pwrite64" else place)
    text = _read_memory(process, arguments[places[0]], 4096).partition(b"\0")[0]
    folder = arguments[places[0] - 1] & 0xFFFFFFFF if name.endswith(("at", "at2")) else _HERE
    inside = Path(f"/proc/{process}/cwd" if folder == _HERE else f"/proc/{process}/fd/{folder}").readlink()
    return Call(name, process, inside / os.fsdecode(text))


def _read_memory(process: int, address: int, size: int) -> bytes:
    """Bytes of the other process; fewer if its memory ends before."""
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        return os.pread(memory.fileno(), size, address)
