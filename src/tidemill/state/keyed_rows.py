"""Rows that wait under a key for rows of other streams: sorted by key, then time, then arrival.

The rows of a key are one run, and in it those of a span of time are one, too. Keys lie in order
of a hash; a file has the rows, and after them the hash of each key and where its run begins. A
row with NULL in its key meets no other and is left out.

>>> rows = pa.table({"k": ["b", "a", "b", None], "v": [1, 2, 3, 4]})
>>> keyed = KeyedRows.of(rows, np.array([20, 10, 10, 10]), keys=1)
>>> runs = np.split(np.arange(len(keyed)), keyed.first[1:-1])
>>> sorted(keyed.columns.column("v").take(pa.array(run)).to_pylist() for run in runs)
[[2], [3, 1]]
>>> keyed.columns.column("v").take(pa.array(keyed.by_time)).to_pylist()
[2, 3, 1]
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.aggregates.numbering import factorise
from tidemill.arrays import Array, IntArray
from tidemill.state.buckets import HashArray, hashes_of
from tidemill.state.loops.keys import count_before, order_by_code

_ROW_TIME, _BY_TIME, _HASH, _FIRST = "_time", "_by_time", "_hash", "_first"


@dataclass(frozen=True)
class KeyedRows:
    """The rows of a piece; their first `keys` columns are the key."""

    columns: pa.Table
    keys: int
    times_us: IntArray
    by_time: Array  # places of the rows in order of time, then arrival
    hashes: HashArray  # of each key, ascending
    first: IntArray  # where the run of each key begins, and the number of rows

    def __len__(self) -> int:
        return len(self.times_us)

    @staticmethod
    def of(rows: pa.Table, times_us: IntArray, keys: int) -> KeyedRows:
        """Those of the rows that have a key; they are given in the order they came."""
        rows, times_us = _with_key(rows, times_us, keys)
        numbers, some_rows = factorise(_key_of(rows, keys), len(rows))
        hashes = hashes_of(_key_of(rows, keys).take(pa.array(some_rows)))
        by_hash = np.argsort(hashes, kind="stable")
        rank = np.empty(len(by_hash), np.int64)
        rank[by_hash] = np.arange(len(by_hash))
        codes, in_time = rank[numbers], np.argsort(times_us, kind="stable")
        first = np.append(0, np.cumsum(np.bincount(codes, minlength=len(hashes))))
        order = order_by_code(codes[in_time], first)
        by_time = np.empty(len(order), np.int32)
        by_time[order] = np.arange(len(order), dtype=np.int32)
        order = in_time[order]
        columns = rows.combine_chunks().take(pa.array(order))
        return KeyedRows(columns, keys, times_us[order], by_time, hashes[by_hash], first)

    def count_before(self, until_us: int) -> int:
        """How many rows are from before a time."""
        return int(count_before(self.times_us, self.by_time, until_us))

    def since(self, from_us: int) -> tuple[pa.Table, IntArray]:
        """The rows from a time on and their times, in order of time, then arrival."""
        places = self.by_time[self.count_before(from_us) :]
        return self.columns.take(pa.array(places)), self.times_us[places]

    def key_at(self, groups: IntArray) -> pa.Table:
        """The keys with these numbers."""
        return _key_of(self.columns, self.keys).take(pa.array(self.first[groups]))

    def write(self, path: Path) -> None:
        """On disk before it returns."""
        rows = self.columns.append_column(_ROW_TIME, pa.array(self.times_us))
        rows = rows.append_column(_BY_TIME, pa.array(self.by_time))
        groups = pa.table({_HASH: self.hashes, _FIRST: self.first[:-1]})
        with path.open("wb") as file:
            for table in (rows, groups):
                with pa.ipc.new_stream(file, table.schema) as writer:
                    writer.write_table(table.combine_chunks())
            file.flush()
            os.fsync(file.fileno())

    @staticmethod
    def read(path: Path, keys: int) -> KeyedRows:
        with pa.memory_map(str(path)) as source:
            rows = pa.ipc.open_stream(source).read_all()
            groups = pa.ipc.open_stream(source).read_all()
        times_us, by_time = (rows.column(name).to_numpy() for name in (_ROW_TIME, _BY_TIME))
        first = np.append(groups.column(_FIRST).to_numpy(), len(rows))
        columns = rows.drop_columns([_ROW_TIME, _BY_TIME])
        return KeyedRows(columns, keys, times_us, by_time, groups.column(_HASH).to_numpy(), first)

    @cached_property
    def first_us(self) -> int:
        return int(self.times_us[self.by_time[0]])

    @cached_property
    def last_us(self) -> int:
        return int(self.times_us[self.by_time[-1]])

    def next_us(self, from_us: int) -> int | None:
        """The time of the first row from a time on."""
        passed = self.count_before(from_us)
        return int(self.times_us[self.by_time[passed]]) if passed < len(self) else None


def _key_of(rows: pa.Table, keys: int) -> pa.Table:
    return rows.select(range(keys))


def _with_key(rows: pa.Table, times_us: IntArray, keys: int) -> tuple[pa.Table, IntArray]:
    """The rows without NULL in their key, in which -0.0 is 0.0."""
    columns = [_unsigned_zero(column) for column in rows.columns[:keys]]
    rows = pa.table([*columns, *rows.columns[keys:]], schema=rows.schema)
    if not any(column.null_count for column in columns):
        return rows, times_us
    has_key = reduce(pc.and_, (pc.is_valid(column) for column in columns))
    return rows.filter(has_key), times_us[np.asarray(has_key)]


def _unsigned_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_floating(column.type):
        return column
    return pc.add(column, pa.scalar(0.0, column.type))
