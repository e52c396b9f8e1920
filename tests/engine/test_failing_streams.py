"""A stream that fails rests until the next run; the other streams of the run go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidemill import Engine
from tidemill.connect.sources.generate import GenerateSource

STREAM = """
CREATE STREAM {0} (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=20s&hosts=9&seed=7';
CREATE QUERY of_{0} AS SELECT SUM(length) AS bytes FROM {0} [RANGE 2 SECONDS SLIDE 1 SECOND];
"""
TICKS = "SET tick_rows = 300;"


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
