"""`console:`: answers shown as they are committed; at least once after a crash."""

from __future__ import annotations

from tidemill.engine.sinks.base import Batch, Printer
from tidemill.engine.sinks.discard import DiscardSink
from tidemill.spark.answer import CARRY


class ConsoleSink(DiscardSink):
    route = CARRY

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._pending: list[Batch] = []

    def recover(self) -> None:
        self._pending = []

    def deliver(self, batch: Batch) -> None:
        self._pending.append(batch)

    def committed(self, now_us: int) -> None:
        for batch in self._pending:
            if batch.rows is not None and len(batch.rows):
                self._printer(batch.query, batch.rows)
        self._pending = []
