"""Soft queries for one stream whose files come at the pace of the clock.

As in Golab's study: eight groups of queries, windows of 20 to 100 updates, periods of one update
to half the window. The queries of a group have the same keys, so they read one synopsis. A file
is an update, and all files have as many rows.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START_US = 1_767_225_600_000_000
UPDATE_US = 1_000_000
LONGEST = 100  # updates
SCHEMA = "ts TIMESTAMP, src INT, dst INT, proto INT, port INT, length BIGINT"
HOSTS, PROTOCOLS, PORTS, MOST_LENGTH = 1_000, 100, 100, 100
GROUPS = ("src", "dst", "proto", "port", "src, proto", "dst, port", "proto, port", "src, dst")
# Values are counted only where groups are few.
COUNTED = ("proto", "port")
PLAIN = ("SUM(length)", "COUNT(*)", "MAX(length)", "AVG(length)")
PERCENTILES = tuple(f"PERCENTILE(length, {part})" for part in (0.25, 0.5, 0.75, 0.9, 0.95, 0.99))


@dataclass(frozen=True)
class SoftQuery:
    name: str
    keys: str
    total: str
    window: int  # updates
    period: int  # updates
    is_top: bool

    @property
    def sql(self) -> str:
        ending = "ORDER BY total DESC LIMIT 10" if self.is_top else f"HAVING {self.total} > 99"
        return (
            f"CREATE QUERY {self.name} INTO nowhere AS SELECT {self.keys}, {self.total} AS total "
            f"FROM packets [RANGE {self.window} SECONDS SLIDE UP TO {self.period} SECONDS] "
            f"GROUP BY {self.keys} {ending};"
        )


def make_soft(count: int, groups: int = len(GROUPS), seed: int = 7) -> list[SoftQuery]:
    """So many queries, dealt out to the groups; a longer list begins with the shorter one."""
    return [_make(number, GROUPS[number % groups], seed) for number in range(count)]


def _make(number: int, keys: str, seed: int) -> SoftQuery:
    dice = random.Random(f"{seed}-{number}")
    window = dice.randint(20, LONGEST)
    total = dice.choice(PERCENTILES if keys in COUNTED and number % 16 < 8 else PLAIN)
    return SoftQuery(
        f"q{number}", keys, total, window, dice.randint(1, window // 2), dice.random() < 0.5
    )


def script(queries: Sequence[SoftQuery], folder: Path, policy: str) -> str:
    lines = [
        f"CREATE STREAM packets ({SCHEMA}) ORDER BY ts SOURCE 'parquet:{folder}' "
        "WITH (update = '1 second');",
        "CREATE SINK nowhere TO 'discard:';",
        f"SET schedule = '{policy}';",
        "SET poll_ms = 10;",
        f"SET tick_files = {2 * LONGEST};",
        *(query.sql for query in queries),
    ]
    return "\n".join(lines)


def write_updates(folder: Path, count: int, rows: int) -> list[Path]:
    """A file for each update. Its last row begins the next one, which closes it."""
    folder.mkdir(parents=True)
    paths = [folder / f"{number:05d}.parquet" for number in range(count)]
    for number, path in enumerate(paths):
        pq.write_table(_update(number, rows), path)
    return paths


def _update(number: int, rows: int) -> pa.Table:
    dice = np.random.default_rng([2026, number])
    times = START_US + number * UPDATE_US + (np.arange(1, rows + 1) * UPDATE_US) // rows
    most = {"src": HOSTS, "dst": HOSTS, "proto": PROTOCOLS, "port": PORTS}
    keys = {name: dice.integers(0, limit, rows, np.int32) for name, limit in most.items()}
    length = dice.integers(1, MOST_LENGTH + 1, rows)
    return pa.table({"ts": pa.array(times, pa.timestamp("us", tz="UTC")), **keys, "length": length})


def add_files(folder: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        os.link(path, folder / path.name)


class Pace:
    """Files that come into a folder one by one, at even times, and when each has come."""

    def __init__(self, folder: Path, paths: Sequence[Path], interval_s: float) -> None:
        self._folder, self._paths, self._interval_s = folder, paths, interval_s
        self.come_s: list[float] = []

    def follow(self, seconds: float) -> Iterator[None]:
        """Something to do before each file comes, until the time is up or files run out."""
        started = time.perf_counter()
        for number, path in enumerate(self._paths):
            due_s = number * self._interval_s
            if due_s >= seconds:
                break
            time.sleep(max(0.0, started + due_s - time.perf_counter()))
            yield
            add_files(self._folder, [path])
            self.come_s.append(time.perf_counter())
        time.sleep(max(0.0, started + seconds - time.perf_counter()))
