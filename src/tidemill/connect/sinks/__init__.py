"""The places where answers go. `contract.py` says what a sink is; each kind has a module."""

from __future__ import annotations

from tidemill.catalog import Sink
from tidemill.catalog.addresses import SINKS
from tidemill.connect.sinks.contract import (
    Batch,
    Printer,
    SinkTools,
    SinkWriter,
    distinct_writers,
)

__all__ = ["Batch", "Printer", "SinkTools", "SinkWriter", "distinct_writers", "open_sink"]


def open_sink(sink: Sink, tools: SinkTools) -> SinkWriter:
    """The writer for a sink; nothing is written yet."""
    connector = SINKS[sink.address.scheme]
    writer: SinkWriter = connector.load("sinks")(sink, tools)
    return writer
