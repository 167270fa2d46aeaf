"""How the command line starts, and how wide its tables are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from unskew.cli.terminal import print_table

_INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "unskew.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
import runpy
sys.argv = ["unskew", "--version"]
runpy.run_module("unskew", run_name="__main__")
"""


def test_an_interrupt_during_imports_is_one_line() -> None:
    run = subprocess.run([sys.executable, "-c", _INTERRUPTED], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (130, "interrupted: nothing was written\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_too_small_an_address_space_is_one_line() -> None:
    command = f"ulimit -v 700000; exec {sys.executable} -m unskew --version"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 2
    assert run.stderr.startswith("error: the address space is limited to 716 MB")
    assert run.stderr.count("\n") == 1


def test_names_that_take_two_cells_a_letter_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["item", "n"], [["日本語の映画", "1"]])
    assert "日本語の映画" in capsys.readouterr().out
