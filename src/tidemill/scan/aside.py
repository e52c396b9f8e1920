"""The side files of a tick: its late rows and its malformed records, one Parquet file of each.

`late/` has all declared columns. `malformed/` has `record`, the line as it came or the row as
JSON, and `reason`. Who judged the rows of a tick writes both: arrays if they took a scan of it,
else Catalyst. Two things are left to Catalyst: records of streams with columns whose JSON Java
writes in a way of its own (`arrays.records.is_plain_record`), and generated rows, which arrays make
with the columns of a scan alone.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

from tidemill.scan.contract import LATE, MALFORMED

FOLDERS = {LATE: "late", MALFORMED: "malformed"}  # by verdict
NO_TIME, OUT_OF_RANGE, NOT_PARSED = "no event time", "event time out of range", "does not parse"


@dataclass(frozen=True)
class SideFiles:
    """The places of one tick's side files below the folder of its stream."""

    folder: Path
    tick: int

    def path(self, verdict: int) -> Path:
        return self.folder / FOLDERS[verdict] / f"tick-{self.tick:08d}.parquet"

    def scratch(self, verdict: int) -> Path:
        """A hidden place for this attempt alone: a killed run may still be writing."""
        self.path(verdict).parent.mkdir(parents=True, exist_ok=True)
        return self.path(verdict).with_name(f"_{uuid.uuid4().hex}")

    def clear(self) -> None:
        """Remove the files that an attempt which was given up may have left."""
        for verdict in FOLDERS:
            self.path(verdict).unlink(missing_ok=True)
