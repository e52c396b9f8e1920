"""Structured Streaming as a peer: one process, one session, told by lines of JSON.

Each line names the queries of one run; the reply says its seconds and answers. A session of
its own, so that it has Spark's defaults and none of what is set for Tidemill: only the number
of shuffle partitions is that of the cores, which is kinder to it than the default of 200. Every
query has its own scan and state, as Structured Streaming has it; all of them run at once.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _orphan import end_with_parent
from _processor import processor_seconds
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main() -> None:
    end_with_parent()
    settings = json.loads(sys.argv[1])
    session = start(settings)
    for line in sys.stdin:
        print(json.dumps(run(session, settings, json.loads(line))), flush=True)


def start(settings: dict[str, Any]) -> SparkSession:
    cores = os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{cores}]").appName("peer")
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.driver.memory": settings["memory"],
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    if settings["state"] == "rocksdb":
        options["spark.sql.streaming.stateStore.providerClass"] = _ROCKSDB
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    for name, path in settings["tables"].items():
        rows = session.read.csv(path, header=True, inferSchema=True)
        rows.createOrReplaceTempView(name)
    return session


def run(session: SparkSession, settings: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(dir=settings["scratch"]))
    counter = Counter()
    started, used = time.perf_counter(), processor_seconds()
    running = [
        begin(session, settings, query, folder / str(number), counter)
        for number, query in enumerate(job["queries"])
    ]
    for query in running:
        query.awaitTermination()
    seconds, used = time.perf_counter() - started, processor_seconds() - used
    shutil.rmtree(folder, ignore_errors=True)
    return {"seconds": seconds, "processor": used, "answers": counter.answers}


class Counter:
    """Answer rows of all queries of a run."""

    def __init__(self) -> None:
        self.answers = 0

    def deliver(self, rows: DataFrame) -> None:
        seen = Observation()
        counted = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
        counted.write.format("noop").mode("overwrite").save()
        self.answers += int(seen.get["rows"])


def begin(
    session: SparkSession,
    settings: dict[str, Any],
    query: dict[str, Any],
    checkpoint: Path,
    counter: Counter,
) -> StreamingQuery:
    rows = (
        session.readStream.schema(settings["schema"])
        .option("maxFilesPerTrigger", settings["files_per_tick"])
        .format(settings["format"])
        .load(settings["data"])
    )
    rows.withWatermark(settings["time"], "0 seconds").createOrReplaceTempView(settings["stream"])
    top = query["top"]

    def batch(answers: DataFrame, _: int) -> None:
        counter.deliver(largest(answers, top, query["limit"]) if top else answers)

    return (
        session.sql(query["sql"])
        .writeStream.foreachBatch(batch)
        .outputMode("append")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )


def largest(answers: DataFrame, column: str, limit: int) -> DataFrame:
    """A window is answered in one micro-batch, whole, so its top may be taken there."""
    place = F.row_number().over(Window.partitionBy("window_start").orderBy(F.desc(column)))
    return answers.withColumn("place", place).where(F.col("place") <= limit).drop("place")


if __name__ == "__main__":
    main()
