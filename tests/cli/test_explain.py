"""`tidemill explain` takes the scripts that `tidemill run` takes, and refuses those it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidemill.cli import app

STREAM = """CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE '{}';
"""
QUERY = "CREATE QUERY bytes AS SELECT SUM(length) AS bytes FROM packets [RANGE 2 SECONDS]"
GENERATED = STREAM.format("generate:packets?rate=10&duration=2s&hosts=9&seed=7")


@pytest.mark.parametrize("ending", [";", "", " ;;\n", " -- the last", "; -- the last", " /* */"])
def test_however_a_script_ends(tmp_path: Path, ending: str) -> None:
    script = tmp_path / "script.sql"
    script.write_text(GENERATED + QUERY + ending)
    explained = CliRunner().invoke(app, ["explain", str(script)])
    assert explained.exit_code == 0
    assert explained.stdout.startswith("1 query on packets: 1 synopsis")
    run = CliRunner().invoke(app, ["run", "--flush", str(script)])
    assert run.exit_code == 0


def test_a_folder_that_is_not_there_is_refused_by_both(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(STREAM.format("parquet:nowhere") + QUERY)
    refusals = [
        CliRunner().invoke(app, [*command, str(script)]).stderr
        for command in (["explain"], ["run", "--once"])
    ]
    assert "error[E_SOURCE]" in refusals[0]
    assert "line 2, column 22" in refusals[0]
    assert refusals[0] == refusals[1]
