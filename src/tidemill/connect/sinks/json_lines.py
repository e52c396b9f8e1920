"""`json:FILE`: one object a line, exactly once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tidemill.connect.sinks.appended import AppendedFile
from tidemill.connect.sinks.cells import date_texts, timestamp_texts


class JsonSink(AppendedFile):
    def lines(self, query: str, rows: pa.Table) -> Iterator[str]:
        return json_lines(query, rows)


def json_lines(query: str, rows: pa.Table) -> Iterator[str]:
    """Numbers stay numbers, decimals with all their digits; NaN and infinities are strings."""
    names = [json.dumps(name) for name in rows.column_names]
    columns = [_texts(column) for column in rows.columns]
    head = f'{{"query": {json.dumps(query)}'
    for values in zip(*columns, strict=True):
        fields = "".join(f", {name}: {value}" for name, value in zip(names, values, strict=True))
        yield f"{head}{fields}}}"


def _texts(column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_timestamp(column.type):
        return [json.dumps(text) if text else "null" for text in timestamp_texts(column)]
    if pa.types.is_date(column.type):
        return [json.dumps(text) if text else "null" for text in date_texts(column)]
    return [_text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps({math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN"))
    if isinstance(value, bytes):
        return json.dumps(value.hex())
    return json.dumps(value, default=str)
