"""How far the item mix moved, beside what chance alone would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unskew.arrays import distances
from unskew.arrays.item_kernels import add_drawn_rows
from unskew.arrays.profiles import Profiles
from unskew.arrays.types import Codes, Floats
from unskew.checks import public
from unskew.data.policy import Share
from unskew.data.slice import Slice
from unskew.data.times import Label
from unskew.engines.population import is_at_spark
from unskew.frames import show_as_table, to_native
from unskew.views.knowledge import Knowledge
from unskew.weights.alignment import Alignment, Reference
from unskew.weights.fit_options import FitOptions

if TYPE_CHECKING:
    from unskew.engines.spark.log import SparkSnapshot

_DRAWS = 19  # a distance above all of them comes by chance once in 20 times
_STREAM = 0xC4A2CE  # of random numbers
_BATCH = 2**20  # items that are drawn at a time, which bounds the memory


@dataclass(frozen=True)
class Chance:
    """The total variation that chance alone gives.

    Attributes
    ----------
    value, low, high
        The mean, the smallest and the largest of 19 random samples. If nothing drifted, a distance is above `high`
        once in 20 times.
    users_alone
        The mean for users drawn with all the items that they have today: the part of `value` that is due to who
        the users were, and not to which of their items they had.
    """

    value: float
    low: float
    high: float
    users_alone: float


def measure_chance(now: Slice, reference: Slice) -> Chance:
    """The distance from the mix of `now` that random samples of it have which are as large as `reference`.

    A sample has ``min(n_t0, n_t1)`` users, drawn without replacement. Each has as many of its items of today,
    drawn at random, as it had at t0; a user who came later has as large a part of them as a random user of t0.

    Examples
    --------
    >>> import unskew as us
    >>> log = us.read_log({"user": [1, 2, 3], "item": ["a", "a", "b"], "time": [0, 0, 9]})
    >>> chance = measure_chance(log.at(9), log.at(0))  # a and a, or a and b, against 2/3 and 1/3
    >>> round(chance.low, 3), round(chance.high, 3)
    (0.167, 0.333)
    """
    profiles, mix = now.profiles, now.probabilities()
    sizes, earlier = profiles.sizes(), _earlier_sizes(now, reference)
    pool = np.flatnonzero(now.shares() > 0)
    stayed = pool[earlier[pool] > 0]
    parts = np.minimum(earlier[stayed] / sizes[stayed], 1.0) if len(stayed) else np.ones(1)
    rng = np.random.default_rng([0, _STREAM])
    thinned, whole = [], []
    for _ in range(_DRAWS):
        users = rng.permutation(pool)[: reference.n_users]
        copied = np.rint(sizes[users] * rng.choice(parts, len(users))).astype(np.int64)
        wanted = np.clip(np.where(earlier[users] > 0, earlier[users], copied), 1, sizes[users])
        thinned.append(distances.total_variation(_draw_mix(profiles, users, wanted, rng), mix))
        whole.append(distances.total_variation(_draw_mix(profiles, users, sizes[users], rng), mix))
    return Chance(float(np.mean(thinned)), min(thinned), max(thinned), float(np.mean(whole)))


def _earlier_sizes(now: Slice, reference: Slice) -> Codes:
    """How many items each user of `now` had at the reference date, maybe of another log; 0 for none."""
    sizes = reference.sizes()
    if reference.log.users is now.log.users:
        return sizes
    codes = reference.log.users.codes(now.log.users.values)
    earlier: Codes = np.where(codes >= 0, sizes[codes], 0)
    return earlier


def _draw_mix(profiles: Profiles, users: Codes, wanted: Codes, rng: np.random.Generator) -> Floats:
    """The item mix of these users, each with so many of its items at random."""
    sums, mass = np.zeros(profiles.n_items), 0.0
    scratch = np.empty(int(profiles.sizes_of(users).max()), dtype=np.int64)
    edges = np.searchsorted(np.cumsum(wanted), np.arange(0, int(wanted.sum()), _BATCH))
    for first, end in zip(edges, [*edges[1:], len(users)], strict=True):
        batch = slice(first, end)
        uniform = rng.random(int(wanted[batch].sum()))
        mass += add_drawn_rows(
            users[batch], wanted[batch], uniform, profiles.rows, profiles.a, profiles.b, scratch, sums
        )
    return sums / mass


@dataclass(frozen=True, repr=False, eq=False)
class Drift:
    """What moved between a reference date and a snapshot.

    Attributes
    ----------
    items, p_reference, p_now
        Every item of either date, largest change first, with its probability at both.
    divergence
        ``D(P_t0 || P_t1)`` in nats, over the items of both dates.
    bound
        Total variation: no constant algorithm's score in [0, 1] has changed by more.
    chance
        The total variation that chance alone gives, see `Chance`; None on Spark, and if the reference is a
        marginal, which does not say how many users it has.
    reference_users
        Number of users at the reference date; None if the reference is a marginal.
    """

    items: pa.Array
    p_reference: Floats
    p_now: Floats
    reference: Label | None
    at: Label
    divergence: float
    bound: float
    new_items: Share
    vanished_items: Share
    frames: str | None = None
    chance: Chance | None = None
    reference_users: int | None = None

    @property
    def drifted(self) -> bool | None:
        """Whether the item mix drifted by more than chance; None if that is not known."""
        return None if self.chance is None else self.bound > self.chance.high

    @property
    def conclusion(self) -> str:
        """The same in a sentence, with both distances."""
        if self.chance is None:
            reason = (
                "a saved mix has no number of users; compare with a date of the log instead"
                if self.reference_users is None
                else "the distance that chance alone gives is not computed on Spark"
            )
            span = f"between the reference and {self.at}" if self.reference is None else self._span
            distance = f"total variation is {self.bound:.3f}"
            return (
                f"The data cannot show whether the item mix drifted by more than chance {span} ({distance}): "
                f"{reason}."
            )
        verb = "drifted" if self.drifted else "did not drift"
        low, high = (f"{limit:.3f}" for limit in (self.chance.low, self.chance.high))
        return (
            f"The item mix {verb} by more than chance {self._span}: total variation is {self.bound:.3f}, and "
            f"{self.chance.value:.3f} ({low} to {high}) by chance alone."
        )

    @property
    def _span(self) -> str:
        return f"from {self.reference} to {self.at}"

    @property
    def change(self) -> Floats:
        """``P_t1(i) - P_t0(i)``."""
        return self.p_now - self.p_reference

    def worst(self, k: int) -> float:
        """The most by which hit@k of a constant list has changed."""
        return distances.worst(self.p_reference, self.p_now, k)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return (
            f"Drift({self.reference} to {self.at}: {len(self)} items, total variation {self.bound:.4g}, "
            f"divergence {self.divergence:.4g} nats)"
        )

    def to_arrow(self) -> pa.Table:
        """Columns item, p_reference, p_now, change; largest change first."""
        return pa.table(
            {
                "item": self.items,
                "p_reference": self.p_reference,
                "p_now": self.p_now,
                "change": self.change,
            }
        )

    _repr_html_ = show_as_table

    def to_frame(self) -> Any:
        """The same in the dataframe library that the log came in."""
        return to_native(self.to_arrow(), self.frames)

    def plot(self, top: int = 20, *, names: Mapping[Any, str] | None = None) -> Any:
        """The items whose share changed most as an altair chart; `names` says what they are called."""
        from unskew.weights.mix_charts import plot_drift  # a drawing library is loaded when it draws

        return plot_drift(self, top, names or {})

    def to_dict(self, top: int = 20) -> dict[str, Any]:
        """All figures and the `top` items, ready for JSON: what ``unskew drift --json`` prints."""
        return {
            "reference": self.reference,
            "at": self.at,
            "divergence": self.divergence,
            "bound": self.bound,
            "chance": None if self.chance is None else asdict(self.chance),
            "drifted": self.drifted,
            "worst_at_5": self.worst(5),
            "items": len(self),
            "new_items": asdict(self.new_items),
            "vanished_items": asdict(self.vanished_items),
            "top": self.to_arrow().slice(0, min(top, len(self))).to_pylist(),
        }


@public
def drift(
    snapshot: Slice | SparkSnapshot,
    reference: Reference,
    *,
    knowledge: Knowledge | None = None,
    view: str | None = None,
) -> Drift:
    """Compare the item mix of `snapshot` with that of `reference`; both as for `fit_weights`.

    With `knowledge` about the recommendations in the log, or a `view` by name, both are those of the view that
    this allows, as for `report`.

    The result says whether the mix drifted by more than chance (`Drift.drifted`, `Drift.conclusion`). What moved
    it is another question: seasons and news are part of the item mix as well as recommendations.

    >>> import unskew as us
    >>> log = us.read_log({"user": [1, 2, 1], "item": ["a", "b", "b"], "time": [0, 0, 9]})
    >>> us.drift(log.at(9), log.at(0))
    Drift(0 to 9: 2 items, total variation 0.25, divergence 0.1438 nats)
    >>> us.drift(log.at(9), log.at(0)).drifted
    False
    """
    knowledge = Knowledge.of(knowledge, view)
    if knowledge is not None:
        snapshot, reference = knowledge.take_dates(snapshot, reference, view=view)
    aligned = Alignment.of(snapshot, reference, FitOptions(new_items="keep"))
    mix = aligned.reference
    here = np.flatnonzero((mix.known > 0) | aligned.held)
    items = _join_ids(snapshot.log.items.take(here), mix.outside_items)
    p = np.concatenate([mix.known[here], mix.outside])
    q = np.concatenate([aligned.p_before[here], np.zeros(len(mix.outside))])
    order = np.argsort(-np.abs(q - p), kind="stable")
    gone = aligned.vanished(aligned.held)
    known = np.where(aligned.held, mix.known, 0.0)
    chance, users = None, None
    if isinstance(reference, Slice) or is_at_spark(reference):
        users = reference.n_users
        if isinstance(reference, Slice) and isinstance(snapshot, Slice):
            chance = measure_chance(snapshot, reference)
    return Drift(
        items=items.take(pa.array(order)),
        p_reference=p[order],
        p_now=q[order],
        reference=aligned.at,
        at=snapshot.at,
        divergence=distances.divergence(known / known.sum(), aligned.p_before),
        bound=distances.total_variation(p, q),
        new_items=Share.of(aligned.new, aligned.p_before),
        vanished_items=Share(len(gone), float(gone.sum())),
        frames=snapshot.log.frames,
        chance=chance,
        reference_users=users,
    )


def _join_ids(items: pa.Array, more: pa.Array) -> pa.Array:
    """Ids of two origins in one array, of the first's type where that has room for the second's."""
    if len(more) == 0:
        return items
    plain = [a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for a in (items, more)]
    try:
        both = pa.concat_arrays([plain[0], plain[1].cast(plain[0].type)])
    except pa.ArrowInvalid:
        both = pa.concat_arrays([plain[0].cast(plain[1].type), plain[1]])
    return both.dictionary_encode() if pa.types.is_dictionary(items.type) else both
