"""Exact aggregates beside DuckDB: each by itself, or read from counts of values where it can be."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from tests.stories.oracle import close, plain_values
from tests.stories.streams import STREAM, Row, cut, random_rows, table_of, write_files
from tidemill import Engine

# Arrays take neither texts nor decimals of some of these.
ORDERED = "m n x day b".split()
# What we call it, and what DuckDB does. NULL comes first and so is the least, as in Spark.
TERMS = {
    "COUNT(*)": "COUNT(*)",
    **{f"COUNT({c})": f"COUNT({c})" for c in ORDERED},
    **{f"{f}({c})": f"{f}({c})" for f in ("MIN", "MAX") for c in ORDERED},
    **{f"COUNT(DISTINCT {c})": f"COUNT(DISTINCT {c})" for c in ORDERED},
    "SUM(m)": "CAST(SUM(m) AS BIGINT)",
    **{f"{f}({c})": f"{f}({c})" for f in ("SUM", "AVG") for c in "xf"},
    "AVG(m)": "AVG(m)",
    **{f"{f}({c})": f"{f}({c})" for f in ("VARIANCE", "STDDEV", "VAR_POP") for c in "mxf"},
    "GEOMETRIC_MEAN(f)": "EXP(AVG(LN(f)) FILTER (WHERE f > 0))",
    "MEDIAN(m)": "QUANTILE_CONT(m, 0.5)",
    "PERCENTILE(x, 0.9)": "QUANTILE_CONT(x, 0.9)",
    **{f"FIRST({c})": f"FIRST({c} ORDER BY ts, {c} NULLS FIRST)" for c in ORDERED},
    **{f"LAST({c})": f"LAST({c} ORDER BY ts, {c} NULLS FIRST)" for c in ORDERED},
    **{
        f"{f}({c}) IGNORE NULLS": f"{f}({c} ORDER BY ts, {c}) FILTER (WHERE {c} IS NOT NULL)"
        for f in ("FIRST", "LAST")
        for c in ORDERED
    },
}
DUCK = """
SELECT s * 5000000, k, {}
FROM (SELECT *, UNNEST([p - 2, p - 1, p]) AS s
      FROM (SELECT *, EPOCH_US(ts) // 5000000 AS p FROM rows))
WHERE s * 5000000 + 12000000 > EPOCH_US(ts) GROUP BY s, k
"""


def finite_rows() -> list[Row]:
    """What DuckDB makes of NaN and infinities in sums and quantiles is not Spark's."""
    rows = random_rows(random.Random(11), "disordered", 240)
    usual = [row for row in rows if row["x"] is None or 0 < row["x"] <= 1e6]
    return [row for row in usual if row["f"] is None or row["f"] == row["f"]]


@pytest.mark.parametrize("sharing", ["shared", "none"])
def test_exact_aggregates_equal_duckdb(tmp_path: Path, sharing: str) -> None:
    rows = finite_rows()
    write_files(tmp_path / "in", cut(rows, 4))
    queries = [
        f"CREATE QUERY q{n} AS SELECT k, {sql} AS v"
        " FROM s [RANGE 12 SECONDS SLIDE 5 SECONDS] GROUP BY k;"
        for n, sql in enumerate(TERMS)
    ]
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"SET sharing = '{sharing}';" + STREAM + "".join(queries), tmp_path)
        lanes = {lane.sql for synopsis in engine.plan.synopses for lane in synopsis.lanes}
        assert ("min(m)" in lanes) == (sharing == "none")
        report = engine.run("flush")
        assert report.routes == {"columnar": 4}
        answers = [engine.query(f"q{n}").answers().to_arrow() for n in range(len(TERMS))]
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        duck.register("rows", table_of(rows))
        wanted = duck.sql(DUCK.format(", ".join(TERMS[sql] for sql in TERMS))).to_arrow_table()
    starts, keys, *columns = map(plain_values, wanted.columns)
    assert len(starts) > 100
    for sql, answer, column in zip(TERMS, answers, columns, strict=True):
        parts = map(plain_values, answer.drop(["window_end"]).columns)
        mine = {(start, key): value for start, key, value in zip(*parts, strict=True)}
        theirs = dict(zip(zip(starts, keys, strict=True), column, strict=True))
        assert mine.keys() == theirs.keys()
        apart = {key: (mine[key], theirs[key]) for key in mine if not close(mine[key], theirs[key])}
        assert not apart, sql
