"""Output into a pipe that nobody reads to its end, as with `| head -1`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=10&duration=4s&hosts=9&seed=7';
CREATE QUERY bytes AS SELECT SUM(length) AS bytes FROM packets [RANGE 2 SECONDS SLIDE 2 SECONDS];
"""
MAIN = "from tidemill.cli import main; main()"


@pytest.mark.parametrize("command", [["explain"], ["run", "--flush"]])
def test_a_reader_that_has_left_is_no_error(tmp_path: Path, command: list[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nowhere:
        run = subprocess.run(
            [sys.executable, "-c", MAIN, *command, str(script)],
            stdout=nowhere,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
    assert run.returncode == 1
    assert "rror" not in run.stderr
