"""Keys of several sides under common numbers: those of the join, and those that a query has.

Keys compare as in Spark: types are widened, NaN equals NaN, and -0.0 is 0.0. A key with a NULL in
it equals no other; all such keys of a side have one number, which no other side uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.encoded import flat
from tidemill.aggregates.numbering import Digit, factorise
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.window_join import SidePlace
from tidemill.types import Type


@dataclass(frozen=True)
class JoinKeys:
    """By side, the number of each group's join key; below `met` are those without a NULL."""

    numbers: tuple[IntArray, ...]
    met: int

    @property
    def count(self) -> int:
        return self.met + len(self.numbers)

    def of_nulls(self, side: int) -> int:
        """The number of a side's keys with a NULL in them."""
        return self.met + side


def number_keys(
    kinds: Sequence[Type], sides: Sequence[pa.Table], counts: Sequence[int]
) -> JoinKeys:
    """The first columns of each side's groups as keys of the join."""
    if not kinds:
        return JoinKeys(tuple(np.zeros(count, np.int64) for count in counts), 1)
    tables = [_key_table(kinds, groups) for groups in sides]
    stacked = pa.concat_tables(tables)
    is_null = _has_null(stacked)
    numbers = np.empty(len(stacked), np.int64)
    # Numbers without gaps are given to those keys alone that may meet.
    meeting = np.flatnonzero(~is_null)
    numbers[meeting], first = factorise(stacked.take(pa.array(meeting)), len(meeting))
    side_of = np.repeat(np.arange(len(sides)), counts)
    numbers[is_null] = len(first) + side_of[is_null]
    return JoinKeys(tuple(np.split(numbers, np.cumsum(counts)[:-1])), len(first))


def _key_table(kinds: Sequence[Type], groups: pa.Table) -> pa.Table:
    columns = [widened(groups.column(f"_k{place}"), kind) for place, kind in enumerate(kinds)]
    return pa.table({f"_k{place}": column for place, column in enumerate(columns)})


def _has_null(keys: pa.Table) -> BoolArray:
    is_null = np.zeros(len(keys), np.bool_)
    for column in keys.columns:
        if column.null_count:
            is_null |= np.asarray(column.is_null().to_numpy(), np.bool_)
    return is_null


def widened(column: pa.ChunkedArray | pa.Array, kind: Type) -> pa.Array:
    """The values in a type that holds them, as Spark casts them."""
    array = flat(column)
    if not kind.is_float:
        return array.cast(kind.arrow)
    if pa.types.is_decimal(array.type):
        # Arrow's own cast may miss the nearest double by a bit.
        numbers = [None if value is None else float(value) for value in array.to_pylist()]
        return pa.array(numbers, kind.arrow)
    # To add zero takes the sign off a zero.
    return pc.add(array.cast(kind.arrow, safe=False), pa.scalar(0.0, kind.arrow))


@dataclass(frozen=True)
class QueryKey:
    """One key of the query: its distinct values, and by place the value of each group there.

    The code after the last stands for NULL, where no side of a term has the key.
    """

    values: pa.Array
    codes: Mapping[SidePlace, IntArray]

    @property
    def absent(self) -> int:
        return len(self.values)

    def place(self, sides: Sequence[int]) -> SidePlace | None:
        """The first place of one of the sides."""
        return next((place for place in self.codes if place.side in sides), None)

    def digit(self, codes: IntArray) -> Digit:
        return Digit(codes, len(self.values) + 1)


def code_key(kind: Type, places: Sequence[SidePlace], sides: Sequence[pa.Table]) -> QueryKey:
    """The values of one key at all places that have it."""
    columns = [widened(sides[place.side].column(f"_k{place.place}"), kind) for place in places]
    coded = pc.dictionary_encode(pa.concat_arrays(columns))
    # NULL is the code that stands for an absent side, too.
    codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy().astype(np.int64)
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return QueryKey(coded.dictionary, dict(zip(places, np.split(codes, ends), strict=True)))


def named_groups(keys: Sequence[QueryKey], codes: Sequence[IntArray]) -> pa.Table:
    """Groups of the query, from the code of each of its keys."""
    columns = {}
    for place, (key, code) in enumerate(zip(keys, codes, strict=True)):
        is_absent = code == key.absent
        columns[f"_k{place}"] = key.values.take(pa.array(code, mask=is_absent))
    return pa.table(columns)
