"""What users install: what is in it, what a package index shows, and that it works where the sources are not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import unskew as us

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unskew"
LOG = "user,item,time\n1,a,0\n1,b,0\n2,a,0\n2,c,0\n3,b,0\n1,c,9\n3,c,9\n4,c,9\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, which is beside it, with what the environment of the tests has."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    [path] = folder.glob("*.whl")
    return path


def read_metadata(wheel: Path) -> Message:
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(archive.read(name).decode())


def test_a_package_index_takes_both(wheel: Path) -> None:
    files = sorted(map(str, wheel.parent.iterdir()))
    assert [Path(file).suffix for file in files] == [".whl", ".gz"]
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == 2


def test_a_package_index_shows_no_link_to_a_file_that_it_does_not_have(wheel: Path) -> None:
    shown = str(read_metadata(wheel).get_payload())
    assert shown.startswith("# unskew")
    assert shown.count("```") == (ROOT / "README.md").read_text().count("```")
    assert [link for link in re.findall(r"\]\(([^)\s]*)", shown) if not link.startswith("https://")] == []


def test_classifiers_name_the_versions_that_are_tested(wheel: Path) -> None:
    about = read_metadata(wheel)
    workflow = (ROOT / ".github" / "workflows" / "checks.yml").read_text()
    tested = re.findall(r'"(3\.\d+)"', workflow.partition("python: [")[2].partition("]")[0])
    prefix = "Programming Language :: Python :: "
    assert [
        c.removeprefix(prefix) for c in about.get_all("Classifier", []) if c.startswith(f"{prefix}3.")
    ] == tested
    assert about["Requires-Python"] == f">={tested[0]}"


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    files = {path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names - about == {str(path.relative_to(SOURCE.parent)) for path in files}
    assert "unskew/py.typed" in names
    assert "unskew/__init__.pyi" in names


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    archive, about = zipfile.ZipFile(wheel), read_metadata(wheel)
    [folder] = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    assert about["Name"] == "unskew"
    assert about["Version"] == us.__version__
    assert about["License-Expression"] == "Apache-2.0"
    assert "unskew = unskew.__main__:run" in archive.read(f"{folder}/entry_points.txt").decode()


def test_an_installed_wheel_runs_without_the_sources(wheel: Path, tmp_path: Path) -> None:
    """The libraries that it needs are lent by the environment of the tests; unskew itself is not."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    install += ["--no-compile", "--disable-pip-version-check"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, cwd=tmp_path)
    [site] = home.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (tmp_path / "log.csv").write_text(LOG)
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    alone["NUMBA_DISABLE_JIT"] = (
        "1"  # loops would be compiled anew for this place, which takes longer than all else
    )

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    where = run(str(python), "-c", "import unskew; print(unskew.__file__)")
    assert Path(where).is_relative_to(home)
    assert us.__version__ in run(str(home / "bin" / "unskew"), "--version")
    drift = json.loads(
        run(str(home / "bin" / "unskew"), "drift", "log.csv", "--reference", "0", "--at", "9", "--json")
    )
    assert drift["bound"] == pytest.approx(5 / 12)
