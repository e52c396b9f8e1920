"""Random streams for the stories: rows in the order they arrive, written as several files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
DAY_US = 24 * HOUR_US
NOON_US = 1_709_294_400 * SECOND_US  # 2024-03-01 12:00 UTC
YEAR_9999_US = 253_402_300_700 * SECOND_US  # 99 seconds before the year 10000
LATENESS_US = 5 * SECOND_US

COLUMNS = (
    "ts TIMESTAMP, k STRING, g INT, b BOOLEAN, m INT, n BIGINT, x DOUBLE, f FLOAT,"
    " d DECIMAL(12,3), w DECIMAL(38,2), name STRING, day DATE, at TIMESTAMP"
)
# One file a tick, so that a story has as many ticks as files.
STREAM = f"""
SET tick_files = 1;
CREATE SINK out TO 'parquet:out';
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in'
  WITH (lateness = '{LATENESS_US // SECOND_US} seconds');
"""
STAMP = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("ts", STAMP),
        ("k", pa.string()),
        ("g", pa.int32()),
        ("b", pa.bool_()),
        ("m", pa.int32()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("d", pa.decimal128(12, 3)),
        ("w", pa.decimal128(38, 2)),
        ("name", pa.string()),
        ("day", pa.date32()),
        ("at", STAMP),
    ]
)
_WIDE = Context(prec=40)
Row = dict[str, Any]
HUGE = (2**63 - 1, -(2**63), 2**62, -(2**62), 0, 1)
ODD_FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-300)
NAMES = ("", "rita", "Rob", "zoë", "日本", "r%_\\'\"", " rob")


def ordered_times(rng: random.Random, count: int) -> list[int]:
    """Never back, often several rows in one microsecond."""
    times = [NOON_US]
    for _ in range(count - 1):
        times.append(times[-1] + rng.choice((0, 0, 1, 999, 250_000, SECOND_US, 3_700_000)))
    return times


def disordered_times(rng: random.Random, count: int) -> list[int]:
    """Each row delayed by at most the lateness, so that none of them is late."""
    return sorted(ordered_times(rng, count), key=lambda t: t + rng.randrange(LATENESS_US))


def bursty_times(rng: random.Random, count: int) -> list[int]:
    """Bursts with idle hours and days between them."""
    times: list[int] = []
    now = NOON_US
    while len(times) < count:
        now += rng.choice((HOUR_US // 7, HOUR_US, 2 * DAY_US + 1))
        times += sorted(now + rng.randrange(2 * SECOND_US) for _ in range(rng.randrange(5, 60)))
    return times[:count]


def ancient_times(rng: random.Random, count: int) -> list[int]:
    """From 1906 over the epoch into 1970."""
    early = [-2_000_000_000 * SECOND_US + rng.randrange(HOUR_US) for _ in range(count // 4)]
    near = [rng.randrange(-10 * 60 * SECOND_US, 60 * SECOND_US) for _ in early]
    edge = [rng.choice((-1, 0, -SECOND_US, SECOND_US - 1)) for _ in range(count // 2)]
    return sorted(early + near + edge)


def far_times(rng: random.Random, count: int) -> list[int]:
    """A stream of today with its last rows in the year 9999."""
    today = ordered_times(rng, count - count // 8)
    return today + sorted(YEAR_9999_US + rng.randrange(60 * SECOND_US) for _ in range(count // 8))


SHAPES: dict[str, Callable[[random.Random, int], list[int]]] = {
    "ordered": ordered_times,
    "disordered": disordered_times,
    "bursty": bursty_times,
    "ancient": ancient_times,
    "far": far_times,
}


def random_row(rng: random.Random, ts_us: int) -> Row:
    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.15 else value

    return {
        "ts": ts_us,
        "k": maybe(rng.choice(("a", "A", "b", "c", ""))),
        "g": maybe(rng.randrange(-3, 4)),
        "b": maybe(rng.random() < 0.5),
        "m": maybe(
            rng.choice((0, rng.randrange(-50, 100), 2**31 - 1 if rng.random() < 0.1 else 7))
        ),
        "n": maybe(rng.choice(HUGE)),
        "x": maybe(rng.choice(ODD_FLOATS) if rng.random() < 0.1 else rng.uniform(0.5, 1e6)),
        "f": maybe(rng.choice(ODD_FLOATS[3:]) if rng.random() < 0.2 else rng.uniform(1, 99)),
        "d": maybe(Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-3)),
        # A dozen of these overflow 38 digits.
        "w": maybe(Decimal(rng.randrange(10**37)).scaleb(-2, _WIDE)),
        "name": maybe(rng.choice(NAMES)),
        "day": maybe(date(1969, 12, 30) + timedelta(days=rng.randrange(4))),
        "at": maybe(rng.choice((-1, 0, ts_us, -(10**15), YEAR_9999_US))),
    }


def random_rows(rng: random.Random, shape: str, count: int) -> list[Row]:
    """Rows of one of the SHAPES in order of arrival, some of them twice."""
    rows = [random_row(rng, ts_us) for ts_us in SHAPES[shape](rng, count)]
    return [row for row in rows for _ in range(2 if rng.random() < 0.1 else 1)]


def cut(rows: Sequence[Row], parts: int) -> list[list[Row]]:
    """The rows in so many runs of about equal length."""
    size = -(-len(rows) // parts)
    return [list(rows[at : at + size]) for at in range(0, len(rows), size)]


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def write_files(folder: Path, parts: Sequence[Sequence[Row]], first: int = 0) -> None:
    """One Parquet file a part, dated so that they are taken in this order.

    A run may look into the folder at any time, so a file is there only once it is whole and dated.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(parts, start=first):
        path = folder / f"_part-{number:03d}.parquet"
        pq.write_table(table_of(rows), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
        path.rename(folder / path.name.removeprefix("_"))
