"""Cases of damaged files: a specimen, one damage, and what unskew makes of it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fuzz.child_process import Ending, run_in_child
from fuzz.damage import Damage, damage_file, seal_json
from fuzz.specimens import Specimen, list_specimens
from fuzz.verdicts import Verdict, judge


@dataclass
class Store:
    """The folders of all specimens, made when they are first needed, and what unskew makes of them undamaged."""

    path: Path
    specimens: list[Specimen] = field(default_factory=list_specimens)
    _answers: dict[str, Any] = field(default_factory=dict)

    def open(self, specimen: Specimen) -> Path:
        """The folder of a specimen."""
        folder = self.path / specimen.folder
        if not folder.exists():
            _require_done(run_in_child(lambda: specimen.make(folder)), specimen)
        return folder

    def copy(self, specimen: Specimen) -> tuple[Path, Path]:
        """A copy of the folder to damage, always in the same place, and the file in it."""
        work = self.path / "case"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.open(specimen), work)
        (file,) = work.glob(specimen.file)
        return work, file

    def answer(self, specimen: Specimen) -> Any:
        """What unskew makes of it undamaged."""
        if specimen.name not in self._answers:
            work, _ = self.copy(specimen)
            ending = run_in_child(lambda: _examine(specimen, work))
            _require_done(ending, specimen)
            self._answers[specimen.name] = ending.answer
        return self._answers[specimen.name]

    def draw(self, rng: Random) -> Specimen:
        """A specimen; formats and kinds are drawn evenly, however many specimens each has."""
        kind = rng.choice(sorted({specimen.covers for specimen in self.specimens}))
        return rng.choice([specimen for specimen in self.specimens if specimen.covers == kind])


def run_file_case(store: Store, rng: Random) -> tuple[Verdict, Path]:
    """Damage a file and judge what unskew makes of it; gives the damaged file too."""
    specimen, other = store.draw(rng), store.draw(rng)
    (whole,) = store.open(specimen).glob(specimen.file)
    (parts,) = store.open(other).glob(other.file)
    expected = store.answer(specimen)
    work, file = store.copy(specimen)
    desk = store.path / "empty"
    shutil.rmtree(desk, ignore_errors=True)
    desk.mkdir()

    def examine() -> Any:
        os.chdir(desk)
        tempfile.tempdir = str(desk)
        damage = damage_file(specimen, whole.read_bytes(), parts.read_bytes(), rng)
        file.write_bytes(damage.content)
        for beside in work.rglob("*.json") if damage.sealed else ():
            beside.write_text(seal_json(beside.read_text()))  # which may know the checksums of the others
        print(json.dumps([damage.how, damage.sealed]))
        return _examine(specimen, work)

    ending = run_in_child(examine)
    how, sealed = json.loads(ending.out.splitlines()[0]) if ending.out else ("no damage", False)
    damage = Damage(file.read_bytes(), how, sealed)
    verdict = _judge(specimen, damage, ending, expected)
    left = ", ".join(path.name for path in desk.iterdir())
    if left and not verdict.is_finding:
        verdict = Verdict(specimen.covers, "left behind", True, left)
    about = f"{specimen.name}, {damage.how}"
    return Verdict(verdict.group, verdict.outcome, verdict.is_finding, f"{about}: {verdict.detail}"), file


def _judge(specimen: Specimen, damage: Damage, ending: Ending, expected: Any) -> Verdict:
    if specimen.confirm is not None:
        verdict = judge(specimen.covers, ending, lambda _: "", "confirmed")
        return verdict if verdict.outcome != "confirmed" else _confirm(specimen, damage, ending, expected)
    if damage.sealed:
        return judge(specimen.covers, ending, lambda _: "", "sane")
    return judge(specimen.covers, ending, lambda found: "" if found == expected else "another result", "same")


def _confirm(specimen: Specimen, damage: Damage, ending: Ending, expected: Any) -> Verdict:
    """Ask another reader, which may crash as well; what it cannot read must be as if it were undamaged."""
    assert specimen.confirm is not None
    assert specimen.way is not None
    confirm, unpack, names = specimen.confirm, specimen.way.unpack, specimen.columns
    asked = run_in_child(lambda: confirm(unpack(damage.content, names), ending.answer))
    if asked.answer is None and ending.answer == expected:
        return Verdict(specimen.covers, "same")
    if asked.answer is None:
        return Verdict(specimen.covers, "unconfirmed", True, (asked.signal or asked.err)[-1000:])
    if asked.answer:
        return Verdict(specimen.covers, "wrong figure", True, asked.answer)
    return Verdict(specimen.covers, "confirmed")


def _examine(specimen: Specimen, work: Path) -> Any:
    warnings.simplefilter("ignore")
    return specimen.examine(work)


def _require_done(ending: Ending, specimen: Specimen) -> None:
    if ending.code:
        raise RuntimeError(f"the specimen {specimen.name} is not whole: {ending.signal} {ending.err}")
