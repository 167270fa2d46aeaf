"""``python -m tools.size [COMMIT]``: how large the package is, beside the tree of a commit.

Lines, lines of code, files, modules with one importer, what one `evaluate` imports, and names at the top level.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
_EVALUATE = """
import sys
from click.testing import CliRunner
from unskew.cli import main
with open("log.csv", "w") as file:
    file.write("user,item,time\\n")
    file.writelines(f"{n % 97},{n * n % 31},{n}\\n" for n in range(2000))
done = CliRunner().invoke(main, "evaluate log.csv --reference 900 --baseline popular -r knn --quick".split())
assert done.exit_code == 0, done.output
names = [name for name in sys.modules if name.split(".")[0] == "unskew"]
print(len(names), sum("spark" in name for name in names))
"""


def measure(root: Path) -> dict[str, int]:
    """The figures of a tree."""
    package = root / "src" / "unskew"
    files = sorted(package.rglob("*.py"))
    modules = {path: ".".join(path.relative_to(package.parent).with_suffix("").parts) for path in files}
    importers: dict[str, set[str]] = defaultdict(set)
    for path, module in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unskew"):
                for name in (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers[name].add(module)
    single = [module for module in modules.values() if len(importers[module] - {module}) == 1]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _EVALUATE],
            cwd=folder,
            env={"PYTHONPATH": str(root / "src"), "HOME": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    imported, about_spark = map(int, done.stdout.split())
    exported = ast.parse((package / "__init__.pyi").read_text())
    return {
        "lines": sum(len(path.read_text().splitlines()) for path in files),
        "lines of code": sum(map(_count_code, files)),
        "files": len(files),
        "files below 60 lines": sum(len(path.read_text().splitlines()) < 60 for path in files),
        "modules with one importer": len(single),
        "modules that evaluate imports": imported,
        "of them about Spark": about_spark,
        "names at the top level": sum(
            len(node.names) for node in exported.body if isinstance(node, ast.ImportFrom)
        ),
        "bytes of CONTRIBUTING.md": (root / "CONTRIBUTING.md").stat().st_size,
    }


def _count_code(path: Path) -> int:
    """Lines that are neither empty nor a comment nor within a docstring."""
    tree = ast.parse(path.read_text())
    texts: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    skipped = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in skipped]
    lines = {line for token in tokens[1:-1] for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - texts)


def main() -> None:
    """Print the figures of this tree, and those of a commit before them."""
    trees = {"now": measure(ROOT)}
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "worktree", "add", "-q", "--detach", folder, sys.argv[1]], cwd=ROOT, check=True)
            try:
                trees = {sys.argv[1]: measure(Path(folder)), **trees}
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)
    print(f"{'':32}" + "".join(f"{name:>12}" for name in trees))
    for figure in trees["now"]:
        print(f"{figure:32}" + "".join(f"{tree[figure]:12,}" for tree in trees.values()))


if __name__ == "__main__":
    main()
