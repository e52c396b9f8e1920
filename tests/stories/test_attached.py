"""`tidemill sql` beside a `tidemill run` on the same home: statements take effect there.

run     starts    ticks, then idle               more files              Ctrl-C
sql     SHOW                     SHOW, CREATE, a bad one, PAUSE, DROP
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from typer.testing import CliRunner

from tests.stories.streams import NOON_US, SECOND_US, cut, random_row, write_files
from tests.stories.test_crash import FILES, SCRIPT, command, delivered, write_input, write_script
from tidemill.cli import app
from tidemill.engine import Engine
from tidemill.engine.home import Home

ADDED = 4
LIVE = """CREATE QUERY live INTO rows AS SELECT g, COUNT(*) AS n
  FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE m > 0 GROUP BY g"""


def say(home: Path, statements: str) -> Any:
    return CliRunner().invoke(app, ["sql", "-c", statements, "--home", str(home)])


def read_until(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if text in line:
            return
    raise AssertionError("".join(seen))


def wait_until_held(process: subprocess.Popen[str], home: Path) -> None:
    """Until the process has the home; it has much to do then before its streams run."""
    while Home(home).holder() is None:
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(process.wait(timeout=0.02))


def write_more(folder: Path) -> None:
    rng = random.Random(32)
    times = [NOON_US + n * SECOND_US for n in range(20 * FILES, 20 * (FILES + ADDED))]
    write_files(folder / "in", cut([random_row(rng, t) for t in times], ADDED), first=FILES)


def last_end(folder: Path, query: str) -> int:
    files = sorted(map(str, (folder / "rows" / f"query={query}").glob("[!_]*.parquet")))
    ends = ds.dataset(files).to_table().column("window_end")
    return int(max(ends.cast(pa.int64()).to_pylist()))


def test_statements_reach_a_run_that_goes_on(tmp_path: Path) -> None:
    write_input(tmp_path)
    script, home = write_script(tmp_path / "here"), tmp_path / "home"
    with Engine(home) as engine:
        engine.sql(SCRIPT, script.parent)
    process = command(script, "--home", str(home))
    wait_until_held(process, home)
    early = say(home, "SHOW QUERIES")
    read_until(process, f" tick {FILES} ")

    shown, sources = say(home, "SHOW QUERIES"), say(home, "SHOW SOURCES")
    asked = say(home, "SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY k")
    created = say(home, LIVE)
    twice = say(home, LIVE.replace("m > 0", "m > 1"))
    nonsense = say(home, "DROP QUERY; SELECT")
    paused = say(home, "PAUSE QUERY top")
    dropped = say(home, "DROP QUERY other")
    answered = {name: len(rows) for name, rows in delivered(script.parent).items()}
    write_more(tmp_path)
    read_until(process, f" tick {FILES + ADDED} ")
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate()
    assert process.returncode == 0, rest

    assert early.exit_code == 0, early.output
    # It was asked before the streams ran, and waited for the run to begin.
    assert early.stdout.splitlines()[2].startswith("by_key ")
    assert all(name in shown.stdout for name in ("by_key", "top", "line", "other"))
    assert shown.stdout.count(" s at ") == 7
    (source,) = sources.stdout.splitlines()[2:]
    assert source.split()[:2] in (["s", "busy"], ["s", "idle"])
    assert asked.exit_code == 0, asked.output
    counts: dict[str, int] = {}
    for line in asked.stdout.splitlines()[2:]:
        counts[line[11:19]] = counts.get(line[11:19], 0) + int(line.split()[-1])
    # A row a second; the one in the middle of a file came too late.
    assert counts == {"12:02:40": 5, "12:02:45": 5, "12:02:50": 4}
    assert created.exit_code == 0, created.output
    end = f"12:{20 * FILES // 60:02d}:{20 * FILES % 60:02d}Z"  # of all that was there
    assert created.stdout == f"query live: its first window starts at 2024-03-01T{end}\n"
    assert twice.exit_code == nonsense.exit_code == 1
    assert "error[E_" in twice.stderr
    assert "error[E_" in nonsense.stderr
    assert paused.exit_code == dropped.exit_code == 0
    after = {name: len(rows) for name, rows in delivered(script.parent).items()}
    assert after["query=live"] > 0
    assert after["query=by_key"] > answered.get("query=by_key", 0)
    assert last_end(script.parent, "top") <= NOON_US + 20 * FILES * SECOND_US
    assert last_end(script.parent, "by_key") > NOON_US + 20 * (FILES + 1) * SECOND_US
    assert after["other"] == answered["other"]
    assert after["line"] > answered["line"]
    with_home = say(home, "SHOW QUERIES").stdout
    assert "live" in with_home
    assert "other" not in with_home


def test_a_home_that_is_held_and_not_run_is_refused_at_once(tmp_path: Path) -> None:
    with Engine(tmp_path / "home") as prompt:
        prompt.sql("CREATE SINK nowhere TO 'discard:'")
        told = say(tmp_path / "home", "SHOW SINKS")
    assert told.exit_code == 1
    assert "error[E_HOME_BUSY]" in told.stderr
    assert f"process {os.getpid()}\n" in told.stderr
    assert "nowhere" in say(tmp_path / "home", "SHOW SINKS").stdout
