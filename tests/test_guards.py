"""Guards that take little time hold here too, and a broken one is one line and exit code 1."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks import guards
from benchmarks.__main__ import main
from benchmarks.guards import GUARDS, Guard, count_all
from click.testing import CliRunner

BRIEF = [guard for guard in GUARDS if guard.is_brief]


@pytest.mark.parametrize("guard", BRIEF, ids=lambda guard: guard.name)
def test_a_brief_guard_holds(guard: Guard) -> None:
    (count,) = count_all([guard])
    assert not count.is_broken, str(count)


def test_a_broken_guard_is_one_line_and_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    holds = Guard("bytes", 10, lambda: 10)
    monkeypatch.setattr(guards.run, "__defaults__", ((holds, replace(holds, name="passes", count=lambda: 12345)),))
    done = CliRunner().invoke(main, ["quick"])
    assert done.exit_code == 1
    assert [line for line in done.output.splitlines() if "broken" in line] == [
        "broken: passes: 12 345, the limit is 10"
    ]


def test_a_count_that_is_no_number_breaks_its_guard() -> None:
    (count,) = count_all([Guard("nothing", 10, lambda: float("nan"))])
    assert count.is_broken


def test_guards_that_hold_are_exit_code_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards.run, "__defaults__", ((Guard("bytes", 10, lambda: 10),),))
    assert CliRunner().invoke(main, ["quick"]).exit_code == 0
