"""The sink of a query behind a stream of answers: they become input of the streams' readers.

A tick's answers are staged by its tasks; they move beside the other handovers of the home, where
the commit names them. With them goes the promise that comes of the query's watermark: every
window that ended by then has been answered, so that no answer to come is about an older one. A
tick that answers nothing hands that over alone.
"""

from __future__ import annotations

from pathlib import Path

from tidemill.answer.request import STAGE
from tidemill.answer.rows import stage
from tidemill.connect.handovers import HandoverLedger
from tidemill.connect.sinks.contract import EXACTLY_ONCE, Batch, SinkWriter
from tidemill.language.names import Name


class HandoverSink(SinkWriter):
    delivery = STAGE
    promise = EXACTLY_ONCE

    def __init__(self, stream: Name, ledger: HandoverLedger, staging: Path) -> None:
        self._stream, self._ledger, self._staging = stream, ledger, staging
        self._files: list[str] = []
        self._rows = 0
        self._reached_us: int | None = None
        self._promised_us: int | None = None  # by the last commit of this process

    def recover(self) -> None:
        self.take_back()
        self._ledger.sweep(self._stream)

    def take_back(self) -> None:
        """The files are swept at the next start."""
        self._files, self._rows, self._reached_us = [], 0, self._promised_us

    def deliver(self, batch: Batch) -> None:
        name = batch.staged
        if batch.rows is not None and len(batch.rows):
            name = stage(self._staging, batch.tick, batch.rows)
        if name:
            place = self._ledger.place(self._stream)
            place.mkdir(parents=True, exist_ok=True)
            (self._staging / name).rename(place / name)
            self._files.append(name)
            self._rows += int(batch.counts.sum())

    def reach(self, watermark_us: int | None) -> None:
        self._reached_us = watermark_us

    def record(self) -> None:
        if self._rows or self._reached_us != self._promised_us:
            self._ledger.add(self._stream, self._files, self._rows, self._reached_us)

    def committed(self, now_us: int) -> None:
        self._promised_us = self._reached_us
        self.take_back()
