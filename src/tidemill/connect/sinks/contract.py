"""The contract between the engine and a sink."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidemill.answer.request import Delivery
from tidemill.arrays import IntArray
from tidemill.settings import Settings

# How often a reader meets an answer, though processes end where they will.
EXACTLY_ONCE, AT_LEAST_ONCE, AT_MOST_ONCE = "exactly once", "at least once", "at most once"
# Called with a query's name and its answers of one tick; who shows them decides how.
Printer = Callable[[str, pa.Table], None]


@dataclass(frozen=True)
class Batch:
    """Answers of one tick to some queries: rows that came back, or a file that a task staged.

    Either holds the rows of query after query; `counts` tells how many each has. Answers
    that were only counted have neither.
    """

    tick: int
    queries: tuple[str, ...]
    counts: IntArray
    rows: pa.Table | None = None
    staged: str = ""
    twins: tuple[tuple[str, ...], ...] = ()  # by query, those that have the same rows, if any

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """Each query with its first row and how many it has."""
        first = np.cumsum(self.counts) - self.counts
        twins = self.twins or [()] * len(self.queries)
        rows = zip(self.queries, twins, first.tolist(), self.counts.tolist(), strict=True)
        return ((name, at, count) for query, others, at, count in rows for name in (query, *others))

    def tables(self) -> Iterator[tuple[str, pa.Table]]:
        """Each query with its rows, if there are rows here."""
        if self.rows is not None:
            for query, first, count in self.spans():
                yield query, self.rows.slice(first, count)


def distinct_writers(writers: Iterable[SinkWriter]) -> list[SinkWriter]:
    """Queries share the writers of their sinks; each writer once, in order."""
    return list({id(writer): writer for writer in writers}.values())


class SinkWriter(ABC):
    """A sink as the engine writes to it. It is made anew for every run.

    `__init__` takes a `Sink` and `SinkTools`. Queries are checked as they are registered, and
    `record` is called in that transaction. A tick delivers its batches, is recorded in one
    transaction with all else that it changes, and is committed. A process may end between any
    two of these and within each; the next one calls `recover`, and delivers a tick that was not
    committed again. If a tick fails and the process goes on, `take_back` is called instead, and
    the ticks of other streams follow. `promise` says how often a reader then meets an answer.
    """

    delivery: Delivery  # of finished answers that need no order
    promise: str

    def check(self, query: str) -> None:
        """Refuse a query that is new to this home if its place is taken."""
        return

    def recover(self) -> None:
        """Before the first tick: undo what no committed tick delivered."""
        return

    def take_back(self) -> None:
        """A tick has failed: undo what was delivered since the last commit."""
        return

    @abstractmethod
    def deliver(self, batch: Batch) -> None:
        """Before the commit; may be called again for the same tick after a crash."""

    def reach(self, watermark_us: int | None) -> None:
        """After the answers of a tick: every window of the queries that ended by this time has
        been answered."""
        return

    def record(self) -> None:
        """Inside the commit's transaction."""
        return

    def committed(self, now_us: int) -> None:
        """After the commit: what may only be done once."""
        return

    def settle(self, query: str) -> None:
        """Put a query's committed answers where they stay, now."""
        return

    def close(self, schemas: dict[str, pa.Schema]) -> None:
        """At stop; `schemas` are those of the queries that write here."""
        return

    def tables(self, query: str) -> list[pa.Table] | None:
        """A query's committed answers; None if this sink cannot be read back."""
        return None


@dataclass(frozen=True)
class SinkTools:
    """The parts of its home and of the process that a sink may use."""

    connection: sqlite3.Connection  # the home's; a ledger lies in tables of its own
    staging: Path  # where tasks stage answers
    settings: Settings
    printer: Printer
