"""What a view left out of a log, counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unskew.data.log import Log
from unskew.data.view_report import Stratum, ViewReport


def describe_view(
    log: Log,
    left: Log,
    reason: str,
    *,
    strata: Sequence[Stratum] = (),
    notes: Sequence[str] = (),
    advice: Sequence[str] = (),
) -> ViewReport:
    """The report of a view, made from the whole log and from what is left of it."""
    users, still = (int(np.count_nonzero(np.diff(some.start.astype(np.int64)))) for some in (log, left))
    return ViewReport(
        view=left.view,
        reason=reason,
        pairs=len(log),
        dropped_pairs=len(log) - len(left),
        users=users,
        dropped_users=users - still,
        strata=tuple(strata),
        notes=tuple(notes),
        advice=tuple(advice),
    )
