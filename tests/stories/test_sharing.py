"""Three hundred queries of all sorts over one stream with late rows, in every sharing mode.

Every answer equals Spark batch SQL over the rows that were accepted. The batch answers are
made once and each mode is compared with them, so the modes are equal to each other too.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.oracle import Case, Keyed, interpreted, many_batch_answers, shared_cases
from tests.stories.streams import (
    COLUMNS,
    LATENESS_US,
    SECOND_US,
    cut,
    ordered_times,
    random_row,
    table_of,
    write_files,
)
from tests.stories.test_disorder import expected_late
from tidemill.engine import Engine
from tidemill.settings import SHARING_MODES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, FILES, QUERIES = 160, 2, 300
# Without sharing, what arrays cannot give takes a Spark job for each query and tick: so most
# queries are plain, and everybody's odd ones are tried in all modes.
ODD_SHARE = 0.12
SCANS = {"shared": "catalyst"}
# Where queries share one scan, the odd ones take the plain ones with them.
APART = "columnar and catalyst"
ROUTES = {mode: APART if mode in ("none", "weave") else "catalyst" for mode in SHARING_MODES}


class Expected:
    """The stream on disk, how many of its rows are late, and what batch SQL says."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        rng = random.Random(11)
        times = ordered_times(rng, ROWS)
        times.sort(key=lambda t: t + rng.randrange(90 * SECOND_US))
        parts = cut([random_row(rng, t) for t in times], FILES)
        write_files(folder / "in", parts)
        late = expected_late(parts)
        self.folder, self.late = folder, len(late)
        accepted = [row for rows in parts for row in rows if row not in late]
        spark.createDataFrame(table_of(accepted)).coalesce(1).createOrReplaceTempView("s")
        self.cases = list(shared_cases(rng, "s", QUERIES, ODD_SHARE))
        answers = many_batch_answers(spark, self.cases)
        self.batch: dict[str, Keyed] = {
            case.name: keyed for case, keyed in zip(self.cases, answers, strict=True)
        }


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    return Expected(spark, tmp_path_factory.mktemp("sharing"))


def script_of(cases: list[Case], sharing: str) -> str:
    return "\n".join(
        [
            f"SET tick_files = 1; SET sharing = '{sharing}';",
            f"SET scan = '{SCANS.get(sharing, 'auto')}';",
            "CREATE SINK out TO 'memory:';",
            f"CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in'"
            f" WITH (lateness = '{LATENESS_US // 1000} ms');",
            *(case.create("out") for case in cases),
        ]
    )


@pytest.mark.parametrize("sharing", SHARING_MODES)
def test_answers_equal_batch_in_every_mode(
    spark: SparkSession, expected: Expected, tmp_path: Path, sharing: str
) -> None:
    cases = expected.cases
    with Engine(tmp_path / "home") as engine, interpreted(spark):
        engine.sql(script_of(cases, sharing), expected.folder)
        report = engine.run("flush")
        compared = [
            case.compare_keyed(
                engine.query(case.name).answers().to_arrow(), expected.batch[case.name]
            )
            for case in cases
        ]
        synopses = len(engine.plan.synopses)
    assert report.ticks == FILES + 1
    assert report.rows_in == ROWS
    assert 10 < expected.late == report.rows_late
    assert sum(compared) > 10 * len(cases)
    assert synopses == len(cases) if sharing == "none" else synopses < len(cases)
    assert report.routes == {ROUTES[sharing]: FILES}
