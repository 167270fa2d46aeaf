"""``python -m benchmarks [SIZE...]``: sizes in entries, by default from the paper's to 50 million."""

from __future__ import annotations

import sys

from rich.console import Console

from benchmarks.core import run

SIZES = [163_000, 1_600_000, 16_000_000, 50_000_000]

if __name__ == "__main__":
    run([int(float(s)) for s in sys.argv[1:]] or SIZES, Console(width=130))
