"""One block of windows and groups, from HAVING to the rows that are left.

HAVING is evaluated over all of it, ORDER BY and LIMIT over what it keeps, and the select list
for the rows that are left. Lanes are combined when an expression first reads them, for the
cells it is evaluated over.

A row in which anything raises counts once: HAVING is looked at for every group, ORDER BY for
those that HAVING keeps, the select list for the rows that are delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemill.operators.asked import Evaluations
from tidemill.operators.columns import EVERY, NOWHERE, Flags, to_arrow
from tidemill.operators.rows import RAISED, order_name, output_name, tie_name
from tidemill.operators.slots import Slots, Source
from tidemill.operators.top import Order, top_cells
from tidemill.synopsis.combine import Block

IntArray = NDArray[np.int64]


class Evaluating:
    """A sheet's evaluations, block after block; what comes of them is gathered here."""

    def __init__(self, source: Source, wanted: Evaluations, wants_rows: bool) -> None:
        self._source, self._wanted, self._wants_rows = source, wanted, wants_rows
        self._shape = wanted.sheet.shape
        self.counts = np.zeros(len(wanted), dtype=np.int64)  # rows, by evaluation
        self.raised = np.zeros(len(wanted), dtype=np.int64)  # by evaluation
        self.parts: list[pa.Table] = []  # rows, evaluation after evaluation

    def block(self, block: Block) -> None:
        """Windows that are whole in the block, after all those of the blocks before."""
        slots = Slots(self._source, self._wanted, block)
        kept, flags = self._having(slots, block.present)
        orders = [Order.of(ordering, slots) for ordering in self._shape.order_by]
        for order in orders:
            flags = _also(flags, order.column.raised, kept)
        if self._shape.is_ordered:
            cells = top_cells(kept, orders, slots, self._source.rank, self._wanted.most)
        elif kept is None:
            return self._finish(slots, None, orders, flags)
        else:
            cells = np.flatnonzero(np.broadcast_to(kept, slots.shape))
        return self._finish(slots, cells, orders, flags)

    def _having(self, slots: Slots, present: Flags | None) -> tuple[Flags | None, Flags | None]:
        """Which cells stay, and which of all raised; None: all, none."""
        if self._shape.having is None:
            return present, None
        column = slots.evaluate(self._shape.having)
        true = column.values if column.valid is EVERY else column.values & column.valid
        return _both(present, true), _also(None, column.raised, present)

    def _finish(
        self, slots: Slots, cells: IntArray | None, orders: Sequence[Order], flags: Flags | None
    ) -> None:
        """The select list of the cells that are left; what raised in others is counted."""
        if cells is not None:
            picked = Slots(self._source, self._wanted, slots.block, cells)
            flags = self._tally_dropped(slots, cells, flags)
        else:
            picked, flags = slots, None if flags is None else _flat(flags, slots.shape)
        columns, raised = self._select_list(picked)
        for one in raised:
            flags = _also(flags, _flat(one, picked.shape), None) if one.any() else flags
        self._count(picked, flags)
        if self._wants_rows:
            columns |= self._hidden(slots, picked, cells, orders, flags)
            self.parts.append(pa.table(columns))

    def _select_list(self, picked: Slots) -> tuple[dict[str, pa.Array], list[Flags]]:
        if not self._wants_rows:
            return {}, [picked.evaluate(node).raised for node in self._shape.outputs]
        found = [picked.rows(node) for node in self._shape.outputs]
        columns = {output_name(number): array for number, (array, _) in enumerate(found)}
        return columns, [raised for _, raised in found]

    def _hidden(
        self,
        slots: Slots,
        picked: Slots,
        cells: IntArray | None,
        orders: Sequence[Order],
        flags: Flags | None,
    ) -> dict[str, pa.Array]:
        """What the buckets' rows are put in order by, once they are together."""
        if not self._shape.is_ordered or cells is None:
            return {}
        columns = {}
        for number, (order, ordering) in enumerate(zip(orders, self._shape.order_by, strict=True)):
            column = order.column.flat(slots.shape).at(cells)
            columns[order_name(number)] = to_arrow(column, ordering.node.type)
        for number, key in enumerate(self._shape.keys):
            columns[tie_name(number)] = picked.rows(key.slot)[0]
        columns[RAISED] = pa.array(np.zeros(len(cells), bool) if flags is None else flags)
        return columns

    def _tally_dropped(self, slots: Slots, cells: IntArray, flags: Flags | None) -> Flags | None:
        """Count what raised in cells that are not chosen; the flags of those that are."""
        if flags is None:
            return None
        dropped = _flat(flags, slots.shape).copy()
        chosen = dropped[cells]
        dropped[cells] = False
        self._tally(_flat(slots.window, slots.shape)[dropped])
        return chosen

    def _count(self, picked: Slots, flags: Flags | None) -> None:
        windows = len(self.counts)
        if len(picked.shape) == 2:
            self.counts[picked.window.ravel()] += picked.shape[1]
        else:
            self.counts += np.bincount(picked.window, minlength=windows)
        # An ordered sheet's rows carry their flags, since the merge drops some of them.
        if flags is not None and not self._shape.is_ordered:
            self._tally(_flat(picked.window, picked.shape)[flags])

    def _tally(self, windows: IntArray) -> None:
        self.raised += np.bincount(windows, minlength=len(self.raised))


def _both(left: Flags | None, right: Flags) -> Flags:
    return right if left is None else left & right


def _also(flags: Flags | None, raised: Flags, where: Flags | None) -> Flags | None:
    """Flags with some more; None as long as there are none."""
    if raised is NOWHERE or not raised.any():
        return flags
    more = _both(where, raised)
    return more if flags is None else flags | more


def _flat(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return np.broadcast_to(values, shape).ravel()
