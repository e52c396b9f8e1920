"""`discard:`: answers are computed and counted, then dropped."""

from __future__ import annotations

import pyarrow as pa

from tidemill.answer.delivery import COUNT
from tidemill.connect.sinks.base import Batch


class DiscardSink:
    delivery = COUNT

    def check(self, query: str) -> None:
        """Nothing can be in the way."""

    def recover(self) -> None:
        """Nothing was kept."""

    def deliver(self, batch: Batch) -> None:
        """The engine has counted the rows."""

    def record(self) -> None:
        """Nothing to write down."""

    def committed(self, now_us: int) -> None:
        """Nothing to do."""

    def settle(self, query: str) -> None:
        """Nothing waits."""

    def close(self, schemas: dict[str, pa.Schema]) -> None:
        """Nothing to close."""
