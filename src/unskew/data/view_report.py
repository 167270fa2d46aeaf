"""What a view of a log dropped from it, why it was taken, and what would make it better."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from unskew.data.times import Label

NO_VIEW = "p does not account for bias in the log, which exposures would remove"
"""What a p-value on the log as it is leaves open."""
NOT_TRUSTED = "p does not account for bias that the view does not remove"
"""What a p-value on a view leaves open that has not passed its tests."""

ALMOST_NOTHING = 0.001
"""A view that drops not more than this share of the interactions changes nothing."""


@dataclass(frozen=True)
class Stratum:
    """Some of the pairs that a view decides about together."""

    name: str  # which, in words: ``rank 1``
    # How many there are, and how many of them the view leaves out.
    pairs: int
    dropped: int
    # How much mass of the whole log those left out have, where users are alike, and so are the items of a user.
    dropped_mass: float
    # Pairs for each user who could be shown something, and how many there would be had nothing been shown; None
    # where a view does not estimate this.
    observed: float | None = None
    usual: float | None = None


@dataclass(frozen=True)
class RecommenderTest:
    """Whether a recommender that is scored on a view still finds recommendations in it, and that in a sentence.

    It is known by the name that it has in results, and by what the model calls itself.
    """

    name: str
    model: str
    passed: bool
    test: str


@dataclass(frozen=True)
class ViewReport:
    """What a view dropped, and why it was taken."""

    view: str  # its name
    reason: str  # why it was taken: what is known about the log
    # Interactions of the whole log, and how many of them the view leaves out.
    pairs: int
    dropped_pairs: int
    # Users of the whole log, and how many have nothing left.
    users: int
    dropped_users: int
    strata: tuple[Stratum, ...] = ()  # the same by stratum, of the views that have any
    # What was found on the way that a reader should know: which model stands for production, a holdout group that
    # differs from the others.
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()  # what would improve it, a sentence each
    assumption: str = ""  # what has to be true if scores of the view are to be free of what recommendations did
    # Whether that passed its test on this log. What was not tested, or by a test that is too noisy, did not.
    tested: bool = False
    test: str = ""  # the test in a sentence
    # Of views by dates: what the same comparison finds before anything was recommended.
    placebo: dict[str, Any] | None = None
    production: tuple[str, ...] = ()  # the models that stood for production when the view was made
    # Of each recommender that is compared on the view: whether it still finds recommendations in it.
    recommender_tests: tuple[RecommenderTest, ...] = ()
    # Of views by exposures: the time of the first of these; None of other views, and on Spark.
    exposures_from: Label | None = None

    @property
    def is_by_exposure(self) -> bool:
        """Whether it decides about what was shown alone."""
        return self.view in ("organic", "adjusted", "kept")

    @property
    def drops_enough(self) -> bool:
        """Whether the view drops more than almost nothing."""
        return self.dropped_pairs > ALMOST_NOTHING * self.pairs

    @property
    def caveat(self) -> str:
        """What a difference or a p-value on the view takes for granted, in a clause."""
        return f"p assumes that {self.assumption}" if self.assumption else NO_VIEW

    @property
    def trusted(self) -> bool:
        """Whether the view counts as free of bias: it drops something, and its test was passed."""
        return self.drops_enough and self.tested

    def is_trusted_for(self, recommender: str, model: str | None = None) -> bool:
        """Whether scores of a recommender on the view count as free of bias: it passed a test of its own too.

        If `model` is given, what a recommender calls itself, it must be the one that was tested under this name.
        """
        return self.trusted and any(
            test.passed and test.name == recommender and model in (None, test.model)
            for test in self.recommender_tests
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "trusted": self.trusted, "strata": [asdict(stratum) for stratum in self.strata]}
