"""Promises without input: a source makes one when something that waits is let go by it.

rows        0 ……… 5 s                 windows of 4 s wait at 8 s, windows of 6 s at 6 s
promise               12 s            closes both, in one tick; with nothing held it makes none
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidemill import Engine
from tidemill.connect.sources.generate import GenerateSource
from tidemill.engine.tick.journal import Journal
from tidemill.engine.tick.report import TickReport

STREAM = """
CREATE STREAM s (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=5s&hosts=9&seed=7';
"""
QUERIES = """
CREATE QUERY four AS SELECT COUNT(*) AS n FROM s [RANGE 4 s SLIDE 4 s];
CREATE QUERY six AS SELECT COUNT(*) AS n FROM s [RANGE 6 s SLIDE 6 s];
"""
BEGIN_US, SECOND_US = 1_767_225_600_000_000, 1_000_000  # of what the generator makes


def at(second: int) -> int:
    return BEGIN_US + second * SECOND_US


class Word:
    """What the generator says of its rows to come, once it has given all of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, until_s: int) -> None:
        self.until_us = at(until_s)
        monkeypatch.setattr(GenerateSource, "promise_alone", lambda *_: self.until_us)


def ticks_of(engine: Engine) -> list[TickReport]:
    ticks: list[TickReport] = []
    engine.run("idle", ticks.append)
    return ticks


def starts(engine: Engine, query: str) -> list[int]:
    return sorted(
        row["window_start"].second for row in engine.query(query).answers().to_arrow().to_pylist()
    )


def test_a_promise_closes_what_waits_in_one_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = Word(monkeypatch, until_s=12)
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + QUERIES)
        first, second = ticks_of(engine)
        assert first.rows_in > 400
        assert dict(first.answers) == {"four": 1, "six": 0}
        assert (second.rows_in, dict(second.answers)) == (0, {"four": 1, "six": 1})
        assert second.watermark_us == at(12)
        assert starts(engine, "four") == [0, 4]
        # Nothing waits any more, so a further promise would let nothing go.
        word.until_us = at(20)
        assert ticks_of(engine) == []


def test_a_promise_reaches_as_far_up_as_somebody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing waits for the source itself, nor in the stream of answers right above it."""
    answers = """
    CREATE STREAM early AS SELECT COUNT(*) AS n FROM s [RANGE 1 s SLIDE 1 s]
      WHERE ts < TIMESTAMP '2026-01-01 00:00:02';
    CREATE STREAM pairs AS SELECT SUM(n) AS n FROM early [RANGE 2 s SLIDE 2 s];
    CREATE QUERY sums AS SELECT SUM(n) AS n FROM pairs [RANGE 9 s SLIDE 9 s];
    """
    word = Word(monkeypatch, until_s=8)
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + answers)
        first = ticks_of(engine)
        assert [(tick.stream, bool(tick.rows_in)) for tick in first] == [
            *(("s", True), ("early", True), ("pairs", True))
        ]
        word.until_us = at(12)
        second = ticks_of(engine)
        assert [tick.stream for tick in second] == ["s", "early", "pairs"]
        assert {tick.watermark_us for tick in second} == {at(12)}
        assert sum(tick.answers.get("sums", 0) for tick in second) == 1
        word.until_us = at(30)
        assert ticks_of(engine) == []


def test_a_promise_that_lets_nothing_go_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = Word(monkeypatch, until_s=6)
    word.until_us -= 1
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + QUERIES)
        assert len(ticks_of(engine)) == 1
        word.until_us += 1
        (tick,) = ticks_of(engine)
        assert dict(tick.answers) == {"four": 0, "six": 1}
        engine.sql("PAUSE QUERY four;")
        word.until_us = at(20)
        assert ticks_of(engine) == []


def test_a_soft_query_is_let_go_as_far_as_the_last_rows_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Word(monkeypatch, until_s=20)
    with Engine(tmp_path / "home", default_sink="discard") as engine:
        engine.sql(STREAM + "CREATE QUERY soft AS SELECT COUNT(*) AS n FROM s [RANGE 9 s];")
        ticks = ticks_of(engine)
        assert [tick.rows_in for tick in ticks if tick.watermark_us == at(20)] == [0, 0]
        assert ticks_of(engine) == []


def test_a_promise_that_was_cut_off_is_repeated_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = Word(monkeypatch, until_s=12)
    decide, decided = Journal.decide, []

    def fail_once(journal: Journal, *arguments: Any) -> None:
        decided.append(arguments)
        if len(decided) == 2:
            raise KeyboardInterrupt
        decide(journal, *arguments)

    monkeypatch.setattr(Journal, "decide", fail_once)
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM + QUERIES)
        with pytest.raises(KeyboardInterrupt):
            engine.run("idle")
    word.until_us = at(9)
    with Engine(tmp_path / "home") as engine:
        (tick,) = ticks_of(engine)
        assert tick.watermark_us == at(12)
        assert dict(tick.answers) == {"four": 1, "six": 1}
    assert [record.promised_us for record, _ in decided] == [None, *[at(12)] * 2]
