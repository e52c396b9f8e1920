"""Streams whose soft queries are never done have time by their weights, on a clock of the test."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from threading import Condition

import pytest

from tidemill import Engine
from tidemill.answer.task import TaskResult
from tidemill.clock import ManualClock
from tidemill.engine.beside.agenda import JointRun
from tidemill.engine.tick.report import TickReport
from tidemill.engine.tick.runner import StreamRunner

PATIENCE_S = 300
RUNS = 42
# By stream: its weight, and what a run of its soft queries takes in seconds.
WEIGHTS = {"light": 1, "middle": 2, "heavy": 4}
RUN_S = {"light": 2.0, "middle": 3.0, "heavy": 1.5}


def script(weights: dict[str, int]) -> str:
    return "SET poll_ms = 1;" + "".join(
        f"""
        CREATE STREAM {name} (ts TIMESTAMP, src STRING, length BIGINT) ORDER BY ts
        SOURCE 'generate:packets?rate=200&hosts=9&seed=7' WITH (weight = {weight});
        CREATE QUERY of_{name} AS SELECT MAX(length) AS n FROM {name} [RANGE 5 SECONDS];"""
        for name, weight in weights.items()
    )


class Overload:
    """Runs take time of a manual clock, and none ends before all streams have had a new update.

    The first ones do not: the rate that a stream's first tick shows may change the plan, which
    waits for them.
    """

    def __init__(self, clock: ManualClock, streams: int) -> None:
        self._clock, self._streams, self._moved = clock, streams, Condition()
        self._fresh: set[str] = set()
        self._ticks: Counter[str] = Counter()
        self.used_s: defaultdict[str, float] = defaultdict(float)
        self.runs = 0

    def after_run(self, stream: str) -> None:
        with self._moved:
            if self.runs == RUNS or not self._is_settled:
                # The engine is about to stop or has just begun; not all streams may have work.
                return
            self._fresh.clear()
            self._clock.sleep(RUN_S[stream])
            self.used_s[stream] += RUN_S[stream]
            self.runs += 1
            if self.runs < RUNS:
                is_fresh = lambda: len(self._fresh) == self._streams  # noqa: E731
                assert self._moved.wait_for(is_fresh, PATIENCE_S)

    @property
    def _is_settled(self) -> bool:
        return len(self._ticks) == self._streams and min(self._ticks.values()) > 1

    def note(self, report: TickReport) -> None:
        with self._moved:
            self._ticks[report.stream] += report.rows_in > 0
            self._fresh |= {report.stream} if report.rows_in else set()
            self._moved.notify_all()


@pytest.mark.parametrize("names", [("light", "heavy"), ("light", "middle", "heavy")])
def test_time_goes_by_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    weights = {name: WEIGHTS[name] for name in names}
    clock = ManualClock()
    overload, answer = Overload(clock, len(names)), StreamRunner.answer_soft

    def slow(runner: StreamRunner, run: JointRun) -> list[TaskResult]:
        results = answer(runner, run)
        overload.after_run(runner.stream.name)
        return results

    monkeypatch.setattr(StreamRunner, "answer_soft", slow)
    with Engine(tmp_path / "home", clock=clock) as engine:
        engine.sql(script(weights))

        def note(report: TickReport) -> None:
            overload.note(report)
            if overload.runs == RUNS:
                engine.stop()

        engine.run("stopped", note)
    assert overload.runs == RUNS
    shares = {name: overload.used_s[name] / weight for name, weight in weights.items()}
    # Apart by a run of either at most: runs are not cut short.
    longest = {name: RUN_S[name] / weight for name, weight in weights.items()}
    assert min(shares.values()) > 3 * max(longest.values())
    for one, other in combinations(names, 2):
        assert abs(shares[one] - shares[other]) <= max(longest[one], longest[other])
