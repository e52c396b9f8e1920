"""Lateness on arrays, without Spark: any cut into parts, runs and batches, against the rule.

Blocks are made rows, whose newest times nobody knows before they are made. So threads that begin
in the middle let rows pass that are late, and what they judged is scanned again.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.mill import NoSpark
from tests.scan.arrays.rows import SCHEMA, STREAM, listed_cells, one_feed, plan_of
from tidemill.failpoints import NOWHERE
from tidemill.reference.lateness import correcting_rows, late_rows
from tidemill.scan.arrays import files
from tidemill.scan.arrays.files import MadeRows, read_batches
from tidemill.scan.arrays.program import write_program
from tidemill.scan.arrays.scan import in_total, scan
from tidemill.scan.contract import (
    CORRECTED,
    COUNTED,
    LATE,
    MALFORMED,
    FoldPlace,
    Terms,
)
from tidemill.spark import array_fold
from tidemill.spark.array_fold import ArrayFold, fold_on_arrays
from tidemill.time import Register

FEEDS = one_feed(plan_of(0, "SELECT COUNT(*) AS n FROM s [RANGE 10 ms SLIDE 10 ms]"))
BLOCKS = st.lists(st.lists(st.integers(0, 300) | st.none(), max_size=5), min_size=1, max_size=9)


def rows_of(times: list[int | None]) -> tuple[pa.RecordBatch, ...]:
    table = pa.Table.from_pylist([{"ts": time} for time in times], SCHEMA.empty_table().schema)
    return tuple(table.select(["ts"]).to_batches())


def parts_of(blocks: list[list[int | None]]) -> tuple[MadeRows, ...]:
    return tuple(MadeRows(n, partial(rows_of, times), 3) for n, times in enumerate(blocks))


def test_any_run_of_arrivals_is_judged_by_all_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = Counter[str]()
    scan_parts = ArrayFold.scan

    def counted_scan(fold: ArrayFold, parts: tuple[MadeRows, ...]) -> object:
        happened["again"] += bool(fold.terms.bounds)
        return scan_parts(fold, parts)

    monkeypatch.setattr(ArrayFold, "scan", counted_scan)
    monkeypatch.setattr(array_fold, "cores", lambda: 3)

    @settings(max_examples=150)
    @given(
        BLOCKS,
        st.integers(0, 80),
        st.integers(0, 100) | st.none(),
        st.integers(1, 9),
        st.sampled_from((0, 40, 200)),
    )
    def check(
        blocks: list[list[int | None]],
        lateness_us: int,
        promised_us: int | None,
        chunk: int,
        correct_us: int,
    ) -> None:
        monkeypatch.setattr(files, "CHUNK_ROWS", chunk)
        register = Register(promised_us=promised_us)
        terms = Terms(register, lateness_us, latest_us=290, correct_us=correct_us)
        place = FoldPlace(tmp_path, {feed.synopses[0].id: 1 for feed in FEEDS}, 1, NOWHERE)
        fold = ArrayFold(write_program(STREAM, FEEDS), terms, place)
        report = fold_on_arrays(NoSpark(), fold, parts_of(blocks), 0)
        assert report is not None
        usable = [[t if t is not None and t <= 290 else None for t in times] for times in blocks]
        late = late_rows(usable, lateness_us, promised_us, correct_us)
        correcting = correcting_rows(usable, lateness_us, promised_us, correct_us)
        total, refused = sum(map(len, blocks)), sum(map(sum, late))
        corrected = sum(map(sum, correcting))
        malformed = sum(time is None for times in usable for time in times)
        accepted = total - refused - malformed
        verdicts = {LATE: refused, MALFORMED: malformed, CORRECTED: corrected}
        verdicts |= {COUNTED: accepted - corrected}
        assert report.fold.rows == {verdict: n for verdict, n in verdicts.items() if n}
        batches = read_batches(fold.program, parts_of(blocks))
        again = in_total(scan(fold.program, batches, report.terms))
        assert again.rows == report.fold.rows
        cells = [
            cell for feed, cells in again.cells(fold.program) for cell in listed_cells(feed, cells)
        ]
        assert sum(lanes[0] for _, lanes in cells) == accepted
        assert sum(p.rows for pieces in report.fold.pieces.values() for p in pieces) == len(
            again.cells(fold.program)[0][1] if accepted else ()
        )
        happened["late"] += refused
        happened["corrected"] += corrected

    check()
    assert happened["late"] > 100
    assert happened["corrected"] > 15
    assert happened["again"] > 40
