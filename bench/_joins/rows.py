"""Joins of rows, which come one by one: every result is made, and then dropped."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _ratios import Bench, Figure, Ratio, run_script, timed
from _rows import START_US

from _joins.streams import SCHEMA, SECONDS, Keys, script
from tidemill import Engine
from tidemill.engine.run import RunReport

FEW, MANY = Keys(1_000), Keys(100_000)
# Of the row about small ticks: rows of each, how many there are, and the keys.
SMALL_ROWS, SMALL_TICKS, SMALL_KEYS = 3_000, 10, Keys(1_000_000)
LISTED = "x.k, x.v AS a, y.v AS b"
_DUCK = """
WITH results AS (SELECT greatest(x.ts, y.ts) AS came, least(x.ts + INTERVAL {a} SECONDS,
  y.ts + INTERVAL {b} SECONDS) AS expires, x.k, x.v AS a, y.v AS b
  FROM '{folder}/a/*.parquet' x JOIN '{folder}/b/*.parquet' y ON x.k = y.k
  WHERE x.ts < y.ts + INTERVAL {b} SECONDS AND y.ts < x.ts + INTERVAL {a} SECONDS)
SELECT COUNT(*), MAX(came), MAX(expires), MAX(k), MAX(a), MAX(b) FROM results
"""
_ALONE = r"""
import json, re, sys
from tidemill import Engine
with Engine(sys.argv[1]) as engine:
    engine.sql(open(sys.argv[2]).read())
    report = engine.run("flush")
# What getrusage tells would be at least the peak of the process that started this one.
peak = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
print(json.dumps([peak / 1024, sum(report.queries.values())]))
"""


def _pairs(range_a: str, range_b: str) -> str:
    return (
        f"SELECT {LISTED} FROM a [RANGE {range_a}] AS x JOIN b [RANGE {range_b}] AS y ON x.k = y.k"
    )


def _script(bench: Bench, keys: Keys, range_a: str, range_b: str) -> str:
    queries: Iterator[str] = iter([_pairs(range_a, range_b)])
    return "SET most_result_rows = 1000000000;" + script(bench, keys, queries)


def _continuous(keys: Keys, range_a: int, range_b: int, bench: Bench) -> Figure:
    used_s, report = run_script(bench, _script(bench, keys, f"{range_a} s", f"{range_b} s"))
    return Figure(used_s, sum(report.queries.values()))


def _duckdb(keys: Keys, range_a: int, range_b: int, bench: Bench) -> Figure:
    """All at once, from the same files; the maxima ask for every column of every result."""
    _script(bench, keys, f"{range_a} s", f"{range_b} s")  # makes the files
    folder = bench.scratch / f"joined-{keys.count}-{keys.heaviest}"
    counts = list[int]()
    with duckdb.connect() as base:
        sql = _DUCK.format(folder=folder, a=range_a, b=range_b)
        used_s = timed(lambda: counts.append(base.execute(sql).fetchall()[0][0]))
    return Figure(used_s, counts[0])


def _peak(range_ms: int, bench: Bench) -> Figure:
    """The peak of a process that does nothing else, in MiB."""
    home = bench.new_folder()
    (home / "script.sql").write_text(_script(bench, FEW, f"{range_ms} ms", f"{range_ms} ms"))
    command = [sys.executable, "-c", _ALONE, str(home / "home"), str(home / "script.sql")]
    try:
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        shutil.rmtree(home)
    peak_mib, results = json.loads(told.splitlines()[-1])
    if not results:
        raise SystemExit("no results")
    return Figure(peak_mib)


def _small_ticks(held_rows: int, bench: Bench) -> Figure:
    """Ticks of few rows of either stream, while a window has so many of each."""
    folder = bench.new_folder()
    try:
        for seed, name in enumerate("ab"):
            (folder / name).mkdir()
            dice = np.random.default_rng([2027, seed])
            for number in range(SMALL_TICKS + 1):
                _write_small(folder / name, number, held_rows, dice)
        with Engine(folder / "home") as engine:
            engine.sql(_small_script(folder))
            engine.run("idle")
            for name in "ab":
                for path in (folder / name).glob("later-*"):
                    path.rename(path.with_name(path.name.removeprefix("later-")))
            reports = list[RunReport]()
            used_s = timed(lambda: reports.append(engine.run("idle")))
        ticks, results = reports[0].ticks, sum(reports[0].queries.values())
        if ticks != 2 * SMALL_TICKS or not results:
            raise SystemExit(f"{ticks} ticks, {results} results")
    finally:
        shutil.rmtree(folder)
    return Figure(used_s / ticks)


def _small_script(folder: Path) -> str:
    streams = (
        f"CREATE STREAM {name} ({SCHEMA}) ORDER BY ts SOURCE 'parquet:{folder / name}/0*.parquet';"
        for name in "ab"
    )
    head = "SET tick_files = 1; CREATE SINK out TO 'discard:';"
    return head + "".join(streams) + f"CREATE QUERY q INTO out AS {_pairs(*[f'{SECONDS} s'] * 2)};"


def _write_small(folder: Path, number: int, held_rows: int, dice: np.random.Generator) -> None:
    """First what is held, over the length of a window; then files of few rows, hidden yet."""
    rows = SMALL_ROWS if number else held_rows
    begin_us = START_US + (SECONDS * 1_000_000 + (number - 1) * 1_000 if number else 0)
    span_us = 1_000 if number else SECONDS * 1_000_000
    columns = {
        "ts": pa.array(begin_us + np.arange(rows) * span_us // rows, pa.timestamp("us", "UTC")),
        "k": SMALL_KEYS.draw(dice, rows),
        "g": dice.integers(0, 20, rows, dtype=np.int32),
        "p": dice.integers(0, 100, rows, dtype=np.int32),
        "v": dice.integers(0, 1_500, rows),
    }
    pq.write_table(pa.table(columns), folder / f"{'later-' if number else ''}{number:03}.parquet")


RATIOS = (
    Ratio(
        "pairs-many",
        "continuous join, every result row made and dropped, over DuckDB alone at once,"
        " 100,000 keys",
        2.5,
        partial(_continuous, MANY, 60, 30),
        partial(_duckdb, MANY, 60, 30),
    ),
    Ratio(
        "pairs-few",
        "the same with 1,000 keys",
        0.5,
        partial(_continuous, FEW, 10, 10),
        partial(_duckdb, FEW, 10, 10),
    ),
    Ratio(
        "small-ticks",
        "tick of 3,000 rows of either stream against windows of 6 million rows over 60,000 rows",
        5,
        partial(_small_ticks, 6_000_000),
        partial(_small_ticks, 60_000),
    ),
    Ratio(
        "peak",
        "peak memory of a hundred times the result rows over that of few",
        1.5,
        partial(_peak, 4_000),
        partial(_peak, 40),
        unit="MiB",
    ),
)
