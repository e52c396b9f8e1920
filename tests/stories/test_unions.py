"""Unions: answers equal Spark batch SQL over views of the same text, also through five kills.

Two sources with rows of their own and a stream of answers over a union; what reads them are
filters, renames, computed columns, joins with tables, unions of unions, and of one source with
itself.
"""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from tests.stories.derived import HUGE, OTHER, TEXT, TRUTH, WHOLE, Stream, random_queries
from tests.stories.oracle import compare_all
from tests.stories.streams import (
    COLUMNS,
    NOON_US,
    SECOND_US,
    STREAM,
    cut,
    random_row,
    random_rows,
    table_of,
    write_files,
)
from tests.stories.test_crash import command, delivered
from tests.stories.test_tables import TABLES, answers_of, write_tables
from tidemill.engine import Engine
from tidemill.types import parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHER_SOURCE = f"""
CREATE STREAM s2 ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in2' WITH (lateness = '5 seconds');
"""
# The types of members differ, and their columns have other names.
UNIONS = (
    Stream(
        "plain",
        "ts",
        {"k": TEXT, "m": WHOLE, "b": TRUTH},
        "SELECT ts, k, m, b FROM s UNION ALL SELECT ts, name, g, m > 3 FROM s2 WHERE m > -20",
    ),
    Stream(
        "wide",
        "at",
        {"k": TEXT, "v": HUGE, "w": OTHER, "x": OTHER},
        "SELECT k, ts AS at, m AS v, d AS w, f AS x FROM s WHERE b"
        " UNION ALL SELECT name, ts, n, CAST(g AS DECIMAL(20,1)), x FROM s2"
        " UNION ALL SELECT UPPER(k), ts, g, d, m FROM s",
    ),
    Stream(
        "twice",
        "ts",
        {"k": TEXT, "m": WHOLE},
        "SELECT ts, k, m FROM s UNION ALL SELECT ts, k, m FROM s UNION ALL SELECT ts, k, m FROM s",
    ),
    Stream(
        "owned",
        "ts",
        {"who": TEXT, "m": WHOLE, "city": TEXT},
        "SELECT ts, owner AS who, m, 'one' AS city FROM s JOIN owners ON k = ok"
        " UNION ALL SELECT ts, name, m, 'two' FROM s2 WHERE g <> 0",
    ),
    Stream(
        "nested",
        "t",
        {"who": TEXT, "bits": WHOLE},
        "SELECT who, ts AS t, CAST(m AS BIGINT) * 8 AS bits FROM owned WHERE m IS NOT NULL"
        " UNION ALL SELECT k, ts, m + 1L FROM plain WHERE k <> 'a'",
    ),
    Stream(
        "halves",
        "t",
        {"who": TEXT, "half": OTHER, "bits": WHOLE},
        "SELECT bits, who, t, bits / 2 AS half FROM nested WHERE bits > 0 OR who = 'b'",
    ),
)


def test_answers_equal_batch_over_views(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(5)
    rows, others = random_rows(rng, "disordered", 150), random_rows(rng, "disordered", 120)
    write_files(tmp_path / "in", cut(rows, 3))
    write_files(tmp_path / "in2", cut(others, 4))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    spark.createDataFrame(table_of(others)).createOrReplaceTempView("s2")
    write_tables(tmp_path, spark, rng, unique=False)
    cases = list(random_queries(rng, UNIONS, 2))
    with Engine(tmp_path / "home") as engine:
        engine.sql("\n".join([STREAM, OTHER_SOURCE, TABLES]), tmp_path)
        for union in UNIONS:
            spark.sql(union.view)
            engine.sql(union.create)
            bound = engine._registry.binder.stream(union.name, engine.catalog).face
            schema = spark.table(union.name).schema
            assert [parse_type(f.dataType.simpleString()) for f in schema] == [
                column.type for column in bound.columns
            ]
            assert [f.name for f in schema] == [column.name for column in bound.columns]
        engine.sql("\n".join(case.create("out") for case in cases))
        report = engine.run("flush")
        answers = answers_of(engine, cases)
    assert (report.rows_in, report.rows_late) == (len(rows) + len(others), 0)
    assert not any(report.raised.values())
    compared = compare_all(spark, cases, answers)
    assert compared == sum(report.queries.values())
    assert compared > 5 * len(cases)


DEATHS = (
    *(("deliver", 2), ("answer", 3), ("decide", 4)),
    *(("fold", 5), ("admit", 6)),
)
SUMS = f"""
SET tick_files = 1;
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:../in' WITH (lateness = '2 seconds');
CREATE STREAM s2 ({COLUMNS}) ORDER BY ts SOURCE 'parquet:../in2' WITH (lateness = '2 seconds');
CREATE SINK rows TO 'parquet:rows';
CREATE SINK lines TO 'json:lines.json';
CREATE STREAM both AS SELECT ts, k, g AS v FROM s UNION ALL SELECT ts, k, g FROM s2 WHERE g >= 0;
CREATE STREAM seconds AS SELECT k, SUM(v) AS v FROM both [RANGE 1 s SLIDE 1 s] GROUP BY k;
CREATE STREAM mixed AS SELECT window_time AS t, k, v FROM seconds
  UNION ALL SELECT ts, k, CAST(v AS BIGINT) FROM both;
CREATE QUERY of_sums INTO rows AS SELECT k, SUM(v) AS v FROM seconds [RANGE 10 s SLIDE 10 s]
  GROUP BY k HAVING SUM(v) IS NOT NULL;
CREATE QUERY plain INTO rows AS SELECT k, SUM(v) AS v FROM both [RANGE 10 s SLIDE 10 s]
  GROUP BY k HAVING SUM(v) IS NOT NULL;
CREATE QUERY doubled INTO rows AS SELECT k, SUM(v) AS v FROM mixed [RANGE 10 s SLIDE 10 s]
  GROUP BY k HAVING SUM(v) IS NOT NULL;
CREATE QUERY in_order INTO lines AS SELECT ts, k, v FROM both ORDER BY ts;
CREATE QUERY alone INTO lines AS SELECT COUNT(*) AS c FROM s [RANGE 5 s SLIDE 5 s];
"""


def test_sums_of_sums_over_a_union_equal_plain_sums_through_five_kills(tmp_path: Path) -> None:
    rng, files = random.Random(11), 8
    for name, every in (("in", 1), ("in2", 2)):
        times = [NOON_US + n * every * SECOND_US // 3 for n in range(30 * files // every)]
        write_files(tmp_path / name, cut([random_row(rng, t) for t in times], files))
    for place in ("whole", "cut"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "script.sql").write_text(SUMS)
    script = tmp_path / "cut" / "script.sql"
    for step, tick in DEATHS:
        process = command(script, "--once", failpoint=f"{step}:{tick}")
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    with Engine(tmp_path / "cut" / ".tidemill" / "script") as engine:
        engine.run("flush")
    with Engine(tmp_path / "whole" / ".tidemill") as engine:
        engine.sql(SUMS, script.parent.parent / "whole")
        report = engine.run("flush")
        by_query = {
            name: sorted(map(repr, engine.query(name).answers().to_arrow().to_pylist()))
            for name in ("plain", "of_sums", "doubled")
        }
        twice = engine.query("doubled").answers().to_arrow().to_pylist()
        once = engine.query("plain").answers().to_arrow().to_pylist()
    assert report.streams["s"]["rows_in"] == 30 * files
    assert report.streams["s2"]["rows_in"] == 15 * files
    assert by_query["plain"] == by_query["of_sums"]
    assert len(once) > 20
    sums = {(a["window_start"], a["k"]): a["v"] for a in once}
    assert {(a["window_start"], a["k"]): a["v"] for a in twice} == {
        key: 2 * value for key, value in sums.items()
    }
    assert delivered(script.parent) == delivered(tmp_path / "whole")
    lines = (tmp_path / "whole" / "lines.json").read_text().splitlines()
    again = (tmp_path / "cut" / "lines.json").read_text().splitlines()
    ordered = [line for line in lines if json.loads(line)["query"] == "in_order"]
    assert [line for line in again if json.loads(line)["query"] == "in_order"] == ordered
    times = [json.loads(line)["ts"] for line in ordered]
    assert times == sorted(times)
    assert len(times) > 30 * files
