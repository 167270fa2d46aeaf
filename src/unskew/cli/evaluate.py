"""``unskew evaluate``: scores of recommenders, raw and weighted, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.options import FILE, LogOptions, log_options, show_options
from unskew.errors import InputError

if TYPE_CHECKING:
    from unskew.comparison import Change, Comparison
    from unskew.evaluation import HeldOutRanks
    from unskew.result import ItemWeights
    from unskew.scene import Reference
    from unskew.score import Score
    from unskew.snapshot import Snapshot
    from unskew.times import Moment


_INTERVALS = {
    "users": "users are the independent units, weights and models taken as given",
    "wilson": "hits of a sample, about the score of all pairs",
    "draws": "draws of a sample, about the score of all pairs",
    "bootstrap": "weighted: users drawn again at both dates, weights fitted again",
    "bootstrap, target known": "weighted: users drawn again, weights fitted again, the target taken as known",
}
"""What the intervals of each method are about."""


@click.command()
@log_options
@click.option("--at", required=True, metavar="T", help="Date of the profiles; a bare date is the end of that day.")
@click.option(
    "--reference",
    type=FILE,
    metavar="T0|FILE",
    help="Fit weights to this date; also score there and split the change.",
)
@click.option(
    "--weights",
    "weights_file",
    type=FILE,
    metavar="FILE",
    help="Weights from 'unskew weights', instead of --reference.",
)
@click.option(
    "-r",
    "--recommender",
    "specs",
    required=True,
    multiple=True,
    metavar="SPEC",
    help="What to score; repeat for several.",
)
@click.option(
    "-q",
    "--quality",
    "names",
    multiple=True,
    default=("hit@5",),
    show_default=True,
    metavar="NAME",
    help="hit@k, mrr@k, ndcg@k, rbp@k or rank<=1,5,10; repeat for several.",
)
@click.option("--top", type=int, metavar="P", help="Fit only the P items of largest change, by descent.")
@click.option("--sample", type=int, metavar="N", help="Draw N pairs instead of taking all.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of everything that is random."
)
@click.option(
    "--leave-out",
    default=1,
    show_default=True,
    type=int,
    metavar="N",
    help="Take N items out of a profile at a time.",
)
@click.option("--after", metavar="T", help="Fit at T and hold out what was taken later: a global time split.")
@click.option("--by", "column", metavar="COLUMN", help="Also score each value of this column of the log.")
@click.option(
    "--refit",
    type=int,
    is_flag=False,
    flag_value=200,
    metavar="[N]",
    help="Bootstrap users at both dates N times, fitting the weights again.  [200 if no N is given]",
)
@click.option("--level", default=0.95, show_default=True, type=float, help="Level of the intervals.")
@show_options
def evaluate(source: LogOptions, as_json: bool, **given: Any) -> None:
    """Score recommenders on held-out items, raw and weighted.

    SPEC is constant:a,b,c, popular, knn?neighbours=50&similarity=cosine, ease?l2=500, als?factors=64 (needs
    implicit), table:recommendations.parquet, or package.module:Class.

    \b
    Examples:
      unskew evaluate events.parquet --at 2024-09-01 -r popular -r knn -q hit@5 -q mrr@10
      unskew evaluate events.parquet --reference 2024-03-01 --at 2024-09-01 -r popular
    """
    from unskew.cli.show import print_json

    options = Options(source=source, **given)
    found = options.run()
    if as_json:
        print_json(found.to_dict())
    else:
        found.show()


@dataclass(frozen=True)
class Findings:
    """All that a run found."""

    scores: list[Score]
    changes: list[Change]
    comparisons: list[Comparison]
    weights: ItemWeights | None
    bounded: bool = True  # whether the bound of the weights is about these scores

    def to_dict(self) -> dict[str, Any]:
        return {
            "scores": [s.to_dict() for s in self.scores],
            "changes": [c.to_dict() for c in self.changes],
            "comparisons": [c.to_dict() for c in self.comparisons],
            "weights": None if self.weights is None else self.weights.to_dict(),
        }

    def show(self) -> None:
        from unskew.cli.show import number, percent, print_line, print_table

        split = any(s.segment for s in self.scores)

        def about(s: Score) -> list[str]:
            segment = [s.segment or "all"] if split else []
            return [*segment, str(s.at), s.weighting if s.top is None else f"top {s.top}"]

        names = [*(["segment"] if split else []), "at", "weighting"]
        rows = [
            [s.recommender, s.quality, *about(s), f"{s.value:z.4f}", f"{s.low:z.4f}", f"{s.high:z.4f}"]
            for s in self.scores
        ]
        print_table(["recommender", "quality", *names, "score", "low", "high"], rows, left=2 + len(names))
        behind = [
            [
                *about(s),
                number(s.pairs),
                number(round(s.effective_pairs)),
                percent(s.largest_item),
                percent(s.users_left_out.mass),
            ]
            for s in self.scores
        ]
        head = [*names, "pairs", "effective", "largest item", "users left out"]
        print_table(head, [list(row) for row in dict.fromkeys(map(tuple, behind))], left=len(names))
        told = [meant for method, meant in _INTERVALS.items() if any(s.method == method for s in self.scores)]
        print_line(f"Intervals of {100 * self.scores[0].level:g} %: {'; '.join(told)}.")
        for change in self.changes:
            print_line(f"{change}.")
        if self.weights is not None and self.bounded:
            print_line(
                f"Weights: {self.weights.status}, the score of a constant algorithm is within "
                f"{self.weights.bound_after:.4f} of its score at {self.weights.reference} "
                f"({self.weights.bound_before:.4f} before){_left_out(self.weights)}. Item weights alone do not "
                "repair personalised algorithms: what they leave unexplained can still be bias."
            )
        for c in self.comparisons:
            print_line(
                f"{c.a} minus {c.b}, {c.quality}, {c.weighting}: {c.difference:+z.4f} "
                f"[{c.low:+z.4f}, {c.high:+z.4f}], p {_p(c.p_holm)} (Holm)"
            )


def _left_out(weights: ItemWeights) -> str:
    """At whose cost the bound was bought: it is about the users who are left, at both dates."""
    from unskew.cli.show import percent

    now, then = weights.users_left_out, weights.users_left_out_reference
    if now.count + then.count == 0:
        return ""
    return f", with {percent(now.mass)} of the users left out now and {percent(then.mass)} then"


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"= {value:.2g}"


def _held_out_from(snapshot: Any, start: Moment | None) -> Any:
    """What items are held out from: the profiles, or with --after what came to them; a marginal as it is."""
    from unskew.heldout import Later

    return snapshot if start is None else Later.of(snapshot, start).pairs


@dataclass(frozen=True)
class Options:
    """What the command was asked to do."""

    source: LogOptions
    at: str
    reference: str | None
    weights_file: str | None
    specs: tuple[str, ...]
    names: tuple[str, ...]
    top: int | None
    sample: int | None
    seed: int
    leave_out: int
    after: str | None
    column: str | None
    refit: int | None
    level: float

    def run(self) -> Findings:
        """Read, rank, score."""
        from unskew.quality import qualities
        from unskew.recommend.specs import recommender

        self._check()
        wanted = qualities(self.names)
        for spec in self.specs:
            recommender(spec)  # so that a slip is found before the work
        log = self.source.read(labels=[self.column] if self.column else [])
        now = self.source.snapshot(log, self.at)
        before = self.source.reference(log, self.reference) if self.reference else None
        start, earlier_start = self._starts(now, before)
        before_pairs = _held_out_from(before, earlier_start)
        weights = self._weights(_held_out_from(now, start), before_pairs)
        ranked = [self._ranked(spec, now, wanted, weights, start) for spec in self.specs]
        earlier = self._earlier(before, wanted, earlier_start)
        scores: list[Score] = []
        for k, r in enumerate(ranked):
            for q in wanted:
                scores += [earlier[k].score(q, level=self.level)] if earlier else []
                scores += [r.score(q, w, level=self.level) for w in self._weightings(weights)]
                if self.column:
                    scores += self._segments(r, q, weights)
        changes, scores = self._changes(ranked, earlier, weights, before_pairs, wanted, scores)
        comparisons = self._comparisons(ranked, wanted, weights)
        return Findings(scores, changes, comparisons, weights, weights is None or weights.is_of(now))

    def _check(self) -> None:
        from unskew.intervals import critical

        critical(self.level)
        if self.sample is not None and self.sample < 1:
            raise InputError(f"--sample is {self.sample}; draw at least 1 pair")
        if self.leave_out < 1:
            raise InputError(f"--leave-out is {self.leave_out}; take out at least 1 item")
        if self.after is not None and self.leave_out > 1:
            raise InputError("--leave-out takes items out of profiles; with --after none is taken out: give one")
        if self.refit is not None and self.refit < 2:
            raise InputError(f"--refit is {self.refit}; a bootstrap needs at least 2 samples")
        if self.reference and self.weights_file:
            raise InputError("give --reference or --weights, not both")
        if self.top is not None and not self.reference:
            raise InputError("--top fits weights: it needs --reference")
        if self.refit is not None and not self.reference:
            raise InputError("--refit fits weights again: it needs --reference")
        if self.refit is not None and self.sample is not None:
            raise InputError("--refit needs every pair: leave out --sample")
        if self.column is not None and self.sample is not None:
            raise InputError("--by needs every pair: leave out --sample")

    def _starts(self, now: Snapshot, before: Reference | None) -> tuple[Moment | None, Moment | None]:
        """With --after: when what is held out begins, and the same so long before the reference date."""
        from unskew.snapshot import Snapshot
        from unskew.times import Moment

        if self.after is None:
            return None, None
        start = now.log.axis.moment(self.after)
        if not isinstance(before, Snapshot):
            return start, None
        tick = before.tick - (now.tick - start.tick)
        if tick < before.log.time.min():
            raise InputError(
                f"--after {self.after} is so long before {now.at} that the same time before {before.at} is before "
                f"the log begins at {before.log.first}: take a later --after or a later --reference"
            )
        return start, Moment(tick, before.log.axis.show(tick))

    def _weights(self, now: Snapshot, before: Reference | None) -> ItemWeights | None:
        from unskew.result import ItemWeights
        from unskew.weights import fit_weights

        if self.weights_file:
            return ItemWeights.load(self.weights_file)
        if before is None:
            return None
        return fit_weights(now, before, top=self.top, method="scaling" if self.top is None else "descent")

    @staticmethod
    def _weightings(weights: ItemWeights | None) -> list[ItemWeights | None]:
        return [None] if weights is None else [None, weights]

    def _ranked(
        self, spec: str, snapshot: Snapshot, wanted: list[Any], weights: ItemWeights | None, after: Any
    ) -> HeldOutRanks:
        from unskew.evaluation import rank_held_out

        return rank_held_out(
            spec,
            snapshot,
            qualities=wanted,
            weights=self._weightings(weights),
            sample=self.sample,
            seed=self.seed,
            leave_out=self.leave_out,
            after=after,
        )

    def _earlier(self, before: Reference | None, wanted: list[Any], start: Moment | None) -> list[HeldOutRanks]:
        """The same recommenders at the reference date, if that is a date."""
        from unskew.snapshot import Snapshot

        if not isinstance(before, Snapshot):
            return []
        return [self._ranked(spec, before, wanted, None, start) for spec in self.specs]

    def _segments(self, ranks: HeldOutRanks, quality: Any, weights: ItemWeights | None) -> list[Score]:
        assert self.column is not None
        found: list[Score] = []
        for w in self._weightings(weights):
            found += ranks.by_segment(self.column, quality, w, level=self.level)
        return [replace(s, segment=f"{self.column}={s.segment}") for s in found]

    def _changes(
        self,
        ranked: list[HeldOutRanks],
        earlier: list[HeldOutRanks],
        weights: ItemWeights | None,
        before: Reference | None,
        wanted: list[Any],
        scores: list[Score],
    ) -> tuple[list[Change], list[Score]]:
        """The split of the change since t0; with --refit, intervals that know that the weights were fitted."""
        from unskew.comparison import change, refitted_change
        from unskew.refit import refit, with_refitted_interval

        if weights is None:
            return [], scores
        changes = [
            change(now, then, weights, quality=q, level=self.level)
            for now, then in zip(ranked, earlier, strict=False)
            for q in wanted
        ]
        if self.refit is None:
            return changes, scores
        again = refit(ranked, before, weights, wanted, before=earlier, repeats=self.refit, seed=self.seed)
        place = {(r.recommender, q.name): (i, j) for i, r in enumerate(ranked) for j, q in enumerate(wanted)}
        new = []
        for s in scores:
            i, j = place[s.recommender, s.quality]
            weighted = s.weighting == "weighted" and s.segment is None
            new.append(
                with_refitted_interval(s, again.now[:, i, j], target_known=again.target_known) if weighted else s
            )
        if again.before is not None:
            changes = [
                refitted_change(c, again.now[:, i, j], again.raw[:, i, j], again.before[:, i, j])
                for c in changes
                for i, j in [place[c.recommender, c.quality]]
            ]
        return changes, new

    def _comparisons(
        self, ranked: list[HeldOutRanks], wanted: list[Any], weights: ItemWeights | None
    ) -> list[Comparison]:
        from unskew.comparison import compare

        if len(ranked) < 2:
            return []
        return [
            c
            for q in wanted
            for w in self._weightings(weights)
            for c in compare(*ranked, quality=q, weights=w, level=self.level)
        ]
