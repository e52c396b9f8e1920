"""Tables of plain files: arrays read what Spark reads, and leave to Spark what they cannot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill.catalog.definitions import Table, table_of
from tidemill.errors import TidemillError
from tidemill.language import parse_script
from tidemill.language.statements import CreateTable
from tidemill.spark.on_demand import AskSession
from tidemill.spark.tables import read_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = {
    "Id": "INT",
    "name": "STRING",
    "big": "BIGINT",
    "x": "DOUBLE",
    "price": "DECIMAL(12, 2)",
    "at": "TIMESTAMP",
    "day": "DATE",
    "yes": "BOOLEAN",
}
NOON = datetime(1969, 12, 31, 12, tzinfo=UTC)
STORED: Mapping[str, pa.Array] = {
    "id": pa.array([1, 2, None], pa.int32()),
    "name": pa.array(["ä", None, ""]).dictionary_encode(),
    "Big": pa.array([2**63 - 1, -(2**63), None]),
    "x": pa.array([-0.0, float("nan"), float("inf")]),
    "price": pa.array([Decimal("1.25"), Decimal("-9999999999.99"), None], pa.decimal128(12, 2)),
    "at": pa.array([NOON, None, NOON], pa.timestamp("ms", "UTC")),
    "day": pa.array([0, -1, None], pa.int32()).cast(pa.date32()),
    "yes": pa.array([True, None, False]),
    "beside": pa.array([1, 2, 3]),
}
HEADER = ",".join(KINDS)
LINES = f"""{HEADER}
1,日本,9223372036854775807,1.5,1.25,2026-01-01T00:00:00Z,2026-01-01,true
,, -3,-0.0,,2026-01-01 00:00:00.5,,
"""
PLAIN = {
    "all kinds": f"{HEADER}\n1,日本,9223372036854775807,-1.5e3,1.25,2026-01-01T00:00:00Z"
    ",1969-12-31,true\n,,,,,,,\n-2, b ,-7,0.5,-0.10,1969-12-31T23:59:59.5Z,2026-01-01,false\n",
    "times without a zone": f"{HEADER}\n1,a,1,1,1,2026-01-01 00:00:00,2026-01-01,true",
    "a header alone": f"{HEADER}\n",
}
ODD = {
    "quotes": f'{HEADER}\n1,"a,b",1,1,1,2026-01-01 00:00:00,2026-01-01,true\n',
    "a value with space": LINES,
    "a number that is none": f"{HEADER}\n1,a,one,1,1,2026-01-01 00:00:00,2026-01-01,true\n",
    "a value too few": f"{HEADER}\n1,a,1,1,1,2026-01-01 00:00:00,2026-01-01\n",
    "another header": f"{HEADER.replace('big', 'bog')}\n",
}


ARRAYS, SPARK = "auto", "catalyst"


def declared(path: Path, options: str = "") -> Table:
    columns = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
    source = f"{path.suffix[1:]}:{path}{options}"
    (statement,) = parse_script(f"CREATE TABLE t ({columns}) SOURCE '{source}'")
    assert isinstance(statement, CreateTable)
    return table_of(statement)


def no_spark(reason: str = "") -> NoReturn:
    pytest.fail(f"Spark was asked for: {reason}")


def asking(spark: SparkSession, asked: list[str] | None = None) -> AskSession:
    """Notes what Spark is asked for."""
    reasons = [] if asked is None else asked

    def ask(reason: str = "") -> SparkSession:
        reasons.append(reason)
        return spark

    return ask


def values(rows: pa.Table) -> list[tuple[str, str]]:
    """By column, with the signs of zeros and the names of NaNs."""
    return [(name, repr(rows.column(name).to_pylist())) for name in rows.column_names]


def same(rows: pa.Table, others: pa.Table) -> bool:
    types = [field.type for field in rows.schema] == [field.type for field in others.schema]
    return types and values(rows) == values(others)


@pytest.mark.parametrize("stored", ["rows", "no rows"])
def test_parquet_is_read_as_spark_reads_it(
    spark: SparkSession, tmp_path: Path, stored: str
) -> None:
    rows = pa.table(STORED)
    pq.write_table(rows if stored == "rows" else rows.slice(0, 0), tmp_path / "t.parquet")
    table = declared(tmp_path / "t.parquet")
    read = read_table(no_spark, table, ARRAYS, None)
    assert read.column_names == list(KINDS)
    assert len(read) == (3 if stored == "rows" else 0)
    assert same(read, read_table(asking(spark), table, SPARK, None))


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_lines_are_read_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "t.csv").write_text(PLAIN[kind], encoding="utf-8")
    table = declared(tmp_path / "t.csv", "?header=true")
    read = read_table(no_spark, table, ARRAYS, None)
    assert len(read) == len(PLAIN[kind].splitlines()) - 1
    assert same(read, read_table(asking(spark), table, SPARK, None))


@pytest.mark.parametrize("kind", ODD)
def test_odd_lines_are_left_to_spark(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    (tmp_path / "t.csv").write_text(ODD[kind], encoding="utf-8")
    table, asked = declared(tmp_path / "t.csv", "?header=true"), list[str]()

    told = [outcome(asking(spark, asked), table, setting) for setting in (ARRAYS, SPARK)]
    assert told[0] == told[1]
    assert asked == ["table t"] * 2


def outcome(ask: AskSession, table: Table, scan_setting: str) -> object:
    try:
        return values(read_table(ask, table, scan_setting, None))
    except TidemillError as error:
        return error.as_dict()


def test_parquet_of_other_types_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Nanoseconds and wider integers are not what is declared: Spark takes or refuses them."""
    other = {**STORED, "id": pa.array([1, 2, 2**40])}
    pq.write_table(pa.table(other), tmp_path / "t.parquet")
    table = declared(tmp_path / "t.parquet")
    told = [outcome(asking(spark), table, setting) for setting in (ARRAYS, SPARK)]
    assert told[0] == told[1]
    with pytest.raises(pytest.fail.Exception, match="table t"):
        read_table(no_spark, table, ARRAYS, None)
