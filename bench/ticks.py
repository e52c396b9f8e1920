"""The cost of a tick of nearly nothing: the floor under every latency.

    tidemill bench ticks --rows 3000 --ticks 40 --queries 1,10 --predicates 200

Each tick is one small Parquet file. Structured Streaming runs the same files, one a
trigger, through `foreachBatch` with the same group-by: what a tick would cost on its log.
`--predicates N` adds a run of N queries, each with a WHERE clause of its own.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from _harness import print_table, tell, write_json
from _rows import SCHEMA, Shape, make_files
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from workload import Query, make_queries, script

import tidemill
from tidemill.spark.session import start_session

WARM_UP = 10
_FILE_SCHEMA = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        data = scratch / "data"
        shape = Shape(rows=options.rows * options.ticks, rate=options.rows)
        make_files(data, shape, options.rows, files_per_tick=1)
        session = start_session(app="bench ticks")
        seconds = {"foreachBatch": run_foreach_batch(session, data, scratch)}
        for name, queries in _contenders(options, shape).items():
            tell(name)
            seconds[name] = run_tidemill(data, scratch / name.replace(" ", "-"), queries)
        _report(seconds, options)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench ticks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=3_000, help="rows in a tick")
    parser.add_argument("--ticks", type=int, default=40)
    parser.add_argument("--queries", default="1,10")
    parser.add_argument("--predicates", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.ticks <= WARM_UP:
        parser.error(f"the first {WARM_UP} ticks are warm-up: take more than that")
    return options


def _contenders(options: argparse.Namespace, shape: Shape) -> dict[str, list[Query]]:
    counts = [int(text) for text in options.queries.split(",")]
    chosen = {f"tidemill {count}": make_queries("one", count, shape) for count in counts}
    if options.predicates:
        queries = make_queries("predicates", options.predicates, shape)
        chosen[f"tidemill {options.predicates} predicates"] = queries
    return chosen


def run_tidemill(data: Path, home: Path, queries: Sequence[Query]) -> list[float]:
    """Seconds from one committed tick to the next, the first ones left out."""
    with tidemill.Engine(home) as engine:
        engine.sql("\n".join(script(queries, data, "parquet", files_per_tick=1)))
        ends = [time.perf_counter()]
        engine.run("idle", lambda _: ends.append(time.perf_counter()))
    return _gaps(ends)


def run_foreach_batch(session: SparkSession, data: Path, scratch: Path) -> list[float]:
    ends = [time.perf_counter()]

    def batch(rows: DataFrame, _: int) -> None:
        paths = [row.path for row in rows.select("path").collect()]
        second = F.floor(F.unix_micros("ts") / 1_000_000).alias("second")
        read = session.read.schema(SCHEMA).parquet(*paths)
        read.groupBy(second, "src").agg(F.sum("length"), F.count("*")).toArrow()
        ends.append(time.perf_counter())

    files = session.readStream.format("binaryFile").schema(_FILE_SCHEMA)
    paths = files.option("maxFilesPerTrigger", 1).load(str(data)).select("path")
    query = (
        paths.writeStream.foreachBatch(batch)
        .option("checkpointLocation", str(scratch / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return _gaps(ends)


def _gaps(ends: list[float]) -> list[float]:
    gaps = [after - before for before, after in itertools.pairwise(ends)]
    return gaps[WARM_UP:]


def _report(seconds: dict[str, list[float]], options: argparse.Namespace) -> None:
    rows = [
        [name, f"{statistics.median(gaps):.3f}", f"{max(gaps):.3f}", str(len(gaps))]
        for name, gaps in seconds.items()
    ]
    print_table(
        f"ticks of {options.rows:,} rows", ["contender", "median s", "longest s", "ticks"], rows
    )
    if options.json:
        write_json(options.json, {"rows": options.rows, "seconds": seconds})


if __name__ == "__main__":
    main()
