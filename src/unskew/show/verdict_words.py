"""A verdict for people who do not run commands: the question, the answer, what it rests on, what is asked for.

Commands are left to `Verdict.next_steps`; here each of them is what somebody has to bring.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from unskew.drawing.page import Fact, Status
from unskew.evaluation.verdict import AS_LOGGED, Decision, Scenario, Verdict
from unskew.text import enumerate_words, percent, show_name, show_range, thousands

TONES: dict[Decision, str] = {
    "better": "good",
    "worse": "bad",
    "no clear difference": "even",
    "undecided": "open",
}
"""How each decision looks."""

EXPOSURES = (
    "An exposure log: who was shown what, and when (also called impressions). Most recommender services write "
    "one; ask the team that runs yours."
)
HOLDOUT = "A holdout group: the ids of users who are never shown recommendations. An experiment platform has them."
CAMPAIGNS = "The dates on which recommendations or campaigns ran, each with its start and its end."
LATER = (
    "A test on later interactions: make the lists from interactions before a date, and score them on what users "
    "did after it."
)
FOLDS = "A model that has not seen the test: it is fitted several times, each time without what it is tested on."
REFERENCE = (
    "A reference date: a day before which nothing was recommended, so that there is something to compare with."
)
FULL_CHECK = "The full check instead of a quick look. It needs no more data, only some minutes."
FEWER = "More users, or fewer models at a time: the more comparisons, the more likely one of them wins by chance."
MORE_USERS = "More users, or a longer time: what is known about the recommendations is used already."


def ask_question(verdicts: Sequence[Verdict]) -> str:
    """What verdicts answer.

    >>> from unskew.evaluation.verdict import Verdict
    >>> ask_question([Verdict("knn", "popular", "hit@5", "better", 0.01, 0.02, ())])
    'Did knn beat popular?'
    """
    candidates = list(dict.fromkeys(show_name(verdict.recommender, 28) for verdict in verdicts))
    baselines = list(dict.fromkeys(show_name(verdict.baseline, 28) for verdict in verdicts))
    if len(candidates) == 1:
        return f"Did {candidates[0]} beat {baselines[0]}?"
    if len(candidates) > 3:
        return f"Which of {len(candidates)} recommenders beat {enumerate_words(baselines)}?"
    return f"Did {enumerate_words(candidates)} beat {enumerate_words(baselines)}?"


def answer_in_a_word(verdict: Verdict) -> Status:
    """The decision as an answer to the question, with its condition."""
    answers: dict[Decision, str] = {
        "better": "Yes",
        "worse": f"No, {show_name(verdict.baseline, 28)} is ahead",
        "no clear difference": "No clear difference",
        "undecided": "Undecided",
    }
    condition = "" if verdict.decision == "undecided" or not verdict.condition else f", if {verdict.condition}"
    return Status(answers[verdict.decision] + condition, TONES[verdict.decision])


def describe_answer(verdict: Verdict) -> str:
    """The range in words; nothing about commands."""
    candidate, baseline = show_name(verdict.recommender, 28), show_name(verdict.baseline, 28)
    if math.isnan(verdict.low):
        return f"How far {candidate} is from {baseline} has no range."
    low, high = show_range(verdict.low, verdict.high)
    span = f"between {low} and {high} points {verdict.metric}"
    if verdict.decision == "better":
        return f"{candidate} is ahead of {baseline} offline: {span}."
    if verdict.decision == "worse":
        return f"{candidate} is behind {baseline} offline: {span}."
    if verdict.decision == "no clear difference":
        missed = 100 * max(abs(verdict.low), abs(verdict.high))
        return f"The difference is {span}. One of up to {missed:.1f} points may be missed; more users show less."
    if verdict.low > 0 or verdict.high < 0:
        return f"The difference is {span}, which is not enough to decide."
    condition = f", if {verdict.condition}" if verdict.condition else ""
    return (
        f"{candidate} may be up to {abs(100 * verdict.low):.1f} points behind {baseline} or up to "
        f"{100 * verdict.high:.1f} points ahead ({verdict.metric}){condition}."
    )


def describe_basis(verdict: Verdict) -> str:
    """Why it was decided so, and what would make it wrong."""
    reason = f"{verdict.reason}." if verdict.reason else ""
    if verdict.decision == "undecided":
        logged = verdict.as_logged.difference
        if math.isnan(logged.value) or logged.low <= 0 <= logged.high:
            return reason
        winner = "gain" if logged.value > 0 else "loss"
        return (
            f"{reason} Until this is settled, the {_points(logged.value)} points that the log shows are no proof "
            f"of a {winner}."
        )
    if verdict.conditional and verdict.since is not None:
        return (
            f"{reason} If something was recommended before {verdict.since}, this does not follow; an exposure log "
            "from the start or a holdout group would show it."
        )
    return reason


def list_requests(verdicts: Sequence[Verdict]) -> list[str]:
    """What somebody has to bring so that undecided verdicts can be decided, the most useful first."""
    requests: dict[str, None] = {}
    for verdict in verdicts:
        if verdict.decision != "undecided":
            continue
        requests |= dict.fromkeys(_explain_step(command, verdict) for command in verdict.next_steps)
        if not verdict.next_steps:
            requests[FEWER if verdict.low > 0 or verdict.high < 0 else MORE_USERS] = None
    return list(requests)


def list_facts(verdict: Verdict, about: str = "", logged: Mapping[str, float] | None = None) -> list[Fact]:
    """Both scores, the relative lift and the users; `logged` are the scores without item weights, by name."""

    def describe(name: str, text: str) -> str:
        value = (logged or {}).get(name)
        return text if value is None else f"{text}; {_score(value)} without weights"

    counted = list_counted(verdict)
    lifts = [scenario.relative for scenario in counted if scenario.relative is not None]
    main = next((scenario for scenario in counted if scenario.trusted), verdict.as_logged)
    facts = [
        Fact(
            f"v1: {show_name(verdict.baseline, 28)}",
            _score(verdict.score_baseline),
            describe(verdict.baseline, about),
        ),
        Fact(
            f"v2: {show_name(verdict.recommender, 28)}",
            _score(verdict.score),
            describe(verdict.recommender, "on the same test set"),
        ),
    ]
    if main.relative is not None and not math.isnan(main.relative.value):
        span = ""
        if lifts and not any(math.isnan(lift.low) for lift in lifts):
            low, high = min(lift.low for lift in lifts), max(lift.high for lift in lifts)
            name = "of these two scores" if main.name == AS_LOGGED else main.name
            span = f"{name}; {_signed_percent(low)} to {_signed_percent(high)} over the range"
        facts.append(Fact("relative lift", _signed_percent(main.relative.value), span))
    facts.append(Fact("users", thousands(verdict.users), "whom both were scored on"))
    return facts


def list_counted(verdict: Verdict) -> list[Scenario]:
    """The scenarios that the range is made of."""
    trusted = [scenario for scenario in verdict.scenarios if scenario.trusted]
    return trusted or list(verdict.scenarios)


def describe_scenario(scenario: Scenario) -> str:
    """What a scenario assumes, in words: how much recommendations caused, if it says so."""
    if scenario.induced_share is None:
        return f"{scenario.name}: recommendations caused nothing" if scenario.name == AS_LOGGED else scenario.name
    return f"{percent(scenario.induced_share.value, 0)} caused by recommendations ({scenario.name})"


def _explain_step(command: str, verdict: Verdict) -> str:
    """What the person who runs a command needs for it."""
    if verdict.since is None and re.search(r" --reference \S+$", command):
        return REFERENCE
    if "quick look" in verdict.reason:
        return FULL_CHECK
    endings = {
        r" --exposures shown\.parquet$": EXPOSURES,
        r" --holdout never_shown\.csv( --production auto)?$": HOLDOUT,
        r" --campaign \S+$": CAMPAIGNS,
        r" --folds \d+$": FOLDS,
        r" --after \S+$|[?&]from=": LATER,
    }
    return next((text for ending, text in endings.items() if re.search(ending, command)), FULL_CHECK)


def _score(value: float) -> str:
    return percent(value) if 0 <= value <= 1 else f"{value:.4g}"


def _points(value: float) -> str:
    return f"{100 * value:+z.1f}".replace("-", "−")


def _signed_percent(value: float) -> str:
    return f"{100 * value:+z.1f} %".replace("-", "−")
