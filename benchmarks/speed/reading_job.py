"""One reading of a file of events, in a process of its own: by unskew, by DuckDB or by polars.

The answer is asked for afterwards: a fingerprint of all pairs with their first times. DuckDB and polars write
these to a Parquet file, of which it can be taken.
"""

from __future__ import annotations

from typing import Any

from benchmarks.frame.worker_side import serve

REFERENCE = "2020-10-27"
_CHUNK = 2_000_000
_kept: dict[str, Any] = {}


def do(request: dict[str, str]) -> Any:
    """Do what is asked for: one of the readings, or `tell`."""
    if request["do"] == "tell":
        return tell()
    if request["do"] == "unskew_limited":
        return unskew_limited(request["source"], request["limit"])
    return {way.__name__: way for way in WAYS}[request["do"]](request["source"], request["target"])


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


def tell() -> tuple[int, int]:
    """How many pairs unskew has read, and a sum over their hashes, as `fingerprint` finds them in a file."""
    import duckdb
    import pyarrow as pa

    log, parts = _kept["log"], []
    owners = log.entry_users()
    for low in range(0, len(log), _CHUNK):
        entries = slice(low, low + _CHUNK)
        users = owners[entries]
        table = pa.table(
            {
                "user": log.users.values.take(pa.array(users)),
                "item": log.items.values.take(pa.array(log.item[entries])),
                "time": pa.array(log.time[entries]).cast(pa.timestamp(log.axis.unit)),
            }
        )
        parts.append(fingerprint(duckdb.from_arrow(table)))
    return sum(n for n, _ in parts), sum(total for _, total in parts)


def fingerprint(table: Any) -> tuple[int, int]:
    """How many rows a relation has, and a sum over their hashes, which their order does not change."""
    sums = 'count(*), sum(hash("user"::VARCHAR, item::VARCHAR, epoch_us("time"::TIMESTAMP)))::VARCHAR'
    found = table.aggregate(sums).fetchall()[0]
    return int(found[0]), int(found[1])


WAYS = (unskew_read, unskew_save, unskew_fit, duckdb_group, polars_group)

if __name__ == "__main__":
    serve(do)
