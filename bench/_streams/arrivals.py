"""What it costs to judge rows by the arrival that they came with.

Apart: ticks of eight files, each judged by those before it, over ticks of the same files judged
as one arrival. Every row comes up to a fifth of a second late, which the lateness covers. Late:
ticks of 3,000 rows with late rows, which are read once more to set these aside, over ticks of as
many without.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from _ratios import Bench, Figure, Ratio, run_script
from _rows import SCHEMA, Shape, make_rows

from tidemill.connect.sources.contract import Files
from tidemill.scan.arrays.files import RowGroup
from tidemill.scan.arrays.lines import Lines

FILES, TICKS = 8, 10
DELAY_US = 200_000
JSON_SHARE = 10  # Spark takes long to read JSON
SMALL_ROWS, SMALL_TICKS = 3_000, 30
TIMELY, LATE = "1 second", "150 milliseconds"
SCRIPT = """
SET tick_files = {files}; SET tick_bytes = '10GB'; SET tick_rows = 1000000000;
CREATE STREAM packets ({schema}) ORDER BY ts SOURCE '{kind}:{data}' WITH (lateness = '{lateness}');
CREATE SINK out TO 'discard:';
CREATE QUERY a INTO out AS SELECT src, COUNT(*) AS n, SUM(length) AS b
  FROM packets [RANGE 60 SECONDS SLIDE 10 SECONDS] GROUP BY src;
CREATE QUERY b INTO out AS SELECT proto, zone, MAX(length) AS m
  FROM packets [RANGE 30 SECONDS SLIDE 5 SECONDS] WHERE port = 443 GROUP BY proto, zone;
"""


@dataclass(frozen=True)
class Setup:
    """Files of a format, so many of them a tick, and how late rows may be."""

    kind: str
    ticks: int
    files: int
    lateness: str = TIMELY
    rows: int | None = None  # all of them
    as_one: bool = False  # all files of a tick are one arrival


def script_of(setup: Setup, rows: int, bench: Bench) -> str:
    words = {"files": setup.files, "schema": SCHEMA, "kind": setup.kind, "lateness": setup.lateness}
    return SCRIPT.format(**words, data=_files(setup, rows, bench.scratch))


def run(setup: Setup, bench: Bench) -> Figure:
    rows = setup.rows or bench.rows // (JSON_SHARE if setup.kind == "json" else 1)
    script = script_of(setup, rows, bench)
    with _one_arrival() if setup.as_one else nullcontext():
        used_s, report = run_script(bench, script, spark=setup.kind == "json")
    is_late = setup.lateness == LATE
    if report.rows_in != rows or bool(report.rows_late) != is_late or report.ticks < setup.ticks:
        raise SystemExit(f"{setup}: {report.ticks} ticks, {report.rows_late} late {report.rows_in}")
    return Figure(used_s)


@contextmanager
def _one_arrival() -> Iterator[None]:
    """The engine takes the files of a tick for one arrival."""
    with ExitStack() as stack:
        for kind, name, value in (
            (RowGroup, "arrival", ""),
            (Lines, "arrival", ""),
            (Files, "arrivals", ()),
        ):
            stack.enter_context(patch.object(kind, name, value))
        yield


def _files(setup: Setup, rows: int, scratch: Path) -> Path:
    """Made once, in the order in which the rows arrive."""
    folder = scratch / f"{setup.kind}-{rows}-{setup.ticks}-{setup.files}"
    if not folder.exists():
        folder.mkdir()
        table = _arriving(rows)
        each = -(-rows // (setup.ticks * setup.files))
        for number, first in enumerate(range(0, rows, each)):
            _write(table.slice(first, each), folder / f"{number:05d}.{setup.kind}")
    return folder


def _arriving(rows: int) -> pa.Table:
    table = make_rows(Shape(rows=rows), 0, rows, 1)
    delays_us = np.random.default_rng(2).integers(0, DELAY_US, rows)
    times_us = table.column("ts").cast(pa.int64()).to_numpy()
    return table.take(pa.array(np.argsort(times_us + delays_us, kind="stable")))


def _write(rows: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pa.parquet.write_table(rows, path)
        return
    texts = rows.column("ts").cast(pa.timestamp("us")).cast(pa.string())
    plain = rows.set_column(0, "ts", texts)
    if path.suffix == ".csv":
        options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
        pa.csv.write_csv(plain, path, options)
        return
    plain.to_pandas().to_json(path, orient="records", lines=True)


def _apart(kind: str, most: float) -> Ratio:
    return Ratio(
        f"apart-{kind}",
        f"8 arrivals a tick judged apart over judged as one, {kind}",
        most,
        partial(run, Setup(kind, TICKS, FILES)),
        partial(run, Setup(kind, TICKS, FILES, as_one=True)),
    )


def _late(kind: str) -> Ratio:
    rows = SMALL_ROWS * SMALL_TICKS
    return Ratio(
        f"late-{kind}",
        f"ticks of 3,000 rows with late ones over without, {kind}",
        2.0,
        partial(run, Setup(kind, SMALL_TICKS, 1, LATE, rows)),
        partial(run, Setup(kind, SMALL_TICKS, 1, TIMELY, rows)),
    )


RATIOS = (
    _apart("parquet", 1.05),
    _apart("csv", 1.05),
    _apart("json", 1.25),
    *(_late(kind) for kind in ("parquet", "csv", "json")),
)
