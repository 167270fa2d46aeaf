"""What a first look at a file found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from unskew.data.times import Label


@dataclass(frozen=True)
class ProfileSizes:
    """How many items users have at the end of a log."""

    least: int
    median: float
    mean: float
    most: int
    single: float
    """The share of users with one item only."""


@dataclass(frozen=True)
class Examination:
    """What `unskew.examine` found; what could not be found out is None.

    Attributes
    ----------
    source
        How to speak of it.
    read_as
        What it was taken for where it does not make that clear by itself, a sentence each.
    columns
        All its columns.
    roles, guessed
        Which of them are user, item and time; and which of these roles were guessed.
    rows, nulls
        Rows of the file; missing values in the columns of users, items and times.
    users, items, interactions, repeats
        What the log has; repeats are rows of a user and an item that come again.
    first, last, times, time_unit
        Its span, what its times are in words, and what they count since 1970 if that was guessed.
    sizes
        Of profiles.
    options
        How the log is read, as keyword arguments of `read_log`: columns, unit of times, options of the file.
    item_mix
        Whether the item mix drifted between the two dates that `commands` compare: ``reference``, ``at``,
        ``bound``, ``chance`` and ``drifted`` as of `Drift.to_dict`, and ``conclusion``, a sentence.
    campaigns
        Windows in which users interacted more than usual, and with other items than usual: likely campaigns.
    notes
        What was not looked for and why, and what to beware of.
    protocol, advice
        ``leave-one-out``, ``time split`` or None, and why.
    problems
        What stands in the way, a sentence each.
    commands
        What to run next.
    """

    source: str
    columns: tuple[str, ...]
    read_as: tuple[str, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    rows: int | None = None
    nulls: dict[str, int] = field(default_factory=dict)
    users: int | None = None
    items: int | None = None
    interactions: int | None = None
    repeats: int | None = None
    first: Label | None = None
    last: Label | None = None
    times: str | None = None
    time_unit: str | None = None
    sizes: ProfileSizes | None = None
    options: dict[str, Any] = field(default_factory=dict)
    item_mix: dict[str, Any] | None = None
    campaigns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    protocol: str | None = None
    advice: str | None = None
    problems: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
