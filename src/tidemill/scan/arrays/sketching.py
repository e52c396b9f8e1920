"""Sketches of groups, made from rows: a sketch hears of each of its values once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates import Encoded, Lane, sketches
from tidemill.aggregates.merging import objects
from tidemill.aggregates.sketches.keys import float_bits
from tidemill.arrays import Array
from tidemill.scan.arrays.chunk import Column
from tidemill.state.loops import cells as loops
from tidemill.state.numbering import Digit, number


def sketched(lane: Lane, column: Column, rows: Array, ids: Array, count: int) -> Encoded:
    """The sketches of so many groups; `ids` are those of the rows, which have values."""
    if lane.kind == "kll":
        return Encoded(_quantiles(lane.size, column, rows, ids, count), None)
    codes, keys = _coded(lane, column)
    found = number([Digit(codes[rows], len(keys)), Digit(ids, count)], len(rows))
    counts = np.bincount(found.ids, minlength=found.count)
    order, ends = _in_groups(ids[found.rows], count)
    pairs = found.rows[order]
    mine, often = keys[codes[rows[pairs]]].tolist(), counts[order].tolist()
    make = sketches.family_of_keys(lane.kind, lane.size, lane.type).make
    made = [make(mine[a:b], often[a:b]) if a < b else None for a, b in _runs(ends)]
    return Encoded(objects(made), None)


def _quantiles(size: int, column: Column, rows: Array, ids: Array, count: int) -> Array:
    order, ends = _in_groups(ids, count)
    values = column.numbers[rows[order]].astype(np.float64, copy=False)
    of = sketches.Quantiles(size).of
    return objects([of(values[a:b]) if a < b else None for a, b in _runs(ends)])


def _coded(lane: Lane, column: Column) -> tuple[Array, Array]:
    """A code of each row, and the key of each code."""
    if not lane.type.is_float:
        coded = column.coded
        return coded.digit.codes, objects([*coded.values.to_pylist(), None])
    bits = pc.dictionary_encode(pa.array(float_bits(column.numbers)))
    return bits.indices.to_numpy(), objects(bits.dictionary.to_pylist())


def _in_groups(ids: Array, count: int) -> tuple[Array, Array]:
    """The rows group after group, and where each group ends."""
    ends = np.zeros(count, np.int64)
    order = np.empty(len(ids), np.int64)
    loops.order_groups(ids, ends, order)
    return order, ends


def _runs(ends: Array) -> Iterator[tuple[int, int]]:
    return pairwise([0, *ends.tolist()])
