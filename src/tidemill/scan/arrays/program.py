"""The program of a stream for arrays: its passes and the columns they read.

`scan_hindrances` lists what a scan asks for that arrays do not do, `sampling_hindrances` the same
for a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tidemill.aggregates.columns import has_codes, has_numbers
from tidemill.catalog import Stream, Table
from tidemill.plan.expressions import Scalar, Slot
from tidemill.plan.joins import Join, equal_as_stored, in_users_words
from tidemill.plan.predicates.boxes import Dimension
from tidemill.scan.arrays.lines import Dialect
from tidemill.scan.arrays.signatures import Signing, signing
from tidemill.scan.contract import Pass, passes_of
from tidemill.scan.row_scan import RowPass, row_hindrances, row_passes
from tidemill.state.feed import Feed, Scan
from tidemill.state.row_pieces import RowFeed
from tidemill.types import TIMESTAMP, Type

# The time of rows whose stream has no column for it; no declared column has such a name.
_STAMP = "_stamp"


@dataclass(frozen=True)
class ArrayPass(Pass):
    """A pass, and the tables that sign its rows."""

    signing: Signing

    @cached_property
    def raising(self) -> tuple[Scalar, ...]:
        """The expressions that may raise in a row."""
        return tuple(scalar for scalar in self.scan.scalars if scalar.may_raise)

    @property
    def joins(self) -> tuple[Join, ...]:
        """The tables beside the rows."""
        return self.scan.relation.joins if self.feeds else ()


@dataclass(frozen=True)
class Program:
    """All passes over a stream's rows; `columns` are those they read, in lower case.

    `passes` make cells, `row_passes` pick rows.

    `tables` is the folder with the files of the tables that are joined. Rows that are stamped on
    arrival have `stamp_us` in the column of their time, which no file has.
    """

    time_column: str
    columns: tuple[tuple[str, Type], ...]
    passes: tuple[ArrayPass, ...]
    dialect: Dialect | None = None  # of text files
    tables: Path = Path()
    row_passes: tuple[RowPass, ...] = ()
    is_stamped: bool = False
    stamp_us: int = 0  # of the tick; to look at some rows any will do

    @property
    def stored_columns(self) -> tuple[tuple[str, Type], ...]:
        """The columns that are read."""
        time = self.time_column.lower() if self.is_stamped else ""
        return tuple((name, kind) for name, kind in self.columns if name != time)

    @cached_property
    def holds_interpreter(self) -> bool:
        """True if much of the work is done object by object, so that threads wait in turn."""
        feeds = (feed for one_pass in self.passes for feed in one_pass.feeds)
        return any(lane.is_sketch for feed in feeds for lane in feed.lanes)

    @property
    def reads_rows(self) -> bool:
        """True if rows are more than counted."""
        return bool(self.passes or self.row_passes)

    @property
    def groups_rows(self) -> bool:
        """True if somebody aggregates rows; else they are counted, or leave as they are."""
        return any(feed.synopses for one_pass in self.passes for feed in one_pass.feeds)

    @cached_property
    def kinds(self) -> Mapping[str, Type]:
        return dict(self.columns)


def write_program(
    stream: Stream,
    feeds: Sequence[Feed],
    tables: Path = Path(),
    row_feeds: Sequence[RowFeed] = (),
) -> Program:
    """The program for feeds that `scan.routes` gives to arrays: all of them read rows once.

    Rows are counted before they are joined, so none is needed for that alone.
    """
    feeding = [feed for feed in feeds if feed.synopses]
    passes = tuple(ArrayPass(p.feeds, signing(p.scan.predicates)) for p in passes_of(feeding))
    scans = (*(p.scan for p in passes), *(feed.scan for feed in row_feeds))
    program = _program(stream, [name for scan in scans for name in scan.columns], passes)
    return replace(program, tables=tables, row_passes=row_passes(row_feeds))


def sampling_program(stream: Stream, scan: Scan) -> Program:
    """A program without feeds, for the keys and predicates of a scan."""
    names = [name for predicate in scan.predicates for name in predicate.columns]
    names += [name for key in scan.keys for name in key.columns]
    return _program(stream, names, (ArrayPass((), signing(scan.predicates)),))


def whole_rows(stream: Stream) -> Program:
    """A program that reads all columns and feeds nobody."""
    return _program(stream, [column.name for column in stream.columns], ())


def table_rows(table: Table) -> Program:
    """A program that reads all columns of a table, which has no time."""
    columns = tuple((column.name.lower(), column.type) for column in table.columns)
    return Program("", columns, (), _dialect(table))


def _program(stream: Stream, names: Sequence[str], passes: tuple[ArrayPass, ...]) -> Program:
    time_column = stream.time_column or _STAMP
    read_names = {name.lower() for name in (*names, time_column)}
    if stream.stamped_on_arrival and len(read_names) == 1:
        read_names.add(stream.stored_columns[0].name.lower())  # rows are counted by some column
    stamp = ((_STAMP, TIMESTAMP),) if stream.is_latent else ()
    columns = (*((column.name.lower(), column.type) for column in stream.columns), *stamp)
    return Program(
        time_column,
        tuple((name, kind) for name, kind in columns if name in read_names),
        passes,
        _dialect(stream),
        is_stamped=stream.stamped_on_arrival,
    )


def _dialect(relation: Stream | Table) -> Dialect | None:
    if relation.source.scheme != "csv":
        return None
    options = relation.source.option_map
    separator = options.get("sep", ",")
    names = separator.join(column.name for column in relation.columns)
    return Dialect(
        tuple((column.name.lower(), column.type) for column in relation.columns),
        separator,
        names if options.get("header", "").lower() == "true" else None,
    )


def scan_hindrances(scan: Scan) -> Iterator[str]:
    """Everything that a scan asks for and arrays do not do, in words."""
    yield from (in_users_words(text, scan.relation.joins) for text in _hindrances(scan))


def _hindrances(scan: Scan) -> Iterator[str]:
    yield from _join_hindrances(scan)
    yield from _key_hindrances(scan)
    for lane in scan.lanes:
        if not lane.lifts_arrays:
            yield f"keeps {lane.sql}"
    yield from _predicate_hindrances(scan)


def row_feed_hindrances(feed: RowFeed) -> Iterator[str]:
    """The same for a row feed."""
    joins = feed.query.relation.joins
    conditions = (*_join_hindrances(feed.scan), *_predicate_hindrances(feed.scan))
    yield from (in_users_words(text, joins) for text in conditions)
    yield from row_hindrances(feed)


def sampling_hindrances(scan: Scan) -> Iterator[str]:
    """As `scan_hindrances`, for a sample of the rows, which has no lanes and meets no tables."""
    yield from _key_hindrances(scan)
    yield from _predicate_hindrances(scan)


def _join_hindrances(scan: Scan) -> Iterator[str]:
    for join in scan.relation.joins:
        if join.residual is not None:
            yield f"table {join.table} is joined on {join.residual.sql}"
        for before, compared in join.equal:
            if not _has_lookup(before, compared):
                yield f"table {join.table} is joined on {before.sql} = {compared.sql}"


def _has_lookup(before: Scalar, compared: Scalar) -> bool:
    """True if two columns are compared whose values are equal just where their numbers are."""
    are_columns = before.is_column and compared.is_column
    return are_columns and equal_as_stored(before.type, compared.type) and has_numbers(before.type)


def _key_hindrances(scan: Scan) -> Iterator[str]:
    for key in scan.keys:
        if not key.is_on_arrays or not has_codes(key.type):
            yield f"grouped by {key.sql}"


def _predicate_hindrances(scan: Scan) -> Iterator[str]:
    for predicate in scan.predicates:
        for side in predicate.dimensions:
            if not _is_asked(side):
                yield f"asks whether {predicate.sql}"


def _is_asked(side: Dimension) -> bool:
    """True if arrays can tell where a row stands on one side of a predicate."""
    return has_numbers(side.type) if isinstance(side, Slot) else side.is_on_arrays
