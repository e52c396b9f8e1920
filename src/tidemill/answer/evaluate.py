"""Evaluation of one block of windows and groups, from HAVING to the rows that remain.

HAVING is evaluated over the whole block, ORDER BY and LIMIT over the cells that it keeps, and
the select list for the rows that remain. Lanes are combined when an expression first reads
them, for the cells it is evaluated over.

A row in which anything raises counts once: HAVING is looked at for every group, ORDER BY for
those that HAVING keeps, the select list for the rows that are delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.answer.least import MOST_LEAST, mark_least
from tidemill.answer.ordering import LARGEST, cut_runs, order_in_windows, order_keys
from tidemill.answer.request import Evaluations
from tidemill.answer.rows import (
    EvaluatedRows,
    evaluated_schema,
    marked,
    order_name,
    output_name,
    tie_name,
)
from tidemill.answer.slots import EmptySlots, GroupKeys, Slots
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.compiling import is_worth_loading
from tidemill.evaluation.columns import ALL_VALID, NONE_RAISED, MaskedColumn, to_arrow
from tidemill.plan.query import Ordering
from tidemill.state.layouts.bundles import Block, Naming


class Evaluator:
    """Evaluates a request block after block, and gathers the rows that come of it."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._shape = evaluations.batch.shape
        self._makes_rows = evaluations.batch.delivery.makes_rows
        self._counts = np.zeros(len(evaluations), dtype=np.int64)
        self._first = np.zeros(len(evaluations), dtype=np.int64)
        self._raised = np.zeros(len(evaluations), dtype=np.int64)
        self._rows = 0
        self._tables: list[pa.Table] = []
        self._flagged: list[IntArray] = []  # rows in which anything but the select list raised
        self._raised_rows: dict[int, list[IntArray]] = {}  # by output

    def evaluate(self, groups: GroupKeys, block: Block, naming: Naming) -> None:
        """Windows that are whole in the block."""
        slots = Slots(groups, self._evaluations, block, naming)
        self._evaluate(slots, block.present)

    def evaluate_empty(self) -> None:
        """Windows that are answered without rows: one group of none each."""
        windows = np.flatnonzero(self._evaluations.is_empty)
        if len(windows):
            self._evaluate(EmptySlots(self._evaluations, windows), None)

    def _evaluate(self, slots: Slots, present: BoolArray | None) -> None:
        eligible, flags = self._having(slots, present)
        orders = [BlockOrder.of(ordering, slots) for ordering in self._shape.order_by]
        for order in orders:
            flags = _also(flags, order.column.raised, eligible)
        if self._shape.is_ordered:
            cells = top_cells(eligible, orders, slots, slots.rank, self._evaluations.most)
        elif eligible is None:
            cells = None
        else:
            cells = np.flatnonzero(np.broadcast_to(eligible, slots.shape))
        if flags is not None:
            self._flag(slots, cells, _flat(flags, slots.shape))
        self._finish(slots, cells, orders)

    def result(self) -> EvaluatedRows:
        """The rows that came of all blocks."""
        flags = marked(self._flagged, self._rows)
        columns = self._columns() if self._makes_rows else {}
        return EvaluatedRows(
            self._counts, self._first, self._raised, columns, flags, self._raised_rows
        )

    def _columns(self) -> dict[str, pa.Array]:
        schema = evaluated_schema(self._shape)
        table = pa.concat_tables([schema.empty_table(), *self._tables]).combine_chunks()
        return {name: table.column(name).combine_chunks() for name in schema.names}

    def _having(
        self, slots: Slots, present: BoolArray | None
    ) -> tuple[BoolArray | None, BoolArray | None]:
        """The cells that stay, and those of all that raised; None: all, none."""
        if self._shape.having is None:
            return present, None
        column = slots.evaluate(self._shape.having)
        true = column.values if column.valid is ALL_VALID else column.values & column.valid
        return _intersection(present, true), _also(None, column.raised, present)

    def _flag(self, slots: Slots, cells: IntArray | None, flags: BoolArray) -> None:
        """Note what raised before the select list, by cell of the block."""
        self._flagged.append(self._rows + np.flatnonzero(flags if cells is None else flags[cells]))
        if self._shape.is_ordered:
            flags = flags.copy()
            flags[cells] = False
        windows = _flat(slots.window, slots.shape)[flags]
        self._raised += np.bincount(windows, minlength=len(self._raised))

    def _finish(self, slots: Slots, cells: IntArray | None, orders: Sequence[BlockOrder]) -> None:
        """The select list of the cells that are left."""
        picked = slots if cells is None else slots.at(cells)
        columns = {}
        for number, node in enumerate(self._shape.outputs):
            if self._makes_rows:
                columns[output_name(number)], raised = picked.rows(node)
            else:
                raised = picked.raised(node)
            if raised.any():
                rows = self._rows + np.flatnonzero(_flat(raised, picked.shape))
                self._raised_rows.setdefault(number, []).append(rows)
        if self._makes_rows:
            if cells is not None and self._shape.is_ordered:
                columns |= self._hidden(slots, picked, cells, orders)
            self._tables.append(pa.table(columns))
        self._count(picked)

    def _hidden(
        self, slots: Slots, picked: Slots, cells: IntArray, orders: Sequence[BlockOrder]
    ) -> dict[str, pa.Array]:
        """The columns by which rows of all buckets are put in order."""
        columns = {}
        for number, (order, ordering) in enumerate(zip(orders, self._shape.order_by, strict=True)):
            column = order.column.flat(slots.shape).at(cells)
            columns[order_name(number)] = to_arrow(column, ordering.node.type)
        for number, key in enumerate(self._shape.keys):
            columns[tie_name(number)] = picked.rows(key.slot)[0]
        return columns

    def _count(self, picked: Slots) -> None:
        """The rows of every window follow one another."""
        if len(picked.shape) == 2:
            windows = picked.window.ravel()
            lengths = np.full(len(windows), picked.shape[1])
        else:
            is_new = np.ones(len(picked.window), dtype=np.bool_)
            is_new[1:] = picked.window[1:] != picked.window[:-1]
            begins = np.flatnonzero(is_new)
            windows = picked.window[begins]
            lengths = np.diff(begins, append=len(picked.window))
        self._counts[windows] = lengths
        self._first[windows] = self._rows + np.cumsum(lengths) - lengths
        self._rows += int(lengths.sum())


@dataclass(frozen=True)
class BlockOrder:
    """An ORDER BY expression over a block: keys that ascend, and the places of its NULLs."""

    column: MaskedColumn
    keys: IntArray
    missing: BoolArray | None
    nulls_first: bool

    @staticmethod
    def of(ordering: Ordering, slots: Slots) -> BlockOrder:
        column = slots.evaluate(ordering.node)
        keys = order_keys(column, ordering.node.type, ordering.descending)
        missing = None if column.valid is ALL_VALID or column.valid.all() else ~column.valid
        return BlockOrder(column, keys, missing, ordering.nulls_first)

    @property
    def coarse(self) -> IntArray:
        """IntArray that order like the expression, though a NULL may tie with the last value."""
        if self.missing is None:
            return self.keys
        return np.where(self.missing, ~LARGEST if self.nulls_first else LARGEST, self.keys)

    def at(self, cells: IntArray, shape: tuple[int, ...]) -> list[IntArray]:
        """The sort keys of some cells of the block."""
        keys = np.broadcast_to(self.keys, shape).ravel()[cells]
        if self.missing is None:
            return [keys]
        missing = np.broadcast_to(self.missing, shape).ravel()[cells].astype(np.int64)
        return [-missing if self.nulls_first else missing, np.where(missing, 0, keys)]


def top_cells(
    eligible: BoolArray | None,
    orders: Sequence[BlockOrder],
    slots: Slots,
    rank: IntArray,
    most: IntArray,
) -> IntArray:
    """Places in the flattened block, window after window, each in order and cut to `most`.

    `eligible` marks the cells that may appear (None: all); `most` is by number of the window.
    """
    candidates = _candidates(eligible, orders, slots, rank, most)
    if candidates is None:
        cells = np.arange(int(np.prod(slots.shape)))
    else:
        cells = np.flatnonzero(np.broadcast_to(candidates, slots.shape))
    chosen = slots.at(cells)
    window = chosen.window
    keys = [key for order in orders for key in order.at(cells, slots.shape)]
    by_order = order_in_windows(window, [*keys, rank[chosen.group]])
    return cells[cut_runs(by_order, [window], most[window])]


def _candidates(
    eligible: BoolArray | None,
    orders: Sequence[BlockOrder],
    slots: Slots,
    rank: IntArray,
    most: IntArray,
) -> BoolArray | None:
    """Cells that can be among the first: those up to the last that the first key lets in.

    A matrix is partitioned row by row, which is far less work than to sort it. Only the cells that
    remain, a few more than the limit, have to be put in order.
    """
    if len(slots.shape) == 1 or not slots.shape[0]:
        return eligible
    groups, limit = slots.shape[1], int(most[slots.window].max())
    if limit >= groups:
        return eligible
    first = orders[0].coarse if orders else rank[slots.group]
    keys = np.broadcast_to(first, slots.shape)
    if limit <= MOST_LEAST and is_worth_loading(keys.size):
        flags, is_open = np.zeros(slots.shape, np.bool_), np.zeros((0, 0), np.bool_)
        shown = is_open if eligible is None else np.broadcast_to(eligible, slots.shape)
        mark_least(np.ascontiguousarray(keys), np.ascontiguousarray(shown), limit, flags)
        return flags
    if eligible is not None:
        keys = np.where(eligible, keys, LARGEST)
    last = np.partition(keys, limit - 1, axis=1)[:, limit - 1, None]
    candidates = keys <= last
    return candidates if eligible is None else candidates & eligible


def _intersection(left: BoolArray | None, right: BoolArray) -> BoolArray:
    return right if left is None else left & right


def _also(flags: BoolArray | None, raised: BoolArray, where: BoolArray | None) -> BoolArray | None:
    """BoolArray with some more; None as long as there are none."""
    if raised is NONE_RAISED or not raised.any():
        return flags
    more = _intersection(where, raised)
    return more if flags is None else flags | more


def _flat(values: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(values, shape).ravel()
