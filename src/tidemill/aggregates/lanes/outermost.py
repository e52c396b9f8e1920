"""The value that came first, and the one that came last, with its time: NULL is one, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.algebra import INTEGER_MAX, INTEGER_MIN, Algebra, CostFamily
from tidemill.aggregates.columns import GroupedRows, has_numbers
from tidemill.aggregates.encoded import Encoded, from_ranks, mask_out, rank_pairs, valid_rows
from tidemill.aggregates.lanes.base import KernelLane, PlainRow
from tidemill.aggregates.loops.scatter import outermost_at
from tidemill.aggregates.plain import outermost
from tidemill.types import STRING

_PAIR = "STRUCT({time} AS t, {value} AS v)"
_KNOWN_PAIR = f"IF({{value}} IS NULL, NULL, {_PAIR})"


class Outermost(KernelLane):
    """Kept as ranks of (time, value), so that the first and the last are extremes of integers.

    Where NULLs are not ignored, a row without a value has a time all the same.
    """

    cost_family: ClassVar[CostFamily] = CostFamily.RECORDS
    is_last: ClassVar[bool]
    ignores_nulls: ClassVar[bool]

    @property
    def algebra(self) -> Algebra:
        return INTEGER_MAX if self.is_last else INTEGER_MIN

    @property
    def sql(self) -> str:
        name = "last" if self.is_last else "first"
        return f"{name}({self.subject.sql}){' IGNORE NULLS' if self.ignores_nulls else ''}"

    @property
    def parts(self) -> tuple[str, ...]:
        return ("t", "v")

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return pa.int64(), self.type.arrow

    @property
    def _reads_types(self) -> bool:
        return self.type.is_float or (self.type != STRING and has_numbers(self.type))

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        pair = (_KNOWN_PAIR if self.ignores_nulls else _PAIR).format(value=values[0], time=time)
        word = "MAX" if self.is_last else "MIN"
        return f"{word}({pair}).t", f"{word}({pair}).v"

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        """NULL for groups without a row that counts."""
        column, best = rows.column(self.subject), np.full(rows.count, -1, np.int64)
        has_value = np.ones(len(rows.chunk), np.bool_) if column.valid is None else column.valid
        places, groups = rows.every_row, rows.groups
        if self.ignores_nulls:
            places, groups = rows.valid_rows(column)
        lines = rows.times_us, column.numbers, has_value
        outermost_at(best, groups, *lines, places, self.is_last)
        valid = best >= 0
        some_row = np.where(valid, best, 0)
        pairs = [pa.array(rows.times_us[some_row]), rows.values(self.subject, some_row)]
        structs = pa.StructArray.from_arrays(pairs, list(self.parts))
        return rank_pairs(structs, None if valid.all() else valid)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        pairs = self.pairs(rows)
        if not pairs:
            return None, None
        times = [time_us for time_us, _ in pairs]
        return max(times) if self.is_last else min(times), outermost(pairs, self.is_last)

    def pairs(self, rows: Sequence[PlainRow]) -> list[tuple[int, Any]]:
        """The times and values that count, as plain Python has them."""
        pairs = ((time_us, values[0]) for time_us, values in rows)
        return [pair for pair in pairs if not (self.ignores_nulls and pair[1] is None)]

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        pairs = pa.StructArray.from_arrays(list(arrays), list(self.parts))
        return rank_pairs(pairs, valid_rows(arrays[0]))

    def decode(self, rows: Encoded) -> list[pa.Array]:
        columns = from_ranks(rows.dictionary, rows.zeroed).flatten()
        return [mask_out(column, rows.absent) for column in columns]

    def absent(self, rows: int) -> Encoded:
        return self.encode([pa.nulls(rows, kind) for kind in self.part_types])


class FirstKnown(Outermost):
    """The value of the least time at which there is one."""

    kind: ClassVar[str] = "first"
    is_last: ClassVar[bool] = False
    ignores_nulls: ClassVar[bool] = True


class LastKnown(Outermost):
    """The value of the greatest time at which there is one."""

    kind: ClassVar[str] = "last"
    is_last: ClassVar[bool] = True
    ignores_nulls: ClassVar[bool] = True


class First(Outermost):
    """The value of the least time, or NULL; `first` is what homes of before call the other."""

    kind: ClassVar[str] = "first_row"
    is_last: ClassVar[bool] = False
    ignores_nulls: ClassVar[bool] = False


class Last(Outermost):
    """The value of the greatest time, or NULL."""

    kind: ClassVar[str] = "last_row"
    is_last: ClassVar[bool] = True
    ignores_nulls: ClassVar[bool] = False
