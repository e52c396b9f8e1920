"""Queries over unions against a plain twin: random files of three sources, some idle or late.

After every run, in many of which a tick is cut off in some step and finished by another engine,
what has been answered is what lies before the least of the sources' watermarks, each once.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.laws.kills import Mortal
from tidemill.engine import Engine
from tidemill.explain.replies import ReplyTable, Selection
from tidemill.failpoints import STEPS
from tidemill.reference.lateness import late_rows

SECOND_US, LATENESS = 1_000_000, 4
SOURCES = ("a", "b", "c")
SCRIPT = "SET tick_files = 1; SET snapshot_pieces = 2; CREATE SINK out TO 'parquet:out';" + (
    "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, g INT, n BIGINT) ORDER BY ts"
        f" SOURCE 'parquet:{name}' WITH (lateness = '{LATENESS} seconds');"
        for name in SOURCES
    )
    + """
CREATE STREAM both AS SELECT ts, g, n FROM a UNION ALL SELECT ts, g, n FROM b WHERE g <> 2;
CREATE STREAM every AS SELECT * FROM both UNION ALL SELECT * FROM c UNION ALL SELECT * FROM a;
CREATE STREAM few AS SELECT n AS number, ts, g FROM every WHERE g > 0;
CREATE QUERY alone INTO out AS SELECT g, SUM(n) AS s FROM a [RANGE 10 s SLIDE 5 s] GROUP BY g;
CREATE QUERY sums INTO out AS SELECT g, COUNT(*) AS c, SUM(n) AS s FROM both
  [RANGE 10 s SLIDE 5 s] GROUP BY g;
CREATE QUERY tops INTO out AS SELECT g, MAX(number) AS m FROM few [RANGE 6 s SLIDE 6 s]
  GROUP BY g ORDER BY m DESC LIMIT 1;
CREATE QUERY empties INTO out AS SELECT COUNT(*) AS c FROM every [RANGE 4 s SLIDE 4 s]
  EMIT EMPTY WINDOWS;
CREATE QUERY early INTO out AS SELECT COUNT(*) AS c FROM both [RANGE 10 s SLIDE 10 s]
  EMIT EVERY 3 s;
CREATE QUERY at_once INTO out AS SELECT n FROM both WHERE g > 0;
CREATE QUERY in_order INTO out AS SELECT n, ts FROM every ORDER BY ts;
"""
)
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("g", pa.int32()), ("n", pa.int64())])
# Seconds, of which some are none, and a group.
ROWS = st.lists(st.tuples(st.none() | st.integers(0, 30), st.integers(0, 2)), max_size=5)
FILES = st.lists(st.tuples(st.sampled_from(SOURCES), ROWS), min_size=1, max_size=3)
Row = tuple[int, int, int]  # seconds, group, number
Files = list[tuple[str, list[tuple[int | None, int]]]]


@dataclass
class Twin:
    """All rows of all files, and what is said of them by the rules as they are written."""

    files: dict[str, list[list[tuple[int | None, int, int]]]] = field(
        default_factory=lambda: {name: [] for name in SOURCES}
    )
    moves: bool = False  # queries may have changed their synopses

    def rows(self, source: str) -> list[Row]:
        times = [[time for time, _, _ in file] for file in self.files[source]]
        verdicts = late_rows(times, LATENESS)
        rows = [row for file in self.files[source] for row in file]
        is_late = [verdict for file in verdicts for verdict in file]
        pairs = zip(rows, is_late, strict=True)
        return [(t, g, n) for (t, g, n), late in pairs if t is not None and not late]

    def watermark(self, *sources: str) -> int | None:
        newest = [max((t for t, _, _ in self.rows(name)), default=None) for name in sources]
        if None in newest:
            return None
        return min(second for second in newest if second is not None) - LATENESS

    @property
    def both(self) -> list[Row]:
        return [*self.rows("a"), *(row for row in self.rows("b") if row[1] != 2)]

    @property
    def every(self) -> list[Row]:
        return [*self.both, *self.rows("c"), *self.rows("a")]


def windows(
    rows: list[Row], length: int, slide: int, until: int | None
) -> dict[tuple[int, int], list[Row]]:
    """By start and group, the rows of the windows that have ended."""
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        last = row[0] // slide * slide
        for start in range(last, row[0] - length, -slide):
            if until is not None and start + length <= until:
                found.setdefault((start, row[1]), []).append(row)
    return found


def answers(engine: Engine, query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = engine.query(query).answers().to_arrow().to_pylist()
    for row in rows:
        row |= {k: int(v.timestamp()) for k, v in row.items() if hasattr(v, "timestamp")}
    return rows


def check(engine: Engine, twin: Twin, seen: Counter[str], flushed: bool) -> None:
    far = 1_000 if flushed else None
    of_two = far or twin.watermark("a", "b")
    of_all = far or twin.watermark(*SOURCES)

    def told(query: str, *names: str) -> list[tuple[Any, ...]]:
        return [tuple(row[n] for n in ("window_start", *names)) for row in answers(engine, query)]

    def grouped(found: dict[tuple[int, int], list[Row]], value: Callable[..., Any]) -> list[Any]:
        return sorted((start, g, *value(rows)) for (start, g), rows in found.items())

    alone = windows(twin.rows("a"), 10, 5, far or twin.watermark("a"))
    sums = windows(twin.both, 10, 5, of_two)
    assert sorted(told("alone", "g", "s")) == grouped(alone, lambda rows: (_sum(rows),))
    assert sorted(told("sums", "g", "c", "s")) == grouped(
        sums, lambda rows: (len(rows), _sum(rows))
    )
    some = windows([row for row in twin.every if row[1] > 0], 6, 6, of_all)
    tops: dict[int, tuple[int, int]] = {}
    for (start, g), rows in some.items():
        tops[start] = max(tops.get(start, (-1, 0)), (max(n for _, _, n in rows), g))
    assert sorted(told("tops", "m", "g")) == sorted((s, *top) for s, top in tops.items())
    counts = Counter(
        start for (start, _), rows in windows(twin.every, 4, 4, of_all).items() for _ in rows
    )
    if counts:
        # A flush closes all windows that have begun by the newest row, in the stream or not.
        newest = max(time for name in SOURCES for time, _, _ in twin.rows(name))
        last = newest // 4 * 4 if flushed else (of_all or 0) // 4 * 4 - 4
        starts = range(min(counts), last + 1, 4)
        wanted, empties = [(start, counts[start]) for start in starts], sorted(told("empties", "c"))
        if twin.moves:
            # In the tick of its first rows a query that moves leaves windows without rows out.
            wanted = [answer for answer in wanted if answer[1] or answer in empties]
        assert empties == wanted
        seen["empty"] += len(starts) - len(counts)
    for row in answers(engine, "early"):
        start, as_of = row["window_start"], row["as_of"]
        assert as_of == start + 10 or (as_of % 3 == 0 and start < as_of < start + 10)
        assert row["c"] == sum(start <= t < as_of for t, _, _ in twin.both)
        seen["early"] += as_of < start + 10
    assert sorted(row["n"] for row in answers(engine, "at_once")) == sorted(
        n for _, g, n in twin.both if g > 0
    )
    before = [row for row in twin.every if of_all is not None and row[0] < of_all]
    assert [row["n"] for row in answers(engine, "in_order")] == [
        n for _, _, n in sorted(before, key=lambda row: row[0])
    ]
    seen["windows"] += len(sums) + len(some)
    seen["waits"] += len(twin.every) - len(before)


def _sum(rows: list[Row]) -> int:
    return sum(n for _, _, n in rows)


def write(folder: Path, number: int, rows: list[tuple[int | None, int, int]]) -> None:
    folder.mkdir(exist_ok=True)
    columns = [[None if t is None else t * SECOND_US for t, _, _ in rows]]
    columns += [[g for _, g, _ in rows], [n for _, _, n in rows]]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    path = folder / f"{number:04d}.parquet"
    pq.write_table(pa.table(arrays, schema=SCHEMA), path)
    os.utime(path, (1_000_000 + number, 1_000_000 + number))


EXAMPLE: list[Files] = [
    [("a", [(9, 0), (1, 1)]), ("a", [(20, 1), (4, 1)])],
    [("b", [(3, 1), (3, 2)]), ("c", [(3, 1)])],
    [("b", [(12, 1), (None, 1)]), ("c", [(29, 0), (29, 2)])],
    [("b", [(30, 1), (8, 1)]), ("a", [(29, 0)])],
]
# What leaves the answers of the queries that stand as they are.
CHANGES = (
    "SET sharing = 'none';",
    "CREATE QUERY spare AS SELECT g, MIN(n) AS m FROM every [RANGE 7 s SLIDE 2 s] GROUP BY g;",
    "SET sharing = 'weave';"
    "CREATE OR REPLACE QUERY lone AS SELECT SUM(n) AS s FROM b [RANGE 3 s SLIDE 3 s];",
    "DROP QUERY IF EXISTS spare; SET sharing = 'auto';",
    "CREATE OR REPLACE QUERY lone AS SELECT n, ts FROM both ORDER BY ts; PAUSE QUERY lone;",
)
DEATHS = [("fold", 1), (None, 0), ("deliver", 1), ("answer", 0)]


@settings(max_examples=10)
@given(st.lists(FILES, min_size=1, max_size=4), st.data())
@example(EXAMPLE, None)
def test_what_is_answered_lies_before_the_least_watermark(
    runs: list[Files], data: st.DataObject | None
) -> None:
    twin, seen, numbers = Twin(), Counter[str](), iter(range(10_000))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in SOURCES:
            (folder / source).mkdir()
        mortal = Mortal(folder / "home")
        mortal.engine.sql(SCRIPT, folder)
        for place, files in enumerate(runs):
            for source, rows in files:
                numbered = [(time, g, next(numbers)) for time, g in rows]
                write(folder / source, len(twin.files[source]), numbered)
                twin.files[source].append(numbered)
            step = data.draw(st.sampled_from((None, *STEPS))) if data else DEATHS[place][0]
            after = data.draw(st.integers(0, 2)) if data else DEATHS[place][1]
            mortal.run(step, after)
            check(mortal.engine, twin, seen, flushed=False)
            changes = data.draw(st.sampled_from(CHANGES)) if data else CHANGES[place]
            mortal.engine.sql(changes)
            twin.moves = True
        seen["killed"], engine = mortal.kills, mortal.engine
        engine.run("flush")
        check(engine, twin, seen, flushed=True)
        assert engine.run("idle").ticks == 0
        engine.close()
    if data is None:
        assert min(seen[what] for what in ("killed", "empty", "early", "windows", "waits")) > 0, (
            seen
        )


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_in_each_step_changes_no_answer(step: str) -> None:
    first: Files = [("a", [(1, 1), (9, 0)]), ("b", [(2, 1)]), ("c", [(3, 0)])]
    runs = [first, *EXAMPLE]
    twin, numbers = Twin(), iter(range(10_000))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mortal = Mortal(folder / "home")
        for place, files in enumerate(runs):
            for source, rows in files:
                numbered = [(time, g, next(numbers)) for time, g in rows]
                write(folder / source, len(twin.files[source]), numbered)
                twin.files[source].append(numbered)
            if place == 0:
                mortal.engine.sql(SCRIPT, folder)
            mortal.run(step, *range(3))
            check(mortal.engine, twin, Counter(), flushed=False)
        engine = mortal.engine
        engine.run("flush")
        check(engine, twin, Counter(), flushed=True)
        # Nothing that is past its use is left, also of sources that had their last tick before.
        assert not list((folder / "home" / "synopses").glob("*/*"))
        engine.close()
    assert mortal.kills >= 5


def test_who_holds_a_union_back_is_named(tmp_path: Path) -> None:
    for source, times in (("a", (9, 30)), ("b", (12, 22)), ("c", (2, 50))):
        write(tmp_path / source, 0, [(time, 1, time) for time in times])
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT, tmp_path)
        report = engine.run("idle")
        (queries,) = engine.ask("SHOW QUERIES")
        (asked,) = engine.ask("SELECT g, SUM(n) AS s FROM both [RANGE 5 s SLIDE 5 s] GROUP BY g")
    assert [stream["rows_in"] for stream in report.streams.values()] == [2, 2, 2]
    assert report.streams["b"]["watermark_us"] == 18 * SECOND_US
    assert isinstance(queries, ReplyTable)
    waits = {row[0]: row[-1] for row in queries.rows}
    assert (waits["sums"].source, waits["sums"].until_us) == ("b", 20 * SECOND_US)
    assert (waits["alone"].source, waits["alone"].until_us) == ("a", 35 * SECOND_US)
    assert waits["in_order"].source == "b"
    # The one-time query has the windows that all of its sources have come to the end of.
    assert isinstance(asked, Selection)
    assert asked.rows.column("s").to_pylist() == [12]
