"""How every worker makes the profiles at a date of its own blocks: the view, the date, and P(i|u)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from unskew.data.ids import Ids
from unskew.data.log import Log
from unskew.data.priors import ItemPrior
from unskew.data.slice import Snapshot
from unskew.data.times import Moment
from unskew.engines.block_logs import BlockForm
from unskew.engines.block_table import Record

ViewStep = Callable[[Log], Log]
"""One view of a log, or of a block of it, made from another."""


@dataclass(frozen=True)
class LogRule:
    """How a block becomes a log: what all blocks have in common, and the views that are taken one after the
    other.
    """

    form: BlockForm
    views: tuple[ViewStep, ...] = ()

    def log(self, record: Record) -> Log:
        """The log of one block."""
        log = self.form.log(record)
        for view in self.views:
            log = view(log)
        return log

    def with_ids(self, items: Ids) -> LogRule:
        """The same for work that needs the ids of the items."""
        return replace(self, form=replace(self.form, items=items))


@dataclass(frozen=True)
class SnapshotRule:
    """How a block becomes profiles at a date."""

    of_log: LogRule
    moment: Moment
    p_item: ItemPrior = None

    def log(self, record: Record) -> Log:
        """The log of one block."""
        return self.of_log.log(record)

    def cut_off(self, log: Log) -> Snapshot:
        """The profiles of a block at the date; maybe nobody holds anything."""
        return Snapshot.cut_off(log, self.moment).with_priors(None, self.p_item)

    def with_ids(self, items: Ids) -> SnapshotRule:
        """The same for work that needs the ids of the items."""
        return replace(self, of_log=self.of_log.with_ids(items))
