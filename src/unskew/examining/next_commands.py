"""The commands to run next, filled in with the columns and dates of a file; and which protocol suits its log."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from unskew.data.log import Log
from unskew.data.times import Label, TimeWindow
from unskew.reading.column_guesses import DEFAULT_NAMES
from unskew.text import count, percent, thousands

_FLAGS = {"column_names": "columns"}
_EARLY = 0.1  # of the interactions must be before the reference date
_DATES = 10  # of a timeline, about


def write_commands(
    log: Log,
    place: Sequence[str],
    options: Sequence[str],
    advice: Advice,
    windows: Sequence[TimeWindow],
    dates: tuple[Label, Label],
) -> list[str]:
    """What moved, what recommendations caused, weights, scores, scores over time.

    If there are likely campaigns, the last score excludes them; how much recommendations caused comes before.
    """
    reference, at = dates
    known = [part for window in windows for part in ("--campaign", str(window))]
    compared = ["--reference", str(reference), "--at", str(at)]
    if reference == at:
        return [_write("marginal", place, options, ["--at", str(at), "-o", "mix.parquet"])]
    models = ["-r", "popular", "-r", "knn"]
    later = ["--after", f"{_length_back(log, advice.after)}"] if advice.after is not None else []
    drift, weights = ["drift", *compared], ["weights", *compared, "-o", "weights.parquet"]
    commands = [drift, weights]
    if advice.protocol is not None:
        since = f"{reference}{'/' if ':' in str(reference) else ':'}"
        grid = ["--reference", str(reference), "--from", str(reference), "--to", str(at)]
        grid += ["--every", _choose_step(log, reference, at), "-r", "popular", "-o", "timeline.parquet"]
        commands = [
            drift,
            ["excess", *(known or ["--campaign", since]), "--production", "auto"],
            weights,
            ["evaluate", *compared, *models],
            ["report", *compared, *models, "-o", "report.html"],
            *([["evaluate", "--at", str(at), *later, *models]] if later else []),
            *([["evaluate", *compared, *models, *known]] if known else []),
            ["timeline", *grid],
        ]
    return [_write(command, place, options, more) for command, *more in commands]


def write_options(options: Mapping[str, Any]) -> list[str]:
    """The flags that say how to read the file; none for what is so by itself."""
    flags = []
    for name, value in options.items():
        flag = _FLAGS.get(name, name.replace("_", "-"))
        if value in DEFAULT_NAMES.get(name, ()):
            continue
        if isinstance(value, bool):
            flags.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            text = value if isinstance(value, str) else ",".join(value)
            flags += [f"--{flag}", text or "none"]
    return flags


def choose_dates(log: Log, windows: Sequence[TimeWindow]) -> tuple[Label, Label]:
    """Two dates to compare: before the first likely campaign, else at half of the interactions; and the end."""
    at = log.moment("last").label
    early = np.quantile(log.time, _EARLY, method="higher").item()
    ticks = [np.quantile(log.time, 0.5, method="lower").item(), early, log.span[0].item()]
    if windows and windows[0].start > early:
        ticks.insert(0, log.time[log.time < windows[0].start].max().item())
    for tick in ticks:
        label = _show(log, tick)
        if log.moment(label).tick < log.moment(at).tick:
            return label, at
    return at, at


def _show(log: Log, tick: Any) -> Label:
    shown = log.axis.show(tick)
    day = str(shown)[:10]
    if not log.axis.is_calendar or day == str(log.last)[:10]:
        return shown
    return day


def _length_back(log: Log, after: Label | None) -> str:
    end = log.moment("last")
    if not log.axis.is_calendar:
        return f"-{end.tick - log.moment(after).tick}"
    days = (date.fromisoformat(str(end.label)[:10]) - date.fromisoformat(str(after)[:10])).days
    return f"-{days}d" if days else str(after)


def _choose_step(log: Log, reference: Label, at: Label) -> str:
    length = log.moment(at).tick - log.moment(reference).tick
    if not log.axis.is_calendar:
        step = length / _DATES
        return str(max(int(step), 1)) if log.axis.kind == "integer" else f"{step:g}"
    days = (date.fromisoformat(str(at)[:10]) - date.fromisoformat(str(reference)[:10])).days
    if days == 0:
        return "1h"
    return "1mo" if days > 200 else f"{max(days // _DATES, 1)}d"


def _write(command: str, place: Sequence[str], options: Sequence[str], more: Sequence[str]) -> str:
    return shlex.join(["unskew", command, *place, *options, *more])


_LATER = 0.8  # of the interactions: a time split would hold out the others
_MOST_SINGLE = 0.5
_FEWEST_KNOWN = 30


class Advice(NamedTuple):
    """How to hold items out, why, and when a time split would begin."""

    protocol: str | None
    why: str
    after: Label | None = None


def advise_protocol(log: Log) -> Advice:
    """Which protocol suits: a time split if enough users whom it knows interacted after it.

    That is what a recommender meets in production; leave-one-out needs less, but asks it for what it could have
    seen the future of.
    """
    sizes = np.diff(log.start.astype(np.int64))
    several = int((sizes > 1).sum())
    if several == 0:
        return Advice(None, "no user has more than one item, so that nothing can be held out from a profile")
    if log.span[0] == log.span[1]:
        return Advice("leave-one-out", "all times are the same, so that nothing came later")
    cut = np.quantile(log.time, _LATER, method="lower").item()
    moment = log.moment(str(log.axis.show(cut))[:10]) if log.axis.is_calendar else log.moment(cut)
    late = log.time > moment.tick
    users = log.entry_users()
    known = np.zeros(len(log.users), dtype=np.bool_)
    known[users[~late]] = True
    tested = len(np.unique(users[late & known[users]]))
    share = (sizes == 1).mean()
    if tested >= _FEWEST_KNOWN:
        why = f"{thousands(tested)} users who had a profile at {moment.label} interacted later"
        return Advice("time split", why, moment.label)
    why = (
        f"only {count(tested, 'user')} who had a profile at {moment.label} interacted later, too few for a "
        f"time split, and {thousands(several)} have several items"
    )
    if share > _MOST_SINGLE:
        why += f"; {percent(float(share), 0)} have only one, which leaves nothing to recommend from"
    return Advice("leave-one-out", why)
