"""A user's object made to work on records: lift, combine, subtract and lower of whole columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.elementwise import Elementwise, put
from tidemill.aggregates.user.failing import in_parts
from tidemill.aggregates.user.results import as_result
from tidemill.aggregates.user.states import RAISED, States
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.catalog import Code
from tidemill.plan.expressions import Value
from tidemill.plan.functions.user import declared, make_aggregate

Both = Callable[[Array, Array], Array]


@lru_cache(maxsize=1024)
def user_aggregate(code: Code, constants: tuple[Value, ...]) -> UserAggregate:
    return UserAggregate(code, constants)


class UserAggregate:
    """One aggregate with its constants."""

    def __init__(self, code: Code, constants: tuple[Any, ...]) -> None:
        self.code, self.declared = code, declared(code)
        self.user: Any = make_aggregate(code, constants)
        self.states = States(self.declared.state)

    @cached_property
    def identity(self) -> Any:
        return self.states.records(self.user.identity(), None)[()]

    @cached_property
    def algebra(self) -> Algebra:
        """Floats are never subtracted: one infinity would be in every later window."""
        subtracts = self.declared.subtracts and not self.has_floats
        return Algebra(
            self.code.name,
            Elementwise(self.combine),
            self.identity,
            subtractable=subtracts,
            subtract=self.subtract if subtracts else np.subtract,
        )

    @property
    def has_floats(self) -> bool:
        return any(field.type.is_float for field in self.declared.state)

    # Rows of which some may raise: these become NULL.

    def lift(self, arrays: Sequence[pa.Array]) -> Array:
        """A state for each row; that of nothing where an argument is NULL."""
        typed = [
            array.cast(argument.type.arrow, safe=False)
            for array, argument in zip(arrays, self.declared.arguments, strict=True)
        ]
        rows = _rows_without_null(typed)
        arguments = typed if rows is None else [array.take(pa.array(rows)) for array in typed]

        def work(part: slice) -> Array:
            return self.lift_all([a.slice(part.start, part.stop - part.start) for a in arguments])

        lifted = self._states("lift", len(arguments[0]), work)
        if rows is None:
            return lifted
        states = self.algebra.filled((len(typed[0]),), self.states.dtype)
        put(states, rows, lifted)
        return states

    def combine(self, left: Array, right: Array) -> Array:
        found = self._state_by_state("combine", self.combine_all, left, right)
        found[RAISED] += left[RAISED] + right[RAISED]
        return found

    def subtract(self, left: Array, right: Array) -> Array:
        found = self._state_by_state("subtract", self.subtract_all, left, right)
        found[RAISED] += left[RAISED] - right[RAISED]
        return found

    def lower(self, records: Array) -> tuple[pa.Array, BoolArray]:
        """The results, NULL where the user's code has raised on the way, and where that was."""
        kind = self.declared.result.arrow
        raised: BoolArray = records[RAISED] > 0
        parts = [pa.nulls(0, kind)]
        lowering = in_parts(
            self.code, "lower", len(records), lambda part: self.lower_all(records[part])
        )
        for part, result in lowering:
            parts.append(pa.nulls(part.stop - part.start, kind) if result is None else result)
            raised[part] |= result is None
        results = pa.concat_arrays(parts)
        if raised.any():
            results = pc.if_else(pa.array(raised), pa.scalar(None, kind), results)
        return results, raised

    # All rows at once: whatever the user's code raises goes through.

    def lift_all(self, arrays: Sequence[pa.Array]) -> Array:
        return self.states.records(self.user.lift(*arrays), len(arrays[0]))

    def combine_all(self, left: Array, right: Array) -> Array:
        given = self.user.combine(self.states.columns(left), self.states.columns(right))
        return self.states.records(given, len(left))

    def subtract_all(self, left: Array, right: Array) -> Array:
        given = self.user.subtract(self.states.columns(left), self.states.columns(right))
        return self.states.records(given, len(left))

    def lower_all(self, records: Array) -> pa.Array:
        given = self.user.lower(self.states.columns(records))
        return as_result(given, self.declared.result, len(records))

    def _state_by_state(self, method: str, work: Both, left: Array, right: Array) -> Array:
        """State by state, whatever the shape of the arrays."""
        left, right = np.broadcast_arrays(left, right)
        flat, other, shape = left.ravel(), right.ravel(), left.shape
        states = self._states(method, len(flat), lambda part: work(flat[part], other[part]))
        return states.reshape(shape)

    def _states(self, method: str, count: int, work: Callable[[slice], Array]) -> Array:
        """The states of all rows; the identity, marked, where the user's code raises."""
        states: Array | None = None
        for part, result in in_parts(self.code, method, count, work):
            if result is not None and part == slice(0, count):
                return result
            states = self.algebra.filled((count,), self.states.dtype) if states is None else states
            if result is None:
                states[RAISED][part] = 1
            else:
                states[part] = result
        return np.zeros(0, self.states.dtype) if states is None else states


def _rows_without_null(arrays: Sequence[pa.Array]) -> IntArray | None:
    """The rows of which every argument is there; None: all."""
    if not any(array.null_count for array in arrays):
        return None
    is_valid = np.ones(len(arrays[0]), np.bool_)
    for array in arrays:
        is_valid &= np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
    return np.flatnonzero(is_valid)
