"""Evaluating a recommender: rank the held-out items once, then score them under any weights and metric.

Ranks are the one expensive step. `rank_held_out` computes them; `HeldOutRanks.score` is then a few sweeps over
arrays. What is uncertain about a score is in `intervals`, what differs between two in `comparison` and
`changes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack, overload

from unskew.checks import public
from unskew.data.policy import check_level
from unskew.data.slice import Snapshot, Weights
from unskew.engines.population import is_at_spark, require_local
from unskew.errors import InputError, function
from unskew.evaluation.held_out_ranks import AnyMetric, HeldOutRanks
from unskew.evaluation.metric import distinct_metrics, is_one_metric
from unskew.evaluation.metric import metrics as named_metrics
from unskew.evaluation.pairs import PairSelection
from unskew.evaluation.ranking import rank_selection
from unskew.evaluation.score import Results, Score
from unskew.evaluation.selection_options import SelectionKeywords, SelectionOptions
from unskew.recommend.specs import AnyRecommender, AnyRecommenders, is_one_recommender, name_recommenders
from unskew.views.knowledge import Knowledge

Several = list[Any] | tuple[Any, ...]
"""Metrics or recommenders in a list, or anything of the kind, which is not a text or a function."""


class EvaluateKeywords(SelectionKeywords, total=False):
    """What `evaluate` takes besides: see there."""

    weights: Weights
    level: float
    knowledge: Knowledge | None
    view: str | None


@overload
def evaluate(
    recommender: AnyRecommender,
    snapshot: Snapshot,
    *,
    metric: AnyMetric = "hit@5",
    **options: Unpack[EvaluateKeywords],
) -> Score: ...


@overload
def evaluate(
    recommender: AnyRecommender,
    snapshot: Snapshot,
    *,
    metric: Several,
    **options: Unpack[EvaluateKeywords],
) -> Results[Score]: ...


@overload
def evaluate(
    recommender: Several | Mapping[str, AnyRecommender],
    snapshot: Snapshot,
    *,
    metric: AnyMetric | Several = "hit@5",
    **options: Unpack[EvaluateKeywords],
) -> Results[Score]: ...


@public
def evaluate(
    recommender: AnyRecommenders,
    snapshot: Snapshot,
    *,
    weights: Weights = None,
    metric: AnyMetric | Iterable[AnyMetric] = "hit@5",
    level: float = 0.95,
    knowledge: Knowledge | None = None,
    view: str | None = None,
    **selection: Unpack[SelectionKeywords],
) -> Score | Results[Score]:
    """The score of a recommender at a date: ``L = sum_ui P(u) P(i|u,w) l(g(u minus i), i)``.

    Parameters
    ----------
    recommender
        Anything with ``fit`` and ``recommend``, a function from a list of ids and k to a list of ids, or a spec
        such as ``"popular"`` or ``"knn?neighbours=50"``; or a list of these, or a mapping from the name that each
        is to have.
    snapshot
        The profiles; each item of each profile is held out in turn.
    weights
        Item weights from `fit_weights`, a mapping from item to weight (1 for an item that it does not name), or
        another method (`unskew.methods`); None for the raw score. With `after` or `leave_last_out`, fit them
        with the same option, so that they are fitted to what is held out: ``fit_weights(snapshot, reference,
        after=after)``.
    metric
        ``hit@5``, ``mrr@10``, ``ndcg@10``, ``rbp@100``, one of users such as ``user-ndcg@10``, or a `Metric` of
        one's own; or a list of these.
    sample
        Draw this many pairs (users by P(u) with repetition, then one item each) instead of taking all.
    seed
        Of the draws.
    leave_out
        How many items of a profile are held out at a time.
    after
        A time: the recommender is fitted then, sees the profiles of then, and has to find what its users
        interacted with later, up to the snapshot. Nothing later leaks. Who had no profile then is left out, and
        reported. Text such as ``"-30d"`` (``"-20"`` where times are plain numbers) says how long before the date
        it is. What is ``hit@5`` otherwise is called ``recall@5`` then.
    leave_last_out
        Hold out the last item of each profile (by time, then by id), and fit the recommender to profiles without
        them. Who has no other item is left out, and reported.
    folds
        Deal the pairs into this many folds, fit the recommender once for each without its pairs, and rank them:
        what it has learned then does not contain the pair, whatever recommender it is. The profile to rank with is
        everything but the held-out item.
    min_items
        Score only users with at least this many items to hold out from: in the profile or, with `after`, in what
        came later. Models are fitted to all users. Weights must have been fitted with the same number.
    level
        Of the interval.
    knowledge, view
        What you know about the recommendations in the log, as for `report`: the profiles are those of the best
        view that it allows, or of the one that is insisted on by name. Weights must have been fitted on the same
        view, with the same knowledge.

    Returns
    -------
    Score
        Or, where a list of recommenders or of metrics was given, a list of scores (`Results`): of each
        recommender all metrics. It can be had as a table.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("cid", "z")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> round(us.evaluate("popular", log.at(1), metric="hit@1").value, 4)
    0.8333
    """
    check_level(level)  # refuse it before the work, not after
    single = is_one_recommender(recommender) and is_one_metric(metric)
    wanted = distinct_metrics(metric)
    if single and len(wanted) > 1:
        names = ", ".join(each.name for each in wanted)
        raise InputError(
            f"{metric!r} stands for {names}, where one metric is asked for",
            remedy="put it into a list, to have a list of scores",
        )
    models = name_recommenders(recommender)
    known = Knowledge.of(knowledge, view)
    if known is not None:
        seed = selection.get("seed", 0)
        snapshot, _ = known.take_dates(snapshot, weights, view=view, candidates=models, test=True, seed=seed)
    if is_at_spark(snapshot):
        from unskew.engines.spark.evaluation import score_on_spark

        spark_scores = Results(
            score_on_spark(models, snapshot, [weights], wanted, level, SelectionOptions(**selection)),
            snapshot.log.frames,
        )
        return spark_scores[0] if single else spark_scores
    chosen = PairSelection.of(snapshot, [weights], **selection)
    ranked = (rank_selection(model, chosen, wanted, name=name) for name, model in models.items())
    scores = [ranks.score(metric, weights, level=level) for ranks in ranked for metric in wanted]
    return scores[0] if single else Results(scores, snapshot.log.frames)


@public
def rank_held_out(
    recommender: AnyRecommender,
    snapshot: Snapshot,
    *,
    metric: AnyMetric | Iterable[AnyMetric] = ("hit@5",),
    weights: Weights | Sequence[Weights] = None,
    **selection: Unpack[SelectionKeywords],
) -> HeldOutRanks:
    """Fit a recommender and rank every held-out item; the result can be scored again and again.

    Parameters are those of `evaluate`; `metric` decides how deep the lists must be (``"rank<=1,5,10"`` stands
    for several), and with `sample` the `weights`, one or several, decide which pairs are drawn.

    Examples
    --------
    >>> import unskew as us
    >>> rows = [("ann", "x"), ("ann", "y"), ("bob", "x"), ("bob", "y"), ("cid", "x"), ("cid", "z")]
    >>> log = us.read_log({"user": [u for u, _ in rows], "item": [i for _, i in rows], "time": [1] * 6})
    >>> ranks = us.rank_held_out("constant:x,y", log.at(1), metric="rank<=1,2")
    >>> [(s.metric, round(s.value, 3)) for s in ranks.scores("rank<=1,2")]
    [('hit@1', 0.5), ('hit@2', 0.833)]
    """
    require_local(snapshot, function("rank_held_out"))
    several = weights if isinstance(weights, Sequence) else [weights]
    chosen = PairSelection.of(snapshot, several, **selection)
    return rank_selection(recommender, chosen, named_metrics(metric))
