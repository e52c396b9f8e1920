"""The contract of a scan: how rows become cells, whichever route takes them.

A scan judges every row of a tick, finds its slice, its keys and its signature, lifts it into
lanes, and folds what comes of that into pieces. There are two routes, Catalyst
(`spark.catalyst`) and arrays (`scan.arrays`). Both judge rows by the verdicts here and tell
what they did in a `FoldReport`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemill.failpoints import Failpoint
from tidemill.state.cells import Cells
from tidemill.state.pieces import Piece, write_piece
from tidemill.state.synopsis import Synopsis

# The verdict on a row: it counts, it is late, it cannot be read, or every WHERE leaves it out.
COUNTED, LATE, MALFORMED, FILTERED = 0, 1, 2, 3
# Beyond these the sum of a time and a window would leave 64 bits.
EARLIEST_US, LATEST_US = -(2**60), 2**60

Pieces = Mapping[str, tuple[Piece, ...]]


@dataclass(frozen=True)
class FoldReport:
    """What one task did, or all tasks of a tick together."""

    pieces: Pieces = field(default_factory=dict)  # by synopsis
    rows: Mapping[int, int] = field(default_factory=dict)  # by verdict
    newest_us: int | None = None
    raised: Mapping[str, int] = field(default_factory=dict)  # by expression
    seconds: float = 0.0  # of the slowest task, in the fold alone
    partial_rows: int = 0
    told: Mapping[str, str] = field(default_factory=dict)  # what users' code raised, by aggregate
    route: str = ""  # who made the partials; nobody, if there was nothing to make them from

    def joined(self, other: FoldReport) -> FoldReport:
        """With what another task of the same pass did."""
        return FoldReport(
            pieces=_together(self.pieces, other.pieces),
            rows=_added(self.rows, other.rows),
            newest_us=_later(self.newest_us, other.newest_us),
            raised=_added(self.raised, other.raised),
            seconds=max(self.seconds, other.seconds),
            partial_rows=self.partial_rows + other.partial_rows,
            told={**other.told, **self.told},
            route=self.route or other.route,
        )

    def beside(self, other: FoldReport) -> FoldReport:
        """With what another pass over the same rows did: every pass judges every row."""
        return FoldReport(
            pieces=_together(self.pieces, other.pieces),
            rows=self.rows or other.rows,
            newest_us=_later(self.newest_us, other.newest_us),
            raised={**self.raised, **other.raised},
            seconds=self.seconds + other.seconds,
            partial_rows=self.partial_rows + other.partial_rows,
            told={**other.told, **self.told},
            route=" and ".join(dict.fromkeys(filter(None, (self.route, other.route)))),
        )

    @property
    def rows_in(self) -> int:
        return sum(self.rows.values())

    @property
    def late(self) -> int:
        return self.rows.get(LATE, 0)

    @property
    def malformed(self) -> int:
        return self.rows.get(MALFORMED, 0)


@dataclass(frozen=True)
class FoldPlace:
    """Where pieces go, in how many buckets, and what is needed to die on the way in a test."""

    root: Path
    buckets: Mapping[str, int]  # by synopsis
    tick: int
    failpoint: Failpoint

    def write(self, folded: Iterable[tuple[Synopsis, Cells]]) -> dict[str, tuple[Piece, ...]]:
        """What each synopsis got, by its id; those that got nothing are not there."""
        written = {
            synopsis.id: write_piece(
                self.root / synopsis.id, synopsis, cells, self.buckets[synopsis.id]
            )
            for synopsis, cells in folded
        }
        return {key: (piece,) for key, piece in written.items() if piece}

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
        newest_us=raw["newest_us"],
        raised=raw["raised"],
        seconds=raw["seconds"],
        partial_rows=raw["partial_rows"],
        told=raw.get("told", {}),
        route=raw.get("route", ""),
    )


def read_piece(raw: dict[str, Any]) -> Piece:
    """A piece from its JSON form."""
    spans = tuple((bucket, first, rows) for bucket, first, rows in raw["spans"])
    value_bytes = raw.get("value_bytes", 0)
    return Piece(raw["name"], raw["rows"], raw["size"], tuple(raw["slices"]), spans, value_bytes)


def _later(left: int | None, right: int | None) -> int | None:
    return max((t for t in (left, right) if t is not None), default=None)


def _added(left: Mapping[Any, int], right: Mapping[Any, int]) -> dict[Any, int]:
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}


def _together(left: Pieces, right: Pieces) -> dict[str, tuple[Piece, ...]]:
    return {key: (*left.get(key, ()), *right.get(key, ())) for key in {**left, **right}}
