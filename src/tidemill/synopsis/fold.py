"""Step 3: partial rows of one task ⇒ for each synopsis, rows by bucket, ready to be a piece.

Keys are rolled up along the feed's tree first; then each synopsis takes the signatures and
the slices that it keeps. The last is what the papers call intercede: fragments of everybody's
edges are combined, once for a group of queries, into the fragments of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.plan.predicates import has_bit, set_bit
from tidemill.synopsis.buckets import buckets_of
from tidemill.synopsis.cells import SLICE, Cells, factorise, gather, merged, scatter
from tidemill.synopsis.feed import Feed, Node
from tidemill.synopsis.model import Synopsis
from tidemill.synopsis.routing import routed

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


Folded = Iterator[tuple[Synopsis, dict[int, pa.Table]]]


def fold_feed(feed: Feed, rows: pa.Table, buckets: int) -> Folded:
    """What each synopsis of the feed gets of some partial rows, by bucket."""
    if not feed.synopses:
        return iter(())
    if (straight := _straight(feed, rows, buckets)) is not None:
        return iter([(feed.synopses[0], straight)])
    return fold_cells(feed, gather(feed, rows), buckets)


def fold_cells(feed: Feed, root: Cells, buckets: int) -> Folded:
    """The same from the cells of the feed's root, however they were made."""
    found: list[Cells] = []
    for number, node in enumerate(feed.nodes):
        found.append(_rolled_up(feed, node, found[node.parent]) if number else root)
        for synopsis in (feed.by_id[name] for name in node.synopses):
            cells = _kept(feed, synopsis, found[number])
            yield synopsis, _by_bucket(feed, synopsis, cells, buckets)


def _kept(feed: Feed, synopsis: Synopsis, cells: Cells) -> Cells:
    if synopsis.routed:
        return routed(feed, synopsis, cells)
    return _cut(synopsis, _signed(feed, synopsis, cells))


def _straight(feed: Feed, rows: pa.Table, buckets: int) -> dict[int, pa.Table] | None:
    """The rows as they are, if they are just what the only synopsis keeps.

    The aggregation has then left one row per cell already, and there may be millions.
    """
    synopsis = feed.synopses[0]
    starts = rows.column(SLICE).to_numpy()
    if len(feed.synopses) > 1 or synopsis.bits or len(feed.nodes[0].keys) > len(synopsis.keys):
        return None
    if not np.array_equal(synopsis.cuts.starts(starts), starts):
        return None
    useful = synopsis.cuts.in_some_window(starts)
    rows = rows if useful.all() else rows.filter(pa.array(useful))
    mine = _renamed(feed, synopsis, rows)
    bucket = buckets_of(mine.select(synopsis.key_columns), buckets) if synopsis.keys else None
    if bucket is None:
        return {0: mine.sort_by(SLICE)}
    order = np.lexsort((rows.column(SLICE).to_numpy(), bucket))
    return dict(_runs(mine.take(pa.array(order)), bucket[order]))


def _runs(rows: pa.Table, buckets: IntArray) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket; they come in order of buckets."""
    distinct = np.unique(buckets)
    bounds = np.searchsorted(buckets, [*distinct, np.iinfo(np.int64).max])
    for bucket, low, high in zip(distinct, bounds[:-1], bounds[1:], strict=True):
        yield int(bucket), rows.slice(int(low), int(high - low))


def _renamed(feed: Feed, synopsis: Synopsis, rows: pa.Table) -> pa.Table:
    columns = {SLICE: rows.column(SLICE)}
    for name, key in zip(synopsis.key_columns, synopsis.keys, strict=True):
        columns[name] = rows.column(feed.key_column(key.scalar))
    for place, lane in enumerate(synopsis.lanes):
        theirs = feed.lane_columns(feed.lanes.index(lane))
        for name, source in zip(synopsis.lane_columns(place), theirs, strict=True):
            columns[name] = rows.column(source)
    return pa.table(columns)


def _rolled_up(feed: Feed, node: Node, parent: Cells) -> Cells:
    """The parent's cells with fewer keys: groups that become equal are combined."""
    names = [f"_f{place}" for place in node.keys]
    number, first = factorise(parent.groups.select(names), parent.group_count)
    groups = parent.groups.select(names).take(pa.array(first))
    return merged(feed.lanes, replace(parent, group=number[parent.group], groups=groups))


def _signed(feed: Feed, synopsis: Synopsis, cells: Cells) -> Cells:
    """The signatures in the synopsis's own bits, and its lanes; what it does not keep goes."""
    own = np.zeros((len(cells.signatures), len(synopsis.signature_columns)), dtype=np.int64)
    kept = np.full(len(own), synopsis.all_since_us is not None)
    for bit in synopsis.bits:
        holds = has_bit(cells.signatures, feed.bit(bit.predicate))
        set_bit(own, bit.number, holds)
        kept |= holds
    places = [feed.lanes.index(lane) for lane in synopsis.lanes]
    cells = replace(cells, lanes=tuple(cells.lanes[place] for place in places))
    cells = cells if kept.all() else cells.where(kept[cells.signature])
    number, first = factorise(
        pa.table(list(own.T), [f"_{n}" for n in range(own.shape[1])]), len(own)
    )
    return replace(cells, signature=number[cells.signature], signatures=own[first])


def _cut(synopsis: Synopsis, cells: Cells) -> Cells:
    """Panes combined into the slices of the synopsis; slices that no window reads go."""
    starts = synopsis.cuts.starts(cells.slices)
    useful = synopsis.cuts.in_some_window(starts)
    cells = cells if useful.all() else cells.where(useful[cells.slice_index])
    slices, number = np.unique(starts, return_inverse=True)
    cells = replace(cells, slices=slices, slice_index=number[cells.slice_index])
    return merged(synopsis.lanes, cells)


def _by_bucket(feed: Feed, synopsis: Synopsis, cells: Cells, buckets: int) -> dict[int, pa.Table]:
    columns = {
        name: cells.groups.column(feed.key_column(key.scalar))
        for name, key in zip(synopsis.key_columns, synopsis.keys, strict=True)
    }
    if not columns:
        return {0: scatter(synopsis, replace(cells, groups=pa.table({})))}
    named = replace(cells, groups=pa.table(columns))
    bucket = buckets_of(named.groups, buckets)[cells.group]
    return {int(one): scatter(synopsis, named.where(bucket == one)) for one in np.unique(bucket)}
