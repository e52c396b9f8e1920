"""The ways in which answers leave the task that made them: staged, counted or carried."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# The task writes a file of answers, which the commit makes real.
STAGE = "stage"
# The task counts the answers and forgets them.
COUNT = "count"
# The rows come back to the driver, because they have yet to be finished, ordered or shown.
CARRY = "carry"


def stage(folder: Path, tick: int, rows: pa.Table) -> str:
    """Write answers where no reader looks yet; the sink's ledger makes them real.

    Returns the name of the file in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    pq.write_table(rows, folder / name)
    return name
