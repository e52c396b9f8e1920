"""How many rows there are, and how many of them have a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tidemill.aggregates.algebra import COUNT, Algebra
from tidemill.aggregates.columns import GroupedRows, has_numbers
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.lanes.base import NumberLane, PlainRow, known_values


class RowsLane(NumberLane):
    """The number of rows."""

    kind: ClassVar[str] = "rows"

    @property
    def algebra(self) -> Algebra:
        return COUNT

    @property
    def _reads_types(self) -> bool:
        return True

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return ("COUNT(*)",)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        return Encoded(np.bincount(rows.groups, minlength=rows.count), None)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        return (len(rows),)


class Count(NumberLane):
    """The number of rows with a value."""

    kind: ClassVar[str] = "count"

    @property
    def algebra(self) -> Algebra:
        return COUNT

    @property
    def _reads_types(self) -> bool:
        return has_numbers(self.type) or self.type.is_float

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return (f"COUNT({values[0]})",)

    def lift_rows(self, rows: GroupedRows) -> Encoded:
        groups = rows.known_groups(rows.column(self.subject))
        return Encoded(np.bincount(groups, minlength=rows.count), None)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        return (len(known_values(rows)),)


ROWS = RowsLane()
