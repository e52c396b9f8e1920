"""Packets for the benchmarks: skewed as traffic is, alike from run to run.

`src` follows a Zipf law over the groups, or is uniform; six protocols, one of them most of the
traffic; about forty ports, NULL for protocols that have none; twenty zones; lengths with one
hump of acknowledgements and one of full packets. Times are even, in order, without late rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from tidemill.arrays import FloatArray, IntArray

START_US = 1_767_225_600_000_000
SCHEMA = "ts TIMESTAMP, src INT, proto STRING, port INT, zone STRING, length BIGINT"
PROTOCOLS = {"TCP": 0.78, "UDP": 0.17, "ICMP": 0.03, "GRE": 0.01, "ESP": 0.007, "SCTP": 0.003}
PORTLESS = ("ICMP", "GRE", "ESP")
# Most used first.
PORTS = (
    *(443, 80, 53, 22, 8080, 25, 123, 3389, 445, 993, 5432, 3306, 6379, 8443, 9092, 110, 143),
    *(389, 161, 514, 1883, 5060, 5672, 9200, 27017, 2049, 21, 23, 69, 88, 179, 500, 587, 636),
    *(853, 1194, 1433, 1521, 4789, 6443),
)
ZONES = tuple(
    f"{place}-{number}"
    for number in (1, 2, 3, 4)
    for place in ("dmz", "office", "lab", "core", "edge")
)
_ZONE_SKEW = 0.5
_PORT_SKEW = 1.2
_KEY_SKEW = 1.0


@dataclass(frozen=True)
class Shape:
    """The number of rows, their sources and their rate."""

    rows: int = 10_000_000
    groups: int = 1_000
    rate: int = 50_000  # rows per second of stream time
    keys: str = "zipf"  # or uniform

    @property
    def seconds(self) -> float:
        return self.rows / self.rate


def zipf(count: int, skew: float) -> FloatArray:
    """Shares of the ranks 1 to count."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -skew
    shares: FloatArray = weights / weights.sum()
    return shares


def make_rows(shape: Shape, first: int, count: int, seed: int) -> pa.Table:
    """Rows `first` to `first + count` of the stream; the seed names the piece."""
    dice = np.random.default_rng([2026, seed])
    times = START_US + (np.arange(first, first + count) * 1_000_000) // shape.rate
    proto = _draw(dice, np.array(list(PROTOCOLS.values())), count)
    portless = np.isin(proto, [list(PROTOCOLS).index(name) for name in PORTLESS])
    ports = np.array(PORTS, np.int32)[_draw(dice, zipf(len(PORTS), _PORT_SKEW), count)]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "src": _sources(dice, shape, count),
            "proto": pa.DictionaryArray.from_arrays(proto, list(PROTOCOLS)).cast(pa.string()),
            "port": pa.array(ports, mask=portless),
            "zone": _words(ZONES, _draw(dice, zipf(len(ZONES), _ZONE_SKEW), count)),
            "length": _lengths(dice, count),
        }
    )


def _draw(dice: np.random.Generator, weights: FloatArray, count: int) -> NDArray[np.int32]:
    bounds = np.cumsum(weights / weights.sum())
    drawn = np.searchsorted(bounds, dice.random(count), side="right")
    return np.minimum(drawn, len(weights) - 1).astype(np.int32)


def _sources(dice: np.random.Generator, shape: Shape, count: int) -> NDArray[np.int32]:
    if shape.keys == "uniform":
        return dice.integers(0, shape.groups, count, dtype=np.int32)
    # Ranks are strewn over the numbers, so that near numbers are not alike.
    names = np.random.default_rng(1).permutation(shape.groups).astype(np.int32)
    return names[_draw(dice, zipf(shape.groups, _KEY_SKEW), count)]


def _words(words: tuple[str, ...], numbers: NDArray[np.int32]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(numbers, list(words)).cast(pa.string())


def _lengths(dice: np.random.Generator, count: int) -> IntArray:
    kind = dice.random(count)
    between = dice.integers(80, 1_400, count)
    small, large = dice.integers(40, 80, count), dice.integers(1_400, 1_501, count)
    return np.where(kind < 0.45, small, np.where(kind < 0.8, large, between))


def make_files(
    folder: Path,
    shape: Shape,
    rows_per_tick: int,
    files_per_tick: int,
    file_format: str = "parquet",
    told: Callable[[int], None] = lambda _: None,
) -> None:
    """A few files a tick, in order of name; `told` hears how many rows are written."""
    folder.mkdir(parents=True)
    for number, first in enumerate(range(0, shape.rows, rows_per_tick)):
        count = min(rows_per_tick, shape.rows - first)
        table = make_rows(shape, first, count, number)
        bounds = [part * count // files_per_tick for part in range(files_per_tick + 1)]
        for part, (low, high) in enumerate(itertools.pairwise(bounds)):
            name = folder / f"part-{number:05d}-{part}.{file_format}"
            _write(table.slice(low, high - low), name, file_format)
        told(first + count)


def _write(table: pa.Table, path: Path, file_format: str) -> None:
    if file_format == "parquet":
        pa.parquet.write_table(table, path)
        return
    # Without a zone, so that every reader takes the same text; all of them read it as UTC.
    plain = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us")).cast(pa.string()))
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    pa.csv.write_csv(plain, path, options)
