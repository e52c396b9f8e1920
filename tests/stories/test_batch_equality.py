"""Everything the engine says equals Spark batch SQL over the rows it accepted.

Many random queries over several random streams in one run, cut into several ticks. This
catches wrong slices, wrong combination over ticks, wrong types and NULLs; it cannot catch a
wrong reading of late rows, which `test_disorder.py` looks at.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.oracle import Case, compare_all, random_cases
from tests.stories.streams import (
    COLUMNS,
    LATENESS_US,
    cut,
    random_rows,
    table_of,
    write_files,
)
from tidemill.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Spark finishes takes a job for each query and tick.
ROWS, FILES = 240, 3


def stream_statement(name: str) -> str:
    return (
        f"CREATE STREAM {name} ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in/{name}'"
        f" WITH (lateness = '{LATENESS_US // 1000} ms');"
    )


def script_of(streams: list[str], cases: list[Case], sharing: str) -> str:
    return "\n".join(
        [
            "SET tick_files = 1;",
            f"SET sharing = '{sharing}';",
            "CREATE SINK out TO 'parquet:out';",
            *map(stream_statement, streams),
            *(case.create("out") for case in cases),
        ]
    )


@pytest.mark.parametrize(
    ("seed", "shapes", "families", "members", "sharing"),
    [
        (1, ["ordered", "far"], 3, 6, "auto"),
        (2, ["disordered", "ancient"], 3, 6, "auto"),
        (3, ["bursty"], 4, 6, "auto"),
        (4, ["disordered"], 3, 1, "none"),
    ],
)
def test_answers_equal_batch(
    spark: SparkSession,
    tmp_path: Path,
    seed: int,
    shapes: list[str],
    families: int,
    members: int,
    sharing: str,
) -> None:
    rng = random.Random(seed)
    cases: list[Case] = []
    for shape in shapes:
        rows = random_rows(rng, shape, ROWS)
        write_files(tmp_path / "in" / shape, cut(rows, FILES))
        spark.createDataFrame(table_of(rows)).createOrReplaceTempView(shape)
        cases += random_cases(rng, shape, families, members)

    with Engine(tmp_path / "home") as engine:
        engine.sql(script_of(shapes, cases, sharing), tmp_path)
        report = engine.run("flush")
        answers = {case.name: engine.query(case.name).answers().to_arrow() for case in cases}

    assert report.ticks == len(shapes) * (FILES + 1)  # and one flush each
    assert report.rows_late == report.rows_malformed == 0
    compared = compare_all(spark, cases, answers)
    assert compared == sum(report.queries.values())
    assert compared > 20 * len(cases)
