"""Before they are timed: do the contenders give the same number of answers?

Over a small, slow stream of the same kind. Flink answers every window at the end of its input, as
Tidemill does with a flush; Structured Streaming leaves the open ones, as Tidemill does
without. A contender that dropped rows or windows would be fast for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from _contenders import Files, flink_job, flink_peer, run_tidemill, spark_job, spark_peer
from _harness import Outcome, tell
from _rows import Shape, make_files
from workload import Query, make_queries

# 80 seconds of stream, so that most windows close; few rows, since native queries are slow.
_SMALL = Shape(rows=160_000, groups=200, rate=2_000)
_ROWS_PER_TICK = 80_000
_QUERIES = 6
_TIMEOUT_SECONDS = 600.0


def check_answers(against: Sequence[str], scratch: Path, memory: str) -> None:
    """Says both counts; stops the benchmark if they differ."""
    files = Files(scratch / "check", "csv", 2, scratch)
    make_files(files.data, _SMALL, _ROWS_PER_TICK, files.files_per_tick, "csv")
    queries = make_queries("one", _QUERIES, _SMALL, windows="multiples")
    for until, peer in (("idle", "spark"), ("flush", "flink")):
        if any(name.startswith(peer) for name in against):
            ours = run_tidemill(files, queries, until).answers
            _compare(peer, ours, _count(peer, files, queries, memory))


def _count(peer: str, files: Files, queries: Sequence[Query], memory: str) -> int | None:
    if peer == "spark":
        spark = spark_peer(files, "memory", memory, _TIMEOUT_SECONDS)
        outcome = spark.run(spark_job(queries))
        spark.close()
        return _told(peer, outcome).answers
    kept = files.scratch / "flink-answers"
    flink = flink_peer(files, _SMALL, memory, _TIMEOUT_SECONDS, kept)
    outcome = flink.run(flink_job(queries))
    flink.close()
    _told(peer, outcome)
    return sum(_lines(path) for path in kept.rglob("*") if path.is_file())


def _told(peer: str, outcome: Outcome) -> Outcome:
    if outcome.failure:
        raise SystemExit(f"check: {peer} {outcome.failure}")
    return outcome


def _lines(path: Path) -> int:
    with path.open("rb") as text:
        return sum(1 for _ in text)


def _compare(peer: str, ours: int | None, theirs: int | None) -> None:
    tell(f"check: tidemill {ours:,} answers, {peer} {theirs:,}")
    if not ours or ours != theirs:
        raise SystemExit(f"check: tidemill and {peer} do not give the same answers")
