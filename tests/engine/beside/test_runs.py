"""Joint runs beside the ticks, with streams that only count: no Spark and no clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from tests.laws.queries import STREAM
from tidemill.clock import ManualClock
from tidemill.engine.beside.agenda import JointRun, OneTimeRun
from tidemill.engine.beside.runs import AnsweredRun, Pins, SoftRuns
from tidemill.engine.tick.report import TickReport
from tidemill.schedule import Joint


def a_run(name: str) -> JointRun:
    return JointRun(Joint((), 0), (name,), (), {})


@dataclass
class Counting:
    """A stream with so many runs to do, which waits in each for the gate to open."""

    name: str
    left: int
    weight: int = 1
    gate: Event = field(default_factory=Event)
    fails: bool = False
    begun: int = 0
    ended: list[str] = field(default_factory=list)
    once: tuple[int, ...] = ()  # which of them are SELECTs
    selected: list[object] = field(default_factory=list)

    @property
    def stream(self) -> Any:
        return replace(STREAM, name=self.name, weight=self.weight)

    def has_soft(self) -> bool:
        return self.left > self.begun

    def next_soft(self) -> JointRun | OneTimeRun:
        self.begun += 1
        if self.begun in self.once:
            return OneTimeRun(cast(Any, f"{self.name}{self.begun}"), cast(Any, None))
        return a_run(f"{self.name}{self.begun}")

    def answer_soft(self, run: JointRun) -> list[Any]:
        self.gate.wait()
        if self.fails:
            raise ValueError(f"{run.names[0]} fails")
        return []

    def select(self, run: OneTimeRun) -> None:
        self.selected.append(run.selected)

    def end_soft(self, answered: AnsweredRun) -> TickReport:
        self.ended += answered.run.names
        return cast(TickReport, answered.run.names[0])


def open_stream(name: str, left: int, **others: Any) -> Counting:
    stream = Counting(name, left, **others)
    stream.gate.set()
    return stream


def test_runs_follow_each_other_and_are_delivered_on_the_callers_side() -> None:
    noted: list[object] = []
    stream = open_stream("a", 3)
    with SoftRuns(noted.append, Event(), ManualClock()) as runs:
        assert runs.start([stream])
        assert runs.settle()
        assert noted == stream.ended == ["a1", "a2", "a3"]
        assert not runs.start([stream])
        assert not runs.settle()


def test_a_select_has_its_turn_and_nothing_to_deliver() -> None:
    stream = open_stream("a", 4, once=(2, 4))
    with SoftRuns(lambda _: None, Event(), ManualClock()) as runs:
        assert runs.start([stream])
        assert runs.settle()
        assert stream.ended == ["a1", "a3"]
        assert stream.selected == ["a2", "a4"]


def test_nothing_is_begun_twice_nor_after_enough() -> None:
    stream = Counting("a", 3)
    with SoftRuns(lambda _: None, Event(), ManualClock()) as runs:
        assert runs.start([stream])
        assert not runs.start([stream])
        assert not runs.collect(0.0)
        stream.gate.set()
        runs.finish()
        assert 1 <= len(stream.ended) == stream.begun <= 3


def test_a_stop_lets_the_run_under_way_be_the_last() -> None:
    stream, stop = Counting("a", 3), Event()
    with SoftRuns(lambda _: None, stop, ManualClock()) as runs:
        assert runs.start([stream])
        stop.set()
        stream.gate.set()
        runs.settle()
        assert stream.begun == len(stream.ended) <= 1
        assert not runs.start([stream])


def test_streams_are_all_served() -> None:
    streams = [open_stream("heavy", 20, weight=3), open_stream("light", 20)]
    with SoftRuns(lambda _: None, Event(), ManualClock()) as runs:
        while runs.start(streams):
            runs.settle()
        assert [len(stream.ended) for stream in streams] == [20, 20]


def test_what_fails_beside_is_raised_by_who_waits_for_it() -> None:
    with SoftRuns(lambda _: None, Event(), ManualClock()) as runs:
        runs.start([open_stream("a", 1, fails=True)])
        with pytest.raises(ValueError, match="a1 fails"):
            runs.settle()


def test_files_stay_while_a_run_reads_them(tmp_path: Path) -> None:
    (file := tmp_path / "piece").touch()
    pins, wanted = Pins(), a_run("q")
    assert pins.pin(lambda: None) is None
    assert pins.pin(lambda: wanted) is wanted
    assert list(pins.names) == ["q"]
    pins.drop([file])
    assert file.exists()
    pins.unpin(wanted)
    pins.drop([])
    assert not file.exists()
    assert not pins.names
