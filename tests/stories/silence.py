"""Live runs on a clock that is set by hand, of files that come to folders at its seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.tick.report import TickReport
from tidemill.explain.replies import ReplyTable

SECOND_US = 1_000_000
BEGIN_US = 1_767_225_600 * SECOND_US
QUERY = "CREATE QUERY of_{0} AS SELECT COUNT(*) AS n FROM {0} [RANGE 4 s SLIDE 4 s];"


def stream(
    name: str, folder: Path, options: str = "", columns: str = "ts TIMESTAMP, n BIGINT"
) -> str:
    """Of Parquet files that come to a folder."""
    folder.mkdir(exist_ok=True)
    with_options = f"WITH ({options})" if options else ""
    source = f"SOURCE 'parquet:{folder}' {with_options};"
    order = "current_time" if "current_time" in columns else "ts"
    return f"CREATE STREAM {name} ({columns}) ORDER BY {order} {source}"


def write(folder: Path, name: str, *times_s: float) -> None:
    folder.mkdir(exist_ok=True)
    times = pa.array([BEGIN_US + round(t * SECOND_US) for t in times_s], pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "n": pa.array(range(len(times_s)), pa.int64())})
    pq.write_table(table, folder / f"_{name}")
    os.replace(folder / f"_{name}", folder / f"{name}.parquet")


class Steps(ManualClock):
    """A clock by whose seconds things happen; a run ends with the last of them."""

    def __init__(self, until_s: float, happen: Callable[[float], object] = lambda _: None) -> None:
        super().__init__(BEGIN_US)
        self.until_s, self.happen = until_s, happen
        self.stop: Callable[[], None] = lambda: None

    @property
    def second(self) -> float:
        return (self.now_us() - BEGIN_US) / SECOND_US

    def sleep(self, seconds: float) -> None:
        if self.second >= self.until_s:
            self.stop()
        super().sleep(seconds)
        self.happen(self.second)


def answers_of(engine: Engine, question: str) -> list[dict[str, Any]]:
    (shown,) = engine.ask(question)
    assert isinstance(shown, ReplyTable)
    return [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]


@dataclass
class Story:
    """Ticks of a live run, each with the second at which it came."""

    home: Path
    clock: Steps
    ticks: list[tuple[float, TickReport]] = field(default_factory=list)

    def run(self, script: str = "", until: str = "stopped") -> None:
        with Engine(self.home, clock=self.clock) as engine:
            engine.sql("SET poll_ms = 500;" + script)
            self.clock.stop = engine.stop
            engine.run(until, lambda tick: self.ticks.append((self.clock.second, tick)))

    def answered(self, query: str) -> list[tuple[float, int]]:
        """The seconds at which answers came, and how many."""
        return [(second, n) for second, tick in self.ticks if (n := tick.answers.get(query, 0))]

    def promises(self, name: str) -> list[tuple[float, float]]:
        """The seconds of ticks without rows, and the watermarks after them."""
        return [
            (second, (tick.watermark_us - BEGIN_US) / SECOND_US)
            for second, tick in self.ticks
            if tick.stream == name and not tick.rows_in and tick.watermark_us is not None
        ]

    def ask(self, text: str) -> list[dict[str, Any]]:
        with Engine(self.home, clock=self.clock) as engine:
            return answers_of(engine, text)
