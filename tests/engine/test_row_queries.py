"""Queries without a window come, pause, change and go while their stream runs; without Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.stories.streams import NOON_US, SECOND_US, random_row, write_files
from tidemill import Engine
from tidemill.errors import TidemillError

SCRIPT = """
SET tick_files = 1;
CREATE STREAM s (ts TIMESTAMP, n BIGINT) ORDER BY ts
  SOURCE 'parquet:in' WITH (lateness = '3 seconds');
CREATE SINK out TO 'parquet:out';
CREATE QUERY at_once INTO out AS SELECT n FROM s;
CREATE QUERY in_order INTO out AS SELECT n FROM s ORDER BY ts;
"""


class Story:
    """A stream of numbered rows, one a second, five in a file; each file is a tick."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, 0
        self.add_file()
        self.engine = Engine(folder / "home")
        self.engine.sql(SCRIPT, folder)
        self.engine.run("idle")

    def add_file(self) -> None:
        rng, first = random.Random(1), 5 * self._files
        rows = [
            random_row(rng, NOON_US + n * SECOND_US) | {"n": n} for n in range(first, first + 5)
        ]
        write_files(self._folder / "in", [rows], first=self._files)
        self._files += 1

    def tick(self, statement: str = "") -> Any:
        """Change something, then run a tick over five more rows."""
        self.engine.sql(statement)
        self.add_file()
        return self.engine.run("idle")

    def numbers(self, query: str) -> list[int]:
        answers: list[int] = self.engine.query(query).answers().to_arrow().column(0).to_pylist()
        return answers


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    story = Story(tmp_path)
    yield story
    story.engine.close()


def numbers(*spans: tuple[int, int]) -> list[int]:
    return [n for first, last in spans for n in range(first, last + 1)]


def test_a_paused_query_lets_rows_go_by_and_an_ordered_one_goes_on_collecting(story: Story) -> None:
    assert (story.numbers("at_once"), story.numbers("in_order")) == (numbers((0, 4)), [0])
    report = story.tick("PAUSE QUERY at_once; PAUSE QUERY in_order;")
    assert report.rows_in == 5
    assert (story.numbers("at_once"), story.numbers("in_order")) == (numbers((0, 4)), [0])
    story.tick("RESUME QUERY at_once; RESUME QUERY in_order;")
    # Rows 1 to 5 have been passed by the watermark meanwhile; 6 to 9 had still to wait.
    assert story.numbers("at_once") == numbers((0, 4), (10, 14))
    assert story.numbers("in_order") == numbers((0, 0), (6, 10))
    story.engine.run("flush")
    assert story.numbers("in_order") == numbers((0, 0), (6, 14))


def test_a_query_that_changes_drops_the_rows_that_wait(story: Story) -> None:
    replies = story.engine.sql("ALTER QUERY in_order AS SELECT n * 1 AS n FROM s ORDER BY ts")
    assert replies == ["query in_order: its first rows come with the next tick"]
    story.engine.sql("ALTER QUERY in_order AS SELECT n FROM s WHERE n <> 7 ORDER BY ts")
    report = story.tick()
    assert story.numbers("in_order") == [0, 5]
    assert report.streams["s"]["state_rows"] == 3
    assert story.engine.sql("SHOW QUERIES")[0].splitlines()[2:] == [
        "at_once   running  s             out   10       0",
        "in_order  running  s             out   1        0       s at 2024-03-01 12:00:06.000001",
    ]


def test_a_query_that_goes_takes_its_rows_along(story: Story, tmp_path: Path) -> None:
    assert list((tmp_path / "home" / "synopses").glob("*/*"))
    report = story.tick("DROP QUERY in_order;")
    assert report.streams["s"]["state_rows"] == 0
    assert not list((tmp_path / "home" / "synopses").glob("*/*"))
    assert story.numbers("at_once") == numbers((0, 9))


def test_windows_beside_and_subscribers(story: Story) -> None:
    batches: list[pa.Table] = []
    story.engine.query("in_order").subscribe(batches.append)
    story.engine.sql(
        "CREATE QUERY w INTO out AS SELECT SUM(n) AS n FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS]"
    )
    story.tick()
    report = story.engine.run("flush")
    assert pa.concat_tables(batches).column("n").to_pylist() == numbers((1, 9))
    assert report.routes == {}
    assert story.numbers("in_order") == numbers((0, 9))
    assert story.engine.query("w").answers().to_arrow().column("n").to_pylist() == [35]


def test_a_query_over_a_derived_stream(story: Story) -> None:
    story.engine.sql(
        "CREATE STREAM few AS SELECT n AS m, ts AS at FROM s WHERE n <> 6;"
        "CREATE QUERY of_few INTO out AS SELECT * FROM few WHERE m > 5 ORDER BY at;"
    )
    report = story.tick()
    assert (report.rows_in, report.streams["s"]["state_rows"]) == (5, 7)
    story.engine.run("flush")
    assert story.numbers("of_few") == [7, 8, 9]
    assert story.engine.query("of_few").answers().to_arrow().column_names == ["m", "at"]
    (plan,) = story.engine.sql("EXPLAIN PLAN QUERY of_few")
    assert "stream few: select n AS m, ts AS at where n <> 6" in plan


def test_explanations(story: Story) -> None:
    told = {mode: story.engine.sql(f"EXPLAIN {mode} QUERY in_order")[0] for mode in ("PLAN", "AST")}
    assert told["PLAN"].splitlines() == [
        "query in_order → out",
        "  from       stream s",
        "  output     n BIGINT = n   (Catalyst, per row)",
        "  leaves     in the order of time, once the watermark has passed them",
    ]
    assert "window = None" in told["AST"]
    assert story.engine.sql("EXPLAIN SHARED ALL") == [
        "2 row queries on s\n"
        "  at_once: all rows, with the tick that takes them\n"
        "  in_order: all rows, in the order of time, once the watermark has passed them"
    ]
    (shared,) = story.engine.sql("EXPLAIN SHARED SELECT n AS m FROM s WHERE n > 3")
    assert shared.splitlines() == [
        "if registered, a query on s, without a window",
        "  picks   rows where n >= 4",
        "  gives   m",
        "  leaves  with the tick that takes them",
        "  keeps   nothing",
    ]
    for statement in ("EXPLAIN SCHEDULE QUERY in_order", "SHOW WEAVES", "SHOW SCHEDULE"):
        assert story.engine.sql(statement)
    json.dumps([reply.to_dict() for reply in story.engine.ask("EXPLAIN SHARED QUERY in_order")])
    assert story.engine.drawing().startswith("<svg")


def test_a_select_by_itself_needs_a_window(story: Story) -> None:
    with pytest.raises(TidemillError, match="reads a window"):
        story.engine.sql("SELECT n FROM s WHERE n > 3")


def test_a_computed_condition_that_raises_counts_for_every_row_that_counts(story: Story) -> None:
    """On arrays; what fits 64 bits is compared, and the rest is NULL."""
    report = story.tick("CREATE QUERY few AS SELECT n FROM s WHERE n + 9223372036854775800 > 0;")
    assert report.routes == {"columnar": 1}
    assert story.numbers("few") == numbers((5, 7))
    assert report.raised["few"] == 2
