"""What a case came to, and the rule that every case is judged by."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fuzz.child_process import Ending

_LONGEST = 3000  # characters of an error line: a few values of 200 each, paths and advice
_CLEAR = re.compile(
    r"^error: (cannot (read|write) |there is no file |no file matches |give |\S+ is not TOML: )"
    r"|\b(must|needs)\b|[;?] [Ii]t has |[Tt]here are |the log runs from |has no (rows|sheets)$|is empty$"
    r"|are needed|cannot be read: "
)
"""Errors that need no remedy: the fault of a file or of its syntax, with its place, or what is allowed instead."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class Verdict:
    """What a case came to.

    Attributes
    ----------
    group
        What the case was about, for the table of counts.
    outcome
        ``refused``, ``confirmed``, ``same`` and so on; of a finding, what is wrong in a few words.
    is_finding
        Whether that is against the rule.
    detail
        What is needed to understand a finding.
    """

    group: str
    outcome: str
    is_finding: bool = False
    detail: str = ""


def judge(group: str, ending: Ending, accept: Callable[[Any], str], accepted: str) -> Verdict:
    """Judge how a process ended: refused in one line, or accepted with an answer that nothing speaks against.

    `accept` says what is wrong with the answer; `accepted` is what to call the outcome if nothing is.
    """
    wrong = find_fault(ending)
    if wrong:
        return Verdict(group, wrong, True, ending.err[-4000:])
    if ending.code == 2:
        return Verdict(group, "refused")
    difference = accept(ending.answer)
    if difference:
        return Verdict(group, "wrong figure", True, difference)
    return Verdict(group, accepted)


def find_fault(ending: Ending) -> str:
    """What is wrong with how a process ended, whatever it was asked; empty if nothing is."""
    if ending.signal:
        return ending.signal
    if "Traceback (most recent call last)" in ending.err:
        last = ending.err.strip().splitlines()[-1]
        return f"foreign {last.partition(':')[0]}"
    if ending.code not in (0, 2):
        return f"exit code {ending.code}"
    if ending.code == 2:
        return _find_fault_of_message(ending.err, ending.answer)
    return ""


def _find_fault_of_message(err: str, remedy: str | None) -> str:
    """An error is one line with its remedy, or what click says about usage."""
    lines = [line for line in err.split("\n") if line.strip()]
    errors = [line for line in lines if line.startswith(("error: ", "Error: "))]
    if len(errors) != 1 or lines[-1] != errors[0]:
        return "not one line of error"
    if _CONTROLS.search(errors[0]):
        return "control characters in an error"
    if len(errors[0]) > _LONGEST:
        return "an endless error"
    if remedy == "" and not _CLEAR.search(errors[0]):
        return "an error without a remedy"
    return ""
