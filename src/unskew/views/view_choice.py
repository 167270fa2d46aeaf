"""The best view of a log that what is known about its recommendations allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew.arrays.types import Mask
from unskew.checks import require_instance, require_one_of, require_whole_number
from unskew.data.log import DatedLog, Log
from unskew.data.times import Label, TimeWindow, mark_inside
from unskew.data.view_report import RecommenderTest, ViewReport
from unskew.engines.population import is_on_spark, refuse_on_spark
from unskew.errors import InputError, PolicyError, option
from unskew.reading.exposures import Showings, find_showings, mark_exposed
from unskew.recommend.contract import Recommender, traits_of
from unskew.recommend.specs import AnyRecommender, AnyRecommenders, name_recommenders
from unskew.text import percent
from unskew.views.adjusted_view import plan_adjusted
from unskew.views.contrast import find_holdout
from unskew.views.dropping import describe_view, organic, outside, require_windows
from unskew.views.placebo import find_leftover, find_leftover_of, find_loss
from unskew.views.production import AUTO, is_auto
from unskew.views.thinning import plan_kept, plan_thinned
from unskew.views.windows import tick_after

if TYPE_CHECKING:
    from unskew.views.knowledge import Knowledge

VIEWS = ("all", "organic", "adjusted", "outside", "thinned", "kept")
"""The views, by name."""

LONG = 0.15
"""Windows that cover more of the time than this are thinned instead of dropped, whatever stands for production."""


def take_draws(
    log: Log,
    knowledge: Knowledge,
    *,
    draws: int = 1,
    view: str | None = None,
    since: Any = None,
    until: Any = None,
    candidates: AnyRecommenders = (),
    test: bool = True,
    seed: int = 0,
) -> list[Log]:
    """Draws of the best view, to be averaged over; one, if chance decides nothing in it. See `take_view`."""
    require_instance(DatedLog, log, "a log", "read one with read_log")
    if is_on_spark(log):
        refuse_on_spark(holdout=knowledge.holdout, production=knowledge.production)
    require_whole_number(option("draws"), draws, "how many draws to average over")
    showings = None
    if knowledge.exposures is not None:
        if not is_on_spark(log) and log.exposed is None and log.removed is None:
            showings = find_showings(log, knowledge.exposures)
        log = mark_exposed(log, knowledge.exposures, within=knowledge.within)
    known = _Known(
        log,
        knowledge,
        windows=require_windows(log, knowledge.campaigns) if knowledge.campaigns else (),
        holdout=None if knowledge.holdout is None else find_holdout(log, knowledge.holdout),
        since=since,
        until=until,
        candidates=name_recommenders(candidates) if candidates else {},
        showings=showings,
    )
    chosen, reason = known.choose() if view is None else known.require(view)
    try:
        taken = known.take(chosen, seed, draws)
    except InputError as error:
        if chosen != "adjusted" or view is not None:
            raise
        chosen, reason = "organic", f"exposures are known; nothing could be adjusted, since {error.message}"
        taken = known.take(chosen, seed, draws)
    details = known.detail(chosen)
    views = [_tell(each, log, reason, known.advise(chosen)) for each in taken]
    changes: dict[str, Any] = {"assumption": known.assume(chosen)}
    if knowledge.induced_share is not None and views[0].view_report is not None:
        changes["notes"] = (*views[0].view_report.notes, "verdicts alone use the induced share; no score does")
    if chosen in ("organic", "adjusted", "kept") and not is_on_spark(log):
        changes["exposures_from"] = known.find_first_exposure()
    if test and not is_on_spark(log):
        changes |= known.test(chosen, views[0])
        if changes.get("tested", views[0].view_report is not None and views[0].view_report.trusted):
            changes["recommender_tests"] = known.test_recommenders(chosen, views[0])
    return [
        replace(view, view_details=details, view_report=replace(view.view_report, **changes))
        for view in views
        if view.view_report is not None
    ]


def _tell(left: Log, log: Log, reason: str, advice: Iterable[str]) -> Log:
    report = left.view_report or _describe(left, log, reason)
    return replace(left, view_report=replace(report, reason=reason, advice=(*report.advice, *advice)))


def _describe(left: Log, log: Log, reason: str) -> ViewReport:
    if is_on_spark(log):
        return ViewReport(left.view, reason, log.sizes.entries, 0, log.sizes.users, 0)
    return describe_view(log, left, reason)


@dataclass(frozen=True)
class _Known:
    """What is known about the recommendations in a log, and the views that this allows."""

    log: Log
    knowledge: Knowledge
    windows: tuple[TimeWindow, ...]
    holdout: Mask | None
    since: Any
    until: Any
    candidates: Mapping[str, Recommender] = field(default_factory=dict)
    showings: Showings | None = None

    @property
    def exposures(self) -> bool:
        return self.log.exposed is not None

    @property
    def _production(self) -> AnyRecommender:
        """What stands for production; `AUTO` if nobody named it."""
        return AUTO if self.knowledge.production is None else self.knowledge.production

    def choose(self) -> tuple[str, str]:
        """The best view, and why."""
        if self.exposures and self.holdout is not None and self.knowledge.production is not None:
            return "kept", "exposures, a holdout group and a model of production are known"
        if self.showings is not None:
            return "adjusted", "exposures are known"
        if self.exposures:
            return "organic", "it is known which rows followed an exposure"
        if self.holdout is not None and self.knowledge.production is not None:
            return "thinned", "a holdout group and a model of production are known"
        covered = self._covered()
        if self.windows and self.knowledge.production is not None:
            return "thinned", "it is known when something was recommended, and a model of production is given"
        if covered > LONG and not is_on_spark(self.log):
            return (
                "thinned",
                f"something was recommended in {percent(covered)} of the time, too much to drop it all",
            )
        if self.windows:
            return "outside", "it is known when something was recommended"
        known = [
            ("a holdout group", self.holdout),
            ("a model of production", self.knowledge.production),
            ("an induced share", self.knowledge.induced_share),
        ]
        names = [name for name, value in known if value is not None]
        return "all", f"{names[0]} alone allows no other" if names else "nothing is known about recommendations"

    def require(self, view: str) -> tuple[str, str]:
        """A view that is asked for, and why it is taken; refused if something is missing for it."""
        require_one_of(option("view"), view, VIEWS)
        missing = list(self._find_missing(view))
        if view == "kept" and [need for need, _ in missing] == ["a model of production"]:
            return "organic", "kept was asked for, which needs a model of production"
        if missing:
            raise PolicyError(f"{option('view', view)} needs {missing[0][0]}", remedy=f"give {missing[0][1]}")
        return view, "it was asked for"

    def detail(self, view: str) -> str:
        """What a view is made from, in a few words."""
        parts = {
            "windows": ", ".join(map(str, self.windows)) if view in ("outside", "thinned", "kept") else "",
            "exposures": f"within {self.knowledge.within}"
            if self.knowledge.within is not None and view in ("organic", "adjusted", "kept")
            else "",
            "production": str(self._production) if view in ("thinned", "kept") else "",
            "hold-out": "given" if self.holdout is not None and view in ("thinned", "kept") else "",
        }
        return "; ".join(f"{name} {value}" for name, value in parts.items() if value)

    def find_first_exposure(self) -> Label | None:
        """When something was first shown; if the log has marks alone, when it was first interacted with."""
        assert self.log.exposed is not None
        times = self.log.time[self.log.exposed] if self.showings is None else self.showings.time
        return self.log.axis.show(times.min()) if len(times) else None

    def _find_missing(self, view: str) -> Iterator[tuple[str, str]]:
        if view in ("organic", "kept") and not self.exposures:
            yield "exposures", f"{option('exposures')} or {option('exposed')}"
        if view == "adjusted" and self.showings is None:
            yield "to know who was shown what when, on a local log without removals", option("exposures")
        if view == "outside" and not self.windows:
            yield "to know when something was recommended", option("campaigns")
        if view in ("thinned", "kept") and self.knowledge.production is None:
            yield "a model of production", option("production")
        if view == "kept" and self.holdout is None:
            yield "a holdout group", option("holdout")
        if view == "thinned" and self.holdout is None and not self.windows:
            yield (
                "a holdout group, or to know when something was recommended",
                f"{option('holdout')} or {option('campaigns')}",
            )

    def take(self, view: str, seed: int, draws: int) -> list[Log]:
        """Draws of the view; one, if chance decides nothing."""
        if view == "organic":
            return [organic(self.log)]
        if view == "outside":
            return [outside(self.log, self.windows)]
        if view == "all":
            return [self.log]
        if not self._begins_in_time():
            return [replace(self.log, view=view)]  # nothing had been recommended by then
        if view == "adjusted":
            return self._adjust(seed, draws)
        more: Any = {"since": self.since, "until": self.until}
        group = None if self.holdout is None else self.log.users.take(np.flatnonzero(self.holdout))
        more |= {"holdout": group, "campaigns": self.windows or None}
        plan = plan_thinned if view == "thinned" else plan_kept
        plan_of_draws = plan(self.log, self._production, candidates=self.candidates.values(), **more)
        return plan_of_draws.draw_several(seed, draws)

    def _adjust(self, seed: int, draws: int) -> list[Log]:
        assert self.showings is not None
        models: list[AnyRecommender] = list(self.candidates.values())
        if self.knowledge.production is not None and not is_auto(self.knowledge.production):
            models.append(self.knowledge.production)
        plan = plan_adjusted(self.log, self.showings, candidates=models, until=self.until)
        return plan.draw_several(seed, draws)

    def assume(self, view: str) -> str:
        """What has to be true for scores of a view to be free of what recommendations did; nothing for the log."""
        by_group = "the holdout group is like the others, and was shown nothing"
        by_dates = "nothing was recommended outside these windows, and demand in them changed for no other reason"
        return {
            "organic": "the exposure log has everything that was recommended",
            "adjusted": (
                "the exposure log has everything that was recommended, and shown pairs are like others of the "
                "same ranks"
            ),
            "outside": "nothing was recommended outside these windows",
            "thinned": by_dates if self.holdout is None else by_group,
            "kept": f"the exposure log has everything that was recommended, and {by_group}",
        }.get(view, "")

    def test(self, view: str, left: Log) -> dict[str, Any]:
        """Whether the assumption of a view passed its test on this log, and the test in a sentence."""
        report = left.view_report
        if view == "all" or report is None:
            return {}
        if not report.drops_enough:
            return {"tested": False, "test": "it drops almost nothing, and so changes no score"}
        if view == "kept" or (view == "thinned" and self.holdout is not None):
            words = (
                "was like the others before anything was shown" if report.tested else "differs, or is too small"
            )
            return {"test": f"the holdout group {words}"}
        if view == "thinned" and is_auto(self._production):
            return {
                "tested": False,
                "test": "not tested, because auto chose what stands for production: name what ran",
            }
        if view == "thinned" and not report.tested:
            return {"test": next((note for note in report.notes if "placebo test" in note), "not tested")}
        windows = () if view in ("organic", "adjusted") else self.windows
        first, last = self._find_first(), self._find_last()
        if view == "thinned" and not self._leaves_time(first, last):
            return {"test": next(note for note in report.notes if "placebo test" in note)}
        passed, sentence = find_leftover(left, windows, first, last)
        if passed and view in ("outside", "organic"):
            windows = windows or (TimeWindow(first, np.inf, ""),)
            passed, loss = find_loss(self.log, windows, last, report.dropped_pairs)
            sentence = f"{sentence}; {loss}"
        return {"tested": passed, "test": sentence}

    def _leaves_time(self, first: int | float, last: int | float) -> bool:
        """Whether campaign windows leave some of the time since the first recommendation to be tested."""
        inside = mark_inside(self.windows, self.log.time)
        since = (self.log.time >= first) & (self.log.time <= last)
        return bool((since & ~inside).sum() > 0.1 * since.sum())

    def test_recommenders(self, view: str, left: Log) -> tuple[RecommenderTest, ...]:
        """Whether each recommender that is compared still finds recommendations in a view."""
        group = None
        if self.holdout is not None and view in ("thinned", "kept"):
            group = self.log.users.take(np.flatnonzero(self.holdout))
        windows = self.windows if view == "outside" else ()
        span = self._find_first(), self._find_last()
        stand_ins = () if left.view_report is None else left.view_report.production

        def test(model: Recommender) -> tuple[bool, str]:
            if str(model) in stand_ins:
                return (
                    False,
                    "it stands for production, and what is left of that cannot be told from its own gains",
                )
            return find_leftover_of(model, left, windows, *span, group=group)

        return tuple(
            RecommenderTest(name, str(model), *test(model))
            for name, model in self.candidates.items()
            if not traits_of(model).constant
        )

    def _find_first(self) -> int | float:
        """The first tick at which something may have been recommended: after the reference date, or earlier."""
        ticks: list[Any] = [window.start for window in self.windows]
        if self.log.exposed is not None and self.log.exposed.any():
            ticks.append(self.log.time[self.log.exposed].min().item())
        if self.since is not None:
            ticks.append(tick_after(self.log, self.log.moment(self.since).tick))
        first: int | float = max(min(ticks), self.log.span[0].item())
        return first

    def _find_last(self) -> int | float:
        last: int | float = self.log.span[1].item()
        return last if self.until is None else min(last, self.log.moment(self.until).tick)

    def _begins_in_time(self) -> bool:
        if self.until is None:
            return True
        until = self.log.moment(self.until).tick
        if self.windows:
            return any(window.start <= until for window in self.windows)
        return self.since is None or self.log.moment(self.since).tick < until

    def advise(self, view: str) -> Iterator[str]:
        """What would improve it, a sentence each."""
        if view in ("all", "outside") and not self.exposures:
            gain = {
                "all": "allow dropping interactions that followed recommendations, and with them their bias",
                "outside": "keep interactions in these windows that recommendations did not cause",
            }[view]
            yield f"a list of exposures (user, item, time) would {gain}"
        if view == "all" and not self.windows:
            yield (
                "the dates of campaigns, or the date since when a recommender is on, would allow dropping "
                "interactions since then"
            )
        if view == "all" and self.holdout is not None:
            yield "a model of production (or 'auto') would allow using the holdout group"
        if view == "outside" and self.knowledge.production is None:
            yield "a model of production (or 'auto') would allow keeping what people usually do in these windows"
        if view in ("organic", "adjusted") and self.holdout is None:
            yield (
                "a holdout group (users who are never shown anything) and a model of production would tell how "
                "many of the exposed interactions would have happened anyway"
            )
        if view in ("organic", "adjusted") and self.holdout is not None and self.knowledge.production is None:
            yield (
                "the holdout group needs a model of production (or 'auto') to tell how many of the exposed "
                "interactions would have happened anyway"
            )

    def _covered(self) -> float:
        first, last = (float(tick) for tick in self.log.span)
        if self.until is not None:
            last = min(last, float(self.log.moment(self.until).tick))
        if last <= first:
            return 0.0
        covered, reached = 0.0, first
        for window in self.windows:
            begin, end = max(float(window.start), reached), min(float(window.end), last)
            covered += max(end - begin, 0.0)
            reached = max(reached, end)
        return covered / (last - first)
