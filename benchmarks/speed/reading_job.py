"""One reading of a file of events, in a process of its own: by unskew, by DuckDB or by polars.

The answer is asked for afterwards: a Parquet file with each user and item once, and the first time.
"""

from __future__ import annotations

from typing import Any

from benchmarks.frame.worker_side import serve

REFERENCE = "2020-10-27"
_kept: dict[str, Any] = {}


def do(request: dict[str, str]) -> None:
    """Do what is asked for: one of the readings, or `tell`."""
    if request["do"] == "unskew_limited":
        unskew_limited(request["source"], request["limit"])
    else:
        {way.__name__: way for way in (*WAYS, tell)}[request["do"]](request["source"], request["target"])


def unskew_read(source: str, target: str) -> None:
    """The encoded log in memory."""
    import unskew as us

    _kept["log"] = us.read_log(source)


def unskew_limited(source: str, limit: str) -> None:
    """The encoded log in memory, read with little of it."""
    import unskew as us

    _kept["log"] = us.read_log(source, memory_limit=limit)


def unskew_save(source: str, target: str) -> None:
    """The encoded log, saved."""
    unskew_read(source, target)
    _kept["log"].save(f"{target}.arrow")


def unskew_fit(source: str, target: str) -> None:
    """Item weights at the last day."""
    import unskew as us

    unskew_read(source, target)
    log = _kept["log"]
    _kept["weights"] = us.fit_weights(log.at(log.last), log.at(REFERENCE))


def duckdb_group(source: str, target: str) -> None:
    """The GROUP BY that reading is, in SQL."""
    import duckdb

    reader = "read_parquet" if source.endswith(".parquet") else "read_csv"
    duckdb.sql(
        f'COPY (SELECT "user", item, min("time") AS "time" FROM {reader}(\'{source}\') GROUP BY ALL) '
        f"TO '{target}' (FORMAT parquet)"
    )


def polars_group(source: str, target: str) -> None:
    """The same in polars, whose streaming engine it is to choose."""
    import polars as pl

    rows = pl.scan_parquet(source) if source.endswith(".parquet") else pl.scan_csv(source, try_parse_dates=True)
    rows.group_by("user", "item").agg(pl.col("time").min()).sink_parquet(target)


def tell(source: str, target: str) -> None:
    """Write what unskew has read as a table like those of the others."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = _kept["log"]
    times = pa.array(log.time).cast(pa.timestamp(log.axis.unit))
    users = pa.DictionaryArray.from_arrays(pa.array(log.entry_users()), log.users.values)
    items = pa.DictionaryArray.from_arrays(pa.array(log.item), log.items.values)
    pq.write_table(pa.table({"user": users, "item": items, "time": times}), target)


WAYS = (unskew_read, unskew_save, unskew_fit, duckdb_group, polars_group)

if __name__ == "__main__":
    serve(do)
