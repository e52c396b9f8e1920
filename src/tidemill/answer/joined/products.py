"""The lanes of a join as products: of all keys of some looks, or of some keys.

Terms are taken one by one. A lane is scaled by the rows of the other sides, which are none where
the term has no rows; terms are combined where they have some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from tidemill.aggregates import Encoded
from tidemill.aggregates.lanes import KernelLane
from tidemill.aggregates.limbs import as_limbs, normalise
from tidemill.answer.joined.inputs import JoinedLanes
from tidemill.answer.joined.matrices import SideMatrix
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.plan.window_join import Guard, JoinTerm, SidePlace
from tidemill.state.layouts.lane_values import CombinedValues


class Probe(Protocol):
    """Some cells of the join, each a look and a key."""

    @property
    def look(self) -> IntArray:
        """By cell; or by row of a matrix, as a column."""

    @property
    def key(self) -> IntArray: ...

    def lane(self, side: SideMatrix, number: int) -> CombinedValues: ...


class Products:
    """What the join has at a probe."""

    def __init__(
        self,
        terms: Sequence[JoinTerm],
        lanes: JoinedLanes,
        sides: Sequence[SideMatrix],
        holds: Mapping[Guard, BoolArray],
        is_met: BoolArray,
        probe: Probe,
    ) -> None:
        """`holds` has by look those guards that do not look at a key."""
        self._terms, self._lanes, self._sides = terms, lanes, sides
        self._by_look, self._is_met, self._probe = holds, is_met, probe
        self._counts: dict[int, IntArray] = {}

    @cached_property
    def present(self) -> BoolArray:
        """The cells that have rows."""
        present = self._present[0]
        for of_term in self._present[1:]:
            present = present | of_term
        return present

    def lane(self, number: int) -> CombinedValues:
        lane, source = self._lanes.lanes[number], self._lanes.places[number]
        assert isinstance(lane, KernelLane)
        parts = [
            (self._scaled(lane, term, source), present)
            for term, present in zip(self._terms, self._present, strict=True)
            if source is None or source.side in term.sides
        ]
        if len(self._terms) == 1 and parts:
            ((rows, _),) = parts
            return rows.values, rows.valid
        nothing = lane.nothing(len(self.present))
        assert isinstance(nothing, Encoded)
        return _combined(lane, [*parts, (nothing, np.ones(len(self.present), np.bool_))])

    @cached_property
    def _present(self) -> list[BoolArray]:
        """By term, the cells that have rows of it."""
        return [self._has_rows(term) for term in self._terms]

    def _has_rows(self, term: JoinTerm) -> BoolArray:
        first, *others = term.sides
        present = self._rows(first) > 0
        for side in others:
            present &= self._rows(side) > 0
        for guard in term.guards:
            present = (present.reshape(self._shape) & self._holds(guard)).ravel()
        return present

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self._probe.look.shape, self._probe.key.shape)

    def _holds(self, guard: Guard) -> Array:
        if guard in self._by_look:
            holds: Array = self._by_look[guard][self._probe.look]
            return holds
        exists = (self._rows(guard.side) > 0).reshape(self._shape) & self._is_met[self._probe.key]
        return np.asarray(exists == guard.exists)

    def _rows(self, side: int) -> IntArray:
        """How many rows of a side each cell has."""
        if side not in self._counts:
            matrix = self._sides[side]
            self._counts[side], _ = self._probe.lane(matrix, matrix.rows_place)
        return self._counts[side]

    def _scaled(self, lane: KernelLane, term: JoinTerm, source: SidePlace | None) -> Encoded:
        """The lane of one term, without regard to its guards."""
        side = term.sides[0] if source is None else source.side
        if source is None:
            rows = Encoded(self._rows(side), None)
        else:
            rows = Encoded(*self._probe.lane(self._sides[side], source.place))
        for other in term.sides:
            if other != side:
                rows = lane.scaled(rows, self._rows(other))
        return rows


def _combined(lane: KernelLane, parts: Sequence[tuple[Encoded, BoolArray]]) -> CombinedValues:
    """The parts combined, each where it is present."""
    arrays = [rows.values for rows, _ in parts]
    # Each of them fits 64 bits, with room for as much again.
    is_whole_sum = lane.algebra.combine is np.add and arrays[0].dtype.kind == "i"
    may_overflow = is_whole_sum and len(arrays) > 3
    if any(array.ndim == 2 for array in arrays) or may_overflow:
        arrays = as_limbs(arrays)
    combined = lane.algebra.filled(arrays[0].shape, arrays[0].dtype)
    valid = np.zeros(len(combined), np.bool_)
    for array, (rows, present) in zip(arrays, parts, strict=True):
        is_valid = present if rows.valid is None else present & rows.valid
        shown = is_valid[:, None] if array.ndim == 2 else is_valid
        masked = np.where(shown, array, lane.algebra.filled((), array.dtype))
        with np.errstate(all="ignore"):
            combined = lane.algebra.combine(combined, masked)
        valid |= is_valid
    return normalise(combined) if combined.ndim == 2 else combined, valid
