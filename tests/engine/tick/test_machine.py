"""The machine of a tick, interrupted after every step, resumes and delivers everything once.

Begun ─> Folded ─> Decided ─> Answered ─> committed
  ^         |          ^          |
  └─────────┘          └──────────┘          a new machine over the same journal and folder
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.laws.mill import Kept, Mill
from tests.laws.queries import Asked, plan_of, random_row
from tidemill.engine.tick.machine import Answered, Begun, Decided, Folded, Stage
from tidemill.engine.tick.report import TickReport
from tidemill.reference.answers import AcceptedRow
from tidemill.settings import Settings

STAGES: tuple[type[Stage], ...] = (Begun, Folded, Decided, Answered)
RESUMED: dict[type[Stage], type[Stage]] = {
    Begun: Begun,
    Folded: Begun,
    Decided: Decided,
    Answered: Decided,
}
QUERIES = (
    "SELECT k, COUNT(*) AS c, SUM(n) AS s FROM s [RANGE 20 ms SLIDE 5 ms] GROUP BY k",
    "SELECT k, MAX(x) AS m FROM s [RANGE 12 ms SLIDE 4 ms] GROUP BY k HAVING COUNT(*) > 1",
    "SELECT n, COUNT(*) AS c FROM s [RANGE 8 ms SLIDE 8 ms] GROUP BY n"
    " ORDER BY COUNT(*) DESC LIMIT 2",
)


def a_mill(folder: Path) -> Mill:
    mill = Mill(folder, Settings(snapshot_pieces=1), lateness_us=2_000)
    mill.change([Asked(plan_of(n, sql), lambda _row: True) for n, sql in enumerate(QUERIES)])
    return mill


def parts() -> list[list[AcceptedRow]]:
    """Six ticks' rows, some of them late."""
    rng = random.Random(7)
    times = [1_000 * t - rng.choice((0, 0, 1_500, 9_000)) for t in range(60)]
    rows = [random_row(rng, time_us) for time_us in times]
    return [rows[first : first + 10] for first in range(0, 60, 10)]


def in_order(mill: Mill) -> dict[str, list[str]]:
    """Answers as texts, in which one NaN is like another."""
    return {name: sorted(map(repr, answers)) for name, answers in mill.kept.answers.items()}


def undisturbed(folder: Path) -> Mill:
    mill = a_mill(folder)
    for rows in parts():
        mill.tick(rows)
    mill.tick([], flush=True)
    return mill


def interrupted(
    mill: Mill, rows: list[AcceptedRow], last: type[Stage], flush: bool = False
) -> None:
    """A tick whose process ends after this stage, and another process that finishes it."""
    machine, stage = mill.machine(), mill.begin(rows, flush)
    after: Stage | TickReport = stage
    while not isinstance(after, last):
        assert not isinstance(after, TickReport)
        after = machine.advance(after)
    machine = mill.restarted()
    resumed = machine.resume()
    assert isinstance(resumed, RESUMED[last])
    mill.run(resumed)


@pytest.mark.parametrize("last", STAGES)
def test_a_tick_that_is_cut_off_is_finished_and_nothing_comes_twice(
    tmp_path: Path, last: type[Stage]
) -> None:
    expected, mill = undisturbed(tmp_path / "a"), a_mill(tmp_path / "b")
    for rows in parts():
        interrupted(mill, rows, last)
    interrupted(mill, [], last, flush=True)
    assert in_order(mill) == in_order(expected)
    assert mill.kept.answers["q0"]
    assert mill.state.time == expected.state.time
    assert mill.state.rows_in == expected.state.rows_in == 60
    assert mill.state.rows_late == expected.state.rows_late > 0
    assert mill.machine().resume() is None


@pytest.mark.parametrize("last", STAGES)
def test_what_a_cut_off_tick_wrote_in_vain_is_swept(tmp_path: Path, last: type[Stage]) -> None:
    mill = a_mill(tmp_path)
    for rows in parts():
        interrupted(mill, rows, last)
    mill.restarted()
    pieces = {p.name for pieces in mill.version.pieces.values() for p in pieces}
    assert {path.name for path in tmp_path.rglob("*.arrow")} == pieces


def test_a_decision_whose_pieces_are_gone_is_made_again(tmp_path: Path) -> None:
    expected, mill = undisturbed(tmp_path / "a"), a_mill(tmp_path / "b")
    for rows in parts():
        machine = mill.machine()
        machine.decide(machine.fold(mill.begin(rows)))
        for path in (tmp_path / "b").rglob("*.arrow"):
            if path.name not in {p.name for own in mill.version.pieces.values() for p in own}:
                path.unlink()
        resumed = mill.restarted().resume()
        assert isinstance(resumed, Begun)
        mill.run(resumed)
    mill.tick([], flush=True)
    assert in_order(mill) == in_order(expected)


@dataclass
class FullDisk(Kept):
    """A sink whose ledger cannot be written the first time."""

    failures: list[str] = field(default_factory=list)

    def record(self) -> None:
        if not self.failures:
            self.failures.append("disk full")
            raise OSError("disk full")


def test_a_commit_that_fails_leaves_the_state_of_before(tmp_path: Path) -> None:
    expected, mill = undisturbed(tmp_path / "a"), a_mill(tmp_path / "b")
    for number, rows in enumerate(parts()):
        if number == 3:
            before = mill.state
            mill.kept = FullDisk(answers=mill.kept.answers)
            mill.restarted()
            with pytest.raises(OSError, match="disk full"):
                mill.tick(rows)
            assert mill.state == before
            resumed = mill.restarted().resume()
            assert isinstance(resumed, Decided)
            mill.run(resumed)
        else:
            mill.tick(rows)
    mill.tick([], flush=True)
    assert in_order(mill) == in_order(expected)
