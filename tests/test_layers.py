"""The shape of the package: who may import whom, and what must not be imported at all."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import unskew as us

PACKAGE = Path(us.__file__).parent

FIT = """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "log.csv")
    with open(path, "w") as file:
        file.write("user,item,time\\n1,a,1\\n1,b,1\\n2,b,2\\n")
    log = us.read_log(path)
weights = us.fit_weights(log.at(2), log.at(1))
"""

WITHOUT_FRAMES = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
"""

BASE = [
    "text",
    "memo",
    "errors",
    "checks",
    "progress",
    "storage",
    "frames",
    "options",
]
ROOMS = [
    "drawing",
    "arrays",
    "data",
    "solve",
    "engines",
    "reading",
    "recommend",
    "views",
    "weights",
    "examining",
    "methods",
    "evaluation",
    "show",
    "over_time",
    "monitoring",
    "worlds",
    "known_truths",
    "reproduction",
    "pages",
    "cli",
]
"""From the ground up: a room imports only what stands before it."""

ON_TOP = {
    "testing": "evaluation",
    "__main__": "cli",
    "engines.spark.tables": "reading",
    "engines.spark.layout": "reading",
    "engines.spark.sample": "evaluation",
    "engines.spark.scores": "evaluation",
    "engines.spark.evaluation": "evaluation",
}
"""Files outside of a room that may import what this room may: everything about Spark is in one folder."""

PUBLIC = sorted(path.parent for path in PACKAGE.rglob("__init__.pyi"))
"""The packages with public names."""

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@dataclass(frozen=True)
class Import:
    """One file names another, at any depth; `typing` if only for type checkers."""

    source: str
    target: str
    typing: bool


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path) for path in FILES}


@cache
def _imports(path: Path) -> list[Import]:
    """All imports of our own modules in a file, those inside functions included."""
    source = _module(path)
    found: list[Import] = []

    def visit(node: ast.AST, typing: bool) -> None:
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "unskew":
            inside = (node.module or "").removeprefix("unskew").removeprefix(".")
            names = [f"{inside}.{alias.name}".removeprefix(".") for alias in node.names]
            names = [name if name in MODULES else inside for name in names]
        elif isinstance(node, ast.Import):
            names = [alias.name.removeprefix("unskew.") for alias in node.names if "unskew." in alias.name]
        found.extend(Import(source, name, typing) for name in names if name)
        guarded = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            visit(child, typing or guarded)

    visit(ast.parse(path.read_text()), False)
    return found


def _all_imports() -> list[Import]:
    return [one for path in FILES for one in _imports(path)]


def _height(module: str) -> int:
    top = ON_TOP.get(module, module).split(".", maxsplit=1)[0]
    return BASE.index(top) if top in BASE else len(BASE) + ROOMS.index(top)


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_a_file_imports_only_its_own_room_and_those_below(path: Path) -> None:
    too_high = [one.target for one in _imports(path) if _height(one.target) > _height(one.source)]
    assert not too_high


def test_no_two_files_need_each_other() -> None:
    needs: dict[str, set[str]] = {module: set() for module in MODULES}
    for one in _all_imports():
        if not one.typing and one.target != one.source:
            needs[one.source].add(one.target)
    assert list(TopologicalSorter(needs).static_order())  # raises CycleError, naming the files


def test_types_of_arrays_load_no_compiler() -> None:
    assert "numba" not in _loaded_by("import unskew.arrays.types, unskew.errors, unskew.text, unskew.checks")


def test_nothing_private_to_a_file_is_used_in_another() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unskew"):
                private = [a.name for a in node.names if a.name.startswith("_") and not a.name.startswith("__")]
                assert not private, f"{_module(path)} imports {private}"


def test_solvers_never_see_profiles_and_drawing_never_sees_the_nouns() -> None:
    solve, drawing = (
        {one.target for one in _all_imports() if one.source.startswith(room)} for room in ("solve", "drawing")
    )
    assert "arrays.profiles" not in solve
    assert not any(target.split(".")[0] in ROOMS[1:] for target in drawing)


def list_public_names(folder: Path) -> list[str]:
    """The public names of a package, submodules aside."""
    imports = [
        node for node in ast.parse((folder / "__init__.pyi").read_text()).body if isinstance(node, ast.ImportFrom)
    ]
    return [alias.name for node in imports if node.module for alias in node.names]


@pytest.mark.parametrize("folder", PUBLIC, ids=lambda folder: folder.name)
def test_no_module_hides_a_public_name(folder: Path) -> None:
    assert not set(list_public_names(folder)) & {path.stem for path in folder.iterdir()}


def _loaded_by(code: str) -> set[str]:
    return {name.split(".")[0] for name in _modules_loaded_by(code)}


def _modules_loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_the_help_of_the_command_line_loads_nothing_heavy() -> None:
    loaded = _loaded_by("from unskew.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass")
    assert "click" in loaded
    assert not loaded & {
        "numpy",
        "numba",
        "scipy",
        "duckdb",
        "pyarrow",
        "narwhals",
        "pandas",
        "polars",
        "rich",
        "altair",
    }


def test_fitting_weights_loads_nothing_that_only_shows() -> None:
    loaded = _loaded_by(f"import unskew as us\n{FIT}")
    assert "duckdb" in loaded
    assert not loaded & {"polars", "altair", "vl_convert", "jinja2", "rich", "click"}


def test_evaluating_a_local_file_loads_nothing_about_spark() -> None:
    evaluate = "us.report(log, ['popular', 'knn'], at=2, reference=1, quick=True).verdicts"
    loaded = _modules_loaded_by(f"import unskew as us\n{FIT}\n{evaluate}")
    assert "unskew.evaluation.evaluate_report" in loaded
    assert not [name for name in loaded if "spark" in name]


def test_no_dataframe_library_is_required() -> None:
    found = "print(type(weights.to_frame()).__module__, file=sys.stderr)"
    code = f"{WITHOUT_FRAMES}\nimport unskew as us\n{FIT}\n{found}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "pyarrow.lib"


@pytest.mark.parametrize("folder", PUBLIC, ids=lambda folder: folder.name)
def test_every_public_name_exists_and_is_in_the_documented_interface(folder: Path) -> None:
    text = (PACKAGE.parents[1] / "docs" / "api.md").read_text()
    path = ".".join(["unskew", *folder.relative_to(PACKAGE).parts])
    for name in list_public_names(folder):
        assert getattr(importlib.import_module(path), name) is not None
        assert f"\n::: {path}.{name}\n" in text or hasattr(us, name)


def test_the_top_level_is_short() -> None:
    assert len(us.__all__) <= 46


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = getattr(us, "no_such_name")  # noqa: B009
