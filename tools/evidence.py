"""The tables of evidence in the documentation, generated from results files.

``python -m tools.evidence collect DIR...`` adds folders of ``unskew yardstick -o`` to
benchmarks/results/yardstick.json, in place of what it has of the same worlds, seeds and methods. Means over seeds
(tau, regret) are pooled if these seeds are new, and stay as they are if only a part of the seeds was run again.
``python -m benchmarks.verdicts`` makes verdicts.json beside it. ``python -m tools.evidence write`` puts the tables
into the documentation, between their markers; ``python -m tools.evidence coverage`` prints the tables of
``benchmarks.coverage_of_views`` alone.
"""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from benchmarks.coverage_of_views import COLUMNS, LOGGED, QUIET, TRUTH, VIEWS, WORLDS
from benchmarks.verdicts import ALONE

from unskew.known_truths.case_names import SUMMARIES, TUNING_WORLDS
from unskew.known_truths.estimators import ESTIMATORS

Row = dict[str, Any]

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "yardstick.json"
PAGE = ROOT / "docs" / "which-method.md"
VERDICTS = ROOT / "benchmarks" / "results" / "verdicts.json"
COVERAGE = ROOT / "benchmarks" / "results" / "coverage.json"
COVERAGE_PAGE = ROOT / "docs" / "uncertainty.md"
README = ROOT / "README.md"
STEADY = (
    *("steady", "new-items", "seasons", "moving-tastes", "content", "exploring", "sponsored", "position-bias"),
    *("active-users", "substitution", "spill-over", "joiners", "twins"),
)
"""Worlds of people who keep interacting, with production on from the reference date only."""
KNOWN = {
    "nothing: the score as logged": "raw",
    "since when the recommender is on: `--campaign START: --production auto`": "thinned by dates, auto",
    "what was shown to whom: `--exposures FILE`": "adjusted",
    "users who were never shown anything: `--holdout FILE --production SPEC`": "thinned by hold-out",
}
"""What users may know, and the method that it allows."""
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
        rows, ranking = (
            [
                {key: _round(value) for key, value in row.items()}
                for row in pq.read_table(folder / f"{name}.parquet", columns=list(columns)).to_pylist()
            ]
            for name, columns in (("rows", _ROWS), ("ranking", _RANKING))
        )
        results["ranking"] = merge(results["ranking"], pool_ranking(results, rows, ranking))
        results["rows"] = merge(results["rows"], rows)
    RESULTS.write_text("{\n" + ",\n".join(f'"{name}": {_dump(rows)}' for name, rows in results.items()) + "\n}\n")


def merge(rows: list[Row], others: list[Row]) -> list[Row]:
    """All rows in the order of worlds, seeds and methods; others replace what there is of the same of these."""
    worlds, methods = list(SUMMARIES), list(ESTIMATORS)

    def place(row: Row) -> tuple[int, int, int]:
        return worlds.index(row["world"]), row.get("seed", 0), methods.index(row["method"])

    replaced = set(map(place, others))
    return sorted([*(row for row in rows if place(row) not in replaced), *others], key=place)


def pool_ranking(results: dict[str, list[Row]], rows: list[Row], ranking: list[Row]) -> list[Row]:
    """What becomes of means over seeds: those of other seeds are pooled, those of all seeds replace what there is.

    If only a part of the seeds was run again, what there is stays: it does not say what each seed contributed.
    """
    before, now = _list_seeds(results["rows"]), _list_seeds(rows)
    existing = {(row["world"], row["method"]): row for row in results["ranking"]}
    pooled = []
    for row in ranking:
        key = (row["world"], row["method"])
        if now[key] >= before.get(key, set()):
            pooled.append(row)
        elif not now[key] & before[key]:
            pooled.append(_pool(existing[key], row))
    return pooled


def _list_seeds(rows: list[Row]) -> dict[tuple[str, str], set[int]]:
    seeds: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        seeds.setdefault((row["world"], row["method"]), set()).add(row["seed"])
    return seeds


def _pool(first: Row, second: Row) -> Row:
    """Means and standard errors over the seeds of both."""
    sizes = (first["seeds"], second["seeds"])
    total = sum(sizes)
    pooled = {**first, "seeds": total}
    for name in ("tau", "regret_share", "trusted", "placebo"):
        means = [row[name] for row in (first, second)]
        if None in means:  # as for trust before it was tested
            known = second if means[0] is None else first
            pooled |= {key: known[key] for key in (name, f"{name}_se") if key in known}
            continue
        pooled[name] = _round(sum(n * mean for n, mean in zip(sizes, means, strict=True)) / total)
        if f"{name}_se" in first:
            within = sum(
                n * (n - 1) * (row[f"{name}_se"] or 0.0) ** 2
                for n, row in zip(sizes, (first, second), strict=True)
            )
            between = sizes[0] * sizes[1] / total * (means[0] - means[1]) ** 2
            pooled[f"{name}_se"] = _round(math.sqrt((within + between) / (total * (total - 1))))
    return pooled


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


DEFAULTS = {
    "raw": "raw",
    "item weights": "item weights",
    "thinned by dates, auto": "dates",
    "adjusted": "exposures",
    "thinned by hold-out": "holdout group",
    "kept": "both of these",
}
"""Methods that have a column of their own in the table of errors, by what is known: the default view of each."""


def make_tables(results: dict[str, list[Row]]) -> dict[str, str]:
    """All tables by name, as Markdown: worlds by methods, methods over worlds, and what was trusted."""
    rows, ranking = results["rows"], results["ranking"]
    worlds, methods = (list(dict.fromkeys(row[key] for row in ranking)) for key in ("world", "method"))

    def errors(world: str, method: str) -> str:
        values = find_errors(rows, world, method, lambda row: True)
        return _show_percent(*mean_with_error(values)) if values else ""

    return {
        "errors": _tabulate(worlds, DEFAULTS, errors),
        "methods": _tabulate_methods(rows, ranking, methods),
        "trusted": _tabulate_trust(
            [row for row in rows if row["recommender"] not in LISTS], _find_placebos(ranking)
        ),
    }


def _tabulate_methods(rows: list[Row], ranking: list[Row], methods: list[str]) -> str:
    """What each method comes to over the worlds in which all of them were run."""
    found = {(row["world"], row["method"]): row for row in ranking}
    worlds = [world for world, _ in found if all((world, method) in found for method in methods)]
    worlds = list(dict.fromkeys(worlds))
    head = ["method", "mean error", "largest error", "lowest error", "mean tau", "lowest tau", "mean regret"]
    lines = []
    for method in methods:
        errors = {world: fmean(find_errors(rows, world, method, lambda row: True)) for world in worlds}
        least, most = (best(errors, key=errors.__getitem__) for best in (min, max))
        taus = [found[world, method]["tau"] for world in worlds if found[world, method]["tau"] is not None]
        regret = fmean(found[world, method]["regret_share"] for world in worlds)
        extremes = [f"{100 * errors[world]:.0f} (`{world}`)" for world in (most, least)]
        shown = [f"{100 * fmean(errors.values()):.0f}", *extremes]
        lines.append([method, *shown, f"{fmean(taus):.2f}", f"{min(taus):.2f}", f"{100 * regret:.0f}"])
    return _join_lines(head, lines)


def make_readme_tables(rows: list[Row], counts: list[Row]) -> dict[str, str]:
    """How far off scores are for what is known, in the middle and the worst world; how verdicts do without it."""
    lines = []
    for known, method in KNOWN.items():
        errors = {world: find_errors(rows, world, method, lambda row: True) for world in STEADY}
        means = {world: 100 * fmean(values) for world, values in errors.items()}
        worst = max(means, key=lambda world: means[world])
        lines.append([known, f"{median(means.values()):.0f} %", f"{means[worst]:.0f} % (`{worst}`)"])
    small = min(row["users"] for row in counts)
    case = ("verdict", "nothing", "leave-one-out", small)
    chosen = [
        row
        for row in counts
        if (row["rule"], row["knows"], row["protocol"], row["users"]) == case
        and row["world"] not in KINDS["production on before t0"]
    ]
    pairs, covered, decided, wrong = (
        sum(row[name] for row in chosen) for name in ("pairs", "covered", "decided", "wrong")
    )
    sentence = (
        f"Verdicts with nothing known, {pairs} pairs of models on logs of {small} users: {covered} ranges have "
        f"the truth, {decided} are decided, {wrong} of these with the wrong sign."
    )
    head = ["what you know", "a score is off by", "in the worst world"]
    return {"what you know": _join_lines(head, lines), "verdicts": textwrap.fill(sentence, 115)}


KINDS = {
    "tuning worlds, other seeds": TUNING_WORLDS,
    "substitution, spill-over": ("substitution", "spill-over"),
    "production like no stand-in": ("trending", "same-maker"),
    "production on before t0": ("on-before", "replaced"),
}
"""Worlds that have rows of their own in the table of decisions, besides all others."""


def make_decision_tables(counts: list[Row]) -> dict[str, str]:
    """How verdicts do as decisions: by kind of world, beside less careful rules, and by world with a miss."""
    small = min(row["users"] for row in counts)
    kinds: dict[tuple[str, ...], list[Row]] = {}
    rules: dict[tuple[str, ...], list[Row]] = {}
    worlds: dict[str, dict[str, list[Row]]] = {}
    for row in counts:
        kind = next((name for name, several in KINDS.items() if row["world"] in several), "all other worlds")
        kind = kind if row["users"] == small else f"some of these, {row['users']} users"
        if row["rule"] == "verdict":
            kinds.setdefault((kind, row["protocol"], row["knows"]), []).append(row)
        if row["knows"] == "nothing" and row["users"] == small:
            if row["rule"] == "verdict":
                worlds.setdefault(row["world"], {}).setdefault(row["protocol"], []).append(row)
            if row["world"] not in KINDS[BEFORE]:
                rules.setdefault((row["rule"], row["protocol"]), []).append(row)
    ordered = sorted(kinds.items(), key=lambda group: _order_kinds(group[0]))
    protocols = ("leave-one-out", "time split")
    by_world = [
        [f"`{world}`", *(cell for protocol in protocols for cell in _count(split.get(protocol, []), _SHORT))]
        for world, split in worlds.items()
        if any(row["covered"] < row["pairs"] for several in split.values() for row in several)
    ]
    rows = [
        [f"{kind}, {protocol}", knows, _count_pairs(several), *_count(several, _LONG)]
        for (kind, protocol, knows), several in ordered
    ]
    return {
        "decisions": _join_lines(["worlds", "known", "pairs", *_LONG], rows),
        "rules": _join_lines(
            ["rule, protocol", "pairs", *_LONG, "equal models decided"],
            [
                [f"{rule}, {protocol}", _count_pairs(several), *_count(several, {**_LONG, **_EQUAL})]
                for (rule, protocol), several in sorted(rules.items(), key=lambda group: group[0][::-1])
            ],
        ),
        "widths": _join_lines(["worlds, known, rule", "pairs", "mean width", *_WIDTHS], _compare_widths(counts)),
        "decisions by world": _join_lines(
            ["world", *(f"{name}, {protocol}" for protocol in protocols for name in _SHORT)], by_world
        ),
    }


def _compare_widths(counts: list[Row]) -> Iterator[list[str]]:
    """What knowledge narrows: ranges of the same pairs, on the logs whose widths were measured."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in counts:
        if "width" in row and (row["rule"] == "verdict" or row["rule"] in ALONE):
            kind = "`twins`" if row["world"] == "twins" else "other worlds"
            groups.setdefault((kind, row["knows"], row["rule"]), []).append(row)
    for group, rows in groups.items():
        width = 100 * sum(row["width"] for row in rows) / sum(row["pairs"] for row in rows)
        yield [", ".join(group), _count_pairs(rows), f"{width:.1f} points", *_count(rows, _WIDTHS)]


BEFORE = "production on before t0"
_LONG = {
    "range has the truth": ("covered", "pairs"),
    "decided": ("decided", "pairs"),
    "wrong sign": ("wrong", "decided"),
    "large differences decided": ("large_decided", "large"),
}
"""Columns of the tables of decisions: what is counted, and of what it is a share."""
_EQUAL = {"equal models decided": ("equal_decided", "equal")}
_WIDTHS = {name: parts for name, parts in {**_LONG, **_EQUAL}.items() if not name.startswith("large")}
_SHORT = {"range has the truth": ("covered", "pairs"), "decided": ("decided", "pairs")}


def _order_kinds(key: tuple[str, ...]) -> tuple[int, bool, str]:
    kinds = ["all other worlds", *KINDS]
    kind, protocol, knows = key
    return kinds.index(kind) if kind in kinds else len(kinds), knows != "nothing", protocol


def _count(rows: list[Row], columns: dict[str, tuple[str, str]]) -> list[str]:
    """Shares in percent, without the sign."""
    totals = {name: sum(row[name] or 0 for row in rows) for pair in columns.values() for name in pair}
    return [
        f"{100 * totals[part] / totals[whole]:.0f}" if totals[whole] else "" for part, whole in columns.values()
    ]


def _count_pairs(rows: list[Row]) -> str:
    return str(sum(row["pairs"] for row in rows))


def make_coverage_tables(rows: list[list[Any]]) -> dict[str, str]:
    """How often intervals hold the truth: of views, for each world; of scores if nothing is recommended; and of
    scores that earned trust, in larger logs.
    """
    scores = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    small = min(score["users"] for score in scores)
    views: dict[tuple[str, ...], list[Row]] = {}
    larger: dict[str, dict[str, list[Row]]] = {}
    recommenders: dict[tuple[str, ...], list[Row]] = {}
    truths: dict[tuple[str, int], list[Row]] = {}
    for score in scores:
        world, view = score["world"], score["view"]
        if view == TRUTH:
            truths.setdefault((world, score["users"]), []).append(score)
        if score["users"] > small:
            larger.setdefault(view, {}).setdefault(world, []).append(score)
        elif world == QUIET:
            recommenders.setdefault((score["recommender"],), []).append(score)
        elif view != TRUTH:
            views.setdefault((world, view), []).append(score)
    lines = [
        [
            f"`{world}`, {view}",
            *_merge_cells(find_coverage(several, truths[world, small])),
            *find_trust(several, truths[world, small]),
        ]
        for (world, view), several in sorted(views.items(), key=lambda group: _order_views(group[0]))
    ]
    quiet = [
        [name, *_merge_cells(find_coverage(several, truths[QUIET, small]))]
        for (name,), several in recommenders.items()
    ]
    trusted = [[view, *_find_worth_of_trust(larger[view], truths)] for view in (LOGGED, *VIEWS) if view in larger]
    return {
        "coverage of views": _join_lines(["world, view", *_COVERAGE, *_TRUST], lines),
        "coverage without recommendations": _join_lines(["recommender", *_COVERAGE], quiet),
        "coverage of trusted scores": _join_lines(["view", *_WORTH], trusted),
    }


_WORTH = ("logs", "coverage of all", "trusted", "coverage if trusted", "error if trusted", "trusted if near")


def _find_worth_of_trust(worlds: dict[str, list[Row]], truths: dict[tuple[str, int], list[Row]]) -> list[str]:
    """Over all worlds: how often intervals of a view hold the truth, which is the mean over the logs of a world.

    And what share of its scores is trusted, how often intervals of these hold it, and how far off they are.
    """
    held: list[bool] = []
    trusted: list[bool] = []
    near: list[bool] = []
    errors: list[float] = []
    for world, scores in worlds.items():
        truth = _find_truth(truths[world, scores[0]["users"]])
        for row in scores:
            error = row["value"] / truth[row["recommender"]] - 1
            held.append(row["low"] <= truth[row["recommender"]] <= row["high"])
            if row["trusted"]:
                trusted.append(held[-1])
                errors.append(abs(error))
            if abs(error) < NEAR:
                near.append(bool(row["trusted"]))
    return [
        str(sum(map(count_logs, worlds.values()))),
        f"{100 * fmean(held):.0f} %",
        f"{len(trusted)} of {len(held)}",
        f"{100 * fmean(trusted):.0f} %" if trusted else "",
        f"{100 * fmean(errors):.0f} %" if errors else "",
        f"{sum(near)} of {len(near)}" if near else "",
    ]


_COVERAGE = ("logs", "bias", "coverage as printed (width)", "coverage refitted (width)")
_TRUST = ("trusted", "trusted if near")


def _merge_cells(cells: list[str]) -> list[str]:
    """The share of intervals that hold the truth, with their width in brackets, as printed and refitted."""
    logs, bias, width, covered, refits, refitted_width, refitted = cells
    others = f"{refitted} ({refitted_width})" if refitted else ""
    return [logs, bias, f"{covered} ({width})", others if refits in ("", logs) else f"{others}, {refits} logs"]


def _join_lines(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    several = [" | ".join(head), "|".join(["---"] * len(head)), *(" | ".join(line) for line in lines)]
    return "\n".join(f"|{line}|" if line.startswith("---") else f"| {line} |" for line in several)


def count_logs(scores: list[Row]) -> int:
    """How many logs these are scores of."""
    return len({score["replicate"] for score in scores})


def _order_views(key: tuple[str, ...]) -> tuple[int, int]:
    world, view = key
    return WORLDS.index(world), [LOGGED, *VIEWS].index(view)


def find_coverage(scores: list[Row], truths: list[Row]) -> list[str]:
    """How far scores of a world and view are from the truth, which is the mean over its logs, and how often both
    kinds of intervals hold it.
    """
    by_name = _group_by_recommender(scores)
    truth = _find_truth(truths)
    biases = [100 * (fmean(row["value"] for row in rows) / truth[name] - 1) for name, rows in by_name.items()]
    cells = [str(count_logs(scores)), _show_between(biases, "+.0f", " %")]
    for low, high in (("low", "high"), ("refitted_low", "refitted_high")):
        measured = [row for row in scores if row[low] is not None]  # refitted ones of the first logs at least
        if not measured:
            return [*cells, *([""] * (7 - len(cells)))]
        ratios = [_compare_with_spread(rows, low, high) for rows in by_name.values()]
        by_log: dict[int, list[bool]] = {}
        for row in measured:
            by_log.setdefault(row["replicate"], []).append(row[low] <= truth[row["recommender"]] <= row[high])
        coverage = _show_percent(*mean_with_error([fmean(several) for several in by_log.values()]))
        logs = [str(len(by_log))] if low != "low" else []
        cells += [*logs, _show_between(ratios, ".2f", ""), coverage]
    return cells


def find_trust(scores: list[Row], truths: list[Row]) -> list[str]:
    """How many scores of a world and view are trusted, with how many intervals that hold the truth.

    And how many of those that are near what the same log would have given had nothing been recommended.
    """
    if scores[0]["view"] == LOGGED:
        return [""] * len(_TRUST)
    truth = _find_truth(truths)
    here = {(row["replicate"], row["recommender"]): row["value"] for row in truths}
    trusted = [row for row in scores if row["trusted"]]
    near = [row for row in scores if abs(row["value"] / here[row["replicate"], row["recommender"]] - 1) < NEAR]
    covered = sum(row["low"] <= truth[row["recommender"]] <= row["high"] for row in trusted)
    return [
        f"{len(trusted)} of {len(scores)}" + (f", {covered} covered" if trusted else ""),
        f"{sum(row['trusted'] for row in near)} of {len(near)}" if near else "",
    ]


def _find_truth(truths: list[Row]) -> dict[str, float]:
    """Of each recommender the mean over logs."""
    return {name: fmean(row["value"] for row in rows) for name, rows in _group_by_recommender(truths).items()}


def _group_by_recommender(scores: list[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for score in scores:
        groups.setdefault(score["recommender"], []).append(score)
    return groups


def _compare_with_spread(scores: list[Row], low: str, high: str) -> float:
    """How wide intervals are, as a share of what the spread of the scores over logs asks for."""
    width = math.sqrt(fmean((row[high] - row[low]) ** 2 for row in scores if row[low] is not None))
    return width / (2 * 1.96 * stdev(row["value"] for row in scores)) if len(scores) > 1 else math.nan


def _show_between(values: list[float], form: str, unit: str) -> str:
    low, high = (format(value, form) for value in (min(values), max(values)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _find_placebos(ranking: list[Row]) -> dict[str, str]:
    """Of each method by dates: the least and the most that placebo campaigns found in a world."""
    found: dict[str, dict[str, float]] = {}
    for row in ranking:
        if row.get("placebo") is not None and "by dates" in row["method"]:
            found.setdefault(row["method"], {})[row["world"]] = row["placebo"]
    shown = {}
    for method, shares in found.items():
        low, high = (best(shares, key=shares.__getitem__) for best in (min, max))
        shown[method] = f"{100 * shares[low]:.0f} (`{low}`) to {100 * shares[high]:.0f} (`{high}`)"
    return shown


def _tabulate_trust(rows: list[Row], placebo: dict[str, str]) -> str:
    """Of each method that may earn trust: how many scores did, how far off these and the others are, and what its
    placebo campaigns found.
    """
    lines = []
    tested = [row for row in rows if row["trusted"] is not None]
    for method in dict.fromkeys(row["method"] for row in tested):
        several = [row for row in tested if row["method"] == method]
        trusted, others = ([row for row in several if bool(row["trusted"]) is is_so] for is_so in (True, False))
        worst = max(trusted, key=lambda row: abs(row["error"]), default=None)
        shown = ""
        if worst is not None:
            shown = f"{100 * worst['error']:+.0f} ({worst['recommender']}, `{worst['world']}`)"
        trust = f"{len(trusted)} of {len(several)}"
        lines.append([method, trust, _mean_error(trusted), shown, _mean_error(others), placebo.get(method, "")])
    head = ["method", "trusted", "their error", "worst", "error of the others", "placebo found"]
    return _join_lines(head, lines)


def _mean_error(rows: list[Row]) -> str:
    return _show_percent(*mean_with_error([abs(row["error"]) for row in rows])) if rows else ""


def _show_percent(value: float, error: float) -> str:
    """A share in percent with its standard error, without the sign."""
    return f"{100 * value:z.0f}" + ("" if math.isnan(error) else f"±{100 * error:.0f}")


def _tabulate(worlds: list[str], methods: dict[str, str], cell: Callable[[str, str], str]) -> str:
    lines = [[f"`{world}`", *(cell(world, method) for method in methods)] for world in worlds]
    return _join_lines(["world", *methods.values()], [line for line in lines if any(line[1:])])


def fill(page: str, tables: dict[str, str]) -> str:
    """A page with every table between its markers."""
    for name, table in tables.items():
        start, end = f"<!-- evidence: {name} -->", "<!-- end of evidence -->"
        page = re.sub(re.escape(start) + ".*?" + re.escape(end), f"{start}\n\n{table}\n\n{end}", page, flags=re.S)
    return page


def read_readme_tables() -> dict[str, str]:
    """What the README shows of both results files."""
    return make_readme_tables(json.loads(RESULTS.read_text())["rows"], json.loads(VERDICTS.read_text()))


def write() -> None:
    """Put the tables into the documentation."""
    tables = make_tables(json.loads(RESULTS.read_text())) | make_decision_tables(json.loads(VERDICTS.read_text()))
    PAGE.write_text(fill(PAGE.read_text(), tables))
    README.write_text(fill(README.read_text(), read_readme_tables()))
    coverage = make_coverage_tables(json.loads(COVERAGE.read_text()))
    COVERAGE_PAGE.write_text(fill(COVERAGE_PAGE.read_text(), coverage))


if __name__ == "__main__":
    if sys.argv[1:2] == ["collect"]:
        collect(sys.argv[2:])
    elif sys.argv[1:] == ["write"]:
        write()
    elif sys.argv[1:] == ["coverage"]:
        print(*make_coverage_tables(json.loads(COVERAGE.read_text())).values(), sep="\n\n")
    else:
        sys.exit(__doc__)
