"""The papers' operations, counted where the engine does them: rows, fragments, windows.

The ticks are the engine's own, planned, folded, decided and answered in earnest; only the lift
of rows is done by plain loops. Counted are the rows in the cells that feeds get, the fragments
that each synopsis takes from them, and the fragments in the windows that are answered. They are
what the same plan costs when it is carried out tuple by tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.laws.mill import Mill
from tests.laws.queries import Asked, plan_of
from tests.share.weave.simulation import brute_force, edges, run
from tests.share.weave.words import US
from tidemill.aggregates import ROWS, Encoded
from tidemill.engine.home import Home
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.reference.answers import AcceptedRow
from tidemill.settings import Settings
from tidemill.share import Sample
from tidemill.share.weave import Processing
from tidemill.state.feed import Feed
from tidemill.state.fold import fold_feed
from tidemill.state.layouts.bundles import Spans
from tidemill.state.pieces import read_bucket
from tidemill.state.synopsis import Synopsis
from tidemill.windows import WindowSpec

THREE = ((16, 4), (10, 5), (8, 4))
PAIRED = ((12, 9), (10, 6))
INTERCEDED = ((8, 5), (5, 4))
# A window that overlaps as often as its edges are dense, beside some that do not.
MANY = ((12, 9), (11, 6), (16, 4), (10, 5), (8, 4), (7, 7), (9, 3))
SPAN = 120
# How many trees the papers' costs lead to: two windows are joined above 2/3 rows a second.
TREES = {
    ("weave", THREE, 1.2): 2,
    ("weave", INTERCEDED, 0.3): 2,
    ("weave", MANY, 1.0): 4,
    ("weave", PAIRED, 0.6): 2,
    ("weave", PAIRED, 0.7): 1,
    ("triweave", THREE, 1.2): 2,
    ("triweave", INTERCEDED, 0.3): 2,
    ("triweave", MANY, 1.0): 4,
}
WHERES = ("WHERE n < 45", "WHERE n >= 30", "WHERE n < 70")
TRUTHS = (lambda v: v["n"] < 45, lambda v: v["n"] >= 30, lambda v: v["n"] < 70)
PROCESSING = {"triweave": Processing.TRIOPS, "shared": Processing.SHARED}
CASES = [
    (sharing, windows, rate)
    for sharing in ("none", "shared", "weave", "triweave")
    for windows, rate in ((THREE, 1.2), (INTERCEDED, 0.3), (MANY, 1.0))
] + [("weave", PAIRED, 0.6), ("weave", PAIRED, 0.7)]


@dataclass
class Counts:
    """What the engine did, by the tick in which it did it."""

    rows_by_feed: list[int] = field(default_factory=list)
    cells_read: dict[str, int] = field(default_factory=dict)  # by synopsis
    cells_made: dict[str, int] = field(default_factory=dict)
    # (start, end) and the fragments in it, of every window that was answered.
    windows: list[tuple[int, int, int]] = field(default_factory=list)

    def fold(self, fold: Any, feed: Any, root: Any) -> Iterator[tuple[Synopsis, Any]]:
        lane = root.lanes[feed.lanes.index(ROWS)]
        self.rows_by_feed.append(int(lane.values.sum()))
        for synopsis, cells in fold(feed, root):
            for counted, number in ((self.cells_read, root), (self.cells_made, cells)):
                counted[synopsis.id] = counted.get(synopsis.id, 0) + len(number)
            yield synopsis, cells

    def spans(self, of: Any, cells: Any, reading: Any, starts: Any, ends: Any) -> Spans:
        spans: Spans = of(cells, reading, starts, ends)
        fragments = (spans.hi - spans.lo).tolist()
        self.windows += zip(starts.tolist(), ends.tolist(), fragments, strict=True)
        return spans


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    counts, of = Counts(), Spans.of
    monkeypatch.setattr("tests.laws.mill.fold_feed", lambda *given: counts.fold(fold_feed, *given))
    monkeypatch.setattr(Spans, "of", staticmethod(lambda *given: counts.spans(of, *given)))
    return counts


def sum_over(number: int, range_s: int, slide_s: int, where: str = "") -> QueryPlan:
    window = f"RANGE {range_s} s SLIDE {slide_s} s"
    return plan_of(number, f"SELECT SUM(n) AS total FROM s [{window}] {where}")


def a_mill(folder: Path, sharing: str, rate: float) -> Mill:
    settings = Settings(sharing=sharing)
    return Mill(folder, settings, Sample(rows_per_second=rate), buckets=1, in_panes=False)


def rows_each_second(span: int) -> list[AcceptedRow]:
    values = {"k": "a", "big": 0, "x": 0.0, "price": None}
    return [AcceptedRow(t * US, {"ts": t * US, "n": t, **values}) for t in range(span)]


@pytest.mark.parametrize(("sharing", "windows", "rate"), CASES)
def test_a_run_takes_the_operations_that_its_plan_costs(
    tmp_path: Path, counts: Counts, sharing: str, windows: tuple[Any, ...], rate: float
) -> None:
    mill = a_mill(tmp_path, sharing, rate)
    queries = [sum_over(number, *window) for number, window in enumerate(windows)]
    mill.change([Asked(query, lambda _: True) for query in queries])
    mill.tick(rows_each_second(SPAN))
    mill.tick([], flush=True)
    groups = {
        synopsis.id: tuple(int(query.name[1:]) for query, _ in mill.plan.readers_of(synopsis))
        for synopsis in mill.plan.synopses
    }
    alike = {"none": len(windows), "shared": 1}
    assert len(groups) == (alike.get(sharing) or TREES[sharing, windows, rate])
    units = [WindowSpec(*window) for window in windows]
    rows = [(t, t) for t in range(SPAN)]
    processing = PROCESSING.get(sharing, Processing.TREES)
    simulated = run(units, tuple(groups.values()), processing, rows, SPAN)

    # Rows: once for each tree, and once for all where trees take fragments from each other.
    assert counts.rows_by_feed == [SPAN] * (1 if sharing in PROCESSING else len(groups))
    assert sum(counts.rows_by_feed) == simulated.sub_aggregations
    # Fragments: those of the union are read once for each group that wants them.
    if processing is Processing.TRIOPS:
        assert sum(counts.cells_read.values()) == simulated.intercedes
    for synopsis_id, group in groups.items():
        members = [units[member] for member in group]
        assert counts.cells_made[synopsis_id] == len(edges(members, SPAN))
    # Windows: each is answered once, of the fragments that its tree has in it.
    inside = [each for each in counts.windows if each[0] >= 0 and each[1] <= SPAN * US]
    assert len({(start, end) for start, end, _ in inside}) == len(inside) > 10 * len(windows)
    assert sum(fragments for *_, fragments in inside) == simulated.finals
    # And the sums in them are those of the rows.
    answers = {
        (name, start // US): values[0]
        for name, rows_of in mill.kept.answers.items()
        for start, end, values in rows_of
        if start >= 0 and end <= SPAN * US
    }
    sums = brute_force(units, rows, SPAN)
    assert answers == {(f"q{n}", start): value for (n, start), value in sums.items()}


@pytest.mark.parametrize("sharing", ["shared", "triweave"])
def test_every_row_is_in_one_cell_and_no_cell_stays_longer_than_a_window_needs_it(
    tmp_path: Path, counts: Counts, sharing: str
) -> None:
    mill = a_mill(tmp_path, sharing, 0.4)
    queries = [
        sum_over(number, *window, where) for number, window in enumerate(THREE) for where in WHERES
    ]
    queries = [replace(query, name=f"q{number}") for number, query in enumerate(queries)]
    mill.change([Asked(q, truth) for q, truth in zip(queries, cycle(TRUTHS), strict=False)])
    longest = max(range_s + slide_s for range_s, slide_s in THREE)
    rows, ticks, most = rows_each_second(80), 0, 0
    for start in range(0, 80, 10):
        before, wanted = sum(counts.rows_by_feed), rows[start : start + 10]
        mill.tick(wanted)
        feeds = mill.feeds
        assert sum(counts.rows_by_feed) - before == sum(_kept_rows(feed, wanted) for feed in feeds)
        for synopsis in mill.plan.synopses:
            # A tick of ten seconds is what one piece holds, and pieces go as a whole.
            slices = mill.version.slices(synopsis.id)
            most = max(most, len(slices))
            assert all((start + 10 - longest - 10) * US <= slices)
            assert len(slices) <= longest + 20
        ticks += 1
    mill.tick([], flush=True)
    assert (ticks, most > 4) == (8, True)
    assert [len(mill.version.slices(synopsis.id)) for synopsis in mill.plan.synopses] == [
        0 for _ in mill.plan.synopses
    ]


def _kept_rows(feed: Feed, rows: list[AcceptedRow]) -> int:
    """Rows that some predicate of the feed lets pass, by the conditions themselves."""
    if feed.keeps_all:
        return len(rows)
    predicates = [feed.scan.predicates[bit] for bit in feed.bits]
    return sum(any(_truth_of(p)(row.values) for p in predicates) for row in rows)


def _truth_of(predicate: Predicate) -> Any:
    return TRUTHS[[sum_over(0, 1, 1, where).predicate for where in WHERES].index(predicate)]


def test_rows_are_kept_by_signature_and_read_by_those_who_ask(tmp_path: Path) -> None:
    """The second worked example: rows 0 to 3, of which 1 to 3 satisfy `a` and 0 to 2 `b`."""
    mill = a_mill(tmp_path, "shared", 1000.0)
    asked = [
        Asked(sum_over(0, 8, 5, "WHERE big >= 1"), lambda values: values["big"] >= 1),
        Asked(sum_over(1, 5, 4, "WHERE x < 1"), lambda values: values["x"] < 1),
    ]
    mill.change(asked)
    (synopsis,) = mill.plan.synopses
    flags = [(0, 0.0), (1, 0.0), (1, 0.0), (1, 1.0)]
    rows = rows_each_second(4)
    mill.tick(
        [
            AcceptedRow(row.time_us, {**row.values, "n": 1, "big": big, "x": x})
            for row, (big, x) in zip(rows, flags, strict=True)
        ]
    )
    (piece,) = mill.version.of(synopsis.id)
    folder = Home(mill.folder).synopses / synopsis.id
    cells = read_bucket(folder, synopsis, piece, 0, 0, 100 * US)
    bits = {bit.predicate: bit.number for bit in synopsis.bits}
    a, b = (1 << bits[query.plan.predicate] for query in asked)
    rows_lane = cells.lanes[synopsis.lanes.index(ROWS)]
    assert isinstance(rows_lane, Encoded)
    starts = (cells.slices[cells.slice_index] // US).tolist()
    signatures = cells.signatures[cells.signature, 0].tolist()
    by_cell = dict(
        zip(zip(starts, signatures, strict=True), rows_lane.values.tolist(), strict=True)
    )
    # Fragments end at 1, 3 and 4; up to the one at 3, no row satisfies `a` alone.
    assert by_cell == {(0, b): 1, (1, a | b): 2, (3, a): 1}
    readings = [mill.plan.stints[query.plan.name][0].reading for query in asked]
    reads = [reading.matches(cells.signatures)[cells.signature].tolist() for reading in readings]
    up_to_three = [start < 3 for start in starts]
    for read, wanted in zip(reads, ({a, a | b}, {b, a | b}), strict=True):
        assert read == [signature in wanted for signature in signatures]
    in_a = sum(
        n
        for n, read, early in zip(rows_lane.values, reads[0], up_to_three, strict=True)
        if read and early
    )
    assert in_a == 2
    mill.tick([], flush=True)
    firsts = {
        name: {s // US: v[0] for s, _, v in answers} for name, answers in mill.kept.answers.items()
    }
    assert firsts["q0"][0] == 3
    assert firsts["q1"][0] == 3
