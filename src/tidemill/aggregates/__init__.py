"""Aggregates as lift, combine, lower: lanes in Catalyst, arrays in the kernels, values out."""

from tidemill.aggregates.encoding import Encoded, absent, decode, encode
from tidemill.aggregates.lanes import ROWS, Lane, lanes_behind, lanes_of
from tidemill.aggregates.lower import lower

__all__ = [
    "ROWS",
    "Encoded",
    "Lane",
    "absent",
    "decode",
    "encode",
    "lanes_behind",
    "lanes_of",
    "lower",
]
