"""Values of rows ⇒ values of places, by scatter: no row is sorted, and none is moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.limbs import normalise
from tidemill.aggregates.loops import scatter
from tidemill.arrays import Array, BoolArray
from tidemill.compiling import is_worth_loading

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
