"""Resuming a timeline: what a file holds already, checked against what is asked for now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unskew.data.log import Log
from unskew.data.saved_log import fingerprint_history
from unskew.data.slice import Snapshot
from unskew.data.times import Label, Moment
from unskew.engines.population import is_on_spark
from unskew.errors import InputError, PolicyError, option
from unskew.over_time.timeline_spec import TimelineSpec
from unskew.over_time.timeline_table import (
    BEGIN_AGAIN,
    BOTH_ENDS,
    OTHER_VIEW,
    REFERENCE_MIX,
    Starts,
    Timeline,
    TimelineFiles,
    is_same_mix,
)
from unskew.storage.files import damage_error
from unskew.text import group_rows


@dataclass(frozen=True)
class DoneDate:
    """A date that is done in one view of the log."""

    # When, and in which view.
    moment: Moment
    view: str
    # Its rows of the two tables.
    rows: list[tuple[Any, ...]]
    probabilities: list[tuple[Any, ...]]
    converged: bool  # whether all its fits did


def read_done_dates(
    files: TimelineFiles, spec: TimelineSpec, options: Mapping[str, Any]
) -> tuple[list[DoneDate], dict[str, Starts]]:
    """The dates that are in the file already, and the weights of the one that was computed last, by view.

    The other end is done only if it is of the same interactions: those that it drops depend on all of the log.
    """
    path = files.rows
    assert path is not None
    saved = Timeline.load(path)
    former_end = find_former_end(saved, spec.log, options)
    difference = find_difference({**saved.options, **_list_settled(former_end, spec, options)}, options)
    if difference is not None:
        raise PolicyError(
            f"{path} cannot be continued: it {difference}",
            remedy="use the options it was made with, or write to another file",
        )
    if files.probabilities is not None:
        saved = Timeline.load(path, probabilities=files.probabilities)
    had, wanted = saved.options.get(BOTH_ENDS), options[BOTH_ENDS]
    keeps_other = isinstance(had, Mapping) and wanted is not None and had.get("hash") == wanted["hash"]
    for starts in (saved.starts, *([saved.other_starts] if keeps_other else [])):
        sizes = {len(theta) for theta in starts.values()}
        if starts.keys() != set(spec.tops) or (former_end is None and sizes != {len(spec.log.items)}):
            raise damage_error(path, "weights to start from are missing", BEGIN_AGAIN)
    rows, shares = _group_by_date(saved.rows), _group_by_date(saved.probabilities)
    done = []
    for at in saved.dates:
        try:
            moment = spec.log.axis.moment(at)
        except InputError as error:
            raise damage_error(path, error, BEGIN_AGAIN) from error
        if former_end is not None and moment.tick >= former_end:
            continue  # that day or hour may not have been over
        row_names, share_names = spec.names(options["view"], moment)
        other_names, _ = spec.names(OTHER_VIEW, moment)
        if [row[1:6] for row in rows[at]] not in (row_names, row_names + other_names):
            raise damage_error(path, f"the rows at {at} are not those of its options", BEGIN_AGAIN)
        if [row[1:4] for row in shares.get(at, [])] != share_names:
            raise InputError(
                f"{files.probabilities} has no probabilities at {at}, but {path} has scores there",
                remedy="give the file that was written with it, or remove both to begin again",
            )
        logged, other = rows[at][: len(row_names)], rows[at][len(row_names) :]
        converged = at not in saved.unfinished
        done.append(DoneDate(moment, options["view"], logged, shares.get(at, []), converged))
        if other and keeps_other:
            done.append(DoneDate(moment, OTHER_VIEW, other, [], converged))
    if former_end is not None:
        return done, {}
    return done, {options["view"]: saved.starts, **({OTHER_VIEW: saved.other_starts} if keeps_other else {})}


def _list_settled(
    former_end: int | float | None, spec: TimelineSpec, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options that may look different: the log has only grown, or its other end is computed anew."""
    names = [] if options[BOTH_ENDS] is None else [BOTH_ENDS]
    if former_end is not None:
        before = spec.reference
        settled = isinstance(before, Snapshot) and before.log is spec.log and before.tick < former_end
        names += ["log", *([REFERENCE_MIX] if settled else [])]
    return {name: options[name] for name in names}


def describe_history(log: Log) -> dict[str, Any] | None:
    """By what a log is known again when it has grown: all before its last time, at which more may still come."""
    if is_on_spark(log):
        return None
    end = np.asarray(log.span[1]).item()
    checksum = fingerprint_history(log, end)
    return None if checksum is None else {"before": end, "hash": checksum}


def find_former_end(saved: Timeline, log: Log, options: Mapping[str, Any]) -> int | float | None:
    """Where the log of a timeline ended, if this one continues it; None if it is that log, or another."""
    history = saved.history
    if saved.options.get("log") == options["log"] or not isinstance(history, Mapping) or is_on_spark(log):
        return None
    end = history.get("before")
    if isinstance(end, bool) or not isinstance(end, int | float) or not end <= log.span[1]:
        return None
    return end if fingerprint_history(log, end) == history.get("hash") else None


def find_difference(made_with: Mapping[str, Any], options: Mapping[str, Any]) -> str | None:
    """How a timeline was made otherwise than is asked for now, in words; None if it was not."""
    for name, wanted in options.items():
        had = made_with.get(name)
        if name == REFERENCE_MIX:
            if not is_same_mix(had, wanted):
                return f"was made when {_describe('reference', options['reference'])} had other content"
        elif had != wanted:
            if name in ("log", "view"):
                return f"was computed from another {name}"
            former, current = _describe(name, had), _describe(name, wanted)
            if former == current:
                return f"was made when {former} had other content"
            return f"was made with {former}, not {current}"
    return None


def _describe(name: str, value: Any) -> str:
    if value is None or value == []:
        return f"no {option(name)}"
    if name == BOTH_ENDS:
        return option(name, True)
    if isinstance(value, list):
        return option(name, [_strip_hash(item) for item in value])
    value = _strip_hash(value)
    is_column = name in ("p_user", "p_item") and isinstance(value, str)
    return option(name, value.removeprefix("column ") if is_column else value)


def _strip_hash(value: Any) -> Any:
    return re.sub(r" \([^()]*[0-9a-f]{32}\)$", "", value) if isinstance(value, str) else value


def _group_by_date(table: pa.Table) -> dict[Label, list[tuple[Any, ...]]]:
    groups = group_rows(table.to_pylist(), ["at"])
    return {at: [tuple(row.values()) for row in rows] for (at,), rows in groups}
