"""The algebra of an aggregate: its combine, its identity, and its abilities.

A kernel asks for the ability it needs; asking for one that the algebra lacks is refused with a
sentence. Integer lanes are int64 (wide integers as limbs on a last axis, see `limbs`), other
lanes any dtype that the combine and the identity fit.

>>> FLOAT_MIN.combine(float("nan"), 2.0)
np.float64(2.0)
>>> FLOAT_SUM.require("subtractable", "running")
Traceback (most recent call last):
    ...
ValueError: the running kernel needs a subtractable algebra, and float_sum is not

Values of rows become values of places by scatter: no row is sorted, and none is moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.limbs import normalise
from tidemill.aggregates.loops import scatter
from tidemill.arrays import Array, BoolArray
from tidemill.compiling import is_worth_loading

Ability = Literal["subtractable", "idempotent", "commutative"]


class CostFamily(StrEnum):
    """Lanes that take about the same work, so that one set of measured figures does for all."""

    NUMBERS = "numbers"  # counts and sums
    EXTREMES = "extremes"  # minima and maxima
    RECORDS = "records"  # several numbers in one state: moments, first, last
    VALUES = "values"  # the distinct values, each with a weight
    SKETCHES = "sketches"
    CODE = "code"  # states that a user's methods combine


class Combine(Protocol):
    """The part of `np.ufunc` that kernels use; `np.frompyfunc(f, 2, 1)` has it too."""

    def __call__(self, left: Any, right: Any, /, *, out: Any = ...) -> Any: ...

    def reduce(self, array: Any, /, axis: int = ..., *, out: Any = ...) -> Any: ...

    def reduceat(self, array: Any, /, indices: Any, axis: int = ...) -> Any: ...

    def at(self, array: Any, indices: Any, values: Any, /) -> None: ...

    def accumulate(self, array: Any, /, axis: int = ..., *, out: Any = ...) -> Any: ...


@dataclass(frozen=True)
class Algebra:
    """An associative combine with its identity; every flag is a law that the tests hold it to.

    `subtractable` promises that `subtract` undoes the combine exactly, whatever the values.
    """

    name: str
    combine: Combine
    identity: Any
    subtractable: bool = False
    idempotent: bool = False
    commutative: bool = True
    subtract: Callable[[Any, Any], Any] = np.subtract

    def require(self, ability: Ability, kernel: str) -> None:
        if not getattr(self, ability):
            raise ValueError(
                f"the {kernel} kernel needs a {ability} algebra, and {self.name} is not"
            )

    def filled(self, shape: Sequence[int], dtype: npt.DTypeLike) -> Array:
        """An array of identities."""
        if isinstance(self.identity, int | float) and self.identity == 0:
            # Memory comes as zeros, and is not touched before it is used.
            return np.zeros(tuple(shape), dtype=dtype)
        return np.full(tuple(shape), self.identity, dtype=dtype)


_INT64 = np.iinfo(np.int64)

COUNT = Algebra("count", np.add, 0, subtractable=True)
INTEGER_SUM = Algebra("integer_sum", np.add, 0, subtractable=True)
# Floats are never subtracted: after one 1e18 or one infinity, every later window would be wrong.
FLOAT_SUM = Algebra("float_sum", np.add, 0.0)
INTEGER_MIN = Algebra("integer_min", np.minimum, int(_INT64.max), idempotent=True)
INTEGER_MAX = Algebra("integer_max", np.maximum, int(_INT64.min), idempotent=True)
# Spark orders NaN above infinity. So a minimum ignores NaN while there is anything else, and
# NaN itself is its identity (infinity is not: the minimum of NaN alone is NaN); a maximum
# propagates NaN. Zeros of either sign are equal in that order, and either may be the answer.
FLOAT_MIN = Algebra("float_min", np.fmin, np.nan, idempotent=True)
FLOAT_MAX = Algebra("float_max", np.maximum, -np.inf, idempotent=True)

ALGEBRAS = {
    algebra.name: algebra
    for algebra in (
        COUNT,
        INTEGER_SUM,
        FLOAT_SUM,
        INTEGER_MIN,
        INTEGER_MAX,
        FLOAT_MIN,
        FLOAT_MAX,
    )
}


_LOOPS: dict[Any, Callable[[Array, Array, Array, Array], None]] = {
    np.add: scatter.add_at,
    np.minimum: scatter.minimum_at,
    np.maximum: scatter.maximum_at,
    np.fmin: scatter.fmin_at,
}


def combined_at(
    algebra: Algebra, encoded: Encoded, place: Array, count: int, rows: Array | None = None
) -> Encoded:
    """The rows of a lane, all or those named, combined at `place`, of `count` places.

    Nothing is assumed of the values under NULLs.
    """
    values = masked(encoded.values, encoded.valid, algebra)
    return combine_masked(algebra, values, encoded, place, count, rows)


def combine_masked(
    algebra: Algebra,
    values: Array,
    encoded: Encoded,
    place: Array,
    count: int,
    rows: Array | None = None,
) -> Encoded:
    """The same of values that have the identity in place of each NULL."""
    rows = np.arange(len(place)) if rows is None else rows
    totals = at_places(algebra, values, place, count, rows)
    if totals.ndim == 2:
        totals = np.asarray(normalise(totals))
    if encoded.valid is None:
        return Encoded(totals, None, encoded.dictionary)
    valid = np.zeros(count, dtype=np.bool_)
    if is_worth_loading(len(place)):
        scatter.mark_at(valid, place, encoded.valid, rows)
    else:
        valid[place[encoded.valid[rows]]] = True
    return Encoded(totals, None if valid.all() else valid, encoded.dictionary)


def at_places(algebra: Algebra, values: Array, place: Array, count: int, rows: Array) -> Array:
    """Values combined at their places, of so many; the identity where there are none."""
    totals = algebra.filled((*values.shape[1:], count), values.dtype)
    if values.ndim == 1:
        _combine_at(algebra, totals, place, values, rows)
        return totals
    for limb, column in enumerate(values.T):
        _combine_at(algebra, totals[limb], place, np.ascontiguousarray(column), rows)
    return totals.T


def _combine_at(algebra: Algebra, into: Array, place: Array, values: Array, rows: Array) -> None:
    loop = _LOOPS.get(algebra.combine)
    if loop is None or not is_worth_loading(len(place)):
        with np.errstate(all="ignore"):  # an infinity less another is NaN, as in the loops
            algebra.combine.at(into, place, values[rows])
    else:
        loop(into, place, values, rows)


def masked(values: Array, valid: BoolArray | None, algebra: Algebra) -> Array:
    """The values with the identity in place of NULLs, of which nothing is assumed."""
    if valid is None or valid.all():
        return values
    values = values.copy()
    values[~valid] = algebra.identity
    return values
