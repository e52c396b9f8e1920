"""Soft queries over unions against a plain twin: random files of three sources, some idle or late.

After every run, in many of which a tick or a joint run is cut off, each window that was answered
is right and was answered once, none ends beyond what all sources have come to, and nobody waits
longer than was asked for. A flush answers the update after the last row of any source, once.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.laws.kills import KilledError, Mortal
from tests.laws.test_unions import (
    DEATHS,
    EXAMPLE,
    FILES,
    LATENESS,
    SOURCES,
    Files,
    Row,
    Twin,
    answers,
    write,
)
from tidemill.answer.task import TaskResult
from tidemill.engine import Engine
from tidemill.engine.beside.agenda import JointRun
from tidemill.engine.tick.decide import Decider
from tidemill.engine.tick.journal import Decision, TickRecord
from tidemill.engine.tick.report import TickReport
from tidemill.engine.tick.runner import StreamRunner
from tidemill.explain.replies import Explanation, ReplyTable, Selection
from tidemill.failpoints import STEPS

UPDATES = {"a": 1, "b": 1, "c": 2}
STREAMS = "SET tick_files = 1; SET snapshot_pieces = 2; CREATE SINK out TO 'parquet:out';" + (
    "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, g INT, n BIGINT) ORDER BY ts SOURCE 'parquet:{name}'"
        f" WITH (lateness = '{LATENESS} seconds', update = '{update} seconds');"
        for name, update in UPDATES.items()
    )
    + """
CREATE STREAM both AS SELECT ts, g, n FROM a UNION ALL SELECT ts, g, n FROM b WHERE g <> 2;
CREATE STREAM every AS SELECT * FROM both UNION ALL SELECT * FROM c UNION ALL SELECT * FROM a;
CREATE STREAM twice AS SELECT * FROM a UNION ALL SELECT * FROM a;
"""
)
SUMS = "g, COUNT(*) AS c, SUM(n) AS s"


@dataclass(frozen=True)
class Case:
    """A soft query; `period_s` of 0 is every update."""

    name: str
    stream: str
    range_s: float
    period_s: int = 0

    @property
    def select(self) -> str:
        up_to = f" SLIDE UP TO {self.period_s} s" if self.period_s else ""
        window = f"[RANGE {self.range_s * 1000:.0f} ms{up_to}]"
        return f"SELECT {SUMS} FROM {self.stream} {window} GROUP BY g"

    @property
    def sources(self) -> tuple[str, ...]:
        return {"both": ("a", "b"), "every": SOURCES}.get(self.stream, ("a",))

    @property
    def update_s(self) -> int:
        return max(UPDATES[name] for name in self.sources)

    @property
    def period(self) -> int:
        return max(1, self.period_s // self.update_s)

    def rows(self, twin: Twin) -> list[Row]:
        of_a = twin.rows("a")
        rows = {"both": twin.both, "every": twin.every, "twice": of_a * 2, "a": of_a}
        return rows[self.stream]

    def update(self, twin: Twin, is_flushed: bool) -> int | None:
        """The last one that all sources have come to, and that began with a row of one."""
        until_s = 1_000 if is_flushed else twin.watermark(*self.sources)
        newest = [time for name in self.sources for time, _, _ in twin.rows(name)]
        if until_s is None or not newest:
            return None
        return min(until_s // self.update_s, max(newest) // self.update_s + 1)

    def window(self, twin: Twin, end_s: int) -> list[tuple[int, int, int]]:
        """The groups of the window that ends there."""
        counts, sums = Counter[int](), Counter[int]()
        for time_s, group, number in self.rows(twin):
            if end_s - self.range_s <= time_s < end_s:
                counts[group] += 1
                sums[group] += number
        return sorted((group, counts[group], sums[group]) for group in counts)


CASES = (
    Case("newest", "both", 5),
    Case("seldom", "both", 9, 4),
    Case("half", "both", 2.5, 2),
    Case("of_all", "every", 6),
    Case("of_all_seldom", "every", 12, 8),
    Case("of_twice", "twice", 4, 2),
    Case("alone", "a", 5, 3),
)
SCRIPT = STREAMS + (
    "".join(f"CREATE QUERY {case.name} INTO out AS {case.select};" for case in CASES)
    + f"CREATE QUERY strict INTO out AS SELECT {SUMS} FROM both [RANGE 4 s SLIDE 2 s] GROUP BY g;"
)


def windows_of(rows: Sequence[dict[str, Any]]) -> dict[int, list[tuple[int, int, int]]]:
    """By their ends, the groups of the windows as they were answered, each counted."""
    windows: dict[int, list[tuple[int, int, int]]] = {}
    for row in rows:
        windows.setdefault(row["window_end"], []).append((row["g"], row["c"], row["s"]))
    return {end_s: sorted(groups) for end_s, groups in windows.items()}


def check(engine: Engine, twin: Twin, seen: Counter[str], is_flushed: bool = False) -> None:
    (table,) = engine.ask("SHOW SCHEDULE")
    assert isinstance(table, ReplyTable)
    late = {row[0]: row[list(table.columns).index("late")] for row in table.rows}
    for case in CASES:
        windows = windows_of(answers(engine, case.name))
        for end_s, groups in windows.items():
            # A window that were answered twice would have each of its groups twice.
            assert groups == case.window(twin, end_s), (case, end_s)
        seen[case.name] = len(windows)
        update = case.update(twin, is_flushed)
        if update is None:
            assert not windows
            continue
        last = engine.queries[case.name].history.last
        assert last is not None
        assert last <= update
        assert last + (1 if is_flushed else case.period) > update
        assert late[case.name] == 0
        end_s = last * case.update_s
        assert max(windows, default=end_s) <= end_s
        assert (end_s in windows) == bool(case.window(twin, end_s))


def check_select(engine: Engine, twin: Twin) -> int:
    """A SELECT has the newest window too."""
    case = CASES[0]
    update = case.update(twin, is_flushed=False)
    if update is None:
        return 0
    (asked,) = engine.ask(case.select)
    assert isinstance(asked, Selection)
    groups = [(row["g"], row["c"], row["s"]) for row in asked.rows.to_pylist()]
    assert sorted(groups) == case.window(twin, update)
    return len(groups)


def feed(folder: Path, twin: Twin, files: Files) -> None:
    """Rows are numbered as they come."""
    number = sum(len(file) for several in twin.files.values() for file in several)
    for source, rows in files:
        numbered = [(time, group, number + place) for place, (time, group) in enumerate(rows)]
        number += len(rows)
        write(folder / source, len(twin.files[source]), numbered)
        twin.files[source].append(numbered)


def opened(folder: Path) -> Mortal:
    for source in SOURCES:
        (folder / source).mkdir()
    mortal = Mortal(folder / "home")
    mortal.engine.sql(SCRIPT, folder)
    return mortal


CHANGES = (
    "SET sharing = 'none';",
    "CREATE OR REPLACE QUERY spare AS SELECT g, MIN(n) AS m FROM every [RANGE 7 s SLIDE UP TO 2 s]"
    " GROUP BY g;",
    "SET sharing = 'weave'; SET schedule = 'aggressive';",
    "DROP QUERY IF EXISTS spare; SET sharing = 'auto'; SET schedule = 'none';",
)


@settings(max_examples=6)
@given(st.lists(FILES, min_size=1, max_size=4), st.data())
@example(EXAMPLE, None)
def test_the_newest_window_is_what_all_sources_have_come_to(
    runs: list[Files], data: st.DataObject | None
) -> None:
    twin, seen, selected = Twin(), Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        mortal = opened(folder := Path(name))
        for place, files in enumerate(runs):
            feed(folder, twin, files)
            step = data.draw(st.sampled_from((None, *STEPS))) if data else DEATHS[place][0]
            after = data.draw(st.integers(0, 4)) if data else DEATHS[place][1]
            mortal.run(step, after)
            check(mortal.engine, twin, seen)
            selected += check_select(mortal.engine, twin)
            mortal.engine.sql(data.draw(st.sampled_from(CHANGES)) if data else CHANGES[place])
        engine = mortal.engine
        before = {case.name: engine.queries[case.name].history for case in CASES}
        engine.run("flush")
        check(engine, twin, seen, is_flushed=True)
        for case in CASES:
            history = engine.queries[case.name].history
            is_new = history.last != before[case.name].last
            assert history.runs == before[case.name].runs + is_new
        engine.run("flush")
        check(engine, twin, seen, is_flushed=True)
        engine.close()
    if data is None:
        assert min(mortal.kills, selected) > 1
        assert all(seen[case.name] > 0 for case in CASES)
        assert seen.total() > 15


@pytest.mark.parametrize("step", ["decide", "answer", "deliver"])
def test_a_kill_in_each_step_changes_no_soft_answer(step: str) -> None:
    runs: list[Files] = [[("a", [(1, 1), (9, 0)]), ("b", [(2, 1)]), ("c", [(3, 0)])], *EXAMPLE]
    twin, seen = Twin(), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        mortal = opened(folder := Path(name))
        for files in runs:
            feed(folder, twin, files)
            mortal.run(step, *range(4))
            check(mortal.engine, twin, seen)
        engine = mortal.engine
        engine.run("flush")
        check(engine, twin, seen, is_flushed=True)
        engine.close()
    assert mortal.kills >= 4
    assert all(seen[case.name] > 0 for case in CASES)
    assert seen.total() > 15


def test_schedules_are_drawn_for_the_unions_of_the_same_streams(tmp_path: Path) -> None:
    with opened(tmp_path).engine as engine:
        (every,) = engine.ask("EXPLAIN SCHEDULE ALL")
        (near,) = engine.ask("EXPLAIN SCHEDULE QUERY seldom")
    assert isinstance(every, Explanation)
    assert isinstance(near, Explanation)
    assert [line for line in every.text.splitlines() if "soft periods" in line] == [
        "3 queries with soft periods on unions of streams a, b, an update every 1 SECOND",
        "2 queries with soft periods on unions of streams a, b, c, an update every 2 SECONDS",
        "2 queries with soft periods on stream a, an update every 1 SECOND",
    ]
    assert [query.name for query in near.subject] == ["newest", "seldom", "half"]


PATIENCE_S = 300


@pytest.mark.parametrize("source", ["a", "b"])
def test_what_is_answered_beside_a_tick_of_any_source_goes_first_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """Killed in a tick of one source while the newest window of the union is being answered."""
    twin, is_over = Twin(), Event()
    answer, decide = StreamRunner.answer_soft, Decider.decide

    def slow(runner: StreamRunner, run: JointRun) -> list[TaskResult]:
        # It is at work when the next rows of the source come.
        feed(tmp_path, twin, [(source, [(30, 1)])])
        assert is_over.wait(PATIENCE_S)
        return answer(runner, run)

    def dying(decider: Decider, record: TickRecord, *others: Any) -> Decision:
        if record.carried:
            is_over.set()
            raise KilledError
        return decide(decider, record, *others)

    for name in SOURCES:
        (tmp_path / name).mkdir()
    feed(tmp_path, twin, [("a", [(1, 1), (9, 0)]), ("b", [(2, 1), (9, 1)])])
    with monkeypatch.context() as patched, Engine(tmp_path / "home") as engine:
        engine.sql(f"{STREAMS} CREATE QUERY newest INTO out AS {CASES[0].select};", tmp_path)
        # The rate that first ticks show may change the plan, which waits for what is under way.
        engine.run("idle")
        feed(tmp_path, twin, [("a", [(12, 1), (15, 0)]), ("b", [(14, 1), (16, 1)])])
        patched.setattr(StreamRunner, "answer_soft", slow)
        patched.setattr(Decider, "decide", dying)
        with pytest.raises(KilledError):
            engine.run("stopped")
    with sqlite3.connect(tmp_path / "home" / "tidemill.db") as home:
        ((stream, text),) = home.execute("SELECT stream, record FROM ticks")
    assert (stream, json.loads(text)["carried"]) == (source, ["newest"])
    reports: list[TickReport] = []
    with Engine(tmp_path / "home") as engine:
        engine.run("idle", reports.append)
        windows = windows_of(answers(engine, "newest"))
    # The tick that was cut off, and then what was carried over it.
    assert [report.stream for report in reports][:1] == [source]
    assert reports[1].answers["newest"] > 0
    assert len(windows) == 2
    assert all(groups == CASES[0].window(twin, end_s) for end_s, groups in windows.items())
