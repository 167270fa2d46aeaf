"""What a yardstick found, and the files that keep it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from unskew.drawing.page import is_page
from unskew.errors import FileError, PolicyError, option
from unskew.files import damage_error, read_json, replace_file, report_damage
from unskew.folders import check_folder_writable
from unskew.frames import show_as_table, to_native
from unskew.known_truths.summaries import summarise_coverage, summarise_rankings, summarise_rows
from unskew.known_truths.world_profile import WORLDS, summarise_worlds
from unskew.known_truths.yardstick_spec import hash_key
from unskew.text import to_json_value

Row = dict[str, Any]

_TEXT, _NUMBER, _COUNT, _FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()
_METHOD = {"method": _TEXT, "knows": _TEXT}
_HOW = {"metric": _TEXT, "view": _TEXT, "weighting": _TEXT}
ROWS = pa.schema(
    {
        "world": _TEXT,
        "seed": _COUNT,
        **_METHOD,
        "recommender": _TEXT,
        **_HOW,
        **dict.fromkeys(("estimate", "raw", "truth", "error", "bias_removed"), _NUMBER),
        "covered": _FLAG,
        **dict.fromkeys(("low", "high", "raw_low", "raw_high", "mean_truth", "effective_pairs"), _NUMBER),
        "trusted": _FLAG,
        "draws": _COUNT,
        "spread": _NUMBER,
        **dict.fromkeys(("change", "change_low", "change_high", "true_change"), _NUMBER),
        "gain": _FLAG,
        "gain_seen": _FLAG,
        "seconds": _NUMBER,
    }
)
"""The columns of `Yardstick.rows`."""

RANKING = pa.schema(
    {
        "world": _TEXT,
        **_METHOD,
        **_HOW,
        "seeds": _COUNT,
        "tau": _NUMBER,
        "tau_se": _NUMBER,
        "pairs": _COUNT,
        **dict.fromkeys(("regret", "regret_se", "regret_share", "regret_share_se"), _NUMBER),
        **dict.fromkeys(("trusted", "trusted_se", "placebo", "placebo_se"), _NUMBER),
        **dict.fromkeys(("gains", "gains_seen", "gains_false"), _COUNT),
        **dict.fromkeys(("covered", "covered_se"), _NUMBER),
    }
)
"""The columns of `Yardstick.ranking`."""

SUMMARY = pa.schema(
    {
        "world": _TEXT,
        **_METHOD,
        "recommender": _TEXT,
        **_HOW,
        "seeds": _COUNT,
        **dict.fromkeys(
            (
                *("estimate", "estimate_se", "truth", "truth_se"),
                *("error", "error_se", "error_size", "error_size_se"),
                *("bias_removed", "bias_removed_se", "covered", "covered_se", "trusted", "trusted_se"),
                *("effective_pairs", "seconds"),
            ),
            _NUMBER,
        ),
    }
)
"""The columns of `Yardstick.summary`."""


@dataclass(frozen=True, repr=False, eq=False)
class Yardstick:
    """Every method beside the truth. Made by `unskew.yardstick`.

    Attributes
    ----------
    rows
        One row for each world, seed, method, recommender and metric.
    ranking
        One row for each world, method and metric, over seeds: whether recommenders come in their true order, what
        choosing by the method costs, and whether true gains since the reference date are seen.
    summary
        One row for each world, method, recommender and metric: means over seeds, with standard errors.
    worlds
        One row for each world: organic interactions a day, and the shares of interactions that were exposed and
        that recommendations caused, with standard errors.
    computed
        How many cases were computed in this run, and not taken from its folder.
    """

    rows: pa.Table
    ranking: pa.Table
    summary: pa.Table
    worlds: pa.Table
    computed: int = 0

    @classmethod
    def of(
        cls,
        rows: Iterable[Row],
        rankings: Iterable[Row],
        profiles: Iterable[tuple[str, Mapping[str, Any]]],
        computed: int,
    ) -> Yardstick:
        """From the rows, rankings and profiles of all seeds."""
        found = list(rows)
        ranking = summarise_coverage(summarise_rankings(rankings), found)
        return cls(
            _make_table(found, ROWS),
            _make_table(ranking, RANKING),
            _make_table(summarise_rows(found), SUMMARY),
            _make_table(summarise_worlds(profiles), WORLDS),
            computed,
        )

    def __repr__(self) -> str:
        worlds, methods = (self.rows.column(name).unique().to_pylist() for name in ("world", "method"))
        return f"Yardstick({', '.join(worlds)}: {len(methods)} methods, seeds {', '.join(map(str, self.seeds))})"

    @property
    def seeds(self) -> list[int]:
        """The seeds of the worlds."""
        return sorted(set(self.rows.column("seed").to_pylist()))

    def to_arrow(self) -> pa.Table:
        """The summary as an Arrow table."""
        return self.summary

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """The summary in pandas if it is installed, else in polars, else as an Arrow table."""
        return to_native(self.summary, None)

    def to_dict(self) -> dict[str, Any]:
        """Worlds, rows, ranking and summary, ready for JSON: what ``unskew yardstick --json`` prints."""
        tables: Mapping[str, pa.Table] = {
            "worlds": self.worlds,
            "rows": self.rows,
            "ranking": self.ranking,
            "summary": self.summary,
        }
        told: dict[str, Any] = to_json_value({name: table.to_pylist() for name, table in tables.items()})
        return told


def _make_table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema)


CASES, PAGE = "cases", "index.html"
TABLES = ("worlds", "rows", "summary", "ranking")
"""The tables of a yardstick, each a Parquet file in its folder."""

WRITTEN = (PAGE, *(f"{name}.parquet" for name in TABLES))
"""What stands in the folder beside the cases."""

Check = Callable[[dict[str, Any]], object]
"""Raises something if a case is not what it should be."""

_KIND = "yardstick case"
_COMPUTE_AGAIN = "remove it, and the case is computed again"


@dataclass(frozen=True)
class YardstickFolder:
    """Where a yardstick is written, or nowhere.

    Attributes
    ----------
    path
        The folder.
    resume
        Whether what it holds of the same kind is taken as it is.
    """

    path: Path | None
    resume: bool

    @classmethod
    def of(cls, output: str | Path | None, *, resume: bool) -> YardstickFolder:
        """Check that it can be written to; nothing is made yet."""
        if output is None:
            if resume:
                raise PolicyError(
                    f"{option('resume')} continues what is in a folder", remedy=f"give it with {option('output')}"
                )
            return cls(None, resume)
        path = Path(output)
        if not str(output):
            raise FileError("the name of the folder is empty", remedy="say where to write")
        check_folder_writable(path)
        others = [name for name in WRITTEN if (path / name).exists()]
        if (path / CASES).is_dir():
            others = [PAGE] if PAGE in others and not is_page(path / PAGE) else []
        if others:
            raise FileError(
                f"{path} holds a file {others[0]} that is not of a yardstick and would be lost",
                remedy="give another folder",
            )
        return cls(path, resume)

    def read(self, name: str, key: Mapping[str, Any], check: Check = dict) -> dict[str, Any] | None:
        """What was found under this key before, if the run goes on; None if there is nothing.

        `check` does with it what will be done with it later; what it raises is the fault of the file.
        """
        path = self._find(name, key)
        if path is None or not self.resume or not path.exists():
            return None
        try:
            found = read_json(path)
        except FileError as error:
            raise damage_error(path, error.message, _COMPUTE_AGAIN) from None
        same = isinstance(found, dict) and found.get("kind") == _KIND
        if not same or found.get("key") != json.loads(json.dumps(key, default=str)):
            raise damage_error(path, "it is not of the case that its name says", _COMPUTE_AGAIN)
        if found.get("checksum") != _sum_up(found.get("found")):
            raise damage_error(path, "it does not hold what unskew wrote", _COMPUTE_AGAIN)
        with report_damage(path, _COMPUTE_AGAIN):
            check(found["found"])
            return dict(found["found"])

    def write(self, name: str, key: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Keep what was found; whole or not at all."""
        path = self._find(name, key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make the folder {path.parent}: {error.strerror or error}") from None
        with replace_file(path) as temporary:
            told = {"kind": _KIND, "key": key, "found": found, "checksum": _sum_up(found)}
            text = json.dumps(told, default=str, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    def _find(self, name: str, key: Mapping[str, Any]) -> Path | None:
        if self.path is None:
            return None
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)[-60:]
        return self.path / CASES / f"{safe}-{key['seed']}-{hash_key(key)}.json"


def _sum_up(found: Any) -> int:
    """A checksum of what was found, as JSON has it."""
    return zlib.crc32(json.dumps(found, sort_keys=True, default=str).encode())
