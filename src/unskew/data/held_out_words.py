"""What was held out, in words: the protocol as commands name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unskew.text import count, percent, thousands

if TYPE_CHECKING:
    from unskew.data.policy import Share
    from unskew.data.times import Label


def describe_held_out(
    protocol: str,
    at: Label,
    after: Label | None = None,
    reference: Label | None = None,
    reference_after: Label | None = None,
) -> str:
    """What is held out, at both dates if they are known; nothing for leave-one-out, which needs no word."""
    if protocol == "leave-last-out":
        return "Held out: the last item of each profile."
    if protocol != "time split" or after is None:
        return ""
    before = ""
    if reference_after is not None:
        before = f", and at the reference date after {reference_after} and up to {reference}"
    return f"Held out: interactions after {after} and up to {at}{before}."


def describe_without_profile(users: Share, protocol: str) -> str:
    """Who could not be evaluated; nothing if there is nobody."""
    if users.count == 0:
        return ""
    few = f"{thousands(users.count)} users" if users.count > 1 else count(1, "user")
    why = "had no profile before" if protocol == "time split" else "had no other item"
    return f"{few} ({percent(users.mass)}) {why}, and cannot be scored."


def describe_below_min_items(users: Share, min_items: int) -> str:
    """Who is excluded for too few items; nothing if there is nobody."""
    if users.count == 0:
        return ""
    few = f"{thousands(users.count)} users have" if users.count > 1 else "1 user has"
    return f"{few} fewer than {min_items} items ({percent(users.mass)}): excluded."
