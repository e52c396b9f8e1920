"""What is asked of a synopsis: the windows of queries of one shape, side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tidemill.answer.expressions.columns import EVERY, NOWHERE, Column, from_arrow
from tidemill.answer.shapes import Lifted, Shape
from tidemill.arrays import IntArray
from tidemill.plan.expressions import Value
from tidemill.plan.predicates import ALL_ROWS, Reading
from tidemill.plan.query import AggregateCall

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Sheet:
    """Queries of one shape, each with its number; `names` are of the outputs, if needed."""

    shape: Shape
    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]  # of the parameters, by query
    limits: IntArray  # by query
    readings: tuple[Reading, ...]  # by query: which cells it reads

    @staticmethod
    def of(
        lifted: Sequence[Lifted],
        names: tuple[str, ...] = (),
        readings: Sequence[Reading] | None = None,
    ) -> Sheet:
        limits = np.array([one.limit for one in lifted], dtype=np.int64)
        values = tuple(one.values for one in lifted)
        read = tuple(readings or [ALL_ROWS] * len(lifted))
        return Sheet(lifted[0].shape, names, values, limits, read)

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Asked:
    """Windows to answer: whose each is, and its bounds."""

    sheet: Sheet
    owner: IntArray
    starts: IntArray
    ends: IntArray
    # False: answers are worked out and counted, and no rows come of them.
    wants_rows: bool = True


@dataclass(frozen=True)
class Evaluations:
    """The distinct things to work out for some windows, ascending by reading, start and end.

    Rule CS8: a query that is another's twin but for its period has the other's answers where
    their windows meet; so windows of equal reading, bounds and constants are one evaluation,
    whoever asks, and every owner takes from it what its LIMIT allows.
    """

    sheet: Sheet
    readings: tuple[Reading, ...]  # the distinct ones
    reading: IntArray  # which of them
    starts: IntArray
    ends: IntArray
    variant: IntArray  # which of the distinct tuples of constants
    most: IntArray  # the largest LIMIT of an owner
    owner: IntArray  # by window, ascending; then by start and end
    of_window: IntArray  # the evaluation behind each window

    @cached_property
    def calls(self) -> dict[str, AggregateCall]:
        return {call.slot.name: call for call in self.sheet.shape.aggregates}

    @cached_property
    def parameters(self) -> dict[str, Column]:
        """By name, one row for each distinct tuple of constants; a single row broadcasts."""
        distinct = list(dict.fromkeys(self.sheet.values))
        columns = {}
        for place, slot in enumerate(self.sheet.shape.parameters):
            array = pa.array([row[place] for row in distinct], slot.type.arrow)
            columns[slot.name] = Column(from_arrow(array, slot.type).values, EVERY, NOWHERE)
        return columns

    def __len__(self) -> int:
        return len(self.starts)


def evaluations(asked: Asked) -> Evaluations:
    sheet = asked.sheet
    readings, reading_of = _numbered(sheet.readings)
    _, variant_of = _numbered(sheet.values)
    owned = reading_of[asked.owner], asked.starts, asked.ends, variant_of[asked.owner]
    order = np.lexsort(owned[::-1])
    columns = [column[order] for column in owned]
    is_new = np.ones(len(order), dtype=np.bool_)
    if len(order):
        is_new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    most = np.zeros(int(is_new.sum()), dtype=np.int64)
    np.maximum.at(most, number, sheet.limits[asked.owner])
    by_owner = np.lexsort((asked.ends, asked.starts, asked.owner))
    reading, starts, ends, variant = (column[is_new] for column in columns)
    owner = asked.owner[by_owner]
    return Evaluations(
        sheet, readings, reading, starts, ends, variant, most, owner, number[by_owner]
    )


def _numbered(values: tuple[T, ...]) -> tuple[tuple[T, ...], IntArray]:
    """The distinct values, and the number of each among them."""
    distinct = tuple(dict.fromkeys(values))
    numbers = {value: number for number, value in enumerate(distinct)}
    return distinct, np.array([numbers[value] for value in values], dtype=np.int64)
