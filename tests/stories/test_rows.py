"""Queries without a window: the rows that leave equal Spark batch SQL over the rows that counted.

Both routes, joins with tables, lines that do not parse, and windows over the same stream beside.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stories.streams import (
    LATENESS_US,
    NOON_US,
    SECOND_US,
    STREAM,
    Row,
    cut,
    random_row,
    table_of,
    write_files,
)
from tidemill.engine import Engine
from tidemill.reference.rows import leaving_rows
from tidemill.spark.jobs import LIMITS, Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE owners (ok STRING, owner STRING) SOURCE 'parquet:owners';
CREATE TABLE groups (gg INT, label STRING, low INT) SOURCE 'parquet:groups';
CREATE STREAM j (ts TIMESTAMP, k STRING, m INT, all_m ARRAY<INT>, pair STRUCT<a: INT, b: STRING>,
  counts MAP<STRING, INT>) ORDER BY ts SOURCE 'json:lines'
  WITH (lateness = '5 seconds');
CREATE STREAM few AS SELECT * FROM s WHERE m > 3 OR g = 1;
CREATE STREAM big AS SELECT k, ts AS at, m * 2L AS twice, owner FROM few LEFT JOIN owners ON k = ok
  WHERE k <> 'a' OR k IS NULL;
"""
BIG = """
SELECT k, ts AS at, m * 2L AS twice, owner, ts, arrived FROM s LEFT JOIN owners ON k = ok
WHERE (m > 3 OR g = 1) AND (k <> 'a' OR k IS NULL)
"""


@dataclass(frozen=True)
class RowCase:
    """A query without a window, and what batch SQL selects and from where."""

    name: str
    select: str
    batch: str = ""
    rest: str = "FROM s"
    ordered: bool = False
    odd: bool = False  # not to be had from arrays
    time: str = "ts"
    batch_rest: str = ""

    @property
    def create(self) -> str:
        order = f" ORDER BY {self.time}" if self.ordered else ""
        return f"CREATE QUERY {self.name} INTO out AS SELECT {self.select} {self.rest}{order};"


CASES = (
    RowCase("everything", "*"),
    RowCase("renamed", "m AS mm, ts, k", rest="FROM s WHERE m > 30 OR k IS NULL"),
    RowCase("nothing", "k, n", rest="FROM s WHERE m > 30 AND m < 5"),
    RowCase("qualified", "p.k, p.w AS wide", rest="FROM s AS p WHERE p.g IN (1, 2)"),
    RowCase("in_order", "*", rest="FROM s WHERE b OR b IS NULL", ordered=True),
    RowCase("partners", "n, owner, ts", rest="FROM s JOIN owners ON k = ok WHERE g > 0"),
    RowCase("with_groups", "k, label, low", rest="FROM s LEFT JOIN groups ON g = gg", ordered=True),
    RowCase("computed", "ts, g + 1 AS h, UPPER(name) AS loud, n", odd=True),
    RowCase(
        "raising",
        "m / g AS ratio, CAST(name AS INT) AS number, k",
        "TRY_DIVIDE(m, g) AS ratio, TRY_CAST(name AS INT) AS number, k",
        "FROM s WHERE d IS NOT NULL",
        odd=True,
    ),
    # On arrays; m + 1 is more than an INT has room for now and then.
    RowCase(
        "on_arrays",
        "g + 1 AS h, x - 1.5 AS less, b OR m > 50 AS flag, 5 AS five, m + 1 AS next",
        "g + 1 AS h, x - 1.5 AS less, b OR m > 50 AS flag, 5 AS five, TRY_ADD(m, 1) AS next",
        "FROM s WHERE d IS NOT NULL",
    ),
    # What raises here is a column of another query, which takes other rows.
    RowCase(
        "tested",
        "k, n",
        rest="FROM s WHERE m / g > 1",
        batch_rest="FROM s WHERE TRY_DIVIDE(m, g) > 1",
        odd=True,
    ),
    RowCase(
        "later", "m * 2L AS twice, at", rest="FROM s WHERE LENGTH(name) > 1", ordered=True, odd=True
    ),
    RowCase(
        "near", "low - m AS d", "low - m AS d", "FROM s JOIN groups ON g = gg AND low < m", odd=True
    ),
    RowCase(
        "of_stream",
        "at, twice, k, owner",
        rest="FROM big WHERE twice < 150",
        time="at",
        ordered=True,
    ),
    RowCase("of_lines", "*", rest="FROM j", ordered=True),
    RowCase("few_lines", "k, m - 1 AS before", rest="FROM j WHERE k LIKE 'a%' OR m > 50"),
)
EXPLAINED = ("in_order", "on_arrays", "raising")
MOST = 2**31 - 1


def _write(folder: Path) -> tuple[list[list[Row]], list[list[Row]]]:
    """Rows of both streams as they come, file by file; some are late, some have no time."""
    rng = random.Random(14)
    # Seconds back and forth, many of them equal, and further back than the lateness now and then.
    steps = (rng.choice((0, 0, 1, -2, -4)) for _ in range(400))
    times = [NOON_US + (n // 4 + step) * SECOND_US for n, step in enumerate(steps)]
    times[50::45] = [NOON_US] * len(times[50::45])
    rows = [random_row(rng, t) for t in times]
    for row in rows[7::60]:
        row["ts"] = None
    write_files(folder / "in", files := cut(rows, 5))
    pq.write_table(
        pa.table({"ok": ["a", "a", "b", None, "z"], "owner": ["x", "y", None, "n", "z"]}),
        _made(folder / "owners") / "o.parquet",
    )
    groups = {"gg": pa.array([-3, 0, 1, 2], pa.int32()), "label": ["l", "m", "n", None]}
    low = pa.array([5, 0, 20, None], pa.int32())
    pq.write_table(pa.table(groups | {"low": low}), _made(folder / "groups") / "g.parquet")
    lines = cut(
        [{"ts": t, "k": r["k"], "m": r["m"], "n": 0} for t, r in zip(times, rows, strict=True)], 4
    )
    for number, part in enumerate(lines):
        path = _made(folder / "lines") / f"part-{number}.json"
        path.write_text("".join(map(_line, part)))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return files, lines


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _line(row: Row) -> str:
    ts = datetime.fromtimestamp(row["ts"] / SECOND_US, UTC).isoformat()
    bad = "{oops\n" if row["m"] == 7 else ""
    return bad + json.dumps({"ts": ts, "k": row["k"], "m": row["m"], **_nested(row)}) + "\n"


def _nested(row: Row) -> Row:
    m, k = row["m"], row["k"]
    return {"all_m": [m, 1], "pair": {"a": m, "b": k}, "counts": {"x": m}}


def _counted(files: Sequence[Sequence[Row]]) -> tuple[list[Row], int]:
    """Rows that count, in the order they come, and how many are late."""
    timed = [[(row["ts"], row) for row in rows if row["ts"] is not None] for rows in files]
    ticks = leaving_rows(timed, LATENESS_US)
    return [row for tick in ticks for row in tick.at_once], sum(tick.late for tick in ticks)


def _batch(spark: SparkSession, case: RowCase) -> list[str]:
    """In the order of time, and then as they came."""
    rest = case.batch_rest or case.rest
    inner = f"SELECT {case.batch or case.select}, ts AS sorted_ts, arrived {rest}"
    star = inner.replace("*, ts AS sorted_ts, arrived", "*, ts AS sorted_ts")
    sql = f"SELECT * EXCEPT (sorted_ts, arrived) FROM ({star}) ORDER BY sorted_ts, arrived"
    rows = spark.sql(sql).toArrow().to_pylist()
    return [repr(list(row.values())) for row in rows]


def _views(spark: SparkSession, folder: Path, rows: list[Row], lines: list[Row]) -> None:
    for name, table in (("s", table_of(rows)), ("j", table_of_lines(lines))):
        arrived = pa.array(range(len(table)), pa.int64())
        spark.createDataFrame(table.append_column("arrived", arrived)).createOrReplaceTempView(name)
    for name in ("owners", "groups"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    spark.sql(BIG).createOrReplaceTempView("big")


def table_of_lines(rows: list[Row]) -> pa.Table:
    """With the columns of lines and no others."""
    plain = table_of([random_row(random.Random(1), NOON_US) | row for row in rows])
    types = {
        "all_m": pa.list_(pa.int32()),
        "pair": pa.struct([("a", pa.int32()), ("b", pa.string())]),
        "counts": pa.map_(pa.string(), pa.int32()),
    }
    nested = [pa.array([_nested(row)[name] for row in rows], kind) for name, kind in types.items()]
    columns = [*plain.select(["ts", "k", "m"]).columns, *nested]
    return pa.table(columns, ["ts", "k", "m", *types])


@pytest.mark.parametrize("scan", ["auto", "catalyst", "catalyst in jobs"])
def test_rows_equal_batch_sql(
    spark: SparkSession, tmp_path: Path, scan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scan.endswith("jobs"):
        monkeypatch.setitem(LIMITS, "picked_rows", Limits(0, 0))
    files, lines = _write(tmp_path)
    rows, late = _counted(files)
    counted_lines, late_lines = _counted(lines)
    _views(spark, tmp_path, rows, counted_lines)
    seen: list[pa.Table] = []
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"SET scan = '{scan.split()[0]}';{STREAM}{TABLES}", tmp_path)
        engine.sql("".join(case.create for case in CASES))
        engine.sql(
            "CREATE QUERY n AS SELECT COUNT(*) AS n FROM s [RANGE 9 SECONDS SLIDE 9 SECONDS]"
        )
        engine.query("renamed").subscribe(seen.append)
        report = engine.run("flush")
        answers = {case.name: engine.query(case.name).answers().to_arrow() for case in CASES}
        windows = engine.query("n").answers().to_arrow()
        plans = [engine.sql(f"EXPLAIN SPARK QUERY {name}")[0] for name in EXPLAINED]
    for plan in plans[:2]:
        assert ("arrays pick the rows" in plan) == (scan == "auto")
    assert "Spark picks the rows by the plan below, not arrays: " in plans[2]
    assert all("Physical Plan" in plan for plan in plans)
    untimed = sum(row["ts"] is None for part in files for row in part)
    bad = sum(row["m"] == 7 for part in lines for row in part)
    assert (late, untimed, late_lines, bad) > (5, 5, 5, 5)
    assert report.streams["s"]["rows_in"] == sum(map(len, files))
    assert report.streams["j"]["rows_in"] == sum(map(len, lines)) + bad
    assert (report.streams["s"]["rows_late"], report.streams["j"]["rows_late"]) == (
        late,
        late_lines,
    )
    assert report.streams["s"]["rows_malformed"] == untimed
    assert sum(windows.column("n").to_pylist()) == len(rows)
    for case in CASES:
        delivered = [repr(list(row.values())) for row in answers[case.name].to_pylist()]
        expected = _batch(spark, case)
        assert report.queries[case.name] == len(expected) == len(delivered), case.name
        if case.ordered and case.name not in ("with_groups",):
            assert delivered == expected, case.name
        assert Counter(delivered) == Counter(expected), case.name
    assert {case.name for case in CASES if not report.queries[case.name]} == {"nothing"}
    assert pa.concat_tables(seen).sort_by("ts").equals(answers["renamed"].sort_by("ts"))
    passed = [row for row in rows if row["d"] is not None]
    assert report.raised["raising"] == _raising(passed)
    assert report.raised["on_arrays"] == sum(row["m"] == MOST for row in passed) > 2
    assert report.raised["tested"] == sum(row["g"] == 0 and row["m"] is not None for row in rows)
    told = ("raising", "on_arrays", "tested", "near")
    assert sum(report.raised.values()) == sum(report.raised.get(name, 0) for name in told)


def _raising(passed: list[Row]) -> int:
    """Values of rows that leave which Spark would have raised on."""
    by_zero = [row for row in passed if row["g"] == 0 and row["m"] is not None]
    return len(by_zero) + len([row for row in passed if row["name"] is not None])
