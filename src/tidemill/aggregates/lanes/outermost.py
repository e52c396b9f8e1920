"""The value that came first, and the one that came last, with its time."""

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

_PAIR = "IF({value} IS NULL, NULL, STRUCT({time} AS t, {value} AS v))"


class Outermost(KernelLane):
    """Kept as ranks of (time, value), so that the first and the last are extremes of integers."""

    cost_family: ClassVar[CostFamily] = CostFamily.RECORDS
    is_last: ClassVar[bool]

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
        pair = _PAIR.format(value=values[0], time=time)
        word = "MAX" if self.is_last else "MIN"
        return f"{word}({pair}).t", f"{word}({pair}).v"

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        """NULL for groups without a value."""
        column, best = rows.column(self.subject), np.full(rows.count, -1, np.int64)
        places, groups = rows.valid_rows(column)
        outermost_at(best, groups, rows.times_us, column.numbers, places, self.is_last)
        valid = best >= 0
        some_row = np.where(valid, best, 0)
        pairs = [pa.array(rows.times_us[some_row]), rows.values(self.subject, some_row)]
        structs = pa.StructArray.from_arrays(pairs, list(self.parts))
        return rank_pairs(structs, None if valid.all() else valid)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        pairs = [(time_us, values[0]) for time_us, values in rows if values[0] is not None]
        if not pairs:
            return None, None
        times = [time_us for time_us, _ in pairs]
        return max(times) if self.is_last else min(times), outermost(pairs, self.is_last)

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        pairs = pa.StructArray.from_arrays(list(arrays), list(self.parts))
        return rank_pairs(pairs, valid_rows(arrays[0]))

    def decode(self, rows: Encoded) -> list[pa.Array]:
        columns = from_ranks(rows.dictionary, rows.zeroed).flatten()
        return [mask_out(column, rows.absent) for column in columns]

    def absent(self, rows: int) -> Encoded:
        return self.encode([pa.nulls(rows, kind) for kind in self.part_types])


class First(Outermost):
    """The value of the least time."""

    kind: ClassVar[str] = "first"
    is_last: ClassVar[bool] = False

    @property
    def algebra(self) -> Algebra:
        return INTEGER_MIN


class Last(Outermost):
    """The value of the greatest time."""

    kind: ClassVar[str] = "last"
    is_last: ClassVar[bool] = True

    @property
    def algebra(self) -> Algebra:
        return INTEGER_MAX
