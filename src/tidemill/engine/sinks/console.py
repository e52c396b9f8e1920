"""`console:`: answers shown just before they are committed, so again after a crash."""

from __future__ import annotations

from tidemill.engine.sinks.base import Batch, Printer
from tidemill.engine.sinks.discard import DiscardSink
from tidemill.spark.answer import CARRY


class ConsoleSink(DiscardSink):
    """At least once: what was shown and not committed is shown again."""

    route = CARRY

    def __init__(self, printer: Printer) -> None:
        self._printer = printer

    def deliver(self, batch: Batch) -> None:
        for query, rows in batch.tables():
            if len(rows):
                self._printer(query, rows)
