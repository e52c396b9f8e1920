"""The Spark session, set up once for small ticks and honest errors."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidemill.errors import refuse
from tidemill.spark.java import MESSAGE, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The engine names the type of what it holds; pyspark itself is imported in this folder alone, and
# only once something needs it: that takes a third of a second, and pandas another.
Session: TypeAlias = "SparkSession"

# Each line is here because a default hurt; the reason stands beside it.
CONFIGURATION = {
    "spark.sql.session.timeZone": "UTC",  # windows are cut in UTC, as the answers say
    "spark.sql.ansi.enabled": "true",  # the types of Spark's default dialect
    "spark.sql.adaptive.enabled": "false",  # re-planning costs more than a small tick
    # A sub-expression hoisted out of its guard would raise outside of it.
    "spark.sql.subexpressionElimination.enabled": "false",
    # Sums and products of integers that are grouped otherwise overflow elsewhere: the values, and
    # what raises, go by the grouping that is written, as on arrays.
    "spark.sql.optimizer.excludedRules": (
        "org.apache.spark.sql.catalyst.optimizer.ReorderAssociativeOperator"
    ),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",  # few, large batches to the fold
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The fast map of a partial aggregation: 65,536 groups by default, fewer than a tick has.
    "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "18",
    # Sketches are objects, and beyond 128 groups of them, the default, a task sorts its rows first,
    # which takes longer. Full ones take 4 KB each.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "50000",
    "spark.sql.parquet.enableVectorizedReader": "true",
    # The default, INT96, drops the zone, and other readers see no year past 2262 in it.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.files.maxPartitionBytes": "64m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.python.worker.reuse": "true",
    "spark.log.level": "OFF",  # errors reach the user as our own, once
}
# What the C library reads when a worker starts: memory that was freed stays with the process, as
# far as a gibibyte goes. Arrays of every tick would otherwise be asked from the system page by
# page, which is a third of the time of a large tick.
WORKER_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TOP_PAD_": str(2**26),
}
# Generated methods over 8 kB are otherwise interpreted: five times slower with many predicates.
JAVA_OPTIONS = "-XX:-DontCompileHugeMethods -XX:+UseParallelGC"


# The engine's own session on each Spark of the process; there is more than one only after a stop.
_sessions: dict[object, SparkSession] = {}
_lock = threading.Lock()


def running_session() -> SparkSession | None:
    """A session on the Spark of this process, if there is one; to look does not load pyspark.

    Where the caller has started Spark, it is a session beside the caller's: answers depend on
    settings that are not the caller's to choose, and the caller's are not ours to change.
    """
    sql: Any = sys.modules.get("pyspark.sql")
    session = sql.SparkSession._instantiatedSession if sql else None
    if session is None or session.sparkContext._jsc is None:
        return None
    with _lock:
        context = session.sparkContext
        if context not in _sessions:
            _sessions[context] = _configured(session.newSession())
        return _sessions[context]


def _configured(session: SparkSession) -> SparkSession:
    for key, value in CONFIGURATION.items():
        if key.startswith("spark.sql."):  # others are settled when Spark starts
            session.conf.set(key, value)
    return session


def start_session(master: str | None = None, app: str = "tidemill") -> SparkSession:
    """The running session if there is one, else a new one on Java 17 or 21."""
    active = running_session()
    if active is not None:
        return active
    _point_at_java()
    # Workers must be this interpreter, wherever the first `python3` of the PATH points.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with _quiet_start():
        session = _build(master or f"local[{os.cpu_count() or 1}]", app)
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return session


def _build(master: str, app: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(app)
    cores = str(cores_of(master))
    options = {**CONFIGURATION, "spark.sql.shuffle.partitions": cores}
    options["spark.driver.extraJavaOptions"] = JAVA_OPTIONS
    options["spark.executor.extraJavaOptions"] = JAVA_OPTIONS
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        with _keeping_interrupt_handler():
            session = builder.getOrCreate()
        session.sparkContext.environment.update(WORKER_MEMORY)
        with _lock:
            _sessions[session.sparkContext] = session
        return session
    except Exception as error:
        refuse("E_SPARK", "Spark did not start", detail=_first_line(error), hint=f"master {master}")


def cores_of(master: str) -> int:
    """The cores of a local master; of others a guess."""
    if master.startswith("local["):
        inside = master.removeprefix("local[").split("]")[0].split(",")[0]
        return (os.cpu_count() or 1) if inside == "*" else int(inside)
    return 1 if master == "local" else 8


def _point_at_java() -> None:
    home = find_java()
    if home is None:
        refuse("E_JAVA", "no Java 17 or 21 found", hint=MESSAGE)
    os.environ["JAVA_HOME"] = str(home)


@contextmanager
def _keeping_interrupt_handler() -> Iterator[None]:
    """PySpark replaces the SIGINT handler by one that cancels the running jobs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _quiet_start() -> Iterator[None]:
    """The JVM writes banners to descriptor 2 before logging is set up; drop just those."""
    if os.environ.get("TIDEMILL_SPARK_LOG"):
        yield
        return
    sys.stderr.flush()
    saved = os.dup(2)
    with Path(os.devnull).open("w") as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:300]
