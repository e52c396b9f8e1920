"""Parts whose rows nobody reads, counted by what the footers of their files tell of their times."""

from __future__ import annotations

from collections.abc import Sequence

from tidemill.scan.arrays.files import Part, RowGroup
from tidemill.scan.arrays.scan import Scanned
from tidemill.scan.contract import COUNTED, Terms, TimeSpan
from tidemill.time import EARLIEST_US


def count_by_footers(parts: Sequence[Part], terms: Terms) -> tuple[list[Scanned], list[Part]]:
    """The accounts of parts all of whose rows count for sure, and the parts that are left."""
    counted: list[Scanned] = []
    left: list[Part] = []
    for part in parts:
        times = part.times if isinstance(part, RowGroup) and _is_told(part) else None
        if times is not None and _all_count(part, times, terms):
            counted.append(_scanned(part, times))
        else:
            left.append(part)
    return counted, left


def _is_told(part: RowGroup) -> bool:
    """True if the footer speaks of just the rows of the part, all of which have a time."""
    return part.untimed == 0 and part.within is None


def _all_count(part: Part, times: TimeSpan, terms: Terms) -> bool:
    """True if no row of the part is late or out of range; its bound has to be known."""
    if part.arrival not in terms.bounds:
        return False
    oldest_us = max(terms.bounds[part.arrival], EARLIEST_US)
    return oldest_us <= times.oldest_us and times.newest_us <= terms.latest_us


def _scanned(part: Part, times: TimeSpan) -> Scanned:
    scanned = Scanned(spans={part.arrival: times}, scanned_in={part: None})
    scanned.count(COUNTED, part.rows)
    scanned.saw(*times)
    return scanned
