"""A reply that takes long to word holds up no tick."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.test_requests import Asker
from tidemill import Engine
from tidemill.engine import explain
from tidemill.explain.stream_model import Arrangement

SCRIPT = """
SET tick_rows = 100;
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=9s&hosts=9&seed=7';
CREATE QUERY volume AS SELECT SUM(length) AS bytes FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND];
"""
LATER = "CREATE QUERY later AS SELECT COUNT(*) AS n FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND];"
SECONDS = 300  # far more than it takes: a tick that waited would fail the test, not hang it


class LongPage:
    """EXPLAIN SHARED ALL, which is not worded before it is let go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.gate = threading.Event(), threading.Event()
        self.was_let_go = False
        monkeypatch.setattr(explain, "explain_shared", self._word)

    def _word(self, arrangements: Sequence[Arrangement]) -> str:
        self.begun.set()
        self.was_let_go = self.gate.wait(SECONDS)
        return f"{len(arrangements)} stream"


@pytest.mark.parametrize(
    ("script", "replies"),
    [
        ("EXPLAIN SHARED ALL;", ["1 stream"]),
        (f"{LATER} EXPLAIN SHARED ALL;", ["1 stream", "query later: its first window starts at"]),
    ],
)
def test_the_run_ticks_on_while_a_plan_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, replies: list[str]
) -> None:
    page, ticks_meanwhile = LongPage(monkeypatch), []
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT)
        asker = Asker(engine._requests, script)

        def after_tick(_tick: object) -> None:
            if asker.ident is None:
                asker.start()
                while engine._requests._waiting.empty():
                    assert asker.is_alive()
            elif not page.gate.is_set():
                assert page.begun.wait(SECONDS)
                ticks_meanwhile.append(asker.replies)
                if len(ticks_meanwhile) == 3:
                    page.gate.set()

        engine.run("flush", after_tick)
        asker.join(SECONDS)
    assert ticks_meanwhile == [None, None, None]
    assert page.was_let_go
    assert asker.replies is not None
    for reply, beginning in zip(asker.replies, replies, strict=True):
        assert str(reply).startswith(beginning)
