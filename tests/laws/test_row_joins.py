"""Continuous joins against nested loops: random files of three sources, some idle or late.

After every run, in many of which a tick is cut off in some step and finished by another engine,
what has come and gone is what did by the least of the sources' watermarks, each once and in the
order of time.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.laws.kills import KilledError, killed
from tests.laws.test_unions import (
    FILES,
    LATENESS,
    SOURCES,
    Files,
    Row,
    Twin,
    answers,
    write,
)
from tidemill.engine import Engine
from tidemill.failpoints import STEPS
from tidemill.reference.window_pairs import Pairing, SideOfPairs, pairs_that_come

STREAMS = "CREATE SINK out TO 'parquet:out'; SET snapshot_pieces = 2;" + "".join(
    f"CREATE STREAM {name} (ts TIMESTAMP, g INT, n BIGINT) ORDER BY ts"
    f" SOURCE 'parquet:{name}' WITH (lateness = '{LATENESS} seconds');"
    for name in SOURCES
)
UNION = """
CREATE STREAM both AS SELECT ts, g, n FROM a UNION ALL SELECT ts, g, n FROM b WHERE g <> 2;
"""
# A micro-second is a part of a second that no row of these tests falls into.
NOW = 1e-6


@dataclass(frozen=True)
class Side:
    """A window: the rows of the twin that it reads, and how long they live."""

    rows: Callable[[Twin], list[Row]]
    seconds: float
    key: Callable[[Row], Hashable] = lambda row: row[1]


@dataclass(frozen=True)
class Case:
    """A query, and what it means."""

    name: str
    sql: str
    sources: tuple[str, ...]
    sides: tuple[Side, ...]
    where: Callable[..., bool] = lambda *_: True

    def results(self, twin: Twin) -> list[Pairing]:
        sides = [
            SideOfPairs(
                side.seconds, tuple((side.key(row), row[0], row) for row in side.rows(twin))
            )
            for side in self.sides
        ]
        return [pairing for pairing in pairs_that_come(sides) if self.where(*pairing.rows)]


def of(source: str, greatest: int = 9) -> Callable[[Twin], list[Row]]:
    return lambda twin: [row for row in twin.rows(source) if row[1] <= greatest]


CASES = (
    Case(
        "pairs",
        "SELECT x.n AS n0, y.n AS n1 FROM a [RANGE 9 s] AS x, b [RANGE 5 s] AS y WHERE x.g = y.g",
        ("a", "b"),
        (Side(of("a"), 9), Side(of("b"), 5)),
    ),
    Case(
        "mixed",
        "SELECT ISTREAM(x.n AS n0, y.n AS n1, x.n - y.n AS d) FROM b [RANGE 7 s] AS x"
        " JOIN b [RANGE 7 s] AS y ON x.g = y.g AND x.n < y.n WHERE x.g <= 1",
        ("b",),
        (Side(of("b", 1), 7), Side(of("b"), 7)),
        lambda x, y: x[2] < y[2],
    ),
    Case(
        "three",
        "SELECT x.n AS n0, y.n AS n1, z.n AS n2 FROM a [RANGE 6 s] AS x, b [RANGE 20 s] AS y,"
        " c [RANGE 9 s] AS z WHERE x.g = y.g AND y.g = z.g",
        SOURCES,
        (Side(of("a"), 6), Side(of("b"), 20), Side(of("c"), 9)),
    ),
    Case(
        "now",
        "SELECT x.n AS n0, y.n AS n1 FROM both [RANGE 8 s] AS x JOIN c [NOW] AS y"
        " ON x.g + 1 = y.g + 1",
        SOURCES,
        (Side(lambda twin: twin.both, 8), Side(of("c"), NOW)),
    ),
)
SCRIPT = UNION + "".join(
    f"CREATE QUERY {case.name} INTO out AS {case.sql};"
    f"CREATE QUERY {case.name}_gone INTO out AS {gone};"
    for case in CASES
    for head, rest in [case.sql.removeprefix("SELECT ").split(" FROM ", 1)]
    for gone in [f"SELECT DSTREAM({head.removeprefix('ISTREAM(').removesuffix(')')}) FROM {rest}"]
)


def check(engine: Engine, twin: Twin, seen: Counter[str], flushed: bool) -> None:
    for case in CASES:
        until = 1_000 if flushed else twin.watermark(*case.sources)
        results = [] if until is None else case.results(twin)
        came = [result for result in results if result.from_us < (until or 0)]
        gone = [result for result in results if result.until_us <= (until or 0)]
        assert _told(engine, case, "", "event_time", "expires") == _wanted(came)
        assert _told(engine, case, "_gone", "since", "event_time") == _wanted(gone)
        # What has come and has not gone is what lives just before the watermark.
        live = [r for r in results if r.from_us < (until or 0) < r.until_us]
        assert Counter(came) - Counter(gone) == Counter(live)
        seen[case.name] += len(came)
        seen["waits"] += len(results) - len(came)
        seen["live"] += len(live)


def _wanted(results: list[Pairing]) -> Counter[tuple[Any, ...]]:
    return Counter(
        (int(r.from_us), int(r.until_us), *(row[2] for row in r.rows))  # type: ignore[index]
        for r in results
    )


def _told(engine: Engine, case: Case, query: str, begin: str, end: str) -> Counter[tuple[Any, ...]]:
    rows = answers(engine, case.name + query)
    times = [row["event_time"] for row in rows]
    assert times == sorted(times)
    assert all(row["d"] == row["n0"] - row["n1"] for row in rows if case.name == "mixed")
    names = (begin, end, *(f"n{side}" for side in range(len(case.sides))))
    return Counter(tuple(row[name] for name in names) for row in rows)


EXAMPLE: list[Files] = [
    [("a", [(9, 0), (1, 1), (3, 1)]), ("a", [(12, 1), (4, 1)])],
    [("b", [(3, 1), (3, 2), (4, 1), (4, 1)]), ("c", [(3, 1), (4, 1)])],
    [("b", [(12, 1), (None, 1)]), ("c", [(29, 0), (12, 1)])],
    [("b", [(30, 1), (27, 1)]), ("a", [(29, 1), (26, 1)])],
]
DEATHS = [("fold", 1), (None, 0), ("deliver", 1), ("answer", 0)]


@settings(max_examples=8)
@given(st.lists(FILES, min_size=1, max_size=4), st.data())
@example(EXAMPLE, None)
def test_what_comes_and_goes_does_so_by_the_least_watermark(
    runs: list[Files], data: st.DataObject | None
) -> None:
    twin, seen, numbers = Twin(), Counter[str](), count()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in SOURCES:
            (folder / source).mkdir()
        engine = Engine(folder / "home")
        files_a_tick = data.draw(st.sampled_from((1, 3, 64))) if data else 1
        engine.sql(f"SET tick_files = {files_a_tick};{STREAMS}{SCRIPT}", folder)
        for place, files in enumerate(runs):
            _add(folder, twin, files, numbers)
            step = data.draw(st.sampled_from((None, *STEPS))) if data else DEATHS[place][0]
            after = data.draw(st.integers(0, 2)) if data else DEATHS[place][1]
            try:
                with killed(step, after):
                    engine.run("idle")
            except KilledError:
                engine.close()
                engine = Engine(folder / "home")
                engine.run("idle")
                seen["killed"] += 1
            check(engine, twin, seen, flushed=False)
        engine.run("flush")
        check(engine, twin, seen, flushed=True)
        assert engine.run("idle").ticks == 0
        engine.close()
    if data is None:
        things = ("killed", "waits", "live", *(case.name for case in CASES))
        assert min(seen[thing] for thing in things) > 0, seen


def _add(folder: Path, twin: Twin, files: Files, numbers: Any) -> None:
    for source, rows in files:
        numbered = [(time, g, next(numbers)) for time, g in rows]
        write(folder / source, len(twin.files[source]), numbered)
        twin.files[source].append(numbered)


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_in_each_step_changes_no_result(step: str, tmp_path: Path) -> None:
    twin, numbers, deaths, seen = Twin(), count(), 0, Counter[str]()
    for source in SOURCES:
        (tmp_path / source).mkdir()
    engine = Engine(tmp_path / "home")
    engine.sql(f"SET tick_files = 1;{STREAMS}{SCRIPT}", tmp_path)
    for files in EXAMPLE:
        _add(tmp_path, twin, files, numbers)
        for after in range(3):
            try:
                with killed(step, after):
                    engine.run("idle")
            except KilledError:
                deaths += 1
                engine.close()
                engine = Engine(tmp_path / "home")
        engine.run("idle")
        check(engine, twin, seen, flushed=False)
    engine.run("flush")
    check(engine, twin, seen, flushed=True)
    engine.close()
    assert deaths >= 5
    assert min(seen[case.name] for case in CASES) > 0


def test_who_holds_a_join_back_is_named(tmp_path: Path) -> None:
    for source, times in (("a", (9, 30)), ("b", (12, 22)), ("c", (2, 50))):
        write(tmp_path / source, 0, [(time, 1, time) for time in times])
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAMS + SCRIPT, tmp_path)
        report = engine.run("idle")
        (queries,) = engine.ask("SHOW QUERIES")
        waits = {row[0]: row[-1] for row in queries.rows}  # type: ignore[union-attr]
        came = len(engine.query("pairs").answers())
    # Those of a and b wait for b, which has come to 18 s. Its row of 22 s comes next; the first
    # result to go next is one with that row, too.
    assert report.streams["b"]["watermark_us"] == 18_000_000
    assert (waits["pairs"].source, waits["pairs"].until_us) == ("b", 22_000_001)
    assert (waits["pairs_gone"].source, waits["pairs_gone"].until_us) == ("b", 27_000_000)
    assert came == 1


def test_a_query_that_is_paused_tells_nothing_of_what_comes_meanwhile(tmp_path: Path) -> None:
    twin, numbers = Twin(), count()
    for source in SOURCES:
        (tmp_path / source).mkdir()
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAMS + SCRIPT, tmp_path)
        counts = []
        for seconds, statement in ((10, "PAUSE QUERY pairs"), (20, "RESUME QUERY pairs"), (30, "")):
            files = [(s, [(seconds + d, 1) for d in (0, 1, LATENESS + 5)]) for s in "ab"]
            _add(tmp_path, twin, files, numbers)  # type: ignore[arg-type]
            engine.run("idle")
            counts.append({row["event_time"] for row in answers(engine, "pairs")})
            engine.sql(statement or "SHOW QUERIES")
    until = [twin.watermark("a", "b")]
    assert until == [35]
    came = {int(r.from_us) for r in CASES[0].results(twin) if r.from_us < 35}
    assert counts[0] == counts[1] == {t for t in came if t < 15}
    # Rows that came meanwhile meet those that come afterwards.
    assert counts[2] == {t for t in came if t < 15 or t >= 25}
    assert {t for t in came if 15 <= t < 25}


def test_cuts_of_the_input_change_no_row(tmp_path: Path) -> None:
    """Ticks of one file, of three and of all, and a run for each file."""
    told = []
    for number, (files_a_tick, runs) in enumerate(((1, 1), (3, 1), (64, 1), (64, 10))):
        folder = tmp_path / str(number)
        for source in SOURCES:
            (folder / source).mkdir(parents=True)
        engine = Engine(folder / "home")
        engine.sql(f"SET tick_files = {files_a_tick};{STREAMS}{SCRIPT}", folder)
        numbers, twin = count(), Twin()
        for run, (place, source) in product(range(10), enumerate(SOURCES)):
            times = ((run * 7 + n * (5 + place)) % 9 + run * 4 for n in range(6))
            file = [(time, n % 3) for n, time in enumerate(times)]
            _add(folder, twin, [(source, file)], numbers)  # type: ignore[list-item]
            if runs > 1 and source == "c":
                engine.close()
                engine = Engine(folder / "home")
                engine.run("idle")
        engine.run("flush")
        seen = Counter[str]()
        check(engine, twin, seen, flushed=True)
        assert min(seen[case.name] for case in CASES) > 5
        told.append({case.name: answers(engine, case.name) for case in CASES})
        engine.close()
    for other in told[1:]:
        for name, rows in told[0].items():
            assert Counter(map(repr, other[name])) == Counter(map(repr, rows))
