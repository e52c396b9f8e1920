"""`tidemill generate` tells what it wrote."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

MAIN = "from tidemill.cli import main; main()"


@pytest.mark.parametrize(
    ("option", "rows"), [("duration=4s", range(1, 1000)), ("duration=1h", range(1000, 1001))]
)
def test_the_rows_that_are_told_are_those_in_the_files(
    tmp_path: Path, option: str, rows: range
) -> None:
    words = ["generate", "packets", "out", "--rows", "1000", "-o", "rate=100", "-o", option]
    # In a process of its own: it forks, which a process with a JVM had better not.
    run = subprocess.run(
        [sys.executable, "-c", MAIN, *words],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
    )
    written = sum(pq.read_metadata(file).num_rows for file in tmp_path.glob("out/*.parquet"))
    assert written in rows
    assert run.stdout == f"{written:,} rows in out\n"
