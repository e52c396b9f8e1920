"""Combine kernels: slices along axis 0 in, one value per window out.

`cells` has shape (slices, groups) or (slices, groups, limbs); window w is `cells[lo[w]:hi[w]]`.
All kernels give the same answers; the README beside this file has a card for each. A function
that bears its module's name (`choose`, `running`, …) is imported from that module.
"""

from tidemill.aggregates.algebra import (
    ALGEBRAS,
    COUNT,
    FLOAT_MAX,
    FLOAT_MIN,
    FLOAT_SUM,
    INTEGER_MAX,
    INTEGER_MIN,
    INTEGER_SUM,
    Algebra,
    AnyArray,
    BoolArray,
    IntArray,
)
from tidemill.synopsis.kernels.choose import KERNELS, Kernel, combine_slices

__all__ = [
    "ALGEBRAS",
    "COUNT",
    "FLOAT_MAX",
    "FLOAT_MIN",
    "FLOAT_SUM",
    "INTEGER_MAX",
    "INTEGER_MIN",
    "INTEGER_SUM",
    "KERNELS",
    "Algebra",
    "AnyArray",
    "BoolArray",
    "IntArray",
    "Kernel",
    "combine_slices",
]
