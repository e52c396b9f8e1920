"""Fold, pieces, snapshots, combine and finish against the plain twin, without Spark.

Compared: answers from partial rows that travel through files over several ticks, in random
buckets and layouts, with the answers of `reference.answers` over the raw rows. This catches
slices, lanes, encodings, merging, kernels and finishing gone wrong. It cannot catch a wrong
lift: the partials are made here by a Python aggregate, where Catalyst makes them in earnest.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tidemill.aggregates import Lane
from tidemill.catalog import Stream
from tidemill.catalog.streams import Address
from tidemill.language import parse_script
from tidemill.language.statements import ColumnDef, CreateQuery
from tidemill.operators import shapes
from tidemill.operators.answer import answer
from tidemill.operators.asked import Asked, Sheet, evaluations
from tidemill.operators.rows import together
from tidemill.plan.binding import bind
from tidemill.plan.model import QueryPlan
from tidemill.reference.answers import Row, answers
from tidemill.reference.recalc import greatest, least
from tidemill.schedule import Specs, due_windows
from tidemill.share import Standing, specs_of
from tidemill.share.synopses import new_synopsis
from tidemill.synopsis.cells import SLICE, gather, scatter
from tidemill.synopsis.feed import Feed, Node, Scan
from tidemill.synopsis.fold import fold_feed
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.pieces import read_bucket, write_piece
from tidemill.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Type
from tidemill.windows import edge_classes, pane_origin, pane_us

STREAM = Stream(
    "s",
    (
        ColumnDef("ts", TIMESTAMP),
        ColumnDef("k", STRING),
        ColumnDef("n", INT),
        ColumnDef("big", BIGINT),
        ColumnDef("x", DOUBLE),
        ColumnDef("price", Type("DECIMAL", 12, 2)),
    ),
    "ts",
    False,
    Address("parquet", "/nowhere"),
    0,
)
AGGREGATES = (
    "COUNT(*)",
    "COUNT(n)",
    *(f"{f}({c})" for f in ("SUM", "AVG", "MIN", "MAX") for c in ("n", "big", "x", "price")),
    "MIN(k)",
    "MAX(k)",
)
EPOCHS = (0, -5_000_000, 253_402_300_790_000_000)  # 1970, before it, the end of 9999


def plan_of(number: int, sql: str) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q{number} AS {sql}")
    assert isinstance(query, CreateQuery)

    def no_oracle(text: str, columns: object) -> Type:
        raise AssertionError(f"{text} should be in the typed set")

    return bind(query.name, None, query.select, STREAM, no_oracle)


HAVINGS = (
    "",
    "",
    " HAVING COUNT(*) > {}",
    " HAVING SUM(n) > {} OR MAX(x) IS NULL",
    " HAVING MAX(k) > 'a' OR MIN(price) < {}",
    " HAVING AVG(big) / {} > 1 AND COUNT(*) < 9",
)
ORDERS = (
    "",
    "",
    " LIMIT {}",
    " ORDER BY SUM(n) DESC LIMIT {}",
    " ORDER BY MIN(price) + 1.5, COUNT(*) DESC LIMIT {}",
    " ORDER BY MAX(k) DESC NULLS FIRST LIMIT {}",
    " ORDER BY MAX(x) DESC NULLS LAST, MIN(n)",
)


@st.composite
def tails(draw: st.DrawFn) -> tuple[str, ...]:
    """HAVING and ORDER BY of one shape, with constants of their own for each query."""
    having, order = draw(st.sampled_from(HAVINGS)), draw(st.sampled_from(ORDERS))
    return tuple(
        having.format(draw(st.integers(0, 3))) + order.format(draw(st.integers(1, 3)))
        for _ in range(4)
    )


@st.composite
def window_clauses(draw: st.DrawFn) -> str:
    """Few lengths and slides, so that windows of different queries often meet."""
    slide = draw(st.integers(1, 40) | st.sampled_from((5, 10, 20)))
    start = draw(st.just(0) | st.integers(1 - slide, slide - 1))
    lengths = draw(st.lists(st.integers(1, 60) | st.just(20), min_size=1, max_size=2, unique=True))
    ranges = ", ".join(f"{length} ms" for length in lengths)
    return f"RANGE {ranges} SLIDE {slide} ms START '{start} ms'"


@st.composite
def query_sets(draw: st.DrawFn) -> list[QueryPlan]:
    """Some queries of one or two shapes: select list and tail are drawn for each shape."""
    keys = draw(st.sampled_from((("k",), ("k", "n"), ("n",), ("x",), ())))
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    kinds = []
    for _ in range(draw(st.integers(1, 2))):
        chosen = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=4, unique=True))
        items = [*keys, *(f"{sql} AS a{place}" for place, sql in enumerate(chosen))]
        kinds.append((", ".join(items), draw(tails())))
    plans = []
    for number in range(draw(st.integers(1, 4))):
        items_, endings = draw(st.sampled_from(kinds))
        constant = draw(st.sampled_from(("", f", COUNT(*) * {number + 2} AS c")))
        select = f"SELECT {items_}{constant} FROM s [{draw(window_clauses())}]"
        plans.append(plan_of(number, f"{select}{group}{endings[number]}"))
    return plans


@st.composite
def streams(draw: st.DrawFn) -> list[Row]:
    epoch = draw(st.sampled_from(EPOCHS))
    values = st.fixed_dictionaries(
        {
            "k": st.sampled_from((None, "", "a", "b", "ä", "z" * 5)),
            "n": st.sampled_from((None, 0, 1, -7, 2**31 - 1, -(2**31))),
            "big": st.sampled_from((None, 3, -4, 2**63 - 1, -(2**63), 2**32)),
            "x": st.sampled_from((None, 0.0, 1.5, -2.25, math.nan, math.inf)),
            "price": st.sampled_from((None, Decimal("1.25"), Decimal("-9999999999.99"))),
        }
    )
    rows = st.tuples(st.integers(0, 200_000), values)
    drawn = draw(st.lists(rows, max_size=40))
    return [Row(epoch + offset, {**found}) for offset, found in drawn]


@settings(max_examples=120)
@given(query_sets(), streams(), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_answers_equal_the_plain_twin(
    plans: list[QueryPlan], rows: list[Row], buckets: int, ticks: int, snapshot: bool
) -> None:
    synopsis = synopsis_of(plans)
    with tempfile.TemporaryDirectory() as scratch:
        got = through_pieces(Path(scratch), synopsis, plans, rows, buckets, ticks, snapshot)
    for plan, found in zip(plans, got, strict=True):
        same_answers(plan, found, answers(plan, rows))


def test_the_comparison_has_something_to_compare() -> None:
    plan = plan_of(0, "SELECT k, SUM(big) AS a FROM s [RANGE 9 ms SLIDE 4 ms] GROUP BY k")
    rows = [Row(t, {"k": "a", "big": t}) for t in range(0, 40_000, 1_000)]
    synopsis = synopsis_of([plan])
    with tempfile.TemporaryDirectory() as scratch:
        (found,) = through_pieces(Path(scratch), synopsis, [plan], rows, 2, 3, True)
    assert len(found) == 12
    assert (8_000, 17_000, ("a", sum(range(8_000, 17_000, 1_000)))) in found


def test_equal_windows_are_worked_out_once_and_constants_are_lifted() -> None:
    """Six queries of one shape; their windows meet at multiples of 12, their constants differ."""
    tail = "FROM s [RANGE 12 ms SLIDE {} ms] GROUP BY k HAVING SUM(n) > {} ORDER BY c LIMIT {}"
    cases = [(4, 10, 2), (6, 10, 1), (12, 10, 3), (4, 99, 2), (6, 1000, 2), (4, 10, 1)]
    plans = [
        plan_of(number, "SELECT k, COUNT(*) AS c " + tail.format(*case))
        for number, case in enumerate(cases)
    ]
    rows = [Row(t * 1_000, {"k": "abc"[t % 3], "n": t}) for t in range(60)]
    ((numbers, asked),) = pages(plans, np.arange(0, 60_000, 2_000))
    assert numbers == [0, 1, 2, 3, 4, 5]
    wanted = evaluations(asked)
    bounds = set(zip(asked.starts.tolist(), asked.ends.tolist(), strict=True))
    # Constants 10, 99 and 1000: the first at every window, the others at those of one query.
    by_slide = {
        slide: sum(1 for start, _ in bounds if start % slide == 0) for slide in (4_000, 6_000)
    }
    assert len(wanted) == len(bounds) + by_slide[4_000] + by_slide[6_000] < len(asked.starts)
    synopsis = synopsis_of(plans)
    with tempfile.TemporaryDirectory() as scratch:
        got = through_pieces(Path(scratch), synopsis, plans, rows, 2, 3, False)
    for plan, found in zip(plans, got, strict=True):
        same_answers(plan, found, answers(plan, rows))
    assert [len(found) for found in got] != [0] * 6


def test_counting_gives_the_numbers_of_rows_and_errors() -> None:
    """`wants_rows=False` says of each query what its rows would have said."""
    plans = [
        plan_of(
            number,
            f"SELECT k, SUM(big) AS a, COUNT(*) / (COUNT(n) - {number}) AS b "
            "FROM s [RANGE 8 ms SLIDE 4 ms] GROUP BY k",
        )
        for number in range(3)
    ]
    big = [2**62 if t < 20 else 1 for t in range(60)]
    rows = [Row(t * 500, {"k": "ab"[t % 2], "n": t % 5 or None, "big": big[t]}) for t in range(60)]
    synopsis = synopsis_of(plans)
    cells = gather(synopsis, folded(synopsis, plans, rows, 1)[0])
    ((_, asked),) = pages(plans, cells.slices)
    (kept,), (counted,) = (
        answer(synopsis, cells, [replace(asked, wants_rows=wants)]) for wants in (True, False)
    )
    assert counted.rows is None
    assert counted.counts.tolist() == kept.counts.tolist() == [18, 18, 18]
    assert counted.raised.tolist() == kept.raised.tolist()
    assert kept.rows is not None
    assert 0 < min(kept.raised) < max(kept.raised) <= 18


def through_pieces(
    folder: Path,
    synopsis: Synopsis,
    plans: list[QueryPlan],
    rows: list[Row],
    buckets: int,
    ticks: int,
    snapshot: bool,
) -> list[list[tuple[int, int, tuple[Any, ...]]]]:
    """The rows cut into ticks, folded into pieces, read back and answered by bucket."""
    pieces = []
    for tick in range(ticks):
        piece = write_piece(folder, folded(synopsis, plans, rows[tick::ticks], buckets))
        pieces += [piece] if piece else []
    slices = np.unique([s for piece in pieces for s in piece.slices]).astype(np.int64)
    sheets = pages(plans, slices)
    tables: list[list[pa.Table]] = [[] for _ in sheets]
    for bucket_ in range(buckets):
        rows_ = [read_bucket(folder, p, bucket_, -(2**62), 2**62) for p in pieces]
        if not rows_:
            continue
        cells = gather(synopsis, pa.concat_tables(rows_))
        if snapshot:
            cells = gather(synopsis, scatter(synopsis, cells))
        for place, part in enumerate(answer(synopsis, cells, [asked for _, asked in sheets])):
            tables[place].append(part.rows)
    found: list[list[tuple[int, int, tuple[Any, ...]]]] = [[] for _ in plans]
    for (numbers, asked), parts in zip(sheets, tables, strict=True):
        got = together(asked.sheet, parts)
        ends = np.cumsum(got.counts).tolist()
        for number, end, count in zip(numbers, ends, got.counts.tolist(), strict=True):
            found[number] = as_tuples(got.rows.slice(end - count, count))
    return found


def pages(plans: list[QueryPlan], slices: np.ndarray[Any, Any]) -> list[tuple[list[int], Asked]]:
    """The queries by shape, with every window that is due of each."""
    by_shape: dict[shapes.Shape, list[int]] = {}
    for number, plan in enumerate(plans):
        by_shape.setdefault(shapes.lift(plan).shape, []).append(number)
    return [
        (numbers, asked_of([plans[number] for number in numbers], slices))
        for numbers in by_shape.values()
    ]


def asked_of(plans: list[QueryPlan], slices: np.ndarray[Any, Any]) -> Asked:
    windows = [
        (owner, run.first_us + step * spec.slide_us, spec.range_us)
        for owner, plan in enumerate(plans)
        for spec in specs_of(plan)
        for run in due_windows(Specs.of([spec]), slices, None, 2**62)[0]
        for step in range(run.windows)
    ]
    owner, starts, lengths = np.array(windows, dtype=np.int64).reshape(-1, 3).T
    return Asked(Sheet.of([shapes.lift(plan) for plan in plans]), owner, starts, starts + lengths)


def synopsis_of(plans: list[QueryPlan]) -> Synopsis:
    return new_synopsis(1, plans, Standing()).synopsis


def folded(
    synopsis: Synopsis, plans: list[QueryPlan], rows: list[Row], buckets: int
) -> dict[int, pa.Table]:
    """The rows aggregated, fed to the synopsis alone, by bucket."""
    keys = tuple(key.scalar for key in synopsis.keys)
    scan = Scan(synopsis.stream, (), keys, (), synopsis.lanes)
    node = Node(tuple(range(len(keys))), 0, (synopsis.id,))
    feed = Feed(scan, (), True, (node,), (synopsis,))
    table = partial_rows(feed, plans, rows)
    return dict(fold_feed(feed, table, buckets))[synopsis] if len(table) else {}


def partial_rows(feed: Feed, plans: list[QueryPlan], rows: list[Row]) -> pa.Table:
    """What Catalyst hands over: one row per (pane, keys), here by plain loops."""
    classes = edge_classes([spec for plan in plans for spec in specs_of(plan)])
    origin, pane = pane_origin(classes), pane_us(classes)
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        at = row.time_us - (row.time_us - origin) % pane
        key = tuple(_hashable(row.values[scalar.sql]) for scalar in feed.scan.keys)
        cells.setdefault((at, *key), []).append(row)
    columns = {SLICE: pa.array([cell[0] for cell in cells], pa.int64())}
    for place, scalar in enumerate(feed.scan.keys):
        values = [_unhashable(cell[place + 1]) for cell in cells]
        columns[feed.key_column(scalar)] = pa.array(values, scalar.type.arrow)
    for number, lane in enumerate(feed.lanes):
        for part, name in enumerate(feed.lane_columns(number)):
            lifted = [lift(lane, part, members) for members in cells.values()]
            columns[name] = pa.array(lifted, lane_type(lane))
    return pa.table(columns)


def lane_type(lane: Lane) -> pa.DataType:
    if lane.kind in ("min", "max"):
        return lane.type.arrow
    if lane.kind == "sum" and lane.type.is_decimal:
        return pa.decimal128(lane.type.precision + 10, lane.type.scale)
    return pa.float64() if lane.kind == "sum" and lane.type.is_float else pa.int64()


def lift(lane: Lane, part: int, members: list[Row]) -> Any:
    if lane.argument is None:
        return len(members)
    values = [v for row in members if (v := row.values[lane.argument.sql]) is not None]
    if lane.kind == "count":
        return len(values)
    if not values:
        return None
    fold: dict[str, Callable[[Any, Any], Any]] = {"min": least, "max": greatest}
    if lane.kind == "sum":
        limbs = (
            [(v & 0xFFFFFFFF, v >> 32)[part] for v in values] if len(lane.parts) == 2 else values
        )
        return sum(limbs)
    result = values[0]
    for value in values[1:]:
        result = fold[lane.kind](result, value)
    return result


def as_tuples(rows: pa.Table) -> list[tuple[int, int, tuple[Any, ...]]]:
    bounds = [rows.column(place).cast(pa.int64()).to_pylist() for place in (0, 1)]
    others = [column.to_pylist() for column in rows.columns[2:]]
    return [
        (start, end, tuple(values)) for start, end, *values in zip(*bounds, *others, strict=True)
    ]


def same_answers(
    plan: QueryPlan,
    got: list[tuple[int, int, tuple[Any, ...]]],
    wanted: list[tuple[int, int, tuple[Any, ...]]],
) -> None:
    """Row by row; where there is an ORDER BY, also in that order within a window."""
    assert len(got) == len(wanted)
    key = (lambda row: row[:2]) if plan.is_ordered else repr_key
    for left, right in zip(sorted(got, key=key), sorted(wanted, key=key), strict=True):
        assert left[:2] == right[:2]
        assert all(map(close, left[2], right[2])), (left, right)


def repr_key(row: tuple[int, int, tuple[Any, ...]]) -> tuple[Any, ...]:
    # Keys come first in every select list, so near-equal floats never decide the order.
    return (row[0], row[1], *(repr(value) for value in row[2]))


def close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return (
            left == right
            or (left != left and right != right)
            or math.isclose(left, right, rel_tol=1e-9)
        )
    return bool(left == right)


def _hashable(value: Any) -> Any:
    return "NaN!" if isinstance(value, float) and value != value else value


def _unhashable(value: Any) -> Any:
    return math.nan if value == "NaN!" else value
