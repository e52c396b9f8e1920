"""Slots of a block of windows and groups, read as columns: of all its cells, or of some."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa

from tidemill.aggregates import (
    Bags,
    Encoded,
    Lane,
    Lowering,
    gives_numbers,
    lanes_behind,
    lower,
    lower_numbers,
)
from tidemill.aggregates.estimates import Estimates
from tidemill.answer.ordering import order_rows
from tidemill.answer.request import Evaluations
from tidemill.arrays import BoolArray, IntArray
from tidemill.evaluation.columns import (
    ALL_VALID,
    NONE_RAISED,
    MaskedColumn,
    from_arrow,
    numpy_type,
    to_arrow,
)
from tidemill.evaluation.finish import evaluate_column
from tidemill.plan.expressions import Node, Slot
from tidemill.plan.query import WINDOW_END, WINDOW_START, AggregateCall, Key
from tidemill.state.cells import Cells
from tidemill.state.layouts.bag_runs import Runs
from tidemill.state.layouts.bundles import Block, Naming
from tidemill.state.sketched.rows import SketchRuns
from tidemill.state.synopsis import Synopsis


class GroupKeys:
    """The keys of a bucket's groups, and the dictionaries of its lanes.

    The keys are those of the queries, in their order and under their slots.
    """

    def __init__(self, synopsis: Synopsis, cells: Cells, keys: tuple[Key, ...]) -> None:
        self._keys = {
            key.slot.name: cells.groups.column(synopsis.key_column(key)).combine_chunks()
            for key in keys
        }
        self._columns: dict[str, MaskedColumn] = {}
        self._synopsis = synopsis
        self.dictionaries = [
            None if isinstance(lane, Bags) else lane.dictionary for lane in cells.lanes
        ]

    def is_key(self, name: str) -> bool:
        return name in self._keys

    def source(self, lane: Lane) -> tuple[int, Lane]:
        """The number of the lane that tells what this one would, and the lane itself."""
        kept = self._synopsis.kept_for(lane)
        assert kept is not None  # else the query would not read this synopsis
        return self._synopsis.lanes.index(kept.lane), kept.lane

    def key(self, slot: Slot) -> MaskedColumn:
        """The key of every group."""
        if slot.name not in self._columns:
            self._columns[slot.name] = from_arrow(self._keys[slot.name], slot.type)
        return self._columns[slot.name]

    def key_array(self, name: str) -> pa.Array:
        return self._keys[name]

    @cached_property
    def rank(self) -> IntArray:
        """The place of each group in the order of the keys, by which ties are broken."""
        if not self._keys:
            return np.zeros(1, dtype=np.int64)
        order = order_rows([(array, False, True) for array in self._keys.values()])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank


class Slots:
    """The slots of a block's cells; called with a slot, it gives the column.

    A column's shape broadcasts to `shape`: the block's own, or one row for each of `cells`,
    which are places in the flattened block.
    """

    def __init__(
        self,
        groups: GroupKeys,
        evaluations: Evaluations,
        block: Block,
        naming: Naming,
        cells: IntArray | None = None,
    ) -> None:
        self._groups, self._evaluations, self._block = groups, evaluations, block
        self._naming, self._cells, self._columns = naming, cells, dict[str, MaskedColumn]()
        self._read: dict[int, Lowering] = {}
        self._estimated: dict[Hashable, Estimates] = {}
        if cells is None:
            self.shape, self.window = block.shape, block.window
        else:
            self.shape, self.window = cells.shape, block.windows_at(cells)

    @cached_property
    def group(self) -> IntArray:
        """The groups as the cells number them."""
        cells, block = self._cells, self._block
        return self._naming(self.window, block.group if cells is None else block.groups_at(cells))

    def at(self, cells: IntArray) -> Slots:
        """The slots of some cells, by their places in the flattened block."""
        return Slots(self._groups, self._evaluations, self._block, self._naming, cells)

    def __call__(self, slot: Slot) -> MaskedColumn:
        if slot.name not in self._columns:
            self._columns[slot.name] = self._column(slot)
        return self._columns[slot.name]

    def evaluate(self, node: Node) -> MaskedColumn:
        return evaluate_column(node, self)

    def rows(self, node: Node) -> tuple[pa.Array, BoolArray]:
        """The expression as rows, and where it raised; keys and text stay in Arrow."""
        if isinstance(node, Slot) and self._groups.is_key(node.name):
            group = np.broadcast_to(self.group, self.shape).ravel()
            return self._groups.key_array(node.name).take(pa.array(group)), NONE_RAISED
        call = self._evaluations.calls.get(node.name) if isinstance(node, Slot) else None
        if call is not None and not gives_numbers(call):
            array, raised = lower(call, self._lanes(call))
            return array, raised.reshape(self.shape)
        column = self.evaluate(node)
        return to_arrow(column.flat(self.shape), node.type), column.raised

    def raised(self, node: Node) -> BoolArray:
        """The places at which the expression raised; arrays need not be taken apart for that."""
        return self.rows(node)[1] if node.type.inner else self.evaluate(node).raised

    def _column(self, slot: Slot) -> MaskedColumn:
        evaluations = self._evaluations
        if slot.name in evaluations.parameters:
            column = evaluations.parameters[slot.name]
            if len(column.values) == 1:
                return column
            return MaskedColumn(
                column.values[evaluations.variant[self.window]], ALL_VALID, NONE_RAISED
            )
        if self._groups.is_key(slot.name):
            return self._groups.key(slot).at(self.group)
        if slot.name in evaluations.calls:
            return self._aggregate(evaluations.calls[slot.name])
        bounds = {WINDOW_START.name: evaluations.starts, WINDOW_END.name: evaluations.ends}
        return MaskedColumn(bounds[slot.name][self.window], ALL_VALID, NONE_RAISED)

    def _aggregate(self, call: AggregateCall) -> MaskedColumn:
        if not gives_numbers(call):
            array, in_rows = lower(call, self._lanes(call))
            column = from_arrow(array, call.slot.type).also_raised(in_rows)
            return column.shaped(self.shape)
        values, valid, raised = lower_numbers(call, self._lanes(call), self._estimated)
        if valid is not None:
            values = np.where(valid, values, 0)
        values = values.astype(numpy_type(call.slot.type), copy=False)
        return MaskedColumn(
            values.reshape(self.shape),
            ALL_VALID if valid is None else valid.reshape(self.shape),
            NONE_RAISED if raised is None else raised.reshape(self.shape),
        )

    def _lanes(self, call: AggregateCall) -> dict[Lane, Lowering]:
        return {lane: self._derived(lane) for lane in lanes_behind(call)}

    def _derived(self, lane: Lane) -> Lowering:
        number, source = self._groups.source(lane)
        rows = self._lane_once(number)
        return rows if source == lane else cast(Lowering, lane.derived(rows))

    def _lane_once(self, number: int) -> Lowering:
        """A value and its bounds are read from one lane, which may be dear to combine."""
        if number not in self._read:
            self._read[number] = self._lane(number)
        return self._read[number]

    def _lane(self, number: int) -> Lowering:
        block, dictionary, cells = self._block, self._groups.dictionaries[number], self._cells
        lane = block.lane(number) if cells is None else block.lane_at(number, cells)
        if isinstance(lane, Runs):
            starts_us, ends_us = self._evaluations.starts, self._evaluations.ends
            begin_us, range_us = (
                np.broadcast_to(times_us[self.window], self.shape).ravel()
                for times_us in (starts_us, ends_us - starts_us)
            )
            return replace(lane, window_us=begin_us, range_us=range_us)
        if isinstance(lane, SketchRuns):
            return lane
        if cells is not None:
            return Encoded(*lane, dictionary)
        values, valid = lane
        if dictionary is not None and block.present is not None:
            # In a cell without rows stands the identity, which is no place in the dictionary.
            present = block.present.ravel()
            valid = present if valid is None else valid & present
        return Encoded(values, valid, dictionary)
