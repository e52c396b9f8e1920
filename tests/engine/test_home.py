"""A home belongs to one process from its opening on, and a home of nothing leaves nothing."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

import pytest

from tidemill import Engine
from tidemill.engine.home import Home
from tidemill.errors import TidemillError

STREAM = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=10&duration=2s&hosts=9&seed=7';
"""


def test_a_home_that_is_only_opened_is_held(tmp_path: Path) -> None:
    """Else a statement here would write over all that a run did there meanwhile."""
    path = tmp_path / "new" / "home"
    with Engine(path) as prompt:
        with pytest.raises(TidemillError, match="another process runs on home"):
            Engine(path)
        prompt.sql(STREAM)
    with Engine(path) as engine:
        assert [stream.name for stream in engine.catalog.of_kind("stream")] == ["packets"]


def test_nothing_kept_leaves_nothing(tmp_path: Path) -> None:
    with Engine(tmp_path / "new" / "home") as engine:
        assert engine.sql("SHOW STREAMS;")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    Engine(tmp_path).close()
    assert tmp_path.is_dir()
    assert not list(tmp_path.iterdir())


def test_a_lock_whose_file_its_holder_removed_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Home(tmp_path / "home"), Home(tmp_path / "home")
    first.hold()
    lock, calls = fcntl.flock, list[int]()

    def lock_late(file: IO[str], operation: int) -> None:
        calls.append(file.fileno())
        first.close()  # between the second one's opening of the file and its locking it
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    second.hold()
    monkeypatch.undo()
    assert len(calls) == 2
    with pytest.raises(TidemillError, match="another process"):
        Home(tmp_path / "home").hold()
    second.close()


def test_who_looks_for_the_holder_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment of a look may be long on a busy machine."""
    home, looks = Home(tmp_path / "home"), list[float]()
    home.path.mkdir()
    looker = (home.path / "lock").open("w+")
    fcntl.flock(looker, fcntl.LOCK_SH)

    def look_on(seconds: float) -> None:
        looks.append(seconds)
        assert Home(home.path).holder() is None  # another who looks is not taken for the holder
        if len(looks) == 2:
            looker.close()

    monkeypatch.setattr("tidemill.engine.home.time.sleep", look_on)
    home.hold()
    assert len(looks) == 2
    assert Home(home.path).holder() is not None
    home.close()
