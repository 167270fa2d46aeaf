"""What figures 7 to 10 show, as sentences made from their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from unskew.reproduction.phrases import METHOD_NAMES, describe_change, format_number, format_percent
from unskew.text import enumerate_words


def cost_sentence(rows: list[dict[str, Any]]) -> str:
    """What p weights cost and reach, and what all items at once do."""
    parts = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = sorted((row for row in rows if row["method"] == method), key=lambda row: row["p"])
        first, last, name = own[0], own[-1], METHOD_NAMES.get(method, method)
        if len(own) > 1:
            start, end = _cost_numbers(first), _cost_numbers(last)
            parts.append(
                f"from p = {first['items']} to {last['items']}, {name} goes from {first['passes']} to "
                f"{last['passes']} passes ({start['seconds']} to {end['seconds']} s) and brings D from "
                f"{start['divergence']} to {end['divergence']} nats and the bound from {start['points']} to "
                f"{end['points']} score points"
            )
        else:
            least = last.get("least_bound")
            known = "" if least is None else f", where no weighting can go below {format_number(100 * least)}"
            end = _cost_numbers(last)
            parts.append(
                f"{name} with weights on {last['items']} takes {last['passes']} passes ({end['seconds']} s) to "
                f"D = {end['divergence']} nats and a bound of {end['points']} points{known}"
            )
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _cost_numbers(row: dict[str, Any]) -> dict[str, str]:
    """What a fit costs and reaches, with the digits that count."""
    numbers = {"seconds": row["seconds"], "divergence": row["divergence"], "points": 100 * row["bound"]}
    return {name: format_number(number) for name, number in numbers.items()}


def algorithms_sentence(rows: list[dict[str, Any]]) -> str:
    """How far each estimate is from the truth of each question, over algorithms and metrics."""
    truth = {_truth_key(row): row["value"] for row in rows if row["estimate"] == "truth"}
    parts = []
    for question in dict.fromkeys(row["question"] for row in rows):
        own = [row for row in rows if row["question"] == question and row["estimate"] != "truth"]
        errors = []
        for estimate in dict.fromkeys(row["estimate"] for row in own):
            these = [row for row in own if row["estimate"] == estimate and truth[_truth_key(row)] > 0]
            off = [abs(row["value"] / truth[_truth_key(row)] - 1) for row in these]
            errors += [f"{estimate} by {_describe_range(off)}"] if off else []
        parts.append(f"{question}: {enumerate_words(errors)}")
    text = "; ".join(parts)
    return f"How far the estimates are from the truth, as a part of it. {text[:1].upper()}{text[1:]}."


def loop_sentence(rows: list[dict[str, Any]]) -> str:
    """Who is in production in the end, and what the truth says about that."""
    return " ".join(
        _describe_loop(chosen_by, [row for row in rows if row["chosen_by"] == chosen_by])
        for chosen_by in dict.fromkeys(row["chosen_by"] for row in rows)
    )


def _describe_loop(chosen_by: str, rows: list[dict[str, Any]]) -> str:
    last = max(row["round"] for row in rows)
    shown = {row["round"]: row["candidate"] for row in rows if row["in_production"]}
    winner = shown[max(shown)]
    since = next(r for r in sorted(shown) if all(shown[k] == winner for k in shown if k >= r))
    own = {row["round"]: row for row in rows if row["candidate"] == winner}
    now = {row["candidate"]: row for row in rows if row["round"] == last}
    better = sum(row["truth"] > now[winner]["truth"] for row in now.values())
    place = "the best" if better == 0 else f"number {better + 1}"
    swaps = sum(shown[a] != shown[b] for a, b in pairwise(sorted(shown)))
    start = "throughout" if since == min(shown) else f"from round {since} on, after {_count_swaps(swaps)}"
    first = min(own)
    before = own[first]["score"]
    became = describe_change(own[last]["score"] / before - 1) if before > 0 else "went up from nothing"
    return (
        f"Chosen by the {chosen_by}, {winner} is in production {start}; since round {first} its score "
        f"{became}, to {format_percent(own[last]['score'])} where the truth is "
        f"{format_percent(now[winner]['truth'])}, and in truth it is {place} of {len(now)}."
    )


def _count_swaps(number: int) -> str:
    return "one change" if number == 1 else f"{number} changes"


def _truth_key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["recommender"], row["metric"], row["question"]


def _describe_range(shares: Sequence[float]) -> str:
    low, high = format_percent(min(shares), 0), format_percent(max(shares), 0)
    return high if low == high else f"{low.removesuffix(' %')} to {high}"
