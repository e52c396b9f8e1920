"""Lanes: one class for each kind of partial."""

from tidemill.aggregates.lanes.bags import BagLane, Counts, Weights
from tidemill.aggregates.lanes.base import (
    KernelLane,
    Lane,
    LaneArray,
    NumberLane,
    PlainRow,
    lane_of_kind,
)
from tidemill.aggregates.lanes.extremes import Max, Min
from tidemill.aggregates.lanes.moments import Moments
from tidemill.aggregates.lanes.outermost import First, Last
from tidemill.aggregates.lanes.totals import ROWS, Count, Overflow, RowsLane, Sum

__all__ = ["ROWS", "BagLane", "Count", "Counts", "First", "KernelLane", "Lane", "LaneArray"]
__all__ += ["Last", "Max", "Min", "Moments", "NumberLane", "Overflow", "PlainRow", "RowsLane"]
__all__ += ["Sum", "Weights", "lane_of_kind"]
