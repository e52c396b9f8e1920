"""What long work is under way: told by the engine, shown on a terminal, kept out of pipes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidemill import Engine
from tidemill.cli import app
from tidemill.cli.progress import Progress

STREAM = """CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) ORDER BY ts SOURCE 'parquet:in';
CREATE SINK nowhere TO 'discard:';"""
QUERY = """CREATE QUERY q{0} INTO nowhere AS SELECT k, SUM(n) AS total
  FROM s [RANGE {0} SECONDS SLIDE 1 SECONDS] GROUP BY k;"""
SCRIPT = STREAM + "".join(QUERY.format(seconds) for seconds in (2, 3))
TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_engine_tells_each_statement_and_the_plan(folder: Path) -> None:
    told: list[str] = []
    with Engine(folder / "home", notice=told.append) as engine:
        engine.sql(SCRIPT, folder)
    each = [f"statement {number} of 4" for number in (1, 2, 3, 4)]
    assert told == ["reading statements", *each, "planning 2 queries"]
    told.clear()
    Engine(folder / "home", notice=told.append).close()
    assert told == ["opening the home"]


@pytest.mark.parametrize("command", ["sql", "explain"])
def test_a_terminal_shows_it_and_a_pipe_does_not(folder: Path, command: str) -> None:
    (folder / "script.sql").write_text(SCRIPT)
    given = ["-c", SCRIPT, "--home", "home"] if command == "sql" else ["script.sql"]
    # Work as short as this is only drawn when it ends.
    last = "planning 2 queries …" if command == "sql" else "statement 5 of 5 …"
    shown = CliRunner().invoke(app, [command, *given], env=TERMINAL)
    assert shown.exit_code == 0, shown.stderr
    assert last in shown.stderr
    piped = CliRunner().invoke(app, [command, *given])
    assert (piped.exit_code, piped.stderr) == (0, "")
    assert " …" not in shown.stdout + piped.stdout


def test_a_run_shows_it_in_the_line_of_its_ticks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as piped:
        piped.working("planning 2 queries")
        piped.working("starting Spark for table hosts")
    assert capsys.readouterr().err == "starting Spark for table hosts …\n"
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)
    with Progress() as progress:
        progress.working("planning 2 queries")
    assert "planning 2 queries …" in capsys.readouterr().err
