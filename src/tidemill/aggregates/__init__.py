"""Aggregates as lift, combine, lower: lanes in Catalyst, arrays in the kernels, values out."""

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.bags import Bags
from tidemill.aggregates.encoding import Encoded
from tidemill.aggregates.lane_arrays import Kept, absent, concatenated, decode, encode
from tidemill.aggregates.lanes import ROWS, Lane, lanes_behind
from tidemill.aggregates.lower import Lowering, gives_numbers, lower, lower_numbers

__all__ = [
    "ROWS",
    "Algebra",
    "Bags",
    "Encoded",
    "Kept",
    "Lane",
    "Lowering",
    "absent",
    "concatenated",
    "decode",
    "encode",
    "gives_numbers",
    "lanes_behind",
    "lower",
    "lower_numbers",
]
