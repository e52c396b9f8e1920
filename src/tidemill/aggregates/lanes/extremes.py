"""The least and the greatest value, in Spark's order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.algebra import (
    FLOAT_MAX,
    FLOAT_MIN,
    INTEGER_MAX,
    INTEGER_MIN,
    Algebra,
    CostFamily,
)
from tidemill.aggregates.bags import ValueCounts
from tidemill.aggregates.encoded import (
    Encoded,
    from_ranks,
    mask_out,
    numbers_of,
    rank_values,
    valid_rows,
)
from tidemill.aggregates.lanes.base import Lane, NumberLane, PlainRow, known_values
from tidemill.aggregates.plain import greatest, least
from tidemill.types import BOOLEAN, DATE, TIMESTAMP, Type


class Extreme(NumberLane):
    """One of the values; NULL of none. Text, binary and decimals are kept as ranks."""

    picks_last: ClassVar[bool]
    cost_family: ClassVar[CostFamily] = CostFamily.EXTREMES

    @property
    @abstractmethod
    def choose(self) -> Callable[[Any, Any], Any]:
        """One of two values, as plain Python has them."""

    @property
    def stored(self) -> Type:
        return self.type

    @property
    def _reads_types(self) -> bool:
        kind = self.type
        return kind.is_integer or kind.is_float or kind in (BOOLEAN, DATE, TIMESTAMP)

    @property
    def _is_ranked(self) -> bool:
        return self.type.is_decimal or self.type.name in ("STRING", "BINARY")

    def derives_from(self, other: Lane) -> bool:
        return other.has_every_value and other.arguments == self.arguments

    def derived(self, source: ValueCounts) -> Encoded:
        """The first or the last of the values, which lie in order."""
        codes = source.extreme_codes(self.picks_last)
        valid = codes >= 0
        values = source.dictionary
        if self._is_ranked:
            return Encoded(codes, valid, values)
        numbers = np.append(numbers_of(values), 0)  # the last stands for none
        return Encoded(numbers[codes], valid)

    def lift_sql(self, values: Sequence[str], time: str) -> tuple[str, ...]:
        return (f"{self.kind.upper()}({values[0]})",)

    def lift_plain(self, rows: Sequence[PlainRow]) -> tuple[Any, ...]:
        values = known_values(rows)
        return (reduce(self.choose, values) if values else None,)

    def encode(self, arrays: Sequence[pa.Array]) -> Encoded:
        if self._is_ranked:
            return rank_values(arrays[0], valid_rows(arrays[0]))
        return super().encode(arrays)

    def decode(self, rows: Encoded) -> list[pa.Array]:
        if rows.dictionary is not None:
            return [mask_out(from_ranks(rows.dictionary, rows.zeroed), rows.absent)]
        return super().decode(rows)


class Min(Extreme):
    """The least value."""

    kind: ClassVar[str] = "min"
    picks_last: ClassVar[bool] = False

    @property
    def algebra(self) -> Algebra:
        return FLOAT_MIN if self.type.is_float else INTEGER_MIN

    @property
    def choose(self) -> Callable[[Any, Any], Any]:
        return least


class Max(Extreme):
    """The greatest value."""

    kind: ClassVar[str] = "max"
    picks_last: ClassVar[bool] = True

    @property
    def algebra(self) -> Algebra:
        return FLOAT_MAX if self.type.is_float else INTEGER_MAX

    @property
    def choose(self) -> Callable[[Any, Any], Any]:
        return greatest
