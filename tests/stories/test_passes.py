"""Odd passes of Catalyst: column sets given twice, more than Spark counts, no rows at all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.stories.streams import NOON_US, SECOND_US, STREAM, random_row, write_files
from tidemill.engine import Engine

ROWS = 40


def answers_of(folder: Path, sharing: str, queries: list[str]) -> list[int]:
    """The sum of all counts of each query, over windows that do not overlap."""
    rng = random.Random(3)
    write_files(folder / "in", [[random_row(rng, NOON_US + n * SECOND_US) for n in range(ROWS)]])
    text = (
        STREAM.replace("parquet:out", "memory:")
        + f"SET sharing = '{sharing}'; SET scan = 'catalyst';"
    )
    named = [sql.format(f"q{number}") for number, sql in enumerate(queries)]
    with Engine(folder / "home") as engine:
        engine.sql(text + "\n".join(named), folder)
        engine.run("flush")
        tables = [engine.query(f"q{n}").answers().to_arrow() for n in range(len(queries))]
    return [sum(table.column("n").to_pylist()) for table in tables]


def counting(window: str, where: str = "TRUE") -> str:
    return (
        "CREATE QUERY {} INTO out AS SELECT k, COUNT(*) AS n "
        f"FROM s [RANGE {window} SLIDE {window}] WHERE {where} GROUP BY k;"
    )


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("sharing", ["none", "weave", "triweave"])
def test_feeds_that_are_grouped_alike_count_a_row_once(tmp_path: Path, sharing: str) -> None:
    found = answers_of(tmp_path, sharing, [counting("1 DAY"), counting("7 SECONDS")])
    assert found == [ROWS, ROWS]


@pytest.mark.usefixtures("spark")
def test_more_feeds_than_an_id_has_bits(tmp_path: Path) -> None:
    """Equal scans, so that they would all be sets of one pass."""
    queries = [counting(f"{n} SECONDS", "m > -100") for n in range(1, 71)]
    found = answers_of(tmp_path, "none", queries)
    assert len(set(found)) == 1
    assert 0 < found[0] < ROWS


@pytest.mark.usefixtures("spark")
def test_a_condition_that_no_row_can_meet(tmp_path: Path) -> None:
    assert answers_of(tmp_path, "auto", [counting("1 DAY", "m > 5 AND m < 3")]) == [0]
