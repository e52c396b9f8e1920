"""Routing: cells per signature ⇒ cells per predicate, each cut at the edges of its own readers.

A cell goes to every predicate that holds for it. Cells lie ordered by group and slice, and so
do those of any one predicate, whatever its edges: what has to be combined is a run of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidemill.aggregates import Encoded
from tidemill.plan.predicates import has_bit, set_bit
from tidemill.synopsis.cells import Cells
from tidemill.synopsis.feed import Feed
from tidemill.synopsis.lane_matrix import LaneMatrix
from tidemill.synopsis.model import Bit, Synopsis

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class _Route:
    """What one predicate gets: starts of slices, groups and lanes of its cells."""

    starts: IntArray
    group: IntArray
    lanes: tuple[Encoded, ...]


def routed(feed: Feed, synopsis: Synopsis, cells: Cells) -> Cells:
    """The cells that the synopsis keeps, with signatures of one bit each."""
    places = [feed.lanes.index(lane) for lane in synopsis.lanes]
    order = np.lexsort((cells.slice_index, cells.group))
    sorted_cells = replace(
        cells,
        slice_index=cells.slice_index[order],
        group=cells.group[order],
        signature=cells.signature[order],
    )
    matrix = LaneMatrix(synopsis.lanes, [cells.lanes[place].take(order) for place in places])
    routes = [_route(feed, matrix, sorted_cells, bit) for bit in synopsis.bits]
    return _together(synopsis, cells, routes)


def _route(feed: Feed, matrix: LaneMatrix, cells: Cells, bit: Bit) -> _Route:
    starts = bit.cuts.starts(cells.slices)
    useful = bit.cuts.in_some_window(starts)
    holds = np.ones(len(cells.signatures), dtype=np.bool_)
    if not bit.predicate.is_true:
        holds = has_bit(cells.signatures, feed.bit(bit.predicate))
    wanted = holds[cells.signature]
    if not useful.all():
        wanted &= useful[cells.slice_index]
    rows = np.flatnonzero(wanted)
    mine, group = starts[cells.slice_index[rows]], cells.group[rows]
    is_first = np.ones(len(rows), dtype=np.bool_)
    is_first[1:] = (mine[1:] != mine[:-1]) | (group[1:] != group[:-1])
    first = np.flatnonzero(is_first)
    return _Route(mine[first], group[first], matrix.reduced(rows, first))


def _together(synopsis: Synopsis, cells: Cells, routes: Sequence[_Route]) -> Cells:
    counts = [len(route.group) for route in routes]
    signatures = np.zeros((max(1, len(routes)), len(synopsis.signature_columns)), dtype=np.int64)
    for place, bit in enumerate(synopsis.bits):
        set_bit(signatures[place : place + 1], bit.number, np.ones(1, dtype=np.bool_))
    starts = np.concatenate([np.zeros(0, np.int64), *(route.starts for route in routes)])
    slices, slice_index = np.unique(starts, return_inverse=True)
    return Cells(
        slices=slices,
        slice_index=slice_index,
        group=np.concatenate([np.zeros(0, np.int64), *(route.group for route in routes)]),
        groups=cells.groups,
        signature=np.repeat(np.arange(len(routes)), counts),
        signatures=signatures,
        lanes=tuple(
            _joined([route.lanes[n] for route in routes]) for n in range(len(synopsis.lanes))
        ),
    )


def _joined(parts: Sequence[Encoded]) -> Encoded:
    """Lanes one after the other; they were taken from one, so they share its dictionary."""
    valid = None
    if any(part.valid is not None for part in parts):
        masks = [np.ones(len(p.values), np.bool_) if p.valid is None else p.valid for p in parts]
        valid = np.concatenate(masks)
    return Encoded(np.concatenate([part.values for part in parts]), valid, parts[0].dictionary)
