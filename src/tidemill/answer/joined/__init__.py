"""Cells of several windows ⇒ cells of their join, key by key: no row of the join is made."""

from tidemill.answer.joined.inputs import JoinedLanes, SideCells, SideWindows
from tidemill.answer.joined.joined import joined_cells

__all__ = ["JoinedLanes", "SideCells", "SideWindows", "joined_cells"]
