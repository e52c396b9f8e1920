"""Step 3: the cells of one task ⇒ for each synopsis, those it keeps, ready to be a piece.

Keys are rolled up along the feed's tree first; then each synopsis takes the signatures and
the slices that it keeps. The last is what the papers call intercede: fragments of everybody's
edges are combined, once for a group of queries, into the fragments of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tidemill.plan.predicates import has_bit, set_bit
from tidemill.state.cells import Cells, factorise_words, merged, rolled_up
from tidemill.state.feed import Feed
from tidemill.state.routing import routed
from tidemill.state.synopsis import Synopsis


def fold_feed(feed: Feed, root: Cells) -> Iterator[tuple[Synopsis, Cells]]:
    """The cells that each synopsis of the feed gets from its root."""
    cells_of: list[Cells] = []
    for number, node in enumerate(feed.nodes):
        keys = [f"_f{place}" for place in node.keys]
        cells_of.append(rolled_up(feed.lanes, cells_of[node.parent], keys) if number else root)
        for synopsis in (feed.by_id[name] for name in node.synopses):
            yield synopsis, _named(feed, synopsis, _cells_for(feed, synopsis, cells_of[number]))


def _cells_for(feed: Feed, synopsis: Synopsis, cells: Cells) -> Cells:
    if synopsis.routed:
        return routed(feed, synopsis, cells)
    return _cut(synopsis, _signed(feed, synopsis, cells))


def _signed(feed: Feed, synopsis: Synopsis, cells: Cells) -> Cells:
    """The signatures in the synopsis's own bits, and its lanes; what it does not keep goes."""
    words = np.zeros((len(cells.signatures), len(synopsis.signature_columns)), dtype=np.int64)
    is_wanted = np.full(len(words), synopsis.all_since_us is not None)
    for bit in synopsis.bits:
        holds = has_bit(cells.signatures, feed.bit(bit.predicate))
        set_bit(words, bit.number, holds)
        is_wanted |= holds
    places = [feed.lanes.index(lane) for lane in synopsis.lanes]
    cells = replace(cells, lanes=tuple(cells.lanes[place] for place in places))
    cells = cells if is_wanted.all() else cells.where(is_wanted[cells.signature])
    number, first_rows = factorise_words(words)
    return replace(cells, signature=number[cells.signature], signatures=words[first_rows])


def _cut(synopsis: Synopsis, cells: Cells) -> Cells:
    """Panes combined into the slices of the synopsis; slices that no window reads go."""
    starts = synopsis.cuts.starts(cells.slices)
    useful = synopsis.cuts.in_some_window(starts)
    cells = cells if useful.all() else cells.where(useful[cells.slice_index])
    slices, number = np.unique(starts, return_inverse=True)
    cells = replace(cells, slices=slices, slice_index=number[cells.slice_index])
    return merged(synopsis.lanes, cells)


def _named(feed: Feed, synopsis: Synopsis, cells: Cells) -> Cells:
    """The keys under the names that the synopsis has for them."""
    columns = {
        name: cells.groups.column(feed.key_column(key.scalar))
        for name, key in zip(synopsis.key_columns, synopsis.keys, strict=True)
    }
    return replace(cells, groups=pa.table(columns))
