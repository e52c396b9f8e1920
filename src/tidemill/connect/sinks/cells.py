"""Columns of answers as texts for people."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

# Text that has one of these would blur where it ends among the items of an array.
_MARKS = frozenset(',()[]"')


def cell_texts(column: pa.ChunkedArray | pa.Array) -> list[str]:
    """Timestamps without zone, NULL as NULL, floats in short, arrays as `[…]`, structs as `(…)`.

    >>> cell_texts(pa.array([[{"value": 80, "weight": 12}, {"value": 443, "weight": 3}], []]))
    ['[(80, 12), (443, 3)]', '[]']
    """
    if pa.types.is_timestamp(column.type):
        texts = timestamp_texts(column)
        return ["NULL" if t is None else _short_time(t) for t in texts]
    if pa.types.is_date(column.type):
        return [text or "NULL" for text in date_texts(column)]
    if is_nested(column.type):
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return _structs(array) if pa.types.is_struct(array.type) else _arrays(array)
    return [_plain(value) for value in column.to_pylist()]


def is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_struct(kind))


def timestamp_texts(column: pa.ChunkedArray | pa.Array) -> list[str | None]:
    """ISO 8601 in UTC. By way of NumPy: Python's dates end with the year 9999, windows do not."""
    micros = column.cast(pa.int64())
    stamps = np.asarray(micros.fill_null(0)).astype("datetime64[us]")
    zone = "Z" if column.type.tz else ""
    texts = np.datetime_as_string(stamps, unit="us")
    valid = micros.is_valid().to_pylist()
    return [str(t) + zone if ok else None for t, ok in zip(texts, valid, strict=True)]


def date_texts(column: pa.ChunkedArray | pa.Array) -> list[str | None]:
    days = column.cast(pa.int32())
    texts = np.datetime_as_string(np.asarray(days.fill_null(0)).astype("datetime64[D]"))
    valid = days.is_valid().to_pylist()
    return [str(text) if ok else None for text, ok in zip(texts, valid, strict=True)]


def _arrays(column: pa.ListArray) -> list[str]:
    items = iter(_item_texts(column.flatten()))
    lengths = column.value_lengths().to_pylist()
    return [
        "NULL" if n is None else _joined("[]", [next(items) for _ in range(n)]) for n in lengths
    ]


def _structs(column: pa.StructArray) -> list[str]:
    fields = zip(*map(_item_texts, column.flatten()), strict=True)
    valid = column.is_valid().to_pylist()
    return [_joined("()", f) if ok else "NULL" for f, ok in zip(fields, valid, strict=True)]


def _item_texts(column: pa.Array) -> list[str]:
    texts = cell_texts(column)
    if not pa.types.is_string(column.type):
        return texts
    return [json.dumps(t, ensure_ascii=False) if not t or _MARKS & set(t) else t for t in texts]


def _joined(ends: str, items: list[str] | tuple[str, ...]) -> str:
    return f"{ends[0]}{', '.join(items)}{ends[1]}"


def _short_time(text: str) -> str:
    return text.removesuffix("Z").replace("T", " ").removesuffix(".000000")


def _plain(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
