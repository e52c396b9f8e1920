"""The lane of a user's aggregate: values with how often they are there, or states, in Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.algebra import Algebra, CostFamily
from tidemill.aggregates.columns import GroupedRows
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.lanes.base import KernelLane, PlainRow
from tidemill.aggregates.powers import power
from tidemill.aggregates.user.running import UserAggregate, user_aggregate
from tidemill.plan.expressions import Scalar

# States that are lifted and combined at a time. A few megabytes stay in a core's cache; with
# 64 MiB a million rows took two to four times as long.
_MOST_STATE_BYTES = 2**21


class UserLane(KernelLane):
    """States as records, combined by the user's code.

    In pieces it is one column of states; partial rows have how often and which values in place
    of it.
    """

    kind: ClassVar[str] = "user"
    cost_family: ClassVar[CostFamily] = CostFamily.CODE

    @property
    def user(self) -> UserAggregate:
        assert self.code is not None
        return user_aggregate(self.code, self.parameters)

    @property
    def algebra(self) -> Algebra:
        return self.user.algebra

    @property
    def by_value(self) -> tuple[Scalar, ...]:
        return self.arguments

    @property
    def parts(self) -> tuple[str, ...]:
        return ("", "n", *(f"v{place}" for place in range(len(self.arguments))))

    @property
    def part_types(self) -> tuple[pa.DataType, ...]:
        return pa.bool_(), pa.int64(), *(scalar.type.arrow for scalar in self.arguments)

    @property
    def _reads_types(self) -> bool:
        return True

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return (
            "CAST(NULL AS BOOLEAN)",
            "COUNT(*)",
            *(f"ANY_VALUE({value})" for value in values),
        )

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        """Some rows at a time, so that their states are still at hand when they are combined."""
        user, places = self.user, rows.every_row
        states = user.algebra.filled((rows.count,), user.states.dtype)
        step = max(1, _MOST_STATE_BYTES // user.states.dtype.itemsize)
        for begin in range(0, len(places), step):
            part = slice(begin, begin + step)
            lifted = user.lift([rows.values(scalar, places[part]) for scalar in self.arguments])
            user.algebra.combine.at(states, rows.groups[part], lifted)
        return Encoded(states, None)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        """One value of each argument stands in all of the rows."""
        (_, values), *_ = rows
        return None, len(rows), *values

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        """States of rows that hold one value of each argument and how often; or as they were kept.

        The first column is that of states, which only pieces have.
        """
        user = self.user
        if len(arrays) == 1:
            return Encoded(user.states.from_arrow(arrays[0]), None)
        _, times, *values = arrays
        counts = np.array(times.to_numpy(zero_copy_only=False))
        return Encoded(power(user.algebra, user.lift(values), counts), None)

    def decode(self, rows: Encoded) -> list[pa.Array]:
        return [self.user.states.to_arrow(rows.values)]

    def absent(self, rows: int) -> Encoded:
        user = self.user
        return Encoded(user.algebra.filled((rows,), user.states.dtype), None)
