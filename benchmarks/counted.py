"""What the guards count: passes of fits, bytes of what is kept, and how often work is done."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import unskew as us
from benchmarks.worlds import Case, case, quick_world
from unskew.arrays.folding import Rows
from unskew.arrays.profiles import Profiles
from unskew.arrays.sweep import Sweep
from unskew.engines.spark.population import SparseSums
from unskew.reading.loop_encoder import FileStorage
from unskew.solve.scaling import scale


@cache
def _case(entries: int, growth: float) -> Case:
    return case(entries, growth)


@cache
def _rows() -> pa.Table:
    """40 000 events with texts for ids."""
    rows = quick_world(8000, 2000)
    texts = {name: pa.array([f"{name}-{code}" for code in rows[name].to_pylist()]) for name in ("user", "item")}
    return pa.table({**texts, "time": rows["time"]})


@cache
def _log() -> us.Log:
    return us.read_log(_rows())


def _last() -> us.Snapshot:
    return _log().at(_log().last)


def count_fit_passes(entries: int, growth: float) -> Callable[[], float]:
    return lambda: scale(_case(entries, growth).problem, tol=1e-4, max_passes=500).passes


def count_descent_passes() -> float:
    here = _case(20_000, 0.0)
    return us.fit_weights(here.now, here.before, top=20, method="descent").report.passes


def count_timeline_passes() -> float:
    log = _log()
    constant = us.Constant(log.items.to_list()[:5])
    with _counted_passes() as passes:
        us.timeline(log, {"list": constant}, reference=300, end=490, every=10)
    return passes()


def count_report_passes() -> float:
    log = _log()
    with _counted_passes() as passes:
        us.report(log, ["popular"], at=log.last, reference=300)
    return passes()


@contextlib.contextmanager
def _counted_passes() -> Iterator[Callable[[], int]]:
    """The passes of all sweeps that are made inside."""
    sweeps: list[Sweep] = []
    prepare = Sweep.__init__

    def remember(sweep: Sweep, profiles: Profiles) -> None:
        sweeps.append(sweep)
        prepare(sweep, profiles)

    with patch.object(Sweep, "__init__", remember):
        yield lambda: sum(sweep.count for sweep in sweeps)


def count_saved_bytes() -> float:
    log = _log()
    with tempfile.TemporaryDirectory() as folder:
        log.save(Path(folder) / "log.arrow")
        return (Path(folder) / "log.arrow").stat().st_size / len(log)


def count_log_bytes() -> float:
    log = _log()
    return (log.item.nbytes + log.time.nbytes) / len(log)


def count_snapshot_bytes() -> float:
    """What a date takes beyond the log: arrays of its own, for each user."""
    log = _log()
    log.at(400)
    return _peak(lambda: log.at(400), twice=False)[1] / log.at(400).n_users


def count_marginal_bytes() -> float:
    log = _log()
    log.at(log.last).marginal()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mix.parquet"
        log.at(log.last).marginal().save(path)
        return path.stat().st_size / len(log.items)


def count_page_bytes() -> float:
    from unskew.cli import main

    with tempfile.TemporaryDirectory() as folder:
        source, page = Path(folder) / "log.parquet", Path(folder) / "report.html"
        pq.write_table(_rows(), source)
        options = ["--reference", "300", "--at", "last", "-r", "popular", "--refit", "5"]
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None), contextlib.suppress(SystemExit):
            main(["report", str(source), *options, "-o", str(page)])
        return page.stat().st_size


def count_times_read(kind: str) -> Callable[[], float]:
    """How often reading goes through a file: bytes that the process read, by the bytes of the file."""

    def count() -> float:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"log.{kind}"
            if kind == "csv":
                pa.csv.write_csv(pa.concat_tables([_rows()] * 20), path)
            else:
                pq.write_table(pa.concat_tables([_rows()] * 20), path, use_dictionary=False)
            us.read_log(path)
            before = _characters_read()
            us.read_log(path)
            return (_characters_read() - before) / path.stat().st_size

    return count


def _characters_read() -> int:
    return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])


def _peak(work: Callable[[], Any], *, twice: bool = True) -> tuple[int, int]:
    """The bytes that Python and NumPy held at most, and in the end, beyond what they held before."""
    if twice:
        work()
    tracemalloc.start()
    kept = work()
    last, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return peak, last


def count_fit_peak() -> float:
    """A pass has a vector over the items for each block, and nothing over users or pairs."""
    here = _case(163_000, 0.0)
    return _peak(lambda: us.fit_weights(here.now, here.before))[0] / here.now.n_items


def count_evaluate_peak() -> float:
    now = _last()
    return _peak(lambda: us.evaluate("popular", now))[0] / len(now)


def _many_rows() -> pa.Table:
    """A million events, more than may wait in 50 MB."""
    return pa.concat_tables([_rows()] * (1_000_000 // _rows().num_rows + 1))


def count_reading_peak() -> float:
    """What NumPy and Python hold; what DuckDB and Arrow hold is not seen."""
    rows = _many_rows()
    return _peak(lambda: us.read_log(rows))[0] / len(rows)


def count_waiting_bytes() -> float:
    """What is written to disk for each row where memory is limited."""
    rows, append = _many_rows(), FileStorage.append
    written: list[int] = []

    def remember(storage: FileStorage, k: int, part: Rows) -> None:
        written.append(sum(array.nbytes for array in part))
        append(storage, k, part)

    with patch.object(FileStorage, "append", remember):
        us.read_log(rows, memory_limit="50MB")
    return sum(written) / len(rows) if written else float("inf")


def count_sums_bytes() -> float:
    """What a block on another machine sends back of a pass, for each item that its users hold."""
    sums = np.random.default_rng(0).random(100_000)
    return len(pickle.dumps(SparseSums.of(sums))) / len(sums)


class _Lists:
    """Popular without a ranking of its own, so that lists are made in batches, which are counted."""

    def __init__(self) -> None:
        self.batches, self._model = 0, us.Popular()

    def fit(self, snapshot: us.Snapshot) -> _Lists:
        self._model.fit(snapshot)
        return self

    def recommend(self, profiles: us.recommend.Batch, k: int) -> npt.NDArray[np.int64]:
        self.batches += 1
        return self._model.recommend(profiles, k)


def count_batches() -> float:
    lists, now = _Lists(), _last()
    us.rank_held_out(lists, now, metric=["hit@10"])
    return lists.batches


def count_modules(code: str) -> Callable[[], float]:
    """How many modules are loaded after some code, in a new process."""
    return lambda: int(
        subprocess.run(
            [sys.executable, "-c", f"import sys\n{code}\nprint(len(sys.modules))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[-1]
    )
