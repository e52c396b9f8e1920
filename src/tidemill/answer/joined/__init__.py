"""Cells of several windows ⇒ cells of their join, key by key: no row of the join is made."""

from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.joined import JoinedBlock, joined_blocks, joined_cells

__all__ = [
    "JoinedBlock",
    "JoinedLanes",
    "SideCells",
    "SideWindows",
    "joined_blocks",
    "joined_cells",
]
