"""Fitting item weights: from two dates and a policy to a problem of arrays, and back to a result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.errors import ConvergenceWarning, InputError, PolicyError
from unskew.data.shares import Certificate, Share
from unskew.data.ids import Ids, require_mapping_codes
from unskew.progress import progress
from unskew.weights.item_weights import ItemWeights
from unskew.weights.alignment import Reference, Scene
from unskew.data.snapshot import Snapshot
from unskew.solve.descent import descend, lbfgs
from unskew.solve.problem import Problem, Solution
from unskew.solve.scaling import scale
from unskew.arrays.sweep import Floats

METHODS = ("scaling", "descent", "lbfgs")
MAX_PASSES = {"scaling": 500, "descent": 2000, "lbfgs": 2000}


def fit_weights(
    snapshot: Snapshot,
    reference: Reference,
    *,
    top: int | None = None,
    items: Iterable[Any] | None = None,
    method: str = "scaling",
    tol: float = 1e-4,
    max_passes: int | None = None,
    new_items: str | None = None,
    min_items: int = 1,
    users: str = "all",
    warm_start: ItemWeights | Mapping[Any, float] | None = None,
) -> ItemWeights:
    r"""Item weights under which the item mix of `snapshot` is that of `reference`.

    Minimises :math:`D(w) = \sum_{T_i > 0} T_i \log(T_i / q_i)` where :math:`T` is the marginal at the
    reference and :math:`q_i = \sum_u P(u)\, w_i P(i|u) / \sum_j w_j P(j|u)`.

    Parameters
    ----------
    snapshot
        The profiles to be evaluated (t1).
    reference
        The date to compare with (t0): a snapshot of the same or another log, a saved `Marginal`, a mapping
        {item: probability}, or a frame with columns item and probability.
    top
        Fit only the p items of largest change, as in the paper; others keep weight 1. Needs
        ``method="descent"`` or ``"lbfgs"``.
    items
        Fit only these items, say those of a campaign; like `top`.
    method
        ``scaling`` (all items at once; the default), ``descent`` (the paper's) or ``lbfgs``.
    tol
        In score units: stop when the total variation from the target is at most this, or at most this
        above what any weighting of the profiles can reach (and, while passes are left, D within 30 times this
        of its least).
    max_passes
        Give up after so many sweeps over the data; a `ConvergenceWarning` then carries the result, which
        is returned as well. By default 500 for scaling, 2000 for the others.
    new_items
        ``drop`` (the default): items that the reference does not have get weight 0, and a user left with
        nothing leaves. ``keep``: they keep their present mass, and no claim against t0 is made. With `top` or
        `items` they keep weight 1 unless ``drop`` is asked for.
    min_items
        Only users with at least this many items take part, at both dates.
    users
        ``all``, or ``both``: only users who have a profile at both dates.
    warm_start
        Weights to start from, say those of the day before.

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
    >>> weights.status, round(weights.bound_before, 3), round(weights.bound, 3)
    ('solved', 0.167, 0.0)
    """
    began = time.perf_counter()
    _check_options(top, items, method, tol, max_passes, new_items, min_items, users)
    limit = MAX_PASSES[method] if max_passes is None else max_passes
    restricted = top is not None or items is not None
    drop = new_items == "drop" or (new_items is None and not restricted)
    progress().stage("fitting item weights")
    scene = Scene.of(snapshot, reference, min_items, users, drop)
    start = None if warm_start is None else _log_weights(snapshot.log.items, warm_start)
    fitted = fit_scene(
        scene, top=top, items=items, method=method, tol=tol, max_passes=limit, new_items=new_items, start=start
    )
    result = _result(scene, fitted)
    result = replace(
        result,
        method=method,
        top=None if top is None else int(top),
        fitted=len(fitted.chosen),
        restricted=restricted,
        tol=float(tol),
        policy=replace(snapshot.policy, min_items=int(min_items), users=users),
        new_items_policy="drop" if drop else "keep",
        seconds=time.perf_counter() - began,
    )
    if not result.converged:
        warnings.warn(ConvergenceWarning(result.explanation, result), stacklevel=2)
    return result


@dataclass(frozen=True)
class Fitted:
    """Where a fit ended; arrays are over all items of the log.

    Attributes
    ----------
    target
        What was fitted.
    chosen
        The items whose weights were.
    solution
        Its log-weights are scaled so that ``sum_i T_i log w_i = 0`` if all were fitted.
    """

    target: Floats
    chosen: npt.NDArray[np.int64]
    solution: Solution


def fit_scene(
    scene: Scene,
    *,
    top: int | None = None,
    items: Iterable[Any] | None = None,
    method: str = "scaling",
    tol: float = 1e-4,
    max_passes: int | None = None,
    new_items: str | None = None,
    start: Floats | None = None,
) -> Fitted:
    """The same for two dates that were looked at already, once for several fits.

    `start` has a log-weight for each item of the log, 0 for one that is not known; the options are as for
    `fit_weights`, and those of the policy are in the scene.
    """
    limit = MAX_PASSES[method] if max_passes is None else max_passes
    restricted = top is not None or items is not None
    target = scene.target(keep_new=new_items == "keep" and not restricted)
    chosen = _chosen(scene, target, top, items)
    theta = np.where((target > 0) | (restricted and not scene.drop), 0.0, -np.inf)
    if restricted and scene.drop:
        theta[scene.whole > 0] = 0.0
    if start is not None:
        theta[chosen] = start[chosen]
    problem = Problem(scene.now.profiles, target, theta, chosen)
    solver = {"scaling": scale, "descent": descend, "lbfgs": lbfgs}[method]
    solution = solver(problem, tol=tol, max_passes=limit)
    if not restricted:  # weights matter only up to a factor; fix it
        wanted = target > 0
        scaled = solution.theta - float((target[wanted] * solution.theta[wanted]).sum())
        solution = replace(solution, theta=scaled)
    return Fitted(target, chosen, solution)


def _chosen(scene: Scene, target: Floats, top: int | None, items: Iterable[Any] | None) -> npt.NDArray[np.int64]:
    """The items whose weights are fitted."""
    if top is not None:
        if top > len(scene.by_change):
            raise InputError(f"top is {top}, but only {len(scene.by_change)} items exist at both dates")
        return np.sort(scene.by_change[:top])
    if items is not None:
        codes = np.unique(scene.snapshot.item_codes(items, "items"))
        if len(codes) == 0:
            raise InputError("items is empty: name at least one")
        lost = codes[~(target[codes] > 0)]
        if len(lost):
            name = scene.snapshot.log.items[int(lost[0])]
            raise InputError(f"item {name!r} cannot be fitted: it does not exist at both dates")
        return codes
    return np.flatnonzero(target > 0)


def _log_weights(ids: Ids, warm_start: ItemWeights | Mapping[Any, float]) -> Floats:
    """A log-weight for each item of the log, 0 for one that the weights do not know."""
    if isinstance(warm_start, ItemWeights):
        codes, logs = ids.codes(warm_start.items), warm_start.log_weights
    elif not isinstance(warm_start, Mapping):
        raise InputError(
            f"warm_start is a {type(warm_start).__name__}; give fitted weights or a mapping {{item: weight}}"
        )
    else:
        codes, values = require_mapping_codes(ids, warm_start, "warm_start")
        if not (np.isfinite(values) & (values > 0)).all():
            raise InputError("the weights of warm_start must be positive numbers")
        logs = np.log(values)
    usable = (codes >= 0) & np.isfinite(logs)
    given = np.zeros(len(ids))
    given[codes[usable]] = logs[usable]
    return given


def _result(scene: Scene, fitted: Fitted) -> ItemWeights:
    """What was reached, in terms of the two dates; the options are filled in by the caller."""
    here = np.flatnonzero(scene.held)
    target, solution, q = fitted.target, fitted.solution, fitted.solution.q
    new = scene.held & (scene.whole == 0)
    unheld = np.concatenate([scene.whole[(scene.whole > 0) & ~scene.held], scene.outside])
    lost = np.concatenate([scene.whole[(scene.whole > 0) & ~scene.present], scene.outside])
    certificate = Certificate()
    if solution.trapped.any():
        holders = scene.now.kept_sizes(solution.trapped) > 0
        certificate = Certificate(
            items=int(solution.trapped.sum()),
            target=float(target[solution.trapped].sum()),
            reach=float(scene.now.shares()[holders].sum()),
            others=int(np.count_nonzero((target > 0) & ~solution.trapped)),
        )
    return ItemWeights(
        items=scene.snapshot.log.items.take(here),
        log_weights=solution.theta[here],
        p_reference=scene.whole[here],
        p_before=scene.p_before[here],
        p_after=q[here],
        target=target[here],
        vanished=np.sort(unheld)[::-1],
        trapped=solution.trapped[here],
        reference=scene.at,
        at=scene.snapshot.at,
        status=solution.status,
        divergence_before=scene.divergence_before,
        divergence_after=solution.divergence,
        bound_before=scene.bound_before,
        bound_after=scene.bound(q),
        residual=solution.residual,
        bound_least=solution.bound_least,
        gap=solution.gap,
        certificate=certificate,
        passes=solution.passes,
        history=solution.history,
        new_items=Share(int(new.sum()), float(scene.p_before[new].sum())),
        vanished_items=Share(len(lost), float(lost.sum())),
        users_left_out=scene.left_out,
        users_left_out_reference=scene.left_out_reference,
        frames=scene.snapshot.log.frames,
    )


def _check_options(
    top: int | None,
    items: Iterable[Any] | None,
    method: str,
    tol: float,
    max_passes: int | None,
    new_items: str | None,
    min_items: int,
    users: str,
) -> None:
    if method not in METHODS:
        raise PolicyError(f"method is {method!r}; it can be {', '.join(METHODS)}")
    if top is not None and items is not None:
        raise PolicyError("give top or items, not both")
    if method == "scaling" and (top is not None or items is not None):
        raise PolicyError(
            "scaling fits all items at once; on a subset it would solve another problem than minimising D. For "
            "the weights of some items alone use method='descent' or 'lbfgs' (--method descent), or leave out "
            "top and items"
        )
    if isinstance(items, str):
        raise PolicyError(f"items is the text {items!r}; give a list of item ids")
    for name, value in (("top", top), ("max_passes", max_passes), ("min_items", min_items)):
        if value is not None and not isinstance(value, int | np.integer):
            raise PolicyError(f"{name} is {value!r}; it must be a whole number")
    if top is not None and top < 1:
        raise PolicyError(f"top is {top}; it must be at least 1")
    if not isinstance(tol, int | float | np.number) or not 0 <= tol < np.inf:
        raise PolicyError(f"tol is {tol!r}; it must be a finite number that is not negative")
    if max_passes is not None and max_passes < 2:
        raise PolicyError(f"max_passes is {max_passes}; it must be at least 2 (one to look, one to certify)")
    if new_items not in (None, "drop", "keep"):
        raise PolicyError(f"new_items is {new_items!r}; it can be 'drop' or 'keep'")
    if min_items < 1:
        raise PolicyError(f"min_items is {min_items}; it must be at least 1")
    if users not in ("all", "both"):
        raise PolicyError(f"users is {users!r}; it can be 'all' or 'both'")
