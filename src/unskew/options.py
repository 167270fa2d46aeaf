"""Options of more than one function or command, each declared once: meaning, range, and place in help and files.

The command line makes flags and help of them (`cli/option_groups.py`), a configuration file keys
(`cli/configuration.py`), and the classes that take them as keywords check them with `check_options`. Options of a
single command are declared beside it, by the same class.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

from unskew.checks import require_number, require_one_of, require_whole_number
from unskew.errors import option


class Group(Enum):
    """The groups of options, in the order of the help."""

    COMPARE = "What to compare"
    THRESHOLDS = "Thresholds"
    WORLD = "The world"
    CAMPAIGNS = "What is recommended"
    KNOWN = "What you know"
    PROTOCOL = "Protocol"
    OUTPUT = "Output"
    READING = "Reading the log"
    FIT = "Fitting weights"
    INTERVALS = "Sampling and intervals"
    WORK = "Where the work is done"
    GENERAL = "Configuration and help"


_KINDS: dict[str | None, Any] = {
    **dict.fromkeys(("N", "K", "S"), int),
    **dict.fromkeys(("X", "P", "SHARE"), float),
    **dict.fromkeys(("FILE", "DIR", "LOG"), Path),
}
"""What is read of the words behind a flag; all others are texts."""


@dataclass(frozen=True)
class Option:
    """An option."""

    flags: str  # its flags and what stands behind them, as the help shows them: ``-o, --output FILE``
    # Its words in the help, and their place; ``--help`` has everyday options alone. What the help says about the
    # default is shown in place of the default itself.
    help: str
    group: Group
    everyday: bool = False
    # ``str``, ``int``, ``float``, ``bool``, or ``Path`` for a file or a folder; by default what stands behind the
    # flags says it, and without that it is a switch.
    kind: Any = None
    default: Any = None  # what the command line takes if it is not given
    # What it may be; `meaning` says in messages what a number counts or measures.
    choices: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    meaning: str = ""
    several: bool = False  # whether it can be repeated
    bare: Any = None  # what it is if the flag stands alone
    # The table of a configuration file in which it stands (empty for the top of the file, None for that of each
    # command), its name there if that is not the one of Python, and the commands for which it is not meant: they
    # refuse it, or have an option of that name that is another thing.
    table: str | None = None
    key: str = ""
    not_for: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind is None:
            is_switch = self.metavar is None and not self.choices
            object.__setattr__(self, "kind", bool if is_switch else _KINDS.get(self.metavar, str))

    @property
    def names(self) -> list[str]:
        """The flags alone."""
        return [part.partition(" ")[0] for part in self._parts]

    @property
    def metavar(self) -> str | None:
        """What stands behind them."""
        return self._parts[-1].partition(" ")[2] or None

    @property
    def _parts(self) -> list[str]:
        return re.split(", (?=-)", self.flags)

    def check(self, name: str, value: Any) -> Any:
        """The value, if it may be one; `name` is how Python calls the option."""
        if self.choices:
            return require_one_of(option(name), value, self.choices)
        if self.kind is int and self.least > -math.inf:
            most = None if self.most == math.inf else int(self.most)
            return require_whole_number(option(name), value, self.meaning, int(self.least), most)
        if self.kind is float and self.least > -math.inf:
            return require_number(option(name), value, self.meaning, self.least, self.most)
        return value


def check_options(options: Any, *names: str) -> None:
    """Check fields of a dataclass of options; those whose default is None may be None."""
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in names and (value is not None or field.default is not None):
            object.__setattr__(options, field.name, OPTIONS[field.name].check(field.name, value))


_compare = functools.partial(Option, group=Group.COMPARE)
_column = functools.partial(Option, group=Group.READING, table="columns")
_file = functools.partial(Option, group=Group.READING, table="file")
_known = functools.partial(Option, group=Group.KNOWN, table="known")
_work = functools.partial(Option, group=Group.WORK)
_protocol = functools.partial(Option, group=Group.PROTOCOL, table="protocol")
_interval = functools.partial(Option, group=Group.INTERVALS, table="protocol")
_fit = functools.partial(Option, group=Group.FIT)
_threshold = functools.partial(Option, group=Group.THRESHOLDS, table="thresholds")
_output = functools.partial(Option, group=Group.OUTPUT)

OPTIONS = {
    "reference": _compare(
        "--reference T0|FILE",
        "Date to compare with (a bare date is the end of that day), or a saved marginal.",
        kind=Path,
        everyday=True,
        table="",
    ),
    "at": _compare(
        "--at T",
        "Date of the profiles; a bare date is the end of that day.  [default: the end of the log]",
        default="last",
        everyday=True,
        table="",
        not_for=("marginal",),
    ),
    "recommenders": _compare(
        "-r, --recommender [NAME=]SPEC", "Recommender to score. Repeatable.", several=True, everyday=True, table=""
    ),
    "metrics": _compare(
        "-m, --metric NAME",
        "hit@k, mrr@k, ndcg@k, rbp@k or rank<=1,5,10; for whole users user-hit@k (also recall, precision, "
        "mrr, ndcg, map). Repeatable.  [default: hit@5, which is recall@5 with --after]",
        default=("hit@5",),
        several=True,
        everyday=True,
        table="",
    ),
    "baseline": _compare(
        "--baseline [NAME=]SPEC",
        "Recommender in use at the date of --reference, if it was another.",
        several=True,
        everyday=True,
        table="",
    ),
    "by": _compare("--by COLUMN", "Also score each value of this column of the log."),
    "quick": _compare(
        "--quick", "Look at one stand-in for production only, and skip more data; nothing is decided."
    ),
    # ---- how the log is read
    "user": _column("--user COLUMN", "Column of users, by name or number.  [default: user]", everyday=True),
    "item": _column("--item COLUMN", "Column of items.  [default: item]", everyday=True),
    "time": _column("--time COLUMN", "Column of times.  [default: time or timestamp]", everyday=True),
    "time_unit": _column(
        "--time-unit",
        "Unit of integer times that count since 1970; dates can then be used.",
        choices=("s", "ms", "us", "ns", "day"),
    ),
    "time_format": _column("--time-format FORMAT", "Format of times, such as '%d/%m/%Y %H:%M'."),
    "format": _file(
        "--format",
        "Format of LOG.  [default: detected]",
        choices=("csv", "tsv", "json", "parquet", "arrow", "excel", "sqlite", "duckdb"),
    ),
    "sep": _file("--sep TEXT", "Separator of values: ';', '::', tab, space.  [default: detected]"),
    "header": _file(
        "--header/--no-header",
        "Whether the first line names the columns; if not, columns are numbered from 1.  [default: detected]",
    ),
    "column_names": _file("--columns A,B,...", "Column names of a file without a header.", key="columns"),
    "encoding": _file("--encoding NAME", "Text encoding, such as latin-1.  [default: detected]"),
    "quote": _file("--quote CHAR", "Quote around values, or 'none'.  [default: detected]"),
    "table": _file("--table NAME", "Table of a database, sheet of a workbook, or file in an archive."),
    "query": _file(
        "--query SQL", "What to read if LOG is the address of a database: postgresql://localhost/shop."
    ),
    "removed": _column("--removed COLUMN", "Column with the time at which the user removed the item."),
    "drop_nulls": _column("--drop-nulls", "Drop rows without user, item or time instead of refusing the file."),
    "p_user": _column(
        "--p-user COLUMN",
        "Column with P(u), the importance of the user.  [default: uniform]",
        group=Group.PROTOCOL,
    ),
    "p_item": _column(
        "--p-item HOW",
        "P(i|u): a column, or 'recency:30' to halve it every 30 days (or units of time).  [default: uniform]",
        group=Group.PROTOCOL,
    ),
    "engine": _work(
        "--engine", "On this machine, or on a Spark cluster.", default="local", choices=("local", "spark")
    ),
    "master": _work("--master URL", "URL of the Spark cluster: spark://HOST:PORT, yarn, ...  [default: local[*]]"),
    "spark_conf": _work(
        "--spark-conf KEY=VALUE", "Spark setting, such as spark.executor.memory=8g. Repeatable.", several=True
    ),
    # ---- what is known about recommendations
    "exposures": _known(
        "--exposures, --impressions FILE",
        "Exposure log (impressions): user, item and time of each recommendation shown. "
        "FILE?user=A&item=B&time=C names its columns.",
        everyday=True,
        not_for=("excess",),
    ),
    "exposed": _known(
        "--exposed COLUMN",
        "Column of LOG that is true if the interaction followed a recommendation or a promotion.",
        not_for=("excess",),
    ),
    "within": _known(
        "--within T",
        "How long after an exposure an interaction counts as exposed, such as 30d.  [default: for ever]",
        not_for=("excess",),
    ),
    "campaigns": _known(
        "--campaign START:END",
        "Campaign window [START, END): when something was recommended; a bare date is the start of that "
        "day. 'START:' is still running; START/END if times contain colons. Repeatable.",
        several=True,
        everyday=True,
    ),
    "holdout": _known("--holdout FILE", "Holdout group: users who never see recommendations.", everyday=True),
    "production": _known(
        "--production [NAME=]SPEC",
        "Recommender in production (table:FILE for the lists that it showed), or 'auto' to choose a stand-in.",
        everyday=True,
    ),
    "induced_share": _known(
        "--induced-share X|A:B",
        "Share of the interactions since --reference that recommendations caused, or a range: 0.3, 30%, "
        "0.2:0.4. Verdicts use it.",
        not_for=("excess",),
    ),
    "view": _known(
        "--view",
        "View of the log to evaluate on.  [default: auto, the best that the options above allow]",
        choices=("auto", "all", "organic", "adjusted", "outside", "thinned", "kept"),
        not_for=("excess",),
    ),
    "clean_before": _known(
        "--clean-before T", "Nothing was recommended before this time: you vouch for it.", table=None
    ),
    # ---- which pairs are held out
    "sample": _interval(
        "--sample N|all",
        "Score a random sample of N held-out interactions.  [default: all, unless that would take hours; 'all' "
        "insists]",
        default="auto",
        not_for=("sample",),
    ),
    "seed": _interval(
        "--seed S", "Seed of all random draws.", default=0, least=0, meaning="where the draws begin"
    ),
    "leave_out": _protocol(
        "--leave-out N",
        "Hold out N items of a profile at a time.",
        default=1,
        least=1,
        most=2**31 - 1,
        meaning="how many items to take out of a profile",
    ),
    "after": _protocol(
        "--after T",
        "Global time split: fit at T and hold out later interactions. -30d (-20 if times are plain numbers) is 30 "
        "days before each date.",
        everyday=True,
    ),
    "leave_last_out": _protocol(
        "--leave-last-out", "Hold out the last item of each profile instead of each item in turn."
    ),
    "min_items": _protocol(
        "--min-items N",
        "Only users with at least N items to hold out from, at each date.",
        default=1,
        least=1,
        meaning="items that a user must have",
        table="fit",
    ),
    "folds": _protocol(
        "--folds K",
        "Fit every recommender K times, each time without the interactions that it is scored on.",
        least=2,
        meaning="how many parts the pairs are dealt into",
    ),
    "draws": _interval(
        "--draws N",
        "Draws to average over if the view is random (adjusted, thinned or kept).",
        default=5,
        least=1,
        meaning="how many draws to average over",
    ),
    "refit": _interval(
        "--refit [N]",
        "Draw users at both dates N times and fit the weights (not the models) again, for intervals of weighted "
        "scores and changes; 0 treats the weights as fixed.  [200 if N is omitted; default: 50, for changes "
        "alone]",
        kind=int,
        bare=200,
    ),
    "level": _interval("--level P", "Confidence level of the intervals.", default=0.95),
    # ---- how weights are fitted; None if the command line does not set them
    "top": _fit(
        "--top P",
        "Fit only the P items whose probability changed most.",
        kind=int,
        least=1,
        meaning="how many items to weight",
    ),
    "items": _fit("--items A,B,...", "Fit only these items."),
    "method": _fit(
        "--method",
        "Solver.  [default: scaling; descent with --top or --items]",
        choices=("scaling", "descent", "lbfgs"),
    ),
    "tol": _fit(
        "--tol TOL",
        "Tolerance of the fit, in score units.  [default: 0.0001]",
        kind=float,
        least=0,
        meaning="how far a score may still be off",
    ),
    "max_passes": _fit(
        "--max-passes N",
        "Stop after N passes over the data.",
        least=2,
        meaning="one pass to look and one to certify",
    ),
    "new_items": _fit(
        "--new-items",
        "Drop or keep items that nobody had at T0.  [default: drop]",
        choices=("drop", "keep"),
        table="fit",
    ),
    "users": _fit(
        "--users",
        "Evaluate all users, or only those with a profile at both dates.  [default: all]",
        choices=("all", "both"),
        table="fit",
    ),
    "margins": _fit(
        "--margin KIND:NAME",
        "Also match this mix: column:NAME for the groups of a column of the log, agreement:SPEC for the ranks "
        "that a model of production gives. Repeatable.",
        several=True,
    ),
    # ---- what a check watches
    "max_drift": _threshold(
        "--max-drift X",
        "Largest drift of the item mix: total variation, from 0 to 1.",
        least=0,
        most=1,
        meaning="how far the item mix may move, where 1 is as far as it can",
        everyday=True,
    ),
    "max_bound": _threshold(
        "--max-bound X",
        "Largest bound on the error that remains in weighted scores, from 0 to 1.",
        least=0,
        most=1,
        meaning="how far a weighted score may still be off, where 1 is as far as it can",
    ),
    "max_excluded": _threshold(
        "--max-excluded X",
        "Largest share of users that the weights exclude, at either date.",
        least=0,
        most=1,
        meaning="a share of the users, where 1 is all of them",
    ),
    "max_unexplained": _threshold(
        "--max-unexplained X",
        "Largest change of a score that neither the item mix nor chance explains: 0.01 is one point. Needs -r.",
        least=0,
        meaning="a change of the score, where 0.01 is one point",
        everyday=True,
    ),
    "max_unexplained_relative": _threshold(
        "--max-unexplained-relative X",
        "The same as a share of the score at the date of --reference: 0.1 is a tenth.",
        least=0,
        meaning="a change as a share of the score at the reference date, where 0.1 is a tenth",
    ),
    "min_effective_pairs": _threshold(
        "--min-effective-pairs N",
        "Smallest effective number of held-out interactions behind weighted scores.",
        kind=float,
        least=0,
        meaning="how many pairs of equal weight would tell as much",
    ),
    "fail_if": _threshold(
        "--fail-if",
        "Fail if the verdict on a recommender is 'worse' than --baseline, or than the first -r. An undecided "
        "verdict is shown, and does not fail.",
        choices=("worse",),
        everyday=True,
    ),
    # ---- output
    "names": _output(
        "--names FILE",
        "Names of items: a file with a column item and a column of text (FILE?item=A&name=B chooses them).",
        table="",
    ),
    "output": _output("-o, --output FILE", "File to write.", everyday=True),
    "as_json": _output("--json", "Print one JSON object and nothing else.", everyday=True),
}
"""By their names in Python."""
