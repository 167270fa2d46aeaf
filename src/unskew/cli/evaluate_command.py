"""``unskew evaluate``: scores of recommenders, raw and weighted, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from unskew.cli.report_text import Findings
from unskew.cli.shared_options import FILE, LogOptions, log_options, score_options, show_options
from unskew.errors import InputError

if TYPE_CHECKING:
    from unskew.evaluation.comparison import Change, Comparison
    from unskew.evaluation.evaluate import HeldOutRanks
    from unskew.weights.item_weights import ItemWeights
    from unskew.weights.alignment import Reference
    from unskew.evaluation.score import Score
    from unskew.data.snapshot import Snapshot
    from unskew.data.times import Moment


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
@score_options
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
    from unskew.cli.printing import print_json

    options = Options(source=source, **given)
    found = options.run()
    if as_json:
        print_json(found.to_dict())
    else:
        found.show()


def _held_out_from(snapshot: Any, start: Moment | None) -> Any:
    """What items are held out from: the profiles, or with --after what came to them; a marginal as it is."""
    from unskew.evaluation.pairs import Later

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
        from unskew.evaluation.quality import qualities
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
        from unskew.evaluation.intervals import critical

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
        from unskew.data.snapshot import Snapshot
        from unskew.data.times import Moment

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
        from unskew.weights.item_weights import ItemWeights
        from unskew.weights.fitting import fit_weights

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
        from unskew.evaluation.evaluate import rank_held_out

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
        from unskew.data.snapshot import Snapshot

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
        from unskew.evaluation.comparison import change, refitted_change
        from unskew.evaluation.bootstrap import refit, with_refitted_interval

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
        from unskew.evaluation.comparison import compare

        if len(ranked) < 2:
            return []
        return [
            c
            for q in wanted
            for w in self._weightings(weights)
            for c in compare(*ranked, quality=q, weights=w, level=self.level)
        ]
