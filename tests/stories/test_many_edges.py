"""Windows that have no edges in common: rows find their slices among all edges of the tick.

Told with the lookup, and with comparisons where there are too many edges for it; both are held
to Spark batch SQL over the rows that were accepted.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stories.oracle import Case, Keyed, Term, many_batch_answers
from tests.stories.streams import STREAM, Row, cut, random_rows, table_of, write_files
from tests.stories.test_disorder import expected_late
from tidemill.engine import Engine
from tidemill.spark.catalyst import partials, slices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES, FILES = 12, 3


def odd_windows(rng: random.Random) -> list[Case]:
    values = (Term("COUNT(*)"), Term("SUM(n)", "TRY_CAST(SUM(CAST(n AS DECIMAL(38,0))) AS BIGINT)"))
    return [
        Case(
            name=f"q{number}",
            stream="s",
            range_ms=rng.randrange(2_000, 90_000),
            slide_ms=rng.randrange(1_000, 30_000),
            start_ms=rng.randrange(999),
            keys=(Term("k"),),
            aggregates=values,
            where=Term("m > 5") if number % 3 else None,
            having=None,
            descending=False,
            limit=None,
        )
        for number in range(QUERIES)
    ]


def late_rows(rng: random.Random, shape: str) -> list[list[Row]]:
    """The stream in files; rows with times of the first come last, too late."""
    parts = cut(random_rows(rng, shape, 150), FILES)
    parts[-1] += [{**row, "name": "late"} for row in parts[0][:5]]
    return parts


def batch_of(spark: SparkSession, parts: list[list[Row]], cases: list[Case]) -> list[Keyed]:
    late = expected_late(parts)
    accepted = [row for rows in parts for row in rows if row not in late]
    spark.createDataFrame(table_of(accepted)).createOrReplaceTempView("s")
    return many_batch_answers(spark, cases)


@pytest.mark.parametrize("shape", ["ordered", "ancient", "far"])
def test_slices_are_found_among_many_edges(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    rng = random.Random(5)
    parts, cases = late_rows(rng, shape), odd_windows(rng)
    write_files(tmp_path / "in", parts)
    batch = batch_of(spark, parts, cases)
    found: list[bool] = []

    def noted(*arguments: Any) -> Any:
        found.append((sliced := slices.with_slices(*arguments)) is not None)
        return sliced

    monkeypatch.setattr(partials, "with_slices", noted)
    script = STREAM + "SET scan = 'catalyst'; SET sharing = 'shared';"
    with Engine(tmp_path / "home") as engine:
        engine.sql(script + "".join(case.create("out") for case in cases), tmp_path)
        report = engine.run("flush")
        compared = [
            case.compare_keyed(engine.query(case.name).answers().to_arrow(), want)
            for case, want in zip(cases, batch, strict=True)
        ]
    assert min(compared) > 0
    assert report.rows_late >= 5
    # From 1906 to 1970, and to the year 9999, there are more edges than are listed.
    few = {"ordered": [True] * 3, "ancient": [False, True, True], "far": [True, True, False]}
    assert found == few[shape]
