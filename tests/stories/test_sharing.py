"""Three hundred queries of all sorts over one stream with late rows, in every sharing mode.

Every answer equals Spark batch SQL over the rows that were accepted. The batch answers are
made once and each mode is compared with them, so the modes are equal to each other too. Rows
come in bursts some hours apart, so that windows of parts of a second and of days close in every
tick; a query has answers in several of them, or it asks for what no row can meet.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stories.oracle import Case, Keyed, interpreted, many_batch_answers, shared_cases
from tests.stories.streams import (
    COLUMNS,
    HOUR_US,
    LATENESS_US,
    NOON_US,
    SECOND_US,
    cut,
    random_row,
    table_of,
    write_files,
)
from tests.stories.test_disorder import expected_late
from tidemill.engine import Engine
from tidemill.engine.tick.report import TickReport
from tidemill.settings import SHARING_MODES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BURST, BURSTS, FILES, QUERIES = 40, 12, 3, 300
ROWS = BURST * BURSTS
# More are drawn than are asked: some have too few answers to show anything.
DRAWN = 350
UNMET = "m > 30 AND m < 5"
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
        parts = cut([random_row(rng, t) for t in burst_times(rng)], FILES)
        write_files(folder / "in", parts)
        late = expected_late(parts)
        self.folder, self.late = folder, len(late)
        accepted = [row for rows in parts for row in rows if row not in late]
        spark.createDataFrame(table_of(accepted)).coalesce(1).createOrReplaceTempView("s")
        drawn = list(shared_cases(rng, "s", DRAWN, ODD_SHARE))
        newest = [max(row["ts"] for row in rows) for rows in parts]
        answers = zip(drawn, many_batch_answers(spark, drawn), strict=True)
        asked = [(c, keyed) for c, keyed in answers if is_unmet(c) or closes_often(keyed, newest)]
        self.cases = [case for case, _ in asked[:QUERIES]]
        self.batch: dict[str, Keyed] = {case.name: keyed for case, keyed in asked[:QUERIES]}


def burst_times(rng: random.Random) -> list[int]:
    """Bursts of a second, hours apart; every tenth row comes two days too late."""
    now, arrivals = NOON_US, []
    for _ in range(BURSTS):
        now += rng.randrange(14 * HOUR_US, 19 * HOUR_US)
        times = [now + rng.randrange(SECOND_US) for _ in range(BURST)]
        arrivals += [(t + (50 * HOUR_US if rng.random() < 0.1 else 0), t) for t in times]
    return [t for _, t in sorted(arrivals)]


def is_unmet(case: Case) -> bool:
    return case.where is not None and case.where.sql == UNMET


def closes_often(answers: Keyed, newest: list[int]) -> bool:
    """Whether windows with answers end in the spans of several files."""
    return len({bisect_left(newest, end) for _, end, *_ in answers}) > 1


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
    # At so few rows a second the papers' costs leave most queries a synopsis of their own there.
    cases = expected.cases[: QUERIES // 3 if sharing == "triweave" else QUERIES]
    ticks = Counter[str]()

    def note(tick: TickReport) -> None:
        ticks.update(name for name, count in tick.answers.items() if count)

    with Engine(tmp_path / "home") as engine, interpreted(spark):
        engine.sql(script_of(cases, sharing), expected.folder)
        report = engine.run("flush", listener=note)
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
    assert len(expected.cases) == QUERIES
    unmet = {case.name for case in cases if is_unmet(case)}
    assert {case.name for case in cases if ticks[case.name] < 2} == unmet
    assert 0 < len(unmet) < 30
    assert sum(compared) > 100 * len(cases)
    if sharing != "triweave":
        assert (synopses == len(cases)) == (sharing == "none")
    # Feeds that cost too little to be joined in one pass may part the plain from the odd.
    routes = {ROUTES[sharing], *([APART] if sharing in ("auto", "triweave") else [])}
    assert report.routes.keys() <= routes
    assert sum(report.routes.values()) == FILES
