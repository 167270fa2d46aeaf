"""From typed rows to a log: by NumPy if they are few, by loops if they are plain, else in DuckDB.

All give the same log to the last bit. Loops (`unskew.reading.loop_encoder`) take half the time of DuckDB and
less memory, but know only users, items and times. DuckDB folds repeats, encodes the ids and sorts in parallel, and
spills to disk, so that a log may be larger than memory while it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.columns import Labels, Reading, Repeats
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.errors import ColumnError, EmptyError, option
from unskew.frames import join_chunks
from unskew.progress import progress
from unskew.reading.connection import fetch_row, find_memory_limit, find_types
from unskew.reading.typed_rows import TypedRows

FEW = 100_000
"""Rows below which NumPy is as fast, and no loops have to be loaded."""

_MOST = 2**31  # codes are short
_BYTES_IN_MEMORY = 60  # where all wait in memory, with its share of the ids and of the log
_IDS = {"VARCHAR", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT"}

Way = Literal["arrays", "memory", "files", "sql"]
"""How rows are encoded: in NumPy arrays, by loops while the rows wait in memory or in files, or in DuckDB."""


def encode_log(rows: TypedRows) -> Log:
    """Fold repeats, give the ids numbers, and sort."""
    progress().stage("encoding and sorting")
    way = choose_way(rows)
    if way == "sql":
        log = SqlEncoder(rows).log()
    elif way == "arrays":
        log = encode_few(rows)
    else:
        from unskew.reading.loop_encoder import encode_in_loops  # whose loops take time to load

        log = encode_in_loops(rows, in_files=way == "files")
    rows.warn_of_white_space(log.users.values, rows.names.user)
    rows.warn_of_white_space(log.items.values, rows.names.item)
    return log


def choose_way(rows: TypedRows) -> Way:
    """How to encode: in SQL if rows are more than users, items and times, or have ids that loops do not know."""
    kinds, batch = find_types(rows.sql, "typed"), rows.batch  # which refuses texts that are too long
    if not rows.is_plain or not {kinds["u"], kinds["i"]} <= _IDS:
        return "sql"
    (number,) = fetch_row(rows.sql, "SELECT count(*) FROM typed")
    if number < FEW and number <= batch:
        return "arrays"
    if number >= _MOST:
        return "sql"
    return "memory" if number * _BYTES_IN_MEMORY <= find_memory_limit(rows.sql) else "files"


def encode_few(rows: TypedRows) -> Log:
    """The log of rows that are few."""
    table = rows.sql.sql("SELECT u, i, t FROM typed").to_arrow_table()
    whole = table.drop_null()
    dropped = len(table) - len(whole)
    rows.refuse_nulls(len(table), dropped, [column.null_count for column in table.columns])
    (user, users), (item, items) = (_number_by_id(join_chunks(whole.column(k))) for k in range(2))
    time = whole.column(2).to_numpy()
    rows.check_calendar(rows.names.time, time.min(), time.max())
    by_pair = np.lexsort((time, item, user))
    user, item, time = user[by_pair], item[by_pair], time[by_pair]
    is_first = np.append(True, (np.diff(user) != 0) | (np.diff(item) != 0))
    user, item, time = user[is_first], item[is_first], time[is_first]
    sizes, counts = np.bincount(user), np.bincount(item)
    by_size, by_count = (np.argsort(-number, kind="stable") for number in (sizes, counts))
    user, item = np.argsort(by_size)[user], np.argsort(by_count)[item]
    order = np.lexsort((item, time, user))
    log = rows.make_log(
        rows.make_ids(users.take(by_size), rows.names.user),
        rows.make_ids(items.take(by_count), rows.names.item),
        np.append(0, np.cumsum(sizes[by_size])),
        item[order].astype(np.uint32),
        time[order],
    )
    return replace(log, reading=Reading(len(table), len(whole) - len(log), dropped))


def _number_by_id(ids: pa.Array) -> tuple[Codes, pa.Array]:
    """The place of each id among all of them in their order, and these."""
    distinct = ids.unique()
    distinct = distinct.take(pc.sort_indices(distinct))
    return pc.index_in(ids, distinct).to_numpy().astype(np.int64), distinct


@dataclass
class SqlEncoder:
    """The steps of one reading; each leaves a temporary table or view for the next."""

    rows: TypedRows

    @property
    def sql(self) -> duckdb.DuckDBPyConnection:
        return self.rows.sql

    def log(self) -> Log:
        if self.rows.source.parse_once:  # texts are cast once, though looked at often
            self.sql.execute("CREATE TEMP TABLE cast_once AS SELECT * FROM typed")
            self.sql.execute("CREATE OR REPLACE TEMP VIEW typed AS SELECT * FROM cast_once")
        rows, dropped = self._check()
        self._encode()
        folded = self._fold("coded", "folded")
        self._rank()
        log = replace(self._collect("folded"), reading=Reading(rows, rows - dropped - folded, dropped))
        if self.rows.exposed and self.rows.removed:
            return replace(log, unexposed=self._organic(log))
        return self._add_repeats(log) if self.rows.exposed or self.rows.repeats else log

    def _check(self) -> tuple[int, int]:
        """Count the rows, refuse or drop nulls; make `good`."""
        any_null = "u IS NULL OR i IS NULL OR t IS NULL"
        tests = (any_null, *any_null.split(" OR "))
        counts = ", ".join(f"count(*) FILTER ({test})" for test in tests)
        rows, dropped, *each = fetch_row(self.sql, f"SELECT count(*), {counts} FROM typed")
        self.rows.refuse_nulls(rows, dropped, each)
        self.sql.execute(f"CREATE TEMP VIEW good AS SELECT * FROM typed WHERE NOT ({any_null})")
        self._check_calendar("t", self.rows.names.time)
        if self.rows.removed:
            self._check_calendar("r", self.rows.removed)
            self._check_removed()
        return int(rows), int(dropped)

    def _check_calendar(self, column: str, name: str) -> None:
        first, last = fetch_row(self.sql, f"SELECT min({column}), max({column}) FROM good")
        self.rows.check_calendar(name, first, last)

    def _check_removed(self) -> None:
        bad = self.sql.sql("SELECT u, i, t, r FROM good WHERE r < t ORDER BY t, r, u, i LIMIT 1").to_arrow_table()
        show = self.rows.when.axis.show
        for row in bad.to_pylist():
            raise ColumnError(
                f"column {self.rows.removed!r}: item {row['i']!r} left the profile of user {row['u']!r} at "
                f"{show(row['r'])}, before it was added at {show(row['t'])}",
                remedy=f"correct these times, or leave out {option('removed')}",
            )

    def _encode(self) -> None:
        """Give ids numbers; from here on strings are out of the way."""
        for table, column in (("users", "u"), ("items", "i")):
            self.sql.execute(
                f"CREATE TEMP TABLE {table} AS SELECT {column} AS id, "
                f"(row_number() OVER (ORDER BY {column}) - 1)::UINTEGER AS code "
                f"FROM (SELECT DISTINCT {column} FROM good)"
            )
        rest = ", ".join(["good.t", *(f"good.{c}" for c in self.rows.others)])
        self.sql.execute(
            f"CREATE TEMP TABLE coded AS SELECT users.code AS u, items.code AS i, {rest} FROM good "
            "JOIN users ON good.u = users.id JOIN items ON good.i = items.id"
        )

    def _fold(self, rows: str, into: str) -> int:
        """Fold repeats into `into` and return how many rows are left."""
        others = [c for c in self.rows.others if c != "r"]
        kept = [f"arg_min({c}, row(t, {c})) AS {c}" for c in others]
        if self.rows.removed:
            is_float = find_types(self.sql, "good")["t"] == "DOUBLE"
            never = "'infinity'::DOUBLE" if is_float else str(np.iinfo(np.int64).max)  # the largest tick
            # one row for each time, so that the order below is the only one there is
            at_once = ", ".join([f"max(coalesce(r, {never})) AS r", *(f"min({c}) AS {c}" for c in others)])
            came = f"(SELECT u, i, t, {at_once} FROM {rows} WHERE r IS NULL OR r > t GROUP BY u, i, t)"
            # stays that overlap are one: a new one begins after the end of all before it
            order = "OVER (PARTITION BY u, i ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND"
            before = f"(SELECT *, max(r) {order} 1 PRECEDING) AS until FROM {came})"
            is_new = "CASE WHEN t <= until THEN 0 ELSE 1 END"
            stays = f"(SELECT *, sum({is_new}) {order} CURRENT ROW) AS stay FROM {before})"
            chosen = ", ".join(["u", "i", "min(t) AS t", "max(r) AS r", *kept])
            self.sql.execute(f"CREATE TEMP TABLE {into} AS SELECT {chosen} FROM {stays} GROUP BY u, i, stay")
        else:
            chosen = ", ".join(["u", "i", "min(t) AS t", *kept])
            self.sql.execute(f"CREATE TEMP TABLE {into} AS SELECT {chosen} FROM {rows} GROUP BY u, i")
        return int(fetch_row(self.sql, f"SELECT count(*) FROM {into}")[0])

    def _rank(self) -> None:
        """Number users by size and items by frequency, ties by id: the same for any order of rows."""
        for table, column in (("users", "u"), ("items", "i")):
            self.sql.execute(
                f"CREATE TEMP TABLE {table}_rank AS SELECT {column} AS code, "
                f"(row_number() OVER (ORDER BY count(*) DESC, {column}) - 1)::UINTEGER AS rank "
                f"FROM folded GROUP BY {column}"
            )

    def _collect(self, folded: str) -> Log:
        users, items = self._ids("users", self.rows.names.user), self._ids("items", self.rows.names.item)
        if len(users) == 0:
            raise EmptyError(
                f"{self.rows.source.name}: every item left its profile the moment it was added",
                remedy=f"is {option('removed', self.rows.removed)} the column of removals?",
            )
        sizes = np.zeros(len(users), dtype=np.int64)
        counted = self.sql.sql(
            f"SELECT k.rank, count(*) FROM {folded} f JOIN users_rank k ON f.u = k.code GROUP BY ALL"
        ).to_arrow_table()
        sizes[counted.column(0).to_numpy()] = counted.column(1).to_numpy()
        chosen = ", ".join(["y.rank AS i", "f.t", *(f"f.{c}" for c in self.rows.others)])
        table = self.sql.sql(
            f"SELECT {chosen} FROM {folded} f JOIN users_rank k ON f.u = k.code "
            "JOIN items_rank y ON f.i = y.code ORDER BY k.rank, f.t, y.rank"
        ).to_arrow_table()

        item, time = table.column("i").to_numpy(), table.column("t").to_numpy()
        return replace(
            self.rows.make_log(users, items, np.concatenate([[0], np.cumsum(sizes)]), item, time),
            removed=table.column("r").to_numpy() if self.rows.removed else None,
            exposed=self._read_marks(table),
            extra=self._read_numbers(table),
            labels={name: Labels.of(table.column(f"l{k}")) for k, name in enumerate(self.rows.labels)},
        )

    def _read_marks(self, table: pa.Table) -> Mask | None:
        return table.column("x").to_numpy().astype(np.bool_) if self.rows.exposed else None

    def _read_numbers(self, table: pa.Table) -> dict[str, Floats]:
        return {name: table.column(f"c{k}").to_numpy().astype(float) for k, name in enumerate(self.rows.extra)}

    def _add_repeats(self, log: Log) -> Log:
        """The log with the rows that were folded into an earlier one, or into an unexposed one of that time."""
        others = [c for c in self.rows.others if c != "x"]
        alike = ["u", "i", "t", *("x" * bool(self.rows.exposed))]
        at_once = ", ".join([*alike, *(f"min({c}) AS {c}" for c in others)])
        order = ", ".join(alike[2:])
        is_repeat = f"row_number() OVER (PARTITION BY u, i ORDER BY {order}) > 1"
        chosen = ", ".join(["k.rank AS u", "y.rank AS i", *(f"f.{c}" for c in ["t", *self.rows.others])])
        rows = f"SELECT {at_once} FROM coded GROUP BY {', '.join(alike)} QUALIFY {is_repeat}"
        table = self.sql.sql(
            f"SELECT {chosen} FROM ({rows}) f "
            f"JOIN users_rank k ON f.u = k.code JOIN items_rank y ON f.i = y.code ORDER BY k.rank, y.rank, {order}"
        ).to_arrow_table()
        pairs = table.column("u").to_numpy().astype(np.int64) * len(log.items) + table.column("i").to_numpy()
        keys = log.entry_users() * len(log.items) + log.item
        by_key = np.argsort(keys, kind="stable")
        entry = by_key[np.searchsorted(keys, pairs, sorter=by_key)]
        table = table.take(np.argsort(entry, kind="stable"))
        labels, codes = {}, {}
        for k, name in enumerate(self.rows.labels):
            labels[name], codes[name] = log.labels[name].add(table.column(f"l{k}"))
        repeats = Repeats(
            entry=np.sort(entry),
            time=table.column("t").to_numpy(),
            exposed=self._read_marks(table),
            extra=self._read_numbers(table),
            labels=codes,
        )
        return replace(log, repeats=repeats, labels=labels)

    def _ids(self, table: str, column: str) -> Ids:
        ids = self.sql.sql(
            f"SELECT d.id FROM {table} d JOIN {table}_rank k ON d.code = k.code ORDER BY k.rank"
        ).to_arrow_table()
        return self.rows.make_ids(join_chunks(ids.column(0)), column)

    def _organic(self, log: Log) -> Log | None:
        self.sql.execute("CREATE TEMP VIEW unexposed AS SELECT * FROM coded WHERE NOT x")
        if self._fold("unexposed", "folded_organic") == 0:
            return None
        return replace(self._collect("folded_organic"), view="organic", reading=log.reading)
