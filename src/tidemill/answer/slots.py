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
    may_raise,
)
from tidemill.aggregates.estimates import Estimates
from tidemill.aggregates.functions import function_of
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
from tidemill.plan.query import (
    AS_OF,
    REVISION,
    WINDOW_END,
    WINDOW_START,
    WITHDRAWN,
    AggregateCall,
    Key,
)
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

    A column's shape broadcasts to `shape`, which is the block's.
    """

    def __init__(
        self,
        groups: GroupKeys,
        evaluations: Evaluations,
        block: Block,
        naming: Naming,
    ) -> None:
        self._groups, self._evaluations, self._block = groups, evaluations, block
        self._naming, self._columns = naming, dict[str, MaskedColumn]()
        self._read: dict[int, Lowering] = {}
        self._estimated: dict[Hashable, Estimates] = {}
        self.shape, self.window = block.shape, block.window

    @cached_property
    def group(self) -> IntArray:
        """The groups as the cells number them."""
        return self._naming(self.window, self._block.group)

    @property
    def rank(self) -> IntArray:
        """The place of each group in the order by which ties are broken."""
        return self._groups.rank

    def at(self, cells: IntArray) -> Slots:
        """The slots of some cells, by their places in the flattened block."""
        return Slots(self._groups, self._evaluations, self._block.at(cells), self._naming)

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
        if isinstance(node, Slot) and not self._may_raise(node):
            return NONE_RAISED
        return self.rows(node)[1] if node.type.inner else self.evaluate(node).raised

    def _may_raise(self, slot: Slot) -> bool:
        call = self._evaluations.calls.get(slot.name)
        return call is not None and may_raise(call)

    def _column(self, slot: Slot) -> MaskedColumn:
        evaluations = self._evaluations
        if slot.name in evaluations.parameters:
            column = evaluations.parameters[slot.name]
            if len(column.values) == 1:
                return column
            return MaskedColumn(
                column.values[evaluations.variant[self.window]], ALL_VALID, NONE_RAISED
            )
        if slot.name in evaluations.calls:
            return self._aggregate(evaluations.calls[slot.name])
        return self._bound(slot) or self._groups.key(slot).at(self.group)

    def _bound(self, slot: Slot) -> MaskedColumn | None:
        """A bound of the windows, or how often they have been answered, if the slot is one."""
        evaluations = self._evaluations
        bounds = {
            WINDOW_START.name: evaluations.starts,
            WINDOW_END.name: evaluations.ends,
            AS_OF.name: evaluations.untils,
            REVISION.name: evaluations.revisions,
            WITHDRAWN.name: evaluations.withdrawn,
        }
        if slot.name not in bounds:
            return None
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
        block, dictionary = self._block, self._groups.dictionaries[number]
        lane = block.lane(number)
        if isinstance(lane, Runs):
            starts_us, ends_us = self._evaluations.starts, self._evaluations.ends
            begin_us, range_us = (
                np.broadcast_to(times_us[self.window], self.shape).ravel()
                for times_us in (starts_us, ends_us - starts_us)
            )
            return replace(lane, window_us=begin_us, range_us=range_us)
        if isinstance(lane, SketchRuns):
            return lane
        values, valid = lane
        if dictionary is not None and block.present is not None:
            # In a cell without rows stands the identity, which is no place in the dictionary.
            present = block.present.ravel()
            valid = present if valid is None else valid & present
        return Encoded(values, valid, dictionary)


class EmptySlots(Slots):
    """The slots of windows without rows, which have one group each: aggregates of nothing."""

    def __init__(self, evaluations: Evaluations, windows: IntArray) -> None:
        self._evaluations, self._columns = evaluations, {}
        self.shape, self.window = windows.shape, windows

    @cached_property
    def group(self) -> IntArray:
        return np.zeros(self.shape, np.int64)

    @property
    def rank(self) -> IntArray:
        return np.zeros(1, np.int64)

    def at(self, cells: IntArray) -> EmptySlots:
        return EmptySlots(self._evaluations, self.window[cells])

    def rows(self, node: Node) -> tuple[pa.Array, BoolArray]:
        call = self._evaluations.calls.get(node.name) if isinstance(node, Slot) else None
        if call is not None:
            return self._of_nothing(call), NONE_RAISED
        column = self.evaluate(node)
        return to_arrow(column.flat(self.shape), node.type), column.raised

    def _aggregate(self, call: AggregateCall) -> MaskedColumn:
        return from_arrow(self._of_nothing(call), call.slot.type)

    def _of_nothing(self, call: AggregateCall) -> pa.Array:
        # Nothing is the same in every window.
        bounds = int(self._evaluations.starts[0]), int(self._evaluations.ends[0])
        value = function_of(call).reference(call, [], bounds)
        return pa.array([value] * len(self.window), call.slot.type.arrow)
