"""Rows that are only counted: by footers as by reading them."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill.catalog.definitions import stream_of
from tidemill.connect.sources.parts import settle_by_parts
from tidemill.language import parse_script
from tidemill.language.statements import CreateStream
from tidemill.scan.arrays.files import Part, parts_of, read_batches
from tidemill.scan.arrays.footers import count_by_footers
from tidemill.scan.arrays.program import Program, write_program
from tidemill.scan.arrays.scan import Scanned, in_total, scan
from tidemill.scan.contract import COUNTED, LATE, MALFORMED, Terms
from tidemill.time import Register

SECOND_US = 1_000_000
(STATEMENT,) = parse_script("CREATE STREAM s (ts TIMESTAMP, n INT) ORDER BY ts SOURCE 'parquet:in'")


def program() -> Program:
    assert isinstance(STATEMENT, CreateStream)
    return write_program(stream_of(STATEMENT), ())


def write(folder: Path, dice: random.Random, unit: str) -> tuple[Part, ...]:
    """Twenty files of two row groups; of each kind of oddity some."""
    for number in range(20):
        low, high = number * 10, number * 10 + (30 if number % 5 == 4 else 12)
        times: list[int | None] = [dice.randrange(low, high) * SECOND_US for _ in range(40)]
        times[3] = None if number % 4 == 1 else times[3]
        if number % 7 == 6:
            times[5] = (2**60 + 10**6) if unit == "us" else -(2**60) - 10**6
        scaled = [t if t is None or unit == "us" else t // 1000 for t in times]
        column = pa.array(scaled, pa.timestamp(unit, tz="UTC"))
        statistics = number % 6 != 5
        pq.write_table(
            pa.table({"ts": column, "n": pa.array(range(40), pa.int32())}),
            folder / f"{number:02}.parquet",
            row_group_size=20,
            write_statistics=statistics,
        )
    parts = parts_of(program(), sorted(map(str, folder.glob("*.parquet"))))
    assert parts is not None
    return parts


def read(parts: list[Part], terms: Terms) -> list[Scanned]:
    return list(scan(program(), read_batches(program(), parts), terms))


@pytest.mark.parametrize("unit", ["us", "ms"])
def test_footers_count_what_reading_counts(tmp_path: Path, unit: str) -> None:
    every = write(tmp_path, random.Random(3), unit)
    register = Register().advanced(4 * SECOND_US, 2 * SECOND_US)
    # Bounds are known where the footers of all files of a tick tell them.
    ticks = [[p for p in every if int(Path(p.place[0]).stem) in range(f, f + 3)] for f in range(18)]
    total = {COUNTED: 0, LATE: 0, MALFORMED: 0}
    by_footers = 0
    for parts in ticks:
        terms = settle_by_parts(Terms(register, 5 * SECOND_US, latest_us=185 * SECOND_US), parts)
        counted, left = count_by_footers(parts, terms)
        both, plain = in_total([*counted, *read(left, terms)]), in_total(read(parts, terms))
        assert both.rows == plain.rows
        assert (both.oldest_us, both.newest_us) == (plain.oldest_us, plain.newest_us)
        assert both.spans == plain.spans
        assert bool(counted) <= bool(terms.bounds)
        by_footers += len(counted)
        for verdict, rows in plain.rows.items():
            total[verdict] += rows
    assert by_footers > 10
    assert all(rows > 10 for rows in total.values())
