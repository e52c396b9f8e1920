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
    words = ("packets", "out", "--rows", "1000", "-o", "rate=100", "-o", option)
    run = generated(tmp_path, *words)
    written = sum(pq.read_metadata(file).num_rows for file in tmp_path.glob("out/*.parquet"))
    assert written in rows
    assert run.stdout == f"{written:,} rows in out\n"


def generated(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: it forks, which a process with a JVM had better not."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, "generate", *words], cwd=folder, capture_output=True, text=True
    )


def test_the_tables_of_nexmark_have_a_folder_each(tmp_path: Path) -> None:
    run = generated(tmp_path, "nexmark", "out", "--rows", "1000", "-o", "rate=200")
    assert run.stdout == "1,000 rows in out\n"
    rows = {
        folder.name: sum(pq.read_metadata(file).num_rows for file in folder.iterdir())
        for folder in (tmp_path / "out").iterdir()
    }
    assert rows == {"person": 20, "auction": 60, "bid": 920}


def test_what_cannot_be_generated_is_refused(tmp_path: Path) -> None:
    unknown = generated(tmp_path, "parcels", "out")
    assert unknown.returncode == 2
    assert "generators: packets, nexmark" in unknown.stderr
    wrong = generated(tmp_path, "nexmark", "out", "-o", "hosts=5")
    assert wrong.returncode == 1
    assert "no option 'hosts' of generate:nexmark" in wrong.stderr
    assert not (tmp_path / "out").exists()
