"""Signatures on arrays: a class for each row and column, one signature for each set of classes.

The constants of all predicates cut a column's line into stretches; stretches that allow the
same bits are one class. Few combinations of classes occur, and bits are worked out for those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.arrays import Array, IntArray
from tidemill.plan.expressions import Slot
from tidemill.plan.predicates import Predicate
from tidemill.plan.predicates.boxes import Dimension
from tidemill.plan.predicates.signatures import MaskLayout, lay_out_masks, mask_table
from tidemill.scan.arrays.chunk import Chunk, ChunkColumn


@dataclass(frozen=True)
class Side:
    """A column's stretches between `cuts`, with NULL as the last, and their classes."""

    dimension: Dimension  # a column, or a condition that is computed
    cuts: pa.Array
    classes: NDArray[np.int32]  # by stretch
    masks: IntArray  # what each class allows of every word

    def digit(self, column: ChunkColumn) -> Digit:
        """The class of every row."""
        few = column.few
        if few is None:
            return Digit(self.classes[self._stretches(column)], len(self.masks))
        by_code = self.classes[stretches(few.values, self.cuts)]
        by_code = np.concatenate([by_code, np.repeat(self.classes[-1:], few.nulls)])
        return Digit(by_code[few.digit.codes], len(self.masks))

    def _stretches(self, column: ChunkColumn) -> Array:
        places = np.searchsorted(self.cuts.to_numpy(), column.numbers, side="right")
        if column.valid is not None:
            places[~column.valid] = len(self.classes) - 1
        return places


@dataclass(frozen=True)
class Signing:
    """Tables that give the words of a signature by the classes of a row.

    Words from `words` on are spare: (target, spare, mask) says what goes where.
    """

    words: int
    all_bits: IntArray  # of every word
    sides: tuple[Side, ...]
    spares: tuple[tuple[int, int, int], ...]

    def of(self, classes: Sequence[Array], rows: int) -> IntArray:
        """One row of words for each combination of classes."""
        words = np.tile(self.all_bits, (rows, 1))
        for side, side_classes in zip(self.sides, classes, strict=True):
            words &= side.masks[side_classes]
        for target, spare, mask in self.spares:
            words[:, target] |= words[:, spare] & mask
        return words[:, : self.words]


@dataclass(frozen=True)
class Signed:
    """The signature of each row, as the number of a row of words; none is there in vain."""

    ids: IntArray
    words: IntArray


def signing(predicates: Sequence[Predicate]) -> Signing:
    """Tables for predicates that arrays can ask; each has the bit of its place."""
    layout = lay_out_masks(dict(enumerate(predicates)))
    words = max((bit.word for bit in layout.placed), default=-1) + 1
    words = max(words, layout.words)
    all_bits = [sum(bit.mask for bit in layout.in_word(word)) for word in range(words)]
    spares = [
        (target, spare, mask)
        for target in range(layout.words)
        for spare, mask in layout.spare_masks(target).items()
    ]
    sides = tuple(_side(layout, words, dimension) for dimension in layout.dimensions())
    return Signing(layout.words, np.array(all_bits, dtype=np.int64), sides, tuple(spares))


def sign(how: Signing, chunk: Chunk) -> Signed:
    """The signatures of some rows."""
    digits = [side.digit(_column(chunk, side.dimension)) for side in how.sides]
    numbers = number_rows(digits, len(chunk))
    classes = [digit.codes[numbers.rows] for digit in digits]
    return Signed(numbers.ids, how.of(classes, numbers.count))


def stretches(values: pa.Array, cuts: pa.Array) -> Array:
    """The number of cuts up to and including each value."""
    if not pa.types.is_binary(cuts.type):
        return np.searchsorted(np.asarray(cuts), np.asarray(values), side="right")
    # Sorted together, equal cuts before equal values, by bytes as Spark has it.
    order = pc.sort_indices(pa.concat_arrays([cuts, values.cast(pa.binary())])).to_numpy()
    passed = np.empty(len(order), dtype=np.int64)
    passed[order] = np.cumsum(order < len(cuts))
    return passed[len(cuts) :]


def _column(chunk: Chunk, dimension: Dimension) -> ChunkColumn:
    if isinstance(dimension, Slot):
        return chunk.column(dimension.name)
    return chunk.column_of(dimension)


def _side(layout: MaskLayout, words: int, dimension: Dimension) -> Side:
    cuts = layout.cuts(dimension)
    tables = [mask_table(layout.in_word(word), dimension, cuts) for word in range(words)]
    masks, classes = np.unique(np.array(tables, dtype=np.int64).T, axis=0, return_inverse=True)
    kind = pa.binary() if dimension.type.name == "STRING" else pa.int64()
    return Side(dimension, pa.array(cuts, kind), classes.reshape(-1).astype(np.int32), masks)
