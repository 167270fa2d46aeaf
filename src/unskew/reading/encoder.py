"""From rows to arrays: check, fold repeats, encode the ids and sort, all inside DuckDB.

DuckDB does this in parallel and spills to disk, so that a log may be larger than memory while it is
read. Where the rows come from is in `unskew.reading.sources`, what times mean in `unskew.data.times`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.data.columns import Columns, Labels, Reading
from unskew.data.epoch_units import find_epoch_unit
from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.data.repeats import Repeats
from unskew.data.times import UNIT_WORDS
from unskew.errors import ColumnError, EmptyError, TimeError, UnskewWarning, option
from unskew.frames import join_chunks
from unskew.progress import progress
from unskew.reading.column_types import (
    TimeColumn,
    align_times,
    create_plain_view,
    flag_expression,
    id_expression,
    is_missing,
    number_expression,
    time_column,
)
from unskew.reading.sources import Source
from unskew.reading.sql import quote_name
from unskew.reading.time_formats import TimeReading
from unskew.text import count

NO_LABEL = "(none)"


@dataclass
class Encoder:
    """The steps of one reading; each leaves a temporary table or view for the next."""

    source: Source
    names: Columns
    removed: str | None
    exposed: str | None
    extra: tuple[str, ...]
    labels: tuple[str, ...]
    times: TimeReading
    drop_nulls: bool
    repeats: bool = False

    @property
    def sql(self) -> duckdb.DuckDBPyConnection:
        return self.source.connection

    def log(self) -> Log:
        when = self._read_types(self._materialise())
        rows, dropped = self._check(when)
        progress().stage("encoding and sorting")
        self._encode()
        folded = self._fold("coded", "folded")
        self._rank()
        log = self._collect("folded", when)
        reading = Reading(rows, rows - dropped - folded, dropped)
        log = replace(log, reading=reading)
        if self.exposed and self.removed:
            log = replace(log, unexposed=self._organic(log, when))
        elif self.exposed or self.repeats:
            log = self._add_repeats(log)
        _warn_of_white_space(self.sql, "users", self.names.user)
        _warn_of_white_space(self.sql, "items", self.names.item)
        return log

    def _materialise(self) -> dict[str, str]:
        """Parse text once; what is columnar already is only named. Gives the types of the columns of `raw`."""
        chosen = {"u": self.names.user, "i": self.names.item, "t": self.names.time}
        chosen |= {"r": self.removed} if self.removed else {}
        chosen |= {"x": self.exposed} if self.exposed else {}
        chosen |= {f"c{k}": name for k, name in enumerate(self.extra)}
        chosen |= {f"l{k}": name for k, name in enumerate(self.labels)}
        selected = ", ".join(f"{quote_name(name)} AS {short}" for short, name in chosen.items())
        what = "TABLE" if self.source.parse_once else "VIEW"
        self.sql.execute(f"CREATE TEMP {what} parsed AS SELECT {selected} FROM {self.source.relation}")
        return create_plain_view(self.source, chosen, "parsed")

    def _read_types(self, types: dict[str, str]) -> TimeColumn:
        """Make `typed`, as the types of the columns say: ids as they are, times as ticks."""
        when = time_column(self.source, types["t"], "t", self.names.time, self.times)
        chosen = [
            f"{id_expression(self.source, types['u'], 'u', self.names.user)} AS u",
            f"{id_expression(self.source, types['i'], 'i', self.names.item)} AS i",
            f"{when.expression} AS t",
        ]
        if self.removed:
            left = time_column(self.source, types["r"], "r", self.removed, self.times)
            chosen.append(f"{align_times(self.source, left, self.removed, when, self.names.time)} AS r")
        if self.exposed:
            chosen.append(f"{flag_expression(self.source, types['x'], 'x', self.exposed)} AS x")
        for k, name in enumerate(self.extra):
            chosen.append(f"{number_expression(self.source, types[f'c{k}'], f'c{k}', name)} AS c{k}")
        chosen += [f"coalesce(l{k}::VARCHAR, '{NO_LABEL}') AS l{k}" for k in range(len(self.labels))]
        what = "TABLE" if self.source.parse_once else "VIEW"  # texts are cast once
        self.sql.execute(f"CREATE TEMP {what} typed AS SELECT {', '.join(chosen)} FROM raw")
        return when

    def _check(self, when: TimeColumn) -> tuple[int, int]:
        """Count the rows, refuse or drop nulls; make `good`."""
        null = {name: f"{c} IS NULL" for c, name in zip("uit", self._three(), strict=True)}
        counts = ", ".join(f"count(*) FILTER ({test})" for test in null.values())
        any_null = " OR ".join(null.values())
        rows, dropped, *each = self.sql.execute(
            f"SELECT count(*), count(*) FILTER ({any_null}), {counts} FROM typed"
        ).fetchall()[0]
        if rows == 0:
            raise EmptyError(f"{self.source.name} has no rows")
        for name, n in zip(self._three(), each, strict=True):
            if n and not self.drop_nulls:
                where, _ = self.source.first_row(is_missing(name), "1")
                raise ColumnError(
                    f"column {name!r} has {count(n, 'null value')}, the first in {where}",
                    remedy=f"fill them in, or drop these rows with {option('drop_nulls', True)}",
                )
        if dropped == rows:
            raise EmptyError(f"nothing is left: every row of {self.source.name} has a null user, item or time")
        self.sql.execute(f"CREATE TEMP VIEW good AS SELECT * FROM typed WHERE NOT ({any_null})")
        self._check_calendar(when)
        if self.removed:
            self._check_removed(when)
        return int(rows), int(dropped)

    def _check_calendar(self, when: TimeColumn) -> None:
        """Dates must lie in the years that a date can have; often it is the unit that is wrong."""
        chosen = "min(t), max(t)" + ", min(r), max(r)" * bool(self.removed)
        names = [self.names.time] * 2 + [self.removed] * 2
        found = self.sql.execute(f"SELECT {chosen} FROM good").fetchall()[0]
        for name, tick in zip(names, found, strict=False):
            if tick is None:
                continue
            try:
                when.axis.show(tick)
            except OverflowError:
                unit = self.times.unit
                raise TimeError(
                    f"column {name!r} holds {tick}, which is beyond the years 1 to 9999",
                    remedy=_explain_unit(unit, found[0], found[1]),
                ) from None

    def _check_removed(self, when: TimeColumn) -> None:
        bad = self.sql.sql("SELECT u, i, t, r FROM good WHERE r < t ORDER BY t, r, u, i LIMIT 1").to_arrow_table()
        for row in bad.to_pylist():
            raise ColumnError(
                f"column {self.removed!r}: item {row['i']!r} left the profile of user {row['u']!r} at "
                f"{when.axis.show(row['r'])}, before it was added at {when.axis.show(row['t'])}"
            )

    def _three(self) -> tuple[str, str, str]:
        return self.names.user, self.names.item, self.names.time

    def _encode(self) -> None:
        """Give ids numbers; from here on strings are out of the way."""
        for table, column in (("users", "u"), ("items", "i")):
            self.sql.execute(
                f"CREATE TEMP TABLE {table} AS SELECT {column} AS id, "
                f"(row_number() OVER (ORDER BY {column}) - 1)::UINTEGER AS code "
                f"FROM (SELECT DISTINCT {column} FROM good)"
            )
        rest = ", ".join(["good.t", *(f"good.{c}" for c in self._others())])
        self.sql.execute(
            f"CREATE TEMP TABLE coded AS SELECT users.code AS u, items.code AS i, {rest} FROM good "
            "JOIN users ON good.u = users.id JOIN items ON good.i = items.id"
        )

    def _others(self) -> list[str]:
        return [
            *("r" * bool(self.removed)),
            *("x" * bool(self.exposed)),
            *(f"c{k}" for k in range(len(self.extra))),
            *(f"l{k}" for k in range(len(self.labels))),
        ]

    def _fold(self, rows: str, into: str) -> int:
        """Fold repeats into `into` and return how many rows are left."""
        others = [c for c in self._others() if c != "r"]
        kept = [f"arg_min({c}, row(t, {c})) AS {c}" for c in others]
        if self.removed:
            # one row for each time, so that the order below is the only one there is
            at_once = ", ".join([f"max(coalesce(r, {self._never()})) AS r", *(f"min({c}) AS {c}" for c in others)])
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
        return int(self.sql.execute(f"SELECT count(*) FROM {into}").fetchall()[0][0])

    def _never(self) -> str:
        """The largest tick: when an item leaves that never leaves."""
        kind = self.sql.execute("SELECT typeof(t) FROM good LIMIT 1").fetchall()[0][0]
        return "'infinity'::DOUBLE" if kind == "DOUBLE" else str(np.iinfo(np.int64).max)

    def _rank(self) -> None:
        """Number users by size and items by frequency, ties by id: the same for any order of rows."""
        for table, column in (("users", "u"), ("items", "i")):
            self.sql.execute(
                f"CREATE TEMP TABLE {table}_rank AS SELECT {column} AS code, "
                f"(row_number() OVER (ORDER BY count(*) DESC, {column}) - 1)::UINTEGER AS rank "
                f"FROM folded GROUP BY {column}"
            )

    def _collect(self, folded: str, when: TimeColumn) -> Log:
        users, items = self._ids("users", self.names.user), self._ids("items", self.names.item)
        if len(users) == 0:
            raise EmptyError(f"{self.source.name}: every item left its profile the moment it was added")
        sizes = np.zeros(len(users), dtype=np.int64)
        counted = self.sql.sql(
            f"SELECT k.rank, count(*) FROM {folded} f JOIN users_rank k ON f.u = k.code GROUP BY ALL"
        ).to_arrow_table()
        sizes[counted.column(0).to_numpy()] = counted.column(1).to_numpy()
        total = int(sizes.sum())
        offsets = np.uint32 if total < 2**32 - 1 else np.uint64
        chosen = ", ".join(["y.rank AS i", "f.t", *(f"f.{c}" for c in self._others())])
        table = self.sql.sql(
            f"SELECT {chosen} FROM {folded} f JOIN users_rank k ON f.u = k.code "
            "JOIN items_rank y ON f.i = y.code ORDER BY k.rank, f.t, y.rank"
        ).to_arrow_table()

        def array(name: str) -> npt.NDArray[Any]:
            values: npt.NDArray[Any] = table.column(name).to_numpy()
            return values

        return Log(
            users=users,
            items=items,
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(offsets),
            item=array("i"),
            time=array("t"),
            axis=when.axis,
            columns=self.names,
            removed=array("r") if self.removed else None,
            exposed=array("x").astype(np.bool_) if self.exposed else None,
            extra={name: array(f"c{k}").astype(np.float64) for k, name in enumerate(self.extra)},
            labels={name: Labels.of(table.column(f"l{k}")) for k, name in enumerate(self.labels)},
            source=self.source.name,
            frames=self.source.library,
        )

    def _add_repeats(self, log: Log) -> Log:
        """The log with the rows that were folded into an earlier one, or into an unexposed one of that time."""
        others = [c for c in self._others() if c != "x"]
        alike = ["u", "i", "t", *("x" * bool(self.exposed))]
        at_once = ", ".join([*alike, *(f"min({c}) AS {c}" for c in others)])
        order = ", ".join(alike[2:])
        is_repeat = f"row_number() OVER (PARTITION BY u, i ORDER BY {order}) > 1"
        chosen = ", ".join(["k.rank AS u", "y.rank AS i", *(f"f.{c}" for c in ["t", *self._others()])])
        rows = f"SELECT {at_once} FROM coded GROUP BY {', '.join(alike)} QUALIFY {is_repeat}"
        table = self.sql.sql(
            f"SELECT {chosen} FROM ({rows}) f "
            f"JOIN users_rank k ON f.u = k.code JOIN items_rank y ON f.i = y.code ORDER BY k.rank, y.rank, {order}"
        ).to_arrow_table()
        entry = _find_entries(log, table.column("u").to_numpy(), table.column("i").to_numpy())
        table = table.take(np.argsort(entry, kind="stable"))
        labels, codes = {}, {}
        for k, name in enumerate(self.labels):
            labels[name], codes[name] = log.labels[name].add(table.column(f"l{k}"))
        repeats = Repeats(
            entry=np.sort(entry),
            time=table.column("t").to_numpy(),
            exposed=table.column("x").to_numpy().astype(np.bool_) if self.exposed else None,
            extra={name: table.column(f"c{k}").to_numpy().astype(float) for k, name in enumerate(self.extra)},
            labels=codes,
        )
        return replace(log, repeats=repeats, labels=labels)

    def _ids(self, table: str, column: str) -> Ids:
        found = self.sql.sql(
            f"SELECT d.id FROM {table} d JOIN {table}_rank k ON d.code = k.code ORDER BY k.rank"
        ).to_arrow_table()
        values = join_chunks(found.column(0))
        kind = values.type
        return Ids(values, pa.dictionary(pa.int32(), kind) if self.source.is_categorical(column) else kind)

    def _organic(self, log: Log, when: TimeColumn) -> Log | None:
        self.sql.execute("CREATE TEMP VIEW unexposed AS SELECT * FROM coded WHERE NOT x")
        if self._fold("unexposed", "folded_organic") == 0:
            return None
        return replace(self._collect("folded_organic", when), view="organic", reading=log.reading)


def _explain_unit(unit: str | None, first: int, last: int) -> str:
    """What to do about numbers that are no times in a unit."""
    if unit is None:
        return "are these dates?"
    right = find_epoch_unit(first, last)
    if right is None or right == unit:
        return f"is {option('time_unit', unit)} right?"
    return f"they look like {UNIT_WORDS[right]}: say {option('time_unit', right)}"


def _find_entries(log: Log, user: npt.NDArray[Any], item: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Where the log has these pairs."""
    keys = log.entry_users() * len(log.items) + log.item
    order = np.argsort(keys, kind="stable")
    wanted = user.astype(np.int64) * len(log.items) + item
    found: npt.NDArray[np.int64] = order[np.searchsorted(keys, wanted, sorter=order)]
    return found


def _warn_of_white_space(sql: duckdb.DuckDBPyConnection, table: str, column: str) -> None:
    if sql.execute(f"SELECT typeof(id) FROM {table} LIMIT 1").fetchall()[0][0] != "VARCHAR":
        return
    bare = r"trim(regexp_replace(id, '[\s\p{Z}]+', ' ', 'g'))"
    twins = sql.execute(
        f"SELECT count(*), min(example) FROM (SELECT list(id ORDER BY id)[1:2] AS example FROM {table} "
        f"GROUP BY {bare} HAVING count(*) > 1)"
    ).fetchall()[0]
    if twins[0]:
        one, other = twins[1]
        warnings.warn(
            f"column {column!r} has {count(twins[0], 'id')} in spellings that differ only in white space, such as "
            f"{one!r} and {other!r}: each spelling counts as a separate id; trim them if they mean the same",
            UnskewWarning,
            stacklevel=4,
        )
