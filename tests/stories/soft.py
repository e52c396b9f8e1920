"""Queries with soft periods, and what Spark batch SQL says of every window they may answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from tests.stories.oracle import close, interpreted, plain_values
from tests.stories.streams import COLUMNS, SECOND_US, STAMP

KEYS = ("k", "g", "k, g", "b", "name", "b, k", "g, b", "")
RANGES_MS = (4000, 7000, 10_000, 15_500, 20_000, 30_000)
AGGREGATES = ("COUNT(*)", "SUM(m)", "MAX(n)", "MIN(d)", "COUNT(x)")
PERIODS_S = (1, 2, 3, 5, 8, 13)
UPDATE_US = SECOND_US
STREAM = f"""
SET tick_files = 1;
CREATE SINK out TO 'parquet:out';
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in' WITH (lateness = '1 second');
"""
# (window start, keys …) ⇒ the values of all AGGREGATES.
Batch = dict[tuple[Any, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class SoftCase:
    name: str
    keys: str
    range_ms: int
    aggregate: str
    period_s: int  # 0: with every update
    priority: int = 0

    def create(self) -> str:
        up_to = f" SLIDE UP TO {self.period_s} SECONDS" if self.period_s else ""
        wanted = f" WITH (priority = {self.priority})" if self.priority else ""
        columns = ", ".join([*self.key_names, f"{self.aggregate} AS a"])
        group = f" GROUP BY {self.keys}" if self.keys else ""
        window = f"[RANGE {self.range_ms} ms{up_to}]"
        return (
            f"CREATE QUERY {self.name} INTO out{wanted} AS SELECT {columns} FROM s {window}{group};"
        )

    @property
    def key_names(self) -> list[str]:
        return [key for key in self.keys.split(", ") if key]

    @property
    def updates(self) -> int:
        return max(1, self.period_s)


def soft_cases(seed: int) -> list[SoftCase]:
    """A query for each of some keys, lengths and aggregates, 240 in all."""
    rng, found = random.Random(seed), product(KEYS, RANGES_MS, AGGREGATES)
    return [
        SoftCase(f"q{n}", *one, rng.choice((0, *PERIODS_S)), rng.choice((0, 0, 5)))
        for n, one in enumerate(found)
    ]


def batches(spark: SparkSession, cases: Sequence[SoftCase]) -> dict[tuple[str, int], Batch]:
    """Every window of each length that ends with a whole second, by Spark's own `window()`."""
    wanted = dict.fromkeys((case.keys, case.range_ms) for case in cases)
    with interpreted(spark):
        return {one: _batch(spark, *one) for one in wanted}


def _batch(spark: SparkSession, keys: str, range_ms: int) -> Batch:
    start = f"'{-range_ms % 1000} milliseconds'"
    window = f"window(ts, '{range_ms} milliseconds', '1 second', {start})"
    names = [key for key in keys.split(", ") if key]
    rows = spark.sql(
        f"SELECT {', '.join(['UNIX_MICROS(window.start) AS s', *names, *AGGREGATES])} FROM s"
        f" GROUP BY {', '.join([window, *names])}"
    ).toArrow()
    cut = 1 + len(names)
    tuples = zip(*map(plain_values, rows.columns), strict=True)
    return {row[:cut]: row[cut:] for row in tuples}


def answers_of(folder: Path, case: SoftCase) -> dict[tuple[Any, ...], Any]:
    """By window start and keys; a group is in the answer of a window once."""
    files = sorted(map(str, (folder / "out" / f"query={case.name}").glob("[!_]*.parquet")))
    if not files:
        return {}
    rows = ds.dataset(files).to_table()
    columns = [rows.column("window_start").cast(STAMP), *map(rows.column, case.key_names)]
    keys = list(zip(*map(plain_values, columns), strict=True))
    found = dict(zip(keys, plain_values(rows.column("a")), strict=True))
    assert len(found) == len(keys), f"{case.name}: a group twice in a window"
    return found


def check(case: SoftCase, found: dict[tuple[Any, ...], Any], batch: Batch) -> list[int]:
    """Every window that was answered is right, with all of its groups; returns their ends."""
    starts = {key[0] for key in found}
    place = AGGREGATES.index(case.aggregate)
    want = {key: values[place] for key, values in batch.items() if key[0] in starts}
    assert found.keys() == want.keys(), case.create()
    for key, value in want.items():
        assert close(found[key], value), f"{case.create()}\n{key}: {found[key]}, batch: {value}"
    return sorted(start + case.range_ms * 1000 for start in starts)


def gaps(ends_us: Sequence[int]) -> Iterator[int]:
    """Updates from one answer to the next."""
    for before, after in pairwise(ends_us):
        yield (after - before) // UPDATE_US
