"""What people are shown of a column: every kind of value, also inside arrays and structs."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from tidemill.connect.sinks.cells import cell_texts
from tidemill.connect.sinks.console import print_frame

AT = datetime(2026, 3, 1, 8, tzinfo=UTC)
TIME = pa.timestamp("us", tz="UTC")
TOP = pa.list_(pa.struct([("value", pa.string()), ("weight", pa.int64())]))


def top(*pairs: tuple[str | None, int]) -> list[dict[str, Any]]:
    return [{"value": value, "weight": weight} for value, weight in pairs]


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        (pa.int64(), [80, None], ["80", "NULL"]),
        (pa.string(), ["a, b", ""], ["a, b", ""]),
        (TIME, [AT, None], ["2026-03-01 08:00:00", "NULL"]),
        (TOP, [top(("10.0.0.1", 12), ("web", 3)), []], ["[(10.0.0.1, 12), (web, 3)]", "[]"]),
        (TOP, [top(("web", 3)), None], ["[(web, 3)]", "NULL"]),
        (TOP, [[None], top((None, 2))], ["[NULL]", "[(NULL, 2)]"]),
        (pa.list_(pa.string()), [["a, b", "", "c"]], ['["a, b", "", c]']),
        (pa.list_(pa.float64()), [[1 / 3, float("nan")]], ["[0.333333, nan]"]),
        (pa.list_(TIME), [[AT]], ["[2026-03-01 08:00:00]"]),
        (pa.list_(pa.date32()), [[date(2026, 3, 1), None]], ["[2026-03-01, NULL]"]),
        (pa.list_(pa.list_(pa.int64())), [[[1], []], None], ["[[1], []]", "NULL"]),
        (pa.struct([("x", pa.list_(pa.int64()))]), [{"x": [1, 2]}, None], ["([1, 2])", "NULL"]),
    ],
)  # fmt: skip
def test_a_column_in_words(kind: pa.DataType, values: list[object], texts: list[str]):
    assert cell_texts(pa.array(values, kind)) == texts
    halves = pa.chunked_array([pa.array(values[:1], kind), pa.array(values[1:], kind)])
    assert cell_texts(halves) == texts
    assert cell_texts(halves[1:]) == texts[1:]
    assert cell_texts(pa.array([None, *values], kind)[1:]) == texts


def test_who_names_no_printer_sees_arrays_in_short(capsys: pytest.CaptureFixture[str]):
    print_frame("q", pa.table({"n": [1], "ports": pa.array([top(("80", 12))], TOP)}))
    assert capsys.readouterr().out == "q\n   n       ports\n0  1  [(80, 12)]\n"
