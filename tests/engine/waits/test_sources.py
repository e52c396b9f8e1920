"""How sources stand: in a word, since when, and which queries wait for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engine.test_failing_streams import Broken
from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.tick.report import NO_LOOK, Look
from tidemill.engine.waits.sources import state_of
from tidemill.explain.replies import ReplyTable

BEGUN = StreamState(rows_in=1)


@pytest.mark.parametrize(
    ("state", "look", "is_read", "word"),
    [
        (BEGUN, Look(has_input=True), True, "busy"),
        (BEGUN, Look(input_us=5), True, "idle"),
        (StreamState(), NO_LOOK, True, "never begun"),
        (BEGUN, Look(coming="a.tmp"), True, "writing"),
        (StreamState(), Look(coming="a.tmp"), True, "writing"),
        (BEGUN, Look(has_input=True, coming="a.tmp"), True, "busy"),
        (BEGUN, Look(has_ended=True), True, "done"),
        (StreamState(), Look(has_ended=True), True, "done"),
        (BEGUN, Look(has_input=True, failure="gone"), True, "broken"),
        (BEGUN, NO_LOOK, False, "unread"),
    ],
)
def test_a_source_has_one_state(state: StreamState, look: Look, is_read: bool, word: str) -> None:
    assert state_of(state, look, is_read) == word


def sources(engine: Engine) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    (shown,) = engine.ask("SHOW SOURCES")
    assert isinstance(shown, ReplyTable)
    rows = [dict(zip(shown.columns, row, strict=True)) for row in shown.to_dict()["rows"]]
    return {row["source"]: row for row in rows}, shown.notes


GENERATED = "generate:packets?rate=100&duration=20s&hosts=9&seed=7"
STREAM = "CREATE STREAM {0} (ts TIMESTAMP, src STRING, length BIGINT) ORDER BY ts SOURCE '{1}';"
QUERY = "CREATE QUERY of_{0} AS SELECT COUNT(*) AS n FROM {0} [RANGE 2 s SLIDE 2 s];"


def test_a_source_that_fails_is_broken_while_the_run_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []
    with Engine(tmp_path / "home", clock=ManualClock(), default_sink="discard") as engine:
        engine.sql("SET tick_rows = 300;")
        for name in ("bad", "good", "spare"):
            engine.sql(STREAM.format(name, GENERATED))
        engine.sql(QUERY.format("bad") + QUERY.format("good"))
        Broken("bad", monkeypatch, "next_input")
        notes: tuple[str, ...] = ()

        def listen(_: object) -> None:
            nonlocal notes
            shown, notes = sources(engine)
            seen.append((shown["bad"]["state"], shown["good"]["state"]))

        report = engine.run("flush", listen)
        after, _ = sources(engine)
    assert seen[0] == ("busy", "never begun")
    assert seen[-2:] == [("broken", "done")] * 2
    assert notes == ("bad: ConnectionError: the other end has gone",)
    assert after["good"]["state"] == "done"
    assert after["good"]["rows"] > 0
    assert after["good"]["rows"] == report.streams["good"]["rows_in"]
    assert report.streams["good"]["register"] == {
        "newest_us": after["good"]["newest"],
        "promised_us": after["good"]["watermark"],
        "word": "flush",
        "arrived_us": 0,
        "drift_us": 0,
        "arrivals": 0,
    }
    assert after["good"]["word"] == "flush"
    assert after["bad"]["word"] == "lateness"
    assert after["bad"]["holds back"] == ["of_bad"]
    assert after["good"]["holds back"] == []
    assert {after["spare"][name] for name in ("state", "rows", "watermark")} == {"unread", 0, None}


class Pauses(ManualClock):
    """A clock that has something done whenever a run finds no input."""

    def __init__(self, now_us: int, do: Callable[[], object]) -> None:
        super().__init__(now_us)
        self._do = do

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._do()


def test_a_source_is_idle_since_it_had_input_the_last_time(tmp_path: Path) -> None:
    seen: list[tuple[str, int | None]] = []

    def look() -> None:
        if len(seen) == 3:  # then another runner takes the stream over
            engine.sql("CREATE QUERY another AS SELECT MIN(src) AS least FROM s [RANGE 1 s];")
        shown = sources(engine)[0]["s"]
        seen.append((shown["state"], shown["since"]))
        if len(seen) == 6:
            engine.stop()

    with Engine(tmp_path / "home", clock=Pauses(5_000_000, look), default_sink="discard") as engine:
        # A block, which is a second, comes every two and a half.
        address = "generate:packets?rate=100&hosts=9&seed=7&pace=0.4"
        engine.sql(f"SET poll_ms = 1000; {STREAM.format('s', address)} {QUERY.format('s')}")
        engine.run("stopped")
    begun = [("idle", 8_000_000)] * 3
    assert seen == [*[("never begun", None)] * 3, *begun]


def test_from_outside_a_source_is_idle_or_cannot_be_read(tmp_path: Path) -> None:
    folder, empty = tmp_path / "in", tmp_path / "empty"
    folder.mkdir()
    empty.mkdir()
    rows = {"ts": [1, 2_500_000], "src": ["a", "b"], "length": [1, 2]}
    table = pa.table(rows).set_column(0, "ts", pa.array(rows["ts"], pa.timestamp("us", "UTC")))
    pq.write_table(table, folder / "a.parquet")
    with Engine(tmp_path / "home", clock=ManualClock(5_000_000)) as engine:
        for name, place in (("begun", folder), ("none", empty)):
            engine.sql(STREAM.format(name, f"parquet:{place}") + QUERY.format(name))
        looks: list[Any] = []
        engine.run("idle", lambda _: looks.append(sources(engine)[0]["begun"]))
        shown, notes = sources(engine)
        folder.rename(tmp_path / "gone")
        gone, why = sources(engine)
    assert [(look["state"], look["holds back"]) for look in looks] == [("busy", [])]
    assert notes == ()
    assert (shown["none"]["state"], shown["none"]["holds back"]) == ("never begun", [])
    assert (shown["begun"]["state"], shown["begun"]["holds back"]) == ("idle", ["of_begun"])
    assert (shown["begun"]["newest"], shown["begun"]["watermark"]) == (2_500_000, 2_500_000)
    assert gone["begun"]["state"] == "broken"
    assert why == (f"begun: stream begun reads {folder}, which does not exist",)
