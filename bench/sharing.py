"""Many queries over one stream: Tidemill beside native Structured Streaming and a bare scan.

    tidemill bench sharing --rows 10000000 --groups 1000 --queries 1,10 --against spark

All contenders read the same Parquet files with the same rows per tick on the same Spark
session. *bare* is one batch group-by of all rows by second and key: the floor.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import Timing, print_table, side_by_side, write_json
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import tidemill
from tidemill.engine import RunReport
from tidemill.spark.session import start_session

START_US = 1_767_225_600_000_000
SCHEMA = "ts TIMESTAMP, key INT, value BIGINT"
FIRST_WINDOW = (60, 10)
FILES_PER_TICK = 4


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        data = scratch / "data"
        make_files(data, options.rows, options.groups, options.rate, options.rows_per_tick)
        session = start_session(app="bench sharing")
        session.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKSDB)
        timings = side_by_side(
            _contenders(session, data, scratch, options), options.repeats, options.warm_up
        )
        _report(timings, options)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tidemill bench sharing", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--queries", default="1,10", help="numbers of queries, with commas")
    parser.add_argument("--against", default="spark", help="spark, or none")
    parser.add_argument("--rows-per-tick", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=50_000, help="rows per second of stream time")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--native-queries", type=int, default=1, help="most native queries run")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def make_files(
    folder: Path, rows: int, groups: int, rate: int, rows_per_tick: int, files: int = 4
) -> None:
    """A few files a tick; keys uniform, values like packet lengths, times even."""
    folder.mkdir(parents=True)
    for number, first in enumerate(range(0, rows, rows_per_tick)):
        count = min(rows_per_tick, rows - first)
        random_ = np.random.default_rng(number)
        times = START_US + (np.arange(first, first + count) * 1_000_000) // rate
        table = pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                "key": random_.integers(0, groups, count, dtype=np.int32),
                "value": random_.integers(40, 1501, count),
            }
        )
        bounds = [part * count // files for part in range(files + 1)]
        for part, (low, high) in enumerate(itertools.pairwise(bounds)):
            piece = table.slice(low, high - low)
            pq.write_table(piece, folder / f"part-{number:05d}-{part}.parquet")


def windows(count: int) -> list[tuple[int, int]]:
    """Range and slide in seconds; the first is fixed, the rest random as monitors write them."""
    random_ = random.Random(7)
    drawn = ((random_.randint(10, 120), random_.randint(1, 60)) for _ in itertools.count())
    return list(itertools.islice(itertools.chain([FIRST_WINDOW], drawn), count))


def _contenders(
    session: SparkSession, data: Path, scratch: Path, options: argparse.Namespace
) -> dict[str, Callable[[], None]]:
    counts = [int(text) for text in options.queries.split(",")]
    contenders: dict[str, Callable[[], None]] = {"bare": lambda: run_bare(session, data)}
    if "spark" in options.against:
        for count in [n for n in counts if n <= options.native_queries]:
            contenders[f"spark {count}"] = lambda n=count: run_native(session, data, scratch, n)
    for count in counts:
        contenders[f"tidemill {count}"] = lambda n=count: run_tidemill(data, scratch, n)
    return contenders


def run_bare(session: SparkSession, data: Path) -> None:
    rows = session.read.schema(SCHEMA).parquet(str(data))
    second = F.floor(F.unix_micros("ts") / 1_000_000)
    grouped = rows.groupBy(second.alias("second"), "key").agg(F.sum("value"), F.count("*"))
    grouped.write.format("noop").mode("overwrite").save()


def run_native(session: SparkSession, data: Path, scratch: Path, count: int) -> None:
    """Each query as Structured Streaming runs it: its own scan, its own RocksDB state."""
    for number, (range_, slide) in enumerate(windows(count)):
        rows = (
            session.readStream.schema(SCHEMA)
            .option("maxFilesPerTrigger", FILES_PER_TICK)
            .parquet(str(data))
        )
        window = F.window("ts", f"{range_} seconds", f"{slide} seconds")
        grouped = (
            rows.withWatermark("ts", "0 seconds")
            .groupBy(window, "key")
            .agg(F.sum("value"), F.count("*"))
        )
        query = (
            grouped.writeStream.format("noop")
            .outputMode("append")
            .option("checkpointLocation", str(scratch / "native" / f"{_unique()}-{number}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


_numbers = itertools.count()


def _unique() -> int:
    return next(_numbers)


def script(data: Path, count: int, tick_files: int = FILES_PER_TICK) -> Iterator[str]:
    yield f"CREATE STREAM packets ({SCHEMA}) ORDER BY ts SOURCE 'parquet:{data}';"
    yield "CREATE SINK nowhere TO 'discard:';"
    yield f"SET tick_files = {tick_files};"
    for number, (range_, slide) in enumerate(windows(count)):
        yield (
            f"CREATE QUERY q{number} INTO nowhere AS SELECT key, SUM(value) AS total, "
            f"COUNT(*) AS packets FROM packets [RANGE {range_} SECONDS SLIDE {slide} SECONDS] "
            "GROUP BY key;"
        )


def run_tidemill(data: Path, scratch: Path, count: int) -> None:
    home = scratch / "homes" / str(_unique())
    with tidemill.Engine(home) as engine:
        engine.sql("\n".join(script(data, count)))
        report = engine.run("flush")
    LAST[count] = report
    shutil.rmtree(home)


LAST: dict[int, RunReport] = {}


def _report(timings: dict[str, Timing], options: argparse.Namespace) -> None:
    bare = timings["bare"].median
    rows = [
        [
            name,
            f"{timing.median:.2f}",
            f"{options.rows / timing.median:,.0f}",
            f"{timing.median / bare:.2f}",
            f"{timing.peak_bytes / 2**30:.2f}",
        ]
        for name, timing in timings.items()
    ]
    title = (
        f"{options.rows:,} rows, {options.groups:,} groups, {options.rows_per_tick:,} rows a tick"
    )
    print_table(title, ["contender", "seconds", "rows/s", "× bare", "peak GiB"], rows)
    ratios = _ratios(timings)
    for name, value in ratios.items():
        print(f"{name}: {value:.2f}")
    for count, report in LAST.items():
        phases = ", ".join(f"{k} {v:.2f}" for k, v in report.phases.items())
        print(f"tidemill {count}: {report.ticks} ticks, seconds by step: {phases}")
    if options.json:
        write_json(
            options.json,
            {
                "options": {k: str(v) for k, v in vars(options).items()},
                "seconds": {name: timing.seconds for name, timing in timings.items()},
                "peak_bytes": {name: timing.peak_bytes for name, timing in timings.items()},
                "ratios": ratios,
            },
        )


def _ratios(timings: dict[str, Timing]) -> dict[str, float]:
    ratios = {}
    if "tidemill 1" in timings:
        one = timings["tidemill 1"].median
        ratios["one query over bare"] = one / timings["bare"].median
        if "spark 1" in timings:
            ratios["native over one query"] = timings["spark 1"].median / one
        for name, timing in timings.items():
            if name.startswith("tidemill ") and name != "tidemill 1":
                ratios[f"{name.split()[1]} queries over one"] = timing.median / one
    return ratios


if __name__ == "__main__":
    main()
