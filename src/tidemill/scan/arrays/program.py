"""What a plan asks of the rows, in the form that arrays are asked in; or why it cannot be.

Whatever is not plainly the same on arrays as in Catalyst is left to Catalyst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidemill.aggregates.columns import has_codes, has_numbers, is_column
from tidemill.catalog import Stream
from tidemill.plan.expressions import Slot
from tidemill.scan.arrays.lines import Dialect, is_plain_kind
from tidemill.scan.arrays.signatures import Signing, signing
from tidemill.state.feed import Feed, Scan
from tidemill.types import Type

# Options that are understood here, by the scheme of a source. Whitespace does not do as a
# separator: Spark leaves out lines of nothing else.
_PLAIN_OPTIONS = {
    "parquet": re.compile("(?!)"),
    "generate": re.compile(".*"),
    "csv": re.compile(r"header=(?i:true|false)|sep=[,;|]"),
}


@dataclass(frozen=True)
class ArrayPass:
    """The feeds of one scan, and how it signs rows."""

    feeds: tuple[Feed, ...]
    signing: Signing

    @property
    def keeps_all(self) -> bool:
        return any(feed.keeps_all for feed in self.feeds)


@dataclass(frozen=True)
class Program:
    """All passes over a stream's rows; `columns` are those they read, in lower case."""

    time_column: str
    columns: tuple[tuple[str, Type], ...]
    passes: tuple[ArrayPass, ...]
    dialect: Dialect | None = None  # of text files

    @cached_property
    def holds_interpreter(self) -> bool:
        """Whether much of the work is done object by object, so that threads wait in turn."""
        feeds = (feed for one_pass in self.passes for feed in one_pass.feeds)
        return any(lane.is_sketch for feed in feeds for lane in feed.lanes)

    @cached_property
    def kinds(self) -> Mapping[str, Type]:
        return dict(self.columns)


def write_program(stream: Stream, feeds: Sequence[Feed]) -> Program:
    """The program for feeds of which `hindrance` knows none."""
    by_scan: dict[Scan, list[Feed]] = {}
    for feed in feeds:
        by_scan.setdefault(feed.scan, []).append(feed)
    passes = tuple(ArrayPass(tuple(f), signing(scan.predicates)) for scan, f in by_scan.items())
    return _program(stream, [name for scan in by_scan for name in scan.columns], passes)


def sampling_program(stream: Stream, scan: Scan) -> Program | None:
    """A program without feeds, for the keys and predicates of a scan; None if Catalyst has some
    of them."""
    if any((*_source(stream), *_joined(scan), *_grouped(scan), *_asked(scan))):
        return None
    sides = (side for predicate in scan.predicates for side in predicate.dimensions)
    names = [side.name for side in sides if isinstance(side, Slot)]
    names += [name for key in scan.keys for name in key.columns]
    return _program(stream, names, (ArrayPass((), signing(scan.predicates)),))


def _program(stream: Stream, names: Sequence[str], passes: tuple[ArrayPass, ...]) -> Program:
    needed = {name.lower() for name in (*names, stream.time_column)}
    columns = ((column.name.lower(), column.type) for column in stream.columns)
    return Program(
        stream.time_column,
        tuple((name, kind) for name, kind in columns if name in needed),
        passes,
        _dialect(stream) if stream.source.scheme == "csv" else None,
    )


def _dialect(stream: Stream) -> Dialect:
    options = stream.source.option_map
    separator = options.get("sep", ",")
    names = separator.join(column.name for column in stream.columns)
    return Dialect(
        tuple((column.name.lower(), column.type) for column in stream.columns),
        separator,
        names if options.get("header", "").lower() == "true" else None,
    )


def parted(stream: Stream, feeds: Sequence[Feed]) -> tuple[tuple[Feed, ...], tuple[Feed, ...]]:
    """The feeds that arrays can serve and the others: an odd query keeps just its own scan back."""
    scans = dict.fromkeys(feed.scan for feed in feeds)
    plain = {scan for scan in scans if not any((*_source(stream), *_scan(scan)))}
    return (
        tuple(feed for feed in feeds if feed.scan in plain),
        tuple(feed for feed in feeds if feed.scan not in plain),
    )


def hindrance(stream: Stream, feeds: Sequence[Feed]) -> str:
    """Why the rows of these feeds are left to Catalyst; empty if they need not be."""
    scans = dict.fromkeys(feed.scan for feed in feeds)
    reasons = (*_source(stream), *(reason for scan in scans for reason in _scan(scan)))
    return next(iter(reasons), "")


def _source(stream: Stream) -> Iterator[str]:
    scheme = stream.source.scheme
    if scheme not in _PLAIN_OPTIONS:
        yield f"the source is {scheme}"
        return
    for key, value in stream.source.options:
        if not _PLAIN_OPTIONS[scheme].fullmatch(f"{key}={value}"):
            yield f"the source has the option {key}"
    if scheme == "csv":
        for column in stream.columns:
            if not is_plain_kind(column.type):
                yield f"column {column.name} is {column.type}"
    if stream.stamped_on_arrival:
        yield "rows are stamped on arrival"


def _scan(scan: Scan) -> Iterator[str]:
    yield from _joined(scan)
    yield from _grouped(scan)
    for lane in scan.lanes:
        if not lane.lifts_arrays:
            yield f"keeps {lane.sql}"
    yield from _asked(scan)


def _joined(scan: Scan) -> Iterator[str]:
    if scan.relation.joins:
        yield "rows are joined to a table"


def _grouped(scan: Scan) -> Iterator[str]:
    for key in scan.keys:
        if not is_column(key) or not has_codes(key.type):
            yield f"grouped by {key.sql}"


def _asked(scan: Scan) -> Iterator[str]:
    for predicate in scan.predicates:
        for side in predicate.dimensions:
            if not isinstance(side, Slot) or not has_numbers(side.type):
                yield f"asks whether {predicate.sql}"
