"""Parquet files for arrays: whether they are just as declared, and their rows.

Spark reads some files with an eye to who wrote them and turns some types into others. Those
files are Spark's to read: what is taken here holds what is declared, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.types import STRING, TIMESTAMP, Type

# Marks of files with dates of the calendar before 1582, which Spark moves.
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_VERSION = b"org.apache.spark.version"


@dataclass(frozen=True)
class RowGroup:
    """A part of a file; `names` are its columns as the file spells them, by ours."""

    path: str
    number: int
    rows: int
    size: int
    names: tuple[tuple[str, str], ...]

    @property
    def place(self) -> tuple[str, int]:
        """The part among those of all files, whichever columns it is read with."""
        return self.path, self.number


def row_groups(
    paths: Sequence[str], columns: Sequence[tuple[str, Type]]
) -> tuple[RowGroup, ...] | None:
    """All parts of the files in order; None if any file is not as declared or cannot be read."""
    groups: list[RowGroup] = []
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                names = _names(file, columns)
                if names is None:
                    return None
                groups += _parts(path, file.metadata, names)
        except (OSError, pa.ArrowException):
            return None
    return tuple(groups)


def read_groups(
    run: Sequence[RowGroup], kinds: Mapping[str, Type], most_rows: int
) -> Iterator[pa.Table]:
    """The rows of parts of one file, columns under our names."""
    ours = {theirs: name for name, theirs in run[0].names}
    texts = [theirs for theirs, name in ours.items() if kinds[name] == STRING]
    with pq.ParquetFile(run[0].path, read_dictionary=texts, memory_map=True) as file:
        for batch in file.iter_batches(
            most_rows,
            row_groups=[group.number for group in run],
            columns=list(ours),
            use_threads=False,
        ):
            table = pa.Table.from_batches([batch])
            yield table.rename_columns([ours[name] for name in table.column_names])


def _parts(
    path: str, metadata: pq.FileMetaData, names: tuple[tuple[str, str], ...]
) -> Iterator[RowGroup]:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.num_rows:
            yield RowGroup(path, number, group.num_rows, group.total_byte_size, names)


def _names(
    file: pq.ParquetFile, columns: Sequence[tuple[str, Type]]
) -> tuple[tuple[str, str], ...] | None:
    """The file's spelling of every column; None if one is missing or not as declared."""
    if _is_moved(file.metadata.metadata or {}):
        return None
    by_name: dict[str, list[pa.Field]] = {}
    for field in file.schema_arrow:
        by_name.setdefault(field.name.lower(), []).append(field)
    names = []
    for name, kind in columns:
        fields = by_name.get(name, [])
        # Arrow takes a dot for the way into a nested column.
        if len(fields) != 1 or "." in name or not _is_as_declared(fields[0].type, kind):
            return None
        names.append((name, fields[0].name))
    return tuple(names)


def _is_moved(metadata: Mapping[bytes, bytes]) -> bool:
    old = metadata.get(_VERSION, b"9") < b"3"
    return old or any(mark in metadata for mark in _LEGACY)


def _is_as_declared(stored: pa.DataType, kind: Type) -> bool:
    if kind == STRING:
        inner = stored.value_type if pa.types.is_dictionary(stored) else stored
        return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))
    if kind == TIMESTAMP:
        is_instant = pa.types.is_timestamp(stored) and stored.tz is not None
        return is_instant and stored.unit in ("ms", "us")
    return bool(stored == kind.arrow)
