"""Subscribers: their slowness and their errors are their own."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from tidemill import Engine
from tidemill.engine import subscribers
from tidemill.engine.subscribers import Subscribers

SCRIPT = """
SET tick_rows = 300;
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=20s&hosts=9&seed=7';
CREATE QUERY bytes AS
SELECT SUM(length) AS bytes FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND];
"""


def test_a_subscriber_that_waits_delays_no_tick(tmp_path: Path) -> None:
    gate, batches = threading.Event(), list[pa.Table]()

    def wait(rows: pa.Table) -> None:
        assert gate.wait(300)
        batches.append(rows)

    ticks: list[int] = []

    def note(tick: object) -> None:
        ticks.append(len(batches))
        if len(ticks) == 4:
            gate.set()

    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT)
        engine.query("bytes").subscribe(wait)
        engine.run("flush", listener=note)  # would never come to its fourth tick
        answers = engine.query("bytes").answers().to_arrow()
    assert len(ticks) >= 4
    assert ticks[:4] == [0, 0, 0, 0]
    # The run ends when everybody has everything.
    assert pa.concat_tables(batches).equals(answers)


@pytest.mark.parametrize("error", [ValueError("no room"), SystemExit("no more")])
def test_a_subscriber_that_raises_ends_nothing(tmp_path: Path, error: BaseException) -> None:
    batches: list[pa.Table] = []

    def fail(_: pa.Table) -> None:
        raise error

    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT)
        for callback in (fail, batches.append):
            engine.query("bytes").subscribe(callback)
        report = engine.run("flush")
        answers = engine.query("bytes").answers().to_arrow()
        assert engine.run("flush").subscriber_errors == {}
    assert report.subscriber_errors == {"bytes": f"{type(error).__name__}: {error}"}
    assert pa.concat_tables(batches).equals(answers)
    assert len(answers) > 10


def test_a_subscriber_may_ask_and_change(tmp_path: Path) -> None:
    replies: list[str] = []

    def drop(_: pa.Table) -> None:
        if not replies:
            replies.append(str(engine.sql("SHOW QUERIES;")[0]))
            engine.sql("DROP QUERY bytes;")

    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT)
        engine.query("bytes").subscribe(drop)
        engine.run("flush")
        assert "bytes" in replies[0]
        assert not engine.catalog.queries()


def test_a_subscriber_that_never_comes_back_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscribers, "MOST_TICKS_BEHIND", 3)
    gate, rows, everyone = threading.Event(), pa.table({"n": [1]}), Subscribers()
    calls: list[pa.Table] = []

    def wait(table: pa.Table) -> None:
        gate.wait(300)
        calls.append(table)

    everyone.add("q", wait)
    for _ in range(9):
        everyone.publish("q", rows)
    gate.set()
    assert everyone.finish(lambda: None) == {"q": "3 ticks behind; it is not called again"}
    assert 3 <= len(calls) <= 4  # one of them may have been in the callback's hands


def test_a_users_file_that_exits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "exits.py").write_text("import sys\nsys.exit('done here')\n")
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT)
        refusals: list[str] = []

        def ask() -> None:
            with pytest.raises(Exception, match="cannot be run: SystemExit") as refusal:
                engine.sql("CREATE AGGREGATE e SOURCE 'python:exits.py';", tmp_path)
            refusals.append(str(refusal.value))

        thread = threading.Thread(target=ask)

        def note(tick: object) -> None:
            if not thread.ident:
                thread.start()

        report = engine.run("flush", listener=note)
        thread.join()
    assert len(refusals) == 1
    assert report.ticks > 2
    assert sys.exc_info() == (None, None, None)
