"""A home as commit 96d8090 left it, before expressions had a normal form: how it was made.

Run there, with this file copied beside `make.py` of that commit:

    python -m tests.stories.old_home.words ARCHIVE.tar.gz

Keys, arguments and conditions are written in words that are no normal form, some of them twice
in different words, and some raise. The last tick was killed after it had decided.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from tests.stories.old_home.make import FOLDER, _run, _write_dump
from tests.stories.streams import COLUMNS, NOON_US, SECOND_US, random_row, write_files

FILES, LATER, ROWS = 3, 2, 60
HEAD = f"""
SET tick_files = 1;
CREATE SINK out TO 'parquet:out';
CREATE STREAM s ({COLUMNS}) ORDER BY ts SOURCE 'parquet:in';
CREATE TABLE owners (ok STRING, owner STRING) SOURCE 'csv:owners.csv?header=true';
"""
OWNERS = "ok,owner\nA,ada\nb,bob\nB,ben\n"
WINDOW = "[RANGE 20 SECONDS SLIDE 5 SECONDS]"
# By name: select list, tables, condition and keys. Batch SQL reads them too.
QUERIES = {
    "sums": ("SUM(1 + m) AS a, SUM(m + 1) AS b, COUNT(*) AS n", "", "", "2 * g"),
    "others": ("MAX(CAST(m AS INT)) AS a, SUM(1 + m) AS b", "", "", "2 * g"),
    "twice": ("COUNT(*) AS n", "", "", "1 + g, g + 1"),
    "compared": ("COUNT(*) AS n", "", "WHERE NOT g >= m OR m BETWEEN 1 AND 90", "k"),
    "raising": ("SUM(1 + 100 / m) AS a", "", "WHERE 1 < 100 / g", "k"),
    "joined": ("MIN(1 + m) AS a", "JOIN owners ON UPPER(ok) = UPPER(k) AND 0 < g", "", "owner"),
}


def select(name: str, source: str) -> str:
    items, join, where, keys = QUERIES[name]
    labels = ", ".join(f"{key} AS key{n}" for n, key in enumerate(keys.split(", ")))
    return f"SELECT {labels}, {items} FROM {source} {join} {where} GROUP BY {keys}"


def script_text() -> str:
    queries = [f"CREATE QUERY {n} INTO out AS {select(n, f's {WINDOW}')};" for n in QUERIES]
    return "\n".join([HEAD, *queries])


def main(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rng = random.Random(21)
        rows = [
            random_row(rng, NOON_US + n * SECOND_US // 2) for n in range(ROWS * (FILES + LATER))
        ]
        parts = [rows[n : n + ROWS] for n in range(0, len(rows), ROWS)]
        write_files(folder / "in", parts[: FILES - 1])
        write_files(folder / "later" / "in", parts[FILES:], FILES)
        (folder / "owners.csv").write_text(OWNERS)
        script = folder / "script.sql"
        script.write_text(script_text())
        _run(script, "")
        write_files(folder / "in", parts[FILES - 1 : FILES], FILES - 1)
        with closing(sqlite3.connect(folder / "home" / "tidemill.db")) as database:
            (tick,) = database.execute("SELECT tick FROM streams WHERE stream = 's'").fetchone()
        _run(script, f"answer:{tick + 1}")
        _write_dump(folder / "home")
        assert FOLDER in (folder / "home" / "tidemill.sql").read_text()
        with tarfile.open(archive, "w:gz") as tar:
            for name in ("home", "in", "later", "out"):
                tar.add(folder / name, arcname=name)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
