"""SHOW SCHEDULE against the sink: every column, recomputed from the answers as delivered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Condition
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from tidemill import Engine
from tidemill.answer.task import TaskResult
from tidemill.clock import ManualClock
from tidemill.engine.beside.agenda import JointRun
from tidemill.engine.tick.report import TickReport
from tidemill.engine.tick.runner import StreamRunner
from tidemill.explain.replies import ReplyTable

PATIENCE_S = 300
SECOND_US = 1_000_000
# Rows begin just before an update, so the first window that is answered has some.
STREAM = """
SET tick_rows = 250;
CREATE SINK out TO 'parquet:out';
CREATE STREAM packets (ts TIMESTAMP, src STRING, port INT, length BIGINT) ORDER BY ts
SOURCE 'generate:packets?rate=100&duration=90s&hosts=9&seed=7&start_us=1767225600500000'
WITH (update = '1 second');
"""
TICKS = 30
# Name, keys, length and period of each in seconds; 0: with every update.
CASES = (
    ("every", "", 5, 0),
    ("two", "", 9, 2),
    ("three", "", 30, 3),
    ("seven", "", 20, 7),
    ("sources", "src", 10, 4),
    ("more_sources", "src", 20, 10),
    ("paused", "src", 5, 2),
)
NEVER = "never"


def create(name: str, keys: str, range_s: int, period_s: int) -> str:
    up_to = f" SLIDE UP TO {period_s} SECONDS" if period_s else ""
    columns, group = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
    return (
        f"CREATE QUERY {name} INTO out AS SELECT {columns}COUNT(*) AS n FROM packets"
        f" [RANGE {range_s} SECONDS{up_to}]{group};"
    )


@dataclass
class Delivered:
    """What a listener is told of each delivery, by a clock that moves a second with each tick."""

    clock: ManualClock
    now: int = 0  # the update that the stream has come to
    # By query: the update of the stream, the time, and how many others came with it.
    of: dict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))

    def note(self, report: TickReport) -> None:
        self.now = (report.watermark_us or 0) // SECOND_US
        if "soft" in report.phases:
            names = [name for name, count in report.answers.items() if count]
            for name in names:
                self.of[name].append((self.now, self.clock.now_us(), len(names) - 1))
        self.clock.advance(SECOND_US)


def updates_seen(folder: Path, name: str) -> list[int]:
    """Of all runs of a query, by the ends of its windows in the sink."""
    files = sorted(map(str, (folder / "out" / f"query={name}").glob("[!_]*.parquet")))
    ends = pc.unique(ds.dataset(files).to_table().column("window_end")).cast("int64")
    return sorted(end // SECOND_US for end in ends.to_pylist())


@dataclass(frozen=True)
class Expected:
    """The columns of a query, from the updates that its runs saw and those of their deliveries."""

    seen: Sequence[int]
    delivered: Sequence[tuple[int, int, int]]
    period_s: int

    def row(self, now: int) -> dict[str, object]:
        period, gaps = max(1, self.period_s), [b - a for a, b in pairwise(self.seen)]
        _, time_us, others = self.delivered[-1]
        beyond = [max(0, gap - period) for gap in gaps]
        return {
            "asked": self.period_s * SECOND_US,
            "achieved": sum(gaps) * SECOND_US // len(gaps) // 1000 * 1000,
            "late": max(0, now - self.seen[-1] - period),
            "last run": time_us,
            "with": others,
            "runs": len(self.seen),
            "useful": pytest.approx(1 + sum(min(1.0, gap / period) for gap in gaps)),
            "extra": pytest.approx(sum(beyond) / len(beyond)),
            "stale": pytest.approx(self.staleness()),
        }

    def staleness(self) -> float:
        """Update by update: how long ago it was what the newest answer that is there has seen."""
        moments = [at for at, *_ in self.delivered]
        ages = [
            now - max(seen for at, seen in zip(moments, self.seen, strict=True) if at <= now)
            for now in range(moments[0], moments[-1])
        ]
        return sum(ages) / len(ages)


def shown(engine: Engine) -> Mapping[str, Mapping[str, Any]]:
    (table,) = engine.ask("SHOW SCHEDULE;")
    assert isinstance(table, ReplyTable)
    rows = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    return {row.pop("query"): row for row in rows}


class Slow:
    """Every run takes two ticks of input, as long as there are any: an overload without a clock.

    The first ones do not: the rate that the first tick shows may change the plan, which waits for
    them.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._moved, self._ticks = Condition(), 0
        answer = StreamRunner.answer_soft

        def slow(runner: StreamRunner, run: JointRun) -> list[TaskResult]:
            with self._moved:
                until = min(TICKS, self._ticks + 2) if self._ticks > 1 else 0
                assert self._moved.wait_for(lambda: self._ticks >= until, PATIENCE_S)
            return answer(runner, run)

        monkeypatch.setattr(StreamRunner, "answer_soft", slow)

    def note(self, report: TickReport) -> bool:
        """Says whether that was the last tick of input."""
        with self._moved:
            self._ticks += report.rows_in > 0
            self._moved.notify_all()
            return self._ticks == TICKS


def compare(engine: Engine, folder: Path, delivered: Delivered) -> list[dict[str, Any]]:
    table = shown(engine)
    assert list(table) == [*(name for name, *_ in CASES), NEVER]
    assert table[NEVER]["runs"] == 0
    assert table[NEVER]["last run"] is table[NEVER]["with"] is table[NEVER]["achieved"] is None
    for name, _, _, period_s in CASES:
        seen = updates_seen(folder, name)
        assert len(seen) > 2
        assert table[name] == Expected(seen, delivered.of[name], period_s).row(delivered.now), name
    return [dict(table[name]) for name, *_ in CASES]


@pytest.mark.parametrize("policy", ["aggressive", "conservative", "hybrid-late-pending"])
def test_every_column_where_all_input_is_there(tmp_path: Path, policy: str) -> None:
    """Runs are settled before the next tick, so none is delivered later than what it saw."""
    delivered = Delivered(clock := ManualClock(1_700_000_000_000_000))
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(
            f"SET schedule = '{policy}';{STREAM}" + "".join(create(*c) for c in CASES), tmp_path
        )

        def note(report: TickReport) -> None:
            delivered.note(report)
            if len(delivered.of["paused"]) == 5 and not engine.catalog.is_paused("paused"):
                engine.sql("PAUSE QUERY paused;")

        engine.run("idle", note)
        engine.sql(create(NEVER, "", 60, 5), tmp_path)
        rows = compare(engine, tmp_path, delivered)
    assert rows[-1]["late"] > 50
    assert rows[0]["extra"] > 1
    assert any(row["with"] > 0 for row in rows)
    if policy == "aggressive":
        assert rows[3]["useful"] < rows[3]["runs"] - 1


def test_every_column_under_overload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delivered, slow = Delivered(clock := ManualClock(1_700_000_000_000_000)), Slow(monkeypatch)
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(STREAM + "".join(create(*c) for c in CASES), tmp_path)

        def note(report: TickReport) -> None:
            delivered.note(report)
            if slow.note(report):
                engine.stop()

        engine.run("stopped", note)
        engine.sql(create(NEVER, "", 60, 5), tmp_path)
        rows = compare(engine, tmp_path, delivered)
    lags = [
        at - seen
        for name, *_ in CASES
        for (at, *_), seen in zip(delivered.of[name], updates_seen(tmp_path, name), strict=True)
    ]
    assert max(lags) >= 4
    assert all(row["extra"] > 1 for row in rows[:3])
    assert any(row["late"] for row in rows)
    assert min(row["stale"] for row in rows) > 3
