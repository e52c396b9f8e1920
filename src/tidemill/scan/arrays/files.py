"""The files of a tick for arrays, of any format: their parts, and the rows of some parts.

Spark reads some Parquet files with an eye to who wrote them and turns some types into others.
Those files are Spark's to read: a file taken here holds just what is declared, bit by bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.aggregates.encoded import flat
from tidemill.arrays import BoolArray
from tidemill.scan.arrays.chunk import ChunkColumn, OutOfRangeError
from tidemill.scan.arrays.lines import Lines, NotPlainError, line_parts, read_lines
from tidemill.scan.arrays.program import Program
from tidemill.scan.contract import Arrival, TimeRange, TimeSpan
from tidemill.time import EARLIEST_US
from tidemill.types import STRING, TIMESTAMP, Type

# Marks of files with dates of the calendar before 1582, which Spark moves.
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_VERSION = b"org.apache.spark.version"


@dataclass(frozen=True)
class RowGroup:
    """A part of a file; `names` are its columns as the file spells them, by ours."""

    path: str
    number: int
    rows: int
    size: int
    names: tuple[tuple[str, str], ...]
    times: TimeSpan | None = None  # the span of them, if the file's footer tells it
    untimed: int | None = None  # rows without one, if the footer tells that
    within: TimeRange | None = None  # only the rows of this range are read

    @property
    def place(self) -> tuple[str, int]:
        """The part among those of all files, whichever columns it is read with."""
        return self.path, self.number

    @property
    def arrival(self) -> Arrival:
        """The file; rows of a range come out of several at once."""
        return "" if self.within else self.path

    def meets(self, times: TimeRange) -> bool:
        """True if some row may be in the range."""
        if self.times is None or (times.takes_untimed and self.untimed != 0):
            return True
        return times.meets(*self.times)


def row_groups(
    paths: Sequence[str], columns: Sequence[tuple[str, Type]], time_column: str
) -> tuple[RowGroup, ...] | None:
    """All parts of the files in order; None if any file is not as declared or cannot be read.

    The rows of a table have no time, and its name is empty.
    """
    groups: list[RowGroup] = []
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                names = _names(file, columns)
                if names is None:
                    return None
                groups += _parts(path, file, names, dict(names).get(time_column.lower()))
        except (OSError, pa.ArrowException):
            return None
    return tuple(groups)


def read_groups(
    run: Sequence[RowGroup], kinds: Mapping[str, Type], most_rows: int
) -> Iterator[pa.Table]:
    """The rows of parts of one file, columns under our names."""
    ours = {theirs: name for name, theirs in run[0].names}
    texts = [theirs for theirs, name in ours.items() if kinds[name] == STRING]
    with pq.ParquetFile(run[0].path, read_dictionary=texts, memory_map=True) as file:
        for batch in file.iter_batches(
            most_rows,
            row_groups=[group.number for group in run],
            columns=list(ours),
            use_threads=False,
        ):
            table = pa.Table.from_batches([batch])
            yield table.rename_columns([ours[name] for name in table.column_names])


def _parts(
    path: str, file: pq.ParquetFile, names: tuple[tuple[str, str], ...], time_name: str | None
) -> Iterator[RowGroup]:
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        if group.num_rows:
            part = RowGroup(path, number, group.num_rows, group.total_byte_size, names)
            yield part if time_name is None else _timed(part, file, group, time_name)


def _timed(
    part: RowGroup, file: pq.ParquetFile, group: pq.RowGroupMetaData, time_name: str
) -> RowGroup:
    """With what the footer tells of its times."""
    place = [column.path for column in file.schema].index(time_name)
    unit_us = 1000 if file.schema_arrow.field(time_name).type.unit == "ms" else 1
    statistics = group.column(place).statistics
    if statistics is None:
        return part
    untimed = statistics.null_count if statistics.has_null_count else None
    return replace(part, times=_span(statistics, unit_us), untimed=untimed)


def _span(statistics: pq.Statistics, unit_us: int) -> TimeSpan | None:
    """In microseconds; None if nobody has noted it. Integers are noted as they are."""
    if not statistics.has_min_max or not isinstance(statistics.max_raw, int):
        return None
    return TimeSpan(statistics.min_raw * unit_us, statistics.max_raw * unit_us)


def newest_by_path(groups: Iterable[RowGroup], latest_us: int) -> dict[Arrival, int] | None:
    """The newest time of each file; None if the footers do not tell all of them.

    A time that nobody may count by says nothing of the others in its file.
    """
    newest: dict[Arrival, int] = {}
    for group in groups:
        if group.times is None or not EARLIEST_US <= group.times.newest_us <= latest_us:
            return None
        newest_us = group.times.newest_us
        newest[group.arrival] = max(newest_us, newest.get(group.arrival, newest_us))
    return newest


def _names(
    file: pq.ParquetFile, columns: Sequence[tuple[str, Type]]
) -> tuple[tuple[str, str], ...] | None:
    """The file's spelling of every column; None if one is missing or not as declared."""
    if _is_moved(file.metadata.metadata or {}):
        return None
    by_name: dict[str, list[pa.Field]] = {}
    for field in file.schema_arrow:
        by_name.setdefault(field.name.lower(), []).append(field)
    names = []
    for name, kind in columns:
        fields = by_name.get(name, [])
        # Arrow takes a dot for the way into a nested column.
        if len(fields) != 1 or "." in name or not _is_as_declared(fields[0].type, kind):
            return None
        names.append((name, fields[0].name))
    return tuple(names)


def _is_moved(metadata: Mapping[bytes, bytes]) -> bool:
    old = metadata.get(_VERSION, b"9") < b"3"
    return old or any(mark in metadata for mark in _LEGACY)


def _is_as_declared(stored: pa.DataType, kind: Type) -> bool:
    if kind == STRING:
        inner = stored.value_type if pa.types.is_dictionary(stored) else stored
        return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))
    if kind == TIMESTAMP:
        is_instant = pa.types.is_timestamp(stored) and stored.tz is not None
        return is_instant and stored.unit in ("ms", "us")
    return bool(stored == kind.arrow)


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

    @property
    def place(self) -> tuple[str, int]:
        """The part among those of its input, whatever columns it is made with."""
        return "", self.number

    @property
    def arrival(self) -> Arrival:
        return self.number


FilePart = RowGroup | Lines
Part = FilePart | MadeRows


def parts_of(program: Program, paths: Sequence[str]) -> tuple[FilePart, ...] | None:
    """All parts of the files in order; None if any file is not as declared or cannot be read."""
    if program.dialect is not None:
        return line_parts(paths, program.dialect)
    time_column = "" if program.is_stamped else program.time_column
    return row_groups(paths, program.stored_columns, time_column)


def all_rows(program: Program, paths: Sequence[str]) -> pa.Table | None:
    """The rows of the files in the types that are declared; None where they are Spark's to read."""
    schema = pa.schema([(name, kind.arrow) for name, kind in program.columns])
    try:
        parts = parts_of(program, paths)
        if parts is None:
            return None
        tables = [batch.rows.select(schema.names) for batch in read_batches(program, parts)]
        return pa.concat_tables([schema.empty_table(), *(each.cast(schema) for each in tables)])
    except UNREADABLE:
        return None


def split(parts: Sequence[Part], runs: int) -> list[tuple[Part, ...]]:
    """Runs of about equal size. Neighbours stay together: they share slices, so cells."""
    sizes = [part.size for part in parts]
    before = [0, *itertools.accumulate(sizes)]
    total = max(1, before[-1])
    shares: list[list[Part]] = [[] for _ in range(runs)]
    for part, low, size in zip(parts, before, sizes, strict=False):
        shares[min(runs - 1, (2 * low + size) * runs // (2 * total))].append(part)
    return [tuple(share) for share in shares if share]


# Rows one after the other that have arrived together.
Stretch = tuple[Arrival, int]


@dataclass(frozen=True)
class RowBatch:
    """Rows that are scanned together, and the parts from which they come, or from among which.

    `stretches` are the arrivals of the rows in order, each with the number of its rows.
    """

    rows: pa.Table
    stretches: tuple[Stretch, ...]
    parts: tuple[Part, ...] = ()


def read_batches(program: Program, parts: Sequence[Part]) -> Iterator[RowBatch]:
    """The rows in batches of many, whatever parts they come in."""
    waiting: list[RowBatch] = []
    for batch in _batches(program, parts):
        if not len(batch.rows):
            continue
        batch = _stamped(program, batch) if program.is_stamped else batch
        if waiting and sum(len(b.rows) for b in waiting) + len(batch.rows) > CHUNK_ROWS:
            yield _joined(waiting)
            waiting = []
        waiting.append(batch)
    if waiting:
        yield _joined(waiting)


def _within(table: pa.Table, times: TimeRange | None) -> pa.Table:
    """The rows of a range."""
    if times is None:
        return table
    column = ChunkColumn(flat(table.column(times.column.lower())), TIMESTAMP)
    is_chosen: BoolArray = (column.numbers >= times.low_us) & (column.numbers < times.high_us)
    if column.valid is not None:
        is_chosen = np.where(column.valid, is_chosen, times.takes_untimed)
    return table if is_chosen.all() else table.filter(pa.array(is_chosen))


def _stamped(program: Program, batch: RowBatch) -> RowBatch:
    """With the time of their arrival."""
    stamps = pa.repeat(pa.scalar(program.stamp_us, TIMESTAMP.arrow), len(batch.rows))
    return replace(batch, rows=batch.rows.append_column(program.time_column.lower(), stamps))


def _joined(batches: Sequence[RowBatch]) -> RowBatch:
    parts = dict.fromkeys(part for batch in batches for part in batch.parts)
    stretches = tuple(stretch for batch in batches for stretch in batch.stretches)
    return RowBatch(pa.concat_tables([batch.rows for batch in batches]), stretches, tuple(parts))


def _batches(program: Program, parts: Sequence[Part]) -> Iterator[RowBatch]:
    """Lines part by part, row groups file by file, made rows as they are made."""
    if program.dialect is not None:
        lines = [part for part in parts if isinstance(part, Lines)]
        for part, table in zip(
            lines, read_lines(lines, program.dialect, program.kinds), strict=True
        ):
            yield RowBatch(table, ((part.arrival, len(table)),), (part,))
    groups = [part for part in parts if isinstance(part, RowGroup)]
    for _, of_file in itertools.groupby(groups, key=lambda group: group.path):
        run = tuple(of_file)
        for group_rows in read_groups(run, program.kinds, CHUNK_ROWS):
            table = _within(group_rows, run[0].within)
            yield RowBatch(table, ((run[0].arrival, len(table)),), run)
    for made_rows in (part for part in parts if isinstance(part, MadeRows)):
        for batch in made_rows.make():
            stretch = made_rows.arrival, len(batch)
            yield RowBatch(pa.Table.from_batches([batch]), (stretch,), (made_rows,))
