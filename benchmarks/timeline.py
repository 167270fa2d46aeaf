"""A timeline against the same scores one date at a time: weights fitted from nothing, then `evaluate`."""

from __future__ import annotations

import time

from rich.console import Console
from rich.table import Table

import unskew as us

FIRST, LAST = 300, 500
WEIGHTINGS: dict[str, list[int]] = {"raw, all items": [], "raw, all items, p = 5, 20, 100": [5, 20, 100]}
EVERY = 10  # of the dates that are also done one at a time


def run(console: Console) -> None:
    """Measure on a world of the paper's size, two constant lists, every day."""
    began = time.perf_counter()
    world = us.simulate()
    made = time.perf_counter() - began
    log = world.log
    before = log.at(FIRST)
    items = sorted(before.marginal().to_dict().items(), key=lambda pair: -pair[1])[:10]
    lists = {name: us.Constant([item for item, _ in items[k::2]]) for k, name in enumerate(("g1", "g2"))}
    us.timeline(log, lists, reference=FIRST, end=FIRST + 40, every=40, top=[5])  # compile
    console.print(f"simulate: {made:.1f} s for {len(log):,} interactions (compiling included)", style="dim")
    table = Table("weightings", "dates", "timeline, s", "one at a time, s", "ratio", title="Timeline")
    for name, top in WEIGHTINGS.items():
        began = time.perf_counter()
        found = us.timeline(log, lists, reference=FIRST, end=LAST, every=1, top=top)
        mine = time.perf_counter() - began
        days = list(range(FIRST, LAST + 1, EVERY))
        began = time.perf_counter()
        for day in days:
            _one_date(log.at(day), before, lists, top)
        theirs = (time.perf_counter() - began) * len(found.dates) / len(days)
        table.add_row(name, str(len(found.dates)), f"{mine:.1f}", f"{theirs:.1f}", f"{theirs / mine:.1f}")
    console.print(table)
    console.print(f"one at a time: every {EVERY}th date, multiplied", style="dim")


def _one_date(now: us.Snapshot, before: us.Snapshot, lists: dict[str, us.Constant], top: list[int]) -> None:
    fits = [None, us.fit_weights(now, before)]
    fits += [us.fit_weights(now, before, top=p, method="descent") for p in top]
    for constant in lists.values():
        for weights in fits:
            us.evaluate(constant, now, weights=weights)
