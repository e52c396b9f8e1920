"""Bags: for each cell the distinct values in it, with how often each is there, or its weight.

Entries of all cells lie in common arrays, and a cell is a run of them. So some cells are taken
without an entry being moved, and a piece on disk is read without one being looked at.

>>> bags = from_rows(pa.array(["b", "a", None]), np.array([[2, 5, 0]]))
>>> bags.dictionary.to_pylist(), bags.codes[:2].tolist(), bags.weights.tolist()
(['a', 'b'], [1, 0], [[2, 5, 0]])
>>> bags.sizes.tolist(), bags.take(np.array([2, 0])).sizes.tolist()
([1, 1, 0], [0, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidemill.aggregates.limbs import as_limbs
from tidemill.arrays import Array, IntArray

# Integers of pieces are kept as short as all of them allow.
_WIDTHS = (np.uint8, np.uint16, np.int32, np.int64)


class ValueCounts(Protocol):
    """The count of each value, by cell or by window; a value without a row has none."""

    @property
    def dictionary(self) -> pa.Array:
        """The values of all, in their order."""

    def total(self) -> IntArray:
        """The number of values."""

    def extreme_codes(self, is_last: bool) -> IntArray:
        """The code of the least or of the greatest value; -1 where there is none."""


@dataclass(frozen=True)
class Bags:
    """Cell i has the entries `begin[i]:end[i]`, no value twice, in any order.

    `codes` are places in the dictionary, which is sorted as Spark sorts: NaN after all numbers,
    and zero has no sign. `weights` has a row of counts, of doubles, or one for each limb.
    """

    begin: IntArray
    end: IntArray
    codes: NDArray[np.int32]
    weights: Array
    dictionary: pa.Array
    start_us: IntArray | None = None  # of the slice of each cell, where it is asked for

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def sizes(self) -> IntArray:
        return self.end - self.begin

    def take(self, rows: Array) -> Bags:
        start_us = None if self.start_us is None else self.start_us[rows]
        begin, end = self.begin[rows], self.end[rows]
        return Bags(begin, end, self.codes, self.weights, self.dictionary, start_us)

    def compact(self) -> Bags:
        """The same with the entries of cells in their order, and no others."""
        sizes = self.sizes
        end = np.cumsum(sizes)
        begin = end - sizes
        if len(self) and np.array_equal(self.begin - self.begin[0], begin):
            low, high = int(self.begin[0]), int(self.begin[0] + end[-1])
            return Bags(
                begin, end, self.codes[low:high], self.weights[:, low:high], self.dictionary
            )
        places = np.repeat(self.begin - begin, sizes) + np.arange(int(sizes.sum()))
        return Bags(begin, end, self.codes[places], self.weights[:, places], self.dictionary)

    def total(self) -> IntArray:
        """The number of values that each cell counts."""
        before = np.concatenate([[0], np.cumsum(self.weights[0])])
        totals: IntArray = before[self.end] - before[self.begin]
        return totals

    def extreme_codes(self, is_last: bool) -> IntArray:
        """The code of the least or of the greatest value of each cell; -1 where there is none."""
        bags, extremes = self.compact(), np.full(len(self), -1, np.int64)
        is_full = bags.sizes > 0
        if is_full.any():
            pick = np.maximum if is_last else np.minimum
            extremes[is_full] = pick.reduceat(bags.codes, bags.begin[is_full])
        return extremes

    def with_used_values(self) -> Bags:
        """The same with no more in the dictionary than some entry stands for."""
        bags = self.compact()
        used, codes = np.unique(bags.codes, return_inverse=True)
        values = bags.dictionary.take(pa.array(used))
        return Bags(bags.begin, bags.end, codes.astype(np.int32), bags.weights, values)


def from_rows(values: pa.Array, weights: Array) -> Bags:
    """A bag for each row, of one value and its weight; NULL is none."""
    bags = from_codes(*_coded(_one_of_each(values)), weights)
    if not values.null_count:
        return bags
    valid = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
    return Bags(bags.begin, bags.begin + valid, bags.codes, weights, bags.dictionary)


def from_codes(codes: Array, values: pa.Array, weights: Array) -> Bags:
    """A bag for each row, of the value that its code stands for; the values are in any order.

    A code after the last may stand for a row without a value, which has to be taken out.
    """
    ranks, dictionary = _sorted(values)
    begin = np.arange(len(codes))
    return Bags(begin, begin + 1, np.append(ranks, np.int32(0))[codes], weights, dictionary)


def from_numbers(values: Array, begin: IntArray, end: IntArray, weights: Array) -> Bags:
    """Cells whose entries are numbers, of which none is NaN; a cell may have one twice."""
    return of_cells(*_coded(pa.array(values)), begin, end, weights)


def of_cells(
    codes: Array, values: pa.Array, begin: IntArray, end: IntArray, weights: Array
) -> Bags:
    """Cells whose entries stand for values, which are distinct and in any order."""
    ranks, dictionary = _sorted(values)
    return Bags(begin, end, ranks[codes], weights, dictionary)


def from_lists(values: pa.ListArray, weights: Sequence[pa.ListArray], limbs: Any) -> Bags:
    """From the columns of a piece; `limbs` makes weights of their entries."""
    offsets = values.offsets.to_numpy().astype(np.int64)
    low, high = int(offsets[0]), int(offsets[-1])
    inner = values.values
    codes = inner.indices.to_numpy()[low:high].astype(np.int32)
    entry_weights = limbs([one.values.slice(low, high - low) for one in weights])
    return Bags(offsets[:-1] - low, offsets[1:] - low, codes, entry_weights, inner.dictionary)


def to_lists(bags: Bags, weights: Sequence[pa.Array]) -> list[pa.Array]:
    """The columns of a piece for bags that are compact, with their weights as they are kept."""
    offsets = pa.array(np.append(bags.begin, len(bags.codes)).astype(np.int32))
    codes = pa.array(shortest(bags.codes))
    values = pa.DictionaryArray.from_arrays(codes, bags.dictionary)
    return [pa.ListArray.from_arrays(offsets, one) for one in (values, *weights)]


def concatenate_bags(parts: Sequence[Bags]) -> Bags:
    """The bags of all parts, one part after the other, with one dictionary."""
    dictionaries = [part.dictionary for part in parts]
    codes, distinct = _coded(pa.concat_arrays(dictionaries))
    ranks, dictionary = _sorted(distinct)
    part_codes = np.split(ranks[codes], np.cumsum([len(one) for one in dictionaries])[:-1])
    first = np.cumsum([0, *(len(part.codes) for part in parts)])
    return Bags(
        np.concatenate([part.begin + low for part, low in zip(parts, first, strict=False)]),
        np.concatenate([part.end + low for part, low in zip(parts, first, strict=False)]),
        np.concatenate([rank[part.codes] for part, rank in zip(parts, part_codes, strict=True)]),
        _stacked([part.weights for part in parts]),
        dictionary,
    )


def _stacked(weights: Sequence[Array]) -> Array:
    """The weights of all parts, in as many limbs as any has."""
    if len({len(part) for part in weights}) > 1:
        limbs = as_limbs([part[0] if len(part) == 1 else part.T for part in weights])
        return np.ascontiguousarray(np.concatenate(limbs).T)
    return np.concatenate(weights, axis=1)


def none(cells: int, values: pa.DataType, weights: Array) -> Bags:
    """Cells without any value."""
    nowhere = np.zeros(cells, np.int64)
    return Bags(nowhere, nowhere, np.zeros(0, np.int32), weights, pa.nulls(0, values))


def shortest(values: Array) -> Array:
    """Whole numbers in the shortest type that holds all of them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    ranges = ((kind, np.iinfo(kind)) for kind in _WIDTHS)
    kind = next(kind for kind, held in ranges if held.min <= low and high <= held.max)
    return values.astype(kind)


def _one_of_each(values: pa.Array) -> pa.Array:
    """Zeros of either sign are one value, and so is every NaN."""
    if not pa.types.is_floating(values.type):
        return values
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False) + 0.0
    numbers = np.where(np.isnan(numbers), np.nan, numbers).astype(numbers.dtype)
    absent = np.asarray(values.is_null().to_numpy(zero_copy_only=False))
    return pa.array(numbers, values.type, mask=absent)


def _coded(values: pa.Array) -> tuple[Array, pa.Array]:
    """The place of each value among the distinct ones, anything for NULL."""
    coded = pc.dictionary_encode(values)
    codes = coded.indices.fill_null(0) if coded.indices.null_count else coded.indices
    return codes.to_numpy(), coded.dictionary


def _sorted(values: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
    """The rank of each of some distinct values, and the values in their order."""
    order = pc.sort_indices(values).to_numpy()
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks, values.take(pa.array(order))
