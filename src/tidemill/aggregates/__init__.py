"""Aggregates as lift, combine, lower: lanes in Catalyst, arrays in the kernels, values out."""

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.encoding import Encoded, absent, concatenated, decode, encode
from tidemill.aggregates.lanes import ROWS, Lane, lanes_behind
from tidemill.aggregates.lower import gives_numbers, lower, lower_numbers

__all__ = [
    "ROWS",
    "Algebra",
    "Encoded",
    "Lane",
    "absent",
    "concatenated",
    "decode",
    "encode",
    "gives_numbers",
    "lanes_behind",
    "lower",
    "lower_numbers",
]
