"""Programs of Debian that tests need: installed if they are missing and may be; else the failure says how."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path


def require_program(find: Callable[[], str | None], package: str) -> str:
    """Where a program is, after its package was installed if need be."""
    command = ["apt-get", "install", "--yes", "--no-install-recommends", package]
    program = find()
    if program is None and hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        with Path(f"/tmp/unskew-{package}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several tests may miss it at the same time
            if find() is None:
                subprocess.run(["apt-get", "update"], check=False, capture_output=True, timeout=300)
                subprocess.run(command, check=False, capture_output=True, timeout=600)
        program = find()
    if program is None:
        raise RuntimeError(f"these tests need Debian's package {package}: sudo {' '.join(command)}")
    return program
