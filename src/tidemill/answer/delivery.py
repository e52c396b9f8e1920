"""The ways in which answers leave the task that made them: staged, counted or carried.

A sink says which way suits it. `choose_delivery` decides for a query, and the properties of
`Delivery` say what that means for the task and for the driver.
"""

from __future__ import annotations

import uuid
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


class Delivery(StrEnum):
    STAGE = "stage"  # the task writes a file of answers, which the commit makes real
    COUNT = "count"  # the task counts the answers and forgets them
    CARRY = "carry"  # the rows come back, to be finished, ordered or shown by the driver

    @property
    def makes_rows(self) -> bool:
        return self is not Delivery.COUNT

    @property
    def returns_rows(self) -> bool:
        return self is Delivery.CARRY

    def reads_names(self, is_watched: bool) -> bool:
        """True if the sink or a subscriber reads the answers' columns by name."""
        return is_watched or self.makes_rows


STAGE, COUNT, CARRY = Delivery


def choose_delivery(of_sink: Delivery, is_watched: bool, is_finished_by_driver: bool) -> Delivery:
    """The sink's own way, unless somebody in the driver has work with the rows.

    >>> choose_delivery(COUNT, is_watched=False, is_finished_by_driver=False).value
    'count'
    >>> choose_delivery(COUNT, is_watched=True, is_finished_by_driver=False).value
    'carry'
    """
    return CARRY if is_watched or is_finished_by_driver else of_sink


def stage(folder: Path, tick: int, rows: pa.Table) -> str:
    """Write answers where no reader looks yet; the sink's ledger makes them real.

    Returns the name of the file in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{tick:08d}-{uuid.uuid4().hex}.parquet"
    pq.write_table(rows, folder / name)
    return name
