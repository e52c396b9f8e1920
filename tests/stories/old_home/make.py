"""A home as commit b74e775 left it, before folders and classes moved: how it was made.

Run there, with this file copied beside the stories of that commit:

    python -m tests.stories.old_home.make ARCHIVE.tar.gz

The home has two streams, strict and soft queries of every family of aggregates, a joined table,
an aggregate in Python, and a tick that was killed after it had decided. Its database is kept as
SQL text, in which `@FOLDER@` stands for the folder that everything lay in.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from tests.aggregates.written import TEXT
from tests.stories.oracle import Case, Term
from tests.stories.soft import SoftCase
from tests.stories.streams import COLUMNS, cut, disordered_times, random_row, write_files

FOLDER = "@FOLDER@"
FILES, LATER = 4, 2
HEAD = f"""
SET tick_files = 1;
CREATE SINK out TO 'parquet:out';
CREATE SINK lines TO 'json:lines.json';
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in' WITH (lateness = '5 seconds');
CREATE STREAM t (ts TIMESTAMP, k STRING, m INT) ORDER BY ts SOURCE 'csv:texts?header=true'
  WITH (lateness = '5 seconds');
CREATE TABLE owners (ok STRING, owner STRING) SOURCE 'csv:owners.csv?header=true';
CREATE AGGREGATE spread_out SOURCE 'python:written.py';
"""
OWNERS = "ok,owner\na,ada\nb,bob\nb,ben\n"
_KEY, _GROUP = Term("k"), Term("g")
_SPREAD = Term("spread_out(m)", "IF(COUNT(m) > 1, DOUBLE(MAX(m)) - MIN(m), NULL)")
_NINETIETH = "DOUBLE(PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY m))"


def _case(
    name: str,
    keys: tuple[Term, ...],
    aggregates: tuple[Term, ...],
    where: Term | None = None,
    stream: str = "s",
    range_ms: int = 20_000,
    limit: int | None = None,
) -> Case:
    return Case(name, stream, range_ms, 5000, 0, keys, aggregates, where, None, True, limit)


# The home says FIRST(m), which meant the same in its time.
_FIRST = Term("FIRST(m) IGNORE NULLS", "MIN_BY(m, STRUCT(ts, m)) FILTER (WHERE m IS NOT NULL)")
_SKETCHES = (
    Term("APPROX_COUNT_DISTINCT(name)", "COUNT(DISTINCT name)"),
    Term("APPROX_PERCENTILE(m, 0.9, 0.005)", _NINETIETH),
    Term("APPROX_COUNT(k, 'a')", "COUNT_IF(k = 'a')"),
)
_VALUES = (Term("MEDIAN(m)"), Term("COUNT(DISTINCT g)"))
CASES = (
    _case("totals", (_KEY,), (Term("COUNT(*)"), Term("SUM(m)"), Term("AVG(d)")), Term("m > 10")),
    _case("extremes", (_KEY, _GROUP), (Term("MIN(name)"), Term("MAX(d)"), Term("MAX(at)"))),
    _case("floats", (_KEY,), (Term("SUM(x)", approximate=True), Term("STDDEV(f)", "", True))),
    _case("firsts", (_GROUP,), (_FIRST,)),
    _case("holistic", (_KEY,), _VALUES, Term("k = 'a' OR b")),
    _case("sketches", (), _SKETCHES),
    _case("written", (_KEY,), (_SPREAD, Term("COUNT(*)"))),
    _case("top", (_KEY,), (Term("COUNT(*)"),), Term("g IN (1, 2)"), range_ms=10_000, limit=2),
    _case("of_texts", (_KEY,), (Term("COUNT(*)"), Term("SUM(m)")), stream="t"),
)
JOINED = (
    "CREATE QUERY joined INTO out AS SELECT owner, COUNT(*) AS n"
    " FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] LEFT JOIN owners ON k = ok GROUP BY owner;"
)
LINES = (
    "CREATE QUERY line INTO lines AS SELECT k, COUNT(*) AS n"
    " FROM t [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k;"
)
SOFT = (
    SoftCase("soft", "k", 10_000, "COUNT(*)", 3),
    SoftCase("newest", "k, g", 15_500, "SUM(m)", 0, 5),
)


def script_text() -> str:
    queries = (*(case.create("out") for case in CASES), *(soft.create() for soft in SOFT))
    return "\n".join([HEAD, *queries, JOINED, LINES])


def main(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write_input(folder)
        script = folder / "script.sql"
        script.write_text(script_text())
        _run(script, "")
        _move(folder / "fourth", folder)
        with closing(sqlite3.connect(folder / "home" / "tidemill.db")) as database:
            (tick,) = database.execute("SELECT tick FROM streams WHERE stream = 's'").fetchone()
        _run(script, f"answer:{tick + 1}")
        _write_dump(folder / "home")
        _pack(folder, archive)


def _write_input(folder: Path) -> None:
    """Three files of each stream, a fourth of `s` for the last run, and what comes later."""
    rng = random.Random(12)
    rows = [random_row(rng, t) for t in disordered_times(rng, 40 * (FILES + LATER))]
    parts = cut(rows, FILES + LATER)
    write_files(folder / "in", parts[: FILES - 1])
    write_files(folder / "fourth" / "in", parts[FILES - 1 : FILES], FILES - 1)
    write_files(folder / "later" / "in", parts[FILES:], FILES)
    for number, part in enumerate(parts):
        place = folder / ("later" if number >= FILES else ".") / "texts"
        place.mkdir(parents=True, exist_ok=True)
        lines = [f"{_stamp(r['ts'])},{r['k'] or 'none'},{r['g'] or 0}" for r in part]
        path = place / f"part-{number:03d}.csv"
        path.write_text("\n".join(["ts,k,m", *lines]) + "\n")
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    (folder / "owners.csv").write_text(OWNERS)
    (folder / "written.py").write_text(TEXT)


def _stamp(t_us: int) -> str:
    return str(np.datetime_as_string(np.datetime64(t_us, "us"))) + "Z"


def _move(source: Path, target: Path) -> None:
    for path in sorted(source.glob("*/*")):
        path.rename(target / path.relative_to(source))


def _run(script: Path, failpoint: str) -> None:
    code = "from tidemill.cli import main; main()"
    command = [sys.executable, "-c", code, "run", str(script), "--once"]
    environment = {**os.environ, "TIDEMILL_FAILPOINT": failpoint}
    subprocess.run(
        [*command, "--home", str(script.parent / "home")], env=environment, check=not failpoint
    )


def _write_dump(home: Path) -> None:
    with closing(sqlite3.connect(home / "tidemill.db")) as database:
        text = "\n".join(database.iterdump())
    (home / "tidemill.sql").write_text(text.replace(str(home.parent), FOLDER))
    for path in home.glob("*.db*"):
        path.unlink()


def _pack(folder: Path, archive: Path) -> None:
    names = ("home", "in", "texts", "later", "out", "lines.json")
    with tarfile.open(archive, "w:gz") as tar:
        for name in names:
            tar.add(folder / name, arcname=name)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
