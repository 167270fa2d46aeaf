"""What the user knows about the recommendations in a log, as one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unskew.data.log import Log
from unskew.data.time_windows import Windows
from unskew.errors import PolicyError, option
from unskew.recommend.specs import AnyRecommender, AnyRecommenders
from unskew.views.take_view import take_draws


@dataclass(frozen=True)
class Knowledge:
    """What you know about the recommendations in a log; `report`, `evaluate` and others take the view it allows.

    Attributes
    ----------
    exposures, within
        Who was shown what when (also called impressions), and how long that counts, as for `mark_exposed`.
    exposed
        The column of the log that says which rows followed a recommendation: read the log with
        ``read_log(exposed=...)``.
    campaigns
        When something was recommended: ``"START:END"``, or ``"START:"`` for a recommender that is on since.
    holdout
        The users who are never shown anything: their ids, a frame or a file with them.
    production
        What made the recommendations, or ``"auto"``.

    Examples
    --------
    >>> import unskew as us
    >>> world = us.simulate("steady-campaigns", users=300, items=100, seed=1)
    >>> log = us.read_log(world.tables["log"])
    >>> us.Knowledge(campaigns="330:350").take(log)[0].view
    'outside'
    """

    exposures: Any = None
    exposed: str | None = None
    within: Any = None
    campaigns: Windows = ()
    holdout: Any = None
    production: AnyRecommender | None = None

    @property
    def is_given(self) -> bool:
        """Whether anything is known."""
        several = isinstance(self.campaigns, Sequence)
        sources = (self.exposures, self.exposed, self.holdout, self.production)
        return any(value is not None for value in sources) or (bool(self.campaigns) if several else True)

    def take(
        self,
        log: Log,
        *,
        since: Any = None,
        until: Any = None,
        view: str | None = None,
        draws: int = 1,
        candidates: AnyRecommenders = (),
        test: bool = True,
        seed: int = 0,
    ) -> list[Log]:
        """Draws of the best view of a log that this allows, or of the one that is insisted on; see `take_view`."""
        if self.exposed is not None and log.exposed is None:
            raise PolicyError(
                f"{option('exposed')} names a column of the log, which was read without it",
                remedy=f"read_log(..., exposed={self.exposed!r})",
            )
        return take_draws(
            log,
            draws=draws,
            exposures=self.exposures,
            within=self.within,
            campaigns=self.campaigns,
            holdout=self.holdout,
            production=self.production,
            view=None if view == "auto" else view,
            since=since,
            until=until,
            candidates=candidates,
            test=test,
            seed=seed,
        )
