"""The cost of each family of aggregates beside SUM and native Spark, and the sketches' errors.

    tidemill bench aggregates --json bench/results/aggregates.json

10 million rows, 1,000 groups, 100 queries of mixed windows; a family is the same queries with
another aggregate of `length`, which has 1,461 values. As monitoring queries do, half of them
end in `ORDER BY … LIMIT 10`, by the aggregate itself where it can be ordered by, and half in a
`HAVING COUNT(*)` that about 2 % of the groups pass.

- `families`: seconds of a run by family, and over those of SUM.
- `native`: one query, 60 s every 10 s with full output, beside a batch group-by of
  `window()` with Spark's own function of the same meaning, which is stopped after `--timeout`.
- `accuracy`: sketches beside exact answers, over every group of every window of one query.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from _accuracy import Accuracy, measure_accuracy
from _contenders import Files, run_tidemill
from _harness import Outcome, Timing, print_table, side_by_side, write_json
from _rows import SCHEMA, Shape, make_files
from _thresholds import Thresholds
from pyspark.sql import SparkSession
from workload import FIRST_WINDOW, Query, make_queries

from tidemill.spark.session import start_session

FILES_PER_TICK = 4
BATCH = "batch"  # the group of Spark's jobs that may be stopped


@dataclass(frozen=True)
class Family:
    """An aggregate, what native Spark has for it, and how many times SUM it may take."""

    sql: str
    native: str = ""
    bound: float | None = None
    is_ordered: bool = True


FAMILIES = {
    "SUM": Family("SUM(length)", "SUM(length)"),
    "STDDEV": Family("STDDEV(length)", "STDDEV(length)"),
    "LAST": Family("LAST(length)", "MAX_BY(length, STRUCT(ts, length))"),
    "COUNT DISTINCT": Family("COUNT(DISTINCT length)", "COUNT(DISTINCT length)", 10),
    "MEDIAN": Family("MEDIAN(length)", "PERCENTILE(length, 0.5)", 10),
    "TOP": Family("TOP(length, 5)", is_ordered=False),
    "HLL": Family(
        "APPROX_COUNT_DISTINCT(length)", "HLL_SKETCH_ESTIMATE(HLL_SKETCH_AGG(length))", 6
    ),
    "theta": Family("APPROX_COUNT_DISTINCT(length, method => 'theta')", bound=6),
    "KLL": Family("APPROX_PERCENTILE(length, 0.99)", "APPROX_PERCENTILE(length, 0.99)", 6),
    "items": Family("APPROX_TOP_K(length, 5)", "APPROX_TOP_K(length, 5)", 6, is_ordered=False),
    "count-min": Family("APPROX_COUNT(length, 1500)", bound=6),
}


def main() -> None:
    options = _options()
    scratch = Path(tempfile.mkdtemp(prefix="tidemill-bench-"))
    try:
        files, shape = _files(options, scratch)
        families = _families(options, files, shape)
        content: dict[str, object] = {"families": _told(families)}
        write_json(options.json, content)
        native = _native(options, files)
        write_json(options.json, content := {**content, "native": _told(native)})
        accuracy = measure_accuracy(scratch, options.accuracy_rows)
        write_json(options.json, {**content, "accuracy": [asdict(one) for one in accuracy]})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print(families, native, accuracy)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tidemill bench aggregates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--rows", type=int, default=10_000_000)
    add("--rows-per-tick", type=int, default=2_000_000)
    add("--queries", type=int, default=100)
    add("--families", default=",".join(FAMILIES), help="with commas")
    add("--accuracy-rows", type=int, default=1_000_000)
    add("--repeats", type=int, default=3)
    add("--timeout", type=float, default=120.0, help="seconds after which Spark is stopped")
    add("--json", type=Path, default=Path("aggregates.json"))
    options = parser.parse_args()
    options.families = [name.strip() for name in options.families.split(",")]
    for name in options.families:
        if name not in FAMILIES:
            parser.error(f"no family '{name}'; families: {', '.join(FAMILIES)}")
    return options


def _files(options: argparse.Namespace, scratch: Path) -> tuple[Files, Shape]:
    shape = Shape(rows=options.rows)
    files = Files(scratch / "rows", "parquet", FILES_PER_TICK, scratch)
    make_files(files.data, shape, options.rows_per_tick, FILES_PER_TICK)
    return files, shape


def _families(options: argparse.Namespace, files: Files, shape: Shape) -> dict[str, Timing]:
    start_session(app="bench aggregates")
    contenders = {}
    for name in dict.fromkeys(("SUM", *options.families)):
        queries = list(family_queries(FAMILIES[name], options.queries, shape))
        contenders[name] = partial(run_tidemill, files, queries)
    return side_by_side(contenders, options.repeats)


def family_queries(family: Family, count: int, shape: Shape) -> Iterator[Query]:
    """The queries of the profile `one` with another aggregate."""
    thresholds = Thresholds(shape)
    for number, query in enumerate(make_queries("full", count, shape)):
        query = replace(query, aggregates=(f"{family.sql} AS answer", "COUNT(*) AS packets"))
        if number % 2 == 0:
            yield replace(query, top="answer" if family.is_ordered else "packets")
        else:
            least = thresholds.of("COUNT(*)", query.keys, None, query.range_s)
            yield replace(query, having=f"COUNT(*) > {least}")


def _native(options: argparse.Namespace, files: Files) -> dict[str, Timing]:
    session = start_session(app="bench aggregates")
    contenders: dict[str, Callable[[], Outcome]] = {}
    for name in options.families:
        family = FAMILIES[name]
        if family.native:
            query = Query("q0", *FIRST_WINDOW, aggregates=(f"{family.sql} AS answer",))
            contenders[f"tidemill {name}"] = partial(run_tidemill, files, [query])
            contenders[f"spark {name}"] = partial(
                _run_batch, session, files, family.native, options.timeout
            )
    return side_by_side(contenders, options.repeats)


def _run_batch(session: SparkSession, files: Files, native: str, timeout_s: float) -> Outcome:
    """Stopped, it has no seconds, but how long it had run."""
    started = time.perf_counter()
    with _limited(session, timeout_s):
        try:
            _batch(session, files, native)
        except Exception:
            if time.perf_counter() - started < timeout_s:
                raise
            return Outcome(failure=f"stopped after {timeout_s:,.0f} s", stopped_s=timeout_s)
    return Outcome(time.perf_counter() - started)


@contextmanager
def _limited(session: SparkSession, timeout_s: float) -> Iterator[None]:
    """Spark's work meanwhile is given up after so many seconds."""
    context = session.sparkContext
    context.setJobGroup(BATCH, "native Spark", interruptOnCancel=True)
    done = threading.Event()

    def stop() -> None:
        # Only a job that runs is cancelled, and a plan may become one or several later.
        while not done.wait(1):
            context.cancelJobGroup(BATCH)

    timer = threading.Timer(timeout_s, stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        done.set()
        context.setLocalProperty("spark.jobGroup.id", None)


def _batch(session: SparkSession, files: Files, native: str) -> None:
    session.read.schema(SCHEMA).parquet(str(files.data)).createOrReplaceTempView("packets")
    range_s, slide_s = FIRST_WINDOW
    window = f"WINDOW(ts, '{range_s} seconds', '{slide_s} seconds')"
    answers = session.sql(f"SELECT {window} AS w, src, {native} AS a FROM packets GROUP BY ALL")
    answers.write.format("noop").mode("overwrite").save()


def _told(timings: Mapping[str, Timing]) -> dict[str, object]:
    return {name: asdict(timing) for name, timing in timings.items()}


def _print(
    families: Mapping[str, Timing], native: Mapping[str, Timing], accuracy: Sequence[Accuracy]
) -> None:
    base = families["SUM"].median
    rows = [
        [name, f"{timing.median:.2f}", f"{timing.median / base:.1f}", _bound(name, timing, base)]
        for name, timing in families.items()
    ]
    print_table("families", ["family", "seconds", "× SUM", "wanted"], rows)
    pairs = [name.removeprefix("tidemill ") for name in native if name.startswith("tidemill ")]
    rows = [_beside(name, native[f"tidemill {name}"], native[f"spark {name}"]) for name in pairs]
    print_table("one query", ["family", "tidemill s", "spark s", "spark / tidemill"], rows)
    rows = [
        [one.name, f"{one.mean_error:.3%}", f"{one.largest_error:.3%}", _share(one.within)]
        for one in accuracy
    ]
    print_table("accuracy", ["sketch", "mean error", "largest", "within bounds"], rows)


def _beside(name: str, ours: Timing, theirs: Timing) -> list[str]:
    """A figure of what was stopped is the least that it can be."""
    least = "> " if theirs.stopped_s is not None else ""
    seconds, times = theirs.at_least, theirs.at_least / ours.median
    return [name, f"{ours.median:.2f}", f"{least}{seconds:.2f}", f"{least}{times:.1f}"]


def _share(within: float | None) -> str:
    return "" if within is None else f"{within:.2%}"


def _bound(name: str, timing: Timing, base: float) -> str:
    bound = FAMILIES[name].bound
    if bound is None or np.isnan(timing.median):
        return ""
    return f"≤ {bound:.0f}: {'yes' if timing.median <= bound * base else 'no'}"


if __name__ == "__main__":
    main()
