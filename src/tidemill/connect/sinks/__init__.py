"""Where answers go. Delivery is idempotent: a tick that is run again delivers the same once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tidemill.catalog import Sink
from tidemill.connect.sinks.base import Batch, Printer, SinkWriter, distinct_writers
from tidemill.connect.sinks.console import ConsoleSink
from tidemill.connect.sinks.discard import DiscardSink
from tidemill.connect.sinks.json_lines import JsonSink
from tidemill.connect.sinks.memory import MemorySink
from tidemill.connect.sinks.parquet import ParquetSink
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
