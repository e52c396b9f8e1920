"""Malformed rows as JSON, in the same letters as Spark's TO_JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tidemill.arrays import IntArray
from tidemill.language.statements import ColumnDef
from tidemill.types import BOOLEAN, DATE, STRING, TIMESTAMP, Type

# Beyond this scale Java writes some decimals with an exponent.
_MOST_SCALE = 6
_DAY_US = 86_400_000_000
_ESCAPES = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord(letter): f"\\{short}" for letter, short in zip('\b\t\n\f\r"\\', 'btnfr"\\', strict=True)
}


def is_plain_record(columns: Iterable[ColumnDef]) -> bool:
    """True if values of all columns have one JSON text, whatever version of Java writes it.

    Java 17 and 21 print some floating-point numbers differently; nested and binary values, and
    decimals of many places, have forms of Spark's own.
    """
    return all(_is_plain(column.type) for column in columns)


def json_records(rows: pa.Table, columns: Sequence[ColumnDef]) -> list[str]:
    """The rows, whose columns are those declared, one text each; NULLs are left out."""
    names = [f"{_quoted(column.name)}:" for column in columns]
    values = [
        [text and name + text for text in _texts(array, column.type)]
        for name, array, column in zip(names, rows.columns, columns, strict=True)
    ]
    return [f"{{{','.join(filter(None, row))}}}" for row in zip(*values, strict=True)]


def _is_plain(kind: Type) -> bool:
    if kind.is_decimal:
        return kind.scale <= _MOST_SCALE
    return kind.is_integer or kind in (STRING, BOOLEAN, DATE, TIMESTAMP)


def _texts(array: pa.ChunkedArray, kind: Type) -> list[str | None]:
    """The JSON text of each value; None for NULL."""
    if kind == STRING:
        texts: Iterable[str] = map(_quoted, array.fill_null("").to_pylist())
    elif kind == DATE:
        texts = map('"{}"'.format, _dates(array.cast(pa.int32()).fill_null(0).to_numpy()))
    elif kind == TIMESTAMP:
        texts = map('"{}"'.format, _times(array.cast(pa.int64()).fill_null(0).to_numpy()))
    elif kind.is_decimal:
        texts = ("" if value is None else f"{value:f}" for value in array.to_pylist())
    else:
        texts = (str(value).lower() for value in array.to_pylist())
    present = array.is_valid().to_pylist()
    return [text if is_valid else None for text, is_valid in zip(texts, present, strict=True)]


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _dates(days: IntArray) -> list[str]:
    """Of the calendar that has no gaps, as `java.time` prints it: `+` before years of five digits.

    >>> _dates(np.array([0, -719_529, 2_932_897]))
    ['1970-01-01', '-0001-12-31', '+10000-01-01']
    """
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12 + 1
    day = (dates - months).astype(np.int64) + 1
    triples = zip(years.tolist(), month.tolist(), day.tolist(), strict=True)
    return [f"{_year(y)}-{m:02d}-{d:02d}" for y, m, d in triples]


def _year(year: int) -> str:
    return f"{'+' if year > 9999 else '-' if year < 0 else ''}{abs(year):04d}"


def _times(micros: IntArray) -> list[str]:
    """In UTC with milliseconds, further digits cut off."""
    dates, times = _dates(micros // _DAY_US), (micros % _DAY_US // 1000).tolist()
    return [f"{date}T{_clock(ms)}Z" for date, ms in zip(dates, times, strict=True)]


def _clock(ms: int) -> str:
    seconds = ms // 1000
    hour, minute = seconds // 3600, seconds // 60 % 60
    return f"{hour:02d}:{minute:02d}:{seconds % 60:02d}.{ms % 1000:03d}"
