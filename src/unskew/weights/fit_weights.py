"""Fitting item weights: from two dates and a policy to a problem of arrays, and back to a result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from unskew.arrays.types import Codes, Floats
from unskew.checks import public
from unskew.data.held_out import SplitRule, split_dates
from unskew.data.ids import Ids, require_codes_of_mapping
from unskew.data.policy import Share
from unskew.data.slice import Slice, Weighting
from unskew.engines.population import AppliedWeights, require_local
from unskew.errors import ConvergenceWarning, InputError, option, warn
from unskew.progress import progress
from unskew.solve.descent import descend, lbfgs
from unskew.solve.problem import Problem, Solution
from unskew.solve.scaling import scale
from unskew.views.knowledge import Knowledge
from unskew.weights.alignment import Alignment, Reference
from unskew.weights.fit_options import FitKeywords, FitOptions
from unskew.weights.fit_report import Certificate, FitReport
from unskew.weights.item_weights import ItemWeights

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot
    from unskew.weights.margin_fit import FittedMargins
    from unskew.weights.margins import GroupWeights

_SOLVERS = {"scaling": scale, "descent": descend, "lbfgs": lbfgs}


@public
def fit_weights(
    snapshot: Slice | SparkSnapshot,
    reference: Reference,
    *,
    after: Any = None,
    leave_last_out: bool = False,
    options: FitOptions | None = None,
    warm_start: ItemWeights | Mapping[Any, float] | None = None,
    knowledge: Knowledge | None = None,
    view: str | None = None,
    **changes: Unpack[FitKeywords],
) -> ItemWeights:
    r"""Item weights under which the item mix of `snapshot` is that of `reference`.

    Minimises :math:`D(w) = \sum_{T_i > 0} T_i \log(T_i / q_i)` where :math:`T` is the marginal at the
    reference and :math:`q_i = \sum_u P(u)\, w_i P(i|u) / \sum_j w_j P(j|u)`.

    Parameters
    ----------
    snapshot
        The profiles to be evaluated (t1), or a window of what users took (`Log.between`). For a time split give
        the profiles and `after`.
    reference
        The date to compare with (t0): a snapshot of the same or another log, a saved `Marginal`, a mapping
        {item: probability}, or a frame with columns item and probability.
    after
        A time: fit to what `evaluate` holds out with the same `after`, which is what users with a profile at that
        time took later, up to the snapshot; at the reference date, what was taken in as long a time before it.
        Text such as ``"-30d"`` says how long before each of the two dates to begin.
    leave_last_out
        Fit to the last item of each profile, as `evaluate` holds it out with the same option.
    options
        How to fit: a `FitOptions`, say that of weights fitted before.
    warm_start
        Weights to start from, say those of the day before.
    knowledge, view
        What you know about the recommendations in the log, as for `report`: profiles at both dates are those of
        the best view that it allows, or of the one that is insisted on by name.
    **changes
        Any of the fields of `FitOptions` by name: `top`, `items`, `method`, `tol`, `max_passes`, `new_items`,
        `min_items`, `users`, `margins`.

    Warns
    -----
    ConvergenceWarning
        If the passes run out; it carries the result, which is returned as well.

    Choosing a method
    -----------------
    Use scaling. It fits every item in about 10 to 25 passes, and says when no weighting can do better.
    The others are there to reproduce the paper, and for weights on a chosen set of items; D is not
    convex in these, and what they reach is a point where its gradient vanishes.

    Examples
    --------
    >>> import unskew as us
    >>> table = {"user": [1, 1, 2, 2, 1, 2], "item": list("abab") + ["c", "c"], "time": [0, 0, 0, 0, 9, 9]}
    >>> log = us.read_log(table | {"item": ["a", "b", "a", "c", "c", "b"]})
    >>> weights = us.fit_weights(log.at(9), reference=log.at(0))
    >>> weights.status, round(weights.report.bound_before, 3), round(weights.bound, 3)
    ('solved', 0.167, 0.0)
    """
    began = time.perf_counter()
    chosen = FitOptions.of(options, changes)
    rule = SplitRule(after, leave_last_out, chosen.min_items)
    known = Knowledge.of(knowledge, view)
    if known is not None:
        snapshot, reference = known.take_dates(snapshot, reference, view=view)
    progress().stage("fitting item weights")
    part, target = snapshot, reference
    if rule:
        kept_here = require_local(snapshot, f"{option('after')} or {option('leave_last_out')}")
        part, target = split_dates(rule, kept_here, reference)
    alignment = Alignment.of(part, target, chosen)
    start = None if warm_start is None else _log_weights(snapshot.log.items, warm_start)
    factors = warm_start.margins if isinstance(warm_start, ItemWeights) else ()
    weights = fit_alignment(alignment, chosen, start, factors).item_weights()
    report = replace(weights.report, seconds=time.perf_counter() - began)
    weights = replace(
        weights,
        report=report,
        frames=snapshot.log.frames,
        view_details=snapshot.log.view_details,
        after=part.after,
        reference_after=getattr(target, "after", None),
    )
    if leave_last_out:
        warn_of_single_items()
    if not report.converged:
        warn(ConvergenceWarning(weights.explanation, weights))
    return weights


def warn_of_single_items() -> None:
    """Say that item weights have nothing to choose from where one item of each user is held out."""
    warn(
        "with one held-out item a user there is nothing for item weights to choose from: they can leave users "
        f"out, and change nothing else; leave-one-out (without {option('leave_last_out')}) or "
        f"{option('after')} leave them more room"
    )


@dataclass(frozen=True)
class AlignedFit:
    """Where a fit ended; arrays are over all items of the log."""

    # What was fitted, and how.
    alignment: Alignment
    options: FitOptions
    target: Floats  # what the marginal was to be
    chosen: Codes  # the items whose weights were fitted
    solution: Solution  # its log-weights are scaled so that ``sum_i T_i log w_i = 0`` if all were fitted
    margins: FittedMargins | None = None  # the margins beyond items, if there are any

    @property
    def bound(self) -> float:
        """Total variation of the weighted marginal from the whole of P_t0."""
        return self.alignment.bound(self.solution.q)

    def weighting(self) -> AppliedWeights:
        """The weights as scoring sees them."""
        weighting = self.alignment.now.weigh(self.solution.theta, self.options.top)
        if self.margins is None:
            return weighting
        from unskew.weights.margins import weigh_pairs

        assert isinstance(weighting, Weighting)  # margins are fitted on one machine
        return weigh_pairs(weighting, self.options.margins, self.margins.weights)

    def item_weights(self) -> ItemWeights:
        """The weights by item id, with what is known about them."""
        aligned, solution = self.alignment, self.solution
        here = np.flatnonzero(aligned.held)
        options = replace(self.options, new_items="drop" if aligned.drop else "keep")
        policy = replace(aligned.everyone.policy, min_items=options.min_items, users=options.users)
        return ItemWeights(
            items=aligned.everyone.items.take(here),
            log_weights=solution.theta[here],
            p_reference=aligned.p_reference[here],
            p_before=aligned.p_before[here],
            p_after=solution.q[here],
            target=self.target[here],
            vanished=np.sort(aligned.vanished(aligned.held))[::-1],
            trapped=solution.trapped[here],
            reference=aligned.at,
            at=aligned.everyone.at,
            report=self._report(),
            options=options,
            policy=policy,
            margins=() if self.margins is None else self.margins.weights,
        )

    def _report(self) -> FitReport:
        aligned, solution = self.alignment, self.solution
        lost = aligned.vanished(aligned.present)
        return FitReport(
            status=solution.status,
            divergence_before=aligned.divergence_before,
            divergence=solution.divergence,
            bound_before=aligned.bound_before,
            bound=self.bound,
            residual=solution.residual,
            bound_least=solution.bound_least,
            gap=solution.gap,
            certificate=self._certificate(),
            fitted=len(self.chosen),
            passes=solution.passes,
            history=solution.history,
            new_items=Share.of(aligned.new, aligned.p_before),
            vanished_items=Share(len(lost), float(lost.sum())),
            users_excluded=aligned.now.excluded(),
            users_excluded_reference=aligned.excluded_reference,
            margins=() if self.margins is None else self.margins.reports,
            margin_gap=None if self.margins is None else self.margins.gap,
        )

    def _certificate(self) -> Certificate:
        trapped = self.solution.trapped
        if not trapped.any():
            return Certificate()
        return Certificate(
            items=int(trapped.sum()),
            target=float(self.target[trapped].sum()),
            reach=self.alignment.now.passes().reach(trapped),
            others=int(np.count_nonzero((self.target > 0) & ~trapped)),
        )


def fit_alignment(
    alignment: Alignment,
    options: FitOptions,
    start: Floats | None = None,
    factors: Sequence[GroupWeights] = (),
) -> AlignedFit:
    """Fit two dates that were aligned already, once for several fits.

    `start` has a log-weight for each item of the log, 0 for one that is not known; `factors` are weights of
    groups to start from. The policy of the options (users, min_items, new_items) is that of the alignment.
    """
    target = alignment.target(keep_new=options.keeps_new_mass)
    margins = None
    if options.margins:
        from unskew.weights.margin_fit import MarginFit

        margins = MarginFit.of(alignment, options.margins, target)
        target = margins.item_target
    chosen = _choose_items(alignment, target, options)
    theta = np.where((target > 0) | (options.is_subset and not alignment.drop), 0.0, -np.inf)
    if options.is_subset and alignment.drop:
        theta[alignment.p_reference > 0] = 0.0
    if start is not None:
        theta[chosen] = start[chosen]
    problem = Problem(alignment.now.passes(), target, theta, chosen)
    solution = _SOLVERS[options.method](problem, tol=options.tol, max_passes=options.pass_limit)
    fitted = None
    if margins is not None:
        fitted = margins.fit(solution, options, {group_weights.name: group_weights for group_weights in factors})
        solution = fitted.items
    if not options.is_subset:  # weights matter only up to a factor; fix it
        wanted = target > 0
        scaled = solution.theta - float((target[wanted] * solution.theta[wanted]).sum())
        solution = replace(solution, theta=scaled)
    return AlignedFit(alignment, options, target, chosen, solution, fitted)


def _choose_items(alignment: Alignment, target: Floats, options: FitOptions) -> Codes:
    if options.top is not None:
        shared = len(alignment.by_change)
        if options.top > shared:
            raise InputError(
                f"{option('top')} is {options.top}, but only {shared} items exist at both dates",
                remedy=f"give at most {shared}",
            )
        return np.sort(alignment.by_change[: options.top])
    if options.items is not None:
        ids = alignment.everyone.items
        codes = np.unique(ids.require_codes(options.items, option("items")))
        if len(codes) == 0:
            raise InputError(f"{option('items')} is empty", remedy="name at least one")
        lost = codes[~(target[codes] > 0)]
        if len(lost):
            raise InputError(
                f"item {ids[int(lost[0])]!r} cannot be fitted: it does not exist at both dates",
                remedy="leave it out",
            )
        return codes
    return np.flatnonzero(target > 0)


def _log_weights(ids: Ids, warm_start: ItemWeights | Mapping[Any, float]) -> Floats:
    """A log-weight for each item of the log, 0 for one that the weights do not know."""
    if isinstance(warm_start, ItemWeights):
        codes, logs = ids.match(warm_start.items), warm_start.log_weights
    elif not isinstance(warm_start, Mapping):
        raise InputError(
            f"{option('warm_start')} is a {type(warm_start).__name__}",
            remedy="give fitted weights or a mapping {item: weight}",
        )
    else:
        codes, values = require_codes_of_mapping(ids, warm_start, option("warm_start"))
        if not (np.isfinite(values) & (values > 0)).all():
            raise InputError(f"the weights of {option('warm_start')} must be positive numbers")
        logs = np.log(values)
    usable = (codes >= 0) & np.isfinite(logs)
    log_weights = np.zeros(len(ids))
    log_weights[codes[usable]] = logs[usable]
    return log_weights
