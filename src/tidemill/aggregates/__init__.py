"""Aggregates as lift, combine, lower: lanes in Catalyst, arrays in the kernels, values out."""

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.behind import lanes_behind
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.lane_arrays import concatenated
from tidemill.aggregates.lanes import ROWS, Lane, LaneArray, lane_of_kind
from tidemill.aggregates.lower import Lowering, gives_numbers, lower, lower_numbers

__all__ = [
    "ROWS",
    "Algebra",
    "Bags",
    "Encoded",
    "Lane",
    "LaneArray",
    "Lowering",
    "concatenated",
    "gives_numbers",
    "lane_of_kind",
    "lanes_behind",
    "lower",
    "lower_numbers",
]
