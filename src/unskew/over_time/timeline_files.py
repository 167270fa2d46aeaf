"""Where a timeline is written, checked before the work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unskew.errors import PolicyError, option
from unskew.files import check_writable
from unskew.table_files import check_table_name, is_csv


@dataclass(frozen=True)
class TimelineFiles:
    """Where rows and probabilities are written, if anywhere."""

    rows: Path | None
    probabilities: Path | None

    @classmethod
    def of(
        cls, output: str | Path | None, probabilities: str | Path | None, *, resume: bool, items: bool
    ) -> TimelineFiles:
        """Check that they can be written, and that nothing is missing to go on with them."""
        if probabilities is not None and not items:
            raise PolicyError(f"{option('probabilities')} needs {option('items')}", remedy="say whose to write")
        if probabilities is not None and output is None:
            raise PolicyError(
                "a file of probabilities goes with the file of the rows",
                remedy=f"give that with {option('output')}",
            )
        if resume and output is None:
            raise PolicyError(f"{option('resume')} continues a file", remedy=f"give it with {option('output')}")
        if resume and any(path is not None and is_csv(Path(path)) for path in (output, probabilities)):
            raise PolicyError(
                f"{option('resume')} continues Parquet files: CSV has no room for what it needs",
                remedy="give names that end in .parquet",
            )
        if resume and items and probabilities is None:
            raise PolicyError(
                f"{option('resume')} with {option('items')} needs the file of their probabilities",
                remedy=f"give it with {option('probabilities')}",
            )
        files = [None if path is None else Path(path) for path in (output, probabilities)]
        for path in files:
            if path is not None:
                check_writable(path)
                check_table_name(path)
        if files[0] is not None and files[1] is not None and files[0].resolve() == files[1].resolve():
            raise PolicyError(
                f"rows and probabilities cannot both be written to {files[0]}", remedy="name two files"
            )
        return cls(*files)
