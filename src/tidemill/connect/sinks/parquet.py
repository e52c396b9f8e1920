"""`parquet:DIR`: answers under `DIR/query=NAME/`, each exactly once.

A tick's answers are first staged in the home, where the ledger names them at commit. A staged
file may hold the rows of many queries, so that a thousand with a few rows each cost a few
files a tick; the ledger knows whose rows lie where. Staged rows are rolled into one file per
query by size, by age and at stop: written beside the others under a hidden name, promised in
the ledger, and renamed. A crash at any point leaves either the staged rows or the rolled
file, never both and never neither.
"""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.answer.request import STAGE
from tidemill.answer.rows import stage
from tidemill.catalog import Sink
from tidemill.connect.sinks.contract import EXACTLY_ONCE, Batch, SinkTools, SinkWriter
from tidemill.errors import refuse

_TABLES = """
CREATE TABLE IF NOT EXISTS staged_rows (
  folder TEXT NOT NULL, query TEXT NOT NULL, tick INTEGER NOT NULL, file TEXT NOT NULL,
  first INTEGER NOT NULL, rows INTEGER NOT NULL, size INTEGER NOT NULL, promised TEXT,
  PRIMARY KEY (query, file));
CREATE INDEX IF NOT EXISTS staged_files ON staged_rows (file);
CREATE INDEX IF NOT EXISTS staged_promises ON staged_rows (promised);
"""


class Staged(NamedTuple):
    """A query's rows in a staged file."""

    tick: int
    file: str
    first: int
    rows: int


class ParquetSink(SinkWriter):
    delivery = STAGE
    promise = EXACTLY_ONCE

    def __init__(self, sink: Sink, tools: SinkTools) -> None:
        self._folder, self._staging = Path(sink.address.path), tools.staging
        self._connection = tools.connection
        self._roll_bytes = tools.settings.roll_bytes
        self._roll_us = tools.settings.roll_seconds * 1_000_000
        self._oldest_us: dict[str, int] = {}
        self._pending: list[tuple[Batch, str]] = []
        self._read: dict[str, pa.Table] = {}
        self._connection.executescript(_TABLES)

    def check(self, query: str) -> None:
        if any(self._place(query).glob("*.parquet")):
            refuse(
                "E_SINK",
                f"{self._place(query)} already holds answers, of another home or another query",
                hint="remove the folder, name another one, or go on with the home that wrote them",
            )

    def recover(self) -> None:
        """Keep promises that were renamed in time, take back the others, sweep strays."""
        promises = self._connection.execute(
            "SELECT DISTINCT promised FROM staged_rows WHERE folder = ? AND promised IS NOT NULL",
            (str(self._folder),),
        ).fetchall()
        for (promised,) in promises:
            self._settle(promised, is_there=Path(promised).exists())
        for hidden in self._folder.glob("query=*/_rolling-*"):
            hidden.unlink()
        named = {file for (file,) in self._connection.execute("SELECT file FROM staged_rows")}
        for path in self._staging.glob("*.parquet"):
            if path.name not in named:
                path.unlink()

    def take_back(self) -> None:
        """The staged files are swept at the next start: other streams stage theirs beside them."""
        self._pending = []

    def deliver(self, batch: Batch) -> None:
        if batch.rows is not None and len(batch.rows):
            self._pending.append((batch, stage(self._staging, batch.tick, batch.rows)))
        elif batch.staged:
            self._pending.append((batch, batch.staged))

    def record(self) -> None:
        for batch, file in self._pending:
            row_bytes = (self._staging / file).stat().st_size / int(batch.counts.sum())
            rows = [
                (str(self._folder), query, batch.tick, file, first, count, int(count * row_bytes))
                for query, first, count in batch.spans()
                if count
            ]
            self._connection.executemany(
                "INSERT INTO staged_rows VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", rows
            )

    def committed(self, now_us: int) -> None:
        for batch, _ in self._pending:
            for query, _, count in batch.spans():
                if count:
                    self._oldest_us.setdefault(query, now_us)
        self._pending = []
        old = {query for query, us in self._oldest_us.items() if now_us - us >= self._roll_us}
        self._roll_all(sorted(old | self._large()))

    def settle(self, query: str) -> None:
        self._roll_all([query])

    def close(self, schemas: dict[str, pa.Schema]) -> None:
        self._roll_all(list(schemas))
        for query, schema in schemas.items():
            if not any(self._place(query).glob("*.parquet")):
                # Readers find the columns of a query that has had nothing to say.
                self._place(query).mkdir(parents=True, exist_ok=True)
                pq.write_table(schema.empty_table(), self._place(query) / "part-empty.parquet")

    def tables(self, query: str) -> list[pa.Table]:
        """Everything delivered so far, rolled or not."""
        rolled = sorted(self._place(query).glob("*.parquet"))
        tables = [pq.ParquetFile(path).read() for path in rolled]
        tables += [self._rows(part) for part in self._staged(query)]
        self._read = {}
        return tables

    def _place(self, query: str) -> Path:
        return self._folder / f"query={query}"

    def _large(self) -> set[str]:
        """Queries whose staged rows have grown to a file's size."""
        large = self._connection.execute(
            "SELECT query FROM staged_rows WHERE folder = ? GROUP BY query HAVING SUM(size) >= ?",
            (str(self._folder), self._roll_bytes),
        )
        return {query for (query,) in large}

    def _staged(self, query: str) -> list[Staged]:
        rows = self._connection.execute(
            "SELECT tick, file, first, rows FROM staged_rows WHERE folder = ? AND query = ?"
            " ORDER BY tick, file",
            (str(self._folder), query),
        )
        return [Staged(*row) for row in rows]

    def _roll_all(self, queries: list[str]) -> None:
        for query in queries:
            self._roll(query)
        self._read = {}

    def _roll(self, query: str) -> None:
        staged = self._staged(query)
        self._oldest_us.pop(query, None)
        if not staged:
            return
        place = self._place(query)
        place.mkdir(parents=True, exist_ok=True)
        name = f"part-{staged[0].tick:08d}-{staged[-1].tick:08d}-{uuid.uuid4().hex[:8]}.parquet"
        hidden = place / f"_rolling-{name}"
        self._merge(staged, hidden)
        self._connection.execute(
            "UPDATE staged_rows SET promised = ? WHERE folder = ? AND query = ?",
            (str(place / name), str(self._folder), query),
        )
        hidden.rename(place / name)
        self._settle(str(place / name), is_there=True)

    def _merge(self, staged: list[Staged], target: Path) -> None:
        only = self._staging / staged[0].file
        if len(staged) == 1 and pq.ParquetFile(only).metadata.num_rows == staged[0].rows:
            shutil.copyfile(only, target)
            return
        with pq.ParquetWriter(target, self._rows(staged[0]).schema) as writer:
            for part in staged:
                writer.write_table(self._rows(part))

    def _rows(self, part: Staged) -> pa.Table:
        """A part's rows. Files that many queries share are read once for all of them."""
        table = self._read.get(part.file)
        if table is None:
            table = pq.ParquetFile(self._staging / part.file).read()
            if len(table) > part.rows:
                self._read[part.file] = table
        return table.slice(part.first, part.rows)

    def _settle(self, promised: str, is_there: bool) -> None:
        """The rolled file is there: forget the staged rows; it is not: they stay staged."""
        if not is_there:
            self._connection.execute(
                "UPDATE staged_rows SET promised = NULL WHERE promised = ?", (promised,)
            )
            return
        files = self._connection.execute(
            "DELETE FROM staged_rows WHERE promised = ? RETURNING file", (promised,)
        ).fetchall()
        for (file,) in files:
            shared = "SELECT 1 FROM staged_rows WHERE file = ? LIMIT 1"
            if self._connection.execute(shared, (file,)).fetchone() is None:
                (self._staging / file).unlink(missing_ok=True)
