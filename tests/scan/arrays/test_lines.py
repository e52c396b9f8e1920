"""CSV on arrays: what is read at all is read as Spark reads it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.scan.arrays.rows import COLUMNS
from tests.stories.oracle import plain_values
from tidemill.connect.sources import Files
from tidemill.language.statements import ColumnDef
from tidemill.scan.arrays import lines
from tidemill.scan.arrays.lines import Dialect, NotPlainError, line_parts, read_lines
from tidemill.spark.catalyst.admission import CORRUPT
from tidemill.spark.readers import read_files
from tidemill.types import parse_type

TIMES = (
    *("2026-01-01 00:00:00", "2026-02-28T23:59:59.999999", "1969-12-31 23:59:59.5"),
    *("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1582-10-10 00:00:00"),
    *("2026-01-01 00:00:00Z", "2026-01-01T00:00:00.25Z", "2026-01-01 00:00:00+02:00"),
    *("2026-01-01", "2026-1-1 0:0:0", "2026-01-01 00:00", "2026-02-30 00:00:00", "noon"),
    *(" 2026-01-01 00:00:00", "2026-01-01 00:00:00 ", "2026-01-01 00:00:00.1234567"),
    *("2026-01-01 24:00:00", "2026-01-01 00:00:60", "12026-01-01 00:00:00", "1767225600", ""),
)
WHOLE: tuple[str, ...] = (
    "0",
    "7",
    "-7",
    "007",
    "-0",
    "127",
    "128",
    "-128",
    "2147483647",
    "2147483648",
    "",
)
WHOLE += ("-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808")
WHOLE += ("+7", " 7", "7 ", "0x1F", "7.0", "1e3", "-", "--7", "٣", "NULL", "7L", "1_000")
BROKEN: tuple[str, ...] = (
    "0.1",
    "-2.50",
    "1.",
    ".5",
    "-.5",
    "1e5",
    "1E-7",
    "1e400",
    "-1e-400",
    "1e40",
    "1e-46",
)
BROKEN += ("0.30000000000000004", "9007199254740993", "1.00000017881393432617187499", "123456.789")
BROKEN += ("NaN", "Inf", "-Inf", "Infinity", "nan", "+1.5", "1e+5", " 1.5", "1.5f", "0x1p3", ".")
VALUES: dict[str, tuple[str, ...]] = {
    "ts": TIMES,
    "k": (
        "a",
        "",
        " a ",
        "ä",
        "NULL",
        "0",
        "a\\b",
        'a"b',
        '"a"',
        "a\tb",
        "#",
        "'a'",
        "a\0b",
        "日本",
    ),
    "t": WHOLE,
    "n": WHOLE,
    "big": WHOLE,
    "flag": ("true", "FALSE", "True", "t", "1", "0", "yes", " true", "", "truetrue", "false"),
    "day": ("2026-01-01", "0001-01-01", "1582-10-10", "2026-1-1", "2026-01-01 00:00:00", "", "1"),
    "at": TIMES,
    "x": (*BROKEN, *WHOLE),
    "f": (*BROKEN, *WHOLE),
    "price": (*BROKEN, *WHOLE, "9999999999.99", "99999999999.00", "1.005", "1,5", "$1"),
}
PLAIN: tuple[str, ...] = (
    "2026-01-01 00:00:01",
    "a",
    "1",
    "2",
    "3",
    "true",
    "2026-01-02",
    TIMES[1],
    "1.5",
    "2.5",
)
PLAIN += ("9.25",)
KINDS = {name: parse_type(kind) for name, kind in COLUMNS.items()}
DIALECT = Dialect(tuple(KINDS.items()), ",", None)


def read(path: Path, dialect: Dialect = DIALECT, names: tuple[str, ...] = ()) -> pa.Table | None:
    """None if the file is left to Spark."""
    wanted = {name: KINDS[name] for name in names or KINDS}
    parts = line_parts([str(path)], dialect)
    try:
        return None if parts is None else pa.concat_tables(read_lines(parts, dialect, wanted))
    except (NotPlainError, pa.ArrowException):
        return None


def values_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Every value told apart from every other, and those of other types."""
    typed = [_values(table.column(name), kind) for name, kind in KINDS.items()]
    return list(zip(*typed, strict=True))


def _values(column: pa.ChunkedArray, kind: Any) -> list[str]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    else:
        assert column.type == kind.arrow
    return list(map(repr, plain_values(column)))


def put(path: Path, *rows: tuple[str, ...], end: str = "\n", sep: str = ",") -> Path:
    path.write_bytes("".join(sep.join(row) + end for row in rows).encode())
    return path


def one_odd_value(folder: Path) -> dict[str, tuple[str, str]]:
    """A file for every value: by file, the column and the value."""
    made = {}
    for place, (name, values) in enumerate(VALUES.items()):
        for number, value in enumerate(values):
            row = (*PLAIN[:place], value, *PLAIN[place + 1 :])
            path = put(folder / f"{name}-{number}.csv", PLAIN, row, PLAIN)
            made[path.name] = (name, value)
    return made


def random_files(folder: Path, count: int) -> None:
    """Many lines, whose values are mostly plain, with odd ends and lengths in between."""
    rng = random.Random(8)
    for number in range(count):
        row = [
            rng.choice((PLAIN[place], *values[:3])) for place, values in enumerate(VALUES.values())
        ]
        cut = rng.choice((len(row),) * 8 + (3, 0))
        drawn = [tuple(row[:cut]), PLAIN] * rng.randint(1, 3)
        put(folder / f"random-{number}.csv", *drawn, end=rng.choice(("\n",) * 8 + ("\r\n", "\n\n")))


def test_what_is_read_is_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    made = one_odd_value(tmp_path)
    random_files(tmp_path, 60)
    zoned = ("2026-01-01T00:00:00.25Z", *PLAIN[1:7], "1969-12-31 23:59:59Z", *PLAIN[8:])
    assert read(put(tmp_path / "zoned.csv", zoned, zoned)) is not None
    paths = sorted(map(str, tmp_path.iterdir()))
    columns = tuple(ColumnDef(name, parse_type(kind)) for name, kind in COLUMNS.items())
    frame = read_files(spark, Files("csv", tuple(paths), columns))
    rows = frame.selectExpr("*", "_metadata.file_name AS _file").toArrow()
    seen: Counter[str] = Counter()
    for path in map(Path, paths):
        theirs = rows.filter(pa.compute.equal(rows["_file"], path.name))
        ours = read(path)
        told = f"{path.name}: {made.get(path.name)}"
        if ours is None:
            seen["left to Spark"] += 1
            continue
        assert theirs.column(CORRUPT).null_count == len(theirs), told
        assert values_of(ours) == values_of(theirs), told
        seen[made[path.name][0] if path.name in made else "random"] += 1
    assert min(seen[name] for name in (*KINDS, "random")) >= 4
    assert seen["left to Spark"] > 100


def test_an_odd_value_in_a_column_that_nobody_wants(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", PLAIN, (*PLAIN[:3], "seven", *PLAIN[4:]))
    assert read(path, names=("ts", "k")) is None
    path = put(tmp_path / "b.csv", PLAIN, PLAIN)
    table = read(path, names=("ts", "k"))
    assert table is not None
    assert table.column_names == ["ts", "k"]


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("stretch", [1, 50, 101, 10_000])
def test_every_line_is_in_one_stretch(
    tmp_path: Path, stretch: int, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_STRETCH_BYTES", stretch)
    rows = [(*PLAIN[:2], str(n % 100), str(n), *PLAIN[4:]) for n in range(40)]
    path = put(tmp_path / "a.csv", *rows)
    path.write_bytes(path.read_bytes().rstrip(b"\n") + end.encode())
    parts = line_parts([str(path)], DIALECT)
    assert parts is not None
    assert (len(parts) > 1) == (stretch < 10_000)
    assert [sum(part.size for part in parts[:n]) for n in range(len(parts))] == [
        part.start for part in parts
    ]
    assert sum(part.rows for part in parts) >= 40
    table = read(path)
    assert table is not None
    assert table["n"].to_pylist() == list(range(40))


HEADED = Dialect(DIALECT.columns, ";", ";".join(KINDS))


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (f"{HEADED.header}\n{';'.join(PLAIN)}\n", 1),
        (f"{';'.join(PLAIN)}\n", None),
        (f"{HEADED.header}\r\n{';'.join(PLAIN)}\r\n", None),
        (f"\ufeff{HEADED.header}\n{';'.join(PLAIN)}\n", None),
        (f"ts;k\n{';'.join(PLAIN)}\n", None),
        ("", None),
    ],
)
def test_headers(tmp_path: Path, content: str, rows: int | None) -> None:
    (tmp_path / "a.csv").write_bytes(content.encode())
    table = read(tmp_path / "a.csv", HEADED)
    assert (None if table is None else len(table)) == rows


def test_a_file_of_a_header_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{HEADED.header}\n")
    assert line_parts([str(tmp_path / "a.csv")], HEADED) == ()


def test_compressed_files_are_left_to_spark(tmp_path: Path) -> None:
    assert line_parts([str(put(tmp_path / "a.csv.gz", PLAIN))], DIALECT) is None
