"""SHOW SOURCES, and what SHOW QUERIES says of waits, as typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple

from tidemill.engine.waits.queries import Wait
from tidemill.engine.waits.sources import SourceReport
from tidemill.explain.replies import (
    INTEGER,
    TEXT,
    THOUSANDS,
    CellType,
    Plain,
    ReplyTable,
)
from tidemill.words import instant, rows

_MOST_NAMES = 5


def instant_text(t_us: int) -> str:
    """As answers put it.

    >>> instant_text(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    return instant(t_us).removesuffix("Z").replace("T", " ")


def few_names(names: Sequence[str]) -> str:
    """The first ones, and how many more there are.

    >>> few_names(["a", "b"]), few_names(list("abcdefgh"))
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest:,} more" if rest > 0 else "")


def _wait_plain(wait: Wait) -> Plain:
    return {"source": wait.source.written, "until_us": wait.until_us}


INSTANT = CellType("instant_us", instant_text)
WAIT = CellType("wait", lambda w: f"{w.source.written} at {instant_text(w.until_us)}", _wait_plain)
SOURCE_COLUMNS = {
    "source": TEXT,
    "state": TEXT,
    "since": INSTANT,
    "rows": THOUSANDS,
    "rows/s": CellType("number", rows),
    "newest": INSTANT,
    "watermark": INSTANT,
    "word": TEXT,
    "late": INTEGER,
    "corrected": INTEGER,
    "broken": INTEGER,
    "malformed": INTEGER,
    "holds back": CellType("names", few_names),
}


def sources_table(reports: Iterable[SourceReport]) -> ReplyTable:
    """A row for each source; after all of them, what is wrong with some, or what they wait for."""
    reports = tuple(reports)
    cells = [astuple(report)[: len(SOURCE_COLUMNS)] for report in reports]
    troubles = [f"{report.source}: {report.trouble}" for report in reports if report.trouble]
    return ReplyTable.of(SOURCE_COLUMNS, cells, troubles)
