"""The page on which `make demo` ends: the verdict, the pages made beside it, and what to run on one's own log.

    python -m tools.demo_page demo

`demo/report.json` is what `unskew report example ... --json` printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.make_example import TRUTH
from unskew.drawing.page import Section, write_page
from unskew.evaluation.changes import Part
from unskew.evaluation.verdict import Scenario, Verdict
from unskew.show.verdict_sections import ask_question, make_card

REPORT, REPRODUCTION = "report.html", "paper/index.html"
LEAD = (
    "A built-in log of 4 000 users. A recommender that works like kNN was switched on on 1 March 2024, and since "
    "then the log has been filling with what it recommends. Is kNN better than a list of popular items?"
)
OWN = (
    "A table of users, items and times is all it takes: CSV, Parquet, nearly any file. The first command says "
    "what is in it, and prints the other two with your columns and dates filled in. --reference is a date before "
    "which nothing was recommended. After 'make demo' the program is .venv/bin/unskew."
)
COMMANDS = (
    "unskew doctor events.csv",
    "unskew evaluate events.csv --reference 2024-03-01 --baseline popular -r knn",
    "unskew report events.csv --reference 2024-03-01 --baseline popular -r knn -o report.html",
)


def read_verdict(printed: Mapping[str, Any]) -> Verdict:
    """A verdict from its JSON; p-values and stand-ins are not in it."""
    fields = {name: value for name, value in printed.items() if name in Verdict.__dataclass_fields__}
    scenarios = tuple(map(_read_scenario, printed["scenarios"]))
    return Verdict(**{**fields, **printed["range"], "scenarios": scenarios})


def _read_scenario(printed: Mapping[str, Any]) -> Scenario:
    relative, share = printed["relative"], printed["induced_share"]
    return Scenario(
        printed["name"],
        printed["view"],
        Part(**printed["difference"]),
        relative=None if relative is None else Part(**relative),
        induced_share=None if share is None else Part(**share),
        trusted=printed["trusted"],
    )


def make_sections(verdicts: Sequence[Verdict], *, reproduced: bool) -> list[Section]:
    """The sections of the page; without the reproduction, how to get it."""
    cards = [
        replace(make_card(verdict), title=ask_question([verdict]), anchor=f"answer-{verdict.recommender}")
        for verdict in verdicts
    ]
    links = [("the whole report", REPORT)] + [("the paper, reproduced", REPRODUCTION)] * reproduced
    pages = "The report is the page that 'unskew report' makes: one file for the whole team."
    if not reproduced:
        pages += " 'make demo' without DEMO=quick reproduces the paper as well."
    return [
        *cards,
        Section("Was that right?", describe_truth(verdicts), anchor="truth"),
        Section("The pages", pages, links=links, anchor="pages"),
        Section("Your own log", OWN, code=COMMANDS, anchor="own"),
    ]


def describe_truth(verdicts: Sequence[Verdict]) -> str:
    """What the differences would be had nothing been recommended, which is known since the log is simulated."""
    sentences = [
        f"Had nothing been recommended, {verdict.recommender} would be {100 * abs(truth):.1f} points "
        f"{'ahead of' if truth > 0 else 'behind'} {verdict.baseline}; the log as it is says "
        f"{100 * verdict.as_logged.difference.value:+.1f}."
        for verdict in verdicts
        for truth in [TRUTH[verdict.recommender]]
    ]
    return "The log is simulated, so the truth is known. " + " ".join(sentences)


def write_demo_page(folder: Path) -> Path:
    """Write index.html into the folder of the demonstration; returns its path."""
    printed = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    verdicts = [read_verdict(verdict) for verdict in printed["verdicts"]]
    reproduced = (folder / REPRODUCTION).exists()
    write_page(
        folder / "index.html", "unskew on its built-in log", LEAD, make_sections(verdicts, reproduced=reproduced)
    )
    return folder / "index.html"


if __name__ == "__main__":
    print(f"The page: {write_demo_page(Path(sys.argv[1])).resolve()}")
