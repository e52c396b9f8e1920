"""The most frequent values of windows, from the counts that their cells have kept.

Counts of a value are added up over the cells, and so is what each cell may have missed. Nothing
is dropped anew, so that a window errs no more than its cells together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.bags import of_cells
from tidemill.aggregates.estimates import Estimates
from tidemill.aggregates.sketches import Items, is_text_key, read_items
from tidemill.aggregates.sketches.keys import values_of
from tidemill.arrays import IntArray
from tidemill.plan.query import AggregateCall
from tidemill.state.layouts.bag_runs import Runs, SortedBags, totals_before, totals_within
from tidemill.types import Type


@dataclass(frozen=True)
class ItemCells:
    """The values of each cell with their counts, and how much of any value it has missed."""

    cells: SortedBags
    missed: IntArray

    @staticmethod
    def read(states: Sequence[bytes | None], log_size: int, of: Type) -> ItemCells:
        counts = read_items.read_items(states, Items(log_size, is_text_key(of)))
        coded = pc.dictionary_encode(counts.keys)
        values = values_of(coded.dictionary.to_pylist(), of)
        codes = coded.indices.to_numpy()
        bags = of_cells(codes, values, counts.begin, counts.end, counts.counts[None])
        return ItemCells(SortedBags(bags), counts.missed)

    def take(self, rows: IntArray) -> ItemCells:
        return ItemCells(SortedBags(self.cells.bags.take(rows)), self.missed[rows])

    def estimates(self, call: AggregateCall, first: IntArray, last: IntArray) -> Estimates:
        """A list is no number: of it there is only whether it is exact."""
        missed = totals_within(self._missed_before, first, last)
        nothing = np.zeros(len(first), np.int64)
        return Estimates(nothing, nothing, missed, np.ones(len(first), np.bool_))

    def most_frequent(self, call: AggregateCall, first: IntArray, last: IntArray) -> pa.Array:
        """The k values that are there most often; of equal ones the least come first."""
        runs = Runs(self.cells, first, last)
        picked = runs.pick(int(str(call.parameters[0])), by_weight=True)
        low = picked.weights[0]
        high = low + totals_within(self._missed_before, first, last)[picked.owner]
        values = runs.dictionary.take(pa.array(picked.codes))
        structs = pa.StructArray.from_arrays(
            [values, *map(pa.array, (high, low, high))], ["value", "count", "low", "high"]
        )
        offsets = pa.array(picked.offsets.astype(np.int32))
        empty = pa.array(picked.sizes == 0)
        return pa.ListArray.from_arrays(offsets, structs, mask=empty).cast(call.slot.type.arrow)

    @cached_property
    def _missed_before(self) -> IntArray:
        return totals_before(self.missed)
