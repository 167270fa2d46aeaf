"""The folder of a yardstick: a file for each case that is done, so that a run that was stopped can go on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unskew.drawing.page import is_page
from unskew.errors import FileError, PolicyError, option
from unskew.files import damage_error, read_json, replace_file, report_damage
from unskew.folders import check_folder_writable
from unskew.known_truths.yardstick_spec import hash_key

CASES, PAGE = "cases", "index.html"
TABLES = ("worlds", "rows", "summary", "ranking")
"""The tables of a yardstick, each a Parquet file in its folder."""

WRITTEN = (PAGE, *(f"{name}.parquet" for name in TABLES))
"""What stands in the folder beside the cases."""

Check = Callable[[dict[str, Any]], object]
"""Raises something if a case is not what it should be."""

_KIND = "yardstick case"
_COMPUTE_AGAIN = "remove it, and the case is computed again"


@dataclass(frozen=True)
class YardstickFolder:
    """Where a yardstick is written, or nowhere.

    Attributes
    ----------
    path
        The folder.
    resume
        Whether what it holds of the same kind is taken as it is.
    """

    path: Path | None
    resume: bool

    @classmethod
    def of(cls, output: str | Path | None, *, resume: bool) -> YardstickFolder:
        """Check that it can be written to; nothing is made yet."""
        if output is None:
            if resume:
                raise PolicyError(
                    f"{option('resume')} continues what is in a folder", remedy=f"give it with {option('output')}"
                )
            return cls(None, resume)
        path = Path(output)
        if not str(output):
            raise FileError("the name of the folder is empty", remedy="say where to write")
        check_folder_writable(path)
        others = [name for name in WRITTEN if (path / name).exists()]
        if (path / CASES).is_dir():
            others = [PAGE] if PAGE in others and not is_page(path / PAGE) else []
        if others:
            raise FileError(
                f"{path} holds a file {others[0]} that is not of a yardstick and would be lost",
                remedy="give another folder",
            )
        return cls(path, resume)

    def read(self, name: str, key: Mapping[str, Any], check: Check = dict) -> dict[str, Any] | None:
        """What was found under this key before, if the run goes on; None if there is nothing.

        `check` does with it what will be done with it later; what it raises is the fault of the file.
        """
        path = self._find(name, key)
        if path is None or not self.resume or not path.exists():
            return None
        try:
            found = read_json(path)
        except FileError as error:
            raise damage_error(path, error.message, _COMPUTE_AGAIN) from None
        same = isinstance(found, dict) and found.get("kind") == _KIND
        if not same or found.get("key") != json.loads(json.dumps(key, default=str)):
            raise damage_error(path, "it is not of the case that its name says", _COMPUTE_AGAIN)
        if found.get("checksum") != _sum_up(found.get("found")):
            raise damage_error(path, "it does not hold what unskew wrote", _COMPUTE_AGAIN)
        with report_damage(path, _COMPUTE_AGAIN):
            check(found["found"])
            return dict(found["found"])

    def write(self, name: str, key: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Keep what was found; whole or not at all."""
        path = self._find(name, key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make the folder {path.parent}: {error.strerror or error}") from None
        with replace_file(path) as temporary:
            told = {"kind": _KIND, "key": key, "found": found, "checksum": _sum_up(found)}
            text = json.dumps(told, default=str, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    def _find(self, name: str, key: Mapping[str, Any]) -> Path | None:
        if self.path is None:
            return None
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)[-60:]
        return self.path / CASES / f"{safe}-{key['seed']}-{hash_key(key)}.json"


def _sum_up(found: Any) -> int:
    """A checksum of what was found, as JSON has it."""
    return zlib.crc32(json.dumps(found, sort_keys=True, default=str).encode())
