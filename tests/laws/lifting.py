"""What Catalyst hands over, made by plain loops: a partial row per (slice, keys, signature)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tests.laws.conditions import Truth
from tidemill.aggregates import Lane
from tidemill.aggregates.lanes import BAGS
from tidemill.aggregates.sketches import Quantiles, family_of_keys
from tidemill.aggregates.sketches.keys import keys_of
from tidemill.plan.predicates import WORD_BITS, Predicate
from tidemill.reference.answers import Row
from tidemill.reference.recalc import greatest, least
from tidemill.reference.spreads import outermost
from tidemill.state.feed import Feed, Scan, classes_from
from tidemill.state.partial_rows import SLICE
from tidemill.windows import pane_origin, pane_us, slice_start

Truths = Mapping[Predicate, Truth]


def passes(feeds: Sequence[Feed]) -> list[list[Feed]]:
    """Feeds of one scan read the rows together."""
    by_scan: dict[Scan, list[Feed]] = {}
    for feed in feeds:
        by_scan.setdefault(feed.scan, []).append(feed)
    return list(by_scan.values())


def partial_rows(
    one_pass: Sequence[Feed],
    feed: Feed,
    rows: Sequence[Row],
    truths: Truths,
    since_us: int,
    in_panes: bool,
) -> pa.Table:
    """The rows of one feed of a pass; they are cut at everybody's edges, in panes or slices."""
    start_of = _cutting(one_pass, since_us, in_panes)
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        held = [p for p in feed.scan.predicates if truths[p](row.values) is True]
        if not held and not any(each.keeps_all for each in one_pass):
            continue
        signature = sum(1 << bit for bit in map(feed.bit, held) if bit in feed.bits)
        places = feed.nodes[0].keys
        key = tuple(_hashable(row.values[feed.scan.keys[place].sql]) for place in places)
        values = tuple(_hashable(row.values[scalar.sql]) for scalar in feed.scan.values)
        cells.setdefault((start_of(row.time_us), key, signature, values), []).append(row)
    return _table(feed, cells)


def _cutting(one_pass: Sequence[Feed], since_us: int, in_panes: bool) -> Callable[[int], int]:
    classes = classes_from([s for feed in one_pass for s in feed.synopses], since_us)
    origin, pane = pane_origin(classes), pane_us(classes)
    if in_panes:
        return lambda t_us: t_us - (t_us - origin) % pane
    return lambda t_us: slice_start(t_us, classes)


def _table(feed: Feed, cells: dict[tuple[Any, ...], list[Row]]) -> pa.Table:
    columns: dict[str, pa.Array] = {SLICE: pa.array([c[0] for c in cells], pa.int64())}
    root = feed.nodes[0].keys
    for at, place in enumerate(root):
        values = [_unhashable(key[at]) for _, key, *_ in cells]
        columns[f"_f{place}"] = pa.array(values, feed.scan.keys[place].type.arrow)
    for word, name in enumerate(feed.signature_columns):
        mask = (1 << WORD_BITS) - 1
        columns[name] = pa.array([c[2] >> WORD_BITS * word & mask for c in cells], pa.int64())
    for number, lane in enumerate(feed.lanes):
        for part, name in enumerate(feed.lane_columns(number)):
            lifted = [lift(lane, part, members) for members in cells.values()]
            columns[name] = pa.array(lifted, lane_type(lane, part))
    return pa.table(columns)


def lane_type(lane: Lane, part: int) -> pa.DataType:
    if lane.is_sketch:
        return (lane.type.arrow, pa.int64())[part] if lane.by_value else pa.binary()
    if lane.kind == "moments":
        return pa.float64()
    if lane.kind == "weights" and part:
        return lane_type(lane.summed, part - 1)
    if lane.kind in BAGS:
        return pa.int64() if part else lane.type.arrow
    if lane.kind == "user":
        return pa.int64() if part < 2 else lane.arguments[part - 2].type.arrow
    if lane.kind in ("min", "max") or (lane.kind in ("first", "last") and part):
        return lane.type.arrow
    if lane.kind == "sum" and lane.type.is_decimal:
        return pa.decimal128(lane.type.precision + 10, lane.type.scale)
    return pa.float64() if lane.kind == "sum" and lane.type.is_float else pa.int64()


def lift(lane: Lane, part: int, members: Sequence[Row]) -> Any:
    if lane.argument is None:
        return len(members)
    if lane.kind == "weights" and part:
        return lift(lane.summed, part - 1, members)
    if lane.kind == "user":
        # One value of each argument stands in all of them.
        return [None, len(members), *(members[0].values[s.sql] for s in lane.arguments)][part]
    values = [v for row in members if (v := row.values[lane.argument.sql]) is not None]
    if lane.kind in BAGS:
        # Every partial row has one value alone.
        return len(values) if part else next(iter(values), None)
    if lane.kind == "count":
        return len(values)
    if lane.is_sketch:
        return sketch(lane, part, values)
    if not values:
        return 0 if lane.kind == "moments" and not part else None
    if lane.kind == "sum":
        halves = len(lane.parts) == 2
        return sum((v & 0xFFFFFFFF, v >> 32)[part] if halves else v for v in values)
    if lane.kind == "moments":
        numbers = [float(value) for value in values]
        mean = math.fsum(numbers) / len(numbers)
        return (len(numbers), mean, math.fsum((x - mean) ** 2 for x in numbers))[part]
    if lane.kind in ("first", "last"):
        sql = lane.argument.sql
        pairs = [(r.time_us, r.values[sql]) for r in members if r.values[sql] is not None]
        at = (min if lane.kind == "first" else max)(time for time, _ in pairs)
        return outermost(lane.kind.upper(), pairs) if part else at
    result = values[0]
    for value in values[1:]:
        result = (least if lane.kind == "min" else greatest)(result, value)
    return result


def sketch(lane: Lane, part: int, values: list[Any]) -> Any:
    """Bytes, or the value and how often it is there, of rows with one value."""
    if lane.by_value:
        return len(values) if part else (values or [None])[0]
    if lane.kind == "kll":
        quantiles = Quantiles(lane.size)
        return quantiles.to_bytes(quantiles.of(np.array(values, np.float64)))
    family = family_of_keys(lane.kind, lane.size, lane.type)
    counts = Counter(keys_of(pa.array(values, lane.type.arrow), lane.type))
    return family.to_bytes(family.make(list(counts), list(counts.values())))


def _hashable(value: Any) -> Any:
    return "NaN!" if isinstance(value, float) and value != value else value


def _unhashable(value: Any) -> Any:
    return math.nan if value == "NaN!" else value
