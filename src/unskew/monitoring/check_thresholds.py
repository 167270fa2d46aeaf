"""Checking a date against thresholds: has the item mix moved, can weights undo it, is a change unexplained?"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from unskew.checks import public, require_instance
from unskew.data.log import Log
from unskew.data.policy import ItemPrior, UserPrior
from unskew.data.slice import Snapshot
from unskew.data.time_steps import LAST
from unskew.errors import EmptyError, PolicyError, option
from unskew.evaluation.changes import Change
from unskew.evaluation.evaluate_report import report
from unskew.evaluation.held_out_ranks import AnyMetric
from unskew.evaluation.report import Report
from unskew.evaluation.score import Results
from unskew.evaluation.selection_options import (
    ReportKeywords,
    SelectionOptions,
    choose_population,
    separate_keywords,
)
from unskew.evaluation.verdict import Verdict
from unskew.monitoring.thresholds import Check, CheckedThreshold, Thresholds
from unskew.recommend.specs import AnyRecommender, AnyRecommenders, name_recommenders
from unskew.text import enumerate_words, percent, thousands
from unskew.views.knowledge import Knowledge, find_since
from unskew.weights.alignment import is_date, resolve_reference
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_weights import fit_weights
from unskew.weights.item_weights import ItemWeights


@public
def check(
    log: Log | Sequence[Log],
    recommenders: AnyRecommenders | None = None,
    *,
    at: Any = None,
    reference: Any,
    thresholds: Thresholds | Mapping[str, Any],
    baseline: AnyRecommender | Mapping[str, AnyRecommender] | None = None,
    metric: AnyMetric | Iterable[AnyMetric] = "hit@5",
    refit: int | None = None,
    level: float = 0.95,
    p_user: UserPrior = None,
    p_item: ItemPrior = None,
    knowledge: Knowledge | None = None,
    view: str | None = None,
    draws: int = 5,
    clean_before: Any = None,
    options: FitOptions | None = None,
    **more: Unpack[ReportKeywords],
) -> Check:
    """Check the item mix, the weights and the changes of scores at a date against thresholds.

    Parameters
    ----------
    log, recommenders, at, reference, baseline, metric, refit, level, p_user, p_item, options, **more
        As for `report`. Recommenders are scored only where a threshold is about their scores, and may be left out
        otherwise.
    knowledge, view, draws
        As for `report`: the figures are those of the view that they allow.
    clean_before
        As for `report`: before this nothing was recommended, so that verdicts have no condition.
    thresholds
        What to watch: `Thresholds`, or a mapping of their names to limits.

    Returns
    -------
    Check
        Each figure beside its threshold; ``passed`` if none is crossed.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.simulate(users=300, items=60, seed=2).log
    >>> result = us.check(log, at=480, reference=300, thresholds={"max_drift": 0.05, "max_bound": 0.05})
    >>> result.passed, [(figure.threshold, figure.crossed) for figure in result.thresholds]
    (False, [('max_drift', True), ('max_bound', False)])
    """
    limits = Thresholds.of(thresholds)
    logs: list[Any] = list(log) if isinstance(log, Sequence) and log else [log]
    first = require_instance(Log, logs[0], "a log", "read one with read_log")
    changes, chosen = separate_keywords(more)
    fit, selection = choose_population(FitOptions.of(options, changes), chosen)
    if reference is None:
        raise PolicyError("a check compares with a date", remedy=f"give {option('reference')}")
    at = LAST if at is None else at
    if is_date(reference):
        first.check_dates(reference, at)
    named = {} if recommenders is None else name_recommenders(recommenders)
    scored: Report | None = None
    limits.require_recommenders(named, baseline)
    known = Knowledge.of(knowledge, view)
    if limits.need_scores:
        scored = report(
            logs,
            named,
            at=at,
            reference=reference,
            baseline=baseline,
            metric=metric,
            refit=refit,
            level=level,
            p_user=p_user,
            p_item=p_item,
            knowledge=knowledge,
            view=view,
            draws=draws,
            clean_before=clean_before,
            options=options,
            **more,
        )
        first = first if scored.log is None else scored.log
    elif known is not None:
        [first] = known.take(first, since=find_since(first, reference), until=at, view=view, test=False)
    now = first.at(at, p_user=p_user, p_item=p_item)
    weights = None if scored is None else scored.weights
    if weights is None:
        target = resolve_reference(first, reference, p_user=p_user, p_item=p_item)
        after, last = selection.after, selection.leave_last_out
        weights = fit_weights(now, target, after=after, leave_last_out=last, options=fit)
    view_report = first.view_report
    return Check(
        at=weights.at,
        reference=weights.reference,
        thresholds=Results(_Findings(limits, weights, scored, named, now, selection).all(), first.frames),
        weights=weights,
        report=scored,
        view=None if view_report is None else view_report.to_dict(),
    )


@dataclass(frozen=True)
class _Findings:
    """The figures, one after the other, each with what it means."""

    limits: Thresholds
    weights: ItemWeights
    report: Report | None
    recommenders: Collection[str]
    now: Snapshot
    selection: SelectionOptions

    def all(self) -> Iterator[CheckedThreshold]:
        """What is watched, in the order of `Thresholds`."""
        fit, limits = self.weights.report, self.limits
        since = "the reference" if self.weights.reference is None else str(self.weights.reference)
        if limits.max_drift is not None:
            yield _find(
                "max_drift",
                fit.bound_before,
                limits.max_drift,
                f"drift of the item mix {fit.bound_before:.4f}",
                f"{percent(fit.bound_before)} of the item mix has gone to other items since {since}, and raw "
                f"scores can have moved by {_points(fit.bound_before)} for that alone. Compare weighted scores; "
                "drift lists the items that moved",
            )
        if limits.max_bound is not None:
            yield _find(
                "max_bound",
                fit.bound,
                limits.max_bound,
                f"bound after weighting {fit.bound:.4f}",
                f"weights cannot bring back the item mix of {since}, and the weighted score of a fixed list "
                f"can still be off by {_points(fit.bound)}. Take a later reference date, the users of both dates "
                "only, or users with more items only",
            )
        if limits.max_excluded is not None:
            now, then = fit.users_excluded.mass, fit.users_excluded_reference.mass
            yield _find(
                "max_excluded",
                max(now, then),
                limits.max_excluded,
                f"users excluded {percent(max(now, then))}",
                f"the weights exclude {percent(now)} of the users now and {percent(then)} of those at {since}, "
                f"so scores speak for the others only. {self._advise_on_users()}",
                show=percent,
            )
        if limits.max_unexplained is not None:
            yield from (self._unexplained(change, limits.max_unexplained) for change in self._changes())
        if limits.max_unexplained_relative is not None:
            limit = limits.max_unexplained_relative
            yield from (self._unexplained(change, limit, relative=True) for change in self._changes())
        if limits.min_effective_pairs is not None:
            pairs = self._count_effective_pairs()
            yield _find(
                "min_effective_pairs",
                pairs,
                limits.min_effective_pairs,
                f"effective pairs {_count(pairs)}",
                "a few held-out pairs have much of the weight, and weighted scores are no surer than so many "
                "pairs of equal weight would make them. Take more users, a later reference date, or weights on "
                "the items that changed most only",
                least=True,
                show=_count,
            )
        if limits.fail_if is not None:
            yield from (_judge(verdict, limits.fail_if) for verdict in self._verdicts())

    def _verdicts(self) -> list[Verdict]:
        """A verdict on every recommender; refuses if one is missing, which must not pass for well."""
        assert self.report is not None
        verdicts = self.report.verdicts
        baselines = {verdict.baseline for verdict in verdicts}
        missing = sorted(set(self.recommenders) - {verdict.recommender for verdict in verdicts} - baselines)
        if not verdicts or missing:
            raise PolicyError(
                f"there is no verdict on {enumerate_words(missing) or 'these recommenders'} to check "
                f"({'; '.join(self.report.notes) or 'nothing is compared'})",
                remedy="give recommenders that can be scored at both dates, and another one as the baseline",
            )
        return verdicts

    def _advise_on_users(self) -> str:
        """What leaves out fewer users, of the options with which these weights were fitted."""
        policy, fit = self.weights.policy, self.weights.options
        ways = [
            "evaluate all users" * (policy.users == "both"),
            "ask for fewer items a user" * (policy.min_items > 1),
            "keep new items" * (fit.new_items == "drop" and self.weights.report.new_items.count > 0),
            "take a later reference date",
        ]
        advice = ", or ".join(filter(None, ways))
        return advice[0].upper() + advice[1:]

    def _count_effective_pairs(self) -> float:
        """``(sum p)^2 / sum p^2`` over the pairs that are held out, of which p is the weighted probability."""
        shares = self.weights.apply(self.selection.rule.split(self.now).pairs).pair_shares
        return float(shares.sum() ** 2 / (shares * shares).sum())

    def _changes(self) -> list[Change]:
        """What every recommender changed by; refuses if one is unknown, which must not pass for well."""
        assert self.report is not None
        changes = [change for change in self.report.changes if change.comparable]
        missing = sorted(set(self.recommenders) - {change.recommender for change in changes})
        if not changes or missing:
            reasons = [str(change) for change in self.report.changes if not change.comparable]
            why = "; ".join([*reasons, *self.report.notes]) or "the profiles of the reference date are not known"
            raise PolicyError(
                f"there is no change of {', '.join(missing) or 'these scores'} since the reference date to check "
                f"({why})",
                remedy="compare with a date of the log, and give recommenders that can be scored at both dates",
            )
        return changes

    def _unexplained(self, change: Change, limit: float, *, relative: bool = False) -> CheckedThreshold:
        """How far the interval of what the item mix and the algorithm do not explain is from 0.

        More data counts as unexplained here, since recommendations add data.
        """
        rest, whose = change.beyond_mix, f"{change.recommender}, {change.metric}"
        if math.isnan(rest.low) or math.isnan(rest.high):
            raise EmptyError(
                f"too few users for an interval of the change of {whose}",
                remedy="take dates at which more users have a profile",
            )
        value = max(rest.low, -rest.high, 0.0)
        shown = _points(value)
        if relative:
            whole = change.score_reference
            value = value / whole if whole > 0 else math.inf if value > 0 else 0.0
            shown = f"{percent(value)} of the score then"
        direction = "rose" if rest.value > 0 else "fell"
        interval = f"[{100 * rest.low:+z.2f}, {100 * rest.high:+z.2f}]"
        doubt = ""
        if change.bound is not None and change.is_within_bound:
            off = _points(change.bound)
            doubt = f". Item weights can be off by {off}, which is more, so it may be the item mix all the same"
        return _find(
            "max_unexplained_relative" if relative else "max_unexplained",
            value,
            limit,
            f"unexplained change of {whose}: at least {shown}",
            f"the score {direction} by {_points(abs(rest.value))} {interval} since {change.reference} for reasons "
            f"that the item mix does not explain{doubt}. Look for changes of the algorithm, of the data or of how "
            "they are logged, and say what was recommended (exposures, campaigns, a holdout group)",
            show=percent if relative else _points,
            recommender=change.recommender,
            metric=change.metric,
        )


def _judge(verdict: Verdict, fails: str) -> CheckedThreshold:
    who = f"{verdict.recommender} against {verdict.baseline}, {verdict.metric}"
    crossed = verdict.decision == fails
    summary = f"verdict on {who}: {verdict.decision} (fails if {fails})"
    reason = f"{verdict.headline[0].upper()}{verdict.headline[1:]}. {verdict.reason}"
    message = f"V{summary[1:]}: {reason}." if crossed or verdict.decision == "undecided" else f"V{summary[1:]}."
    name, metric, decision = verdict.recommender, verdict.metric, verdict.decision
    return CheckedThreshold("fail_if", float(crossed), 0.0, crossed, name, metric, summary, message, decision)


def _points(value: float) -> str:
    return f"{100 * value:.2f} points"


def _count(value: float) -> str:
    return thousands(round(value))


def _find(
    threshold: str,
    value: float,
    limit: float,
    figure: str,
    meaning: str,
    *,
    least: bool = False,
    show: Callable[[float], str] = "{:g}".format,
    recommender: str | None = None,
    metric: str | None = None,
) -> CheckedThreshold:
    """A figure beside its threshold, which it must not exceed or, if that is the `least`, fall short of."""
    crossed = value < limit if least else value > limit
    summary = f"{figure} ({f'at least {show(limit)} wanted' if least else f'limit {show(limit)}'})"
    message = f"{summary}: {meaning}." if crossed else f"{summary}."
    message = message[0].upper() + message[1:]
    return CheckedThreshold(threshold, value, limit, crossed, recommender, metric, summary, message)
