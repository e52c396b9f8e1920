"""Partials as arrays: rows for each (group, signature, slice), each of them numbered.

The same cells come from fresh partial rows and from files (the fold), from pieces on disk (the
answer) and go to disk again (snapshots).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from tidemill.aggregates import Lane, LaneArray, concatenated
from tidemill.aggregates.numbering import Digit, factorise, number_rows
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.predicates import ALL_ROWS, AnyReading


@dataclass(frozen=True)
class Cells:
    """A row for each (group, signature, slice) that occurs, in any order, with its lanes.

    Slices ascend; `signatures` has one row per distinct signature, a column per word. What is
    read from several pieces may have several rows for one cell.
    """

    slices: IntArray
    slice_index: IntArray
    group: IntArray
    groups: pa.Table
    signature: IntArray
    signatures: IntArray
    lanes: tuple[LaneArray, ...]

    def __len__(self) -> int:
        return len(self.group)

    @property
    def group_count(self) -> int:
        """Without keys there is one group, if there is anything; a table cannot say that."""
        return len(self.groups) if self.groups.column_names else min(1, len(self))

    def with_signatures(self, wanted: BoolArray) -> IntArray:
        """The rows that have one of the signatures, those of each together."""
        order, bounds = self._by_signature
        runs = [order[bounds[n] : bounds[n + 1]] for n in np.flatnonzero(wanted).tolist()]
        return np.concatenate([order[:0], *runs])

    @cached_property
    def _by_signature(self) -> tuple[IntArray, IntArray]:
        """Every row, signature after signature, and where each begins: they are read in turn."""
        order = np.argsort(self.signature, kind="stable")
        counts = np.bincount(self.signature, minlength=len(self.signatures))
        return order, np.concatenate([[0], np.cumsum(counts)])

    def where(self, wanted: BoolArray) -> Cells:
        return self.at(np.flatnonzero(wanted))

    def at(self, rows: IntArray) -> Cells:
        """Some of the rows; groups, signatures and slices keep their numbers."""
        return replace(
            self,
            slice_index=self.slice_index[rows],
            group=self.group[rows],
            signature=self.signature[rows],
            lanes=tuple(lane.take(rows) for lane in self.lanes),
        )


def joined(parts: Sequence[Cells]) -> Cells:
    """The rows of all parts, numbered alike."""
    if len(parts) == 1:
        return parts[0]
    slices = np.unique(np.concatenate([part.slices for part in parts]))
    groups, group_of = _same_groups([part.groups for part in parts])
    signatures, signature_of = _same_signatures([part.signatures for part in parts])
    return Cells(
        slices=slices,
        slice_index=np.concatenate(
            [np.searchsorted(slices, part.slices)[part.slice_index] for part in parts]
        ),
        group=np.concatenate([of[p.group] for of, p in zip(group_of, parts, strict=True)]),
        groups=groups,
        signature=np.concatenate(
            [of[p.signature] for of, p in zip(signature_of, parts, strict=True)]
        ),
        signatures=signatures,
        lanes=tuple(concatenated(lanes) for lanes in zip(*(p.lanes for p in parts), strict=True)),
    )


def merged(lanes: tuple[Lane, ...], cells: Cells) -> Cells:
    """The cells with the rows of each (group, signature, slice) combined into one."""
    digits = [
        Digit(cells.group, max(1, cells.group_count)),
        Digit(cells.signature, len(cells.signatures)),
        Digit(cells.slice_index, max(1, len(cells.slices))),
    ]
    numbered = number_rows(digits, len(cells))
    if numbered.count == len(cells):
        return cells
    distinct = replace(cells, lanes=()).at(numbered.rows)
    combined_lanes = (
        lane.combined(lane_rows, numbered.ids, numbered.count)
        for lane, lane_rows in zip(lanes, cells.lanes, strict=True)
    )
    return replace(distinct, lanes=tuple(combined_lanes))


def rolled_up(lanes: tuple[Lane, ...], cells: Cells, keys: Sequence[str]) -> Cells:
    """The cells by some of their keys: groups that become equal are combined."""
    groups = cells.groups.select(list(keys))
    number, first_rows = factorise(groups, cells.group_count)
    groups = groups.take(pa.array(first_rows)) if keys else groups
    return merged(lanes, replace(cells, group=number[cells.group], groups=groups))


def which_read(readings: Sequence[AnyReading], signatures: IntArray) -> BoolArray:
    """Whether each reading reads the cells of each signature."""
    flags = [reading.matches(signatures) for reading in readings]
    return np.array(flags, np.bool_).reshape(len(readings), len(signatures))


def narrow(cells: Cells, readings: Sequence[AnyReading], is_read: BoolArray) -> Cells:
    """The cells that readings select; the number of a reading takes the place of signatures.

    `is_read` tells which of them reads which signature. Cells that nobody reads may be left,
    under a number after all others.
    """
    if tuple(readings) == (ALL_ROWS,) and not cells.signatures.shape[1]:
        return cells
    read_as = np.zeros((len(readings) + 1, 0), np.int64)
    if is_read.sum(axis=0).max() <= 1:
        # As in a routed synopsis: no cell is read twice.
        numbers = np.where(is_read.any(axis=0), is_read.argmax(axis=0), len(readings))
        return replace(cells, signature=numbers[cells.signature], signatures=read_as)
    runs = [cells.with_signatures(mine) for mine in is_read]
    numbers = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    return replace(cells.at(np.concatenate(runs)), signature=numbers, signatures=read_as)


def _same_groups(tables: Sequence[pa.Table]) -> tuple[pa.Table, list[IntArray]]:
    """One table with every group once, and where those of each table are in it."""
    if not tables[0].column_names:
        return tables[0], [np.zeros(1, np.int64) for _ in tables]
    groups = pa.concat_tables(tables)
    numbers, first = factorise(groups, len(groups))
    return groups.take(pa.array(first)), _parted(numbers, [len(table) for table in tables])


def _same_signatures(words: Sequence[IntArray]) -> tuple[IntArray, list[IntArray]]:
    whole = np.concatenate(words)
    numbers, first = factorise_words(whole)
    return whole[first], _parted(numbers, [len(one) for one in words])


def factorise_words(words: IntArray) -> tuple[IntArray, IntArray]:
    """A number for each distinct signature, and the first row of each."""
    columns = {f"_{place}": word for place, word in enumerate(words.T)}
    return factorise(pa.table(columns), len(words))


def _parted(numbers: IntArray, counts: Sequence[int]) -> list[IntArray]:
    return np.split(numbers, np.cumsum(counts)[:-1])
