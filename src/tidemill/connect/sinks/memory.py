"""`memory:`: answers held in the process, newest kept, for `Query.answers()`."""

from __future__ import annotations

from collections import defaultdict, deque

import pyarrow as pa

from tidemill.answer.request import CARRY
from tidemill.catalog import Sink
from tidemill.connect.sinks.contract import AT_MOST_ONCE, Batch, SinkTools, SinkWriter

# Per query. A process that watches for weeks must not grow for weeks.
MOST_ROWS = 1_000_000


class MemorySink(SinkWriter):
    """Answers end with the process that holds them."""

    delivery = CARRY
    promise = AT_MOST_ONCE

    def __init__(self, sink: Sink, tools: SinkTools) -> None:
        self._pending: list[Batch] = []
        self._committed: dict[str, deque[pa.Table]] = defaultdict(deque)

    def take_back(self) -> None:
        self._pending = []

    def deliver(self, batch: Batch) -> None:
        self._pending.append(batch)

    def committed(self, now_us: int) -> None:
        for batch in self._pending:
            for query, rows in batch.tables():
                if len(rows):
                    self._hold(query, rows)
        self._pending = []

    def tables(self, query: str) -> list[pa.Table]:
        return list(self._committed[query])

    def _hold(self, query: str, rows: pa.Table) -> None:
        tables = self._committed[query]
        tables.append(rows)
        while len(tables) > 1 and sum(map(len, tables)) > MOST_ROWS:
            tables.popleft()
