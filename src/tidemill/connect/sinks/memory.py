"""`memory:`: answers held in the process, newest kept, for `Query.answers()`."""

from __future__ import annotations

from collections import defaultdict, deque

import pyarrow as pa

from tidemill.answer.delivery import CARRY
from tidemill.connect.sinks.base import Batch
from tidemill.connect.sinks.discard import DiscardSink

# Per query. A process that watches for weeks must not grow for weeks.
MOST_ROWS = 1_000_000


class MemorySink(DiscardSink):
    delivery = CARRY

    def __init__(self) -> None:
        self._pending: list[Batch] = []
        self._held: dict[str, deque[pa.Table]] = defaultdict(deque)

    def recover(self) -> None:
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
        return list(self._held[query])

    def _hold(self, query: str, rows: pa.Table) -> None:
        held = self._held[query]
        held.append(rows)
        while len(held) > 1 and sum(map(len, held)) > MOST_ROWS:
            held.popleft()
