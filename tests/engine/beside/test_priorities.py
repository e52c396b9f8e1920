"""SELECTs with priorities beside a run, with the answering thread held until all of them wait."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any

import pytest

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.beside.one_time import OneTimeAnswerer
from tidemill.engine.beside.selects import WaitingSelects
from tidemill.explain.replies import Reply
from tidemill.plan.query import QueryPlan

PATIENCE_S = 300
SCRIPT = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=6s&hosts=9&seed=7';
CREATE QUERY bytes AS
SELECT src, SUM(length) AS bytes FROM packets [RANGE 4 SECONDS SLIDE UP TO 2 SECONDS] GROUP BY src;
"""


class Gate:
    """Holds the first SELECT that is answered until others wait, and notes who follows it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_taken, self.is_open, self.is_asked = Event(), Event(), Event()
        self.order: list[int] = []
        answer, ask = OneTimeAnswerer.answer, WaitingSelects.ask

        def held(answerer: OneTimeAnswerer, query: QueryPlan, *others: Any) -> Reply:
            self.order.append(query.priority)
            self.is_taken.set()
            assert self.is_open.wait(PATIENCE_S)
            return answer(answerer, query, *others)

        def noted(selects: WaitingSelects, query: QueryPlan, update: int) -> Future[Reply]:
            reply = ask(selects, query, update)
            self.is_asked.set()
            return reply

        monkeypatch.setattr(OneTimeAnswerer, "answer", held)
        monkeypatch.setattr(WaitingSelects, "ask", noted)


@contextmanager
def stopped_after(engine: Engine) -> Iterator[None]:
    """A test that fails does not wait for a run that has no end."""
    try:
        yield
    finally:
        engine.stop()


def test_beside_a_run_the_higher_one_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, notices = Gate(monkeypatch), SimpleQueue[str]()
    with (
        Engine(tmp_path / "home", clock=ManualClock(), notice=notices.put) as engine,
        ThreadPoolExecutor(8) as pool,
        stopped_after(engine),
    ):
        engine.sql(SCRIPT)
        engine.run("idle")
        while not notices.empty():
            notices.get()
        run = pool.submit(engine.run, "stopped")
        # From its first notice on, the run answers; before, each thread would for itself.
        notices.get(timeout=PATIENCE_S)
        replies = []
        for priority in (1, 2, 9, -3, 4):
            gate.is_asked.clear()
            asked = (
                f"SELECT COUNT(*) AS n FROM packets [RANGE 2 SECONDS] WITH (priority = {priority})"
            )
            replies.append(pool.submit(engine.sql, asked))
            assert gate.is_asked.wait(PATIENCE_S)
            assert gate.is_taken.wait(PATIENCE_S)
        gate.is_open.set()
        told = {reply.result(PATIENCE_S)[0] for reply in replies}
        engine.stop()
        run.result(PATIENCE_S)
    assert gate.order == [1, 9, 4, 2, -3]
    assert len(told) == 1
    assert told.pop().splitlines()[0].endswith("n")
