"""What Catalyst hands over, made by plain loops: a partial row per (slice, keys, signature)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tests.laws.conditions import Truth
from tidemill.aggregates import Lane
from tidemill.aggregates.lanes import PlainRow
from tidemill.plan.predicates import WORD_BITS, Predicate
from tidemill.reference.answers import AcceptedRow
from tidemill.state.feed import Feed, Scan, classes_from
from tidemill.state.pieces import SLICE
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
    rows: Sequence[AcceptedRow],
    truths: Truths,
    since_us: int,
    in_panes: bool,
) -> pa.Table:
    """The rows of one feed of a pass; they are cut at everybody's edges, in panes or slices."""
    start_of = _cutting(one_pass, since_us, in_panes)
    cells: dict[tuple[Any, ...], list[AcceptedRow]] = {}
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


def _table(feed: Feed, cells: dict[tuple[Any, ...], list[AcceptedRow]]) -> pa.Table:
    columns: dict[str, pa.Array] = {SLICE: pa.array([c[0] for c in cells], pa.int64())}
    root = feed.nodes[0].keys
    for at, place in enumerate(root):
        values = [_unhashable(key[at]) for _, key, *_ in cells]
        columns[f"_f{place}"] = pa.array(values, feed.scan.keys[place].type.arrow)
    for word, name in enumerate(feed.signature_columns):
        mask = (1 << WORD_BITS) - 1
        columns[name] = pa.array([c[2] >> WORD_BITS * word & mask for c in cells], pa.int64())
    for number, lane in enumerate(feed.lanes):
        lifted = [lane.lift_plain(_arguments(lane, members)) for members in cells.values()]
        for part, name in enumerate(feed.lane_columns(number)):
            columns[name] = pa.array([row[part] for row in lifted], lane.part_types[part])
    return pa.table(columns)


def _arguments(lane: Lane, members: Sequence[AcceptedRow]) -> list[PlainRow]:
    return [(row.time_us, tuple(row.values[s.sql] for s in lane.arguments)) for row in members]


def _hashable(value: Any) -> Any:
    return "NaN!" if isinstance(value, float) and value != value else value


def _unhashable(value: Any) -> Any:
    return math.nan if value == "NaN!" else value
