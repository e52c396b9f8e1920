"""The route of a scan, arrays or Catalyst: decided here for ticks, plans and EXPLAIN alike.

Arrays take what gives plainly the same on them as in Catalyst; everything else is Catalyst's. By
the source alone it is known which figures a plan goes by; by the scans of a plan, which feeds
arrays serve; the files of a tick may still send all of it to Catalyst (`arrays.files.parts_of`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidemill.catalog import Stream, Table
from tidemill.catalog.addresses import HANDED, is_recorded
from tidemill.scan.arrays.lines import is_plain_kind
from tidemill.scan.arrays.program import (
    row_feed_hindrances,
    sampling_hindrances,
    scan_hindrances,
)
from tidemill.state.feed import Feed, Scan
from tidemill.state.row_pieces import RowFeed

# The routes as reports name them.
COLUMNAR, CATALYST = "columnar", "catalyst"
# The value of the setting `scan` that leaves the choice to this module.
AUTO = "auto"
# Options that arrays understand, by the format of a source that they read. Whitespace does not do
# as a separator: Spark leaves out lines of nothing else.
_READ_BY_ARRAYS = {
    "parquet": re.compile("(?!)"),
    "generate": re.compile(".*"),
    "replay": re.compile(r"recorded=(?i:true|false)|speed=.*|format=parquet"),
    HANDED: re.compile(".*"),
    "csv": re.compile(r"header=(?i:true|false)|sep=[,;|]"),
}


@dataclass(frozen=True)
class Division:
    """The feeds of a stream by the route of their scans."""

    by_arrays: tuple[Feed, ...]
    by_catalyst: tuple[Feed, ...]
    rows_by_arrays: tuple[RowFeed, ...] = ()
    rows_by_catalyst: tuple[RowFeed, ...] = ()


def planned_route(stream: Stream, scan_setting: str) -> str:
    """The route that rows of the stream take, unless a query or a file keeps arrays from it."""
    is_open = scan_setting == AUTO and not any(_source_hindrances(stream))
    return COLUMNAR if is_open else CATALYST


def divide_feeds(
    stream: Stream, feeds: Sequence[Feed], scan_setting: str, row_feeds: Sequence[RowFeed] = ()
) -> Division:
    """An odd query keeps just its own scan from arrays."""
    if planned_route(stream, scan_setting) != COLUMNAR:
        return Division((), tuple(feeds), (), tuple(row_feeds))
    scans = dict.fromkeys(feed.scan for feed in feeds)
    plain = {scan for scan in scans if not any(scan_hindrances(scan))}
    plain_rows = {feed.id for feed in row_feeds if not any(row_feed_hindrances(feed))}
    return Division(
        tuple(feed for feed in feeds if feed.scan in plain),
        tuple(feed for feed in feeds if feed.scan not in plain),
        tuple(feed for feed in row_feeds if feed.id in plain_rows),
        tuple(feed for feed in row_feeds if feed.id not in plain_rows),
    )


def hindrance(
    stream: Stream, feeds: Sequence[Feed], scan_setting: str, row_feeds: Sequence[RowFeed] = ()
) -> str:
    """The reason why the rows of these feeds are left to Catalyst; empty if they need not be."""
    if scan_setting != AUTO:
        return f"scan is '{scan_setting}'"
    scans = dict.fromkeys(feed.scan for feed in feeds)
    reasons = (reason for scan in scans for reason in scan_hindrances(scan))
    of_rows = (reason for feed in row_feeds for reason in row_feed_hindrances(feed))
    return next(iter((*_source_hindrances(stream), *reasons, *of_rows)), "")


def samples_on_arrays(stream: Stream, scan: Scan) -> bool:
    """True if arrays can sample the rows for a scan, whoever scans them later."""
    return not any((*_source_hindrances(stream), *sampling_hindrances(scan)))


def table_is_plain(table: Table, scan_setting: str) -> bool:
    """True if arrays may read a table, as long as its files are plain too."""
    return scan_setting == AUTO and not any(_form_hindrances(table))


def _source_hindrances(stream: Stream) -> Iterator[str]:
    yield from _form_hindrances(stream)
    if stream.stamped_on_arrival and stream.source.scheme == "csv":
        yield "rows are stamped on arrival"


def _form_hindrances(relation: Stream | Table) -> Iterator[str]:
    """Of the form that rows have in their files, as far as it is declared."""
    scheme = relation.source.scheme
    if scheme not in _READ_BY_ARRAYS:
        yield f"the source is {scheme}"
        return
    for key, value in relation.source.options:
        if not _READ_BY_ARRAYS[scheme].fullmatch(f"{key}={value}"):
            yield f"the source has the option {key}"
    if scheme == "csv" or is_recorded(relation.source):
        for column in relation.columns:
            if not is_plain_kind(column.type):
                yield f"column {column.name} is {column.type}"
