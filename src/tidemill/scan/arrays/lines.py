"""CSV files for arrays: lines of which each is plainly what Spark takes it for.

Spark's reader is lenient in some ways and Arrow's in others. What both read alike is read here:
lines of as many values as are declared, without quotes, each value in the usual form of its
type. Anything else raises, and the files are Spark's to read.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP, Type

# About as many rows as make a chunk.
_STRETCH_BYTES = 1 << 24
_LOOKED_AT_BYTES = 1 << 16
# Spark picks a decompressor by the end of the name; these have none.
_PLAIN_NAMES = ("", ".csv", ".txt")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Quotes and escapes; other ends of a line than the usual; and what would start a comment.
_ODD_BYTES = (b'"', b"\\", b"\r", b"\0")
# Signs, hexadecimal digits, names of numbers and the like are read by one reader or the other.
_WHOLE, _BROKEN = b"-0123456789", b"-.0123456789"
_SHORTEST_TIME = len("2026-01-01 00:00:00")
_DAY = len("2026-01-01")


class NotPlainError(Exception):
    """A line that Spark may take for something else."""


@dataclass(frozen=True)
class Dialect:
    """The form of lines; `columns` are all that the files hold, in order, in lower case."""

    columns: tuple[tuple[str, Type], ...]
    separator: str
    header: str | None  # the first line of each file, if it is one of names


@dataclass(frozen=True)
class Lines:
    """A part of a file from the start of a line to the end of one; the rows are a guess."""

    path: str
    start: int
    size: int
    rows: int

    @property
    def place(self) -> tuple[str, int]:
        """The part among those of all files, whichever columns it is read with."""
        return self.path, self.start

    @property
    def arrival(self) -> str:
        """The file: all of its parts arrive together."""
        return self.path


def is_plain_kind(kind: Type) -> bool:
    """True if values of the type have a form that both readers read alike."""
    return kind.is_numeric or kind in (STRING, BOOLEAN, DATE, TIMESTAMP)


def line_parts(paths: Sequence[str], dialect: Dialect) -> tuple[Lines, ...] | None:
    """All parts of the files in order; None if a file is Spark's to read."""
    try:
        return tuple(lines for path in paths for lines in _parts_of(path, dialect))
    except (OSError, ValueError, NotPlainError):
        return None


def read_lines(
    parts: Iterable[Lines], dialect: Dialect, columns: Mapping[str, Type]
) -> Iterator[pa.Table]:
    """The columns columns; values of the others are only looked at, for they may be malformed."""
    for part in parts:
        with open(part.path, "rb") as file:
            file.seek(part.start)
            data = file.read(part.size)
        if any(byte in data for byte in _ODD_BYTES):
            raise NotPlainError(part.path)
        kinds = {name: kind for name, kind in dialect.columns if kind != STRING or name in columns}
        texts = _values(data, dialect, kinds)
        typed = {name: _typed(texts.column(name), kind) for name, kind in kinds.items()}
        yield pa.table({name: typed[name] for name in columns})


def _parts_of(path: str, dialect: Dialect) -> Iterator[Lines]:
    if Path(path).suffix.lower() not in _PLAIN_NAMES:
        raise NotPlainError(path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _after_header(data, dialect)
        row_bytes = _row_bytes(data[start : start + _LOOKED_AT_BYTES])
        while start < len(data):
            # The last byte of the stretch may be the end of a line just so.
            newline = data.find(b"\n", start + _STRETCH_BYTES - 1)
            end = len(data) if newline < 0 else newline + 1
            yield Lines(path, start, end - start, (end - start) // row_bytes + 1)
            start = end


def _after_header(data: mmap.mmap, dialect: Dialect) -> int:
    if data[: len(_BYTE_ORDER_MARK)] == _BYTE_ORDER_MARK:
        raise NotPlainError("a byte order mark")
    if dialect.header is None:
        return 0
    line = dialect.header.encode() + b"\n"
    if data[: len(line)] != line:
        raise NotPlainError("another header")
    return len(line)


def _row_bytes(sample: bytes) -> int:
    return max(1, len(sample) // max(1, sample.count(b"\n")))


def _values(data: bytes, dialect: Dialect, kinds: Mapping[str, Type]) -> pa.Table:
    """The values as texts; an empty one is NULL."""
    coded = pa.dictionary(pa.int32(), pa.string())
    return pa.csv.read_csv(
        pa.BufferReader(data),
        pa.csv.ReadOptions(
            use_threads=False,
            block_size=len(data) + 1,
            column_names=[name for name, _ in dialect.columns],
        ),
        pa.csv.ParseOptions(
            delimiter=dialect.separator, quote_char=False, double_quote=False, escape_char=False
        ),
        pa.csv.ConvertOptions(
            column_types={n: coded if k == STRING else pa.string() for n, k in kinds.items()},
            include_columns=list(kinds),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _typed(texts: pa.ChunkedArray, kind: Type) -> pa.ChunkedArray:
    if kind == STRING:
        return texts
    if kind == TIMESTAMP:
        return _times(texts)
    if kind.is_integer:
        _require_bytes(texts, _WHOLE)
    elif kind.is_decimal:
        _require_bytes(texts, _BROKEN)
    elif kind.is_float:
        _require_bytes(texts, _BROKEN + b"eE")
    elif kind == BOOLEAN:
        _require_bytes(texts, b"truefalsTRUEFALS")
    elif kind == DATE:
        _require_lengths(texts, _DAY, _DAY)
    return texts.cast(kind.arrow)


def _times(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """In UTC, whether they say so or not: without a zone they are Spark's session's, which is."""
    _require_lengths(texts, _SHORTEST_TIME, None)
    zone = "UTC" if pc.all(pc.ends_with(texts, "Z")).as_py() else None
    return texts.cast(pa.timestamp("us", tz=zone))


def _require_bytes(texts: pa.ChunkedArray, allowed: bytes) -> None:
    for chunk in texts.chunks:
        _, offsets, data = chunk.buffers()
        end = np.frombuffer(offsets, np.int32)[len(chunk)] if data else 0
        if end and data[:end].to_pybytes().translate(None, allowed):
            raise NotPlainError("a value in an unusual form")


def _require_lengths(texts: pa.ChunkedArray, least: int, most: int | None) -> None:
    ends = pc.min_max(pc.binary_length(texts))
    shortest, longest = ends["min"].as_py(), ends["max"].as_py()
    if shortest is not None and (shortest < least or (most is not None and longest > most)):
        raise NotPlainError("a value in an unusual form")
