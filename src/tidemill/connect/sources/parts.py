"""The input of a tick in parts that arrays scan: of files, or of rows that are made."""

from __future__ import annotations

from functools import partial

from tidemill.connect.sources.contract import AnySource, ArrowBlocks, Input
from tidemill.scan.arrays.files import MadeRows, Part, parts_of
from tidemill.scan.arrays.program import Program


def array_parts(program: Program, source: AnySource, portion: Input) -> tuple[Part, ...] | None:
    """All parts of an input in order; None if some of it is Spark's to read."""
    reading = source.read(portion, [name for name, _ in program.columns])
    if isinstance(reading, ArrowBlocks):
        most_rows = source.most_rows(portion) or 0
        rows_each = -(-most_rows // max(1, len(reading.numbers)))
        return tuple(
            MadeRows(number, partial(reading.make, number), rows_each) for number in reading.numbers
        )
    return None if reading.where else parts_of(program, reading.paths)
