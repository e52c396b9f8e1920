"""Rows of a chunk as a lane's lift on arrays sees them, and which types of columns it can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from tidemill.aggregates.numbering import Digit
from tidemill.arrays import Array, BoolArray, IntArray
from tidemill.plan.expressions import Scalar
from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP, Type

_MOST_DIGITS = 18  # decimals of so many digits are 64-bit integers


class CodedRows(Protocol):
    """The code of each row and the value of each code; NULL is the code after the last value."""

    @property
    def digit(self) -> Digit: ...

    @property
    def values(self) -> pa.Array: ...


class ColumnRows(Protocol):
    """One column of a chunk."""

    @property
    def valid(self) -> BoolArray | None:
        """None when every row has a value."""

    @property
    def numbers(self) -> Array:
        """64-bit integers or doubles, zero for NULL."""

    @property
    def coded(self) -> CodedRows:
        """Values as texts, or as numbers on the line of their type."""

    @property
    def distinct(self) -> CodedRows:
        """Values in their own type, in any order."""


class ChunkRows(Protocol):
    """Some rows of a file."""

    def __len__(self) -> int: ...

    def column_of(self, scalar: Scalar) -> ColumnRows:
        """The column that an expression is, or computes."""

    def values_of(self, scalar: Scalar, rows: Array) -> pa.Array:
        """Its values in some rows, in their own type."""


@dataclass(frozen=True)
class GroupedRows:
    """Rows of a chunk with the group of each: all of them, or those that `rows` names.

    `groups` are numbers in `[0, count)`; `times_us` has the time of every row of the chunk.
    """

    chunk: ChunkRows
    times_us: IntArray
    rows: IntArray | None
    groups: IntArray
    count: int

    def column(self, scalar: Scalar) -> ColumnRows:
        return self.chunk.column_of(scalar)

    def values(self, scalar: Scalar, rows: Array) -> pa.Array:
        return self.chunk.values_of(scalar, rows)

    @property
    def every_row(self) -> IntArray:
        """The places of the rows in the chunk."""
        return np.arange(len(self.groups)) if self.rows is None else self.rows

    def known_groups(self, column: ColumnRows) -> IntArray:
        """The groups of the rows where the column has a value."""
        valid = self._valid(column)
        return self.groups if valid is None else self.groups[valid]

    def valid_rows(self, column: ColumnRows) -> tuple[IntArray, IntArray]:
        """The rows where the column has a value, and their groups."""
        valid, rows = self._valid(column), self.every_row
        return (rows, self.groups) if valid is None else (rows[valid], self.groups[valid])

    def _valid(self, column: ColumnRows) -> BoolArray | None:
        if self.rows is None or column.valid is None:
            return column.valid
        valid: BoolArray = column.valid[self.rows]
        return valid


def has_codes(kind: Type) -> bool:
    """True if arrays group by values of the type."""
    return kind.is_integer or kind in (STRING, BOOLEAN, DATE, TIMESTAMP)


def has_numbers(kind: Type) -> bool:
    """True if values of the type stand on a line of 64-bit integers, texts in a dictionary."""
    return has_codes(kind) or (kind.is_decimal and kind.precision <= _MOST_DIGITS)
