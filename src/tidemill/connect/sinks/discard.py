"""`discard:`: answers are computed and counted, then dropped."""

from __future__ import annotations

from tidemill.answer.request import COUNT
from tidemill.catalog import Sink
from tidemill.connect.sinks.contract import AT_MOST_ONCE, Batch, SinkTools, SinkWriter


class DiscardSink(SinkWriter):
    delivery = COUNT
    promise = AT_MOST_ONCE

    def __init__(self, sink: Sink, tools: SinkTools) -> None:
        """There is nothing to open."""

    def deliver(self, batch: Batch) -> None:
        """The engine has counted the rows."""
