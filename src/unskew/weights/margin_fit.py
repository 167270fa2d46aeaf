"""Weights that keep more than one item mix: what is kept, and the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unskew.arrays import distances
from unskew.arrays.profiles import Profiles, all_entries, users_of
from unskew.arrays.sweep import MarginSweep, Sweep
from unskew.arrays.types import Codes, Floats, Mask
from unskew.data.slice import Slice
from unskew.errors import PolicyError, option
from unskew.progress import progress
from unskew.solve.joint_scaling import JointProblem, JointSolution, scale_jointly
from unskew.solve.problem import Problem, Solution
from unskew.solve.scaling import scale
from unskew.weights.alignment import Alignment
from unskew.weights.fit_options import FitOptions
from unskew.weights.fit_report import MarginReport
from unskew.weights.margins import GroupWeights, Margin

_NEARBY = (
    5.0  # nats: from log-weights that have run off there is hardly a way back, so the joint fit begins nearer by
)
_FLOOR = 0.01  # of its share at t0 is what items known then keep in a group that new items have filled
_ROUNDS = 100  # of raking the item target; one is enough for one margin


@dataclass(frozen=True)
class AlignedMargin:
    """The groups of one margin at both dates; arrays are over its groups, or over the entries of a date."""

    margin: Margin
    names: tuple[str, ...]  # the groups of either date
    # The group of each place of ``profiles.item`` at t1 and at t0.
    now: Codes
    then: Codes
    # The mix of groups at t0 of all users, and of those who are evaluated.
    raw: Floats
    reference: Floats
    before: Floats  # that at t1 of all users

    @classmethod
    def of(cls, margin: Margin, alignment: Alignment) -> AlignedMargin:
        """Look at the groups of both dates."""
        everyone = alignment.everyone.collect()
        everyone_then, then = (population.collect() for population in _reference(alignment))
        groups_now, groups_then = margin.groups(everyone), margin.groups(everyone_then)
        names = tuple(dict.fromkeys([*groups_now.names, *groups_then.names]))
        place = {name: k for k, name in enumerate(names)}
        now_codes = np.array([place[name] for name in groups_now.names])[groups_now.codes]
        then_codes = np.array([place[name] for name in groups_then.names])[groups_then.codes]
        n = len(names)
        return cls(
            margin=margin,
            names=names,
            now=now_codes,
            then=then_codes,
            raw=_mix(everyone_then, then_codes, n),
            reference=_mix(then, then_codes, n),
            before=_mix(everyone, now_codes, n),
        )

    def target(self, held: Floats) -> Floats:
        """What is fitted: the mix of t0 without groups that nobody holds now; new ones keep what they have."""
        known = np.where(held > 0, self.reference, 0.0)
        if not known.any():
            raise PolicyError(
                f"the margin {self.margin.name!r} has no group at both dates",
                remedy="leave it out, or merge groups",
            )
        new = np.where(self.reference > 0, 0.0, held)
        fitted: Floats = known / known.sum() * (1.0 - float(new.sum())) + new
        return fitted


@dataclass(frozen=True)
class MarginFit:
    """The margins of a fit, before and after."""

    # The two dates.
    alignment: Alignment
    aligned: Sequence[AlignedMargin]
    sweep: MarginSweep  # passes over the pairs whose items have a target
    targets: Sequence[Floats]  # what is fitted, for each margin
    item_target: Floats  # the same for items

    @classmethod
    def of(cls, alignment: Alignment, margins: Sequence[Margin], target: Floats) -> MarginFit:
        """Line up the margins with an item target, which is changed where it would contradict them."""
        progress().stage("looking at margins")
        aligned = [AlignedMargin.of(margin, alignment) for margin in margins]
        sweep = _open_sweep(alignment, aligned, target > 0)
        q, _ = sweep.marginals(np.zeros(sweep.size))
        held = _split(q, [len(target), *(len(margin_groups.names) for margin_groups in aligned)])[1:]
        targets = [margin_groups.target(mass) for margin_groups, mass in zip(aligned, held, strict=True)]
        return cls(alignment, aligned, sweep, targets, _agree(alignment, aligned, target, targets))

    def fit(self, solo: Solution, options: FitOptions, start: Mapping[str, GroupWeights]) -> FittedMargins:
        """Fit items and groups together, from where the items alone have ended."""
        alone = np.concatenate([solo.theta, *(np.zeros(len(margin.names)) for margin in self.aligned)])
        q, _ = self.sweep.marginals(alone)
        _, *marginals = _split(q, self._sizes)
        away = [distances.total_variation(t, joint) for t, joint in zip(self.targets, marginals, strict=True)]
        if max(away) <= options.tol:  # what is right for items is right for these groups
            return self._finish(solo, [np.zeros(len(t)) for t in self.targets], marginals, [0.0] * len(away), None)
        singles = [self._fit_alone(k, options) for k in range(len(self.aligned))]
        least = [single.bound_least for single in singles]
        begin = [np.clip(solo.theta - _mean(self.item_target, solo.theta), -_NEARBY, _NEARBY)]
        begin[0] = np.where(self.item_target > 0, begin[0], -np.inf)
        for margin, target in zip(self.aligned, self.targets, strict=True):
            known = start.get(margin.margin.name)
            theta = np.zeros(len(target)) if known is None else known.log_factors_by_name(margin.names)
            begin.append(np.where(target > 0, theta, -np.inf))
        problem = JointProblem(
            self.sweep, [self.item_target, *self.targets], np.concatenate(begin), [solo.bound_least, *least]
        )
        joint = scale_jointly(problem, tol=options.tol, max_passes=max(options.pass_limit - solo.passes, 2))
        items = self._items(solo, joint, sum(single.passes for single in singles))
        return self._finish(items, joint.thetas[1:], joint.marginals[1:], least, joint.gap)

    @property
    def _sizes(self) -> list[int]:
        return [len(self.item_target), *(len(margin.names) for margin in self.aligned)]

    def _items(self, solo: Solution, joint: JointSolution, more_passes: int) -> Solution:
        """The item weights of the joint fit, with what is known about items alone."""
        target, q = self.item_target, joint.marginals[0]
        divergence = distances.divergence(target, q)
        return replace(
            solo,
            theta=joint.thetas[0],
            q=q,
            divergence=divergence,
            residual=joint.residuals[0],
            gap=max(divergence - (solo.divergence - solo.gap), 0.0),
            passes=solo.passes + more_passes + joint.passes,
            status=joint.status,
        )

    def _fit_alone(self, k: int, options: FitOptions) -> Solution:
        """One margin alone: how near any weighting comes to its target, whatever the others ask for."""
        p, target = self.sweep.profiles, self.targets[k]
        offset = sum(self._sizes[: k + 1])
        rows = replace(p, item=(self.sweep.groups[:, k + 1] - offset).astype(np.uint32), n_items=len(target))
        wanted = target > 0
        problem = Problem(Sweep(rows), target, np.where(wanted, 0.0, -np.inf), np.flatnonzero(wanted))
        return scale(problem, tol=options.tol, max_passes=options.pass_limit)

    def _finish(
        self,
        items: Solution,
        thetas: Sequence[Floats],
        marginals: Sequence[Floats],
        least: Sequence[float],
        gap: float | None,
    ) -> FittedMargins:
        weights, reports = [], []
        for margin, target, theta, q, known in zip(
            self.aligned, self.targets, thetas, marginals, least, strict=True
        ):
            factors = np.where(target > 0, theta - _mean(target, theta), 0.0)
            weights.append(
                GroupWeights(margin.margin.name, margin.names, factors, margin.reference, margin.before, q)
            )
            reports.append(
                MarginReport(
                    name=margin.margin.name,
                    groups=int(np.count_nonzero(target)),
                    residual=distances.total_variation(target, q),
                    bound_before=distances.total_variation(margin.raw, margin.before),
                    bound=distances.total_variation(margin.reference, q),
                    bound_least=known,
                )
            )
        return FittedMargins(items, tuple(weights), tuple(reports), gap)


@dataclass(frozen=True)
class FittedMargins:
    """Where the fit of items and margins ended; see `FitReport` for `gap`."""

    items: Solution
    weights: tuple[GroupWeights, ...]
    reports: tuple[MarginReport, ...]
    gap: float | None


def _reference(alignment: Alignment) -> tuple[Any, Any]:
    """All users at t0, and those who are evaluated."""
    if alignment.everyone_then is None or alignment.then is None:
        raise PolicyError(
            f"{option('margins')} needs the profiles of the reference date, which a marginal does not have",
            remedy=f"give {option('reference')} a date of the log",
        )
    return alignment.everyone_then, alignment.then


def _mix(part: Slice, codes: Codes, n: int) -> Floats:
    mix: Floats = np.bincount(codes, weights=part.weigh().pair_shares, minlength=n).astype(np.float64)
    return mix


def _open_sweep(alignment: Alignment, aligned: Sequence[AlignedMargin], keep: Mask) -> MarginSweep:
    """Passes over the pairs of those evaluated now whose items are kept, without the places in between."""
    p = alignment.now.collect().profiles
    entries = all_entries(p)
    entries = entries[keep[p.item[entries]]]
    sizes = np.bincount(users_of(p, entries), minlength=p.n_users)
    ends = np.cumsum(sizes).astype(p.start.dtype)
    rows = Profiles(
        start=(ends - sizes.astype(p.start.dtype)).astype(p.start.dtype),
        stop=ends,
        item=p.item[entries],
        n_items=p.n_items,
        a=p.a,
        b=None if p.b is None else p.b[entries],
    )
    columns, size = [p.item[entries].astype(np.int32)], p.n_items
    for margin in aligned:
        columns.append((margin.now[entries] + size).astype(np.int32))
        size += len(margin.names)
    return MarginSweep(rows, np.column_stack(columns), size)


def _agree(
    alignment: Alignment, aligned: Sequence[AlignedMargin], target: Floats, targets: Sequence[Floats]
) -> Floats:
    """The item target, where what vanished or is new is made up for by other items of the same groups.

    Without margins the mass of vanished items goes to all items alike, and new items that are kept take theirs
    from all alike; then the target of the items and those of the groups would contradict each other. So the
    pairs of t0 whose items are still there are raked to the targets of the groups, less what new items have of
    them.
    """
    keeps_new = bool((target[alignment.p_reference == 0] > 0).any())
    if not keeps_new and not len(alignment.vanished(alignment.present)):
        return target
    then, now = _reference(alignment)[1].collect(), alignment.now.collect()
    items = alignment.everyone.items
    codes = (
        then.profiles.item if then.log.items is items else items.codes(then.log.items.values)[then.profiles.item]
    )
    mass = then.weigh().pair_shares.copy()
    known = np.flatnonzero((codes >= 0) & (mass > 0))
    known = known[alignment.present[codes[known]]]
    code, mass = codes[known], mass[known]
    new = np.where(alignment.p_reference > 0, 0.0, target)
    is_new = new[now.profiles.item] > 0
    raw = now.weigh().pair_shares * is_new
    wanted = []
    for margin, whole in zip(aligned, targets, strict=True):
        n = len(margin.names)
        has = np.bincount(margin.then[known], weights=mass, minlength=n)
        rest = np.maximum(whole - np.bincount(margin.now, weights=raw, minlength=n), _FLOOR * whole)
        rest = np.where(has > 0, np.where(whole > 0, rest, has), 0.0)  # an item may have changed its group
        wanted.append(rest / rest.sum() * (1.0 - float(new.sum())))
    for _ in range(_ROUNDS if len(wanted) > 1 else 1):
        for margin, rest in zip(aligned, wanted, strict=True):
            has = np.bincount(margin.then[known], weights=mass, minlength=len(rest))
            mass *= np.divide(rest, has, out=np.ones(len(rest)), where=has > 0)[margin.then[known]]
    known_mass = np.bincount(code, weights=mass, minlength=len(target))
    raked: Floats = known_mass * ((1.0 - float(new.sum())) / known_mass.sum()) + new
    return raked


def _split(stacked: Floats, sizes: Sequence[int]) -> list[Floats]:
    return np.split(stacked, np.cumsum(sizes)[:-1])


def _mean(target: Floats, theta: Floats) -> float:
    wanted = target > 0
    return float((target[wanted] * theta[wanted]).sum())
