"""Two recordings played in recorded order, side by side: what is late, and what is promised.

busy      │││││││││││││││││││││││││││││   a row every half a second, a tenth of them out of order
sparse    │ │       ······    │  ······   silent for up to fifty seconds
clock     one for both; a promise of `sparse` is made by it, and is the same in every run
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.tick.journal import Journal
from tidemill.engine.tick.report import TickReport
from tidemill.reference.lateness import late_rows

SECOND_US = 1_000_000
LATENESS_S, SKEW_S = 20, 1
STREAM = """
CREATE STREAM {0} (ts TIMESTAMP, n BIGINT) ORDER BY ts
  SOURCE 'replay:{1}/{0}?recorded=true&speed=0'
  WITH (lateness = '{2} seconds', skew = '{3} seconds');
CREATE QUERY of_{0} AS SELECT COUNT(*) AS n, SUM(n) AS s FROM {0} [RANGE 10 s SLIDE 10 s];
"""
UNION = """
CREATE STREAM both AS SELECT ts, n FROM busy UNION ALL SELECT ts, n FROM sparse;
CREATE QUERY of_both AS SELECT COUNT(*) AS n FROM both [RANGE 10 s SLIDE 10 s];
"""


def recorded_times() -> dict[str, list[int]]:
    rng = random.Random(5)
    # Disorder from the second minute on: what is older than all has waited before it came.
    shifts = [0 if t < 100 else rng.choice((0,) * 9 + (45,)) for t in range(2, 260)]
    busy = [t * SECOND_US // 2 - shift * SECOND_US for t, shift in enumerate(shifts, start=2)]
    times, sparse = 3.0, []
    while times < 130:
        sparse.append(round(times * SECOND_US))
        times += rng.choice((0.2, 1.5, 7, 51))
    return {"busy": busy, "sparse": sparse}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, times in recorded_times().items():
        (tmp_path / name).mkdir()
        for part in range(2):
            half = times[part * len(times) // 2 : (part + 1) * len(times) // 2]
            table = pa.table(
                {"ts": pa.array(half, pa.timestamp("us", "UTC")), "n": range(len(half))}
            )
            pq.write_table(table, tmp_path / name / f"{part}.parquet", row_group_size=40)
    return tmp_path


@dataclass(frozen=True)
class Played:
    """What a run showed: of each stream its ticks, their watermarks, rows and answers."""

    ticks: dict[str, list[tuple[int | None, int, int]]]
    late: dict[str, int]


def play(folder: Path, home: str, script: str = "", until: str = "flush") -> Played:
    ticks: dict[str, list[tuple[int | None, int, int]]] = {"busy": [], "sparse": []}

    def listen(tick: TickReport) -> None:
        answers = sum(tick.answers.values())
        ticks[tick.stream].append((tick.watermark_us, tick.rows_in, answers))

    with Engine(folder / home, clock=ManualClock(), default_sink="discard") as engine:
        for name in ticks:
            engine.sql(script + STREAM.format(name, folder, LATENESS_S, SKEW_S))
        report = engine.run(until, listen)
    return Played(ticks, {name: int(str(s["rows_late"])) for name, s in report.streams.items()})


def on_time(times: list[int]) -> list[int]:
    """The rows that count, by the rule as it is written."""
    arrivals: dict[int, list[int]] = {}
    newest = times[0]
    for time in times:
        newest = max(newest, time)
        arrivals.setdefault(newest // SECOND_US, []).append(time)
    verdicts = late_rows(list(arrivals.values()), LATENESS_S * SECOND_US)
    pairs = zip(arrivals.values(), verdicts, strict=True)
    return [
        time
        for rows, late in pairs
        for time, is_late in zip(rows, late, strict=True)
        if not is_late
    ]


def test_recorded_disorder_is_late_and_silence_is_promised_alike_in_every_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, times = play(folder, "whole"), recorded_times()
    assert whole.late == {name: len(each) - len(on_time(each)) for name, each in times.items()}
    assert whole.late["busy"] > 8
    promises = [tick for tick in whole.ticks["sparse"] if not tick[1]]
    assert len(promises) > 2
    # A promise is made in the second whose end has come to the end of a window that waits.
    for watermark_us, _, answers in promises[:-1]:
        assert answers
        assert watermark_us is not None
        assert 0 <= watermark_us % (10 * SECOND_US) < SECOND_US

    assert play(folder, "small", "SET tick_rows = 3; SET tick_files = 1;") == whole
    silent = play(folder, "none", "SET promises = 'none';")
    assert silent.late == whole.late
    assert [tick for tick in silent.ticks["sparse"] if not tick[1]][:-1] == []

    decide, calls = Journal.decide, 0

    def fail(journal: Journal, *arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls % 80 == 0:
            raise KeyboardInterrupt
        decide(journal, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Journal, "decide", fail)
    parts: dict[str, list[tuple[int | None, int, int]]] = {"busy": [], "sparse": []}
    while not parts["busy"]:
        try:
            parts = play(folder, "cut").ticks
        except KeyboardInterrupt:
            continue
    assert calls > 80
    with Engine(folder / "cut") as engine, Engine(folder / "whole") as other:
        for name in parts:
            one, two = (e.ask("SHOW SOURCES") for e in (engine, other))
            assert str(one[0]) == str(two[0]), name
    assert parts["sparse"] == whole.ticks["sparse"][-len(parts["sparse"]) :]


def longest_wait_s(folder: Path, promises: str) -> tuple[float, dict[int, int]]:
    """Of windows of the union, until their answer, by the recorded clock; and all answers."""
    waits: list[float] = []
    with Engine(folder / promises, clock=ManualClock()) as engine:
        for name in ("busy", "sparse"):
            engine.sql(STREAM.format(name, folder, LATENESS_S, SKEW_S))
        engine.sql(f"SET promises = '{promises}';" + UNION)
        ends: list[int] = []

        def listen(tick: TickReport) -> None:
            if tick.answers.get("of_both"):
                rows = engine.query("of_both").answers().to_arrow()
                clock_us = engine._recorded.now_us or 0
                come = sorted(rows.column("window_end").cast(pa.int64()).to_pylist())
                waits.extend((clock_us - end) / SECOND_US for end in come[len(ends) :])
                ends[:] = come

        engine.run("idle", listen)
        engine.run("flush")
        rows = engine.query("of_both").answers().to_arrow()
        starts = rows.column("window_start").cast(pa.int64()).to_pylist()
    return max(waits), dict(zip(starts, rows.column("n").to_pylist(), strict=True))


def test_no_window_of_a_union_waits_longer_than_lateness_and_skew(folder: Path) -> None:
    on_demand, answers = longest_wait_s(folder, "on demand")
    none, same_answers = longest_wait_s(folder, "none")
    assert on_demand <= LATENESS_S + SKEW_S + 2
    assert none > LATENESS_S + 40
    assert answers == same_answers
    expected: dict[int, int] = {}
    for times in recorded_times().values():
        for time in on_time(times):
            start = time - time % (10 * SECOND_US)
            expected[start] = expected.get(start, 0) + 1
    assert answers == expected
