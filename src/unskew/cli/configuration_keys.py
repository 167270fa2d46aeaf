"""What a configuration file may say: its keys, and the options of commands that they are.

Options that several commands share have one place in the file, listed here: to give a new one a place is to add a
line. Every other option of a command has its place in the table of that command, under the name of its flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import click


class SharedKey(NamedTuple):
    """The option that a key is: its name in Python, and the commands of which it is not meant.

    Those have an option of that name that is another thing, or refuse it.
    """

    option: str
    but_not: tuple[str, ...] = ()


SHARED_KEYS = {
    "log": SharedKey("log"),
    "reference": SharedKey("reference"),
    "at": SharedKey("at", but_not=("marginal",)),
    "recommenders": SharedKey("recommenders"),
    "metrics": SharedKey("metrics"),
    "baseline": SharedKey("baseline"),
    "names": SharedKey("names"),
    "columns.user": SharedKey("user"),
    "columns.item": SharedKey("item"),
    "columns.time": SharedKey("time"),
    "columns.time-unit": SharedKey("time_unit"),
    "columns.time-format": SharedKey("time_format"),
    "columns.removed": SharedKey("removed"),
    "columns.drop-nulls": SharedKey("drop_nulls"),
    "columns.p-user": SharedKey("p_user"),
    "columns.p-item": SharedKey("p_item"),
    "file.format": SharedKey("format"),
    "file.sep": SharedKey("sep"),
    "file.header": SharedKey("header"),
    "file.columns": SharedKey("column_names"),
    "file.encoding": SharedKey("encoding"),
    "file.quote": SharedKey("quote"),
    "file.table": SharedKey("table"),
    "known.exposures": SharedKey("exposures", but_not=("excess",)),
    "known.exposed": SharedKey("exposed", but_not=("excess",)),
    "known.within": SharedKey("within", but_not=("excess",)),
    "known.campaigns": SharedKey("campaigns"),
    "known.holdout": SharedKey("holdout"),
    "known.production": SharedKey("production"),
    "known.induced-share": SharedKey("induced_share", but_not=("excess",)),
    "known.view": SharedKey("view", but_not=("excess",)),
    "fit.new-items": SharedKey("new_items"),
    "fit.min-items": SharedKey("min_items"),
    "fit.users": SharedKey("users"),
    "protocol.after": SharedKey("after"),
    "protocol.leave-last-out": SharedKey("leave_last_out"),
    "protocol.leave-out": SharedKey("leave_out"),
    "protocol.folds": SharedKey("folds"),
    "protocol.sample": SharedKey("sample", but_not=("sample",)),
    "protocol.seed": SharedKey("seed"),
    "protocol.draws": SharedKey("draws"),
    "protocol.refit": SharedKey("refit"),
    "protocol.level": SharedKey("level"),
    "thresholds.max-drift": SharedKey("max_drift"),
    "thresholds.max-bound": SharedKey("max_bound"),
    "thresholds.max-excluded": SharedKey("max_excluded"),
    "thresholds.max-unexplained": SharedKey("max_unexplained"),
    "thresholds.max-unexplained-relative": SharedKey("max_unexplained_relative"),
    "thresholds.min-effective-pairs": SharedKey("min_effective_pairs"),
    "thresholds.fail-if": SharedKey("fail_if"),
}
"""By their path in the file."""

COMMAND_LINE_ONLY = (
    *("as_json", "debug", "config", "no_config", "allow_code", "help", "help_all"),
    *("engine", "master", "spark_conf", "write"),
)
"""Options that no file may set: how this run shows what it finds, what it trusts, where it runs, and whether it
writes such a file.

Settings of Spark can name code, and a cluster runs it.
"""

OUTPUTS = ("output", "probabilities")
"""Options that name files to write."""

SPECS = ("recommenders", "baseline", "production", "margins")
"""Options that name recommenders, and so could run code."""

_DISPLACED = {
    "weights": ("reference", "baseline", "refit", "new_items", "users"),
    "reference": ("weights",),
    "exposures": ("exposed",),
    "exposed": ("exposures", "within"),
    "after": ("leave_last_out", "leave_out", "folds"),
    "leave_last_out": ("after", "leave_out", "folds"),
    "leave_out": ("after", "leave_last_out", "folds"),
    "folds": ("after", "leave_last_out", "leave_out"),
}
"""Options that cannot stand beside another: whoever gives the first has chosen against the others."""


def displace(values: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """The values without those that are given anew, and without what cannot stand beside these.

    >>> displace({"reference": "2024-03-01", "users": "both", "at": "last"}, ["weights"])
    {'at': 'last'}
    """
    gone = {name for new in given for name in (new, *_DISPLACED.get(new, ()))}
    return {name: value for name, value in values.items() if name not in gone}


def shared_option(path: str, command: str, options: Mapping[str, click.Parameter]) -> click.Parameter | None:
    """The option of a command that a shared key is; None if it has none."""
    key = SHARED_KEYS[path]
    return None if command in key.but_not else options.get(key.option)


def own_keys(command: click.Command) -> dict[str, click.Parameter]:
    """The options of a command by the keys that they have in its own table: their flags or, of shared ones, the
    last part of the shared key.
    """
    shared = {
        key.option: path.rpartition(".")[2] for path, key in SHARED_KEYS.items() if command.name not in key.but_not
    }
    found: dict[str, click.Parameter] = {}
    for param in command.params:
        if param.name is None or param.name in COMMAND_LINE_ONLY or not isinstance(param, click.Option):
            continue
        flag = next((flag for flag in param.opts if flag.startswith("--")), param.opts[0])
        found[shared.get(param.name, flag.lstrip("-"))] = param
    return found
