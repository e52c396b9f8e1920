"""A stream that fails rests until the next run; the other streams of the run go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tidemill import Engine
from tidemill.connect.sources.generate import GenerateSource
from tidemill.engine.tick.journal import Journal, TickRecord

STREAM = """
CREATE STREAM {0} (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=20s&hosts=9&seed=7';
CREATE QUERY of_{0} AS SELECT SUM(length) AS bytes FROM {0} [RANGE 2 SECONDS SLIDE 1 SECOND];
"""
TICKS = "SET tick_rows = 300;"
_SUMS = "AS SELECT SUM(length) AS bytes FROM {0} [RANGE 2 SECONDS SLIDE 1 SECOND];"
_LONG = "CREATE QUERY long AS SELECT MAX(length) FROM good [RANGE 9 SECONDS SLIDE 1 SECOND];"
_INTO = f"CREATE QUERY {{0}}_lines INTO lines {_SUMS} CREATE QUERY {{0}}_files INTO files {_SUMS}"


class Broken:
    """Takes a source's calls over: those of one stream raise from the third on."""

    def __init__(self, stream: str, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
        self.calls, self.is_mended = 0, False
        original = getattr(GenerateSource, method)

        def call(source: Any, *arguments: Any) -> Any:
            if source._stream.name == stream and not self.is_mended:
                self.calls += 1
                if self.calls > 2:
                    raise ConnectionError("the other end has gone")
            return original(source, *arguments)

        monkeypatch.setattr(GenerateSource, method, call)


@pytest.mark.parametrize("method", ["next_input", "read"])
def test_the_others_go_on_and_the_next_run_takes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    notices: list[str] = []
    with Engine(tmp_path / "home", notice=notices.append) as engine:
        engine.sql(TICKS + STREAM.format("bad") + STREAM.format("good"))
        broken = Broken("bad", monkeypatch, method)
        report = engine.run("flush")
        assert broken.calls > 2
        reason = "ConnectionError: the other end has gone"
        assert report.failed_streams == {"bad": reason}
        assert f"stream bad has failed: {reason}" in notices
        good = engine.query("of_good").answers().to_arrow()
        assert 0 < len(engine.query("of_bad").answers()) < len(good)
        broken.is_mended = True
        assert engine.run("flush").failed_streams == {}
        bad = engine.query("of_bad").answers().to_arrow()
    assert bad.sort_by("window_start").equals(good.sort_by("window_start"))


def test_the_last_stream_that_fails_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine(tmp_path / "home") as engine:
        engine.sql(TICKS + STREAM.format("bad"))
        Broken("bad", monkeypatch, "next_input")
        with pytest.raises(ConnectionError):
            engine.run("flush")


@pytest.mark.parametrize("step", [Journal.decide, Journal.commit])
def test_a_tick_that_fails_leaves_nothing_in_a_sink_of_several_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Callable[..., None]
) -> None:
    lines, folder = tmp_path / "answers.json", tmp_path / "answers"
    with Engine(tmp_path / "home") as engine:
        engine.sql(
            f"CREATE SINK lines TO 'json:{lines}'; CREATE SINK files TO 'parquet:{folder}';"
            + TICKS
            + "".join(STREAM.format(stream) + _INTO.format(stream) for stream in ("bad", "good"))
        )
        failures = 0

        def fail(journal: Journal, record: TickRecord, *arguments: Any) -> None:
            nonlocal failures
            step(journal, record, *arguments)
            if record.stream == "bad" and record.number == 3 and not failures:
                failures += 1
                raise OSError("no room")

        monkeypatch.setattr(Journal, step.__name__, fail)
        assert engine.run("flush").failed_streams == {"bad": "OSError: no room"}
        assert engine.run("flush").failed_streams == {}
    assert failures == 1
    answers = [json.loads(line) for line in lines.read_text().splitlines()]
    for stream in ("bad", "good"):
        starts = [row["window_start"] for row in answers if row["query"] == f"{stream}_lines"]
        assert len(starts) == len(set(starts)) > 15
        stored = pq.read_table(folder / f"query={stream}_files").column("window_start").to_pylist()
        assert len(stored) == len(set(stored)) == len(starts)


def test_the_plan_changes_while_a_stream_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tick is finished first, under the plan that it began with."""
    with Engine(tmp_path / "home") as engine:
        engine.sql(TICKS + STREAM.format("bad") + STREAM.format("good"))
        engine.sql(_LONG)
        broken = Broken("bad", monkeypatch, "read")
        versions: list[int] = []

        def regroup(_: object) -> None:
            if broken.calls == 2 and not versions:
                engine.sql("SET sharing = 'none';")
                versions.append(engine.plan.version)

        engine.run("flush", listener=regroup)
        # A stint of before ended after the stream had failed.
        assert broken.calls > 2
        assert engine.plan.version > versions[0] + 1
        broken.is_mended = True
        assert engine.run("flush").failed_streams == {}
        bad, good = (engine.query(f"of_{s}").answers().to_arrow() for s in ("bad", "good"))
    assert bad.sort_by("window_start").equals(good.sort_by("window_start"))
