"""Random rows, queries and their feeds, and what a feed gets of the rows by plain loops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.aggregates.estimating import told_of_all
from tests.aggregates.written import CODES
from tidemill.aggregates import Encoded, Lane
from tidemill.aggregates.functions import signatures_with
from tidemill.aggregates.functions.geometric import LogCount, LogSum
from tidemill.aggregates.functions.spread import plain_variance
from tidemill.aggregates.lanes import BagLane, Count, Min, Moments, Sum
from tidemill.aggregates.lanes.outermost import Outermost
from tidemill.aggregates.plain import outermost
from tidemill.aggregates.sketches import CountMinLane, ItemsLane, KllLane, SketchLane
from tidemill.aggregates.sketches.counts import whole_key
from tidemill.aggregates.sketches.distinct import DistinctLane
from tidemill.aggregates.sketches.keys import keys_of, values_of
from tidemill.aggregates.user.function import UserFunction
from tidemill.aggregates.user.lanes import UserLane
from tidemill.catalog import Stream
from tidemill.catalog.addresses import Address
from tidemill.language import parse_script
from tidemill.language.statements import ColumnDef, CreateQuery
from tidemill.plan.bind.binder import bind
from tidemill.plan.bind.environment import Environment
from tidemill.plan.expressions import Call, Node, Scalar, Slot
from tidemill.plan.functions.user import declared
from tidemill.plan.predicates import Predicate, has_bit
from tidemill.plan.query import AggregateCall, QueryPlan
from tidemill.reference.expressions import evaluate_row
from tidemill.settings import Settings
from tidemill.share import EngineCosts, StreamPosition, arrange_feeds
from tidemill.share.synopses import new_synopsis
from tidemill.state.cells import Cells
from tidemill.state.feed import Feed, classes_from
from tidemill.types import TIMESTAMP, parse_type
from tidemill.windows.edges import slice_start

COLUMNS = {
    "ts": "TIMESTAMP",
    "k": "STRING",
    "t": "TINYINT",
    "n": "INT",
    "big": "BIGINT",
    "flag": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP",
    "x": "DOUBLE",
    "f": "FLOAT",
    "price": "DECIMAL(12,2)",
}
STREAM = Stream(
    "s",
    tuple(ColumnDef(name, parse_type(kind)) for name, kind in COLUMNS.items()),
    "ts",
    False,
    Address("parquet", "/nowhere"),
    0,
)
SIGNATURES = signatures_with(CODES)
SCHEMA = pa.schema([(column.name, column.type.arrow) for column in STREAM.columns])
KEYS = ("k", "t", "n", "big", "flag", "day", "at", "n + 1", "t * t", "x > 0.5")
CONDITIONS = (
    *("k = 'a'", "k <> 'b' AND n > 0", "k IS NULL", "k > 'a' OR flag", "NOT flag", "n IN (1, -7)"),
    *("n BETWEEN -10 AND 10 AND k < 'z'", "big >= 4294967296", "day < DATE '1970-01-02'"),
    *("at > TIMESTAMP '1970-01-01 00:00:00'", "price > 1.245", "t = 1 OR n = 1 OR k = 'ä'"),
    *("flag IS NULL AND big IS NOT NULL", "t < 100"),
    *("n * 2 > 5", "x > 1.5", "x * 2.0 <= 3 OR flag", "NOT (t + t < n) AND flag"),
    *("big + n BETWEEN -5 AND 5", "f - t IS NULL", "t * t IN (0, 1)"),
)
AGGREGATES = (
    "COUNT(*)",
    *(f"COUNT({c})" for c in ("k", "x", "flag", "price")),
    *(f"{f}({c})" for f in ("SUM", "AVG") for c in ("t", "n", "big", "x", "f")),
    *(
        f"{f}({c})"
        for f in ("MIN", "MAX")
        for c in ("t", "n", "big", "x", "f", "flag", "day", "at")
    ),
    *(f"COUNT(DISTINCT {c})" for c in ("k", "t", "big", "x", "f", "flag", "day", "at")),
    *(f"TOP(k, 3, SUM({c}))" for c in ("t", "n", "big", "x")),
    *("TOP(x, 3, SUM(big))", "TOP(at, 3, SUM(n))"),
    *(f"GEOMETRIC_MEAN({c})" for c in ("t", "n", "big", "x", "f")),
    *(f"VAR_POP({c})" for c in ("t", "n", "big", "x", "f")),
    *(
        f"{f}({c}){nulls}"
        for f in ("FIRST", "LAST")
        for c in ("t", "big", "x", "f", "flag", "day", "at")
        for nulls in ("", " IGNORE NULLS")
    ),
    *(f"APPROX_COUNT_DISTINCT({c})" for c in ("k", "t", "big", "x", "f", "flag", "day", "at")),
    *(f"APPROX_COUNT_DISTINCT({c}, method => 'theta')" for c in ("k", "n", "x", "day")),
    *(f"APPROX_PERCENTILE({c}, 0.5)" for c in ("t", "n", "x", "f")),
    *(f"APPROX_TOP_K({c}, 3)" for c in ("k", "n", "x", "flag", "at")),
    *("APPROX_COUNT(k, 'a')", "APPROX_COUNT(big, 3)", "APPROX_COUNT(f, 0.5)"),
    *(f"spread_out({c})" for c in ("t", "big", "x", "f")),
    *(f"longest(k, {c})" for c in ("t", "big")),
    *(f"last_steps({c})" for c in ("n", "big")),
    *(f"SUM({c})" for c in ("n * 8", "big * 8", "big + n", "t * t", "x * 2.5", "f + f", "1")),
    *(f"AVG({c})" for c in ("f - t", "big - n")),
    *("MIN(-t)", "MAX(n * n)", "MIN(x - big)", "MAX(n > 5)", "COUNT(big * big)"),
    *("TOP(k, 3, SUM(n * 2))", "COUNT(DISTINCT t + n)", "LAST(t - n)", "longest(k, t - 1)"),
    *("COUNT(n + t * t)", "COUNT(t * t + n)", "COUNT(CAST(big AS INT))", "SUM(CAST(x AS INT))"),
)
Row = dict[str, Any]
VALUES: dict[str, tuple[Any, ...]] = {
    "k": (None, "", "a", "b", "ä", "a\0", "z" * 5),
    "t": (None, 0, 1, -128, 127),
    "n": (None, 0, 1, -7, 2**31 - 1, -(2**31), 700, 70_000),
    "big": (None, 3, -4, 2**63 - 1, -(2**63), 2**32),
    "flag": (None, True, False),
    "day": (None, *(date(1969, 12, 31) + timedelta(days) for days in range(4))),
    "at": (None, -1, 0, 10**15, 2**62),
    "x": (None, 0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf),
    "f": (None, 0.5, -3.0, math.nan),
    "price": (None, Decimal("1.25"), Decimal("1.24"), Decimal("-9999999999.99")),
}


@st.composite
def rows(draw: st.DrawFn, most: int = 40) -> list[Row]:
    """Rows with times near one another, now and then none, or one that no slice can hold."""
    base = draw(st.sampled_from((0, -5_000_000, 1_700_000_000_000_000, 253_402_300_790_000_000)))
    times = st.integers(0, 200_000).map(lambda t: base + t) | st.sampled_from(
        (None, 2**61, -(2**62), base + 10**12)
    )
    values = st.fixed_dictionaries({k: st.sampled_from(v) for k, v in VALUES.items()})
    drawn = draw(st.lists(st.tuples(times, values), max_size=most))
    return [{"ts": time, **found} for time, found in drawn]


def plan_of(number: int, sql: str) -> QueryPlan:
    (query,) = parse_script(f"CREATE QUERY q{number} AS {sql}")
    assert isinstance(query, CreateQuery)
    return bind(query, STREAM, Environment(SIGNATURES))


@st.composite
def feeds(draw: st.DrawFn) -> tuple[Feed, ...]:
    """Feeds for a few queries; those of equal keys share a synopsis."""
    by_keys: dict[tuple[str, ...], list[QueryPlan]] = {}
    for number in range(draw(st.integers(1, 5))):
        keys = tuple(draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True)))
        chosen = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
        items = [f"{sql} AS b{place}" for place, sql in enumerate(keys)]
        items += [f"{sql} AS a{place}" for place, sql in enumerate(chosen)]
        where = draw(st.just("") | st.sampled_from(CONDITIONS).map(lambda c: f" WHERE {c}"))
        slide = draw(st.integers(1, 40) | st.sampled_from((5, 10, 20, 3_600_000)))
        window = f"[RANGE {draw(st.integers(1, 60))} ms SLIDE {slide} ms]"
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        plan = plan_of(number, f"SELECT {', '.join(items)} FROM s {window}{where}{group}")
        by_keys.setdefault(tuple(sorted(keys)), []).append(plan)
    synopses = [
        new_synopsis(number, plans, StreamPosition()).synopsis
        for number, plans in enumerate(by_keys.values())
    ]
    return arrange_feeds(synopses, Settings(), EngineCosts())


def table_of(found: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(found), SCHEMA)


def holds(predicate: Predicate, row: Row) -> bool:
    return any(
        all(_point(dim, row) in allowed for dim, allowed in box.sides) for box in predicate.boxes
    )


def value_of(scalar: Scalar, row: Row) -> Any:
    """The value of a column, or of what is computed from several."""
    if scalar.is_column:
        return row[scalar.sql]
    assert scalar.node is not None
    return evaluate_row(scalar.node, row)[0]


def plain_raised(feeds: Sequence[Feed], accepted: Sequence[Row]) -> dict[str, int]:
    """How often each expression raised, as far as it did."""
    scalars = {s.sql: s for feed in feeds for s in feed.scan.scalars if s.may_raise}
    counts = {
        sql: sum(_raises(scalar.node, row) for row in accepted if scalar.node)
        for sql, scalar in scalars.items()
    }
    return {sql: count for sql, count in counts.items() if count}


def _raises(node: Node, row: Row) -> bool:
    """True if any part that is reached raises, whatever stands beside it."""
    if isinstance(node, Call) and node.op in ("and", "or"):
        left, right = node.args
        is_reached = evaluate_row(left, row)[0] is not (node.op == "or")
        return _raises(left, row) or (is_reached and _raises(right, row))
    inner = any(_raises(part, row) for part in node.args) if isinstance(node, Call) else False
    return inner or evaluate_row(node, row)[1]


def _point(dimension: Any, row: Row) -> Any:
    if isinstance(dimension, Scalar):
        return value_of(dimension, row)
    value = row[dimension.name]
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Decimal):
        return int(value.scaleb(2))
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def plain_cells(feed: Feed, counted: Sequence[Row], since_us: int) -> dict[Any, list[Any]]:
    """What the feed's cells must be: the lanes by (slice, keys, predicates that hold)."""
    classes = classes_from(feed.synopses, since_us)
    members: dict[Any, list[Row]] = {}
    for row in counted:
        held = frozenset(bit for bit in feed.bits if holds(feed.scan.predicates[bit], row))
        if not held and not feed.keeps_all:
            continue
        keys = tuple(value_of(feed.scan.keys[place], row) for place in feed.nodes[0].keys)
        members.setdefault((slice_start(row["ts"], classes), keys, held), []).append(row)
    return {cell: [plain_lane(lane, mine) for lane in feed.lanes] for cell, mine in members.items()}


def plain_lane(lane: Lane, mine: list[Row]) -> Any:
    if lane.argument is None:
        return len(mine)
    if isinstance(lane, BagLane):
        return plain_bag(lane, mine)
    if isinstance(lane, UserLane):
        rows = [(row["ts"], tuple(value_of(s, row) for s in lane.arguments)) for row in mine]
        return UserFunction().reference(call_of(lane), rows, (0, 1))
    if isinstance(lane, LogSum | LogCount):
        return lane.lift_plain([(row["ts"], (value_of(lane.argument, row),)) for row in mine])[0]
    if isinstance(lane, Outermost):
        pairs = [(row["ts"], value_of(lane.argument, row)) for row in mine]
        known = [pair for pair in pairs if pair[1] is not None]
        pairs = known if lane.ignores_nulls else pairs
        return outermost(pairs, lane.is_last) if pairs else None
    values = [value_of(lane.argument, row) for row in mine]
    values = [value for value in values if value is not None]
    if isinstance(lane, SketchLane):
        return plain_sketch(lane, values)
    if isinstance(lane, Count) or not values:
        return len(values) if isinstance(lane, Count) else None
    if isinstance(lane, Sum):
        return sum(values)
    if isinstance(lane, Moments):
        return (len(values), plain_variance([float(value) for value in values], taken_off=0))
    # Spark orders NaN above everything.
    ordered = sorted(values, key=lambda v: (isinstance(v, float) and math.isnan(v), v))
    return ordered[0] if isinstance(lane, Min) else ordered[-1]


def plain_bag(lane: Lane, mine: list[Row]) -> Any:
    """(value, weight) of every value, ascending, NaN last."""
    found: dict[Any, Any] = {}
    for row in mine:
        value, *weight = (value_of(scalar, row) for scalar in lane.arguments)
        if value is None or None in weight:
            continue
        key = _bag_key(value)
        found[key] = found.get(key, 0) + (weight[0] if weight else 1)
    return tuple(sorted(found.items()))


def _bag_key(value: Any) -> Any:
    """NaN is one value, and zero has no sign."""
    if not isinstance(value, float):
        return (0, value)
    return (1, 0.0) if math.isnan(value) else (0, value + 0.0)


def plain_sketch(lane: SketchLane, values: list[Any]) -> Any:
    """What a sketch of so few values knows exactly."""
    if not values:
        return None
    if isinstance(lane, KllLane):
        numbers = sorted(float(value) for value in values if value == value)
        return numbers[(len(numbers) - 1) // 2] if numbers else None
    counts = Counter("NaN" if value != value else _whole(value) for value in values)
    if isinstance(lane, CountMinLane):
        keys = Counter(keys_of(pa.array(values, lane.type.arrow), lane.type))
        return Counter({whole_key(key): count for key, count in keys.items()})
    return len(counts) if isinstance(lane, DistinctLane) else counts


def known_sketch(lane: SketchLane, state: Any) -> Any:
    if state is None:
        return None
    if isinstance(lane, KllLane | DistinctLane):
        is_kll = isinstance(lane, KllLane)
        sql = "APPROX_PERCENTILE(x, 0.5)" if is_kll else "APPROX_COUNT_DISTINCT(k)"
        found = told_of_all(sql, [state], lane)
        return found and found[0]
    assert isinstance(lane, ItemsLane | CountMinLane)
    counts = lane.family.read(state)
    if isinstance(lane, CountMinLane):
        return Counter(dict(zip(counts.keys.tolist(), counts.counts.tolist(), strict=True)))
    tally = dict(zip(counts.values, counts.counts.tolist(), strict=True))
    # Python has no times so far away.
    far = lane.type == TIMESTAMP
    values = list(tally) if far else values_of(list(tally), lane.type).to_pylist()
    keys = ["NaN" if value != value else _whole(value) for value in values]
    return Counter(dict(zip(keys, tally.values(), strict=True)))


def _whole(value: Any) -> Any:
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def call_of(lane: Lane) -> AggregateCall:
    """The call that reads the lane of a user's aggregate."""
    assert lane.code is not None
    slot = Slot("a", declared(lane.code).result)
    name = lane.code.name.upper()
    return AggregateCall(slot, name, lane.argument, lane.parameters, lane.others, code=lane.code)


def listed_cells(feed: Feed, cells: Cells) -> Iterator[tuple[Any, list[Any]]]:
    """Cells in the same form."""
    lanes = [_lane_values(lane, cells, place) for place, lane in enumerate(feed.lanes)]
    keys = [_plain(cells.groups.column(name)) for name in feed.key_columns]
    bits = {bit: has_bit(cells.signatures, bit) for bit in feed.bits}
    for row in range(len(cells)):
        group, signature = cells.group[row], cells.signature[row]
        held = frozenset(bit for bit, flags in bits.items() if flags[signature])
        start = int(cells.slices[cells.slice_index[row]])
        yield (start, tuple(key[group] for key in keys), held), [lane[row] for lane in lanes]


def _lane_values(lane: Lane, cells: Cells, place: int) -> list[Any]:
    if isinstance(lane, UserLane):
        states = cells.lanes[place]
        assert isinstance(states, Encoded)
        return _plain(lane.user.lower(states.values)[0])
    parts = [_plain(array) for array in lane.decode(cells.lanes[place])]
    if isinstance(lane, BagLane):
        return [_listed_bag(*bag) for bag in zip(*parts, strict=True)]
    if isinstance(lane, SketchLane):
        return [known_sketch(lane, state) for state in parts[0]]
    if len(parts) == 1:
        return parts[0]
    if isinstance(lane, Moments):
        n, _, m2 = parts
        return [(a, b / a) if a else None for a, b in zip(n, m2, strict=True)]
    if isinstance(lane, Outermost):
        return parts[1]
    low, high = parts
    return [None if a is None else b * 2**32 + a for a, b in zip(low, high, strict=True)]


def _listed_bag(values: list[Any], *weights: list[Any]) -> Any:
    whole = [w[0] if len(w) == 1 else w[1] * 2**32 + w[0] for w in zip(*weights, strict=True)]
    return tuple(sorted(zip(map(_bag_key, values), whole, strict=True)))


def _plain(column: Any) -> list[Any]:
    if pa.types.is_list(column.type):
        inner = iter(_plain(column.flatten()))
        return [[next(inner) for _ in range(size)] for size in _plain(column.value_lengths())]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return list(column.to_pylist())


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, tuple) and isinstance(theirs, tuple):
        return all(map(same, mine, theirs))
    if isinstance(mine, float) and isinstance(theirs, float):
        return np.isclose(mine, theirs, rtol=1e-9, atol=1e-9, equal_nan=True).item()
    return bool(mine == theirs)


def one_feed(*plans: QueryPlan) -> tuple[Feed, ...]:
    synopsis = new_synopsis(1, plans, StreamPosition()).synopsis
    return arrange_feeds([synopsis], Settings(), EngineCosts())


def agree(feed: Feed, mine: list[tuple[Any, list[Any]]], expected: dict[Any, list[Any]]) -> None:
    assert len(mine) == len(expected), "a cell twice, or one too few"
    for cell, values in mine:
        wanted = expected[cell]
        for lane, value, want in zip(feed.lanes, values, wanted, strict=True):
            assert same(value, want), f"{lane.sql} of {cell}: {value}, expected {want}"
