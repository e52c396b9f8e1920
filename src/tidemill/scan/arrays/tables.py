"""Tables that are joined on arrays: columns of the file that keeps them, and lookups by keys.

A process reads a column when a scan first asks for it and prepares a lookup when a join first
needs it. Files never change, so both stay good for as long as the file is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.aggregates.encoded import flat
from tidemill.plan.joins import Join
from tidemill.scan.arrays.chunk import Chunk
from tidemill.scan.arrays.lookups import KeyLookup
from tidemill.types import BOOLEAN, Type

Part = TypeVar("Part")
_COLUMN = "column"
# Tables stay in memory until so many others have been asked for; a plan hardly joins as many.
_MOST_TABLES = 32


class ScannedTable:
    """The rows of a file, and after them one of NULLs, for rows of a stream without a partner."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, RLock()
        self._parts: dict[Hashable, Any] = {}

    def column(self, name: str, kind: Type) -> tuple[Chunk, str]:
        """A chunk with this column alone, and the column's name in it."""
        return self._once(name, lambda: _chunk(kind, self._read(name))), _COLUMN

    def partner(self) -> tuple[Chunk, str]:
        """The same with a column that is true in all rows but the last."""
        return self._once(
            (), lambda: _chunk(BOOLEAN, pa.array(np.ones(self._rows, np.bool_)))
        ), _COLUMN

    def lookup(self, join: Join) -> KeyLookup:
        """The rows by the values of the columns that the join compares."""
        columns = [(own_name(join, s.names[0]), s.type) for _, s in join.equal]
        return self._once(
            tuple(columns),
            lambda: KeyLookup([self.column(*column)[0].column(_COLUMN) for column in columns]),
        )

    def _once(self, key: Hashable, make: Callable[[], Part]) -> Part:
        """Threads that ask together wait for one of them."""
        with self._lock:
            if key not in self._parts:
                self._parts[key] = make()
            part: Part = self._parts[key]
            return part

    @property
    def _rows(self) -> int:
        return int(pq.read_metadata(self._path).num_rows)

    def _read(self, name: str) -> pa.Array:
        # Arrow takes a dot for the way into a nested column.
        columns = None if "." in name else [name]
        return flat(pq.read_table(self._path, columns=columns).column(name))


@lru_cache(maxsize=_MOST_TABLES)
def scanned_table(path: Path) -> ScannedTable:
    """The same one for all scans of a process."""
    return ScannedTable(path)


def own_name(join: Join, name: str) -> str:
    """The table's name for a column that a join brings in."""
    return name[len(join.name) + 1 :]


def _chunk(kind: Type, values: pa.Array) -> Chunk:
    with_null = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return Chunk(pa.table({_COLUMN: with_null}), {_COLUMN: kind})
