"""Soft periods on Spark: whatever is answered is right, and answered as often as was asked.

A run to the end settles all that is due before the next tick, so nobody waits longer than
asked. A live run goes on with ticks while soft queries are answered beside them.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from tests.stories.soft import (
    STREAM,
    UPDATE_US,
    Batch,
    SoftCase,
    answers_of,
    batches,
    check,
    gaps,
    soft_cases,
)
from tests.stories.streams import NOON_US, SECOND_US, Row, random_row, table_of, write_files
from tidemill.engine import Engine
from tidemill.engine.tick.report import TickReport
from tidemill.schedule import POLICIES
from tidemill.settings import SCHEDULES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
FILES = 12
FILE_SECONDS = 3


def rows_of(seed: int) -> list[list[Row]]:
    """Rows without gaps, so that every window has some; those of a file last some seconds."""
    rng = random.Random(seed)
    parts = []
    for number in range(FILES):
        first_us = NOON_US + number * FILE_SECONDS * SECOND_US
        spread = sorted(rng.randrange(FILE_SECONDS * SECOND_US) for _ in range(90))
        # The end of a file is always there, so that each brings as many updates.
        times = [*spread, FILE_SECONDS * SECOND_US - 1]
        parts.append([random_row(rng, first_us + time_us) for time_us in times])
    return parts


def show_accepted(spark: SparkSession, parts: list[list[Row]]) -> None:
    rows = [row for part in parts for row in part]
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")


def test_the_settings_name_every_policy() -> None:
    assert tuple(POLICIES) == SCHEDULES


@dataclass(frozen=True)
class Small:
    """Few queries and files, to be run under every policy."""

    cases: list[SoftCase]
    parts: list[list[Row]]
    batches: dict[tuple[str, int], Batch]


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> Small:
    cases, parts = random.Random(4).sample(soft_cases(1), 12), rows_of(2)[:8]
    show_accepted(spark, parts)
    return Small(cases, parts, batches(spark, cases))


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_answers_right_and_in_time(small: Small, tmp_path: Path, policy: str) -> None:
    write_files(tmp_path / "in", small.parts)
    with Engine(tmp_path / "home") as engine:
        script = [STREAM, f"SET schedule = '{policy}';", *(case.create() for case in small.cases)]
        engine.sql("\n".join(script), tmp_path)
        report = engine.run("flush")
        histories = {name: state.history for name, state in engine.queries.items()}
    assert report.ticks > 2 * len(small.parts)  # those of the files, and joint runs
    last_us = (small.parts[-1][-1]["ts"] // UPDATE_US + 1) * UPDATE_US
    for case in small.cases:
        batch = small.batches[case.keys, case.range_ms]
        ends_us = check(case, answers_of(tmp_path, case), batch)
        assert ends_us[-1] == last_us
        # A tick brings several updates, and nobody can be answered between them.
        assert max(gaps(ends_us)) <= max(case.updates, FILE_SECONDS)
        assert histories[case.name].runs == len(ends_us)


def test_streams_share_the_time_and_each_is_answered(spark: SparkSession, tmp_path: Path) -> None:
    parts = rows_of(6)[:4]
    other = (
        STREAM.split(";")[2]
        .replace("STREAM s", "STREAM r")
        .replace("'1 second'", "'1 second', weight = 3")
    )
    case = SoftCase("q", "k", 7000, "COUNT(*)", 2)
    again = case.create().replace("QUERY q", "QUERY again").replace("FROM s", "FROM r")
    # Lengths of which one is no whole number of updates, and parts of windows.
    odd = "SELECT FREQUENT(k, 2) AS a FROM s [RANGE 4 SECONDS, 2500 ms SLIDE UP TO 2 SECONDS]"
    write_files(tmp_path / "in", parts)
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join([STREAM, f"{other};", case.create(), again]), tmp_path)
        engine.sql(f"CREATE QUERY odd INTO out AS {odd};")
        engine.run("flush")
    show_accepted(spark, parts)
    batch = batches(spark, [case])[case.keys, case.range_ms]
    for one in (case, replace(case, name="again")):
        assert len(check(one, answers_of(tmp_path, one), batch)) >= len(parts)
    files = sorted(map(str, (tmp_path / "out" / "query=odd").glob("[!_]*.parquet")))
    rows = ds.dataset(files).to_table()
    begin, end = (rows.column(name).cast("int64").to_numpy() for name in rows.column_names[:2])
    assert {*(end - begin).tolist()} == {4 * SECOND_US, SECOND_US * 5 // 2}


@dataclass
class LiveRun:
    """Gives the run its next file when one is taken; ends it when all were."""

    engine: Engine
    folder: Path
    parts: Sequence[list[Row]]
    changes: dict[int, Callable[[Engine], None]] = field(default_factory=dict)
    taken: int = 0
    reports: list[TickReport] = field(default_factory=list)

    def go(self) -> None:
        self._give()
        self.engine.run("stopped", self._ticked)

    def _ticked(self, report: TickReport) -> None:
        self.reports.append(report)
        if not report.rows_in:
            return
        self.taken += 1
        if self.taken in self.changes:
            self.changes[self.taken](self.engine)
        if self.taken == len(self.parts):
            self.engine.stop()
        else:
            self._give()

    def _give(self) -> None:
        write_files(self.folder / "in", [self.parts[self.taken]], self.taken)


STRICT = [
    f"CREATE QUERY strict{n} INTO out AS SELECT k, SUM(m) AS a FROM s"
    f" [RANGE {5 + n} SECONDS SLIDE {1 + n % 4} SECONDS] GROUP BY k;"
    for n in range(20)
]


def test_a_live_run_of_many_soft_queries_and_some_strict_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    cases, parts = soft_cases(3), rows_of(5)
    gone, paused = cases[:10], cases[10:15]
    (tmp_path / "in").mkdir()
    later = [SoftCase(f"later{n}", "k", 7000, "COUNT(*)", 2) for n in range(5)]

    def drop(engine: Engine) -> None:
        engine.sql(" ".join(f"DROP QUERY {case.name};" for case in gone))
        engine.sql(" ".join(f"PAUSE QUERY {case.name};" for case in paused))

    def add(engine: Engine) -> None:
        engine.sql(" ".join(case.create() for case in later), tmp_path)

    with Engine(tmp_path / "home") as engine:
        script = [STREAM, *(case.create() for case in cases), *STRICT]
        engine.sql("\n".join(script), tmp_path)
        live = LiveRun(engine, tmp_path, parts, {FILES // 3: drop, FILES // 2: add})
        live.go()
        shown = engine.sql("SHOW SCHEDULE;")[0]
        late = engine.run("idle").rows_late
        watermark_us = parts[-1][-1]["ts"] - SECOND_US

    assert late == 0
    assert live.taken == FILES
    show_accepted(spark, parts)
    found = batches(spark, [*cases, *later])
    beside = shown_truly = 0
    told = {line.split()[0]: line for line in shown.splitlines()[2:]}
    for case in [*cases, *later]:
        ends_us = check(case, answers_of(tmp_path, case), found[case.keys, case.range_ms])
        stays = case not in gone and case not in paused
        assert len(ends_us) >= (2 if stays and case.period_s <= 5 else 1)
        beside += overtaken(case, ends_us, live.reports)
        if case in cases and stays:
            shown_truly += check_shown(told[case.name], ends_us, live.reports, case)
    assert not {case.name for case in gone} & told.keys()
    _check_strict(spark, tmp_path, watermark_us)
    assert beside > 10
    assert shown_truly > 100


def check_shown(line: str, ends_us: list[int], reports: list[TickReport], case: SoftCase) -> bool:
    """Runs and their mean distance, as the windows in the sink tell them; few runs tell little."""
    runs = sum(bool(r.answers.get(case.name)) for r in reports if "soft" in r.phases)
    if runs < 2:
        return False
    words = re.split(r"\s{2,}", line)
    assert int(words[6]) == runs
    seconds = (ends_us[runs - 1] - ends_us[0]) / SECOND_US / (runs - 1)
    assert float(words[2].removesuffix(" s")) == pytest.approx(seconds, abs=0.002)
    return True


def overtaken(case: SoftCase, ends_us: list[int], reports: list[TickReport]) -> int:
    """Answers that came after the stream had gone on: they were found beside its ticks."""
    mine = [r for r in reports if "soft" in r.phases and r.answers.get(case.name)]
    pairs = zip(mine, ends_us, strict=False)
    return sum((r.watermark_us or 0) >= end_us + UPDATE_US for r, end_us in pairs)


def _check_strict(spark: SparkSession, folder: Path, watermark_us: int) -> None:
    for number in range(20):
        case = SoftCase(f"strict{number}", "k", (5 + number) * 1000, "SUM(m)", 1 + number % 4)
        slide_us = case.period_s * SECOND_US
        rows = spark.sql(
            f"SELECT UNIX_MICROS(window.start) AS s, k, SUM(m) AS a FROM s GROUP BY"
            f" window(ts, '{case.range_ms} milliseconds', '{case.period_s} seconds'), k"
        ).toArrow()
        want = {
            (start, key): value
            for start, key, value in zip(*(c.to_pylist() for c in rows.columns), strict=True)
            if start + case.range_ms * 1000 <= watermark_us and start % slide_us == 0
        }
        assert answers_of(folder, case) == want
        assert len(want) > 20


KILLED = """
import os
import signal
import sys
from pathlib import Path
from tests.stories.test_soft import LiveRun, STREAM, rows_of, soft_cases
from tidemill.engine import Engine
from tidemill.engine.tick.decide import Decider

decide = Decider.decide


def killed(self, record, *others):
    # In the middle of a tick, while soft queries are answered beside it.
    if record.number > 10 and len(record.carried) > 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return decide(self, record, *others)


Decider.decide = killed
folder = Path(sys.argv[1])
with Engine(folder / "home") as engine:
    engine.sql("\\n".join([STREAM, *(case.create() for case in soft_cases(3))]), folder)
    LiveRun(engine, folder, rows_of(5)).go()
"""


def test_what_was_carried_over_goes_on_after_a_kill(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with sqlite3.connect(tmp_path / "home" / "tidemill.db") as home:
        ((record,),) = home.execute("SELECT record FROM ticks")
    carried = json.loads(record)["carried"]
    assert len(carried) > 1
    cases, parts = soft_cases(3), rows_of(5)
    reports: list[TickReport] = []
    with Engine(tmp_path / "home") as engine:
        taken = len(list((tmp_path / "in").glob("*.parquet")))
        for number, rows in enumerate(parts[taken:], start=taken):
            write_files(tmp_path / "in", [rows], number)
        engine.run("flush", reports.append)
    first = next(report for report in reports if "soft" in report.phases)
    assert set(first.answers) >= set(carried)
    show_accepted(spark, parts)
    found = batches(spark, cases)
    for case in cases:
        ends_us = check(case, answers_of(tmp_path, case), found[case.keys, case.range_ms])
        assert len(ends_us) >= 2
