"""What others find on a forge: the workflow, templates, the citation and the changelog."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import unskew as us

ROOT = Path(__file__).parents[1]
FORGE = ROOT / ".github"


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("vendor.github-workflows", FORGE / "workflows" / "checks.yml"),
        ("vendor.github-issue-forms", FORGE / "ISSUE_TEMPLATE" / "bug.yml"),
        ("vendor.github-issue-forms", FORGE / "ISSUE_TEMPLATE" / "idea.yml"),
        ("vendor.citation-file-format", ROOT / "CITATION.cff"),
    ],
)
def test_files_of_a_forge_keep_to_their_schemas(schema: str, path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "--default-filetype", "yaml"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_workflow_runs_what_our_own_checks_run() -> None:
    [job] = yaml.safe_load((FORGE / "workflows" / "checks.yml").read_text())["jobs"].values()
    matrix = job["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    everywhere = [step["run"].split()[:2] for step in job["steps"] if "run" in step and "if" not in step]
    own = re.findall(r"^make \w+", (ROOT / ".ci" / "run").read_text(), re.M)
    assert everywhere == [command.split() for command in own]


def test_a_commit_is_checked_by_the_tools_of_make_check() -> None:
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    commands = {hook["entry"].replace(".venv/bin/", "").split()[0] for hook in repository["hooks"]}
    recipe = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    assert commands == set(re.findall(r"@\$\(BIN\)/(\w+)", recipe))


def test_citation_changelog_and_package_are_of_one_version_and_date() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    heading = re.search(r"^## (\S+) - (\d{4}-\d{2}-\d{2})$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert heading is not None
    assert (us.__version__, citation["version"], heading[1]) == (us.__version__,) * 3
    assert citation["date-released"] == heading[2]
    assert (citation["license"], citation["title"]) == (project["license"], project["name"])
    assert citation["keywords"] == project["keywords"]
