"""The rows of a side as a term reads them: one class of them, by join key and what is named of it.

>>> from tidemill.aggregates import ROWS, Encoded
>>> counts = Encoded(np.array([2, 3]), None)
>>> rows = SideRows(np.array([0, 0]), np.array([0, 1]), (counts,), rows_place=0)
>>> fold = folded(rows, (ROWS,), np.array([7, 7]), [], np.array([True, True]), 10)
>>> fold.run_code.tolist(), fold.rows.counts.tolist()
([7], [5])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from tidemill.aggregates import Lane
from tidemill.aggregates.encoded import flat
from tidemill.aggregates.numbering import Digit, number_rows
from tidemill.answer.joined.sides import SideRows
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.window_join import RowClass
from tidemill.state.cells import Cells


@dataclass(frozen=True)
class SideGroups:
    """What each group of a side stands for: the number of its join key, and its flags."""

    key: IntArray
    flags: tuple[BoolArray, ...]

    @staticmethod
    def of(cells: Cells, key: IntArray, first: int, flags: int) -> SideGroups:
        """The flags are so many columns from the first on."""
        names = [f"_k{first + number}" for number in range(flags)]
        columns = (flat(cells.groups.column(name)).cast("bool") for name in names)
        truths = (pc.fill_null(column, False).to_numpy(zero_copy_only=False) for column in columns)
        return SideGroups(key, tuple(truths))

    def in_class(self, rows: RowClass) -> BoolArray:
        """The groups whose flags have the values of the class."""
        is_meant = np.ones(len(self.key), np.bool_)
        for place, value in enumerate(rows.flags):
            if value is not None:
                is_meant &= self.flags[place] == value
        return is_meant


@dataclass(frozen=True)
class Fold:
    """Rows of a side in the order of window and key; those of one window and key are a *run*.

    The code of a row is its window times the number of keys, and its key.
    """

    rows: SideRows
    code: IntArray
    keys: int

    @cached_property
    def run_first(self) -> IntArray:
        """Where each run begins, and the end."""
        is_new = np.ones(len(self.code) + 1, np.bool_)
        np.not_equal(self.code[1:], self.code[:-1], out=is_new[1 : len(self.code)])
        return np.flatnonzero(is_new)

    @cached_property
    def run_code(self) -> IntArray:
        return self.code[self.run_first[:-1]]

    @cached_property
    def run_sizes(self) -> IntArray:
        return np.diff(self.run_first)

    def runs_of(self, windows: IntArray) -> tuple[IntArray, IntArray]:
        """The first run of each window, and how many it has."""
        first = np.searchsorted(self.run_code, windows * self.keys)
        return first, np.searchsorted(self.run_code, (windows + 1) * self.keys) - first

    def find(self, windows: IntArray, keys: IntArray) -> tuple[IntArray, BoolArray]:
        """The run of each window and key, and whether there is one."""
        code = windows * self.keys + keys
        return np.searchsorted(self.run_code, code), member(self.run_code, code)


def member(codes: IntArray, wishes: IntArray) -> BoolArray:
    """Flags of those that are among the codes, which ascend."""
    if not len(codes):
        return np.zeros(len(wishes), np.bool_)
    place = np.minimum(np.searchsorted(codes, wishes), len(codes) - 1)
    return np.asarray(codes[place] == wishes)


def folded(
    rows: SideRows,
    lanes: tuple[Lane, ...],
    key_of: IntArray,
    named: Sequence[Digit],
    is_meant: BoolArray,
    keys: int,
) -> Fold:
    """The rows of groups that are meant, those of equal window, key and names combined.

    `key_of`, `named` and `is_meant` are by group of the side.
    """
    target = number_rows([*named, Digit(key_of, keys)], len(key_of))
    place = np.flatnonzero(is_meant[rows.group])
    digits = [
        Digit(target.ids[rows.group[place]], max(1, target.count)),
        Digit(rows.window[place], int(rows.window.max(initial=0)) + 1),
    ]
    numbered = number_rows(digits, len(place))
    if numbered.count < len(rows):
        rows = _combined(rows, lanes, place, numbered.ids, place[numbered.rows])
    code = rows.window * keys + key_of[rows.group]
    order = np.argsort(code, kind="stable")
    return Fold(rows.take(order), code[order], keys)


def _combined(
    rows: SideRows, lanes: tuple[Lane, ...], place: IntArray, ids: IntArray, some_row: IntArray
) -> SideRows:
    """The rows at `place` combined by their ids; `some_row` has a row of each id."""
    combined_lanes = tuple(
        lane.combined(lane_rows, ids, len(some_row), place)
        for lane, lane_rows in zip(lanes, rows.lanes, strict=True)
    )
    return SideRows(rows.window[some_row], rows.group[some_row], combined_lanes, rows.rows_place)
