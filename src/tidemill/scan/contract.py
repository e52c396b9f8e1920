"""The contract of a scan: how rows become cells, whichever route takes them.

There are two routes, Catalyst (`spark.catalyst`) and arrays (`scan.arrays`). `scan.routes` decides
which of them takes a scan, and nobody can tell them apart by what is answered, counted or set
aside. For that an implementation keeps the following.

- Verdicts. Every row of a tick gets one verdict, by `Terms` alone: MALFORMED without an event
  time between EARLIEST_US and `Terms.latest_us`, or if its text does not parse; else LATE by more
  than `Terms.correct_us` before the bound of its arrival; else FILTERED if no feed of a scan keeps
  it; else COUNTED. Of the last two, those before the bound are CORRECTED_FILTERED and CORRECTED. Of
  late and corrected rows, those before what a promise beyond the lateness said are BREAKING.
- Slices. A row lies in a slice that ends at every edge of `Pass.edge_classes`. A finer cut of time
  will do, since the fold cuts what it gets into slices.
- Signatures. The signature of a row has the bit of every predicate of the scan that holds. A feed
  gets its own bits of it, `own_bits`; it keeps a row if it keeps all rows or has one of its bits.
  Further bits of the scan may stay if the feed has the pass to itself.
- Cells. For every slice, group and signature among the rows that a feed keeps there is one cell
  with the feed's lanes; `state.fold.fold_feed` makes pieces of them.
- Tables. A scan meets a row once for each of its partners, or once without any. Tables never
  change what a row's verdict is, nor how often it is counted.
- Rows. A row feed gets the rows that its query keeps, with the columns of its select list; they
  become its piece in the order in which they came. One whose rows leave in the order of time gets
  timely rows alone: those that correct would come after rows that have left.
- Accounts. A `FoldReport` counts the rows by verdict, each once however many passes there are,
  and has the oldest and the newest time among accepted rows.
- Side files. Late rows and malformed records are set aside, one Parquet file of each a tick; and
  handed over to streams of them, if somebody reads these.

`late/` has all declared columns. `malformed/` has `record`, the line as it came or the row as
JSON, and `reason`. Who judged the rows of a tick writes both: arrays if they took a scan of it,
else Catalyst. Left to Catalyst are records of streams with columns whose JSON Java writes in a way
of its own (`arrays.records.is_plain_record`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tidemill.arrays import BoolArray, IntArray
from tidemill.catalog import Stream
from tidemill.catalog.handed import LATE_BY
from tidemill.failpoints import Failpoint
from tidemill.language.names import SIDES
from tidemill.plan.predicates import WORD_BITS
from tidemill.state.cells import Cells
from tidemill.state.feed import Feed, Scan, classes_from
from tidemill.state.pieces import Piece, write_piece
from tidemill.state.raised import RaisedCounts, of_any_row
from tidemill.state.row_pieces import RowFeed, write_row_piece
from tidemill.state.synopsis import Synopsis
from tidemill.time import EARLIEST_US, LATEST_US, Register, bounds
from tidemill.windows import EdgeClass

# The verdict on a row: it counts, it is late, it cannot be read, or every WHERE leaves it out. It
# breaks a promise too if it is late by more than the lateness of its stream.
COUNTED, LATE, MALFORMED, FILTERED, BROKEN = 0, 1, 2, 3, 4
# It counts or is left out though it is late: it corrects what has closed, and may break a promise.
CORRECTED, CORRECTED_FILTERED, BROKEN_CORRECTED, BROKEN_CORRECTED_FILTERED = 5, 6, 7, 8
# Rows that are in cells, and rows that are accepted, whether some WHERE lets them in or none.
TAKEN = COUNTED, CORRECTED, BROKEN_CORRECTED
ACCEPTED = *TAKEN, FILTERED, CORRECTED_FILTERED, BROKEN_CORRECTED_FILTERED
# The verdict on a row that corrects, by what it would be else; on one that breaks a promise, too.
CORRECTING = {COUNTED: CORRECTED, FILTERED: CORRECTED_FILTERED}
BREAKING = {
    LATE: BROKEN,
    CORRECTED: BROKEN_CORRECTED,
    CORRECTED_FILTERED: BROKEN_CORRECTED_FILTERED,
}

Pieces = Mapping[str, tuple[Piece, ...]]
# A file by its path, or a block of rows that are made by its number.
Arrival = str | int


class TimeSpan(NamedTuple):
    """The oldest and the newest of some times."""

    oldest_us: int
    newest_us: int

    def joined(self, other: TimeSpan) -> TimeSpan:
        return TimeSpan(min(self.oldest_us, other.oldest_us), max(self.newest_us, other.newest_us))


TimeSpans = Mapping[Arrival, TimeSpan]


@dataclass(frozen=True)
class TimeRange:
    """Rows from one time up to, not including, another, by a column.

    Rows that have no time come with the first range of several: somebody must count them.

    >>> first = TimeRange("ts", 10, 20, takes_untimed=True)
    >>> first.meets(0, 9), first.meets(0, 10), first.meets(19, 30), first.meets(20, 30)
    (False, True, True, False)
    """

    column: str
    low_us: int
    high_us: int
    takes_untimed: bool = False

    def meets(self, oldest_us: int, newest_us: int) -> bool:
        """True if some of rows between these times may be in the range."""
        return oldest_us < self.high_us and self.low_us <= newest_us


def join_spans(left: TimeSpans, right: TimeSpans) -> dict[Arrival, TimeSpan]:
    """The spans of rows that are here or there."""
    both = {arrival: left[arrival].joined(right[arrival]) for arrival in left.keys() & right.keys()}
    return {**left, **right, **both}


@dataclass(frozen=True)
class Terms:
    """The terms on which a tick judges its rows, by their times and arrivals.

    The bound of an arrival depends on the newest times of those before it. Where these are known
    before the rows are read, `bounds` has all of them. Else a scan goes by what it has read, which
    may let a row pass that is late; so it notes the span of what passed of each arrival, from
    which all bounds follow, and what is wrong by these is scanned again.
    """

    register: Register = field(default_factory=Register)
    lateness_us: int = 0
    latest_us: int = LATEST_US
    bounds: Mapping[Arrival, int] = field(default_factory=dict)
    correct_us: int = 0  # rows that are before their bound by no more than that correct

    @property
    def since_us(self) -> int:
        """No row is timely that is older, whichever arrival it comes with."""
        return self.register.since_us

    @property
    def accepted_since_us(self) -> int:
        """No row is accepted that is older."""
        return self.since_us - self.correct_us

    @property
    def broken_before_us(self) -> int | None:
        """Rows that are older break a promise, if one stands that goes beyond the lateness."""
        return self.register.broken_before_us

    def broken(self, times_us: IntArray, untimely: BoolArray) -> BoolArray:
        """Of the untimely rows those that break a promise."""
        before_us = self.broken_before_us
        return untimely & (times_us < (EARLIEST_US if before_us is None else before_us))

    def settled(self, arrivals: Sequence[Arrival], newest_us: Mapping[Arrival, int]) -> Terms:
        """With all bounds, by the newest time of each arrival of the tick in order."""
        times = (newest_us.get(arrival) for arrival in arrivals)
        judged = bounds(self.register, self.lateness_us, times)
        return replace(self, bounds=dict(zip(arrivals, judged, strict=True)))

    def misjudged(self, timely: TimeSpans, correcting: TimeSpans) -> bool:
        """True if of rows that passed, in these spans, some are later by the bounds."""
        return any(
            span.oldest_us < self.bounds[arrival] - by_us
            for spans, by_us in ((timely, 0), (correcting, self.correct_us))
            for arrival, span in spans.items()
        )


@dataclass(frozen=True)
class Admission:
    """All by which a tick admits its rows."""

    stream: Stream
    terms: Terms
    batch_time_us: int  # the stamp of rows that are stamped on arrival
    is_text: bool  # the source has lines, which may not parse
    arrivals: tuple[Arrival, ...] = ()  # those to be read, in order; none if they do not matter

    @property
    def judges_later(self) -> bool:
        """True if the bounds are known only once the rows have been read."""
        return len(self.arrivals) > 1 and not self.terms.bounds

    @property
    def judges_apart(self) -> bool:
        """True if arrivals have bounds of their own, which are known."""
        return any(bound != self.terms.since_us for bound in self.terms.bounds.values())


@dataclass(frozen=True)
class Pass:
    """Feeds of one scan that are served by one pass over the rows."""

    feeds: tuple[Feed, ...]

    @property
    def scan(self) -> Scan:
        return self.feeds[0].scan

    @property
    def keeps_all(self) -> bool:
        """True if no row is filtered."""
        return any(feed.keeps_all for feed in self.feeds)

    def edge_classes(self, since_us: int) -> tuple[EdgeClass, ...]:
        """The edges of all that the pass feeds, for rows from that time on."""
        synopses = [synopsis for feed in self.feeds for synopsis in feed.synopses]
        return classes_from(synopses, since_us)


def passes_of(feeds: Sequence[Feed]) -> tuple[Pass, ...]:
    """One pass for each scan, in the order in which the feeds name them."""
    by_scan: dict[Scan, list[Feed]] = {}
    for feed in feeds:
        by_scan.setdefault(feed.scan, []).append(feed)
    return tuple(Pass(tuple(group)) for group in by_scan.values())


def own_bits(feed: Feed) -> tuple[int, ...]:
    """The bits of a scan's signature that a feed reads, as a mask for each of its words."""
    masks = [0] * len(feed.signature_columns)
    for bit in feed.bits:
        masks[bit // WORD_BITS] |= 1 << bit % WORD_BITS
    return tuple(masks)


@dataclass(frozen=True)
class FoldReport:
    """The outcome of one task of a fold, or of all tasks of a tick."""

    pieces: Pieces = field(default_factory=dict)  # by synopsis, and of rows by row feed
    rows: Mapping[int, int] = field(default_factory=dict)  # by verdict
    oldest_us: int | None = None
    newest_us: int | None = None
    raised: Mapping[str, int] = field(default_factory=dict)  # by expression
    raised_by_signature: RaisedCounts = field(default_factory=dict)
    raised_in_rows: Mapping[str, int] = field(default_factory=dict)  # by row feed
    seconds: float = 0.0  # of the slowest task, in the fold alone
    partial_rows: int = 0
    user_errors: Mapping[str, str] = field(default_factory=dict)  # first of each aggregate
    scanned_by: str = ""  # the route of the rows; empty if there were none

    def joined(self, other: FoldReport) -> FoldReport:
        """With what another task of the same pass did."""
        return FoldReport(
            pieces=_merged(self.pieces, other.pieces),
            rows=_summed(self.rows, other.rows),
            oldest_us=_extreme(min, self.oldest_us, other.oldest_us),
            newest_us=_extreme(max, self.newest_us, other.newest_us),
            raised=_summed(self.raised, other.raised),
            raised_by_signature=_summed(self.raised_by_signature, other.raised_by_signature),
            raised_in_rows=_summed(self.raised_in_rows, other.raised_in_rows),
            seconds=max(self.seconds, other.seconds),
            partial_rows=self.partial_rows + other.partial_rows,
            user_errors={**other.user_errors, **self.user_errors},
            scanned_by=self.scanned_by or other.scanned_by,
        )

    def beside(self, other: FoldReport) -> FoldReport:
        """With what another pass over the same rows did: every pass judges every row."""
        routes = self.scanned_by, other.scanned_by
        return FoldReport(
            pieces=_merged(self.pieces, other.pieces),
            rows=self.rows or other.rows,
            oldest_us=_extreme(min, self.oldest_us, other.oldest_us),
            newest_us=_extreme(max, self.newest_us, other.newest_us),
            raised={**self.raised, **other.raised},
            raised_by_signature={**self.raised_by_signature, **other.raised_by_signature},
            raised_in_rows={**self.raised_in_rows, **other.raised_in_rows},
            seconds=self.seconds + other.seconds,
            partial_rows=self.partial_rows + other.partial_rows,
            user_errors={**other.user_errors, **self.user_errors},
            scanned_by=" and ".join(dict.fromkeys(filter(None, routes))),
        )

    @property
    def rows_in(self) -> int:
        return sum(self.rows.values())

    @property
    def late(self) -> int:
        """All late rows, also those that break a promise."""
        return self.rows.get(LATE, 0) + self.rows.get(BROKEN, 0)

    @property
    def broken(self) -> int:
        """Late rows and rows that correct."""
        return sum(self.rows.get(verdict, 0) for verdict in BREAKING.values())

    @property
    def corrected(self) -> int:
        verdicts = (v for timely in CORRECTING.values() for v in (timely, BREAKING[timely]))
        return sum(self.rows.get(verdict, 0) for verdict in verdicts)

    @property
    def malformed(self) -> int:
        return self.rows.get(MALFORMED, 0)

    @property
    def aside(self) -> dict[int, int]:
        """The rows of each side file that the tick has."""
        rows = {LATE: self.late, MALFORMED: self.malformed}
        return {verdict: count for verdict, count in rows.items() if count}


@dataclass(frozen=True)
class PickedRows:
    """Rows of one feed with their times."""

    feed: RowFeed
    rows: pa.Table
    times_us: IntArray


@dataclass(frozen=True)
class FoldPlace:
    """The folder of the pieces, their buckets, and the point at which a test kills the tick."""

    root: Path
    buckets: Mapping[str, int]  # by synopsis
    tick: int
    failpoint: Failpoint

    def write(self, folded: Iterable[tuple[Synopsis, Cells]]) -> dict[str, tuple[Piece, ...]]:
        """The new piece of each synopsis, by its id; synopses that got no cells are absent."""
        written = {
            synopsis.id: write_piece(
                self.root / synopsis.id, synopsis, cells, self.buckets[synopsis.id]
            )
            for synopsis, cells in folded
        }
        return {key: (piece,) for key, piece in written.items() if piece}

    def write_rows(self, picked: Iterable[PickedRows]) -> dict[str, tuple[Piece, ...]]:
        """The new piece of each row feed that got rows, by its id."""
        by_feed: dict[RowFeed, list[PickedRows]] = {}
        for part in picked:
            by_feed.setdefault(part.feed, []).append(part)
        pieces = {feed.id: self._write_rows(feed, parts) for feed, parts in by_feed.items()}
        return {key: (piece,) for key, piece in pieces.items() if piece}

    def _write_rows(self, feed: RowFeed, parts: Sequence[PickedRows]) -> Piece | None:
        rows = pa.concat_tables([part.rows for part in parts])
        return write_row_piece(
            self.root, feed, rows, np.concatenate([part.times_us for part in parts])
        )

    def take_back(self, report: FoldReport) -> None:
        """Remove pieces that were written in vain."""
        for key, pieces in report.pieces.items():
            for piece in pieces:
                (self.root / key / piece.name).unlink(missing_ok=True)


def read_report(raw: dict[str, Any]) -> FoldReport:
    """A report from its JSON form."""
    return FoldReport(
        pieces={key: tuple(map(read_piece, pieces)) for key, pieces in raw["pieces"].items()},
        rows={int(verdict): count for verdict, count in raw["rows"].items()},
        oldest_us=raw.get("oldest_us"),  # not there in ticks of earlier versions
        newest_us=raw["newest_us"],
        raised=raw["raised"],
        raised_by_signature=raw.get("raised_by_signature", of_any_row(raw["raised"])),
        raised_in_rows=raw.get("raised_in_rows", {}),
        seconds=raw["seconds"],
        partial_rows=raw["partial_rows"],
        # Ticks of earlier versions call these `told` and `route`.
        user_errors=raw.get("user_errors", raw.get("told", {})),
        scanned_by=raw.get("scanned_by", raw.get("route", "")),
    )


def read_piece(raw: dict[str, Any]) -> Piece:
    """A piece from its JSON form."""
    spans = tuple((bucket, first, rows) for bucket, first, rows in raw["spans"])
    value_bytes = raw.get("value_bytes", 0)
    return Piece(raw["name"], raw["rows"], raw["size"], tuple(raw["slices"]), spans, value_bytes)


def _extreme(
    choose: Callable[[Iterable[int]], int], left: int | None, right: int | None
) -> int | None:
    times = [time_us for time_us in (left, right) if time_us is not None]
    return choose(times) if times else None


def _summed(left: Mapping[Any, int], right: Mapping[Any, int]) -> dict[Any, int]:
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}


def _merged(left: Pieces, right: Pieces) -> dict[str, tuple[Piece, ...]]:
    return {key: (*left.get(key, ()), *right.get(key, ())) for key in {**left, **right}}


FOLDERS = dict(zip((LATE, MALFORMED), SIDES, strict=True))  # by verdict
NO_TIME, OUT_OF_RANGE, NOT_PARSED = "no event time", "event time out of range", "does not parse"
AHEAD = "event time ahead of the clock"


def side_file(tick: int) -> str:
    """The name of a file of what a tick sets aside."""
    return f"tick-{tick:08d}.parquet"


@dataclass(frozen=True)
class SideFiles:
    """The places of one tick's side files below the folder of its stream.

    What somebody reads as a stream is also `handed` over, by verdict to a file with more columns:
    late rows with `late_by_us` beside them.
    """

    folder: Path
    tick: int
    handed: Mapping[int, Path] = field(default_factory=dict)

    def path(self, verdict: int) -> Path:
        return self.folder / FOLDERS[verdict] / side_file(self.tick)

    def places(self, verdict: int, columns: Sequence[str]) -> dict[Path, list[str]]:
        """The files to write, and of these columns those that each has."""
        places = {self.path(verdict): [name for name in columns if name != LATE_BY.name]}
        if verdict in self.handed:
            places[self.handed[verdict]] = list(columns)
        return places

    def clear(self) -> None:
        """Remove the files that an attempt which was given up may have left."""
        for path in (*map(self.path, FOLDERS), *self.handed.values()):
            path.unlink(missing_ok=True)


def scratch_beside(place: Path) -> Path:
    """A hidden place for this attempt alone: a killed run may still be writing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    return place.with_name(f"_{uuid.uuid4().hex}")
