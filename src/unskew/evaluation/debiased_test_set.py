"""A debiased test set for any framework: pairs drawn with the weights, and what is left of the profiles."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unskew.arrays.types import Codes, Floats
from unskew.checks import Seed, public
from unskew.data.slice import Snapshot, Weights
from unskew.data.times import Label
from unskew.engines.population import is_at_spark
from unskew.evaluation.pairs import HoldOut, PairSelection, pairs_of, take_out_of
from unskew.evaluation.selection_options import SelectionKeywords, SelectionOptions
from unskew.frames import show_as_table, to_native
from unskew.methods.method import Method
from unskew.storage.tables import write_table
from unskew.views.knowledge import Knowledge

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot


@dataclass(frozen=True, repr=False, eq=False)
class TestSet:
    """Held-out pairs to score any recommender on.

    Attributes
    ----------
    table
        Columns user, item (held out), probability (P(u) P(i|u,w) of the pair) and profile (what is left, or what
        was there at the time of a time split: a list in the order in which it was taken). One row a draw; a pair
        may come several times.
    about
        How it was made and who was left out; `save` writes it to the metadata of the file.
    """

    __test__ = False  # not a test, whatever its name

    table: pa.Table
    about: dict[str, Any]
    frames: str | None = None

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"TestSet({len(self)} held-out pairs at {self.about['at']})"

    def to_arrow(self) -> pa.Table:
        """The table."""
        return self.table

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """The table in the dataframe library that the log came in."""
        return to_native(self.table, self.frames)

    def save(self, path: str | Path) -> None:
        """Write the table as Parquet, with how it was made in the metadata; as CSV to a ``.csv`` file."""
        write_table(Path(path), self.table, "sample", self.about)


@public
def sample_pairs(
    snapshot: Snapshot,
    weights: Weights = None,
    *,
    sample: int = 20_000,
    seed: Seed = 0,
    after: Any = None,
    leave_last_out: bool = False,
    min_items: int = 1,
    knowledge: Knowledge | None = None,
    view: str | None = None,
) -> TestSet:
    """Draw a test set: users by P(u) with repetition, then one item each by P(i|u,w).

    The mean of any metric over the rows is an unbiased estimate of the weighted score; no weights are needed
    any more. Pairs are drawn as for `evaluate` with the same sample and seed. `after`, `leave_last_out` and
    `min_items` are as there: profiles are then those at the time `after`, or those without their last items.
    So are `knowledge` and `view`: pairs are drawn from the view of the log that they allow.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": [1, 1, 2], "item": ["a", "b", "a"], "time": [1, 2, 3]})
    >>> us.sample_pairs(log.at(3), sample=2).to_arrow().column_names
    ['user', 'item', 'probability', 'profile']
    """
    chosen: SelectionKeywords = {
        "sample": sample,
        "seed": seed,
        "after": after,
        "leave_last_out": leave_last_out,
        "min_items": min_items,
    }
    known = Knowledge.of(knowledge, view)
    if known is not None:
        snapshot, _ = known.take_dates(snapshot, weights, view=view, seed=seed)
    if is_at_spark(snapshot):
        return _sample_on_spark(snapshot, weights, SelectionOptions(**chosen))
    selection = PairSelection.of(snapshot, [weights], **chosen)
    weighting = selection.weightings[0]
    entries = np.sort(selection.pairs.entry[selection.places_of_draws(weighting)])
    return _list_pairs(selection, entries, weighting.pair_shares[entries], weights)


def _sample_on_spark(snapshot: SparkSnapshot, weights: Any, options: SelectionOptions) -> TestSet:
    """The same where the profiles are on a cluster: the same seed draws the same pairs."""
    from unskew.engines.spark.evaluation import refuse_protocols, weigh_on_spark
    from unskew.engines.spark.sample import SampledSelection

    refuse_protocols(options)
    assert options.sample is not None
    weighting = weigh_on_spark(snapshot.with_min_items(options.min_items), weights)
    selection, sample, draws = SampledSelection.draw(snapshot, [weighting], options.sample, options.seed, others=0)
    entries = sample.entries(draws[0])
    order = np.argsort(entries, kind="stable")
    return _list_pairs(selection, entries[order], draws[0].probability[order], weights)


def _list_pairs(selection: PairSelection, entries: Codes, probability: Floats, weights: Any) -> TestSet:
    weighting, split = selection.weightings[0], selection.split
    pairs = take_out_of(pairs_of(split.pairs, entries), split.known if split.is_from_profiles else None)
    log = split.pairs.log
    items, offsets = [], [np.zeros(1, dtype=np.int64)]
    for _, batch in HoldOut(split.known).batches(pairs, 10**6):
        items.append(batch.item)
        offsets.append(batch.start[1:] + offsets[-1][-1])
    table = pa.table(
        {
            "user": log.users.take(pairs.user),
            "item": log.items.take(pairs.item),
            "probability": probability,
            "profile": pa.LargeListArray.from_arrays(
                pa.array(np.concatenate(offsets)), log.items.values.take(pa.array(np.concatenate(items)))
            ),
        }
    )
    about = {
        "at": split.pairs.at,
        "protocol": split.pairs.policy.protocol,
        "after": split.pairs.after,
        "method": weights.name if isinstance(weights, Method) else None,
        "reference": _name_reference(weights),
        "n": selection.sample,
        "seed": selection.seed,
        "policy": getattr(weights, "policy", split.pairs.policy).to_dict(),
        "users_excluded": asdict(selection.users_excluded(weighting)),
        "users_without_profile": asdict(selection.users_without_profile),
        "users_below_min_items": asdict(selection.users_below_min_items),
    }
    return TestSet(table, about, log.frames)


def _name_reference(weights: Weights) -> Label | None:
    """The date that the weights aim at, if they know one; a method holds the profiles or the item mix of it."""
    reference = getattr(weights, "reference", None)
    return reference if isinstance(reference, Label) else getattr(reference, "at", None)
