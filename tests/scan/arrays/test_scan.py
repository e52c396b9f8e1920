"""Cells made on arrays against plain loops over the same rows, without Spark.

This catches wrong codes, classes, slices, lanes and accounts, and chunks put together wrongly.
It takes canonical predicates as given; `tests/stories/test_columnar.py` has Spark's word.
"""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scan.arrays.rows import (
    STREAM,
    Row,
    agree,
    feeds,
    holds,
    listed_cells,
    one_feed,
    plain_cells,
    plain_raised,
    plan_of,
    rows,
    table_of,
)
from tidemill.scan.arrays.files import RowBatch
from tidemill.scan.arrays.program import write_program
from tidemill.scan.arrays.scan import Scanned, in_total, scan
from tidemill.scan.contract import (
    ACCEPTED,
    CORRECTING,
    COUNTED,
    FILTERED,
    LATE,
    MALFORMED,
    Terms,
)
from tidemill.scan.routes import AUTO, hindrance
from tidemill.state.feed import Feed
from tidemill.time import EARLIEST_US, LATEST_US, Register


def scanned(
    some: tuple[Feed, ...], tables: list[pa.Table], since_us: int, correct_us: int = 0
) -> Scanned:
    assert hindrance(STREAM, some, AUTO) == ""
    batches = (RowBatch(table, (("one", len(table)),)) for table in tables)
    terms = Terms(Register(None, since_us), correct_us=correct_us)
    return in_total(scan(write_program(STREAM, some), batches, terms))


def judged(
    some: tuple[Feed, ...], found: list[Row], since_us: int, correct_us: int
) -> dict[int, list[Row]]:
    """The rows by verdict, as the first pass has it."""
    first = [feed for feed in some if feed.scan == some[0].scan]
    by_verdict: dict[int, list[Row]] = {}
    for row in found:
        time = row["ts"]
        if time is None or not EARLIEST_US <= time <= LATEST_US:
            verdict = MALFORMED
        elif time < since_us - correct_us:
            verdict = LATE
        else:
            kept = any(f.keeps_all for f in first)
            kept = kept or any(holds(p, row) for p in first[0].scan.predicates)
            verdict = COUNTED if kept else FILTERED
            verdict = verdict if time >= since_us else CORRECTING[verdict]
        by_verdict.setdefault(verdict, []).append(row)
    return by_verdict


@settings(max_examples=120)
@given(
    feeds(),
    rows(),
    st.integers(1, 3),
    st.sampled_from((EARLIEST_US, 0, 1_700_000_000_050_000)),
    st.sampled_from((0, 30_000)),
)
def test_cells_equal_plain_loops(
    some: tuple[Feed, ...], found: list[Row], parts: int, since_us: int, correct_us: int
) -> None:
    tables = [table_of(found[part::parts]) for part in range(parts)]
    got = scanned(some, [table for table in tables if len(table)], since_us, correct_us)
    verdicts = judged(some, found, since_us, correct_us)
    assert got.rows == {verdict: len(mine) for verdict, mine in verdicts.items()}
    accepted = [row for verdict in ACCEPTED for row in verdicts.get(verdict, [])]
    assert got.oldest_us == min((row["ts"] for row in accepted), default=None)
    assert got.newest_us == max((row["ts"] for row in accepted), default=None)
    assert got.raised_by_expression() == plain_raised(some, accepted)
    cells = dict(got.cells(write_program(STREAM, some)))
    for feed in some:
        mine = list(listed_cells(feed, cells[feed])) if feed in cells else []
        agree(feed, mine, plain_cells(feed, accepted, since_us - correct_us))


def test_large_sums_stay_exact() -> None:
    plan = plan_of(0, "SELECT SUM(big) AS a FROM s [RANGE 1 s SLIDE 1 s]")
    some = one_feed(plan)
    values = [2**63 - 1] * 5 + [-(2**63)] + [2**53 + 1]
    table = table_of([{"ts": 5, "big": value} for value in values])
    (feed, cells), *_ = scanned(some, [table, table], EARLIEST_US).cells(
        write_program(STREAM, some)
    )
    ((_, lanes),) = listed_cells(feed, cells)
    assert lanes[[lane.kind for lane in feed.lanes].index("sum")] == 2 * sum(values)
