"""Routing: cells per signature ⇒ cells per predicate, each cut at the edges of its own readers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidemill.aggregates.numbering import Digit, distinct_codes
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.plan.predicates import have_bits, set_bit
from tidemill.state.cells import Cells
from tidemill.state.feed import Feed
from tidemill.state.loops.routes import hand_out
from tidemill.state.synopsis import Synopsis


@dataclass(frozen=True)
class _Homes:
    """Every slice of every predicate; `home` is the one of each (predicate, slice of the cells)."""

    home: IntArray  # -1: no window reads it
    predicate: IntArray
    start: IntArray


def routed(feed: Feed, synopsis: Synopsis, cells: Cells) -> Cells:
    """The cells that the synopsis keeps, with signatures of one bit each."""
    homes, groups = _homes(synopsis, cells), max(1, cells.group_count)
    handed, rows = _handed(_holding(feed, synopsis, cells), homes.home, cells)
    codes, distinct = distinct_codes(Digit(handed, len(homes.start) * groups))
    home, group = np.divmod(distinct, groups)
    slices, slice_index = np.unique(homes.start, return_inverse=True)
    places = (feed.lanes.index(lane) for lane in synopsis.lanes)
    return Cells(
        slices=slices,
        slice_index=slice_index[home],
        group=group,
        groups=cells.groups,
        signature=homes.predicate[home],
        signatures=_signatures(synopsis),
        lanes=tuple(
            lane.combined(cells.lanes[place], codes.codes, codes.size, rows)
            for lane, place in zip(synopsis.lanes, places, strict=True)
        ),
    )


def _homes(synopsis: Synopsis, cells: Cells) -> _Homes:
    shape = len(synopsis.bits), len(cells.slices)
    starts, useful = np.empty(shape, np.int64), np.empty(shape, np.bool_)
    for place, bit in enumerate(synopsis.bits):
        starts[place] = bit.cuts.starts(cells.slices)
        useful[place] = bit.cuts.in_some_window(starts[place])
    predicate, column = np.nonzero(useful)
    start = starts[predicate, column]
    # Slices ascend, so that those which one slice of a predicate is made of are neighbours.
    is_other = (predicate[1:] != predicate[:-1]) | (start[1:] != start[:-1])
    is_first = np.append(True, is_other)[: len(start)]
    home = np.full(shape, -1, np.int64)
    home[predicate, column] = np.cumsum(is_first) - 1
    return _Homes(home, predicate[is_first], start[is_first])


def _holding(feed: Feed, synopsis: Synopsis, cells: Cells) -> BoolArray:
    """Flags of the predicates that hold, by signature."""
    holds = np.ones((len(cells.signatures), len(synopsis.bits)), dtype=np.bool_)
    predicates = [bit.predicate for bit in synopsis.bits]
    tested = [place for place, predicate in enumerate(predicates) if not predicate.is_true]
    holds[:, tested] = have_bits(cells.signatures, [feed.bit(predicates[n]) for n in tested])
    return holds


def _handed(holds: BoolArray, home: IntArray, cells: Cells) -> tuple[Array, Array]:
    """Home and group of each cell under each predicate that holds for it, as a code; the cell."""
    _, takers = np.nonzero(holds)
    counts = np.count_nonzero(holds, axis=1)
    first = np.concatenate([[0], np.cumsum(counts)])
    most = int(counts[cells.signature].sum())
    groups = max(1, cells.group_count)
    # There are several to a cell: to write and read them is half of the work.
    dtype = np.int32 if max(len(cells), (home.max(initial=0) + 1) * groups) < 2**31 else np.int64
    codes, rows = np.empty(most, dtype), np.empty(most, dtype)
    whose = cells.signature, cells.slice_index, cells.group
    count = hand_out(first, takers, home, *whose, groups, codes, rows)
    return codes[:count], rows[:count]


def _signatures(synopsis: Synopsis) -> IntArray:
    """Of each predicate, its own bit."""
    words = np.zeros((max(1, len(synopsis.bits)), len(synopsis.signature_columns)), dtype=np.int64)
    for place, bit in enumerate(synopsis.bits):
        set_bit(words[place : place + 1], bit.number, np.ones(1, dtype=np.bool_))
    return words
