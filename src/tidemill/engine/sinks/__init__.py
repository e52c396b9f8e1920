"""Where answers go. Delivery is idempotent: a tick that is run again delivers the same once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tidemill.catalog import Sink
from tidemill.engine.sinks.base import Batch, Printer, SinkWriter, distinct_writers
from tidemill.engine.sinks.console import ConsoleSink
from tidemill.engine.sinks.discard import DiscardSink
from tidemill.engine.sinks.json_lines import JsonSink
from tidemill.engine.sinks.memory import MemorySink
from tidemill.engine.sinks.parquet import ParquetSink
from tidemill.settings import Settings

__all__ = [
    "Batch",
    "MemorySink",
    "ParquetSink",
    "Printer",
    "SinkWriter",
    "distinct_writers",
    "open_sink",
]


def open_sink(
    sink: Sink, connection: sqlite3.Connection, staging: Path, settings: Settings, printer: Printer
) -> SinkWriter:
    match sink.address.scheme:
        case "parquet":
            folder = Path(sink.address.path)
            return ParquetSink(folder, connection, staging, settings)
        case "json":
            return JsonSink(Path(sink.address.path), connection)
        case "console":
            return ConsoleSink(printer)
        case "memory":
            return MemorySink()
        case _:
            return DiscardSink()
