"""A timeline is continued when its log has grown, and refused when the past of the log has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unskew as us
from unskew.errors import PolicyError, UnskewWarning


def _rows(log: us.Log, *, since: int = 0, until: int = 10**6) -> us.Log:
    """The log with the rows of some time alone, read anew: with the codes that it has then."""
    user = np.repeat(np.arange(len(log.users)), np.diff(log.start).astype(np.int64))
    kept = (log.time >= since) & (log.time <= until)
    columns = {"user": log.users.take(user[kept]), "item": log.items.take(log.item[kept]), "time": log.time[kept]}
    return us.read_log({name: np.asarray(column) for name, column in columns.items()})


def test_a_timeline_is_continued_when_the_log_has_grown(tmp_path: Path) -> None:
    grown = us.simulate(users=300, items=60, seed=2).log
    path = tmp_path / "timeline.parquet"
    options: dict[str, Any] = {"reference": 300, "every": 40, "tol": 1e-9}
    short = us.timeline(_rows(grown, until=406), "knn", output=path, resume=True, **options)
    assert short.dates == [300, 340, 380, 406]
    longer = us.timeline(grown, "knn", output=path, resume=True, **options)
    fresh = us.timeline(grown, "knn", **options)
    assert (longer.computed, longer.dates) == (3, [300, 340, 380, 420, 460, 500])
    assert longer.dates == fresh.dates
    for name in ("value", "low", "high", "bound"):
        found, wanted = (made.rows.column(name).to_numpy() for made in (longer, fresh))
        np.testing.assert_allclose(found, wanted, atol=1e-7)
    assert us.timeline(grown, "knn", output=path, resume=True, **options).computed == 0


def test_a_day_that_was_not_over_is_computed_again(tmp_path: Path) -> None:
    grown = us.simulate(users=300, items=60, seed=2).log
    path = tmp_path / "timeline.parquet"
    with pytest.warns(UnskewWarning, match="after the log ends"):
        us.timeline(_rows(grown, until=371), "popular", reference=300, dates=[340, 380], output=path)
    again = us.timeline(grown, "popular", reference=300, dates=[340, 380], output=path, resume=True)
    fresh = us.timeline(grown, "popular", reference=300, dates=[340, 380])
    assert again.computed == 1
    np.testing.assert_allclose(
        again.rows.column("value").to_numpy(), fresh.rows.column("value").to_numpy(), atol=1e-3
    )


def test_a_log_whose_past_has_changed_is_another_log(tmp_path: Path) -> None:
    grown = us.simulate(users=300, items=60, seed=2).log
    path = tmp_path / "timeline.parquet"
    us.timeline(_rows(grown, until=400), "popular", reference=300, every=50, output=path)
    changed = _rows(grown, since=1)
    assert len(changed) < len(grown)
    with pytest.raises(PolicyError, match="was computed from another log"):
        us.timeline(changed, "popular", reference=300, every=50, output=path, resume=True)
