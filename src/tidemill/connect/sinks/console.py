"""`console:`: answers shown just before they are committed, so again after a crash."""

from __future__ import annotations

import pyarrow as pa

from tidemill.answer.request import CARRY
from tidemill.catalog import Sink
from tidemill.connect.sinks.cells import cell_texts, is_nested
from tidemill.connect.sinks.contract import AT_LEAST_ONCE, Batch, SinkTools, SinkWriter


class ConsoleSink(SinkWriter):
    """Answers that were shown and not committed are shown again."""

    delivery = CARRY
    promise = AT_LEAST_ONCE

    def __init__(self, sink: Sink, tools: SinkTools) -> None:
        self._printer = tools.printer

    def deliver(self, batch: Batch) -> None:
        for query, rows in batch.tables():
            if len(rows):
                self._printer(query, rows)


def print_frame(query: str, rows: pa.Table) -> None:
    """The way of showing answers if nobody names one: as pandas does, arrays in short."""
    columns = [
        pa.array(cell_texts(column)) if is_nested(column.type) else column
        for column in rows.columns
    ]
    print(f"{query}\n{pa.table(columns, rows.column_names).to_pandas()}")
