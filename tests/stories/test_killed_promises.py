"""SIGKILL in every step of a promise's tick, and a restart within the silence, a second later.

clock      0 s     2       4       6       8       10      12      14      16      18
busy       40 rows, of 1.9, 3.9, 5.9 s …, in one file
silent     a row of 0 s; skew = '1 s'
promises        0.5   2.0     4.0     6.0     8.0     10.0    12.0    14.0    16.0    18.0 s
tick       1    2     3       4       5       6       7       8       9       10      11
dies                          admit           decide          answer          deliver

After the first, every tick of `silent` is a promise, and lets something go. Nothing is scanned in
it and nothing folded, so it has four steps.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from tests.stories.silence import BEGIN_US, SECOND_US, Steps, stream, write
from tests.stories.test_crash import delivered, lines_of
from tidemill.engine import Engine
from tidemill.engine.home import Home
from tidemill.engine.tick.journal import Decision, Journal, TickRecord
from tidemill.engine.tick.report import TickReport
from tidemill.failpoints import VARIABLE, Failpoint

ROOT = Path(__file__).parents[2]
DEATHS = {"admit": 4, "decide": 6, "answer": 8, "deliver": 10}
UNTIL_S, LAST_PROMISE = 19, 11
SCRIPT = """
CREATE SINK rows TO 'parquet:{0}/rows';
CREATE SINK lines TO 'json:{0}/lines.json';
CREATE STREAM both AS SELECT ts, n FROM busy UNION ALL SELECT ts, n FROM silent;
CREATE STREAM fours AS SELECT COUNT(*) AS n FROM both [RANGE 4 s SLIDE 4 s];
CREATE QUERY counts INTO rows AS SELECT COUNT(*) AS n FROM both [RANGE 4 s SLIDE 4 s];
CREATE QUERY empties INTO rows AS SELECT COUNT(*) AS n FROM silent [RANGE 4 s SLIDE 4 s]
  EMIT EMPTY WINDOWS;
CREATE QUERY eights INTO rows AS SELECT SUM(n) AS n FROM fours [RANGE 8 s SLIDE 8 s];
CREATE QUERY early INTO lines AS SELECT COUNT(*) AS n FROM both [RANGE 8 s SLIDE 8 s]
  EMIT EVERY 2 s;
CREATE QUERY in_order INTO lines AS SELECT ts, n FROM both ORDER BY ts;
"""


class Tick(NamedTuple):
    """What a tick was, and the second of the clock at its end."""

    stream: str
    number: int
    rows_in: int
    time_s: float
    answers: dict[str, int]
    second: float

    @property
    def is_promise(self) -> bool:
        return self.stream == "silent" and self.rows_in == 0


def write_input(folder: Path) -> None:
    folder.mkdir()
    write(folder / "busy", "a", *(2 * n + 1.9 for n in range(40)))
    write(folder / "silent", "a", 0)


def run(folder: Path, begin_s: int, listen: Callable[[Tick], None]) -> None:
    """From a second of the clock on; what each tick was, and the second of its end."""
    clock = Steps(UNTIL_S)
    clock.advance(begin_s * SECOND_US)

    def tell(tick: TickReport) -> None:
        time_s = ((tick.watermark_us or 0) - BEGIN_US) / SECOND_US
        answers = dict(tick.answers)
        listen(Tick(tick.stream, tick.tick, tick.rows_in, time_s, answers, clock.second))

    with Engine(folder / "home", clock=clock) as engine:
        if begin_s == 0:
            engine.sql(stream("busy", folder / "busy"))
            engine.sql(stream("silent", folder / "silent", "skew = '1 s'"))
            engine.sql(SCRIPT.format(folder))
        clock.stop = engine.stop
        engine.run("stopped", tell)


def run_in_process(folder: Path, begin_s: int, failpoint: str) -> tuple[int, list[Tick], str]:
    """How a process of its own ended, its ticks, and what it said."""
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    command = [sys.executable, "-m", __name__, str(folder), str(begin_s)]
    environment = {**os.environ, "PYTHONPATH": path, VARIABLE: failpoint}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    ticks = [Tick(*json.loads(line)) for line in done.stdout.splitlines()]
    return done.returncode, ticks, done.stderr


def unfinished_in(home: Path) -> tuple[TickRecord, Decision | None] | None:
    held = Home(home)
    try:
        return Journal(held.open()).unfinished("silent")
    finally:
        held.close()


def test_a_promise_is_repeated_wherever_a_kill_cut_it_off(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    expected, ticks = list[Tick](), list[Tick]()
    steps = set[str]()

    def note(_point: Failpoint, step: str, number: int) -> None:
        if number == LAST_PROMISE:
            steps.add(step)

    for folder in (whole, cut):
        write_input(folder)
    with patch.object(Failpoint, "reach", note):
        run(whole, 0, expected.append)
    promises = {tick.number: tick for tick in expected if tick.is_promise}
    assert set(promises) == set(range(2, LAST_PROMISE + 1))
    assert steps == set(DEATHS)

    begin_s = 0
    for step, number in DEATHS.items():
        code, before, told = run_in_process(cut, begin_s, f"{step}:{number}")
        assert code == -signal.SIGKILL, told
        unfinished = unfinished_in(cut / "home")
        assert unfinished is not None
        record, decision = unfinished
        promise = promises[number]
        assert (record.number, record.portion, record.word) == (number, None, "skew")
        assert record.promised_us == BEGIN_US + round(promise.time_s * SECOND_US)
        assert (decision is not None) == (step in ("answer", "deliver"))
        # By its own clock, the run that repeats it could promise a second more.
        begin_s = round(promise.second) + 1
        ticks += before
        expected[expected.index(promise)] = promise._replace(second=begin_s)
    run(cut, begin_s, ticks.append)

    assert [tick for tick in ticks if tick.stream != "fours"] == [
        tick for tick in expected if tick.stream != "fours"
    ]
    handed = [
        [t._replace(second=0) for t in each if t.stream == "fours"] for each in (ticks, expected)
    ]
    assert handed[0] == handed[1]
    assert len(handed[0]) == 4
    assert delivered(cut) == delivered(whole)
    answers = {name: len(rows) for name, rows in delivered(whole).items()}
    windows = {"query=counts": 4, "query=empties": 4, "query=eights": 2}
    assert answers == {**windows, "early": 9, "in_order": 10}
    assert lines_of(cut, "in_order") == lines_of(whole, "in_order")


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]), lambda tick: print(json.dumps(tick), flush=True))
