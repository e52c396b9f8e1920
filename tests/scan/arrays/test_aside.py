"""Side files by arrays, without Spark: which rows, in which columns, as which texts.

That Spark writes the same is left to `tests/stories/test_disorder.py`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill.catalog import Stream
from tidemill.catalog.addresses import Address
from tidemill.language.statements import ColumnDef
from tidemill.scan.arrays.aside import set_aside_on_arrays
from tidemill.scan.arrays.files import Part, parts_of, read_batches
from tidemill.scan.arrays.program import Program, whole_rows
from tidemill.scan.arrays.records import is_plain_record, json_records
from tidemill.scan.arrays.scan import in_total, scan
from tidemill.scan.contract import LATE, MALFORMED, Admission, SideFiles, Terms
from tidemill.time import LATEST_US, Register
from tidemill.types import parse_type

SECOND_US = 1_000_000
SINCE_NINE = Terms(Register(promised_us=9 * SECOND_US))
BOTH = {LATE, MALFORMED}


def stream_of(scheme: str, **kinds: str) -> Stream:
    columns = tuple(ColumnDef(name, parse_type(kind)) for name, kind in kinds.items())
    return Stream("s", columns, "Ts", False, Address(scheme, "in"), 0)


def refused_in(stream: Stream, paths: list[Path], terms: Terms) -> tuple[Part, ...]:
    """The parts that a scan which reads nothing but times notes down."""
    columns = tuple((c.name.lower(), c.type) for c in stream.columns if c.name == "Ts")
    program = Program("Ts", columns, (), whole_rows(stream).dialect)
    parts = parts_of(program, list(map(str, paths)))
    assert parts is not None
    return tuple(in_total(scan(program, read_batches(program, parts), terms)).refused_in)


def put(path: Path, times_us: list[int | None], **columns: Any) -> Path:
    stamps = pa.array(times_us, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"TS": stamps, **columns}), path, row_group_size=2)
    return path


def test_late_rows_have_all_columns_and_only_their_parts_are_read(tmp_path: Path) -> None:
    stream = stream_of("parquet", Ts="TIMESTAMP", host="STRING", x="DOUBLE", p="DECIMAL(9,2)")
    others = {
        "host": pa.array(["a", None, "c", "d"]),
        "x": pa.array([0.5] * 4),
        "p": pa.array([Decimal("1.50")] * 4, pa.decimal128(9, 2)),
    }
    late = put(tmp_path / "0.parquet", [second * SECOND_US for second in (10, 5, 11, 12)], **others)
    good = put(tmp_path / "1.parquet", [20 * SECOND_US] * 4, **others)
    admission = Admission(stream, SINCE_NINE, 0, is_text=False)
    parts = refused_in(stream, [late, good], admission.terms)
    files = SideFiles(tmp_path / "home", 7)

    assert set_aside_on_arrays(admission, parts, {LATE}, files) == {LATE}

    rows = pq.read_table(files.path(LATE))
    assert files.path(LATE).name == "tick-00000007.parquet"
    assert rows.schema.names == ["Ts", "host", "x", "p"]
    assert [field.type for field in rows.schema] == [c.type.arrow for c in stream.columns]
    time = datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert rows.to_pylist() == [{"Ts": time, "host": None, "x": 0.5, "p": Decimal("1.50")}]
    assert [path.name for path in files.path(LATE).parent.iterdir()] == ["tick-00000007.parquet"]


def test_records_say_why(tmp_path: Path) -> None:
    stream = stream_of("parquet", Ts="TIMESTAMP", host="STRING", n="INT")
    hosts, numbers = pa.array(['say "hi"', "b", "c"]), pa.array([None, 1, 2], pa.int32())
    path = put(tmp_path / "0.parquet", [None, LATEST_US + 1, 5], host=hosts, n=numbers)
    admission = Admission(stream, Terms(), 0, is_text=False)
    files = SideFiles(tmp_path / "home", 1)
    parts = refused_in(stream, [path], admission.terms)
    assert set_aside_on_arrays(admission, parts, {MALFORMED}, files) == {MALFORMED}
    assert pq.read_table(files.path(MALFORMED)).to_pylist() == [
        {"record": '{"host":"say \\"hi\\""}', "reason": "no event time"},
        {
            "record": '{"Ts":"+38504-08-17T21:30:06.846Z","host":"b","n":1}',
            "reason": "event time out of range",
        },
    ]
    files.clear()
    assert not files.path(MALFORMED).exists()


def test_lines_are_set_aside_too(tmp_path: Path) -> None:
    stream = stream_of("csv", Ts="TIMESTAMP", host="STRING", n="INT")
    path = tmp_path / "0.csv"
    path.write_text("1970-01-01 00:00:05,a,1\n,b,\n1970-01-01 00:00:10,c,3\n")
    admission = Admission(stream, SINCE_NINE, 0, is_text=True)
    files = SideFiles(tmp_path / "home", 1)
    parts = refused_in(stream, [path], admission.terms)
    assert set_aside_on_arrays(admission, parts, BOTH, files) == BOTH
    assert pq.read_table(files.path(LATE)).column("host").to_pylist() == ["a"]
    (record,) = pq.read_table(files.path(MALFORMED)).to_pylist()
    assert record == {"record": '{"host":"b"}', "reason": "no event time"}


def test_what_is_not_plain_is_left_to_catalyst(tmp_path: Path) -> None:
    stream = stream_of("parquet", Ts="TIMESTAMP", x="DOUBLE")
    path = put(tmp_path / "0.parquet", [None, 5], x=pa.array([0.5, 0.25]))
    admission = Admission(stream, SINCE_NINE, 0, is_text=False)
    parts = refused_in(stream, [path], admission.terms)
    files = SideFiles(tmp_path / "home", 1)
    assert set_aside_on_arrays(admission, parts, BOTH, files) == {LATE}
    assert pq.read_table(files.path(LATE)).column("x").to_pylist() == [0.25]
    assert not files.path(MALFORMED).exists()
    other = replace(admission, stream=stream_of("parquet", Ts="TIMESTAMP", x="BIGINT"))
    assert set_aside_on_arrays(other, parts, BOTH, files) == frozenset()


@pytest.mark.parametrize(
    ("kind", "is_plain"),
    [
        *(("TINYINT", True), ("BIGINT", True), ("STRING", True), ("BOOLEAN", True), ("DATE", True)),
        *(("TIMESTAMP", True), ("DECIMAL(12,6)", True), ("DECIMAL(12,7)", False)),
        *(("FLOAT", False), ("DOUBLE", False), ("BINARY", False), ("ARRAY<INT>", False)),
    ],
)
def test_types_of_plain_records(kind: str, is_plain: bool) -> None:
    assert is_plain_record([ColumnDef("x", parse_type(kind))]) == is_plain


def test_records_are_written_as_java_writes_them() -> None:
    days, micros = [0, -719_529, 2_932_897], [-1, 1_709_294_400_123_999, None]
    rows = pa.table(
        {
            "b": [True, False, None],
            "d": pa.array(days, pa.int32()).cast(pa.date32()),
            "t": pa.array(micros, pa.timestamp("us", "UTC")),
            "p": pa.array([Decimal("0.000000"), Decimal("-0.000001"), None], pa.decimal128(12, 6)),
            "q": pa.array([Decimal("0.00"), None, Decimal("-12.50")], pa.decimal128(9, 2)),
            "s": ["\x00\x1f\n\x7f", "ä\\/😀", ""],
        }
    )
    kinds = ("BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL(12,6)", "DECIMAL(9,2)", "STRING")
    columns = [ColumnDef(n, parse_type(k)) for n, k in zip(rows.column_names, kinds, strict=True)]
    assert json_records(rows, columns) == [
        '{"b":true,"d":"1970-01-01","t":"1969-12-31T23:59:59.999Z","p":0.000000,'
        '"q":0.00,"s":"\\u0000\\u001F\\n\x7f"}',
        '{"b":false,"d":"-0001-12-31","t":"2024-03-01T12:00:00.123Z","p":-0.000001,"s":"ä\\\\/😀"}',
        '{"d":"+10000-01-01","q":-12.50,"s":""}',
    ]
