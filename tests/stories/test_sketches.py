"""Sketches made by Spark and on arrays are one kind of thing, and answers keep their bounds.

Spark's bytes are read, merged with sketches made here from the same values, and must not count
any of them twice. Then a stream large enough to be estimated is answered by either scan, and
every answer compared with the truth. What few rows give is compared with batch SQL elsewhere.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.aggregates.estimating import told_of_all
from tidemill.aggregates import lane_of_kind
from tidemill.aggregates.sketches import KllLane, SketchLane
from tidemill.aggregates.sketches.keys import keys_of
from tidemill.engine import Engine
from tidemill.plan.expressions import Scalar
from tidemill.types import parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES: dict[str, list[Any]] = {
    "INT": [None, *range(-50, 900)],
    "BIGINT": [None, 2**63 - 1, -(2**63), *range(700)],
    "STRING": [None, "", "ä", "日本", *(f"v{n}" for n in range(800))],
    "BOOLEAN": [None, True, False],
    "DATE": [None, *(date.fromordinal(719_000 + n) for n in range(600))],
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("sketch", ["hll", "theta", "items"])
def test_sketches_of_spark_and_of_python_are_alike(
    spark: SparkSession, kind: str, sketch: str
) -> None:
    of, values = parse_type(kind), VALUES[kind]
    lane = lane_of_kind(sketch, Scalar("x", "x", of, ("x",)), parameters=(12,))
    assert isinstance(lane, SketchLane)
    family: Any = lane.family
    (lifted,) = lane.lift_sql(["x"], "")
    rows = pa.table({"x": pa.array(values, of.arrow)})
    frame = spark.createDataFrame(rows)
    (row,) = frame.selectExpr(f"{lifted} AS s").collect()
    keys = [key for key in keys_of(rows.column("x").combine_chunks(), of) if key is not None]
    mine = family.make(keys, [1] * len(keys))
    both = family.merged([bytes(row["s"]), mine])
    if sketch == "items":
        found = family.read(both)
        assert dict(zip(found.values, found.counts, strict=True)) == dict.fromkeys(keys, 2)
        assert not found.missed
        return
    wanted = told_of_all("APPROX_COUNT_DISTINCT(k)", [mine], lane)
    assert abs(wanted[0] - len(set(keys))) <= 0.05 * len(keys)
    for cells in ([both], [bytes(row["s"]), mine]):
        assert told_of_all("APPROX_COUNT_DISTINCT(k)", cells, lane) == wanted
    # A sketch with registers takes in what Spark has, a table with empty places in it.
    more = family.make(range(10**6, 10**6 + 3000), [])
    wanted = told_of_all("APPROX_COUNT_DISTINCT(k)", [family.merged([mine, more])], lane)
    merged = family.merged([bytes(row["s"]), more])
    for cells in ([merged], [bytes(row["s"]), more]):
        assert told_of_all("APPROX_COUNT_DISTINCT(k)", cells, lane) == wanted


def test_percentiles_of_spark_and_of_python_are_alike(spark: SparkSession) -> None:
    lane = KllLane(Scalar("x", "x", parse_type("DOUBLE"), ("x",)), parameters=(200,))
    family, (lifted,) = lane.family, lane.lift_sql(["x"], "")
    (row,) = spark.sql(
        f"SELECT {lifted} AS s FROM (SELECT id / 10.0 AS x FROM RANGE(90) UNION ALL "
        "SELECT EXPLODE(ARRAY(DOUBLE('NaN'), NULL, DOUBLE('Infinity'))))"
    ).collect()
    both = family.merged([bytes(row["s"]), family.of(np.arange(90) / 10.0)])
    assert family.read(both).n == 181
    for cells in ([both], [bytes(row["s"]), family.of(np.arange(90) / 10.0)]):
        assert told_of_all("APPROX_PERCENTILE(x, 0.5)", cells) == (4.5, 4.5, 4.5)
        assert told_of_all("APPROX_PERCENTILE(x, 1.0)", cells) == (float("inf"),) * 3
    (empty,) = spark.sql(f"SELECT {lifted} AS s FROM (SELECT DOUBLE(NULL) AS x)").collect()
    assert told_of_all("APPROX_PERCENTILE(x, 0.5)", [bytes(empty["s"])]) is None


ROWS, TICKS, SECOND_US = 60_000, 3, 1_000_000
QUERY = """
CREATE QUERY q AS
SELECT g, COUNT(*) AS n,
       APPROX_COUNT_DISTINCT(host, error => 0.05) AS hosts,
       APPROX_COUNT_DISTINCT(id, error => 0.05, method => 'theta') AS ids,
       APPROX_PERCENTILE(size, 0.9, error => 0.05) AS large,
       APPROX_TOP_K(id, 3, error => 0.05) AS top,
       APPROX_COUNT(id, 1, error => 0.05) AS ones
FROM s [RANGE 20 s SLIDE 7 s] GROUP BY g;
"""


def stream_rows() -> dict[str, Any]:
    dice = np.random.default_rng(4)
    ids = dice.zipf(1.2, ROWS) % 5000
    return {
        "ts": np.sort(dice.integers(0, 60 * SECOND_US, ROWS)),
        "g": dice.integers(0, 3, ROWS).astype(np.int32),
        "id": ids,
        "host": [f"h{n}" for n in (ids * 7919 + dice.integers(0, 3, ROWS)).tolist()],
        "size": dice.lognormal(5, 2, ROWS),
    }


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return stream_rows()


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_answers_keep_their_bounds(
    spark: SparkSession, tmp_path: Path, rows: dict[str, Any], scan: str
) -> None:
    write(tmp_path / "in", rows)
    with Engine(tmp_path / "home") as engine:
        engine.sql(
            f"SET scan = '{scan}'; SET tick_files = 1; CREATE STREAM s (ts TIMESTAMP, g INT,"
            " id BIGINT, host STRING, size DOUBLE) ORDER BY ts SOURCE 'parquet:in';" + QUERY,
            tmp_path,
        )
        report = engine.run("flush")
        answers = engine.query("q").answers().to_arrow()
    assert set(report.routes) == {"catalyst" if scan == "catalyst" else "columnar"}
    assert set(answers.column("estimated").to_pylist()) == {1.0}
    outside = Counter[str]()
    for answer in answers.to_pylist():
        outside.update(misses(answer, rows))
    # Windows overlap, so one odd draw is met several times.
    assert outside.pop("compared") == len(answers) > 20
    assert all(count <= len(answers) // 4 for count in outside.values()), outside


def write(folder: Path, rows: dict[str, Any]) -> None:
    folder.mkdir()
    table = pa.table({**rows, "ts": pa.array(rows["ts"], pa.timestamp("us", tz="UTC"))})
    for tick in range(TICKS):
        path = folder / f"{tick}.parquet"
        pq.write_table(table.slice(tick * ROWS // TICKS, ROWS // TICKS), path)
        os.utime(path, (1_000_000 + tick, 1_000_000 + tick))


def misses(answer: dict[str, Any], rows: dict[str, Any]) -> list[str]:
    """Of an answer, what lies outside of its bounds; counts of values never may."""
    start, end = (round(answer[f"window_{w}"].timestamp() * SECOND_US) for w in ("start", "end"))
    mine = np.flatnonzero((rows["ts"] >= start) & (rows["ts"] < end) & (rows["g"] == answer["g"]))
    ids = Counter(rows["id"][mine].tolist())
    assert answer["n"] == len(mine)
    for item in answer["top"]:
        assert item["low"] <= ids[item["value"]] <= item["high"]
    assert answer["top"][0]["value"] == ids.most_common(1)[0][0]
    assert ids[1] <= answer["ones_high"]
    truths = {
        "hosts": len({rows["host"][row] for row in mine}),
        "ids": len(ids),
        "large": np.sort(rows["size"][mine])[int(np.ceil(0.9 * len(mine))) - 1],
        "ones": ids[1],
    }
    is_in = {n: answer[f"{n}_low"] <= truth <= answer[f"{n}_high"] for n, truth in truths.items()}
    return ["compared", *(name for name, inside in is_in.items() if not inside)]
