"""Errors and warnings: a message and its remedy, with options as whoever reads it writes them."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest

import unskew as us
from unskew.checks import MOST_DRAWS, require_number, require_one_of, require_sample_size, require_whole_number
from unskew.errors import Interruption, PolicyError, UnskewError, option, render


def flag(name: str, value: Any) -> str:
    return f"--{name}" if value is None else f"--{name} {value}"


def test_options_are_written_for_python_unless_someone_says_how() -> None:
    text = f"leave out {option('top')}, or use {option('method', 'descent')} and {option('sample', 5)}"
    error = PolicyError(text, remedy=f"drop {option('top')}")
    assert str(error) == "leave out top, or use method='descent' and sample=5: drop top"
    assert error.render(flag) == "leave out --top, or use --method descent and --sample 5: drop --top"
    assert render("nothing named") == "nothing named"


@pytest.mark.parametrize("value", [None, True, False, 0, 2.5, "it's", 'a "b"', "\n", ["a", 1]])
def test_any_plain_value_of_an_option_comes_through(value: Any) -> None:
    seen = []

    def see(name: str, given: Any) -> str:
        seen.append((name, given))
        return ""

    render(f"x {option('users', value)} y", see)
    assert seen == [("users", value)]


def test_a_message_without_a_remedy_has_no_colon_at_its_end() -> None:
    assert str(UnskewError("no good")) == "no good"
    assert str(UnskewError("no good", remedy="do better")) == "no good: do better"
    assert str(UnskewError()) == ""


def test_context_goes_in_front_and_the_remedy_and_the_kind_stay() -> None:
    error = us.EmptyError("nothing there", remedy=f"relax {option('users')}").with_context("at 2024-01-01")
    assert type(error) is us.EmptyError
    assert str(error) == "at 2024-01-01: nothing there: relax users"
    assert error.render(flag) == "at 2024-01-01: nothing there: relax --users"


@pytest.mark.parametrize("kind", [us.UnskewError, us.InputError, us.PolicyError, us.FileError, us.EmptyError])
def test_errors_reach_another_process_whole(kind: type[us.UnskewError]) -> None:
    error = pickle.loads(pickle.dumps(kind("no good", remedy=f"drop {option('top')}")))
    assert type(error) is kind
    assert str(error) == "no good: drop top"


def test_kinds_are_what_python_calls_them_too() -> None:
    assert issubclass(us.InputError, ValueError)
    assert issubclass(us.FileError, OSError)
    assert issubclass(Interruption, KeyboardInterrupt)
    assert not issubclass(Interruption, Exception)  # like the one it stands for, nobody catches it by accident


def test_warnings_and_interruptions_name_options_too() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"give a larger {option('tol')}", us.UnskewWarning, stacklevel=1)
    message = caught[0].message
    assert isinstance(message, us.UnskewWarning)
    assert str(message) == "give a larger tol"
    assert message.render(flag) == "give a larger --tol"
    stopped = Interruption(f"use {option('resume', True)}")
    assert str(stopped) == "use resume=True"
    assert stopped.render(flag) == "use --resume True"
    assert str(Interruption()) == str(us.UnskewWarning()) == ""


def test_numbers_and_names_are_checked_in_the_same_words_everywhere() -> None:
    assert require_whole_number("k", 3, "a length") == 3
    assert require_number("x", 2, "a share", 0, 2) == 2.0
    assert require_one_of("way", "up", ("up", "down")) == "up"
    assert require_sample_size("n", MOST_DRAWS) == MOST_DRAWS
    for attempt, told in (
        (lambda: require_whole_number("k", 0, "a length"), "k is 0; a length: give a whole number of at least 1"),
        (
            lambda: require_whole_number("k", True, "a length"),
            "k is True; a length: give a whole number of at least 1",
        ),
        (
            lambda: require_number("x", 3, "a share", 0, 2),
            "x is 3; a share: give a finite number of at least 0 and at most",
        ),
        (lambda: require_number("x", "1", "a size", 0), "x is '1'; a size: give a finite number of at least 0"),
        (lambda: require_one_of("way", "left", ("up", "down")), "way is 'left'; it must be one of up, down"),
        (lambda: require_sample_size("n", MOST_DRAWS + 1), f"give a whole number of at most {MOST_DRAWS}"),
    ):
        with pytest.raises(PolicyError) as found:
            attempt()
        assert told in str(found.value)
