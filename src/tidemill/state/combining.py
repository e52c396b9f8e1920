"""Lanes of rows ⇒ lanes of places, by scatter: no row is sorted, and none is moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tidemill.aggregates import Algebra, Bags, Encoded, Kept, Lane, sketches
from tidemill.aggregates.bag_columns import carried
from tidemill.aggregates.limbs import normalise, summable
from tidemill.aggregates.merging import merged_at
from tidemill.arrays import Array, BoolArray
from tidemill.state.loops import bags as bag_loops
from tidemill.state.loops import cells as loops

_LOOPS: dict[Any, Callable[[Array, Array, Array, Array], None]] = {
    np.add: loops.add_at,
    np.minimum: loops.minimum_at,
    np.maximum: loops.maximum_at,
    np.fmin: loops.fmin_at,
}


def combined(
    lane: Lane, encoded: Kept, place: Array, count: int, rows: Array | None = None
) -> Kept:
    """The rows of a lane, all or those named, combined at `place`, of `count` places."""
    rows = np.arange(len(place)) if rows is None else rows
    if isinstance(encoded, Bags):
        return _merged(encoded, place, count, rows)
    if lane.is_sketch:
        merge = sketches.family(lane.kind, lane.size, lane.type).merged
        return Encoded(merged_at(merge, encoded.values[rows], place, count), None)
    values = masked(encoded.values, encoded.valid, lane.algebra)
    if lane.kind == "sum" and len(lane.parts) == 2:
        # Nearly always any sum of the rows fits 64 bits.
        values = summable(values)
    found = at_places(lane.algebra, values, place, count, rows)
    if found.ndim == 2:
        found = np.asarray(normalise(found))
    if encoded.valid is None:
        return Encoded(found, None, encoded.dictionary)
    valid = np.zeros(count, dtype=np.bool_)
    loops.mark_at(valid, place, encoded.valid, rows)
    return Encoded(found, None if valid.all() else valid, encoded.dictionary)


def _merged(bags: Bags, place: Array, count: int, rows: Array) -> Bags:
    cells = bags.begin, bags.end, bags.codes, bags.weights, len(bags.dictionary)
    first, codes, weights = bag_loops.merge(rows, place, count, *cells)
    return Bags(first[:-1], first[1:], codes, carried(weights), bags.dictionary)


def at_places(algebra: Algebra, values: Array, place: Array, count: int, rows: Array) -> Array:
    """Values combined at their places, of so many; the identity where there are none."""
    found = algebra.filled((*values.shape[1:], count), values.dtype)
    if values.ndim == 1:
        _combine_at(algebra, found, place, values, rows)
        return found
    for limb, mine in enumerate(values.T):
        _combine_at(algebra, found[limb], place, np.ascontiguousarray(mine), rows)
    return found.T


def _combine_at(algebra: Algebra, into: Array, place: Array, values: Array, rows: Array) -> None:
    if (loop := _LOOPS.get(algebra.combine)) is not None:
        loop(into, place, values, rows)
        return
    algebra.combine.at(into, place, values[rows])


def masked(values: Array, valid: BoolArray | None, algebra: Algebra) -> Array:
    """The values with the identity in place of NULLs, of which nothing is assumed."""
    if valid is None or valid.all():
        return values
    values = values.copy()
    values[~valid] = algebra.identity
    return values
