"""The same four on the engine's own ticks: an ordered union of a busy and a sparse stream, live, on
a clock that is moved by hand and costs nothing, so latency is a matter of ticks alone.

Every so often the engine looks at both folders, to which a file has come with the rows since.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from _timestamps.simulation import SHARE, loads
from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.tick.report import TickReport
from tidemill.reference.graph.arrivals import SECOND_US, GraphArrival
from tidemill.reference.graph.items import GraphItem

BEGIN_US = 1_767_225_600 * SECOND_US
SCRIPT = """
SET promises = '{promises}'; SET poll_ms = {poll_ms};
CREATE STREAM a (ts TIMESTAMP, chance DOUBLE) ORDER BY ts
  SOURCE 'parquet:{folder}/a' WITH (clock = 'wall');
CREATE STREAM b (ts TIMESTAMP, chance DOUBLE) ORDER BY ts
  SOURCE 'parquet:{folder}/b' WITH (clock = 'wall');
CREATE STREAM both AS
  SELECT ts, chance FROM a WHERE chance < {share}
  UNION ALL SELECT ts, chance FROM b WHERE chance < {share};
CREATE QUERY q AS SELECT ts FROM both{order};
"""


@dataclass(frozen=True)
class TickMeasures:
    """What one run showed; times in seconds."""

    rows: int
    latency_s: float
    waiting_share: float  # of the looks, rows were held that had come
    peak_rows: int
    ticks: int


class Arrivals(ManualClock):
    """The clock and what goes by it: rows come between two looks, and are counted until they
    leave. They leave in the order of time, or with the tick that takes them."""

    def __init__(self, folder: Path, poll_us: int, until_us: int, loads: Iterable[GraphArrival]):
        super().__init__(BEGIN_US)
        self._folder, self._poll_us, self._until_us = folder, poll_us, until_us
        self._loads = deque(loads)
        self._held: deque[int] = deque()  # times of rows that have come, of those that pass
        self.looks = self.waits = self.peak = self.left = self.late_us = self.ticks = 0
        self.stop: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        """Between two looks."""
        self.looks += 1
        self.waits += bool(self._held)
        self.advance(self._poll_us)
        come = self._come()
        for name in "ab":
            self._write(name, [item for source, item in come if source == name])
        self._held += [BEGIN_US + item.time_us for _, item in come if item.value < SHARE]
        self.peak = max(self.peak, len(self._held))
        if self.now_us() - BEGIN_US >= self._until_us:
            self.stop()

    def count(self, tick: TickReport) -> None:
        self.ticks += 1
        for _ in range(tick.answers.get("q", 0)):
            self.late_us += self.now_us() - self._held.popleft()
            self.left += 1

    def _come(self) -> list[tuple[str, GraphItem]]:
        arrivals = []
        while self._loads and BEGIN_US + self._loads[0][0] <= self.now_us():
            _, source, item = self._loads.popleft()
            arrivals.append((source, item))
        return arrivals

    def _write(self, name: str, rows: Sequence[GraphItem]) -> None:
        """A file of the rows that have come to a stream since the last look."""
        if not rows:
            return
        times = pa.array([BEGIN_US + item.time_us for item in rows], pa.timestamp("us", "UTC"))
        table = pa.table({"ts": times, "chance": [item.value for item in rows]})
        path = self._folder / name / f"{self.now_us()}.parquet"
        pq.write_table(table, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)


def in_ticks(
    fast: float, sparse: float, until_us: int, promises: str, poll_us: int, is_ordered: bool
) -> TickMeasures:
    """One run: `promises` is the setting; without an order rows leave as they come."""
    folder = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    clock = Arrivals(folder, poll_us, until_us, loads(fast, sparse, until_us))
    order = " ORDER BY ts" if is_ordered else ""
    script = SCRIPT.format(
        promises=promises, poll_ms=poll_us // 1000, folder=folder, share=SHARE, order=order
    )
    try:
        for name in "ab":
            (folder / name).mkdir()
        with Engine(folder / "home", clock=clock, default_sink="discard") as engine:
            engine.sql(script)
            clock.stop = engine.stop
            engine.run("stopped", clock.count)
    finally:
        shutil.rmtree(folder)
    latency_s = clock.late_us / max(1, clock.left) / SECOND_US
    share = clock.waits / clock.looks
    return TickMeasures(clock.left, latency_s, share, clock.peak, clock.ticks)
