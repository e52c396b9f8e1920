"""Two hundred queries come and a hundred go while a stream runs, which is killed once.

    process 1    ticks 1 … 5, SIGKILL while tick 6 answers
    process 2    tick 6 again, then the rest

Each query equals Spark batch SQL over all accepted rows, from its announced first window to
the last that closed before it was dropped, without those that closed while it was paused.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from tests.stories.live import FILES, Event, Live, cases_of, noted_events, rows_of
from tests.stories.oracle import Case, many_batch_answers
from tests.stories.streams import table_of, write_files
from tests.stories.test_disorder import expected_late
from tidemill.engine import Engine
from tidemill.failpoints import VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 21
CUT_OFF = FILES // 2 + 1
ROOT = Path(__file__).parents[2]


@dataclass
class Life:
    """When a query's windows are due: from an announced start, until its end, but for pauses."""

    case: Case
    begun: Event
    until_us: int | None = None
    paused: list[tuple[int, int]] = field(default_factory=list)

    def expects(self, start_us: int, end_us: int) -> bool:
        if start_us < self._first_us or end_us <= _or_beginning(self.begun.watermark_us):
            return False
        if self.until_us is not None and end_us > self.until_us:
            return False
        return not any(low < end_us <= high for low, high in self.paused)

    @property
    def _first_us(self) -> int:
        told = re.search(r"starts at (.*)Z", self.begun.reply)
        # Before the first row there is nothing to wait for, and nothing is announced.
        assert told or self.begun.watermark_us is None
        return int(np.datetime64(told[1], "us").astype(np.int64)) if told else -(2**62)


def _or_beginning(watermark_us: int | None) -> int:
    return -(2**62) if watermark_us is None else watermark_us


def lives_of(events: list[Event], cases: dict[str, Case]) -> dict[str, Life]:
    """By name; an altered query ends and another begins."""
    lives: dict[str, Life] = {}
    pauses: dict[str, int] = {}
    for event in events:
        at_us = _or_beginning(event.watermark_us)
        if event.kind in ("drop", "alter"):
            lives[event.query].until_us = at_us
        if event.kind in ("add", "alter"):
            name = event.query if event.kind == "add" else f"{event.query}'"
            lives[name] = Life(cases[name], event)
        if event.kind == "pause":
            pauses[event.query] = at_us
        if event.kind == "resume":
            lives[event.query].paused.append((pauses.pop(event.query), at_us))
    assert not pauses
    return lives


def kill_in_the_middle(folder: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        VARIABLE: f"answer:{CUT_OFF}",
    }
    command = [sys.executable, "-m", "tests.stories.live", str(folder), str(SEED)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def delivered(folder: Path, life: Life) -> pa.Table:
    """The answers of one life; an altered query has those of two, of different lengths."""
    files = sorted(map(str, (folder / "out" / f"query={life.case.name}").glob("[!_]*.parquet")))
    rows = ds.dataset(files).to_table()
    begin, end = (rows.column(name).cast(pa.int64()).to_numpy() for name in rows.column_names[:2])
    lengths = [ms * 1000 for ms in (life.case.range_ms, life.case.other_ms) if ms]
    return rows.filter(pa.array(np.isin(end - begin, lengths)))


def test_queries_come_and_go_while_a_stream_runs(spark: SparkSession, tmp_path: Path) -> None:
    parts = rows_of(SEED)
    late = expected_late(parts)
    write_files(tmp_path / "in", parts)
    kill_in_the_middle(tmp_path)
    with Engine(tmp_path / "home") as engine:
        report = Live(engine, tmp_path, SEED).run()
        standing = {query.name for query in engine.plan.queries}
        versions = engine.plan.version

    events = list(noted_events(tmp_path))
    kinds = Counter(event.kind for event in events)
    assert kinds["add"] == 200
    assert kinds["drop"] == 100
    assert min(kinds["pause"], kinds["resume"], kinds["alter"]) >= 10
    assert {e.query for e in events if e.kind == "add"} - standing == {
        e.query for e in events if e.kind == "drop"
    }
    for kind in ("add", "drop", "pause", "resume", "alter"):
        ticks = [event.tick for event in events if event.kind == kind]
        assert min(ticks) < CUT_OFF <= max(ticks), f"{kind} happened on one side of the kill only"
    assert report.ticks == FILES - CUT_OFF + 2  # the one that was cut off, and a flush
    assert versions > FILES - 2
    assert 5 < len(late) == report.streams["s"]["rows_late"]

    accepted = [row for rows in parts for row in rows if row not in late]
    spark.createDataFrame(table_of(accepted)).createOrReplaceTempView("s")
    lives = lives_of(events, cases_of(SEED))

    batches = many_batch_answers(spark, [life.case for life in lives.values()])
    compared: Counter[str] = Counter()
    for (name, life), batch in zip(lives.items(), batches, strict=True):
        want = {key: row for key, row in batch.items() if life.expects(*key[:2])}
        if want or (tmp_path / "out" / f"query={life.case.name}").exists():
            compared[name] = life.case.compare_keyed(delivered(tmp_path, life), want)
        awake = replace(life, paused=[])
        compared["skipped in a pause"] += sum(awake.expects(*k[:2]) for k in batch) - len(want)
        compared["not before nor after"] += len(batch) - len(want)
    assert compared.pop("skipped in a pause") > 5
    assert compared.pop("not before nor after") > len(lives)
    assert compared.total() > 5 * len(lives)
    dropped = {event.query for event in events if event.kind == "drop"}
    assert sum(compared[name] > 0 for name in dropped) > 20
    assert sum(compared[name] > 0 for name in lives if name.endswith("'")) > 5
