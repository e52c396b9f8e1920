"""The files of a tick for arrays, of any format: their parts, and the rows of some parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidemill.scan.arrays.chunk import OutOfRangeError
from tidemill.scan.arrays.lines import Lines, NotPlainError, line_parts, read_lines
from tidemill.scan.arrays.program import Program
from tidemill.scan.arrays.row_groups import RowGroup, read_groups, row_groups

# Enough rows that the fixed costs of a chunk vanish, few enough that its columns stay in cache.
CHUNK_ROWS = 1 << 19
# Raised by reading or scanning what is not as declared after all.
UNREADABLE = (OSError, pa.ArrowException, OutOfRangeError, NotPlainError)


@dataclass(frozen=True)
class MadeRows:
    """Rows that are made as Arrow by whoever scans them; how many is a guess.

    `make` can be pickled, and makes the same rows each time.
    """

    number: int
    make: Callable[[], Iterable[pa.RecordBatch]]
    rows: int

    @property
    def size(self) -> int:
        return self.rows


FilePart = RowGroup | Lines
Part = FilePart | MadeRows


def parts_of(program: Program, paths: Sequence[str]) -> tuple[FilePart, ...] | None:
    """All parts of the files in order; None if any file is not as declared or cannot be read."""
    if program.dialect is not None:
        return line_parts(paths, program.dialect)
    return row_groups(paths, program.columns)


def split(parts: Sequence[Part], runs: int) -> list[tuple[Part, ...]]:
    """Runs of about equal size. Neighbours stay together: they share slices, so cells."""
    sizes = [part.size for part in parts]
    before = [0, *itertools.accumulate(sizes)]
    total = max(1, before[-1])
    shares: list[list[Part]] = [[] for _ in range(runs)]
    for part, low, size in zip(parts, before, sizes, strict=False):
        shares[min(runs - 1, (2 * low + size) * runs // (2 * total))].append(part)
    return [tuple(share) for share in shares if share]


@dataclass(frozen=True)
class RowBatch:
    """Rows that are scanned together, and the parts from which they come, or from among which."""

    rows: pa.Table
    parts: tuple[Part, ...] = ()


def read_batches(program: Program, parts: Sequence[Part]) -> Iterator[RowBatch]:
    """The rows in batches of many, whatever parts they come in."""
    waiting: list[RowBatch] = []
    for batch in _batches(program, parts):
        if waiting and sum(len(b.rows) for b in waiting) + len(batch.rows) > CHUNK_ROWS:
            yield _joined(waiting)
            waiting = []
        waiting.append(batch)
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[RowBatch]) -> RowBatch:
    parts = dict.fromkeys(part for batch in batches for part in batch.parts)
    return RowBatch(pa.concat_tables([batch.rows for batch in batches]), tuple(parts))


def _batches(program: Program, parts: Sequence[Part]) -> Iterator[RowBatch]:
    """Lines part by part, row groups file by file, made rows as they are made."""
    if program.dialect is not None:
        lines = [part for part in parts if isinstance(part, Lines)]
        for part, table in zip(
            lines, read_lines(lines, program.dialect, program.kinds), strict=True
        ):
            yield RowBatch(table, (part,))
    groups = [part for part in parts if isinstance(part, RowGroup)]
    for _, of_file in itertools.groupby(groups, key=lambda group: group.path):
        run = tuple(of_file)
        for table in read_groups(run, program.kinds, CHUNK_ROWS):
            yield RowBatch(table, run)
    for made_rows in (part for part in parts if isinstance(part, MadeRows)):
        for batch in made_rows.make():
            yield RowBatch(pa.Table.from_batches([batch]), (made_rows,))
