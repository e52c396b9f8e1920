"""Silent sources, live, on a clock that is set by hand: what is promised, and what goes by it.

clock      0 s    10 s          20 s …     a row of the clock's time every second, from `busy`
busy       ││││││││││││││││││││││││││
silent     ││││││·······················   its windows of 4 s wait; with skew = '2 s' time goes on

Windows over each of the two are answered in the tick whose promise has passed their end.
"""

from __future__ import annotations

import json
import os
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.stories.silence import (
    BEGIN_US,
    QUERY,
    SECOND_US,
    Steps,
    Story,
    answers_of,
    stream,
    write,
)
from tests.stories.test_attached import read_until, say
from tests.stories.test_crash import command
from tidemill import Engine
from tidemill.engine.tick.journal import Journal, TickRecord
from tidemill.errors import TidemillError
from tidemill.spark.session import Session


def test_windows_of_a_silent_source_are_answered_as_its_promise_passes_their_end(
    tmp_path: Path,
) -> None:
    busy, silent = tmp_path / "busy", tmp_path / "silent"

    def happen(second: float) -> None:
        if second == int(second):
            write(busy, f"{second:05.0f}", second)
            if second <= 6:
                write(silent, f"{second:05.0f}", second)

    story = Story(tmp_path / "home", Steps(20, happen))
    declared = stream("busy", busy) + stream("silent", silent, "skew = '2 s'")
    story.run(declared + QUERY.format("busy") + QUERY.format("silent"))
    # The row of second 6 came at 6: at 10 nothing older than 8 can come, and no window waits more.
    assert story.answered("of_silent") == [(4, 1), (10, 1)]
    assert story.promises("silent") == [(10, 8)]
    assert [second for second, _ in story.answered("of_busy")] == [4, 8, 12, 16, 20]
    shown = {row["source"]: row for row in story.ask("SHOW SOURCES")}
    assert shown["silent"]["word"] == "skew"
    assert shown["busy"]["word"] == "lateness"


UNION = """
CREATE STREAM both AS SELECT ts, n FROM busy UNION ALL SELECT ts, n FROM silent;
CREATE QUERY of_both AS SELECT COUNT(*) AS n FROM both [RANGE 4 s SLIDE 4 s];
CREATE QUERY in_order AS SELECT ts FROM both ORDER BY ts;
"""


@pytest.mark.parametrize("promises", ["on demand", "none"])
def test_a_union_waits_for_the_promise_of_its_silent_source_alone(
    tmp_path: Path, promises: str
) -> None:
    """Both fall silent in the end: then each waits for what the other could promise."""
    busy, silent = tmp_path / "busy", tmp_path / "silent"

    def happen(second: float) -> None:
        if second == int(second) and second <= 20:
            write(busy, f"{second:05.0f}", second)
            if second <= 6:
                write(silent, f"{second:05.0f}", second)

    story = Story(tmp_path / "home", Steps(30, happen))
    skews = stream("busy", busy, "skew = '1 s'") + stream("silent", silent, "skew = '2 s'")
    story.run(f"SET promises = '{promises}';" + skews + UNION)
    if promises == "none":
        assert story.answered("of_both") == [(4, 1)]
        (waits,) = {row["waits for"].source for row in story.ask("SHOW QUERIES")}
        assert waits == "silent"
        return
    # Of what ends by 8, 12, … `silent` promises two seconds later that all has come.
    assert story.answered("of_both") == [(4, 1), (10, 1), (14, 1), (18, 1), (22, 1), (26, 1)]
    assert sum(rows for _, rows in story.answered("in_order")) == 26
    seconds = [second for second, _ in story.answered("in_order")]
    assert max(later - earlier for earlier, later in pairwise(seconds)) <= 2.5


@pytest.mark.parametrize(
    ("setting", "seconds"),
    [("none", []), ("every 3 seconds", [10, 12, 15]), ("on demand", [12.5])],
)
def test_promises_are_made_on_demand_or_every_so_often_or_never(
    tmp_path: Path, setting: str, seconds: list[float]
) -> None:
    """Times lie at most half a second behind the clock; the last window with rows ends at 12 s."""
    folder = tmp_path / "in"
    story = Story(tmp_path / "home", Steps(16))
    script = stream("s", folder, "clock = 'wall', skew = '500 ms'")
    write(folder, "a", 1, 2, 5, 9)
    story.run(f"SET promises = '{setting}';" + script + QUERY.format("s"))
    assert story.promises("s") == [(second, second - 0.5) for second in seconds]
    assert story.answered("of_s") == [(0, 2), *[(second, 1) for second in seconds[-1:]]]


def broken_rows(folder: Path, home: Path, scan: str) -> None:
    """Rows after the promise of 4 s, in two files of a tick: three of them are older than that."""

    def happen(second: float) -> None:
        if second == 8:
            write(folder, "b", 4, 3.999999, 1)
            write(folder, "c", 9, 6, 3)

    story = Story(home, Steps(9, happen))
    write(folder, "a", 0, 3)
    script = stream("s", folder, "lateness = '1 s', skew = '2 s'")
    story.run(f"SET scan = '{scan}';" + script + QUERY.format("s"))
    assert story.answered("of_s") == [(4, 1), (8, 1)]
    assert [(tick.rows_in, tick.rows_late) for _, tick in story.ticks] == [(2, 0), (0, 0), (6, 3)]
    (shown,) = story.ask("SHOW SOURCES")
    assert (shown["late"], shown["broken"], shown["rows"]) == (3, 3, 8)
    (late,) = (home / "streams" / "s" / "late").iterdir()
    assert len(pq.read_table(late)) == 3


def test_a_row_at_the_promised_instant_counts_and_one_before_it_is_broken(tmp_path: Path) -> None:
    broken_rows(tmp_path / "in", tmp_path / "home", "auto")


def test_never_begun_and_all_idle(tmp_path: Path) -> None:
    """Of a source without rows only the clock can tell; where nothing waits, nothing is said."""
    story = Story(tmp_path / "home", Steps(40))
    folders = {name: tmp_path / name for name in ("by_skew", "by_clock", "idle")}
    script = stream("by_skew", folders["by_skew"], "skew = '1 s'")
    script += stream("by_clock", folders["by_clock"], "clock = 'wall'")
    script += stream("idle", folders["idle"], "skew = '1 s'")
    write(folders["idle"], "a", 0)
    window = "[RANGE 9 s SLIDE 9 s] EMIT EMPTY WINDOWS"
    for name in folders:
        script += f"CREATE QUERY {name} AS SELECT COUNT(*) AS n FROM {name} {window};"
    story.run(script)
    assert [tick.stream for _, tick in story.ticks] == ["idle"] * len(story.ticks)
    # Windows without rows wait from the first one with rows on.
    assert story.answered("idle") == [(10, 1), (19, 1), (28, 1), (37, 1)]
    states = {row["source"]: row["state"] for row in story.ask("SHOW SOURCES")}
    assert states == {"by_skew": "never begun", "by_clock": "never begun", "idle": "idle"}


def test_a_file_that_is_being_written_and_a_folder_that_is_gone_are_not_idle(
    tmp_path: Path,
) -> None:
    folder, clock = tmp_path / "in", Steps(30)
    story = Story(tmp_path / "home", clock)
    states: list[str] = []

    def happen(second: float) -> None:
        if second == 2:
            (folder / "b.parquet.tmp").write_bytes(b"PAR1")
        if second == 10:
            (folder / "b.parquet.tmp").unlink()
            folder.rename(tmp_path / "gone")
        if second == 20:
            (tmp_path / "gone").rename(folder)
        if second in (1.5, 9.5, 19.5, 29.5):
            (shown,) = answers_of(engine, "SHOW SOURCES")
            states.append(shown["state"])

    clock.happen = happen
    write(folder, "a", 0, 1)
    with Engine(story.home, clock=clock) as engine:
        engine.sql(stream("s", folder, "skew = '1 s'") + QUERY.format("s"))
        clock.stop = engine.stop
        engine.run("stopped", lambda tick: story.ticks.append((clock.second, tick)))
    assert story.promises("s") == [(20, 20)]
    assert states == ["idle", "writing", "broken", "idle"]


@pytest.mark.parametrize("hours", [1, -1])
def test_steps_of_the_clock(tmp_path: Path, hours: int) -> None:
    """Forward, what was promised is broken and nothing else; back, nothing goes back."""
    folder, clock = tmp_path / "in", Steps(16)

    def happen(second: float) -> None:
        if second == 8:
            clock.advance(hours * 3600 * SECOND_US)
            clock.until_s += hours * 3600
        if (second - 8) % 3600 == 4:
            write(folder, "b", 9, 12)

    clock.happen = happen
    story = Story(tmp_path / "home", clock)
    write(folder, "a", 0, 5)
    story.run(stream("s", folder, "clock = 'wall'") + QUERY.format("s"))
    (shown,) = story.ask("SHOW SOURCES")
    if hours > 0:
        assert story.promises("s") == [(3608, 3608)]
        assert (shown["rows"], shown["late"], shown["broken"]) == (4, 2, 2)
    else:
        assert story.promises("s") == []
        assert (shown["rows"], shown["late"], shown["broken"]) == (4, 0, 0)
    watermarks = [tick.watermark_us or 0 for _, tick in story.ticks]
    assert watermarks == sorted(watermarks)
    assert len(watermarks) > 1


def test_a_run_that_ends_inside_the_silence_repeats_its_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the restart input is looked for before the clock counts for anything."""
    folder, home = tmp_path / "in", tmp_path / "home"
    write(folder, "a", 0, 1)
    script = stream("s", folder, "skew = '1 s'") + QUERY.format("s")
    whole = Story(tmp_path / "whole", Steps(6))
    whole.run(script)
    decide = Journal.decide

    def fail(journal: Journal, record: TickRecord, decision: Any) -> None:
        if record.promised_us is not None:
            raise KeyboardInterrupt
        decide(journal, record, decision)

    monkeypatch.setattr(Journal, "decide", fail)
    cut, clock = Story(home, Steps(6)), Steps(60)
    with pytest.raises(KeyboardInterrupt):
        cut.run(script)
    monkeypatch.undo()
    # An hour later; meanwhile a file has come whose rows are no older than what was promised.
    write(folder, "b", 4, 9)
    clock.advance(50 * SECOND_US)
    after = Story(home, clock)
    after.run()
    (second, repeated), (_, taken), *_ = after.ticks
    assert (second, repeated.watermark_us) == (50, BEGIN_US + 4 * SECOND_US)
    assert whole.promises("s") == [(4, 4)]
    assert (taken.rows_in, taken.rows_late) == (2, 0)


def test_the_clock_tells_nothing_where_the_files_are_to_tell(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder, "a", 0, 5)
    clock = Steps(100)
    clock.advance(50 * SECOND_US)
    story = Story(tmp_path / "home", clock)
    story.run(stream("s", folder, "clock = 'wall'") + QUERY.format("s"), until="idle")
    assert (story.promises("s"), story.answered("of_s")) == ([], [(50, 1)])


def test_in_catalyst_stamped_rows_have_the_clocks_promise_and_broken_ones_are_counted(
    tmp_path: Path, spark: Session
) -> None:
    folder = tmp_path / "in"
    write(folder, "a", 0, 0)
    columns = "n BIGINT, current_time TIMESTAMP"
    story = Story(tmp_path / "home", Steps(9))
    query = "CREATE QUERY rows_out AS SELECT n, current_time FROM s ORDER BY current_time;"
    story.run(stream("s", folder, columns=columns) + QUERY.format("s") + query)
    assert story.answered("of_s") == [(4, 1)]
    # A row waits until nothing can come that is as old.
    assert story.answered("rows_out") == [(0.5, 2)]
    (shown,) = story.ask("SHOW SOURCES")
    assert shown["word"] == "arrival"
    broken_rows(tmp_path / "timed", tmp_path / "catalyst", "catalyst")


def test_skew_is_estimated_after_twenty_arrivals(tmp_path: Path) -> None:
    """A row a second for 22 s, one of which is 3 s under way; half as much again is 4.5 s."""
    folder = tmp_path / "in"

    def happen(second: float) -> None:
        if second == int(second) and second <= 24:
            write(folder, f"{second:03.0f}", second - 3 if second == 10 else second)

    story = Story(tmp_path / "home", Steps(40, happen))
    script = stream("s", folder, "lateness = '3 s', skew = 'auto'")
    story.run(script + QUERY.format("s"))
    quiet = [(second, until_s) for second, until_s in story.promises("s") if second > 24]
    assert story.promises("s") == quiet
    # 24 − 3 + (t − 24) − 1.5 · drift; row 10 had gained 3 s on row 9 by its second.
    assert quiet == [(31.5, 24), (35.5, 28)]


def test_an_operator_promises_for_a_source_that_is_stuck_or_never_began(tmp_path: Path) -> None:
    stuck, never = tmp_path / "stuck", tmp_path / "never"

    def advance() -> None:
        """In the middle of the run, once."""
        if clock.second == 3:
            engine.sql("ADVANCE STREAM STUCK TO TIMESTAMP '2026-01-01T00:00:08+00:00';")

    clock = Steps(9, lambda _: advance())
    story = Story(tmp_path / "home", clock)
    write(stuck, "a", 0, 5)
    script = stream("stuck", stuck) + stream("never", never)
    with Engine(story.home, clock=clock) as engine:
        engine.sql(script + QUERY.format("stuck") + QUERY.format("never"))
        engine.sql("ADVANCE STREAM never TO TIMESTAMP '2026-01-01 00:00:04';")
        engine.sql("PAUSE QUERY of_never; RESUME QUERY of_never;")
        clock.stop = engine.stop
        engine.run("stopped", lambda tick: story.ticks.append((clock.second, tick)))
        write(never, "a", 3.999999, 4)
        assert story.answered("of_stuck") == [(0, 1), (3, 1)]
        assert story.promises("never") == [(0, 4)]
        story.ticks.clear()
        with pytest.raises(TidemillError, match="has come to 2026-01-01T00:00:08Z"):
            engine.sql("ADVANCE STREAM stuck TO TIMESTAMP '2026-01-01 00:00:08';")
        # Also where the clock has no say.
        engine.sql("ADVANCE STREAM stuck TO TIMESTAMP '2026-01-01 00:00:12';")
        report = engine.run("idle", lambda tick: story.ticks.append((clock.second, tick)))
        shown = {row["source"]: row for row in answers_of(engine, "SHOW SOURCES")}
    assert {tick.stream: tick.rows_in for _, tick in story.ticks} == {"stuck": 0, "never": 2}
    assert report.streams["never"]["rows_broken"] == 1
    assert {(row["word"], row["broken"]) for row in shown.values()} == {
        ("operator", 0),
        ("operator", 1),
    }
    with Engine(story.home, clock=clock) as engine:
        engine.sql("DROP QUERY of_never; DROP STREAM never;")
        assert engine.catalog.advances.keys() == {"stuck"}


def test_an_operators_word_holds_for_all_rows_that_are_taken_after_it(tmp_path: Path) -> None:
    """Wherever ticks are cut; and rows that break it are read like others that are late."""
    for tick_files in (1, 100):
        folder = tmp_path / str(tick_files)
        folder.mkdir()
        write(folder / "in", "a", 0, 5)
        options = "lateness = '4 s', correct = '2 s'"
        script = f"SET tick_files = {tick_files};" + stream("s", folder / "in", options)
        lost = "CREATE QUERY lost AS SELECT n, late_by_us FROM s.late;"
        with Engine(folder / "home") as engine:
            engine.sql(script + QUERY.format("s") + lost)
            engine.run("idle")
            engine.sql("ADVANCE STREAM s TO TIMESTAMP '2026-01-01 00:00:08';")
            write(folder / "in", "b", 5, 9)
            write(folder / "in", "c", 5.5, 7, 10)
            state = engine.run("flush").streams["s"]
            rows = engine.query("lost").answers().to_arrow().to_pylist()
        assert [row["late_by_us"] for row in rows] == [3_000_000, 2_500_000]
        assert (state["rows_late"], state["rows_corrected"], state["rows_broken"]) == (2, 1, 3)


def test_a_flush_answers_windows_of_a_union_once_though_one_source_is_ahead(tmp_path: Path) -> None:
    """A promise beyond the newest row of all is not yet a flush of all."""
    write(tmp_path / "x", "a", 1)
    write(tmp_path / "y", "a", 2)
    script = """CREATE STREAM u AS SELECT * FROM x UNION ALL SELECT * FROM y;
    CREATE QUERY counts AS SELECT COUNT(*) AS n FROM u [RANGE 10 s SLIDE 5 s] EMIT EMPTY WINDOWS;
    """
    with Engine(tmp_path / "home") as engine:
        engine.sql(stream("x", tmp_path / "x") + stream("y", tmp_path / "y") + script)
        engine.run("idle")
        engine.sql("ADVANCE STREAM y TO TIMESTAMP '2026-01-01 00:00:04';")
        engine.run("flush")
        rows = engine.query("counts").answers().to_arrow().to_pylist()
    assert [(row["window_start"].second, row["n"]) for row in rows] == [(55, 2), (0, 2)]


def test_in_earnest_a_live_run_answers_for_a_silent_source(tmp_path: Path) -> None:
    """On the clock of the machine: what waits is answered soon after the last row."""
    write(tmp_path / "in", "a", 0, 3.9)
    script = tmp_path / "script.sql"
    sink = f"CREATE SINK lines TO 'json:{tmp_path}/answers.jsonl'; SET poll_ms = 50;"
    query = QUERY.format("s").replace("AS SELECT", "INTO lines AS SELECT")
    script.write_text(sink + stream("s", tmp_path / "in", "skew = '1 ms'") + query)
    process = command(script, "--home", str(tmp_path / "home"))
    read_until(process, " tick 2 ")
    shown = say(tmp_path / "home", "SHOW SOURCES")
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate()
    assert process.returncode == 0, rest
    line = shown.stdout.splitlines()[2].split()
    assert (line[:2], "skew" in line) == (["s", "idle"], True)
    (answer,) = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert json.loads(answer)["n"] == 2
