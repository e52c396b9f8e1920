"""Aggregates as lift, combine, lower: lanes in Catalyst, arrays in the kernels, values out."""

from tidemill.aggregates.algebra import Algebra, CostFamily
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.encoded import Encoded
from tidemill.aggregates.functions import (
    gives_numbers,
    lanes_behind,
    lower,
    lower_numbers,
    may_raise,
)
from tidemill.aggregates.lane_arrays import concatenated
from tidemill.aggregates.lanes import ROWS, Lane, LaneArray, lane_of_kind
from tidemill.aggregates.lowering import Lowering

__all__ = [
    "ROWS",
    "Algebra",
    "Bags",
    "CostFamily",
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
    "may_raise",
]
