"""Variances of what is hard for them: numbers around 1e18, infinities, NaN, and what cancels.

As Spark's within 1e-9, and exactly so where they are NaN, infinite or zero; and once a value has
left the window, as if it had never been there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.oracle import Case, Term, batch_answers
from tests.stories.streams import NOON_US, STREAM, Row, cut, table_of, write_files
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, STEP_US = 120, 500_000
BAD = range(40, 46)  # rows of one slice
INF, NAN = math.inf, math.nan


def _small(place: int) -> float:
    return place * 37 % 11 - 4.25


def _but(*values: float) -> Callable[[int], float]:
    """Small numbers, but for a moment."""
    return lambda place: values[place % len(values)] if place in BAD else _small(place)


# By group the value of each row.
GROUPS: dict[str, Callable[[int], float | None]] = {
    "small": _small,
    "huge": _but(1e18),
    "huge, both signs": _but(1e18, -1e18),
    "inf": _but(INF),
    "-inf": _but(-INF),
    "both infinities": _but(INF, -INF),
    "nan": _but(NAN),
    "around 1e18": lambda place: 1e18 + place * 37 % 11 * 1e12,
    "all 1e18": lambda _: 1e18,
    "all 0.1": lambda _: 0.1,
    "cancelling": lambda place: 1e5 + place * 37 % 11 / 8,
    "squares overflow": lambda place: (-1e200, 1e200, 3e199)[place % 3],
    "one now and then": lambda place: 7.5 if place % 30 == 4 else None,
    "nothing": lambda _: None,
}
SPREADS = ("VARIANCE", "STDDEV", "VAR_POP", "STDDEV_POP")
CASE = Case(
    name="spreads",
    stream="s",
    range_ms=20_000,
    slide_ms=5_000,
    start_ms=0,
    keys=(Term("k"),),
    aggregates=tuple(Term(f"{f}({c})", approximate=True) for c in "xnfw" for f in SPREADS),
    where=None,
    having=None,
    descending=False,
    limit=None,
)

# Without decimals, which arrays leave to Catalyst.
OF_ARRAYS = replace(CASE, aggregates=CASE.aggregates[:12])
OF_DOUBLES = replace(CASE, aggregates=CASE.aggregates[:4])


def rows_of(group: str) -> list[Row]:
    return [_row(group, place, GROUPS[group](place)) for place in range(ROWS)]


def _row(group: str, place: int, value: float | None) -> Row:
    is_whole = value is not None and math.isfinite(value) and abs(value) < 1e19
    whole = int(value) if is_whole and value is not None else None
    return {
        "ts": NOON_US + place * STEP_US,
        "k": group,
        "x": value,
        "f": value if value is None or abs(value) < 1e30 or not math.isfinite(value) else None,
        "n": whole,
        "w": None if whole is None else Decimal(whole),
    }


def answers_to(folder: Path, rows: list[Row]) -> list[Row]:
    write_files(folder / "in", cut(sorted(rows, key=lambda row: row["ts"]), 4))
    with Engine(folder / "home") as engine:
        engine.sql(STREAM + OF_DOUBLES.create("out"), folder)
        report = engine.run("flush")
        assert report.rows_in == len(rows)
        return list(engine.query("spreads").answers().to_arrow().to_pylist())


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_they_are_what_spark_says(spark: SparkSession, tmp_path: Path, scan: str) -> None:
    rows = sorted((row for group in GROUPS for row in rows_of(group)), key=lambda row: row["ts"])
    write_files(tmp_path / "in", cut(rows, 4))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    case = CASE if scan == "catalyst" else OF_ARRAYS
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"SET scan = '{scan}';" + STREAM + case.create("out"), tmp_path)
        report = engine.run("flush")
        assert report.routes == {"columnar" if scan == "auto" else "catalyst": 4}
        answers = engine.query("spreads").answers().to_arrow()
    assert case.compare(answers, batch_answers(spark, case)) > 14 * len(GROUPS)


@pytest.mark.parametrize("group", ["huge", "huge, both signs", "inf", "both infinities", "nan"])
def test_a_window_knows_nothing_of_what_has_left_it(tmp_path: Path, group: str) -> None:
    clean = [{**row, "k": group} for row in rows_of("small")]
    with_bad, without = (
        answers_to(tmp_path / name, rows)
        for name, rows in (("with", rows_of(group)), ("without", clean))
    )
    pairs = list(zip(with_bad, without, strict=True))
    met = [row for row, other in pairs if str(row) != str(other)]
    # The windows that hold the slice, and no others.
    assert len(met) == CASE.range_ms // CASE.slide_ms
    assert len(pairs) > 2 * len(met)


def test_what_cancels_is_near_the_truth(tmp_path: Path) -> None:
    """The sum of squares less the square of the sum would be off by 1 in 100,000."""
    answers = answers_to(tmp_path, rows_of("cancelling"))
    slides = CASE.range_ms // CASE.slide_ms
    for number, row in enumerate(answers, start=1 - slides):
        first = number * 10
        values = [
            Fraction(GROUPS["cancelling"](place) or 0)
            for place in range(max(0, first), min(ROWS, first + 40))
        ]
        mean = sum(values) / len(values)
        variance = float(sum((value - mean) ** 2 for value in values) / len(values))
        assert math.isclose(row["a2"], variance, rel_tol=1e-9)
    assert len(answers) == 15
