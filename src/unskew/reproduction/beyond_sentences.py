"""What one sees in the figures beyond the paper, as sentences made from their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from unskew.reproduction.words import NAMES, few, listed, moved, percent


def cost_sentence(rows: list[dict[str, Any]]) -> str:
    """What p weights cost and reach, and what all items at once do."""
    parts = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = sorted((row for row in rows if row["method"] == method), key=lambda row: row["p"])
        first, last, name = own[0], own[-1], NAMES.get(method, method)
        if len(own) > 1:
            parts.append(
                f"from p = {first['items']} to {last['items']}, {name} goes from {first['passes']} to "
                f"{last['passes']} passes ({few(first['seconds'])} to {few(last['seconds'])} s) and brings D from "
                f"{few(first['divergence'])} to {few(last['divergence'])} nats and the bound from "
                f"{few(100 * first['bound'])} to {few(100 * last['bound'])} score points"
            )
        else:
            least = last.get("least_bound")
            known = "" if least is None else f", where no weighting can go below {few(100 * least)}"
            parts.append(
                f"{name} with weights on {last['items']} takes {last['passes']} passes ({few(last['seconds'])} "
                f"s) to D = {few(last['divergence'])} nats and a bound of {few(100 * last['bound'])} points{known}"
            )
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def algorithms_sentence(rows: list[dict[str, Any]]) -> str:
    """How far each estimate is from the truth of each question, over algorithms and qualities."""
    truth = {_key(row): row["value"] for row in rows if row["estimate"] == "truth"}
    parts = []
    for question in dict.fromkeys(row["question"] for row in rows):
        own = [row for row in rows if row["question"] == question and row["estimate"] != "truth"]
        said = []
        for estimate in dict.fromkeys(row["estimate"] for row in own):
            these = [row for row in own if row["estimate"] == estimate and truth[_key(row)] > 0]
            off = [abs(row["value"] / truth[_key(row)] - 1) for row in these]
            said += [f"{estimate} by {_from_to(off)}"] if off else []
        parts.append(f"{question}: {listed(said)}")
    text = "; ".join(parts)
    return f"How far the estimates are from the truth, as a part of it. {text[:1].upper()}{text[1:]}."


def loop_sentence(rows: list[dict[str, Any]]) -> str:
    """Who is in production in the end, and what the truth says about that."""
    return " ".join(
        _one_loop(chosen_by, [row for row in rows if row["chosen_by"] == chosen_by])
        for chosen_by in dict.fromkeys(row["chosen_by"] for row in rows)
    )


def _one_loop(chosen_by: str, rows: list[dict[str, Any]]) -> str:
    last = max(row["round"] for row in rows)
    shown = {row["round"]: row["candidate"] for row in rows if row["in_production"]}
    winner = shown[max(shown)]
    since = next(r for r in sorted(shown) if all(shown[k] == winner for k in shown if k >= r))
    own = {row["round"]: row for row in rows if row["candidate"] == winner}
    now = {row["candidate"]: row for row in rows if row["round"] == last}
    better = sum(row["truth"] > now[winner]["truth"] for row in now.values())
    place = "the best" if better == 0 else f"number {better + 1}"
    swings = sum(shown[a] != shown[b] for a, b in pairwise(sorted(shown)))
    start = "throughout" if since == min(shown) else f"from round {since} on, after {_times(swings)}"
    first = min(own)
    before = own[first]["score"]
    became = moved(own[last]["score"] / before - 1) if before > 0 else "went up from nothing"
    return (
        f"Chosen by the {chosen_by}, {winner} is in production {start}; since round {first} its score "
        f"{became}, to {percent(own[last]['score'])} where the truth is "
        f"{percent(now[winner]['truth'])}, and in truth it is {place} of {len(now)}."
    )


def _times(number: int) -> str:
    return "one change" if number == 1 else f"{number} changes"


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["recommender"], row["quality"], row["question"]


def _from_to(shares: Sequence[float]) -> str:
    low, high = percent(min(shares), 0), percent(max(shares), 0)
    return high if low == high else f"{low.removesuffix(' %')} to {high}"
