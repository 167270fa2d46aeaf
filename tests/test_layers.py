"""The shape of the package: who may import whom, and what must not be imported at all."""

from __future__ import annotations

import ast
import subprocess
import sys
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

LAYERS = [
    {"errors", "figures"},
    {"progress", "times", "ids", "files", "frames"},
    {"compiling", "kernels"},
    {"sweep"},
    {"store", "log"},
    {"sources", "column_types", "text_times", "text_files", "encode", "read"},
    {"priors", "snapshot", "marginal", "population", "distances"},
    {"solve"},
    {"result"},
    {"scene"},
    {"weights", "shift"},
    {"quality", "intervals", "score"},
    {"recommend"},
    {"heldout", "means"},
    {"ranking"},
    {"evaluation"},
    {
        "comparison",
        "refit",
        "testing",
        "sampling",
        "grid",
        "scored_date",
        "timeline_options",
        "timeline_result",
        "over_time",
    },
    {"worlds"},
    {"report"},
    {"reproduction"},
    {"cli"},
    {"__main__"},
]


def _imports(path: Path) -> set[str]:
    """The modules of the package that a file imports when it is loaded (not inside functions)."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "unskew":
            parts = (node.module or "").split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("unskew.")}
    return found - {"__version__"}


def _height(module: str) -> int:
    return next(k for k, layer in enumerate(LAYERS) if module in layer)


def _files() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", _files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_its_own_layer_and_those_below(path: Path) -> None:
    mine = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    too_high = {other for other in _imports(path) if _height(other) > _height(mine)}
    assert not too_high


def _loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in done.stdout.split()}


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


def test_no_dataframe_library_is_required() -> None:
    found = "print(type(weights.to_frame()).__module__, file=sys.stderr)"
    code = f"{WITHOUT_FRAMES}\nimport unskew as us\n{FIT}\n{found}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "pyarrow.lib"


def test_every_public_name_exists_and_is_in_the_documented_interface() -> None:
    text = (PACKAGE.parents[1] / "docs" / "api.md").read_text()
    for name in us.__all__:
        assert getattr(us, name) is not None
        assert f"us.{name}" in text


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = us.no_such_name
