"""Lanes of sketches: states of bounded size that a library merges.

Spark's own aggregates make sketches where they know the same keys: its HLL and theta sketches
hash with the library's seed, its frequent items are kept with the library's bytes for 64-bit
integers and texts. What has no key in SQL, floats by their bits and decimals by their digits,
and what Spark has no such aggregate for, is grouped by its value in Catalyst, and sketched here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.algebra import CostFamily
from tidemill.aggregates.columns import ColumnRows, GroupedRows, has_codes
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.lanes.base import Lane, PlainRow, known_values
from tidemill.aggregates.loops.scatter import order_groups
from tidemill.aggregates.merging import merged_at, objects
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.aggregates.sketches.keys import SketchKey, float_bits, keys_of
from tidemill.arrays import Array, IntArray
from tidemill.plan.expressions import Scalar
from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP

# The bytes of a sketch, as they came from Spark or from a piece, or what was read from them.
# Neither is ever changed.
State = Any
_KEYS = {
    BOOLEAN: "BIGINT({value})",
    DATE: "BIGINT(UNIX_DATE({value}))",
    TIMESTAMP: "UNIX_MICROS({value})",
    STRING: "{value}",
}


class Family(Protocol):
    """Sketches of one kind and size."""

    def merged(self, states: Sequence[State]) -> State:
        """Of two states or more, a new one."""

    def to_bytes(self, state: State) -> bytes: ...


class OfKeys(Family, Protocol):
    """Sketches of values, for which it makes no difference how they are ordered."""

    def make(self, keys: Sequence[SketchKey], counts: Sequence[int]) -> State:
        """Of distinct values, each with how often it is there."""


class SketchLane(Lane):
    """A sketch of each group; None where there is no value."""

    cost_family: ClassVar[CostFamily] = CostFamily.SKETCHES
    is_sketch: ClassVar[bool] = True
    most_entries: ClassVar[float] = 256.0

    @property
    @abstractmethod
    def family(self) -> Family: ...

    @property
    def size(self) -> int:
        """The size of the sketch, in the measure of its family."""
        (size,) = self.parameters
        assert isinstance(size, int)
        return size

    def derives_from(self, other: Lane) -> bool:
        """A larger sketch of the same kind errs by less."""
        alike = type(other) is type(self) and other.arguments == self.arguments
        return alike and isinstance(other, SketchLane) and other.size > self.size

    @property
    def parts(self) -> tuple[str, ...]:
        """One column of sketches; partial rows by value have the value and how often it is."""
        return ("", "n") if self.by_value else ("",)

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return (self.type.arrow, pa.int64()) if self.by_value else (pa.binary(),)

    def decode(self, rows: Encoded) -> list[pa.Array]:
        to_bytes = self.family.to_bytes
        states = [None if state is None else to_bytes(state) for state in rows.values.tolist()]
        return [pa.array(states, pa.binary())]

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        """Bytes as they are."""
        return Encoded(np.asarray(arrays[0].to_numpy(zero_copy_only=False)), None)

    def absent(self, rows: int) -> Encoded:
        return Encoded(np.full(rows, None, object), None)

    def combined(
        self, lane_rows: Encoded, place: Array, count: int, rows: Array | None = None
    ) -> Encoded:
        states = lane_rows.values if rows is None else lane_rows.values[rows]
        return Encoded(merged_at(self.family.merged, states, place, count), None)

    def bytes_of(self, states: Array) -> list[bytes | None]:
        """Each state as bytes, whatever form it has."""
        to_bytes = self.family.to_bytes
        return [
            state if state is None or isinstance(state, bytes) else to_bytes(state)
            for state in states.tolist()
        ]


class OfCounts(OfKeys, Protocol):
    """Sketches that know how often a value is there."""

    def scaled(self, state: State, weight: int) -> State:
        """So many of its like, merged."""


class KeySketchLane(SketchLane):
    """A sketch of keys: a group's sketch hears of each of its values once, with its count."""

    @property
    @abstractmethod
    def family(self) -> OfKeys: ...

    @abstractmethod
    def _aggregate_sql(self, value: str) -> str | None:
        """The Catalyst aggregate that makes the sketch; None where Spark has none for the type."""

    @property
    def by_value(self) -> tuple[Scalar, ...]:
        return self.arguments if self._aggregate_sql("") is None else ()

    @property
    def _reads_types(self) -> bool:
        return has_codes(self.type) or self.type.is_float

    def _key_sql(self, value: str) -> str | None:
        """The key of a value in SQL; None where there is none."""
        form = "BIGINT({value})" if self.type.is_integer else _KEYS.get(self.type)
        return None if form is None else form.format(value=value)

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        (value,) = values
        aggregate = self._aggregate_sql(value)
        return (f"MAX({value})", f"COUNT({value})") if aggregate is None else (aggregate,)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        column = rows.column(self.subject)
        places, groups = rows.valid_rows(column)
        codes, keys = self._coded(column)
        pairs = number_rows(
            [Digit(codes[places], len(keys)), Digit(groups, rows.count)], len(places)
        )
        counts = np.bincount(pairs.ids, minlength=pairs.count)
        order, ends = in_groups(groups[pairs.rows], rows.count)
        pair_keys = keys[codes[places[pairs.rows[order]]]].tolist()
        often, make = counts[order].tolist(), self.family.make
        sketches = [make(pair_keys[a:b], often[a:b]) if a < b else None for a, b in runs(ends)]
        return Encoded(objects(sketches), None)

    def _coded(self, column: ColumnRows) -> tuple[Array, Array]:
        """A code of each row, and the key of each code."""
        if not self.type.is_float:
            coded = column.coded
            return coded.digit.codes, objects([*coded.values.to_pylist(), None])
        bits = pc.dictionary_encode(pa.array(float_bits(column.numbers)))
        return bits.indices.to_numpy(), objects(bits.dictionary.to_pylist())

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        values = known_values(rows)
        if self.by_value:
            return next(iter(values), None), len(values)
        counts = Counter(keys_of(pa.array(values, self.type.arrow), self.type))
        return (self.family.to_bytes(self.family.make(list(counts), list(counts.values()))),)

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        """Bytes as they are; or sketches of one value each, where rows are by value."""
        if len(arrays) == 1:
            return super().encode(arrays)
        make = self.family.make
        rows = zip(keys_of(arrays[0], self.type), arrays[1].to_pylist(), strict=True)
        return Encoded(objects([k if k is None else make([k], [count]) for k, count in rows]), None)


class CountSketchLane(KeySketchLane):
    """A sketch of keys with their counts."""

    @property
    @abstractmethod
    def family(self) -> OfCounts: ...

    def scaled(self, lane_rows: Encoded, weights: IntArray) -> Encoded:
        scaled = self.family.scaled
        rows = zip(lane_rows.values.tolist(), weights.tolist(), strict=True)
        return Encoded(objects([s if s is None else scaled(s, often) for s, often in rows]), None)


def in_groups(groups: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """The rows group after group, and where each group ends."""
    ends = np.zeros(count, np.int64)
    order = np.empty(len(groups), np.int64)
    order_groups(groups, ends, order)
    return order, ends


def runs(ends: IntArray) -> Iterator[tuple[int, int]]:
    """The run of each group."""
    return pairwise([0, *ends.tolist()])
