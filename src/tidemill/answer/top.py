"""The first rows of every window of a block, by ORDER BY and LIMIT, ties by the group keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidemill.answer.expressions.columns import EVERY, Column, Flags
from tidemill.answer.ordering import LARGEST, Keys, cut_runs, order_keys
from tidemill.answer.slots import Slots
from tidemill.arrays import IntArray
from tidemill.plan.query import Ordering


@dataclass(frozen=True)
class Order:
    """One ORDER BY expression over a block: where it is NULL, and keys that ascend."""

    column: Column
    keys: Keys
    missing: Flags | None
    nulls_first: bool

    @staticmethod
    def of(ordering: Ordering, slots: Slots) -> Order:
        column = slots.evaluate(ordering.node)
        keys = order_keys(column, ordering.node.type, ordering.descending)
        missing = None if column.valid is EVERY or column.valid.all() else ~column.valid
        return Order(column, keys, missing, ordering.nulls_first)

    @property
    def coarse(self) -> Keys:
        """Keys that order like the expression, though a NULL may tie with the last value."""
        if self.missing is None:
            return self.keys
        return np.where(self.missing, ~LARGEST if self.nulls_first else LARGEST, self.keys)

    def at(self, cells: IntArray, shape: tuple[int, ...]) -> list[Keys]:
        """The sort keys of some cells of the block."""
        keys = np.broadcast_to(self.keys, shape).ravel()[cells]
        if self.missing is None:
            return [keys]
        missing = np.broadcast_to(self.missing, shape).ravel()[cells].astype(np.int64)
        return [-missing if self.nulls_first else missing, np.where(missing, 0, keys)]


def top_cells(
    kept: Flags | None, orders: Sequence[Order], slots: Slots, rank: IntArray, most: IntArray
) -> IntArray:
    """Places in the flattened block, window after window, each in order and cut to `most`.

    `kept` tells which cells may appear (None: all); `most` is by number of the window.
    """
    candidates = _candidates(kept, orders, slots, rank, most)
    if candidates is None:
        cells = np.arange(int(np.prod(slots.shape)))
    else:
        cells = np.flatnonzero(np.broadcast_to(candidates, slots.shape))
    chosen = slots.at(cells)
    window = chosen.window
    keys = [window, *(key for order in orders for key in order.at(cells, slots.shape))]
    by_order = np.lexsort([rank[chosen.group], *keys[::-1]])
    return cells[cut_runs(by_order, [window], most[window])]


def _candidates(
    kept: Flags | None, orders: Sequence[Order], slots: Slots, rank: IntArray, most: IntArray
) -> Flags | None:
    """Cells that can be among the first: those up to the last that the first key lets in.

    A matrix is partitioned row by row, which is far less work than to sort it; only what is
    left, a few cells more than are wanted, has to be put in order.
    """
    if len(slots.shape) == 1 or not slots.shape[0]:
        return kept
    groups, limit = slots.shape[1], int(most[slots.window].max())
    if limit >= groups:
        return kept
    first = orders[0].coarse if orders else rank[slots.group]
    keys = np.broadcast_to(first, slots.shape)
    if kept is not None:
        keys = np.where(kept, keys, LARGEST)
    last = np.partition(keys, limit - 1, axis=1)[:, limit - 1, None]
    candidates = keys <= last
    return candidates if kept is None else candidates & kept
