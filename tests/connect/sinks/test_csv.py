"""`csv:`: what a reader of CSV finds, whatever the values, the columns and the processes."""

from __future__ import annotations

import csv
import math
import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidemill.catalog import Sink
from tidemill.catalog.addresses import Address
from tidemill.connect.sinks import Batch, SinkTools, SinkWriter, open_sink
from tidemill.connect.sinks.csv_lines import csv_lines
from tidemill.settings import Settings


def opened(folder: Path) -> SinkWriter:
    connection = sqlite3.connect(folder / "ledger.db", isolation_level=None)
    tools = SinkTools(connection, folder / "staging", Settings(), lambda *_: None)
    return open_sink(Sink("out", Address("csv", str(folder / "out.csv"))), tools)


def tick(writer: SinkWriter, number: int, query: str, **columns: list[Any]) -> None:
    rows = pa.table(columns)
    writer.deliver(Batch(number, (query,), np.array([len(rows)]), rows=rows))
    writer.record()


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([1, None]), ["1", ""]),
        (pa.array(["a,b", 'say "ja"', "two\nlines", "", None]), None),
        (pa.array([0.1, math.nan, math.inf, -math.inf]), ["0.1", "NaN", "Infinity", "-Infinity"]),
        (pa.array([Decimal("1E+2"), None], pa.decimal128(12, 2)), ["100.00", ""]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([b"\x01\xff"]), ["01ff"]),
        (pa.array([date(2026, 3, 1)]), ["2026-03-01"]),
        (pa.array([datetime(2026, 3, 1, tzinfo=UTC)]), ["2026-03-01T00:00:00.000000Z"]),
        (pa.array([[1, 2], None]), ["[1, 2]", ""]),
    ],
)
def test_values_come_back_from_a_reader_of_csv(values: pa.Array, texts: list[str] | None) -> None:
    lines = csv_lines("q", pa.table({"v": values}))
    found = list(csv.reader("\n".join(lines).splitlines(keepends=True)))
    wanted = texts or [value or "" for value in values.to_pylist()]
    assert found == [["q", text] for text in wanted]


def test_a_header_stands_above_rows_of_other_columns(tmp_path: Path) -> None:
    writer = opened(tmp_path)
    tick(writer, 0, "q", a=[1])
    tick(writer, 1, "q", a=[])
    tick(writer, 2, "r", b=[2], c=[3])
    tick(opened(tmp_path), 3, "r", b=[4], c=[5])
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines == ["query,a", "q,1", "query,b,c", "r,2,3", "r,4,5"]


def test_a_file_that_was_removed_begins_with_a_header_again(tmp_path: Path) -> None:
    tick(opened(tmp_path), 0, "q", a=[1])
    (tmp_path / "out.csv").unlink()
    tick(opened(tmp_path), 1, "q", a=[2])
    assert (tmp_path / "out.csv").read_text() == "query,a\nq,2\n"
