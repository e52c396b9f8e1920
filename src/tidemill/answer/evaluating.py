"""One block of windows and groups, from HAVING to the rows that are left.

HAVING is evaluated over all of it, ORDER BY and LIMIT over what it keeps, and the select list
for the rows that are left. Lanes are combined when an expression first reads them, for the
cells it is evaluated over.

A row in which anything raises counts once: HAVING is looked at for every group, ORDER BY for
those that HAVING keeps, the select list for the rows that are delivered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tidemill.answer.asked import Evaluations
from tidemill.answer.expressions.columns import EVERY, NOWHERE, Flags, to_arrow
from tidemill.answer.rows import order_name, output_name, tie_name, worked_out_schema
from tidemill.answer.slots import Slots, Source
from tidemill.answer.top import Order, top_cells
from tidemill.arrays import Array, IntArray
from tidemill.state.layouts.bundles import Naming
from tidemill.state.layouts.combine import Block


class Evaluating:
    """The evaluations of a form, block after block; what comes of them is gathered here.

    Whether a query minds that an expression of the select list raises depends on whether it
    selects it. So what the select list raises is kept apart from the rest.
    """

    def __init__(self, wanted: Evaluations, wants_rows: bool) -> None:
        self.wanted, self._wants_rows = wanted, wants_rows
        self._shape = wanted.sheet.shape
        self.counts = np.zeros(len(wanted), dtype=np.int64)  # rows, by evaluation
        self.first = np.zeros(len(wanted), dtype=np.int64)  # the first of them, by evaluation
        # By evaluation, what raised, but for select lists and for rows that bear their flags:
        # those of an ordered sheet, since the merge drops some of them.
        self.raised = np.zeros(len(wanted), dtype=np.int64)
        self._rows = 0
        self._parts: list[pa.Table] = []
        self._flagged: list[IntArray] = []  # rows in which anything but the select list raised
        self._wrong: dict[int, list[IntArray]] = {}  # by output, rows in which it raised

    @property
    def is_ordered(self) -> bool:
        return self._shape.is_ordered

    def block(self, source: Source, block: Block, naming: Naming) -> None:
        """Windows that are whole in the block."""
        slots = Slots(source, self.wanted, block, naming)
        kept, flags = self._having(slots, block.present)
        orders = [Order.of(ordering, slots) for ordering in self._shape.order_by]
        for order in orders:
            flags = _also(flags, order.column.raised, kept)
        if self._shape.is_ordered:
            cells = top_cells(kept, orders, slots, source.rank, self.wanted.most)
        elif kept is None:
            cells = None
        else:
            cells = np.flatnonzero(np.broadcast_to(kept, slots.shape))
        if flags is not None:
            self._flag(slots, cells, _flat(flags, slots.shape))
        self._finish(slots, cells, orders)

    def columns(self) -> dict[str, pa.Array]:
        """The rows that came of it."""
        schema = worked_out_schema(self._shape)
        table = pa.concat_tables([schema.empty_table(), *self._parts]).combine_chunks()
        return {name: table.column(name).combine_chunks() for name in schema.names}

    def flags(self) -> Flags:
        """By row, whether anything but the select list raised."""
        return self._marked(self._flagged)

    def wrong_in(self, outputs: Sequence[int]) -> Flags | None:
        """By row, whether one of the outputs raised; None: nowhere."""
        rows = [rows for output in outputs for rows in self._wrong.get(output, ())]
        return self._marked(rows) if rows else None

    def _marked(self, rows: Sequence[IntArray]) -> Flags:
        marks = np.zeros(self._rows, dtype=np.bool_)
        for some in rows:
            marks[some] = True
        return marks

    def _having(self, slots: Slots, present: Flags | None) -> tuple[Flags | None, Flags | None]:
        """Which cells stay, and which of all raised; None: all, none."""
        if self._shape.having is None:
            return present, None
        column = slots.evaluate(self._shape.having)
        true = column.values if column.valid is EVERY else column.values & column.valid
        return _both(present, true), _also(None, column.raised, present)

    def _flag(self, slots: Slots, cells: IntArray | None, flags: Flags) -> None:
        """Note what raised before the select list, by cell of the block."""
        self._flagged.append(self._rows + np.flatnonzero(flags if cells is None else flags[cells]))
        if self._shape.is_ordered:
            flags = flags.copy()
            flags[cells] = False
        windows = _flat(slots.window, slots.shape)[flags]
        self.raised += np.bincount(windows, minlength=len(self.raised))

    def _finish(self, slots: Slots, cells: IntArray | None, orders: Sequence[Order]) -> None:
        """The select list of the cells that are left."""
        picked = slots if cells is None else slots.at(cells)
        columns = {}
        for number, node in enumerate(self._shape.outputs):
            if self._wants_rows:
                columns[output_name(number)], raised = picked.rows(node)
            else:
                raised = picked.raised(node)
            if raised.any():
                wrong = self._rows + np.flatnonzero(_flat(raised, picked.shape))
                self._wrong.setdefault(number, []).append(wrong)
        if self._wants_rows:
            if cells is not None and self._shape.is_ordered:
                columns |= self._hidden(slots, picked, cells, orders)
            self._parts.append(pa.table(columns))
        self._count(picked)

    def _hidden(
        self, slots: Slots, picked: Slots, cells: IntArray, orders: Sequence[Order]
    ) -> dict[str, pa.Array]:
        """What the buckets' rows are put in order by, once they are together."""
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
        self.counts[windows] = lengths
        self.first[windows] = self._rows + np.cumsum(lengths) - lengths
        self._rows += int(lengths.sum())


def _both(left: Flags | None, right: Flags) -> Flags:
    return right if left is None else left & right


def _also(flags: Flags | None, raised: Flags, where: Flags | None) -> Flags | None:
    """Flags with some more; None as long as there are none."""
    if raised is NOWHERE or not raised.any():
        return flags
    more = _both(where, raised)
    return more if flags is None else flags | more


def _flat(values: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(values, shape).ravel()
