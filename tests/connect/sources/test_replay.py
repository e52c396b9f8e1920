"""A recording's stretches, without Spark: which files each of them reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidemill.catalog import stream_of
from tidemill.clock import ManualClock
from tidemill.connect.sources import Extent, Files, Position, SourceTools, open_source
from tidemill.language import parse_script
from tidemill.language.statements import CreateStream
from tidemill.settings import Settings

EXTENTS = {
    "a": Extent(rows=10, untimed=0, first_us=0, last_us=99),
    "b": Extent(rows=10, untimed=1, first_us=50, last_us=199),
    # Nothing from 200 to 299.
    "c": Extent(rows=20, untimed=0, first_us=300, last_us=399),
    "d": Extent(rows=1, untimed=1, first_us=None, last_us=None),
}


def test_a_stretch_reads_the_files_that_have_rows_of_it(tmp_path: Path) -> None:
    for name in EXTENTS:
        (tmp_path / f"{name}.parquet").write_text("not looked at")

    def measure(files: Files, time_column: str) -> Mapping[str, Extent]:
        return {path: EXTENTS[Path(path).stem] for path in files.paths}

    text = f"CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'replay:{tmp_path}?speed=0'"
    (statement,) = parse_script(text)
    assert isinstance(statement, CreateStream)
    source = open_source(stream_of(statement), SourceTools(ManualClock(), measure))
    position, read = Position(), []
    while (portion := source.next_input(position, Settings(tick_rows=10), True)) is not None:
        position.advance(portion)
        reading = source.read(portion, ("ts",))
        assert isinstance(reading, Files)
        names = "".join(Path(path).stem for path in reading.paths)
        read.append((portion.low, portion.high, names, source.most_rows(portion)))
    assert read == [
        (0, 100, "abd", 21),
        (100, 200, "b", 10),
        (200, 300, "a", 10),  # somebody is read, and has nothing
        (300, 400, "c", 20),
    ]
