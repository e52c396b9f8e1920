"""Lanes: one class for each kind of partial."""

from tidemill.aggregates.lanes.bags import BagLane, Counts, Weights
from tidemill.aggregates.lanes.base import (
    KernelLane,
    Lane,
    LaneArray,
    NumberLane,
    PlainRow,
    PlainWindow,
    lane_of_kind,
)
from tidemill.aggregates.lanes.extremes import Max, Min
from tidemill.aggregates.lanes.moments import Moments
from tidemill.aggregates.lanes.outermost import First, FirstKnown, Last, LastKnown
from tidemill.aggregates.lanes.totals import ROWS, Count, Overflow, RowsLane, Sum

__all__ = ["ROWS", "BagLane", "Count", "Counts", "First", "FirstKnown", "KernelLane", "Lane"]
__all__ += ["LaneArray", "Last", "LastKnown", "Max", "Min", "Moments", "NumberLane", "Overflow"]
__all__ += ["PlainRow", "PlainWindow", "RowsLane", "Sum", "Weights", "lane_of_kind"]
