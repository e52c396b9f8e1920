"""`check_sink`: the trial that every sink must pass before it is trusted.

Some ticks are delivered, and the process ends before every line of the sink's own code in turn.
The next process recovers, delivers again what was not committed, and goes on to the end. A
reader must then have met every answer as often as the sink promises, also where ticks fail and
are taken back while the process goes on. An exception stands for
the end of a process, so files are closed that might otherwise end in the middle of a line.
"""

from __future__ import annotations

import sqlite3
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pyarrow as pa

from tidemill.answer.request import COUNT, STAGE
from tidemill.answer.rows import stage
from tidemill.connect.sinks.contract import (
    AT_LEAST_ONCE,
    AT_MOST_ONCE,
    EXACTLY_ONCE,
    Batch,
    SinkTools,
    SinkWriter,
)
from tidemill.errors import TidemillError
from tidemill.settings import Settings

# How often a reader has met a value, by query.
Met = Counter[tuple[str, int]]
_QUERIES, _TICKS = ("q", "r"), 2
_REGISTERED = -1  # stands for the registration of the queries, before the first tick
_SCHEMAS = dict.fromkeys(_QUERIES, pa.schema([("v", pa.int64())]))
_HOUR_US = 3_600_000_000
_TIMES_A_LINE = 2


@dataclass(frozen=True)
class CheckedSink:
    """A sink to be checked."""

    make: Callable[[Path, SinkTools], SinkWriter]  # a new writer to a place in this folder
    # What a reader finds there after the end, or in a writer that can be read back, beside what
    # was shown; None if nothing stays.
    read: Callable[[Path, SinkWriter], Met] | None = None
    settings: Settings = field(default_factory=Settings)


def check_sink(case: CheckedSink, folder: Path) -> int:
    """Raises AssertionError with the promise that the sink breaks, and after which line.

    `folder` is empty. Returns at how many lines the sink was interrupted.
    """
    undisturbed = _Attempt(case, folder / "undisturbed")
    writer = undisturbed.run()
    assert undisturbed.met(writer) == _due(writer), "without any interruption, answers are missing"
    undisturbed.check_reading_back(writer)
    undisturbed.check_place_is_taken(writer)
    failing = _Attempt(case, folder / "failing")
    writer = failing.run(ticks_fail=True)
    broken = _broken(writer.promise, failing.met(writer), _due(writer))
    assert not broken, f"ticks failed and were taken back: {broken}"
    for step in range(10**6):
        attempt = _Attempt(case, folder / str(step))
        if (line := attempt.run_up_to(step, type(writer))) is None:
            return step
        writer = attempt.run()
        broken = _broken(writer.promise, attempt.met(writer), _due(writer))
        assert not broken, f"the process ended before {line}: {broken}"
    raise AssertionError("unreachable")


def _due(writer: SinkWriter) -> Met:
    """Every answer once; answers that are only counted are no one's to read."""
    if writer.delivery == COUNT:
        return Met()
    return sum((_values(batch) for n in range(_TICKS) for batch in _batches(n)), Met())


def _broken(promise: str, met: Met, due: Met) -> str:
    """The way in which what was met breaks the promise; empty if it does not."""
    lost, doubled = due - met, met - due
    if lost and promise in (EXACTLY_ONCE, AT_LEAST_ONCE):
        return f"promised {promise}, and lost {sorted(lost)}"
    if doubled and promise in (EXACTLY_ONCE, AT_MOST_ONCE):
        return f"promised {promise}, and delivered again {sorted(doubled)}"
    return f"delivered what nobody answered: {sorted(met)}" if set(met) - set(due) else ""


def _batches(tick: int) -> Iterator[Batch]:
    """Two batches: one of both queries, and one of a single query that the other has no part in."""
    base = 100 * tick
    rows = pa.table({"v": [base + 1, base + 2, base + 3]})
    yield Batch(tick, _QUERIES, np.array([2, 1]), rows=rows)
    yield Batch(tick, _QUERIES[1:], np.array([1]), rows=pa.table({"v": [base + 4]}))


def _values(batch: Batch) -> Met:
    return values_met(batch.tables())


def values_met(tables: Iterable[tuple[str, pa.Table]]) -> Met:
    """The values in some answers of `check_sink`, each with its query."""
    return Met((query, value) for query, rows in tables for value in rows["v"].to_pylist())


class _EndOfProcess(BaseException):
    """No sink is to catch it."""


class _Attempt:
    """A home, a place for answers, and the processes that follow each other there."""

    def __init__(self, case: CheckedSink, folder: Path) -> None:
        self._case, self._folder = case, folder
        self._shown: Met = Met()
        self._connections: list[sqlite3.Connection] = []
        folder.mkdir(parents=True)

    def run(self, ticks_fail: bool = False) -> SinkWriter:
        """One process from start to end: what is committed stays, the rest is done again.

        If ticks fail, each does so once, after all that it had to deliver.
        """
        for connection in self._connections:
            connection.close()  # as the end of its process does
        connection = self._connect("ledger.db")
        connection.execute("CREATE TABLE IF NOT EXISTS done (tick INTEGER PRIMARY KEY)")
        writer = self._case.make(self._folder, self._tools(connection))
        committed = {tick for (tick,) in connection.execute("SELECT tick FROM done")}
        if _REGISTERED not in committed:
            _commit(writer, connection, _REGISTERED)
        writer.recover()
        for tick in range(_TICKS):
            if ticks_fail:
                for batch in self._batches(writer, tick):
                    writer.deliver(batch)
                writer.take_back()
            if tick not in committed:
                _deliver(writer, connection, tick, self._batches(writer, tick))
        writer.close(_SCHEMAS)
        return writer

    def run_up_to(self, step: int, sink: type[SinkWriter]) -> str | None:
        """End the process before a line of the sink's, counted from 0; None if there is none."""
        line: list[str] = []
        # Files that the process leaves open are closed with it.
        quiet = warnings.catch_warnings(action="ignore", category=ResourceWarning)
        with quiet, _ended_at(step, sink, line):
            self.run()
        return line[0] if line else None

    def met(self, writer: SinkWriter) -> Met:
        read = self._case.read
        return self._shown + (read(self._folder, writer) if read else Met())

    def check_reading_back(self, writer: SinkWriter) -> None:
        tables = {query: writer.tables(query) for query in _QUERIES}
        if None not in tables.values():
            pairs = ((query, table) for query in _QUERIES for table in tables[query] or ())
            assert values_met(pairs) == self.met(writer), "what is read back is not what came"

    def check_place_is_taken(self, writer: SinkWriter) -> None:
        """Answers of another home stand where a new home would promise its own."""
        if writer.promise != EXACTLY_ONCE:
            return
        other = self._case.make(self._folder, self._tools(self._connect("other.db")))
        try:
            other.check(_QUERIES[0])
        except TidemillError:
            return
        raise AssertionError("another home may write to the same place, so neither knows its own")

    def _batches(self, writer: SinkWriter, tick: int) -> Iterator[Batch]:
        for batch in _batches(tick):
            if writer.delivery == COUNT:
                yield Batch(tick, batch.queries, batch.counts)
            elif writer.delivery == STAGE and len(batch.queries) == 1:
                name = stage(self._folder / "staging", tick, batch.rows)
                yield Batch(tick, batch.queries, batch.counts, staged=name)
            else:
                yield batch

    def _connect(self, name: str) -> sqlite3.Connection:
        connection = sqlite3.connect(self._folder / name, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")  # no machine fails here, only processes
        self._connections.append(connection)
        return connection

    def _tools(self, connection: sqlite3.Connection) -> SinkTools:
        return SinkTools(connection, self._folder / "staging", self._case.settings, self._show)

    def _show(self, query: str, rows: pa.Table) -> None:
        self._shown += values_met([(query, rows)])


def _deliver(
    writer: SinkWriter, connection: sqlite3.Connection, tick: int, batches: Iterator[Batch]
) -> None:
    """A tick's last step, as the engine takes it. Its lines, too, may be a process's last."""
    for batch in batches:
        writer.deliver(batch)
    _commit(writer, connection, tick)
    writer.committed((tick + 1) * _HOUR_US)
    writer.settle(_QUERIES[0])


def _commit(writer: SinkWriter, connection: sqlite3.Connection, tick: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    writer.record()
    connection.execute("INSERT INTO done VALUES (?)", (tick,))
    connection.execute("COMMIT")


@contextmanager
def _ended_at(step: int, sink: type[SinkWriter], line: list[str]) -> Iterator[None]:
    """Within, the process ends before the line of that number; `line` then tells which it was.

    A line counts the first times that it is reached, so that loops do not take for ever.
    """
    files = {sys.modules[base.__module__].__file__ for base in sink.__mro__[:-1]}
    files -= {sys.modules["abc"].__file__}
    steps, times = iter(range(step + 1)), Counter[tuple[str, int]]()

    def is_sinks(code: CodeType) -> bool:
        return code.co_filename in files or code in (_deliver.__code__, _commit.__code__)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call":
            return trace if is_sinks(frame.f_code) else None
        place = (frame.f_code.co_filename, frame.f_lineno)
        times[place] += event == "line"
        if event == "line" and times[place] <= _TIMES_A_LINE and next(steps) == step:
            line.append(f"{Path(place[0]).name}:{place[1]}")
            raise _EndOfProcess
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    except _EndOfProcess:
        pass
    finally:
        sys.settrace(before)
