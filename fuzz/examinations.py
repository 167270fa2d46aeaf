"""What unskew makes of a file, as figures that can be compared. All of this runs in child processes."""

from __future__ import annotations

import math
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import unskew as us
from fuzz.child_process import run_json_command
from fuzz.plain_log import Figures, show_id
from fuzz.small_log import read_as_large, read_small_log
from unskew.known_truths import yardstick, yardstick_run
from unskew.reading import mark_exposed

_VOLATILE = ("seconds", "output", "version")


def examine_log(path: Path, **columns: Any) -> Figures:
    """The figures of a log that `fuzz.plain_log` computes as well, and that fits and scores of it are sane."""
    ways = ("sql", "memory", "files", "arrays")
    way = ways[zlib.crc32(path.read_bytes()) % len(ways)] if path.is_file() else ways[0]
    with read_as_large(way):
        log = us.read_log(path, **columns)
    return describe_log(log)


def describe_log(log: us.Log) -> Figures:
    """The same of a log that was read."""
    _require_whole(log)
    now = log.at(log.last)
    then = log.at(log.axis.show(np.sort(log.time)[len(log) // 2]))
    mix = {show_id(item): p for item, p in now.marginal().to_dict().items()}
    found: Figures = {
        "users": len(log.users),
        "items": len(log.items),
        "pairs": len(log),
        "now": mix,
        "then": {show_id(item): p for item, p in then.marginal().to_dict().items()},
        "drift": _try(lambda: us.drift(now, then).bound),
        "constant": None,
    }
    if len(mix) == len(log.items):
        code = int(np.argmax(np.bincount(log.item)))
        item = log.items[code]
        value = _try(lambda: us.evaluate(us.Constant([item]), now, metric="hit@1").value)
        found["constant"] = None if value is None else [show_id(item), value]
    weights = _try(lambda: us.fit_weights(now, then, tol=1e-3))
    if weights is not None:
        _require_share(weights.bound, "the bound")
        _require_share(us.evaluate("popular", now, weights=weights).value, "a weighted score")
    return found


def _try(compute: Any) -> Any:
    """What is computed, or None where unskew refuses: a log of one pair has nothing to compare."""
    try:
        return compute()
    except us.UnskewError:
        return None


def _require_whole(log: us.Log) -> None:
    """No loop may be led out of bounds, and no snapshot cut in the wrong place."""
    users, items, times = log.entry_users().tolist(), log.item.tolist(), log.time.tolist()
    if max(items) >= len(log.items):
        raise AssertionError(f"a pair has item {max(items)} of {len(log.items)}")
    if sorted(zip(users, times, strict=True)) != list(zip(users, times, strict=True)):
        raise AssertionError("the times of a user are not in order")
    if log.removed is None and len({*zip(users, items, strict=True)}) < len(items):
        raise AssertionError("a user has an item twice")


def _require_share(value: float, what: str) -> None:
    if not 0 <= value <= 1 + 1e-12:
        raise AssertionError(f"{what} is {value}")


def examine_saved_log(path: Path) -> Any:
    """Every array of a saved log, by its checksum, and the figures."""
    log = us.read_log(path)
    arrays = {name: getattr(log, name) for name in ("start", "item", "time", "removed", "exposed")}
    arrays |= dict(log.extra) | {name: labels.codes for name, labels in log.labels.items()}
    sums = {name: None if array is None else zlib.crc32(array.tobytes()) for name, array in arrays.items()}
    texts = [log.users.to_list(), log.items.to_list(), str(log.axis), log.view, str(log.columns), str(log.reading)]
    organic = None if log.exposed is None else describe_log(us.views.organic(log))
    return {"sums": sums, "texts": list(map(str, texts)), "figures": describe_log(log), "organic": organic}


def examine_weights(folder: Path) -> Any:
    """Scores under saved weights, and pairs drawn with them."""
    log, weights = read_small_log(), us.ItemWeights.load(folder / "weights.parquet")
    scores = us.report(log, ["popular"], at=90, weights=weights, metric="hit@2").to_dict()
    drawn = us.sample_pairs(log.at(90), weights, sample=20, seed=1).to_arrow().to_pylist()
    return drop_volatile([scores, weights.to_dict(), drawn])


def examine_marginal(folder: Path) -> Any:
    """Weights fitted to a saved marginal; without its date, which any table with the same columns may lack."""
    reference = us.Marginal.load(folder / "marginal.parquet")
    for probability in reference.to_dict().values():
        _require_share(probability, "a probability")
    found = us.fit_weights(read_small_log().at(90), reference).to_dict()
    return drop_volatile({name: value for name, value in found.items() if name != "reference"})


TIMELINE: dict[str, Any] = {"reference": 40, "start": 0, "every": 20, "items": [1, 2]}


def examine_timeline(folder: Path) -> Any:
    """A timeline that goes on from its files."""
    files: dict[str, Any] = {
        "output": folder / "timeline.parquet",
        "probabilities": folder / "probabilities.parquet",
    }
    return drop_volatile(
        us.timeline(read_small_log(), "popular", **TIMELINE, end=80, **files, resume=True).to_dict()
    )


def examine_world(folder: Path) -> Any:
    """Both logs of a world, its campaigns and what it was made from."""
    world = us.worlds.World.load(folder / "world")
    rounds = None if world.rounds is None else world.rounds.to_pylist()
    tables = [str(table.to_pylist()) for table in (world.exposures, world.holdout)]
    logs = [describe_log(log) for log in (world.log, world.truth)]
    return drop_volatile([logs, tables, str(world.campaigns), world.recipe.to_dict(), rounds, dict(world.about)])


YARDSTICK: dict[str, Any] = {
    "seeds": [1],
    "users": 60,
    "items": 30,
    "recommenders": ["popular"],
    "methods": ["item weights"],
    "truth_seeds": 1,
}


def examine_yardstick(folder: Path) -> Any:
    """A yardstick that takes its cases from its folder; without the page, which takes seconds to draw."""
    vars(yardstick_run)["save_yardstick"] = lambda *_: None  # in this process, which ends with the case
    found = yardstick(["quiet"], **YARDSTICK, output=folder / "yardstick", resume=True)
    return drop_volatile(found.to_dict())


def examine_configuration(folder: Path) -> Any:
    """The drift between the two dates that a configuration file names."""
    os.chdir(folder)
    return drop_volatile(run_json_command("drift"))


def examine_exposures(folder: Path, file: str) -> Any:
    """The pairs of a log that followed an exposure."""
    log = read_small_log()
    marked = mark_exposed(log, folder / file)
    assert marked.exposed is not None
    users, entries = log.entry_users(), np.flatnonzero(marked.exposed)
    return sorted([show_id(log.users[int(users[e])]), show_id(log.items[int(log.item[e])])] for e in entries)


def examine_holdout(folder: Path, file: str) -> Any:
    """The users of a log who are in a holdout group."""
    from unskew.views.contrast import find_holdout

    log = read_small_log()
    return sorted(show_id(log.users[int(code)]) for code in np.flatnonzero(find_holdout(log, folder / file)))


def examine_lists(folder: Path, file: str) -> Any:
    """The score of lists that were external."""
    log = read_small_log()
    return us.evaluate(f"table:{folder / file}", log.at(log.last), metric="hit@2").value


def examine_names(folder: Path, file: str) -> Any:
    """The names of items, as tables for people show them."""
    from unskew.cli.shared_options import read_names

    items = read_small_log().items.values
    names = read_names(str(folder / file), items)
    assert names is not None
    return dict(zip(map(show_id, items.to_pylist()), names, strict=True))


def drop_volatile(found: Any) -> Any:
    """What does not change from one run to the next, ready for JSON."""
    if isinstance(found, dict):
        return {str(key): drop_volatile(value) for key, value in found.items() if key not in _VOLATILE}
    if isinstance(found, list | tuple):
        return [drop_volatile(value) for value in found]
    if isinstance(found, float) and math.isnan(found):
        return "nan"  # which is not even equal to itself
    return found if found is None or isinstance(found, str | int | float) else str(found)
