"""A contrast: interactions where something could be shown, compared with those where nothing was.

Nothing was shown to a holdout group over the same time, or to anyone in quiet windows. `set_up_contrast` reads
what is known; a holdout group is found in the log, and checked before it is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from unskew import frames
from unskew.arrays.types import Codes, Floats, Mask
from unskew.checks import require_instance
from unskew.data.ids import Ids, are_comparable, kind_of
from unskew.data.log import Log
from unskew.data.slice import Snapshot
from unskew.data.times import Moment, TimeWindow, Windows
from unskew.errors import ColumnError, EmptyError, InputError, PolicyError, option, warn
from unskew.reading.column_types import read_plain
from unskew.reading.sources import open_source
from unskew.text import count, percent
from unskew.views.dropping import require_windows
from unskew.views.windows import (
    ShortWindow,
    WindowPairs,
    cut_windows,
    find_quiet,
    find_window_pairs,
    label_before,
    tick_after,
    tick_before,
)

_SEASON = (
    "what was in demand in the windows for another reason, such as a season, a release or an advertisement, looks "
    "the same as a recommendation"
)


@dataclass(frozen=True)
class Contrast:
    """Interactions in windows, and where nothing was shown."""

    log: Log  # all of history
    windows: tuple[ShortWindow, ...]  # short windows in which production recommended
    holdout: Mask | None  # users who were never shown anything; None if nobody was in quiet windows
    # Interactions in the windows (with a holdout group also after them, unless that is not asked for), and in
    # quiet windows.
    taken: WindowPairs
    quiet: WindowPairs | None
    suspect: Mask  # which of `taken` recommendations may have brought; of users who could be shown something
    notes: tuple[str, ...]  # what should be known: how the holdout group differs, what a window cannot tell
    # Whether the holdout group could be checked, and was like the others before anything was shown.
    group_passed: bool = False

    @property
    def quiet_windows(self) -> tuple[ShortWindow, ...]:
        """Windows in which nothing was recommended; none with a holdout group."""
        return () if self.quiet is None else self.quiet.windows

    @property
    def suspect_places(self) -> Codes:
        """Which of `taken` are suspect, as places."""
        return np.flatnonzero(self.suspect)

    def take_some(self, most: int) -> Contrast:
        """The same with not more than so many windows of each kind, spread evenly."""
        taken, quiet = (None if pairs is None else pairs.take_some(most) for pairs in (self.taken, self.quiet))
        assert taken is not None
        suspect = self.suspect[np.isin(self.taken.entry, taken.entry)]
        return replace(self, windows=taken.windows, taken=taken, quiet=quiet, suspect=suspect)

    def mark_inside(self, time: Any) -> Mask:
        """Which of some times lie in the windows."""
        inside = np.zeros(len(time), dtype=np.bool_)
        for window in self.windows:
            inside |= window.contains(time)
        return inside

    def describe_quiet(self) -> str:
        """Where nothing was shown, in words."""
        if self.quiet is None:
            assert self.holdout is not None
            return f"a holdout group of {count(int(self.holdout.sum()), 'user')}"
        first, last = self.quiet.windows[0], self.quiet.windows[-1]
        span = f"{self.log.axis.show(first.start)} and {self.log.axis.show(last.end)}"
        return f"{count(len(self.quiet.windows), 'quiet window')} between {span}"


def set_up_contrast(
    log: Log,
    *,
    campaigns: Windows | None = None,
    holdout: Any = None,
    since: Any = None,
    until: Any = None,
    by_exposure: bool = False,
    later: bool = True,
) -> Contrast:
    """Find the windows, the holdout group or quiet windows, and the interactions in them.

    Recommendations may have caused interactions in windows; with `by_exposure`, those that were exposed.
    Without `later`, interactions after windows do not count with a holdout group either.
    """
    require_instance(Log, log, "a log", "read one with read_log")
    last = log.span[1] if until is None else min(log.moment(until).tick, log.span[1])
    group = None if holdout is None else find_holdout(log, holdout)
    spans = _find_time(log, campaigns, since, by_exposure=by_exposure, has_group=group is not None)
    windows = cut_windows(log, spans, last)
    if not windows:
        raise EmptyError(
            f"no window begins before {log.axis.show(last)}, up to which the log is used",
            remedy=f"check {option('since' if campaigns is None else 'campaigns')} and {option('until')}",
        )
    notes = [_SEASON] if group is None else _check_group(log, group, windows[0].start)
    first = None if group is None else windows[0]
    taken = find_window_pairs(log, windows, first, later=later and group is not None)
    quiet = find_window_pairs(log, find_quiet(log, windows, last)) if group is None else None
    suspect = log.exposed[taken.entry] if by_exposure and log.exposed is not None else taken.inside
    if group is not None:
        suspect = suspect & ~group[taken.user]
    return Contrast(log, tuple(windows), group, taken, quiet, suspect, tuple(notes), not notes)


def _check_group(log: Log, group: Mask, start: int | float) -> list[str]:
    """Warn if a holdout group is not like the others; gives what was found."""
    sentences = check_holdout(log, group, Moment(tick_before(log, start), label_before(log, start)))
    for sentence in sentences:
        warn(sentence)
    return sentences


def _find_time(
    log: Log, campaigns: Windows | None, since: Any, *, by_exposure: bool, has_group: bool
) -> tuple[TimeWindow, ...]:
    if campaigns is not None:
        return require_windows(log, campaigns)
    if not has_group:
        raise PolicyError(
            f"neither {option('campaigns')} nor {option('holdout')} is given",
            remedy="say when something was recommended (START:END), or who was never shown anything",
        )
    if since is not None:
        start = tick_after(log, log.moment(since).tick)
    elif by_exposure and log.exposed is not None and log.exposed.any():
        start = log.time[log.exposed].min().item()
    else:
        raise PolicyError(
            f"{option('holdout')} without {option('campaigns')} needs a time from which something was recommended",
            remedy=f"give {option('campaigns')} START:, or {option('since')} T",
        )
    return (TimeWindow(start, np.inf, log.axis.show(start)),)


_HOW = "give a file with a column of users, a dataframe or a list of users"
_ALARM = 0.001  # a group that differs by chance is reported about as rarely as this
_SAMPLES = 999
_BANDS = 10
_MOST_USERS = 20_000  # whose items are compared: enough to find any difference that matters


def find_holdout(log: Log, holdout: Any) -> Mask:
    """Which users of a log belong to a holdout group.

    - `log`: the log that they are users of.
    - `holdout`: a file with one column, or with one called like the column of users of the log; a dataframe of the
      same kind; or the ids themselves.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": ["ann", "bob", "cid"], "item": [1, 2, 1], "time": [3, 4, 5]})
    >>> marked = find_holdout(log, ["bob"])
    >>> [log.users[code] for code in marked.nonzero()[0]]
    ['bob']
    """
    ids = _read_ids(log, holdout)
    if len(ids) == 0:
        raise EmptyError(f"{option('holdout')} names no users", remedy=_HOW)
    first = ids[0].as_py() if isinstance(ids, pa.Array) else ids[0]
    codes = log.users.match(ids)
    is_known = (codes >= 0).any()
    if not is_known and isinstance(ids, pa.Array) and not are_comparable(ids.type, log.users.values.type):
        raise InputError(
            f"the users of {option('holdout')} are {kind_of(ids.type)}, those of the log "
            f"{kind_of(log.users.values.type)}",
            remedy="make them the same type",
        )
    inside = np.zeros(len(log.users), dtype=np.bool_)
    inside[codes[codes >= 0]] = True
    if not inside.any():
        raise InputError(
            f"{option('holdout')}: the log has none of these users, such as {first!r} (it has "
            f"{log.users.examples()})",
            remedy="check the ids",
        )
    if inside.all():
        raise InputError(
            f"{option('holdout')} names every user of the log", remedy="name those who were never shown anything"
        )
    missing = int((codes < 0).sum())
    if missing:
        warn(
            f"{option('holdout')}: {count(missing, 'user')} of {len(codes)} {'is' if missing == 1 else 'are'} not "
            "in the log and skipped"
        )
    return inside


def _read_ids(log: Log, users: Any) -> Any:
    if isinstance(users, str | Path):
        with open_source(users) as source:
            column = _choose_column(source.columns, log.columns.user, source.name)
            text = source.is_text
            ids = frames.join_chunks(read_plain(source, [column]).column(0)).drop_null()
            ids = ids.cast(pa.string()) if text else ids
            named = not source.has_no_names
            if (
                text
                and named
                and list(source.columns) == [column]
                and (log.users.match(pa.array([column])) >= 0).any()
            ):
                ids = pa.concat_arrays(
                    [pa.array([column], type=ids.type), ids]
                )  # a list without a first line for names
            return ids
    if isinstance(users, Mapping):
        users = frames.from_columns(users)
    if isinstance(users, pa.Array | pa.ChunkedArray):
        return Ids.of(users if isinstance(users, pa.Array) else frames.join_chunks(users)).values
    if frames.is_frame(users):
        column = _choose_column(frames.column_names(users), log.columns.user, option("holdout"))
        ids = frames.join_chunks(frames.to_arrow(users, [column]).column(column)).drop_null()
        return Ids.of(ids).values
    if isinstance(users, bytes) or not isinstance(users, Iterable):
        raise InputError(f"{option('holdout')} is a {type(users).__name__}", remedy=_HOW)
    return list(users)


def _choose_column(have: Iterable[str], wanted: str, where: str) -> str:
    names = list(have)
    if wanted in names:
        return wanted
    if len(names) == 1:
        return names[0]
    columns = ", ".join(map(repr, names)) or "no columns"
    raise ColumnError(f"{where} has no column {wanted!r}; it has {columns}", remedy=f"call the users {wanted!r}")


def check_holdout(log: Log, holdout: Mask, start: Any) -> list[str]:
    """How a holdout group differed from the others before anything was shown; a sentence for each difference.

    Two tests, neither of which a group drawn at random fails more than about once in a thousand times: of the
    items that users held just before `start`, in bands from the most to the least frequent and each user counted
    once (users are shuffled), and of the sizes of their profiles (rank sums).

    - `log`: all of history.
    - `holdout`: which of ``log.users`` are in the group.
    - `start`: when recommendations began; or the last moment before that, as a `Moment`.
    """
    moment = start
    if not isinstance(start, Moment):
        tick = log.begin(start).tick
        moment = Moment(tick_before(log, tick), label_before(log, tick))
    if moment.tick < log.span[0]:
        return []
    before = Snapshot.of(log, moment)
    sizes = before.sizes()
    here = sizes > 0
    inside, others = here & holdout, here & ~holdout
    if inside.sum() < 2 or others.sum() < 2:
        return [
            f"the holdout group cannot be checked: {int(inside.sum())} of its users and {int(others.sum())} "
            f"others had a profile at {moment.label}"
        ]
    sentences = []
    p, mean, rest = _compare_sizes(sizes, inside, others)
    if p <= _ALARM:
        sentences.append(
            f"the holdout group is not like the others: its users held {mean:.1f} items on average at "
            f"{moment.label}, and the others {rest:.1f} (p = {p:.1g}); something may have been shown before then"
        )
    p, band, share, other = _compare_items(before, inside, others)
    if p <= _ALARM:
        sentences.append(
            f"the holdout group is not like the others: {percent(share, 1)} of what its users held at "
            f"{moment.label} was among {band}, and {percent(other, 1)} of what the others held (p = {p:.1g})"
        )
    return sentences


def _compare_sizes(sizes: Codes, inside: Mask, others: Mask) -> tuple[float, float, float]:
    from scipy.stats import mannwhitneyu

    test = mannwhitneyu(sizes[inside], sizes[others], method="asymptotic")
    p = 1.0 if np.isnan(test.pvalue) else float(test.pvalue)
    return p, float(sizes[inside].mean()), float(sizes[others].mean())


def _compare_items(before: Snapshot, inside: Mask, others: Mask) -> tuple[float, str, float, float]:
    """The p-value, and the band of items that differs most: its name and its shares."""
    held, names = _count_bands(before)
    here = np.flatnonzero(inside | others)
    if len(here) > _MOST_USERS:
        here = np.random.default_rng(1).choice(here, _MOST_USERS, replace=False)
    held = held[here] / held[here].sum(axis=1, keepdims=True)  # a user counts once, whatever its profile
    mark = inside[here]
    everyone = held.mean(axis=0)
    spread = np.maximum(held.std(axis=0), 1e-12)

    def distance(some: Mask) -> tuple[float, Floats]:
        off = (held[some].mean(axis=0) - everyone) / spread
        return float((off**2).sum()), off

    seen, off = distance(mark)
    rng = np.random.default_rng(0)
    as_far = sum(distance(rng.permutation(mark))[0] >= seen for _ in range(_SAMPLES))
    worst = int(np.argmax(np.abs(off)))
    p = (1 + as_far) / (1 + _SAMPLES)
    return p, names[worst], float(held[mark, worst].mean()), float(held[~mark, worst].mean())


def _count_bands(before: Snapshot) -> tuple[Floats, list[str]]:
    """How many items of each band each user holds; bands of about as many pairs, the most frequent items first."""
    counts = before.counts()
    order = np.argsort(-counts, kind="stable")
    upto = np.cumsum(counts[order])
    band = np.empty(len(counts), dtype=np.int64)
    band[order] = np.minimum((upto - 1) * _BANDS // max(int(upto[-1]), 1), _BANDS - 1)
    used = np.unique(band[counts > 0])
    band = np.searchsorted(used, band).clip(max=len(used) - 1)
    p = before.profiles
    inside = before.mark_entries()
    user = np.repeat(np.arange(p.n_users), p.sizes())
    held = np.zeros((p.n_users, len(used)))
    np.add.at(held, (user, band[p.item[inside]]), 1.0)
    sizes = np.bincount(band[counts > 0], minlength=len(used))
    ends = np.cumsum(sizes)
    names = [
        f"the {n} most frequent items" if end == n else f"the items from place {end - n + 1} to {end} by frequency"
        for n, end in zip(sizes, ends, strict=True)
    ]
    return held, names
