"""`parquet:DIR`: answers under `DIR/query=NAME/`, each exactly once.

A tick's answers are first staged in the home, where the ledger names them at commit.
Staged files are rolled into one file per query by size, by age and at stop: written
beside the others under a hidden name, promised in the ledger, and renamed. A crash at any
point leaves either the staged files or the rolled one, never both and never neither.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.engine.sinks.base import Batch
from tidemill.errors import refuse
from tidemill.settings import Settings
from tidemill.spark.answer import STAGE, stage

_TABLE = """
CREATE TABLE IF NOT EXISTS staged (
  folder TEXT NOT NULL, query TEXT NOT NULL, tick INTEGER NOT NULL, file TEXT NOT NULL,
  size INTEGER NOT NULL, promised TEXT, PRIMARY KEY (query, file))
"""


class ParquetSink:
    route = STAGE

    def __init__(
        self, folder: Path, connection: sqlite3.Connection, staging: Path, settings: Settings
    ) -> None:
        self._folder, self._connection, self._staging = folder, connection, staging
        self._roll_bytes = settings.roll_bytes
        self._roll_us = settings.roll_seconds * 1_000_000
        self._oldest_us: dict[str, int] = {}
        self._pending: list[tuple[str, int, str]] = []
        connection.execute(_TABLE)

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
            "SELECT DISTINCT promised FROM staged WHERE folder = ? AND promised IS NOT NULL",
            (str(self._folder),),
        ).fetchall()
        self._pending = []
        for (promised,) in promises:
            self._settle(promised, kept=Path(promised).exists())
        for hidden in self._folder.glob("query=*/_rolling-*"):
            hidden.unlink()
        named = set(self._connection.execute("SELECT query, file FROM staged"))
        for path in self._staging.glob("*/*.parquet"):
            if (path.parent.name, path.name) not in named:
                path.unlink()

    def deliver(self, batch: Batch) -> None:
        files = list(batch.staged)
        if batch.rows is not None and len(batch.rows):
            files.append(stage(self._staging / batch.query, batch.tick, batch.rows))
        self._pending += [(batch.query, batch.tick, file) for file in files]

    def record(self) -> None:
        rows = [
            (str(self._folder), query, tick, file, self._size(query, file), None)
            for query, tick, file in self._pending
        ]
        self._connection.executemany("INSERT INTO staged VALUES (?, ?, ?, ?, ?, ?)", rows)

    def committed(self, now_us: int) -> None:
        for query in {query for query, _, _ in self._pending}:
            self._oldest_us.setdefault(query, now_us)
        self._pending = []
        for query, since_us in list(self._oldest_us.items()):
            staged = sum(size for _, _, size in self._staged(query))
            if staged >= self._roll_bytes or now_us - since_us >= self._roll_us:
                self._roll(query)

    def settle(self, query: str) -> None:
        self._roll(query)

    def close(self, schemas: dict[str, pa.Schema]) -> None:
        for query, schema in schemas.items():
            self._roll(query)
            if not any(self._place(query).glob("*.parquet")):
                # Readers find the columns of a query that has had nothing to say.
                self._place(query).mkdir(parents=True, exist_ok=True)
                pq.write_table(schema.empty_table(), self._place(query) / "part-empty.parquet")

    def files(self, query: str) -> list[Path]:
        """Everything delivered so far, rolled or not."""
        rolled = sorted(self._place(query).glob("*.parquet"))
        return rolled + [self._staging / query / file for file, _, _ in self._staged(query)]

    def _place(self, query: str) -> Path:
        return self._folder / f"query={query}"

    def _size(self, query: str, file: str) -> int:
        return (self._staging / query / file).stat().st_size

    def _staged(self, query: str) -> list[tuple[str, int, int]]:
        return self._connection.execute(
            "SELECT file, tick, size FROM staged WHERE folder = ? AND query = ?"
            " ORDER BY tick, file",
            (str(self._folder), query),
        ).fetchall()

    def _roll(self, query: str) -> None:
        staged = self._staged(query)
        self._oldest_us.pop(query, None)
        if not staged:
            return
        place = self._place(query)
        place.mkdir(parents=True, exist_ok=True)
        name = f"part-{staged[0][1]:08d}-{staged[-1][1]:08d}-{uuid.uuid4().hex[:8]}.parquet"
        hidden = place / f"_rolling-{name}"
        self._merge([self._staging / query / file for file, _, _ in staged], hidden)
        self._connection.execute(
            "UPDATE staged SET promised = ? WHERE folder = ? AND query = ?",
            (str(place / name), str(self._folder), query),
        )
        hidden.rename(place / name)
        self._settle(str(place / name), kept=True)

    def _merge(self, files: list[Path], target: Path) -> None:
        if len(files) == 1:
            shutil.copyfile(files[0], target)
            return
        with pq.ParquetWriter(target, pq.read_schema(files[0])) as writer:
            for file in files:
                writer.write_table(pq.read_table(file))

    def _settle(self, promised: str, kept: bool) -> None:
        """The rolled file is there: forget the staged ones; it is not: they stay staged."""
        if not kept:
            self._connection.execute(
                "UPDATE staged SET promised = NULL WHERE promised = ?", (promised,)
            )
            return
        files = self._connection.execute(
            "SELECT query, file FROM staged WHERE promised = ?", (promised,)
        ).fetchall()
        self._connection.execute("DELETE FROM staged WHERE promised = ?", (promised,))
        for query, file in files:
            (self._staging / query / file).unlink(missing_ok=True)
