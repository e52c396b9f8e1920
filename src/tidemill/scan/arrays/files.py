"""The files of a tick for arrays, of whatever format: their parts, and the rows of some parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidemill.scan.arrays.chunk import OutOfRangeError
from tidemill.scan.arrays.lines import Lines, NotPlainError, read_lines, stretches
from tidemill.scan.arrays.program import Program
from tidemill.scan.arrays.row_groups import RowGroup, read_groups, row_groups

# Enough rows that the fixed costs of a chunk vanish, few enough that its columns stay in cache.
CHUNK_ROWS = 1 << 19


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


Part = RowGroup | Lines | MadeRows
# Raised by reading or scanning what is not as declared after all.
UNREADABLE = (OSError, pa.ArrowException, OutOfRangeError, NotPlainError)


def parts_of(program: Program, paths: Sequence[str]) -> tuple[Part, ...] | None:
    """All parts of the files in order; None if any file is not as declared or cannot be read."""
    if program.dialect is not None:
        return stretches(paths, program.dialect)
    return row_groups(paths, program.columns)


def split(parts: Sequence[Part], runs: int) -> list[tuple[Part, ...]]:
    """Runs of about equal size. Neighbours stay together: they share slices, so cells."""
    sizes = [part.size for part in parts]
    before = [0, *itertools.accumulate(sizes)]
    whole = max(1, before[-1])
    found: list[list[Part]] = [[] for _ in range(runs)]
    for part, low, size in zip(parts, before, sizes, strict=False):
        found[min(runs - 1, (2 * low + size) * runs // (2 * whole))].append(part)
    return [tuple(run) for run in found if run]


def read_chunks(program: Program, parts: Sequence[Part]) -> Iterator[pa.Table]:
    """The rows in chunks of many, whatever parts they come in."""
    waiting: list[pa.Table] = []
    for table in _tables(program, parts):
        if waiting and sum(map(len, waiting)) + len(table) > CHUNK_ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
        waiting.append(table)
    if waiting:
        yield pa.concat_tables(waiting)


def _tables(program: Program, parts: Sequence[Part]) -> Iterator[pa.Table]:
    lines = [part for part in parts if isinstance(part, Lines)]
    if program.dialect is not None:
        yield from read_lines(lines, program.dialect, program.kinds)
    groups = (part for part in parts if isinstance(part, RowGroup))
    yield from read_groups(groups, program.kinds, CHUNK_ROWS)
    made = (part for part in parts if isinstance(part, MadeRows))
    yield from (pa.Table.from_batches([batch]) for part in made for batch in part.make())
