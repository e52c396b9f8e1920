"""SIGKILL in the middle of every step of a tick, then the same command again: nothing is lost,
nothing is there twice. Ctrl-C stops cleanly, and a home belongs to one process.

    run    1          2         3         4       5           6         7        8
    scan   arrays     Catalyst  arrays    arrays  arrays      Catalyst  arrays   arrays
    dies   deliver:2  answer:3  decide:4  fold:5  partials:6  fold:7    admit:8  not at all
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from typer.testing import CliRunner

from tests.stories.streams import COLUMNS, NOON_US, SECOND_US, cut, random_row, write_files
from tidemill.cli import app
from tidemill.engine import Engine
from tidemill.failpoints import STEPS, VARIABLE

DEATHS = (
    *(("deliver", "auto"), ("answer", "catalyst"), ("decide", "auto")),
    *(("fold", "auto"), ("partials", "auto"), ("fold", "catalyst"), ("admit", "auto")),
)
FILES = len(DEATHS) + 2
SCRIPT = f"""
SET tick_files = 1;
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:../in' WITH (lateness = '2 seconds');
CREATE SINK rows TO 'parquet:rows';
CREATE SINK lines TO 'json:lines.json';
CREATE QUERY by_key INTO rows AS SELECT k, COUNT(*) AS n, SUM(n) AS total
  FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k;
CREATE QUERY top INTO rows AS SELECT k, MAX(m) AS most
  FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k ORDER BY most DESC LIMIT 2;
CREATE QUERY line INTO lines AS SELECT k, COUNT(*) AS n, MIN(at) AS least
  FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k;
CREATE QUERY early INTO rows AS SELECT COUNT(*) AS n, MAX(m) AS most
  FROM s [RANGE 20 SECONDS SLIDE 4 SECONDS] WHERE k = 'c' AND b EMIT EVERY 3 SECONDS, EMPTY WINDOWS;
CREATE QUERY other INTO lines AS SELECT COUNT(*) AS n FROM s [RANGE 3 SECONDS SLIDE 3 SECONDS];
CREATE QUERY large INTO rows AS SELECT ts, k, n FROM s WHERE m > 5;
CREATE QUERY pairs INTO lines AS SELECT l.ts, r.ts AS other, l.m FROM s [RANGE 9 SECONDS] AS l
  JOIN s [RANGE 6 SECONDS] AS r ON l.k = r.k WHERE l.m < r.m;
CREATE QUERY in_order INTO lines AS SELECT ts, k, m FROM s WHERE m > 5 OR g > 0 ORDER BY ts;
"""


def write_input(folder: Path) -> None:
    rng = random.Random(31)
    times = [NOON_US + n * SECOND_US for n in range(20 * FILES)]
    # One row in each file is late, so that the side stream is written by every tick too.
    times[30::20] = [NOON_US] * len(times[30::20])
    # One in each comes a little too early, so that those after it are put before it.
    times[27::20] = [time + SECOND_US * 3 // 2 for time in times[27::20]]
    write_files(folder / "in", cut([random_row(rng, t) for t in times], FILES))


def write_script(folder: Path, scan: str = "auto") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "script.sql").write_text(f"SET scan = '{scan}';{SCRIPT}")
    return folder / "script.sql"


def command(script: Path, *options: str, failpoint: str = "") -> subprocess.Popen[str]:
    """`tidemill run`, in a process and a session of its own."""
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), VARIABLE: failpoint}
    code = "from tidemill.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", str(script), *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def delivered(folder: Path) -> dict[str, list[str]]:
    """Every answer of every query, sorted as text."""
    rows: dict[str, list[str]] = {}
    for place in sorted((folder / "rows").glob("query=*")):
        table: pa.Table = ds.dataset(sorted(map(str, place.glob("[!_]*.parquet")))).to_table()
        rows[place.name] = sorted(map(repr, table.to_pylist()))
    for line in (folder / "lines.json").read_text().splitlines():
        rows.setdefault(json.loads(line)["query"], []).append(line)
    return {name: sorted(texts) for name, texts in rows.items()}


def lines_of(folder: Path, query: str) -> list[dict[str, Any]]:
    """The answers of a query, as they stand in the file."""
    lines = map(json.loads, (folder / "lines.json").read_text().splitlines())
    return [line for line in lines if line["query"] == query]


def late_rows(home: Path) -> list[str]:
    files = sorted(map(str, (home / "streams" / "s" / "late").glob("[!_]*.parquet")))
    return sorted(map(repr, ds.dataset(files).to_table().to_pylist()))


def test_a_kill_in_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    write_input(tmp_path)
    whole, cut_off = write_script(tmp_path / "whole"), write_script(tmp_path / "cut_off")
    with Engine(tmp_path / "whole" / "home") as engine:
        engine.sql(SCRIPT, whole.parent)
        report = engine.run("flush")

    deaths = []
    home = ("--home", str(tmp_path / "cut_off" / "home"))
    for tick, (step, scan) in enumerate(DEATHS, start=2):
        write_script(cut_off.parent, scan)
        process = command(cut_off, "--flush", *home, failpoint=f"{step}:{tick}")
        process.communicate()
        deaths.append(process.returncode)
    write_script(cut_off.parent)
    last = command(cut_off, "--flush", *home, "--metrics", str(tmp_path / "metrics.json"))
    _, told = last.communicate()

    assert {step for step, _ in DEATHS} == set(STEPS)
    assert deaths == [-signal.SIGKILL] * len(DEATHS)
    assert last.returncode == 0, told
    # Unless told otherwise, it is arrays that scan.
    assert report.routes == {"columnar": FILES}
    assert json.loads((tmp_path / "metrics.json").read_text())["routes"] == {"columnar": 2}
    expected = delivered(whole.parent)
    assert set(expected) == {
        *("query=by_key", "query=top", "query=early", "query=large"),
        *("line", "other", "in_order", "pairs"),
    }
    assert delivered(cut_off.parent) == expected
    assert {name: len(rows) for name, rows in expected.items()} == {
        name if name in ("line", "other", "in_order", "pairs") else f"query={name}": count
        for name, count in report.queries.items()
    }
    early = expected["query=early"]
    assert sum("'n': 0" in row for row in early) > 3
    assert report.queries["early"] - len({row.split("'as_of'")[0] for row in early}) > 20
    in_order = lines_of(cut_off.parent, "in_order")
    assert in_order == lines_of(whole.parent, "in_order")
    assert [line["ts"] for line in in_order] == sorted(line["ts"] for line in in_order)
    assert len(in_order) > 5 * FILES
    pairs = lines_of(cut_off.parent, "pairs")
    assert [line["event_time"] for line in pairs] == sorted(line["event_time"] for line in pairs)
    assert len(pairs) > 5 * FILES
    assert late_rows(tmp_path / "cut_off" / "home") == late_rows(tmp_path / "whole" / "home")
    assert report.rows_late == FILES - 1


def test_control_c_stops_a_continuous_run(tmp_path: Path) -> None:
    """As a terminal does it: the signal goes to the engine, its Java and its workers alike."""
    write_input(tmp_path)
    script = write_script(tmp_path / "here")
    process = command(script)
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if " tick 2 " in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate()
    assert process.returncode == 0, "".join(seen) + rest
    lines = rest.strip().splitlines()
    assert lines[-1].startswith("stopped: ")
    assert all(" tick " in line for line in lines[:-1]), rest


def test_a_home_belongs_to_one_process(tmp_path: Path) -> None:
    write_input(tmp_path)
    script = write_script(tmp_path / "here")
    home = tmp_path / "home"
    with Engine(home) as engine:
        engine.sql(SCRIPT, script.parent)
        run = CliRunner().invoke(app, ["run", str(script), "--once", "--home", str(home)])
    assert run.exit_code == 1
    assert "error[E_HOME_BUSY]" in run.stderr
    assert f"process {os.getpid()}" in run.stderr
