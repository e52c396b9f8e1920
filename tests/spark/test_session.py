"""A Spark that the caller has started keeps its settings, and answers do not depend on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# In a process of its own, since a process has one Spark.
PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from tidemill import Engine
from tidemill.spark.session import start_session

start_session("local[1]").stop()  # finds Java
zone = "spark.sql.session.timeZone"
caller = SparkSession.builder.master("local[1]").config(zone, "America/New_York").getOrCreate()
folder = Path(sys.argv[1])
(folder / "in").mkdir()
(folder / "in" / "a.csv").write_text(
    "ts,n\\n2026-01-01 00:00:01,1\\n2026-01-01 00:00:02,2\\n2026-01-01 00:00:13,4\\n"
)
with Engine(folder / "home") as engine:
    engine.sql(
        "SET scan = 'catalyst';"
        "CREATE STREAM s (ts TIMESTAMP, n BIGINT) ORDER BY ts SOURCE 'csv:in?header=true';"
        "CREATE QUERY q AS SELECT SUM(n) AS n FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS];",
        folder,
    )
    report = engine.run("flush")
    assert list(report.routes) == ["catalyst"], report.routes
    rows = engine.query("q").answers().to_arrow().to_pylist()
    again = engine.session
for row in rows:
    print(row["window_start"].isoformat(), row["n"])
print(caller.conf.get(zone), again.conf.get(zone), again.sparkContext is caller.sparkContext)
"""


def test_windows_are_cut_in_utc_in_a_callers_spark_of_another_zone(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert run.stdout.splitlines() == [
        "2026-01-01T00:00:00+00:00 3",
        "2026-01-01T00:00:10+00:00 4",
        "America/New_York UTC True",
    ], run.stderr
