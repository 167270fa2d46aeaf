"""Whether leave-one-out or a time split suits a log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unskew.data.log import Log
from unskew.data.times import Label
from unskew.text import count, percent, thousands

_LATER = 0.8  # of the interactions: a time split would hold out the others
_MOST_SINGLE = 0.5
_FEWEST_KNOWN = 30


class Advice(NamedTuple):
    """How to hold items out, why, and when a time split would begin."""

    protocol: str | None
    why: str
    after: Label | None = None


def advise_protocol(log: Log) -> Advice:
    """Which protocol suits: a time split if enough users whom it knows interacted after it.

    That is what a recommender meets in production; leave-one-out needs less, but asks it for what it could have
    seen the future of.
    """
    sizes = np.diff(log.start.astype(np.int64))
    several = int((sizes > 1).sum())
    if several == 0:
        return Advice(None, "no user has more than one item, so that nothing can be held out from a profile")
    if log.span[0] == log.span[1]:
        return Advice("leave-one-out", "all times are the same, so that nothing came later")
    cut = np.quantile(log.time, _LATER, method="lower").item()
    moment = log.moment(str(log.axis.show(cut))[:10]) if log.axis.is_calendar else log.moment(cut)
    late = log.time > moment.tick
    users = log.entry_users()
    known = np.zeros(len(log.users), dtype=np.bool_)
    known[users[~late]] = True
    tested = len(np.unique(users[late & known[users]]))
    share = (sizes == 1).mean()
    if tested >= _FEWEST_KNOWN:
        why = f"{thousands(tested)} users who had a profile at {moment.label} interacted later"
        return Advice("time split", why, moment.label)
    why = (
        f"only {count(tested, 'user')} who had a profile at {moment.label} interacted later, too few for a "
        f"time split, and {thousands(several)} have several items"
    )
    if share > _MOST_SINGLE:
        why += f"; {percent(float(share), 0)} have only one, which leaves nothing to recommend from"
    return Advice("leave-one-out", why)
