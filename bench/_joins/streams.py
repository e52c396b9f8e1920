"""Two streams whose rows meet by key, and queries that join their windows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _ratios import Bench, Figure, run_script
from _rows import START_US

SECONDS, FILES = 1_000, 10
SCHEMA = "ts TIMESTAMP, k INT, g INT, p INT, v BIGINT"


@dataclass(frozen=True)
class Keys:
    """How many join keys there are, and the share of the rows that one of them has."""

    count: int = 1_000
    heaviest: float = 0.0

    def draw(self, dice: np.random.Generator, rows: int) -> np.ndarray:
        even = dice.integers(0, self.count, rows, dtype=np.int32)
        return np.where(dice.random(rows) < self.heaviest, 0, even).astype(np.int32)


def script(bench: Bench, keys: Keys, queries: Iterator[str]) -> str:
    """Both streams and the queries; the files are made once."""
    folder = bench.scratch / f"joined-{keys.count}-{keys.heaviest}"
    if not folder.exists():
        for seed, name in enumerate("ab"):
            _make_files(folder / name, keys, bench.rows, seed)
    head = "SET tick_files = 1; CREATE SINK out TO 'discard:';"
    streams = (
        f"CREATE STREAM {name} ({SCHEMA}) ORDER BY ts SOURCE 'parquet:{folder / name}';"
        for name in "ab"
    )
    texts = (f"CREATE QUERY q{number} INTO out AS {sql};" for number, sql in enumerate(queries))
    return "".join([head, *streams, *texts])


def _make_files(folder: Path, keys: Keys, rows: int, seed: int) -> None:
    folder.mkdir(parents=True)
    dice = np.random.default_rng([2026, seed])
    for number in range(FILES):
        first, last = number * rows // FILES, (number + 1) * rows // FILES
        count = last - first
        times = START_US + np.arange(first, last) * SECONDS * 1_000_000 // rows
        columns = {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": keys.draw(dice, count),
            "g": dice.integers(0, 20, count, dtype=np.int32),
            "p": dice.integers(0, 100, count, dtype=np.int32),
            "v": dice.integers(0, 1_500, count),
        }
        pq.write_table(pa.table(columns), folder / f"{number:03}.parquet")


def join(range_a: int = 60, range_b: int = 30, slide: int = 10, where: str = "") -> str:
    """One join with aggregates of both sides by the key, the ten largest of each instant."""
    condition = f" WHERE {where}" if where else ""
    return (
        f"SELECT x.k, COUNT(*) AS n, SUM(x.v) AS a, SUM(y.v) AS b"
        f" FROM a [RANGE {range_a} s SLIDE {slide} s] AS x JOIN b [RANGE {range_b} s] AS y"
        f" ON x.k = y.k{condition} GROUP BY x.k ORDER BY n DESC LIMIT 10"
    )


def grouped(stream: str, range_s: int) -> str:
    """A query that groups one side by the key."""
    return (
        f"SELECT k, COUNT(*) AS n, SUM(v) AS s FROM {stream} [RANGE {range_s} s SLIDE 10 s]"
        " GROUP BY k ORDER BY n DESC LIMIT 10"
    )


def random_joins(count: int, predicates: int = 0) -> Iterator[str]:
    """Joins of random windows; with predicates, of either side, so many in all."""
    dice = random.Random(7)
    for number in range(count):
        ranges = dice.randrange(5, 121), dice.randrange(5, 121)
        place = number % predicates if predicates else 0
        side, bound = "xy"[place % 2], 2 * (place // 2 + 1)
        where = f"{side}.p < {bound}" if predicates and number >= predicates // 10 else ""
        yield join(*ranges, dice.choice((10, 15, 20, 30)), where)


def used(bench: Bench, keys: Keys, queries: Iterator[str]) -> Figure:
    """What the ticks take; every query must have answers."""
    used_s, report = run_script(bench, script(bench, keys, queries))
    if report.rows_in != 2 * bench.rows or not all(report.queries.values()):
        raise SystemExit(f"{report.rows_in:,} rows, answers {min(report.queries.values())}")
    return Figure(used_s)
