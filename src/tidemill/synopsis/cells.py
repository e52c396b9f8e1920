"""Partial rows as arrays: one row per (group, signature, slice), each of them numbered.

The same cells come from fresh partial rows (the fold), from pieces on disk (the answer)
and go back to disk (snapshots). Keys are compared as Spark compares them after grouping:
NULL equals NULL and NaN equals NaN; Catalyst has already made -0.0 into 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidemill.aggregates import Encoded, Lane, absent, decode, encode
from tidemill.aggregates.limbs import normalise
from tidemill.plan.predicates import ALL_ROWS, Reading
from tidemill.synopsis.model import Partials

IntArray = NDArray[np.int64]
SLICE = "slice"


@dataclass(frozen=True)
class Cells:
    """One row for each (group, signature, slice) that occurs, in any order, with its lanes.

    `signatures` has one row per distinct signature, a column per word.
    """

    slices: IntArray
    slice_index: IntArray
    group: IntArray
    groups: pa.Table
    signature: IntArray
    signatures: IntArray
    lanes: tuple[Encoded, ...]

    def __len__(self) -> int:
        return len(self.group)

    @property
    def group_count(self) -> int:
        """Without keys there is one group, if there is anything; a table cannot say that."""
        return len(self.groups) if self.groups.column_names else min(1, len(self))

    def with_signatures(self, wanted: NDArray[np.bool_]) -> IntArray:
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

    def where(self, wanted: NDArray[np.bool_]) -> Cells:
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


def gather(partials: Partials, rows: pa.Table) -> Cells:
    """The cells of some partial rows; rows of one cell are combined."""
    group, first = factorise(rows.select(partials.key_columns), len(rows))
    groups = rows.select(partials.key_columns).take(pa.array(first))
    signature, signatures = _signatures(partials, rows)
    slices, slice_index = _number(_int64(rows.column(SLICE)))
    lanes = tuple(_lane(partials, rows, place) for place in range(len(partials.lanes)))
    found = Cells(slices, slice_index, group, groups, signature, signatures, lanes)
    return merged(partials.lanes, found)


def merged(lanes: tuple[Lane, ...], cells: Cells) -> Cells:
    """The cells with the rows of each (group, signature, slice) combined into one."""
    code = cells.group * len(cells.signatures) + cells.signature
    code = code * max(1, len(cells.slices)) + cells.slice_index
    single, several = _by_company(code)
    if not len(several):
        return cells
    order = several[np.argsort(code[several], kind="stable")]
    first = _run_starts(code[order])
    kept = replace(cells, lanes=()).at(np.concatenate([single, order[first]]))
    combined = (
        _followed(encoded.take(single), merged_runs(lane, encoded.take(order), first))
        for lane, encoded in zip(lanes, cells.lanes, strict=True)
    )
    return replace(kept, lanes=tuple(combined))


def narrow(lanes: tuple[Lane, ...], cells: Cells, readings: Sequence[Reading]) -> Cells:
    """What is read of the cells; the number of a reading takes the place of signatures.

    Cells that nobody reads may be left, under a number after all others.
    """
    if tuple(readings) == (ALL_ROWS,) and not cells.signatures.shape[1]:
        return cells
    wanted = np.array([reading.matches(cells.signatures) for reading in readings])
    read_as = np.zeros((len(readings) + 1, 0), np.int64)
    if wanted.sum(axis=0).max() <= 1 and wanted.sum(axis=1).max() <= 1:
        # As in a routed synopsis: no cell is read twice, and none has to be combined.
        number = np.where(wanted.any(axis=0), wanted.argmax(axis=0), len(readings))
        return replace(cells, signature=number[cells.signature], signatures=read_as)
    runs = [cells.with_signatures(mine) for mine in wanted]
    rows = np.concatenate(runs)
    number = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    return merged(lanes, replace(cells.at(rows), signature=number, signatures=read_as))


def scatter(partials: Partials, cells: Cells) -> pa.Table:
    """The partial rows back, sorted by slice: what a piece holds."""
    order = np.argsort(cells.slice_index, kind="stable")
    columns: dict[str, Any] = {SLICE: pa.array(cells.slices[cells.slice_index[order]])}
    group, signature = pa.array(cells.group[order]), cells.signature[order]
    for name in partials.key_columns:
        columns[name] = cells.groups.column(name).take(group)
    for word, name in enumerate(partials.signature_columns):
        columns[name] = pa.array(cells.signatures[signature, word])
    for place, lane in enumerate(partials.lanes):
        arrays = decode(lane, cells.lanes[place].take(order))
        columns.update(zip(partials.lane_columns(place), arrays, strict=True))
    _note_overflows(partials, cells, order, columns)
    return pa.table(columns)


def _note_overflows(
    partials: Partials, cells: Cells, order: IntArray, columns: dict[str, Any]
) -> None:
    """A merged decimal sum that has no digits left is written as NULL: its cell must say so."""
    for number, lane in enumerate(partials.lanes):
        if lane.kind != "overflow":
            continue
        place = partials.lanes.index(replace(lane, kind="sum"))
        (sums,), (flags,) = partials.lane_columns(place), partials.lane_columns(number)
        had = cells.lanes[place].take(order).valid
        lost = (
            columns[sums].is_null()
            if had is None
            else pc.and_(columns[sums].is_null(), pa.array(had))
        )
        columns[flags] = pc.add(columns[flags], lost.cast(pa.int64()))


def factorise(keys: pa.Table, rows: int) -> tuple[IntArray, IntArray]:
    """A dense number for each distinct key, and the first row of each number."""
    code: IntArray = np.zeros(rows, dtype=np.int64)
    if not keys.column_names:
        return code, np.arange(min(1, rows))
    for column in keys.columns:
        codes, distinct = _codes(column.combine_chunks())
        code, _ = _codes(pa.array(code * distinct + codes))
    first = np.full(int(code.max()) + 1 if rows else 0, rows, dtype=np.int64)
    np.minimum.at(first, code, np.arange(rows))
    return code, first


def _signatures(partials: Partials, rows: pa.Table) -> tuple[IntArray, IntArray]:
    """Rows from before there was a word have none of its bits."""
    names = [name for name in partials.signature_columns if name in rows.column_names]
    words = {name: pc.fill_null(rows.column(name), 0) for name in names}
    number, first = factorise(pa.table(words), len(rows))
    found = np.zeros((max(1, len(first)), len(partials.signature_columns)), dtype=np.int64)
    for word, name in enumerate(partials.signature_columns):
        if name in names and len(first):
            found[:, word] = _int64(words[name].take(pa.array(first)))
    return number, found


def _lane(partials: Partials, rows: pa.Table, place: int) -> Encoded:
    """A lane of the rows; pieces from before it was there do not have its columns."""
    lane, names = partials.lanes[place], partials.lane_columns(place)
    if names[0] not in rows.column_names:
        return absent(lane, len(rows))
    return encode(lane, [rows.column(name) for name in names])


def _codes(column: pa.Array) -> tuple[IntArray, int]:
    # Hashing, not sorting: five times faster than np.unique on a million keys.
    coded = pc.dictionary_encode(column, null_encoding="encode")
    return _int64(coded.indices), max(1, len(coded.dictionary))


def _int64(column: pa.Array | pa.ChunkedArray) -> IntArray:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _number(starts: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct starts, ascending, and the place of each row's among them."""
    coded = pc.dictionary_encode(pa.array(starts))
    distinct = _int64(coded.dictionary)
    order = np.argsort(distinct)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[_int64(coded.indices)]


def _by_company(code: IntArray) -> tuple[IntArray, IntArray]:
    """The rows that are surely alone in their cells, and the others.

    Pieces meet in few slices, so that most rows are alone: to count them, of large codes by
    their remainders, takes a fraction of the time that sorting takes.
    """
    if not len(code):
        return code, code
    place = code if int(code.max()) <= 8 * len(code) else code % (8 * len(code))
    alone = np.bincount(place)[place] == 1
    return np.flatnonzero(alone), np.flatnonzero(~alone)


def _followed(lane: Encoded, more: Encoded) -> Encoded:
    """A lane with more rows of it; those taken from one lane share its dictionary."""
    if not len(lane.values):
        return more
    valid = None
    if lane.valid is not None and more.valid is not None:
        valid = np.concatenate([lane.valid, more.valid])
    return Encoded(np.concatenate([lane.values, more.values]), valid, lane.dictionary)


def _run_starts(code: IntArray) -> IntArray:
    if not len(code):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))


def merged_runs(lane: Lane, taken: Encoded, first: IntArray) -> Encoded:
    """Rows combined in runs, each of which begins at one of `first`."""
    if len(first) == len(taken.values):
        return taken
    values = taken.values
    if taken.valid is not None:
        values = values.copy()
        values[~taken.valid] = lane.algebra.identity
    # Infinities of both signs make NaN, as they do in Spark.
    with np.errstate(invalid="ignore", over="ignore"):
        merged = lane.algebra.combine.reduceat(values, first, axis=0)
    valid = None if taken.valid is None else np.logical_or.reduceat(taken.valid, first)
    return Encoded(renormalised(merged), valid, taken.dictionary)


def renormalised(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(normalise(values)) if values.ndim == 2 else values
