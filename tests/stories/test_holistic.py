"""What is worked out from counts of values equals Spark batch SQL, by arrays and by Catalyst."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.oracle import HOLISTIC, Case, Term, many_batch_answers
from tests.stories.streams import STREAM, cut, random_rows, table_of, write_files
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS_MS = ((10_000, 5_000), (7_000, 3_000), (60_000, 60_000), (2_000, 9_000))
KEYS = ((), (Term("k"),), (Term("g"), Term("b")))


def cases_of(rng: random.Random) -> list[Case]:
    """Every aggregate in several windows and groups."""
    return [
        Case(f"q{n}", "s", *rng.choice(WINDOWS_MS), 0, keys, terms, None, None, False, None)
        for n, (keys, terms) in enumerate(
            (keys, HOLISTIC[first : first + 3])
            for first in range(0, len(HOLISTIC), 3)
            for keys in rng.sample(KEYS, 2)
        )
    ]


@pytest.mark.parametrize("scan", ["auto", "catalyst"])
def test_aggregates_of_counted_values_equal_batch(
    spark: SparkSession, tmp_path: Path, scan: str
) -> None:
    rng = random.Random(scan)
    rows = random_rows(rng, "disordered", 240)
    write_files(tmp_path / "in", cut(rows, 4))
    spark.createDataFrame(table_of(rows)).createOrReplaceTempView("s")
    cases = cases_of(rng)
    with Engine(tmp_path / "home") as engine:
        engine.sql(
            f"SET scan = '{scan}';{STREAM}{''.join(c.create('out') for c in cases)}", tmp_path
        )
        engine.run("flush")
        answers = [engine.query(case.name).answers().to_arrow() for case in cases]
    batches = many_batch_answers(spark, cases)
    counts = [c.compare_keyed(*pair) for c, *pair in zip(cases, answers, batches, strict=True)]
    assert min(counts) > 0
