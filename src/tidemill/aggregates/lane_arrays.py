"""Lanes as arrays, whatever form theirs is: a value for each cell, or a bag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pyarrow as pa

from tidemill.aggregates import bag_columns, bags, encoding
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.encoding import Encoded
from tidemill.aggregates.lanes import BAGS, Lane

Kept = Encoded | Bags


def encode(lane: Lane, columns: list[pa.ChunkedArray]) -> Kept:
    """The lane of some rows, from the columns named by `lane.parts`."""
    return bag_columns.encode(lane, columns) if _is_bag(lane) else encoding.encode(lane, columns)


def decode(lane: Lane, kept: Kept) -> list[pa.Array]:
    """The columns that a piece has of the lane."""
    if isinstance(kept, Bags):
        return bag_columns.decode(lane, kept)
    return encoding.decode(lane, kept)


def concatenated(parts: Sequence[Kept]) -> Kept:
    """The rows of all parts of one lane, one part after the other."""
    if isinstance(parts[0], Bags):
        return bags.concatenated(cast(Sequence[Bags], parts))
    return encoding.concatenated(cast(Sequence[Encoded], parts))


def absent(lane: Lane, rows: int) -> Kept:
    """The lane of rows from before it was kept."""
    return bag_columns.absent(lane, rows) if _is_bag(lane) else encoding.absent(lane, rows)


def _is_bag(lane: Lane) -> bool:
    return lane.kind in BAGS
