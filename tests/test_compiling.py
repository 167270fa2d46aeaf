"""Compiled loops on disk."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba.core import caching

from unskew.arrays import compiling
from unskew.errors import UnskewWarning

_KERNEL = """
from unskew.arrays.compiling import compiled

@compiled
def add(pair):
    return pair.one + pair.other
"""
_PAIR = """
from typing import NamedTuple

class Pair(NamedTuple):
    one: float
    other: float
"""


def write_module(folder: Path, name: str, text: str) -> Any:
    """A module of that text, imported anew."""
    (folder / f"{name}.py").write_text(text)
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def load_kernel() -> Any:
    """The kernel as another process would meet it: from the same file, with what is on disk."""
    sys.modules.pop("cached_kernel", None)
    return importlib.import_module("cached_kernel").add


def test_a_cache_that_knows_a_type_which_has_moved_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "cached_kernel.py").write_text(_KERNEL)
    old = write_module(tmp_path, "old_home_of_pair", _PAIR)
    assert load_kernel()(old.Pair(1.0, 2.0)) == 3.0

    again = load_kernel()
    assert again(old.Pair(1.0, 2.0)) == 3.0
    assert sum(again.stats.cache_hits.values()) == 1

    write_module(tmp_path, "old_home_of_pair", "")
    new = write_module(tmp_path, "new_home_of_pair", _PAIR)
    assert load_kernel()(new.Pair(3.0, 4.0)) == 7.0

    once_more = load_kernel()
    assert once_more(new.Pair(3.0, 4.0)) == 7.0
    assert sum(once_more.stats.cache_hits.values()) == 1


@pytest.fixture
def no_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Neither the folder of a module nor the home of the user can be written, as in many containers."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [caching.UserProvidedCacheLocator])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "cached_kernel.py").write_text("from unskew.arrays.compiling import compiled\n\n" + _ADD)
    monkeypatch.setattr(compiling, "_REFUSED", [])
    compiling._private_folder.cache_clear()
    compiling.is_private.cache_clear()
    yield tmp_path
    compiling._private_folder.cache_clear()
    compiling.is_private.cache_clear()


_ADD = """@compiled
def add(one, other):
    return one + other
"""


def test_without_a_writable_cache_a_private_folder_is_used(no_place: Path) -> None:
    assert load_kernel()(1, 2) == 3
    folder = no_place / f"unskew-compiled-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*.nbi"))
    again = load_kernel()
    assert again(1, 2) == 3
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_private_folder_that_others_may_write_to_is_not_used(no_place: Path) -> None:
    folder = no_place / f"unskew-compiled-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(UnskewWarning, match="every run compiles them again"):
        assert load_kernel()(1, 2) == 3
    assert not list(folder.iterdir())


class _Trap:
    """What runs as soon as it is unpickled."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> Any:
        return Path.touch, (self.sign,)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes of POSIX")
@pytest.mark.parametrize("way", ["folder", "sticky folder", "folder above", "file", "owner", "beside the module"])
def test_compiled_loops_that_others_could_have_written_are_not_run(
    no_place: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "owner" and os.getuid():
        pytest.skip("only root can give files away")
    shared = no_place / "shared"
    shared.mkdir()
    if way == "beside the module":
        places = [caching.UserProvidedCacheLocator, caching.InTreeCacheLocator]
        monkeypatch.setattr(caching.CacheImpl, "_locator_classes", places)
    else:
        monkeypatch.setattr("numba.config.CACHE_DIR", str(shared))
    assert load_kernel()(1, 2) == 3
    [index] = [file for file in no_place.rglob("*.nbi") if "unskew-compiled" not in str(file)]
    index.write_bytes(pickle.dumps(_Trap(no_place / "ran")))
    changed = {"folder above": shared, "file": index, "owner": index}.get(way, index.parent)
    if way == "owner":
        os.chown(index, 65534, 65534)
    else:
        changed.chmod(changed.stat().st_mode | (0o1002 if way == "sticky folder" else 0o002))
    compiling.is_private.cache_clear()
    with pytest.warns(UnskewWarning, match="another user could have written them") as warned:
        assert load_kernel()(1, 2) == 3
    assert len(warned) == 1
    assert not (no_place / "ran").exists()
    again = load_kernel()  # which says no more
    assert again(1, 2) == 3
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("settings", ["cache_dir: cache", "cache_dir: [", "disable_jit: 1"])
def test_settings_of_numba_in_the_working_directory_are_ignored(tmp_path: Path, settings: str, late: bool) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "cached_kernel.py").write_text("from unskew.arrays.compiling import compiled\n\n" + _ADD)

    def run(more: str = "") -> subprocess.CompletedProcess[str]:
        program = f"{more}\nfrom cached_kernel import add\nassert add(1, 2) == 3\nimport yaml\nprint(add.stats)"
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
        )

    assert run("import os; os.environ['NUMBA_CACHE_DIR'] = 'cache'").returncode == 0
    indexes = list((tmp_path / "cache").rglob("*.nbi"))
    assert indexes
    for index in indexes:
        index.write_bytes(pickle.dumps(_Trap(tmp_path / "ran")))
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "cache").symlink_to(tmp_path / "cache")
    (tmp_path / ("there" if late else ".") / ".numba_config.yaml").write_text(settings)
    done = run("import os, cached_kernel; os.chdir('there')" if late else "")
    assert done.returncode == 0, done.stderr
    assert "cache_misses=Counter({(int64, int64): 1})" in done.stdout  # it was compiled
    if late:
        assert done.stderr == ""
    else:
        [line] = [line for line in done.stderr.splitlines() if not line.startswith(" ")]
        assert "Warning: .numba_config.yaml in the working directory is not used" in line
    assert not (tmp_path / "ran").exists()


def test_that_loops_cannot_be_kept_is_said_once(no_place: Path) -> None:
    (no_place / f"unskew-compiled-{os.getuid()}").write_text("in the way")
    with pytest.warns(UnskewWarning, match="every run compiles them again"):
        assert load_kernel()(1, 2) == 3
    assert load_kernel()(3, 4) == 7  # and not said again: a warning is an error here


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_truncated_cache_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "cached_kernel.py").write_text("from unskew.arrays.compiling import compiled\n\n" + _ADD)
    assert load_kernel()(1, 2) == 3
    for file in tmp_path.rglob(f"*.{ending}"):
        file.write_bytes(file.read_bytes()[:7])
    assert load_kernel()(3, 4) == 7
    again = load_kernel()
    assert again(3, 4) == 7
    assert sum(again.stats.cache_hits.values()) == 1
