"""The tables of evidence in the documentation, generated from results files.

``python -m tools.evidence collect DIR...`` adds folders of ``unskew yardstick -o`` to
benchmarks/results/yardstick.json, in place of what it has of the same worlds, seeds and methods; ``python -m
benchmarks.verdicts`` makes verdicts.json beside it. ``python -m tools.evidence write`` puts the tables into the
documentation, between their markers; ``python -m tools.evidence coverage`` prints the table of
``benchmarks.coverage_of_views``.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.coverage_of_views import COLUMNS, VIEWS, WORLDS

from unskew.known_truths.case_names import SUMMARIES, TUNING_WORLDS
from unskew.known_truths.method_table import METHODS

Row = dict[str, Any]

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "yardstick.json"
PAGE = ROOT / "docs" / "which-method.md"
VERDICTS = ROOT / "benchmarks" / "results" / "verdicts.json"
VERDICTS_PAGE = ROOT / "docs" / "conclude.md"
COVERAGE = ROOT / "benchmarks" / "results" / "coverage.json"
LISTS = ("g1", "g2")
NEAR = 0.05
"""An error, as a share of the truth, below which a view ought to be trusted."""
_ROWS = ("world", "seed", "method", "recommender", "error", "trusted", "estimate", "truth")
_RANKING = (
    *("world", "method", "knows", "seeds", "tau", "tau_se", "regret_share", "regret_share_se", "trusted"),
    *("placebo", "placebo_se"),
)


def collect(folders: Iterable[str]) -> None:
    """Add what several runs measured to the results file."""
    import pyarrow.parquet as pq

    results: dict[str, list[Row]] = json.loads(RESULTS.read_text())
    for folder in map(Path, folders):
        for name, columns in (("rows", _ROWS), ("ranking", _RANKING)):
            table = pq.read_table(folder / f"{name}.parquet", columns=list(columns)).to_pylist()
            rows = [{key: _round(value) for key, value in row.items()} for row in table]
            results[name] = merge(results[name], rows)
    RESULTS.write_text("{\n" + ",\n".join(f'"{name}": {_dump(rows)}' for name, rows in results.items()) + "\n}\n")


def merge(rows: list[Row], others: list[Row]) -> list[Row]:
    """All rows in the order of worlds, seeds and methods; others replace what there is of the same of these."""
    worlds, methods = list(SUMMARIES), list(METHODS)

    def place(row: Row) -> tuple[int, int, int]:
        return worlds.index(row["world"]), row.get("seed", 0), methods.index(row["method"])

    replaced = set(map(place, others))
    return sorted([*(row for row in rows if place(row) not in replaced), *others], key=place)


def _round(value: Any) -> Any:
    return round(value, 5) if isinstance(value, float) else value


def _dump(rows: list[Row]) -> str:
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"


def mean_with_error(values: list[float]) -> tuple[float, float]:
    """The mean over seeds, and its standard error."""
    return fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def find_errors(rows: list[Row], world: str, method: str, only: Callable[[Row], bool]) -> list[float]:
    """Of each seed, the mean absolute error over the recommenders that learn."""
    by_seed: dict[int, list[float]] = {}
    for row in rows:
        if (row["world"], row["method"]) == (world, method) and row["recommender"] not in LISTS and only(row):
            by_seed.setdefault(row["seed"], []).append(abs(row["error"]))
    return [fmean(errors) for errors in by_seed.values()]


def make_tables(results: dict[str, list[Row]]) -> dict[str, str]:
    """All tables by name, as Markdown: worlds by methods."""
    rows, ranking = results["rows"], results["ranking"]
    worlds, methods = (list(dict.fromkeys(row[key] for row in ranking)) for key in ("world", "method"))
    by_name = {(row["world"], row["method"]): row for row in ranking}

    def errors(world: str, method: str) -> str:
        values = find_errors(rows, world, method, lambda row: True)
        return _show_percent(*mean_with_error(values)) if values else ""

    def figure(key: str, show: Callable[[float, float], str]) -> Callable[[str, str], str]:
        def cell(world: str, method: str) -> str:
            row = by_name.get((world, method), {})
            error = row.get(f"{key}_se")
            return "" if row.get(key) is None else show(row[key], math.nan if error is None else error)

        return cell

    dated = [name for name in methods if "by dates" in name]
    return {
        "errors": _tabulate(worlds, methods, errors),
        "tau": _tabulate(worlds, methods, figure("tau", lambda value, error: _with_error(value, error, 2))),
        "regret": _tabulate(worlds, methods, figure("regret_share", _show_percent)),
        "placebo": _tabulate(worlds, dated, figure("placebo", _show_percent)),
        "trusted": _tabulate_trust([row for row in rows if row["recommender"] not in LISTS]),
    }


KINDS = {
    "tuning worlds, other seeds": TUNING_WORLDS,
    "substitution, spill-over": ("substitution", "spill-over"),
    "production like no stand-in": ("trending", "same-maker"),
    "production on before t0": ("on-before", "replaced"),
}
"""Worlds that have rows of their own in the table of decisions, besides all others."""


def make_decision_tables(counts: list[Row]) -> dict[str, str]:
    """How verdicts do as decisions, for each kind of world beside less careful rules, and for each world."""
    small = min(row["users"] for row in counts)
    groups: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    worlds: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in counts:
        kind = next((name for name, several in KINDS.items() if row["world"] in several), "all other worlds")
        kind = kind if row["users"] == small else f"some of these, {row['users']} users"
        groups.setdefault((kind, row["protocol"], row["knows"]), {}).setdefault(row["rule"], []).append(row)
        if row["knows"] == "nothing" and row["users"] == small:
            worlds.setdefault((f"`{row['world']}`", row["protocol"]), {}).setdefault(row["rule"], []).append(row)
    others = {
        f"{rule}: {name}": (rule, *shares) for rule in ("as logged", "up to 100 %") for name, shares in _OTHER
    }
    ordered = dict(sorted(groups.items(), key=lambda group: _order_kinds(group[0])))
    return {
        "decisions": _tabulate_decisions(("worlds", "protocol", "known"), ordered, {**_VERDICT, **others}),
        "decisions by world": _tabulate_decisions(("world", "protocol"), worlds, _VERDICT),
    }


_VERDICT = {
    "pairs": ("verdict", "pairs", ""),
    "range has the truth": ("verdict", "covered", "pairs"),
    "decided": ("verdict", "decided", "pairs"),
    "wrong sign": ("verdict", "wrong", "decided"),
    "large differences decided": ("verdict", "large_decided", "large"),
    "equal models decided": ("verdict", "equal_decided", "equal"),
}
_OTHER = (
    ("range has the truth", ("covered", "pairs")),
    ("wrong sign", ("wrong", "decided")),
    ("large decided", ("large_decided", "large")),
)


def _order_kinds(key: tuple[str, ...]) -> tuple[int, bool, str]:
    kinds = ["all other worlds", *KINDS]
    kind, protocol, knows = key
    return kinds.index(kind) if kind in kinds else len(kinds), knows != "nothing", protocol


def _tabulate_decisions(
    head: tuple[str, ...],
    groups: dict[tuple[str, ...], dict[str, list[Row]]],
    columns: dict[str, tuple[str, str, str]],
) -> str:
    lines = [f"| {' | '.join([*head, *columns])} |", f"|{'---|' * (len(head) + len(columns))}"]
    for key, rules in groups.items():
        cells = [
            _show_share(*(sum(row[name] for row in rules[rule]) if name else None for name in (part, whole)))
            for rule, part, whole in columns.values()
        ]
        lines.append(f"| {' | '.join([*key, *cells])} |")
    return "\n".join(lines)


def _show_share(count: int | None, whole: int | None) -> str:
    if whole is None:
        return str(count)
    return f"{100 * (count or 0) / whole:.0f} % of {whole}" if whole else ""


def make_coverage_table(rows: list[list[Any]]) -> str:
    """How often intervals of views hold the truth, a line for each world and view."""
    columns = ("bias", "standard error / spread", "coverage", "trusted", "coverage if trusted", "trusted if near")
    lines = [f"| world | view | logs | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 3)}"]
    groups: dict[tuple[str, str], list[list[Any]]] = {}
    for row in rows:
        groups.setdefault((row[0], row[2]), []).append(row)
    for (world, view), group in sorted(groups.items(), key=lambda group: _order_views(*group[0])):
        cells = [f"`{world}`", view, str(len({row[1] for row in group})), *find_coverage(group)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _order_views(world: str, view: str) -> tuple[int, int]:
    return WORLDS.index(world), VIEWS.index(view)


def find_coverage(rows: list[list[Any]]) -> list[str]:
    """The figures of one world and view; the truth is the mean over its logs."""
    scores = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    by_model: dict[str, list[Row]] = {}
    for score in scores:
        by_model.setdefault(score["recommender"], []).append(score)
    biases, ratios = [], []
    for several in by_model.values():
        truth = fmean(score["truth"] for score in several)
        values = [score["value"] for score in several]
        for score in several:
            score["covered"] = score["low"] <= truth <= score["high"]
            score["near"] = abs(score["value"] / score["truth"] - 1) < NEAR
        biases.append(fmean(values) / truth - 1)
        error = fmean((score["high"] - score["low"]) / (2 * 1.96) for score in several)
        ratios.append(error / stdev(values) if len(values) > 1 else math.nan)
    by_log: dict[int, list[bool]] = {}
    for score in scores:
        by_log.setdefault(score["replicate"], []).append(score["covered"])
    trusted = [score for score in scores if score["trusted"]]
    return [
        _show_between([100 * bias for bias in biases], "+.0f", " %"),
        _show_between(ratios, ".2f", ""),
        _show_percent(*mean_with_error([fmean(several) for several in by_log.values()])),
        _show_share(len(trusted), len(scores)),
        _show_share(sum(score["covered"] for score in trusted), len(trusted)),
        _show_share(sum(score["near"] for score in trusted), sum(score["near"] for score in scores)),
    ]


def _show_between(values: list[float], form: str, unit: str) -> str:
    low, high = (format(value, form) for value in (min(values), max(values)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _tabulate_trust(rows: list[Row]) -> str:
    """Of each method that may earn trust: how many scores did, and how far off these and the others are."""
    lines = ["| method | scores | trusted | error of these | worst | error of the others |", f"|{'---|' * 6}"]
    tested = [row for row in rows if row["trusted"] is not None]
    for method in dict.fromkeys(row["method"] for row in tested):
        several = [row for row in tested if row["method"] == method]
        trusted, others = ([row for row in several if bool(row["trusted"]) is is_so] for is_so in (True, False))
        worst = max(trusted, key=lambda row: abs(row["error"]), default=None)
        shown = ""
        if worst is not None:
            shown = f"{100 * worst['error']:+.0f} % ({worst['recommender']}, `{worst['world']}`)"
        cells = [method, str(len(several)), str(len(trusted)), _mean_error(trusted), shown, _mean_error(others)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean_error(rows: list[Row]) -> str:
    return _show_percent(*mean_with_error([abs(row["error"]) for row in rows])) if rows else ""


def _show_percent(value: float, error: float) -> str:
    return f"{_with_error(100 * value, 100 * error, 0)} %"


def _with_error(value: float, error: float, digits: int) -> str:
    return f"{value:z.{digits}f}" + ("" if math.isnan(error) else f" ±{error:.{digits}f}")


def _tabulate(worlds: list[str], methods: list[str], cell: Callable[[str, str], str]) -> str:
    head = f"| world | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}"
    lines = [[f"`{world}`", *(cell(world, method) for method in methods)] for world in worlds]
    return "\n".join([head, *("| " + " | ".join(line) + " |" for line in lines if any(line[1:]))])


def fill(page: str, tables: dict[str, str]) -> str:
    """A page with every table between its markers."""
    for name, table in tables.items():
        start, end = f"<!-- evidence: {name} -->", "<!-- end of evidence -->"
        page = re.sub(re.escape(start) + ".*?" + re.escape(end), f"{start}\n\n{table}\n\n{end}", page, flags=re.S)
    return page


def write() -> None:
    """Put the tables into the documentation."""
    PAGE.write_text(fill(PAGE.read_text(), make_tables(json.loads(RESULTS.read_text()))))
    decisions = make_decision_tables(json.loads(VERDICTS.read_text()))
    VERDICTS_PAGE.write_text(fill(VERDICTS_PAGE.read_text(), decisions))


if __name__ == "__main__":
    if sys.argv[1:2] == ["collect"]:
        collect(sys.argv[2:])
    elif sys.argv[1:] == ["write"]:
        write()
    elif sys.argv[1:] == ["coverage"]:
        print(make_coverage_table(json.loads(COVERAGE.read_text())))
    else:
        sys.exit(__doc__)
