"""A promise in the record of a tick: windows close by it there and then, rows are late by it after.

rows of the tick    0 … 9 ms      promise 20 ms: closes windows that end by 20 ms
rows of the next    19.999 ms is late, 20 ms is not
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.laws.mill import Mill
from tests.laws.queries import Asked, plan_of, random_row
from tidemill.connect.sources.generate import GenerateSource
from tidemill.connect.sources.spans import NumberSpan
from tidemill.engine.tick.journal import TickRecord
from tidemill.engine.tick.machine import Answered, Begun, Decided, Folded, Stage
from tidemill.engine.tick.report import TickReport
from tidemill.reference.answers import AcceptedRow
from tidemill.time import Register

QUERY = "SELECT k, COUNT(*) AS c FROM s [RANGE 10 ms SLIDE 10 ms] GROUP BY k"
UNTIL_US = 20_000


def a_mill(folder: Path) -> Mill:
    mill = Mill(folder)
    mill.change([Asked(plan_of(0, QUERY), lambda _row: True)])
    return mill


def rows_at(*times_us: int) -> list[AcceptedRow]:
    rng = random.Random(3)
    return [random_row(rng, time_us) for time_us in times_us]


def answered(mill: Mill) -> dict[int, int]:
    """By the start of its window, how many rows the answers tell of."""
    rows: dict[int, int] = {}
    for start_us, _, (_, count) in mill.kept.answers.get("q0", []):
        rows[start_us] = rows.get(start_us, 0) + count
    return rows


def test_windows_close_in_the_tick_that_makes_the_promise(tmp_path: Path) -> None:
    mill = a_mill(tmp_path)
    mill.tick(rows_at(0, 5_000, 9_000, 12_000, 21_000))
    assert answered(mill) == {0: 3, 10_000: 1}
    mill.tick([], promised_us=30_000)
    assert answered(mill) == {0: 3, 10_000: 1, 20_000: 1}
    assert mill.time == Register(21_000, 30_000, "source", arrived_us=0)


def test_rows_that_come_with_a_promise_are_not_judged_by_it(tmp_path: Path) -> None:
    mill = a_mill(tmp_path)
    mill.tick(rows_at(0, 5_000), promised_us=UNTIL_US)
    assert (answered(mill), mill.state.rows_late) == ({0: 2}, 0)


def test_a_row_at_the_promised_instant_counts_and_one_before_it_is_late(tmp_path: Path) -> None:
    mill = a_mill(tmp_path)
    mill.tick(rows_at(0), promised_us=UNTIL_US)
    assert mill.tick(rows_at(UNTIL_US, UNTIL_US - 1)).rows_late == 1
    assert mill.state.rows_broken == 1
    mill.tick([], flush=True)
    assert answered(mill) == {0: 1, 20_000: 1}


def test_a_promise_before_the_first_row_stands(tmp_path: Path) -> None:
    mill = a_mill(tmp_path)
    mill.tick([], promised_us=UNTIL_US)
    assert mill.time == Register(None, UNTIL_US, "source")
    assert mill.tick(rows_at(UNTIL_US - 1, UNTIL_US + 1)).rows_late == 1


def test_a_promise_that_would_go_back_changes_nothing(tmp_path: Path) -> None:
    mill = a_mill(tmp_path)
    mill.tick(rows_at(25_000), promised_us=UNTIL_US)
    mill.tick([], promised_us=UNTIL_US)
    assert mill.time == Register(25_000, 25_000, arrived_us=0)


@pytest.mark.parametrize("last", [Begun, Folded, Decided, Answered])
def test_a_promise_that_is_cut_off_is_repeated(tmp_path: Path, last: type[Stage]) -> None:
    mill = a_mill(tmp_path)
    mill.tick(rows_at(0, 5_000))
    machine = mill.machine()
    stage: Stage | TickReport = mill.begin([], promised_us=UNTIL_US)
    while not isinstance(stage, last):
        assert not isinstance(stage, TickReport)
        stage = machine.advance(stage)
    resumed = mill.restarted().resume()
    assert resumed is not None
    mill.run(resumed)
    assert (answered(mill), mill.time) == ({0: 2}, Register(5_000, UNTIL_US, "source", 0))


def test_a_record_of_before_has_no_promise() -> None:
    record = TickRecord("s", 1, 1, 0, Register(), promised_us=7)
    assert TickRecord.from_json(record.to_json()) == record
    raw = json.loads(record.to_json())
    del raw["promised_us"]
    assert TickRecord.from_json(json.dumps(raw)).promised_us is None


def test_a_source_promises_nothing_unless_it_says_so() -> None:
    source = GenerateSource.__new__(GenerateSource)
    assert source.promise(NumberSpan(0, 1)) is None
