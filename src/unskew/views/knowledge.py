"""What the user knows about the recommendations in a log, as one object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from unskew.checks import Seed, public, public_class, require_instance
from unskew.data.log import Log
from unskew.data.policy import Recency
from unskew.data.slice import Slice, Snapshot
from unskew.data.times import Windows
from unskew.engines.population import is_at_spark
from unskew.errors import InputError, PolicyError, TimeError, option
from unskew.recommend.specs import AnyRecommender, AnyRecommenders


@public_class
@dataclass(frozen=True)
class Knowledge:
    """What you know about the recommendations in a log, for `knowledge=` of functions that score or compare.

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
    induced_share
        The share of the interactions since the reference date that recommendations caused, as a dashboard may show
        it: ``0.3``, ``"30%"``, or a range, ``(0.2, 0.4)`` or ``"0.2:0.4"``. Verdicts use it; it allows no view.

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
    induced_share: Any = None

    def __post_init__(self) -> None:
        read_share(self.induced_share)
        if self.within is not None and self.exposures is None:
            raise PolicyError(
                f"{option('within')} is how long an exposure counts", remedy=f"give {option('exposures')}"
            )

    @classmethod
    def of(cls, knowledge: Knowledge | None, view: str | None) -> Knowledge | None:
        """What is known, None if nothing is and no view is asked for; the log may allow a view by itself."""
        if knowledge is None:
            return None if view is None else cls()
        return require_instance(cls, knowledge, "knowledge", "give unskew.Knowledge(...)")

    @property
    def is_given(self) -> bool:
        """Whether anything is known."""
        several = isinstance(self.campaigns, Sequence)
        sources = (self.exposures, self.exposed, self.holdout, self.production, self.induced_share)
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
        from unskew.views.view_choice import take_draws  # with all views: many logs need none

        choice: Any = {"since": since, "until": until, "candidates": candidates, "test": test, "seed": seed}
        return take_draws(log, self, draws=draws, view=None if view == "auto" else view, **choice)

    def take_dates(
        self,
        snapshot: Any,
        reference: Any = None,
        *,
        view: str | None = None,
        candidates: AnyRecommenders = (),
        test: bool = False,
        seed: int = 0,
    ) -> tuple[Any, Any]:
        """The profiles at a date in the best view of their log, and the reference in it if it is profiles as well.

        A `reference` that is weights, a marginal or of another log stays as it is; its date counts as the `since`
        of `take`, if the log has it.
        """
        if not is_at_spark(snapshot):
            require_instance(Snapshot, snapshot, "a snapshot", "give the profiles at a date, such as log.at(date)")
        log = snapshot.log
        [taken] = self.take(
            log,
            since=find_since(log, reference),
            until=snapshot.at,
            view=view,
            candidates=candidates,
            test=test,
            seed=seed,
        )
        return move_dates(log, taken, snapshot), move_dates(log, taken, reference)


class KnowledgeKeywords(TypedDict, total=False):
    """The fields of `Knowledge` by name, as functions take them."""

    exposures: Any
    exposed: str | None
    within: Any
    campaigns: Windows
    holdout: Any
    production: AnyRecommender | None
    induced_share: Any


@public
def take_view(
    log: Log,
    *,
    view: str | None = None,
    since: Any = None,
    until: Any = None,
    candidates: AnyRecommenders = (),
    test: bool = True,
    seed: Seed = 0,
    **known: Unpack[KnowledgeKeywords],
) -> Log:
    """The best view of a log that what is known allows; its `view_report` says which, why, and what it left out.

    =========================================  ===================================================================
    known                                      view
    =========================================  ===================================================================
    nothing, or a model of production alone    ``all``: the log as it is
    when short campaigns were                  ``outside``: without what happened then
    when long ones were, or since when         ``thinned``: to what is usual in quiet times, by a stand-in
    dates, and a model of production           ``thinned``: the same by that model
    a holdout group, a model of production    ``thinned``: at the rates of those who were shown nothing
    which rows were exposed                    ``organic``: without what was exposed
    exposures                                  ``adjusted``: exposed rows as often as without exposures
    exposures, holdout group, production      ``kept``: of what was exposed, what would have happened anyway
    =========================================  ===================================================================

    Parameters
    ----------
    log
        All of history; read it with ``read_log(..., repeats=True)`` if users take items more than once.
    view
        Insist on one of the views by name.
    since, until
        With a holdout group and no dates: recommendations were made after `since` and up to `until`, which are
        the two dates that are compared.
    candidates
        The recommenders that you will compare on the view, by name or not. With a production of ``"auto"`` they
        compete as stand-ins, and each is tested on the view.
    test
        Whether to test the assumption of the view on this log, which takes a few fits of models: whether
        recommendations still show in what is left since the first of them, or since `since` if that is earlier,
        also to each of the `candidates`. A score counts as free of bias only if both tests were passed
        (``view_report.is_trusted_for(name)``).
    seed
        Of views in which chance decides.
    **known
        What is known, as for `Knowledge`.

    Examples
    --------
    >>> import unskew as us
    >>> world = us.simulate("steady", users=800, items=300, seed=1)
    >>> log = us.read_log(world.tables["log"])
    >>> us.views.take_view(log, exposures=world.exposures).view
    'adjusted'
    >>> us.views.take_view(log, campaigns=["320:"], production="knn").view_report.reason
    'it is known when something was recommended, and a model of production is given'
    """
    choice: Any = {"since": since, "until": until, "candidates": candidates, "test": test, "seed": seed}
    return Knowledge(**known).take(log, view=view, **choice)[0]


def read_share(share: Any) -> tuple[float, float] | None:
    """The ends of an induced share, which may be a number, a pair or text; None if there is none.

    >>> read_share("30%"), read_share("0.2:0.4"), read_share((0, 0.5))
    ((0.3, 0.3), (0.2, 0.4), (0.0, 0.5))
    """
    if share is None:
        return None
    parts = share.split(":") if isinstance(share, str) else share if isinstance(share, Sequence) else [share]
    ends = [_read_number(part) for part in parts]
    if len(ends) not in (1, 2) or not all(0 <= end < 1 for end in ends):
        raise InputError(
            f"{option('induced_share')} is {share!r}, which is no share from 0 to below 1",
            remedy="give one such as 0.3 or 30%, or a range such as 0.2:0.4",
        )
    low, high = ends[0], ends[-1]
    if low > high:
        raise InputError(
            f"{option('induced_share')} is {share!r}, whose first end is above the second",
            remedy=f"write {high:g}:{low:g}",
        )
    return low, high


def _read_number(part: Any) -> float:
    try:
        if isinstance(part, str) and part.rstrip().endswith("%"):
            return float(part.rstrip()[:-1]) / 100
        return float(part)
    except (TypeError, ValueError):
        return math.nan


def find_since(log: Log, reference: Any) -> Any:
    """The date of a reference if it is one of the log, else None.

    A reference is a date, profiles, a marginal, or the weights or method fitted to one of these.
    """
    target = getattr(reference, "reference", reference)
    date = getattr(target, "at", target)
    try:
        return None if date is None else log.moment(date).label
    except TimeError:
        return None


def move_dates(log: Log, view: Log, reference: Any) -> Any:
    """Profiles of a log as they are in a view of it: same date, P(u), P(i|u) and users; anything else as it is."""
    if not (isinstance(reference, Slice) or is_at_spark(reference)) or reference.log is not log:
        return reference
    if isinstance(reference, Slice) and not isinstance(reference, Snapshot):
        raise PolicyError(
            f"{reference!r} is part of the log, not of a view of it",
            remedy="take the view first (take_view), and the window of that",
        )
    policy = reference.policy
    p_user = reference.profiles.a if policy.p_user == "given" else policy.p_user.removeprefix("column ")
    name, _, half_life = policy.p_item.partition(":")
    p_item = Recency(float(half_life)) if name == "recency" else policy.p_item.removeprefix("column ")
    return view.at(reference.at, p_user=p_user, p_item=p_item).with_min_items(policy.min_items)
